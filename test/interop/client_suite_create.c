/* SPDX-License-Identifier: Apache-2.0 */
/* client_suite_create.c - all modes and flags of create, and compression. */
#include "client_suite.h"

static bool ends_with_ten_digits(const char *path, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(path, prefix, len) == 0 && strlen(path) == len + 10 &&
           strspn(path + len, "0123456789") == 10;
}

static void expect_gone(struct pawl_client *c, const char *path)
{
    struct events *gone = scratch(sizeof(*gone));
    struct pawl_watch watch = watch_into(gone);
    struct pawl_reply *r = DO(exists, c, path, &watch);

    if (r->err == PAWL_OK) {
        expect_events(c, gone, 1);
        expect_event(gone, 0, PAWL_EVENT_DELETED, path);
    }
}

static void create_twice_is_refused(void)
{
    struct pawl_client *c = open_main();

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"))));
    EXPECT_REFUSED(DO(create, c, PAWL_CREATE(.path = at("a"))), PAWL_ERR_NODE_EXISTS);
    EXPECT_REFUSED(DO(create, c, PAWL_CREATE(.path = at("x/y"))), PAWL_ERR_NO_NODE);
    pawl_client_close(c);
}

static void every_mode_makes_its_kind(void)
{
    struct pawl_client *c = open_main();
    int64_t me = pawl_client_session_id(c);
    struct pawl_reply *r;

    r = DO(create, c, PAWL_CREATE(.path = at("p"), .mode = PAWL_MODE_PERSISTENT));
    EXPECT_OK(r);
    EXPECT_INT(r->stat.ephemeral_owner, 0);
    r = DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL));
    EXPECT_OK(r);
    EXPECT_INT(DO(exists, c, at("e"), NULL)->stat.ephemeral_owner, me);
    r = DO(create, c, PAWL_CREATE(.path = at("s-"), .mode = PAWL_MODE_SEQUENTIAL));
    EXPECT_OK(r);
    EXPECT(ends_with_ten_digits(r->path, at("s-")));
    EXPECT_OK(DO(exists, c, r->path, NULL));
    r = DO(create, c, PAWL_CREATE(.path = at("es-"), .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL));
    EXPECT_OK(r);
    EXPECT(ends_with_ten_digits(r->path, at("es-")));
    EXPECT_INT(DO(exists, c, r->path, NULL)->stat.ephemeral_owner, me);
    r = DO(create, c, PAWL_CREATE(.path = at("c"), .mode = PAWL_MODE_CONTAINER));
    EXPECT_OK(r);
    EXPECT_INT(DO(exists, c, at("c"), NULL)->stat.ephemeral_owner, 0);
    r = DO(create, c, PAWL_CREATE(.path = at("t"), .mode = PAWL_MODE_TTL, .ttl_ms = 60000));
    EXPECT_OK(r);
    EXPECT_INT(DO(exists, c, at("t"), NULL)->stat.ephemeral_owner, 0);
    r = DO(create, c,
           PAWL_CREATE(.path = at("ts-"), .mode = PAWL_MODE_TTL_SEQUENTIAL, .ttl_ms = 60000));
    EXPECT_OK(r);
    EXPECT(ends_with_ten_digits(r->path, at("ts-")));
    pawl_client_close(c);
}

static void create_gives_stat_in_every_mode(void)
{
    struct pawl_client *c = open_main();

    for (int mode = PAWL_MODE_PERSISTENT; mode <= PAWL_MODE_TTL_SEQUENTIAL; mode++) {
        struct pawl_create req = {.size = sizeof(req),
                                  .path = at(text("n%d", mode)),
                                  .data = bytes("abcd"),
                                  .mode = (enum pawl_mode)mode,
                                  .ttl_ms = mode >= PAWL_MODE_TTL ? 60000 : 0};
        struct pawl_reply *r = DO(create, c, &req), *seen;

        EXPECT_OK(r);
        seen = DO(exists, c, r->path, NULL);
        EXPECT_INT(r->stat.czxid, seen->stat.czxid);
        EXPECT_INT(r->stat.data_length, 4);
        EXPECT_INT(r->stat.ephemeral_owner, seen->stat.ephemeral_owner);
    }
    pawl_client_close(c);
}

static void ephemerals_have_no_children(void)
{
    struct pawl_client *c = open_main();

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL)));
    EXPECT_REFUSED(DO(create, c, PAWL_CREATE(.path = at("e/x"))),
                   PAWL_ERR_NO_CHILDREN_FOR_EPHEMERALS);
    pawl_client_close(c);
}

