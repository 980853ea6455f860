/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_names.c - chroot, namespace, views, and arguments that make no sense. */
#include "client_suite.h"

static void a_chroot_goes_in_front_of_every_path(void)
{
    struct pawl_client *other = open_other(), *c;
    struct pawl_client_options options;
    struct events *list = scratch(sizeof(*list)), *below = scratch(sizeof(*below));
    struct pawl_watch on_list = watch_into(list), on_below = watch_into(below);
    struct pawl_reply *r;

    options_for_test(&options);
    options.servers = text("%s%s", suite.servers, at(""));
    c = open_main_with(&options);
    r = DO(create, c, PAWL_CREATE(.path = "/a", .data = bytes("x")));
    EXPECT_OK(r);
    EXPECT_STR(r->path, "/a");
    EXPECT_DATA(DO(get, other, at("a"), NULL), "x");
    EXPECT_OK(DO(children, c, "/", &on_list));
    EXPECT_OK(DO(watch, c, "/a", PAWL_WATCH_RECURSIVE, &on_below));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("b"))));
    EXPECT_OK(DO(create, other, PAWL_CREATE(.path = at("a/x"))));
    expect_events(c, list, 1);
    expect_event(list, 0, PAWL_EVENT_CHILDREN_CHANGED, "/");
    expect_events(c, below, 1);
    expect_event(below, 0, PAWL_EVENT_CREATED, "/a/x");
    r = DO(create, c, PAWL_CREATE(.path = "/s-", .mode = PAWL_MODE_SEQUENTIAL));
    EXPECT_OK(r);
    EXPECT(strncmp(r->path, "/s-", 3) == 0);
    EXPECT_OK(DO(set, c, PAWL_SET(.path = "/")));
    EXPECT_INT(DO(exists, other, at(""), NULL)->stat.version, 1);
    pawl_client_close(other);
    pawl_client_close(c);
}

static void a_chroot_is_not_made(void)
{
    struct pawl_client_options options;
    struct pawl_client *c;

    options_for_test(&options);
    options.servers = text("%s%s", suite.servers, at("missing"));
    c = open_main_with(&options);
    EXPECT_REFUSED(DO(create, c, PAWL_CREATE(.path = "/a")), PAWL_ERR_NO_NODE);
    EXPECT_REFUSED(DO(exists, c, "/", NULL), PAWL_ERR_NO_NODE);
    pawl_client_close(c);
}

static void a_multi_lives_in_the_chroot(void)
{
    struct pawl_client *other = open_other(), *c;
    struct pawl_client_options options;
    struct pawl_multi *m;
    struct pawl_reply *r;

    options_for_test(&options);
    options.servers = text("%s%s", suite.servers, at(""));
    c = open_main_with(&options);
    m = pawl_multi_new(c);
    pawl_multi_create(m, PAWL_CREATE(.path = "/a"));
    pawl_multi_set(m, PAWL_SET(.path = "/a", .data = bytes("x")));
    r = DO(multi_run, c, m);
    EXPECT_OK(r);
    EXPECT_STR(r->results[0]->path, "/a");
    EXPECT_DATA(DO(get, other, at("a"), NULL), "x");
    pawl_multi_free(m);
    pawl_client_close(other);
    pawl_client_close(c);
}

static void a_namespace_is_made_on_demand(void)
{
    struct pawl_client *other = open_other(), *c;
    struct pawl_client_options options;
    struct events *e = scratch(sizeof(*e));
    struct pawl_watch watch = watch_into(e);
    struct pawl_reply *r;

    options_for_test(&options);
    options.name_space = at("deep/down") + 1;
    c = open_main_with(&options);
    r = DO(create, c, PAWL_CREATE(.path = "/a", .data = bytes("x")));
    EXPECT_OK(r);
    EXPECT_STR(r->path, "/a");
    EXPECT_DATA(DO(get, other, at("deep/down/a"), NULL), "x");
    EXPECT_OK(DO(get, c, "/a", &watch));
    EXPECT_OK(DO(set, other, PAWL_SET(.path = at("deep/down/a"))));
    expect_events(c, e, 1);
    expect_event(e, 0, PAWL_EVENT_DATA_CHANGED, "/a");
    pawl_client_close(other);
    pawl_client_close(c);
}

