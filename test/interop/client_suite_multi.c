/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_multi.c - several operations as one. */
#include "client_suite.h"

static void a_multi_does_all_of_it(void)
{
    struct pawl_client *c = open_main();
    struct pawl_multi *m = pawl_multi_new(c);
    struct pawl_reply *r;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("old"), .data = bytes("0"))));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("gone"))));
    pawl_multi_check(m, at("old"), 0);
    pawl_multi_create(m, PAWL_CREATE(.path = at("new"), .data = bytes("n")));
    pawl_multi_create(m, PAWL_CREATE(.path = at("seq-"), .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL));
    pawl_multi_set(m, PAWL_SET(.path = at("old"), .data = bytes("1")));
    pawl_multi_delete(m, PAWL_DELETE(.path = at("gone")));
    r = DO(multi_run, c, m);
    EXPECT_OK(r);
    EXPECT_INT(r->n_results, 5);
    for (size_t i = 0; i < r->n_results; i++) {
        EXPECT_INT(r->results[i]->err, PAWL_OK);
    }
    EXPECT_STR(r->results[1]->path, at("new"));
    EXPECT(strncmp(r->results[2]->path, at("seq-"), strlen(at("seq-"))) == 0);
    EXPECT_INT(r->results[3]->stat.version, 1);
    EXPECT_DATA(DO(get, c, at("new"), NULL), "n");
    EXPECT_DATA(DO(get, c, at("old"), NULL), "1");
    EXPECT_REFUSED(DO(exists, c, at("gone"), NULL), PAWL_ERR_NO_NODE);
    pawl_multi_free(m);
    pawl_client_close(c);
}

static void a_failed_multi_does_nothing(void)
{
    struct pawl_client *c = open_main();
    struct pawl_multi *m = pawl_multi_new(c);
    struct pawl_reply *r;

    pawl_multi_create(m, PAWL_CREATE(.path = at("a")));
    pawl_multi_check(m, at(""), 7);
    pawl_multi_create(m, PAWL_CREATE(.path = at("b")));
    r = DO(multi_run, c, m);
    EXPECT_REFUSED(r, PAWL_ERR_BAD_VERSION);
    EXPECT_INT(r->n_results, 3);
    EXPECT_INT(r->results[0]->err, PAWL_OK);
    EXPECT_INT(r->results[1]->err, PAWL_ERR_BAD_VERSION);
    EXPECT_INT(r->results[2]->err, PAWL_ERR_RUNTIME_INCONSISTENCY);
    EXPECT_INT(DO(children, c, at(""), NULL)->children.n, 0);
    pawl_multi_free(m);
    pawl_client_close(c);
}

static void a_multi_can_be_run_again(void)
{
    struct pawl_client *c = open_main();
    struct pawl_multi *m = pawl_multi_new(c);

    pawl_multi_create(m, PAWL_CREATE(.path = at("n-"), .mode = PAWL_MODE_SEQUENTIAL));
    EXPECT_OK(DO(multi_run, c, m));
    EXPECT_OK(DO(multi_run, c, m));
    EXPECT_INT(DO(children, c, at(""), NULL)->children.n, 2);
    pawl_multi_free(m);
    pawl_client_close(c);
}

static void a_multi_knows_every_mode(void)
{
    struct pawl_client *c = open_main();
    struct pawl_multi *m = pawl_multi_new(c);
    struct pawl_reply *r;

    for (int mode = PAWL_MODE_PERSISTENT; mode <= PAWL_MODE_TTL_SEQUENTIAL; mode++) {
        pawl_multi_create(m,
                          PAWL_CREATE(.path = at(text("n%d", mode)), .mode = (enum pawl_mode)mode,
                                      .ttl_ms = mode >= PAWL_MODE_TTL ? 60000 : 0));
    }
    r = DO(multi_run, c, m);
    EXPECT_OK(r);
    EXPECT_INT(r->n_results, 7);
    EXPECT_INT(DO(children, c, at(""), NULL)->children.n, 7);
    EXPECT_INT(DO(exists, c, at("n1"), NULL)->stat.ephemeral_owner, pawl_client_session_id(c));
    EXPECT_INT(DO(exists, c, at("n4"), NULL)->stat.ephemeral_owner, 0);
    pawl_multi_free(m);
    pawl_client_close(c);
}