static void ephemerals_go_at_close(void)
{
    struct pawl_client *c = open_main(), *other = open_other();

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("e"), .mode = PAWL_MODE_EPHEMERAL)));
    EXPECT_OK(DO(exists, other, at("e"), NULL));
    pawl_client_close(c);
    suite.main_client = NULL;
    EXPECT_OK(DO(sync, other, at("e")));
    EXPECT_REFUSED(DO(exists, other, at("e"), NULL), PAWL_ERR_NO_NODE);
    pawl_client_close(other);
}

static void parents_are_made_on_demand(void)
{
    struct pawl_client *c = open_main();
    struct pawl_reply *r;

    r = DO(create, c,
           PAWL_CREATE(.path = at("a/b/c/d"), .data = bytes("x"), .flags = PAWL_OP_PARENTS));
    EXPECT_OK(r);
    EXPECT_STR(r->path, at("a/b/c/d"));
    EXPECT_DATA(DO(get, c, at("a/b/c/d"), NULL), "x");
    EXPECT_INT(DO(exists, c, at("a/b"), NULL)->stat.ephemeral_owner, 0);
    EXPECT_OK(DO(create, c,
                 PAWL_CREATE(.path = at("a/b/c2/e"), .mode = PAWL_MODE_EPHEMERAL,
                             .flags = PAWL_OP_PARENTS)));
    r = DO(create, c,
           PAWL_CREATE(.path = at("q/n-"), .mode = PAWL_MODE_SEQUENTIAL,
                       .flags = PAWL_OP_CONTAINER_PARENTS));
    EXPECT_OK(r);
    EXPECT_OK(DO(delete, c, PAWL_DELETE(.path = r->path)));
    expect_gone(c, at("q")); /* nobody but the server removes it */
    EXPECT_OK(DO(exists, c, at("a/b"), NULL));
    pawl_client_close(c);
}

static void create_or_set_overwrites(void)
{
    struct pawl_client *c = open_main();
    struct pawl_reply *r;

    EXPECT_OK(
        DO(create, c, PAWL_CREATE(.path = at("a"), .data = bytes("1"), .flags = PAWL_OP_OR_SET)));
    r = DO(create, c, PAWL_CREATE(.path = at("a"), .data = bytes("2"), .flags = PAWL_OP_OR_SET));
    EXPECT_OK(r);
    EXPECT_STR(r->path, at("a"));
    EXPECT_INT(r->stat.version, 1);
    EXPECT_DATA(DO(get, c, at("a"), NULL), "2");
    pawl_client_close(c);
}

static void protected_names_carry_an_id(void)
{
    struct pawl_client *c = open_main();
    const char *name;
    struct pawl_reply *r;

    r = DO(create, c,
           PAWL_CREATE(.path = at("lock-"), .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                       .flags = PAWL_OP_PROTECTED));
    EXPECT_OK(r);
    name = strrchr(r->path, '/') + 1;
    EXPECT(strncmp(name, "_c_", 3) == 0);
    EXPECT_INT(strlen(name), strlen("_c_") + 36 + strlen("-lock-") + 10);
    EXPECT_INT(name[3 + 36], '-');
    EXPECT(strncmp(name + 3 + 37, "lock-", 5) == 0);
    r = DO(create, c, PAWL_CREATE(.path = at("plain"), .flags = PAWL_OP_PROTECTED));
    EXPECT_OK(r);
    EXPECT_OK(DO(exists, c, r->path, NULL));
    r = DO(create, c,
           PAWL_CREATE(.path = at("p/q/plain"), .flags = PAWL_OP_PROTECTED | PAWL_OP_PARENTS));
    EXPECT_OK(r);
    EXPECT_OK(DO(exists, c, r->path, NULL));
    EXPECT_OK(DO(exists, c, at("p/q"), NULL));
    pawl_client_close(c);
}

static void ttl_nodes_and_containers_go_by_themselves(void)
{
    struct pawl_client *c = open_main();

    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("t"), .mode = PAWL_MODE_TTL, .ttl_ms = 200)));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("c"), .mode = PAWL_MODE_CONTAINER)));
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("c/x"))));
    EXPECT_OK(DO(delete, c, PAWL_DELETE(.path = at("c/x"))));
    expect_gone(c, at("t"));
    expect_gone(c, at("c"));
    pawl_client_close(c);
}

