/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_acl.c - ACLs, credentials, and who we are. */
#include "client_suite.h"

static const struct pawl_acl only_us[] = {{PAWL_PERM_ALL, "auth", ""}};
static const struct pawl_acl read_only[] = {{PAWL_PERM_READ, "world", "anyone"}};
static const struct pawl_acl ours_and_read[] = {{PAWL_PERM_ALL, "auth", ""},
                                                {PAWL_PERM_READ, "world", "anyone"}};
#define ACLS(array)                                               \
    {                                                             \
        .items = (array), .n = sizeof(array) / sizeof((array)[0]) \
    }

static struct pawl_auth alice(void)
{
    return (struct pawl_auth){.scheme = "digest", .auth = bytes("alice:secret")};
}

static void acls_are_set_and_read(void)
{
    struct pawl_client *c = open_main();
    struct pawl_auth auth = alice();
    struct pawl_reply *r;

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    r = DO(get_acl, c, at("a"));
    EXPECT_OK(r);
    EXPECT_INT(r->acls.n, 1);
    EXPECT_INT(r->acls.items[0].perms, PAWL_PERM_ALL);
    EXPECT_STR(r->acls.items[0].scheme, "world");
    EXPECT_STR(r->acls.items[0].id, "anyone");
    EXPECT_OK(DO(add_auth, c, &auth));
    r = DO(set_acl, c, PAWL_SET_ACL(.path = at("a"), .acls = ACLS(ours_and_read)));
    EXPECT_OK(r);
    EXPECT_INT(r->stat.aversion, 1);
    r = DO(get_acl, c, at("a"));
    EXPECT_OK(r);
    EXPECT_INT(r->acls.n, 2);
    EXPECT_INT(r->stat.aversion, 1);
    EXPECT_STR(r->acls.items[0].scheme, "digest");
    EXPECT(strncmp(r->acls.items[0].id, "alice:", 6) == 0);
    r = DO(set_acl, c,
           PAWL_SET_ACL(.path = at("a"), .acls = ACLS(only_us), .only_if = pawl_version(0)));
    EXPECT_REFUSED(r, PAWL_ERR_BAD_VERSION);
    pawl_client_close(c);
}

static void an_acl_keeps_others_out(void)
{
    struct pawl_client *c = open_main(), *other = open_other();
    struct pawl_auth auth = alice();

    EXPECT_OK(DO(add_auth, c, &auth));
    EXPECT_OK(
        DO(create, c, PAWL_CREATE(.path = at("a"), .data = bytes("x"), .acls = ACLS(only_us))));
    EXPECT_DATA(DO(get, c, at("a"), NULL), "x");
    EXPECT_REFUSED(DO(get, other, at("a"), NULL), PAWL_ERR_NO_AUTH);
    EXPECT_REFUSED(DO(set, other, PAWL_SET(.path = at("a"))), PAWL_ERR_NO_AUTH);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("r"), .acls = ACLS(read_only))));
    EXPECT_REFUSED(DO(set, c, PAWL_SET(.path = at("r"))), PAWL_ERR_NO_AUTH);
    EXPECT_REFUSED(DO(create, c, PAWL_CREATE(.path = at("r/x"))), PAWL_ERR_NO_AUTH);
    pawl_client_close(other);
    pawl_client_close(c);
}

static void an_acl_must_be_valid(void)
{
    static const struct pawl_acl nonsense[] = {{PAWL_PERM_ALL, "no-such-scheme", "x"}};
    struct pawl_client *c = open_main();

    EXPECT_REFUSED(DO(create, c, PAWL_CREATE(.path = at("a"), .acls = ACLS(nonsense))),
                   PAWL_ERR_INVALID_ACL);
    EXPECT_REFUSED(DO(create, c, PAWL_CREATE(.path = at("a"), .acls = ACLS(only_us))),
                   PAWL_ERR_INVALID_ACL); /* nobody has signed in */
    pawl_client_close(c);
}

static bool knows(const struct pawl_reply *r, const char *scheme, const char *id)
{
    for (size_t i = 0; i < r->ids.n; i++) {
        if (strcmp(r->ids.items[i].scheme, scheme) == 0 &&
            strncmp(r->ids.items[i].id, id, strlen(id)) == 0) {
            return true;
        }
    }
    return false;
}

static void whoami_tells_our_ids(void)
{
    struct pawl_client *c = open_main();
    struct pawl_auth auth = alice();
    struct pawl_reply *r = DO_WHOAMI(c);

    EXPECT_OK(r);
    EXPECT(knows(r, "ip", "127.0.0.1"));
    EXPECT(!knows(r, "digest", "alice"));
    EXPECT_OK(DO(add_auth, c, &auth));
    EXPECT(knows(DO_WHOAMI(c), "digest", "alice"));
    pawl_client_close(c);
}

