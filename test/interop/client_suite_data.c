/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_data.c - get, set, exists, delete, children and the smaller questions. */
#include "client_suite.h"

static bool has_child(const struct pawl_reply *r, const char *name)
{
    for (size_t i = 0; i < r->children.n; i++) {
        if (strcmp(r->children.items[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void get_gives_data_and_stat(void)
{
    struct pawl_client *c = open_main();
    struct pawl_reply *made, *r;

    made = DO(create, c, PAWL_CREATE(.path = at("a"), .data = bytes("hello")));
    EXPECT_OK(made);
    EXPECT_STR(made->path, at("a"));
    r = DO(get, c, at("a"), NULL);
    EXPECT_OK(r);
    EXPECT_DATA(r, "hello");
    EXPECT_INT(r->stat.data_length, 5);
    EXPECT_INT(r->stat.version, 0);
    EXPECT_INT(r->stat.czxid, made->stat.czxid);
    EXPECT_INT(r->stat.mzxid, r->stat.czxid);
    EXPECT(r->stat.ctime > 1600000000000 && r->stat.ctime == r->stat.mtime);
    EXPECT(r->zxid >= r->stat.czxid);
    EXPECT_REFUSED(DO(get, c, at("missing"), NULL), PAWL_ERR_NO_NODE);
    pawl_client_close(c);
}

static void no_data_is_not_empty_data(void)
{
    struct pawl_client *c = open_main();
    struct pawl_bytes empty = {.data = "", .len = 0};
    struct pawl_reply *r;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("none"))));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("empty"), .data = empty)));
    r = DO(get, c, at("none"), NULL);
    EXPECT(r->data.data == NULL && r->data.len == 0);
    r = DO(get, c, at("empty"), NULL);
    EXPECT(r->data.data != NULL && r->data.len == 0);
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at("empty"))));
    r = DO(get, c, at("empty"), NULL);
    EXPECT(r->data.data == NULL);
    pawl_client_close(c);
}

static void set_counts_versions(void)
{
    struct pawl_client *c = open_main();
    struct pawl_reply *r;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"), .data = bytes("0"))));
    r = DO(set, c, PAWL_SET(.path = at("a"), .data = bytes("1")));
    EXPECT_OK(r);
    EXPECT_INT(r->stat.version, 1);
    EXPECT(r->stat.mzxid > r->stat.czxid);
    r = DO(set, c, PAWL_SET(.path = at("a"), .data = bytes("2"), .only_if = pawl_version(1)));
    EXPECT_OK(r);
    EXPECT_INT(r->stat.version, 2);
    r = DO(set, c, PAWL_SET(.path = at("a"), .data = bytes("x"), .only_if = pawl_version(1)));
    EXPECT_REFUSED(r, PAWL_ERR_BAD_VERSION);
    r = DO(set, c, PAWL_SET(.path = at("a"), .data = bytes("x"), .only_if = pawl_version(0)));
    EXPECT_REFUSED(r, PAWL_ERR_BAD_VERSION);
    EXPECT_DATA(DO(get, c, at("a"), NULL), "2");
    EXPECT_REFUSED(DO(set, c, PAWL_SET(.path = at("b"))), PAWL_ERR_NO_NODE);
    pawl_client_close(c);
}

static void exists_says_no_node(void)
{
    struct pawl_client *c = open_main();
    struct pawl_reply *r;

    r = DO(exists, c, at("a"), NULL);
    EXPECT_REFUSED(r, PAWL_ERR_NO_NODE);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"), .data = bytes("abc"))));
    r = DO(exists, c, at("a"), NULL);
    EXPECT_OK(r);
    EXPECT_INT(r->stat.data_length, 3);
    EXPECT_OK(DO(exists, c, "/", NULL));
    pawl_client_close(c);
}