static void a_ttl_must_be_sensible(void)
{
    struct pawl_client *c = open_main();

    EXPECT_INT(DO(create, c, PAWL_CREATE(.path = at("t"), .mode = PAWL_MODE_TTL))->err,
               PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(
        DO(create, c, PAWL_CREATE(.path = at("t"), .mode = PAWL_MODE_TTL, .ttl_ms = -5))->err,
        PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_INT(
        DO(create, c, PAWL_CREATE(.path = at("t"), .mode = PAWL_MODE_TTL, .ttl_ms = INT64_MAX))
            ->err,
        PAWL_ERR_BAD_ARGUMENTS);
    EXPECT_OK(DO(exists, c, at(""), NULL));
    pawl_client_close(c);
}

static char *a_lot_of_the_same(size_t len)
{
    char *s = scratch(len + 1);

    memset(s, 'z', len);
    return s;
}

static void compressed_data_come_back(void)
{
    struct pawl_client *c = open_main();
    char *plain = a_lot_of_the_same(100000);
    const uint8_t *raw;
    struct pawl_reply *r;

    EXPECT_OK(DO(create, c,
                 PAWL_CREATE(.path = at("a"), .data = bytes(plain), .flags = PAWL_OP_COMPRESS)));
    EXPECT_DATA(DO(get_compressed, c, at("a"), NULL), plain);
    r = DO(get, c, at("a"), NULL);
    EXPECT(r->data.len < 1000);
    raw = r->data.data;
    EXPECT(raw[0] == 0x1f && raw[1] == 0x8b);
    EXPECT_OK(
        DO(set, c, PAWL_SET(.path = at("a"), .data = bytes("short"), .flags = PAWL_OP_COMPRESS)));
    EXPECT_DATA(DO(get_compressed, c, at("a"), NULL), "short");
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at("a"), .data = bytes("plain"))));
    EXPECT_INT(DO(get_compressed, c, at("a"), NULL)->err, PAWL_ERR_DATA_INCONSISTENCY);
    EXPECT_OK(DO(exists, c, at("a"), NULL));
    pawl_client_close(c);
}

static void a_client_can_compress_everything(void)
{
    struct pawl_client_options options;
    struct pawl_client *c, *other = open_other();
    struct pawl_reply *r;

    options_for_test(&options);
    options.flags = PAWL_CLIENT_COMPRESS;
    c = open_main_with(&options);
    EXPECT_OK(DO(create, c, PAWL_CREATE(.path = at("a"), .data = bytes("hello"))));
    EXPECT_DATA(DO(get, c, at("a"), NULL), "hello");
    EXPECT_OK(DO(set, c, PAWL_SET(.path = at("a"), .data = bytes("again"))));
    EXPECT_DATA(DO(get, c, at("a"), NULL), "again");
    EXPECT_DATA(DO(get_compressed, other, at("a"), NULL), "again");
    r = DO(get, other, at("a"), NULL);
    EXPECT(((const uint8_t *)r->data.data)[0] == 0x1f);
    pawl_client_close(other);
    pawl_client_close(c);
}

const struct test tests_create[] = {
    {"create_twice_is_refused", create_twice_is_refused, FACES_ALL, 0},
    {"every_mode_makes_its_kind", every_mode_makes_its_kind, FACES_ALL, 0},
    {"create_gives_stat_in_every_mode", create_gives_stat_in_every_mode, FACES_ALL, 0},
    {"ephemerals_have_no_children", ephemerals_have_no_children, FACES_ALL, 0},
    {"ephemerals_go_at_close", ephemerals_go_at_close, FACES_ALL, 0},
    {"parents_are_made_on_demand", parents_are_made_on_demand, FACES_ALL, 0},
    {"create_or_set_overwrites", create_or_set_overwrites, FACES_ALL, 0},
    {"protected_names_carry_an_id", protected_names_carry_an_id, FACES_ALL, 0},
    {"ttl_nodes_and_containers_go_by_themselves", ttl_nodes_and_containers_go_by_themselves, 0, 0},
    {"a_ttl_must_be_sensible", a_ttl_must_be_sensible, FACES_ALL, 0},
    {"compressed_data_come_back", compressed_data_come_back, FACES_ALL, 0},
    {"a_client_can_compress_everything", a_client_can_compress_everything, FACES_ALL, 0},
    {0},
};