static void chroot_and_namespace_add_up(void)
{
    struct pawl_client *other = open_other(), *c;
    struct pawl_client_options options;

    options_for_test(&options);
    options.servers = text("%s%s", suite.servers, at(""));
    options.name_space = "ns";
    c = open_main_with(&options);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = "/a")));
    EXPECT_OK(DO(exists, other, at("ns/a"), NULL));
    pawl_client_close(other);
    pawl_client_close(c);
}

static void a_view_has_its_own_namespace_and_timeout(void)
{
    struct pawl_client *c = open_main(), *view, *whole;
    struct pawl_view_options in = {.size = sizeof(in), .name_space = at("v") + 1};
    struct pawl_view_options out = {.size = sizeof(out), .name_space = ""};

    EXPECT_INT(pawl_client_view(c, &in, &view), PAWL_OK);
    EXPECT_INT(pawl_client_session_id(view), pawl_client_session_id(c));
    EXPECT_OK(taken(pawl_create(view, PAWL_CREATE(.path = "/a"), reply_slot())));
    EXPECT_OK(DO(exists, c, at("v/a"), NULL));
    EXPECT_INT(pawl_client_view(view, &out, &whole), PAWL_OK);
    EXPECT_OK(taken(pawl_exists(whole, at("v/a"), NULL, reply_slot())));
    pawl_client_close(whole);
    pawl_client_close(view); /* just freed */
    EXPECT_OK(DO(exists, c, at("v/a"), NULL));
    pawl_client_close(c);
}

static void a_view_survives_its_client(void)
{
    struct pawl_client *c = open_main(), *view;
    struct pawl_view_options options = {.size = sizeof(options), .name_space = "x"};

    EXPECT_INT(pawl_client_view(c, &options, &view), PAWL_OK);
    pawl_client_close(c);
    EXPECT_INT(taken(pawl_exists(view, "/", NULL, reply_slot()))->err, PAWL_ERR_CLOSING);
    EXPECT_INT(pawl_get_async(view, "/", NULL, NULL, NULL), PAWL_ERR_CLOSING);
    pawl_client_close(view);
}

static const char *const bad_paths[] = {
    "",      "a",  "a/b",  "//",  "/a/",     "/a//b",   "/a/./b",
    "/a/..", "/.", "/a/.", "/..", "/a\001b", "/a\x7fu", "/\xef\xbf\xbf",
};