static void unknown_credentials_fail_and_are_forgotten(void)
{
    struct pawl_client *c = open_main();
    struct pawl_auth nonsense = {.scheme = "no-such-scheme", .auth = bytes("x")};

    EXPECT_REFUSED(DO(add_auth, c, &nonsense), PAWL_ERR_AUTH_FAILED);
    EXPECT_OK(DO(get, c, at(""), NULL));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    pawl_client_close(c);
}

static void credentials_are_sent_on_every_connection(void)
{
    struct tcp_proxy *relay = tcp_proxy_new(suite_port());
    struct pawl_auth given = alice();
    struct pawl_auth added = {.scheme = "digest", .auth = bytes("bob:too")};
    struct pawl_client_options options;
    struct states states = {0};
    struct pawl_client *c;
    struct pawl_reply *r;

    options_for_test(&options);
    options.servers = tcp_proxy_address(relay);
    options.auths = &given;
    options.n_auths = 1;
    options.on_state = on_state;
    options.on_state_arg = &states;
    c = open_main_with(&options);
    EXPECT_OK(DO(add_auth, c, &added));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"), .acls = ACLS(only_us))));
    for (int i = 0; i < 3; i++) {
        tcp_proxy_cut(relay);
        EXPECT(states_reach(c, &states, PAWL_STATE_RECONNECTED, LONG_MS));
        states.n = 0;
        EXPECT_OK(DO(get, c, at("a"), NULL)); /* the first request on the new connection */
        r = DO_WHOAMI(c);
        EXPECT(knows(r, "digest", "alice") && knows(r, "digest", "bob"));
    }
    pawl_client_close(c);
}

static void default_acls_apply_to_what_is_created(void)
{
    static const struct pawl_acl ip[] = {{PAWL_PERM_ALL, "ip", "127.0.0.1"}};
    struct pawl_client_options options;
    struct pawl_client *c;
    struct pawl_reply *r;

    options_for_test(&options);
    options.acls.items = ip;
    options.acls.n = 1;
    c = open_main_with(&options);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a/b"), .flags = PAWL_OP_PARENTS)));
    r = DO(get_acl, c, at("a/b"));
    EXPECT_STR(r->acls.items[0].scheme, "ip");
    EXPECT_STR(r->acls.items[0].id, "127.0.0.1");
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("r"), .acls = ACLS(read_only))));
    EXPECT_STR(DO(get_acl, c, at("r"))->acls.items[0].scheme, "world");
    pawl_client_close(c);
}

static void provide(const char *path, struct pawl_acls *out, void *arg)
{
    static const struct pawl_acl ip[] = {{PAWL_PERM_ALL, "ip", "127.0.0.1"}};
    static const struct pawl_acl all[] = {{PAWL_PERM_ALL, "world", "anyone"}};
    int *n = arg;

    ++*n;
    out->items = strstr(path, "private") != NULL ? ip : all;
    out->n = 1;
}

static void an_acl_provider_is_asked(void)
{
    struct pawl_client_options options;
    struct pawl_client *c;
    int n = 0;

    options_for_test(&options);
    options.acl_provider = provide;
    options.acl_provider_arg = &n;
    c = open_main_with(&options);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("private"))));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("public"))));
    EXPECT(n >= 2);
    EXPECT_STR(DO(get_acl, c, at("private"))->acls.items[0].scheme, "ip");
    EXPECT_STR(DO(get_acl, c, at("public"))->acls.items[0].scheme, "world");
    pawl_client_close(c);
}

const struct test tests_acl[] = {
    {"acls_are_set_and_read", acls_are_set_and_read, FACES_ALL, 0},
    {"an_acl_keeps_others_out", an_acl_keeps_others_out, FACES_ALL, 0},
    {"an_acl_must_be_valid", an_acl_must_be_valid, FACES_ALL, 0},
    {"whoami_tells_our_ids", whoami_tells_our_ids, FACES_ALL, 0},
    {"unknown_credentials_fail_and_are_forgotten", unknown_credentials_fail_and_are_forgotten,
     FACES_ALL, 0},
    {"credentials_are_sent_on_every_connection", credentials_are_sent_on_every_connection,
     FACES_ALL, 0},
    {"default_acls_apply_to_what_is_created", default_acls_apply_to_what_is_created, 0, 0},
    {"an_acl_provider_is_asked", an_acl_provider_is_asked, 0, 0},
    {0},
};