static void delete_obeys_version_and_children(void)
{
    struct pawl_client *c = open_main();

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a/b"))));
    EXPECT_REFUSED(DO(delete, c, PAWL_DELETE(.path = at("a"))), PAWL_ERR_NOT_EMPTY);
    EXPECT_REFUSED(DO(delete, c, PAWL_DELETE(.path = at("a/b"), .only_if = pawl_version(1))),
                   PAWL_ERR_BAD_VERSION);
    EXPECT_OK(DO(delete, c, PAWL_DELETE(.path = at("a/b"), .only_if = pawl_version(0))));
    EXPECT_OK(DO(delete, c, PAWL_DELETE(.path = at("a"))));
    EXPECT_REFUSED(DO(delete, c, PAWL_DELETE(.path = at("a"))), PAWL_ERR_NO_NODE);
    pawl_client_close(c);
}

static void delete_with_children_takes_all_below(void)
{
    struct pawl_client *c = open_main();

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a/b/c/d"), .flags = PAWL_OP_PARENTS)));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a/b/c/e"))));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a/f"), .mode = PAWL_MODE_EPHEMERAL)));
    for (int i = 0; i < 50; i++) {
        EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a/b/n-"), .mode = PAWL_MODE_SEQUENTIAL)));
    }
    EXPECT_OK(DO(delete, c, PAWL_DELETE(.path = at("a"), .flags = PAWL_OP_CHILDREN_TOO)));
    EXPECT_REFUSED(DO(exists, c, at("a"), NULL), PAWL_ERR_NO_NODE);
    EXPECT_INT(DO(children, c, at(""), NULL)->children.n, 0);
    EXPECT_REFUSED(DO(delete, c, PAWL_DELETE(.path = at("a"), .flags = PAWL_OP_CHILDREN_TOO)),
                   PAWL_ERR_NO_NODE);
    pawl_client_close(c);
}

static void idempotent_calls_accept_what_is_done(void)
{
    struct pawl_client *c = open_main();
    struct pawl_create req = {
        .size = sizeof(req), .path = at("a"), .data = bytes("x"), .flags = PAWL_OP_IDEMPOTENT};

    EXPECT_OK(DO(create, c, &req));
    EXPECT_OK(DO(create, c, &req));
    req.data = bytes("y");
    EXPECT_REFUSED(DO(create, c, &req), PAWL_ERR_NODE_EXISTS);
    EXPECT_OK(DO(delete, c, PAWL_DELETE(.path = at("a"), .flags = PAWL_OP_IDEMPOTENT)));
    EXPECT_OK(DO(delete, c, PAWL_DELETE(.path = at("a"), .flags = PAWL_OP_IDEMPOTENT)));
    pawl_client_close(c);
}

static void children_come_with_stat(void)
{
    struct pawl_client *c = open_main();
    struct pawl_reply *r;

    EXPECT_INT(DO(children, c, at(""), NULL)->children.n, 0);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("b"))));
    r = DO(children, c, at(""), NULL);
    EXPECT_OK(r);
    EXPECT_INT(r->children.n, 2);
    EXPECT(has_child(r, "a") && has_child(r, "b"));
    EXPECT_INT(r->stat.n_children, 2);
    EXPECT_INT(r->stat.cversion, 2);
    EXPECT_REFUSED(DO(children, c, at("none"), NULL), PAWL_ERR_NO_NODE);
    EXPECT(has_child(DO(children, c, "/", NULL), "zookeeper"));
    pawl_client_close(c);
}

static void ten_thousand_children_are_listed(void)
{
    struct pawl_client *c = open_main();
    struct pawl_multi *m;

    for (int batch = 0; batch < 10; batch++) {
        m = pawl_multi_new(c);
        for (int i = 0; i < 1000; i++) {
            pawl_multi_create(m, PAWL_CREATE(.path = text("%s/%05d-a-name-of-some-length", at(""),
                                                          batch * 1000 + i)));
        }
        EXPECT_OK(DO(multi_run, c, m));
        pawl_multi_free(m);
    }
    EXPECT_INT(DO(children, c, at(""), NULL)->children.n, 10000);
    pawl_client_close(c);
}