static void reads_in_one_are_independent(void)
{
    struct pawl_client *c = open_main();
    struct pawl_multi *m = pawl_multi_new(c);
    struct pawl_reply *r;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"), .data = bytes("x"))));
    pawl_multi_get(m, at("a"));
    pawl_multi_get(m, at("missing"));
    pawl_multi_children(m, at(""));
    r = DO(multi_run, c, m);
    EXPECT_INT(r->n_results, 3);
    EXPECT_INT(r->results[0]->err, PAWL_OK);
    EXPECT_DATA(r->results[0], "x");
    EXPECT_INT(r->results[0]->stat.data_length, 1);
    EXPECT_INT(r->results[1]->err, PAWL_ERR_NO_NODE);
    EXPECT_INT(r->results[2]->err, PAWL_OK);
    EXPECT_INT(r->results[2]->children.n, 1);
    EXPECT_STR(r->results[2]->children.items[0], "a");
    pawl_multi_free(m);
    pawl_client_close(c);
}

static void a_builders_error_is_kept(void)
{
    struct pawl_client *c = open_main();
    struct pawl_multi *m = pawl_multi_new(c);
    struct pawl_reply *r;

    pawl_multi_create(m, PAWL_CREATE(.path = at("a")));
    pawl_multi_get(m, at(""));
    r = DO(multi_run, c, m);
    EXPECT_INT(r->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_REFUSED(DO(exists, c, at("a"), NULL), PAWL_ERR_NO_NODE);
    pawl_multi_free(m);
    m = pawl_multi_new(c);
    pawl_multi_create(m, PAWL_CREATE(.path = "no-slash"));
    EXPECT_INT(DO(multi_run, c, m)->err, PAWL_ERR_BAD_ARGUMENTS);
    pawl_multi_free(m);
    m = pawl_multi_new(c);
    pawl_multi_create(m, NULL);
    EXPECT_INT(DO(multi_run, c, m)->err, PAWL_ERR_BAD_ARGUMENTS);
    pawl_multi_free(m);
    pawl_multi_free(NULL);
    pawl_client_close(c);
}

static void an_empty_multi_succeeds(void)
{
    struct pawl_client *c = open_main();
    struct pawl_multi *m = pawl_multi_new(c);
    struct pawl_reply *r = DO(multi_run, c, m);

    EXPECT_OK(r);
    EXPECT_INT(r->n_results, 0);
    EXPECT_OK(DO(exists, c, "/", NULL));
    pawl_multi_free(m);
    pawl_client_close(c);
}

static void a_multi_fires_each_watch_once(void)
{
    struct pawl_client *c = open_main();
    struct events *data = scratch(sizeof(*data)), *list = scratch(sizeof(*list));
    struct pawl_watch on_data = watch_into(data), on_list = watch_into(list);
    struct pawl_multi *m = pawl_multi_new(c);

    EXPECT_OK(DO(get, c, at(""), &on_data));
    EXPECT_OK(DO(children, c, at(""), &on_list));
    pawl_multi_create(m, PAWL_CREATE(.path = at("a")));
    pawl_multi_create(m, PAWL_CREATE(.path = at("b")));
    pawl_multi_set(m, PAWL_SET(.path = at("")));
    pawl_multi_set(m, PAWL_SET(.path = at("")));
    EXPECT_OK(DO(multi_run, c, m));
    expect_events(c, data, 1);
    expect_events(c, list, 1);
    pawl_multi_free(m);
    pawl_client_close(c);
}

const struct test tests_multi[] = {
    {"a_multi_does_all_of_it", a_multi_does_all_of_it, FACES_ALL, 0},
    {"a_failed_multi_does_nothing", a_failed_multi_does_nothing, FACES_ALL, 0},
    {"a_multi_can_be_run_again", a_multi_can_be_run_again, FACES_ALL, 0},
    {"a_multi_knows_every_mode", a_multi_knows_every_mode, FACES_ALL, 0},
    {"reads_in_one_are_independent", reads_in_one_are_independent, FACES_ALL, 0},
    {"a_builders_error_is_kept", a_builders_error_is_kept, FACES_ALL, 0},
    {"an_empty_multi_succeeds", an_empty_multi_succeeds, 0, 0},
    {"a_multi_fires_each_watch_once", a_multi_fires_each_watch_once, FACES_ALL, 0},
    {0},
};