static void bad_paths_are_bad_arguments(void)
{
    struct pawl_client *c = open_main();

    for (size_t i = 0; i < sizeof(bad_paths) / sizeof(bad_paths[0]); i++) {
        const char *path = bad_paths[i];
        struct pawl_reply *r = DO(create, c, PAWL_CREATE(.path = path));

        if (r->err != PAWL_ERR_BAD_ARGUMENTS) {
            fail_at(__FILE__, __LINE__, "\"%s\" gives %s", path, pawl_error_name(r->err));
        }
        EXPECT_INT(DO(get, c, path, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
        EXPECT_INT(DO(exists, c, path, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
        EXPECT_INT(DO(children, c, path, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
        EXPECT_INT(DO(set, c, PAWL_SET(.path = path))->err, PAWL_ERR_BAD_ARGUMENTS);
        EXPECT_INT(DO(delete, c, PAWL_DELETE(.path = path))->err, PAWL_ERR_BAD_ARGUMENTS);
        EXPECT_INT(DO(get_acl, c, path)->err, PAWL_ERR_BAD_ARGUMENTS);
        EXPECT_INT(DO(sync, c, path)->err, PAWL_ERR_BAD_ARGUMENTS);
    }
    EXPECT_OK(DO(exists, c, "/", NULL));
    EXPECT_INT(pawl_client_state(c), PAWL_STATE_CONNECTED);
    pawl_client_close(c);
}

static void missing_arguments_are_bad_arguments(void)
{
    struct pawl_client *c = open_main();
    struct events *e = scratch(sizeof(*e));
    struct pawl_watch none = {0}, watch = watch_into(e);
    struct pawl_create no_size = {.path = at("a")};

    EXPECT_INT(DO(create, c, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(create, c, PAWL_CREATE(.mode = PAWL_MODE_EPHEMERAL))->err,
               PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(create, c, PAWL_CREATE(.path = at("a"), .mode = (enum pawl_mode)77))->err,
               PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(create, c, &no_size)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(set, c, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(delete, c, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(set_acl, c, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(get, c, NULL, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(get, c, at(""), &none)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(add_auth, c, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(watch, c, at(""), PAWL_WATCH_PERSISTENT, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(watch, c, at(""), (enum pawl_watch_mode)9, &watch)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(unwatch, c, at(""), 0, &watch)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(DO(multi_run, c, NULL)->err, PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(pawl_get(NULL, "/", NULL, NULL), PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(pawl_get_async(NULL, "/", NULL, NULL, NULL), PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(pawl_client_add_listener(c, NULL, NULL), PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_OK(DO(exists, c, "/", NULL));
    pawl_client_close(c);
    pawl_client_close(NULL);
    pawl_reply_free(NULL);
}

static void servers_that_make_no_sense_are_refused(void)
{
    static const char *const bad[] = {
        "",        ",",       "host:",    "host:0",      "host:65536", "host:abc",
        "[::1:21", "[::1]x",  "a:1,,b:2", "a:1/chroot/", "a:1//x",     "a:1/x/../y",
        ":2181",   "a:1 b:2", "unix:",    "local:",
    };
    struct pawl_client_options options;
    struct pawl_client *c;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int rc;

        options_for_test(&options);
        options.servers = bad[i];
        rc = pawl_client_open(&options, &c);
        if (rc != PAWL_ERR_BAD_ARGUMENTS) {
            fail_at(__FILE__, __LINE__, "\"%s\" gives %d", bad[i], rc);
        }
    }
    options_for_test(&options);
    options.servers = NULL;
    EXPECT_INT(pawl_client_open(&options, &c), PAWL_ERR_BAD_ARGUMENTS);
    options_for_test(&options);
    options.name_space = "a//b";
    EXPECT_INT(pawl_client_open(&options, &c), PAWL_ERR_BAD_ARGUMENTS);
    options_for_test(&options);
    options.attach = bytes("this is no blob");
    EXPECT_INT(pawl_client_open(&options, &c), PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(pawl_client_open(NULL, &c), PAWL_ERR_BAD_ARGUMENTS);
}

const struct test tests_names[] = {
    {"a_chroot_goes_in_front_of_every_path", a_chroot_goes_in_front_of_every_path, FACES_ALL, 0},
    {"a_chroot_is_not_made", a_chroot_is_not_made, 0, 0},
    {"a_multi_lives_in_the_chroot", a_multi_lives_in_the_chroot, FACES_ALL, 0},
    {"a_namespace_is_made_on_demand", a_namespace_is_made_on_demand, FACES_ALL, 0},
    {"chroot_and_namespace_add_up", chroot_and_namespace_add_up, FACES_ALL, 0},
    {"a_view_has_its_own_namespace_and_timeout", a_view_has_its_own_namespace_and_timeout,
     FACES_ALL, 0},
    {"a_view_survives_its_client", a_view_survives_its_client, FACES_ALL, 0},
    {"bad_paths_are_bad_arguments", bad_paths_are_bad_arguments, FACES_ALL, 0},
    {"missing_arguments_are_bad_arguments", missing_arguments_are_bad_arguments, FACES_ALL, 0},
    {"servers_that_make_no_sense_are_refused", servers_that_make_no_sense_are_refused, 0, 0},
    {0},
};