static void sync_makes_reads_current(void)
{
    struct pawl_client *c = open_main(), *other = open_other();

    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a"), .data = bytes("x"))));
    EXPECT_OK(DO(sync, c, at("a")));
    EXPECT_DATA(DO(get, c, at("a"), NULL), "x");
    EXPECT_OK(DO(sync, c, "/"));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void ephemerals_lists_our_own(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    struct pawl_reply *r;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("mine"), .mode = PAWL_MODE_EPHEMERAL)));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("too"), .mode = PAWL_MODE_EPHEMERAL)));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("his"), .mode = PAWL_MODE_EPHEMERAL)));
    r = DO(ephemerals, c, "/");
    EXPECT_OK(r);
    EXPECT_INT(r->children.n, 2);
    EXPECT(has_child(r, at("mine")) && has_child(r, at("too")));
    r = DO(ephemerals, c, at("mi"));
    EXPECT_INT(r->children.n, 1);
    EXPECT_STR(r->children.items[0], at("mine"));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void all_children_are_counted_at_any_depth(void)
{
    struct pawl_client *c = open_main();
    struct pawl_reply *r;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a/b/c"), .flags = PAWL_OP_PARENTS)));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("d"))));
    r = DO(count_all_children, c, at(""));
    EXPECT_OK(r);
    EXPECT_INT(r->number, 4);
    EXPECT_INT(DO(count_all_children, c, at("a/b"))->number, 1);
    EXPECT_REFUSED(DO(count_all_children, c, at("x")), PAWL_ERR_NO_NODE);
    pawl_client_close(c);
}

static void config_can_be_read(void)
{
    struct pawl_client *c = open_main();

    EXPECT_OK(DO(config, c, NULL));
    pawl_client_close(c);
}

static void reconfig_is_refused_when_disabled(void)
{
    struct pawl_client *c = open_main();
    struct pawl_reconfig req = {.size = sizeof(req), .leaving = "9"};
    struct pawl_reply *r = DO(reconfig, c, &req);

    EXPECT(r->err == PAWL_ERR_RECONFIG_DISABLED || r->err == PAWL_ERR_UNIMPLEMENTED ||
           r->err == PAWL_ERR_NO_AUTH);
    EXPECT_INT(r->outcome, PAWL_OUTCOME_REFUSED);
    EXPECT_OK(DO(exists, c, "/", NULL));
    pawl_client_close(c);
}

static void a_megabyte_goes_and_comes_back(void)
{
    struct pawl_client *c = open_main();
    size_t len = 1000000;
    char *data = scratch(len);
    struct pawl_reply *r;

    for (size_t i = 0; i < len; i++) {
        data[i] = (char)(i * 7919 >> 3);
    }
    r = DO(create, c, PAWL_CREATE(.path = at("a"), .data = {.data = data, .len = len}));
    EXPECT_OK(r);
    r = DO(get, c, at("a"), NULL);
    EXPECT_OK(r);
    EXPECT_INT(r->data.len, len);
    EXPECT(memcmp(r->data.data, data, len) == 0);
    pawl_client_close(c);
}

const struct test tests_data[] = {
    {"get_gives_data_and_stat", get_gives_data_and_stat, FACES_ALL, 0},
    {"no_data_is_not_empty_data", no_data_is_not_empty_data, FACES_ALL, 0},
    {"set_counts_versions", set_counts_versions, FACES_ALL, 0},
    {"exists_says_no_node", exists_says_no_node, FACES_ALL, 0},
    {"delete_obeys_version_and_children", delete_obeys_version_and_children, FACES_ALL, 0},
    {"delete_with_children_takes_all_below", delete_with_children_takes_all_below, FACES_ALL, 0},
    {"idempotent_calls_accept_what_is_done", idempotent_calls_accept_what_is_done, FACES_ALL, 0},
    {"children_come_with_stat", children_come_with_stat, FACES_ALL, 0},
    {"ten_thousand_children_are_listed", ten_thousand_children_are_listed, SLOW, 0},
    {"sync_makes_reads_current", sync_makes_reads_current, FACES_ALL, 0},
    {"ephemerals_lists_our_own", ephemerals_lists_our_own, FACES_ALL, 0},
    {"all_children_are_counted_at_any_depth", all_children_are_counted_at_any_depth, FACES_ALL, 0},
    {"config_can_be_read", config_can_be_read, FACES_ALL, 0},
    {"reconfig_is_refused_when_disabled", reconfig_is_refused_when_disabled, FACES_ALL, 0},
    {"a_megabyte_goes_and_comes_back", a_megabyte_goes_and_comes_back, FACES_ALL, 0},
    {0},
};
