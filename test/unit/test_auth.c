/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lib/test.h"
#include "lib/vectors.h"
#include "pawl/error.h"
#include "store/acl_table.h"

static const struct auth_options usual = {.digest_enabled = true, .digest_algorithm = "SHA1"};

#define BOB_ID "bob:ikIaKsbtGweaHnb/jKn7OHqbunM="

static void begin(struct identity *c, const char *ip)
{
    identity_init(c, ip);
}

static int add(struct identity *c, const char *scheme, const char *auth)
{
    return auth_add(c, &usual, bytes_str(scheme), bytes_str(auth));
}

/* A list, encoded with its count: "perms scheme id" three by three; NULL is null. */
struct entry {
    int32_t perms;
    const char *scheme, *id;
};

static struct acl_list list_of(struct strbuf *b, const struct entry *entries, size_t n)
{
    strbuf_clear(b);
    jute_write_int(b, (int32_t)n);
    for (size_t i = 0; i < n; i++) {
        acl_entry_write(b,
                        &(struct acl_entry){
                            entries[i].perms,
                            entries[i].scheme == NULL ? BYTES_NULL : bytes_str(entries[i].scheme),
                            entries[i].id == NULL ? BYTES_NULL : bytes_str(entries[i].id)});
    }
    return (struct acl_list){(int32_t)n, bytes_of(b->data + 4, b->len - 4)};
}

static int fix(struct identity *c, const struct entry *entries, size_t n, struct strbuf *out)
{
    struct acl_list list;
    struct strbuf b;
    int rc;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    list = list_of(&b, entries, n);
    strbuf_clear(out);
    rc = auth_fix_acl(c, &usual, &list, out);
    strbuf_fini(&b);
    return rc;
}

static int fix_one(const char *scheme, const char *id)
{
    struct entry e = {1, scheme, id};
    struct identity c;
    struct strbuf out;
    int rc;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    begin(&c, "127.0.0.1");
    rc = fix(&c, &e, 1, &out);
    identity_fini(&c);
    strbuf_fini(&out);
    return rc;
}

/* ---- syntax of ids ---- */

static void ids_are_accepted_by_the_rules_of_their_scheme(void **state)
{
    static const struct {
        const char *scheme, *id;
        int rc;
    } rows[] = {
        {"world", "anyone", PAWL_OK},
        {"world", "other", PAWL_ERR_INVALID_ACL},
        {"world", NULL, PAWL_ERR_MARSHALLING},
        {NULL, "anyone", PAWL_ERR_INVALID_ACL},
        {"super", "x", PAWL_ERR_INVALID_ACL},
        {"nobody", "x", PAWL_ERR_INVALID_ACL},
        {"auth", NULL, PAWL_ERR_INVALID_ACL}, /* this connection has nothing to show */
        {"digest", "a:b", PAWL_OK},
        {"digest", "abc", PAWL_ERR_INVALID_ACL},
        {"digest", "a:b:c", PAWL_ERR_INVALID_ACL},
        {"digest", "a:", PAWL_ERR_INVALID_ACL},
        {"digest", "a:b:", PAWL_OK},
        {"digest", ":b", PAWL_OK},
        {"digest", ":", PAWL_ERR_INVALID_ACL},
        {"digest", "", PAWL_ERR_INVALID_ACL},
        {"digest", NULL, PAWL_ERR_MARSHALLING},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        assert_int_equal(fix_one(rows[i].scheme, rows[i].id), rows[i].rc);
    }
}

static void networks_are_addresses_with_as_many_bits_as_there_are(void **state)
{
    static const char *const good[] = {
        "1.2.3.4",
        "0.0.0.0/0",
        "1.2.3.4/32",
        "255.255.255.255/1",
        "::1",
        "::",
        "::/0",
        "1::",
        "fe80::1%eth0",
        "2001:db8::/32",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7:8/128",
        "a:B:c:D:e:F:0:ffff",
        "1::8",
    };
    static const char *const bad[] = {
        "",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.4/33",
        "1.2.3.4/-1",
        "1.2.3.4/",
        "1.2.3.4/x",
        "1.2.3.4/ 8",
        "1.2.3.4/8x",
        "1..2.3",
        "a.b.c.d",
        ":",
        ":::",
        "1::2::3",
        "12345::",
        "0x1::",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "::1/129",
        "1:2:3:4:5:6:7:8::",
        "g::",
        "1:",
        ":1",
        "1.2.3.4 ",
        " 1.2.3.4",
        "1:2:3:4:5:6:1.2.3.4",
        "1:2:3:4:5:6:7:8/128888888888888888888888888888888888888888888888888888888888",
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(good); i++) {
        assert_int_equal(fix_one("ip", good[i]), PAWL_OK);
    }
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        assert_int_equal(fix_one("ip", bad[i]), PAWL_ERR_INVALID_ACL);
    }
}

/* ---- who may ---- */

static bool may(struct identity *c, const struct auth_options *o, int32_t perms,
                const struct entry *entries, size_t n)
{
    struct acl_table *t = acl_table_new();
    struct strbuf b;
    bool result;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    list_of(&b, entries, n);
    result = auth_allows(c, o, t, acl_table_take(t, strbuf_bytes(&b)), perms);
    strbuf_fini(&b);
    acl_table_free(t);
    return result;
}

/* A list of a hundred strangers, so long that what it comes to is kept, and then `last`. */
static uint32_t take_long_list(struct acl_table *t, const struct acl_entry *last)
{
    struct strbuf b;
    uint32_t id;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    jute_write_int(&b, 101);
    for (int i = 0; i < 100; i++) {
        char ip[32];

        snprintf(ip, sizeof(ip), "10.0.0.%d", i);
        acl_entry_write(&b, &(struct acl_entry){31, bytes_str("ip"), bytes_str(ip)});
    }
    acl_entry_write(&b, last);
    id = acl_table_take(t, strbuf_bytes(&b));
    strbuf_fini(&b);
    return id;
}

static void what_a_long_list_came_to_is_kept_for_just_that_list_and_those_ids(void **state)
{
    struct acl_entry for_bob = {1, bytes_str("digest"), bytes_str(BOB_ID)};
    struct acl_entry for_me = {2, bytes_str("ip"), bytes_str("127.0.0.1")};
    struct acl_table *t = acl_table_new();
    struct identity c;
    uint32_t id, again;

    (void)state;
    begin(&c, "127.0.0.1");
    assert_int_equal(add(&c, "digest", "bob:pw"), PAWL_OK);
    id = take_long_list(t, &for_bob);
    for (int i = 0; i < 2; i++) {
        int64_t spent = c.cost;

        assert_true(auth_allows(&c, &usual, t, id, 1));
        assert_false(auth_allows(&c, &usual, t, id, 2));
        assert_true(i == 0 ? c.cost > spent : c.cost == spent);
        c.n_in_force = 1; /* a request that came before bob was shown */
        assert_false(auth_allows(&c, &usual, t, id, 1));
        c.n_in_force = 2;
        assert_true(auth_allows(&c, &usual, t, id, 1));
    }
    acl_table_release(t, id);
    again = take_long_list(t, &for_me);
    assert_int_equal(again, id); /* the number is used again, for another list */
    assert_false(auth_allows(&c, &usual, t, again, 1));
    assert_true(auth_allows(&c, &usual, t, again, 2));
    identity_fini(&c);
    acl_table_free(t);
}

/* One request may ask for hundreds of lists in turn. */
static void what_hundreds_of_long_lists_came_to_is_kept(void **state)
{
    enum { N_LISTS = 300 };
    struct acl_table *t = acl_table_new();
    struct identity c;
    int64_t first, second;
    uint32_t ids[N_LISTS];

    (void)state;
    begin(&c, "127.0.0.1");
    for (int i = 0; i < N_LISTS; i++) {
        ids[i] = take_long_list(t, &(struct acl_entry){i, bytes_str("digest"), bytes_str(BOB_ID)});
    }
    for (int i = 0; i < N_LISTS; i++) {
        assert_false(auth_allows(&c, &usual, t, ids[i], 1));
    }
    first = c.cost;
    for (int i = 0; i < N_LISTS; i++) {
        assert_false(auth_allows(&c, &usual, t, ids[i], 1));
    }
    second = c.cost - first;
    assert_true(second < first / 2); /* some share a place */
    identity_fini(&c);
    acl_table_free(t);
}

static void each_of_many_ids_counts_from_when_it_was_shown(void **state)
{
    enum { N_IDS = 250 };
    struct acl_table *t = acl_table_new();
    uint32_t lists[N_IDS];
    struct identity c;
    struct strbuf own;
    char who[32];

    (void)state;
    begin(&c, "127.0.0.1");
    strbuf_init(&own, STRBUF_NO_LIMIT);
    for (int i = 0; i < N_IDS; i++) {
        snprintf(who, sizeof(who), "user%d:pw", i);
        assert_int_equal(add(&c, "digest", who), PAWL_OK);
        assert_int_equal(add(&c, "digest", who), PAWL_OK);
        strbuf_clear(&own);
        jute_write_int(&own, 1);
        acl_entry_write(&own, &(struct acl_entry){
                                  1, bytes_str("digest"),
                                  bytes_str(container_of(c.ids.prev, struct auth_id, link)->id)});
        lists[i] = acl_table_take(t, strbuf_bytes(&own));
    }
    for (int i = 0; i < N_IDS; i++) {
        c.n_in_force = (uint32_t)i + 1; /* the address is the first */
        assert_false(auth_allows(&c, &usual, t, lists[i], 1));
        c.n_in_force = (uint32_t)i + 2;
        assert_true(auth_allows(&c, &usual, t, lists[i], 1));
    }
    strbuf_fini(&own);
    identity_fini(&c);
    acl_table_free(t);
}

static void a_network_lets_in_the_addresses_within_it(void **state)
{
    static const struct {
        const char *mine, *net;
        bool in;
    } rows[] = {
        {"10.1.2.3", "10.1.2.3", true},
        {"10.1.2.3", "10.1.2.4", false},
        {"10.1.2.3", "10.1.0.0/16", true},
        {"10.1.2.3", "10.1.255.255/16", true},
        {"10.1.2.3", "10.2.0.0/16", false},
        {"10.1.2.3", "0.0.0.0/0", true},
        {"10.1.2.3", "10.1.2.2/31", true},
        {"10.1.2.3", "10.1.2.0/31", false},
        {"10.1.2.3", "::/0", false},
        {"0:0:0:0:0:0:0:1", "::1", true},
        {"0:0:0:0:0:0:0:1", "0.0.0.0/0", false},
        {"fe80:0:0:0:1:2:3:4%2", "fe80::/10", true},
        {"2001:db8:0:0:0:0:0:1", "2001:db9::/32", false},
        {"2001:db8:0:0:0:0:0:1", "2001:db9::/31", true},
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        struct entry e = {PERM_READ, "ip", rows[i].net};
        struct identity c;

        begin(&c, rows[i].mine);
        assert_int_equal(may(&c, &usual, PERM_READ, &e, 1), rows[i].in);
        identity_fini(&c);
    }
}

static void some_entry_must_have_a_wanted_permission_and_match(void **state)
{
    struct entry list[] = {{PERM_READ, "digest", BOB_ID},
                           {PERM_WRITE, "digest", "eve:x"},
                           {PERM_CREATE, "world", "anyone"},
                           {PERM_ADMIN, "world", "nobody"}};
    struct identity c;

    (void)state;
    begin(&c, "127.0.0.1");
    assert_false(may(&c, &usual, PERM_READ, list, 4));
    assert_true(may(&c, &usual, PERM_CREATE, list, 4));
    assert_int_equal(add(&c, "digest", "bob:pw"), PAWL_OK);
    assert_true(may(&c, &usual, PERM_READ, list, 4));
    assert_false(may(&c, &usual, PERM_WRITE, list, 4));
    assert_true(may(&c, &usual, PERM_WRITE | PERM_READ, list, 4)); /* any bit will do */
    assert_false(may(&c, &usual, PERM_ADMIN, list, 4));
    identity_fini(&c);
}

static void an_empty_list_lets_everybody_in_and_an_unknown_one_nobody(void **state)
{
    struct acl_table *t = acl_table_new();
    struct identity c;

    (void)state;
    begin(&c, "127.0.0.1");
    assert_true(auth_allows(&c, &usual, t, acl_table_take(t, bytes_of("\0\0\0\0", 4)), 1));
    assert_true(auth_allows(&c, &usual, t, acl_table_take(t, bytes_of("\xff\xff\xff\xff", 4)), 1));
    assert_false(auth_allows(&c, &usual, t, 77, 1));
    identity_fini(&c);
    acl_table_free(t);
}

static void super_and_skip_acl_may_do_everything(void **state)
{
    struct auth_options o = usual;
    struct entry nobody = {PERM_ALL, "digest", "eve:x"};
    struct identity c;

    (void)state;
    begin(&c, "127.0.0.1");
    o.super_digest = "super:0bX78nEegDzJM3ju0iLBEJdWzjg=";
    assert_int_equal(auth_add(&c, &o, bytes_str("digest"), bytes_str("super:no")), PAWL_OK);
    assert_false(may(&c, &o, PERM_READ, &nobody, 1));
    assert_int_equal(auth_add(&c, &o, bytes_str("digest"), bytes_str("super:pw")), PAWL_OK);
    assert_true(may(&c, &o, PERM_READ, &nobody, 1));
    identity_fini(&c);
    begin(&c, "127.0.0.1");
    o.skip_acl = true;
    assert_true(may(&c, &o, PERM_READ, &nobody, 1));
    identity_fini(&c);
}

/* ---- authentication ---- */

static bool has(const struct identity *c, const char *scheme, const char *id)
{
    struct list *item;

    list_for_each (item, &c->ids) {
        const struct auth_id *a = container_of(item, struct auth_id, link);

        if (strcmp(a->scheme, scheme) == 0 && strcmp(a->id, id) == 0) {
            return true;
        }
    }
    return false;
}

static size_t count_ids(const struct identity *c)
{
    struct list *item;
    size_t n = 0;

    list_for_each (item, &c->ids) {
        n++;
    }
    return n;
}

/* Rows are: "user:password" "id" */
static void check_digest(const char *row, void *arg)
{
    char *copy = must_strdup(row + 1), *id, *end = strchr(copy, '"');
    struct identity c;

    (void)arg;
    *end = '\0';
    id = strchr(end + 1, '"') + 1;
    *strchr(id, '"') = '\0';
    begin(&c, "127.0.0.1");
    assert_int_equal(add(&c, "digest", copy), PAWL_OK);
    assert_true(has(&c, "digest", id));
    identity_fini(&c);
    free(copy);
}

static void digest_ids_are_those_of_zookeeper(void **state)
{
    (void)state;
    assert_int_equal(vectors_table(VECTORS "/client.txt", "digest-id", check_digest, NULL), 5);
}

static void a_connection_has_its_address_and_each_id_once(void **state)
{
    struct identity c;

    (void)state;
    begin(&c, "10.1.2.3");
    assert_true(has(&c, "ip", "10.1.2.3"));
    assert_int_equal(add(&c, "ip", "whatever"), PAWL_OK);
    assert_int_equal(add(&c, "digest", "bob:pw"), PAWL_OK);
    assert_int_equal(add(&c, "digest", "bob:pw"), PAWL_OK);
    assert_int_equal(count_ids(&c), 2);
    identity_fini(&c);
}

static void what_cannot_be_verified_fails(void **state)
{
    struct auth_options off = usual, odd = usual;
    struct identity c;

    (void)state;
    begin(&c, "127.0.0.1");
    assert_int_equal(add(&c, "world", "anyone"), PAWL_ERR_AUTH_FAILED);
    assert_int_equal(add(&c, "sasl", ""), PAWL_ERR_AUTH_FAILED);
    assert_int_equal(add(&c, "super", ""), PAWL_ERR_AUTH_FAILED);
    assert_int_equal(auth_add(&c, &usual, BYTES_NULL, bytes_str("x")), PAWL_ERR_AUTH_FAILED);
    assert_int_equal(auth_add(&c, &usual, bytes_str("digest"), BYTES_NULL), PAWL_ERR_AUTH_FAILED);
    off.digest_enabled = false;
    assert_int_equal(auth_add(&c, &off, bytes_str("digest"), bytes_str("a:b")),
                     PAWL_ERR_AUTH_FAILED);
    odd.digest_algorithm = "no such algorithm";
    assert_int_equal(auth_add(&c, &odd, bytes_str("digest"), bytes_str("a:b")),
                     PAWL_ERR_AUTH_FAILED);
    assert_int_equal(count_ids(&c), 1);
    identity_fini(&c);
}

static void nobody_is_an_endless_number_of_people(void **state)
{
    char *large = must_zalloc(1 << 20);
    struct identity c;
    int n = 0;

    (void)state;
    begin(&c, "127.0.0.1");
    for (; n < 100000; n++) {
        char user[32];

        snprintf(user, sizeof(user), "user%d:pw", n);
        if (add(&c, "digest", user) != PAWL_OK) {
            break;
        }
    }
    assert_in_range(n, 100, 1000);
    identity_fini(&c);
    begin(&c, "127.0.0.1");
    memset(large, 'u', (1 << 20) - 1);
    assert_int_equal(add(&c, "digest", large), PAWL_ERR_AUTH_FAILED);
    identity_fini(&c);
    free(large);
}

static void certificates_have_ids(void **state)
{
    static const struct auth_options with = {.x509_enabled = true, .x509_super = "CN=root,O=x"};
    struct identity alice, root, nobody;

    (void)state;
    begin(&alice, "10.0.0.1");
    begin(&root, "10.0.0.1");
    begin(&nobody, "10.0.0.1");
    auth_add_certificate(&alice, &with, "CN=alice,O=x");
    auth_add_certificate(&root, &with, "CN=root,O=x");
    assert_true(identity_has(&alice, "x509", bytes_str("CN=alice,O=x")));
    assert_false(identity_has(&alice, "x509", bytes_str("CN=root,O=x")));
    assert_false(identity_may_everything(&alice));
    assert_true(identity_may_everything(&root));
    /* An auth packet shows what was seen before, or nothing. */
    assert_int_equal(auth_add(&alice, &with, bytes_str("x509"), bytes_str("CN=root,O=x")), PAWL_OK);
    assert_false(identity_may_everything(&alice));
    assert_int_equal(auth_add(&nobody, &with, bytes_str("x509"), bytes_str("CN=root,O=x")),
                     PAWL_ERR_AUTH_FAILED);
    assert_int_equal(auth_add(&alice, &usual, bytes_str("x509"), bytes_str("")),
                     PAWL_ERR_AUTH_FAILED); /* without TLS there is no such scheme */
    identity_fini(&alice);
    identity_fini(&root);
    identity_fini(&nobody);
}

static void one_of_the_enforced_schemes_is_enough(void **state)
{
    struct auth_options o = usual;
    struct identity c;

    (void)state;
    begin(&c, "127.0.0.1");
    assert_true(auth_is_sufficient(&c, &o));
    o.enforced_schemes = "sasl,digest";
    assert_false(auth_is_sufficient(&c, &o));
    o.enforced_schemes = "ipx,i,p";
    assert_false(auth_is_sufficient(&c, &o));
    o.enforced_schemes = "sasl,ip";
    assert_true(auth_is_sufficient(&c, &o));
    o.enforced_schemes = "digest, ip";
    assert_true(auth_is_sufficient(&c, &o));
    o.enforced_schemes = "ip ,digest";
    assert_true(auth_is_sufficient(&c, &o));
    o.enforced_schemes = " digest, ipx";
    assert_false(auth_is_sufficient(&c, &o));
    o.enforced_schemes = "sasl,digest";
    add(&c, "digest", "bob:pw");
    assert_true(auth_is_sufficient(&c, &o));
    identity_fini(&c);
}

/* ---- lists of requests ---- */

static void duplicates_go_and_the_order_stays(void **state)
{
    struct entry given[] = {{1, "ip", "1.1.1.1"},
                            {2, "ip", "1.1.1.1"},
                            {1, "ip", "1.1.1.1"},
                            {1, "world", "anyone"},
                            {2, "ip", "1.1.1.1"}};
    struct entry wanted[] = {{1, "ip", "1.1.1.1"}, {2, "ip", "1.1.1.1"}, {1, "world", "anyone"}};
    struct identity c;
    struct strbuf out, expected;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_init(&expected, STRBUF_NO_LIMIT);
    begin(&c, "127.0.0.1");
    assert_int_equal(fix(&c, given, 5, &out), PAWL_OK);
    list_of(&expected, wanted, 3);
    assert_bytes_equal(strbuf_bytes(&out), strbuf_bytes(&expected));
    identity_fini(&c);
    strbuf_fini(&out);
    strbuf_fini(&expected);
}

static void auth_stands_for_the_authenticated_ids_and_not_for_the_address(void **state)
{
    struct auth_options o = usual;
    struct entry given[] = {{31, "auth", NULL}, {1, "world", "anyone"}, {4, "auth", "ignored"}};
    struct entry wanted[] = {{31, "digest", "super:0bX78nEegDzJM3ju0iLBEJdWzjg="},
                             {31, "digest", BOB_ID},
                             {1, "world", "anyone"},
                             {4, "digest", "super:0bX78nEegDzJM3ju0iLBEJdWzjg="},
                             {4, "digest", BOB_ID}};
    struct identity c;
    struct strbuf out, expected;

    (void)state;
    o.super_digest = "super:0bX78nEegDzJM3ju0iLBEJdWzjg=";
    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_init(&expected, STRBUF_NO_LIMIT);
    begin(&c, "127.0.0.1");
    assert_int_equal(fix(&c, given, 3, &out), PAWL_ERR_INVALID_ACL);
    auth_add(&c, &o, bytes_str("digest"), bytes_str("super:pw"));
    add(&c, "digest", "bob:pw");
    assert_int_equal(fix(&c, given, 3, &out), PAWL_OK);
    list_of(&expected, wanted, 5);
    assert_bytes_equal(strbuf_bytes(&out), strbuf_bytes(&expected));
    identity_fini(&c);
    strbuf_fini(&out);
    strbuf_fini(&expected);
}

static void an_empty_or_null_list_is_not_valid(void **state)
{
    struct acl_list empty = {0, bytes_str("")}, null = {-1, BYTES_NULL};
    struct identity c;
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    begin(&c, "127.0.0.1");
    assert_int_equal(auth_fix_acl(&c, &usual, &empty, &out), PAWL_ERR_INVALID_ACL);
    assert_int_equal(auth_fix_acl(&c, &usual, &null, &out), PAWL_ERR_INVALID_ACL);
    identity_fini(&c);
    strbuf_fini(&out);
}

/* Java fails to compare it, and with that the whole request. */
static void a_null_id_behind_one_of_its_kind_cannot_be_decoded(void **state)
{
    struct entry first[] = {{1, "auth", NULL}, {1, "auth", "x"}};
    struct entry second[] = {{1, "auth", "x"}, {1, "auth", NULL}};
    struct entry apart[] = {{1, "auth", "x"}, {2, "auth", NULL}};
    struct identity c;
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    begin(&c, "127.0.0.1");
    add(&c, "digest", "bob:pw");
    assert_int_equal(fix(&c, first, 2, &out), PAWL_OK);
    assert_int_equal(fix(&c, second, 2, &out), PAWL_ERR_MARSHALLING);
    assert_int_equal(fix(&c, apart, 2, &out), PAWL_OK);
    identity_fini(&c);
    strbuf_fini(&out);
}

/* As many entries as fit a frame: a second of work would be a second without a server. */
static void a_list_that_fills_a_frame_costs_no_more_than_its_length(void **state)
{
    enum { N = 45000 };
    struct acl_list list = {N, BYTES_NULL};
    struct identity c;
    struct strbuf b, out;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    begin(&c, "127.0.0.1");
    jute_write_int(&b, N);
    for (int32_t i = 0; i < N; i++) {
        acl_entry_write(&b, &(struct acl_entry){i, bytes_str("ip"), bytes_str("1.1.1.1")});
    }
    list.elements = bytes_of(b.data + 4, b.len - 4);
    for (int i = 0; i < 20; i++) {
        strbuf_clear(&out);
        assert_int_equal(auth_fix_acl(&c, &usual, &list, &out), PAWL_OK);
        assert_bytes_equal(strbuf_bytes(&out), strbuf_bytes(&b));
    }
    identity_fini(&c);
    strbuf_fini(&b);
    strbuf_fini(&out);
}

static void auth_many_times_over_many_ids_is_refused(void **state)
{
    enum { N = 50000 };
    struct acl_list list = {N, BYTES_NULL};
    struct identity c;
    struct strbuf b, out;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    begin(&c, "127.0.0.1");
    for (int i = 0; i < 200; i++) {
        char user[32];

        snprintf(user, sizeof(user), "user%d:pw", i);
        add(&c, "digest", user);
    }
    for (int32_t i = 0; i < N; i++) {
        acl_entry_write(&b, &(struct acl_entry){i, bytes_str("auth"), BYTES_NULL});
    }
    list.elements = strbuf_bytes(&b);
    assert_int_equal(auth_fix_acl(&c, &usual, &list, &out), PAWL_ERR_INVALID_ACL);
    assert_true(out.capacity < 32 << 20);
    identity_fini(&c);
    strbuf_fini(&b);
    strbuf_fini(&out);
}

/* ---- showing ---- */

static void whoami_shows_the_user_of_a_digest_and_nothing_of_super(void **state)
{
    struct auth_id bob = {.scheme = "digest", .id = BOB_ID};
    struct auth_id ip = {.scheme = "ip", .id = "10.1.2.3"};
    struct auth_id super = {.scheme = "super", .id = ""};

    (void)state;
    assert_str_view(auth_user(&bob), "bob");
    assert_str_view(auth_user(&ip), "10.1.2.3");
    assert_str_view(auth_user(&super), "");
}

static void the_hash_of_a_digest_is_redacted(void **state)
{
    static const struct {
        const char *scheme, *id, *shown;
    } rows[] = {
        {"digest", BOB_ID, "bob:x"}, {"digest", ":h", ":x"},        {"digest", "bob", "bob"},
        {"ip", "::1", "::1"},        {"world", "anyone", "anyone"},
    };
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        struct acl_entry e = {1, bytes_str(rows[i].scheme), bytes_str(rows[i].id)};
        struct jute_reader r;

        strbuf_clear(&out);
        auth_write_redacted(&out, &e);
        r = jute_reader_of(strbuf_bytes(&out));
        assert_str_view(jute_read_buffer(&r), rows[i].shown);
        assert_int_equal(jute_left(&r), 0);
    }
    strbuf_fini(&out);
}

/* Names as those of Java's KerberosName. */
static void names_of_sasl_are_shortened_in_our_own_realm_only(void **state)
{
    static const struct {
        bool host, realm;
        const char *name, *id; /* NULL: it is refused */
    } cases[] = {
        {true, true, "bob", "bob"},
        {true, true, "a/b", "a/b"},
        {false, false, "bob/h@R", "bob/h@R"},
        {true, false, "bob/h@R", "bob@R"},
        {false, true, "bob/h@R", "bob/h"},
        {true, true, "bob/h@R", "bob"},
        {true, true, "bob/h@OTHER", "bob/h@OTHER"},
        {true, true, "bob@R", "bob"},
        {false, false, "bob@R@S", NULL},
        {false, false, "a/b/c@R", NULL},
        {false, false, "bob@R/S", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct auth_options o = usual;
        struct identity c;

        o.sasl_enabled = true;
        o.sasl_realm = "R";
        o.sasl_remove_host = cases[i].host;
        o.sasl_remove_realm = cases[i].realm;
        begin(&c, "10.0.0.1");
        assert_int_equal(auth_add_sasl(&c, &o, cases[i].name),
                         cases[i].id == NULL ? PAWL_ERR_AUTH_FAILED : PAWL_OK);
        if (cases[i].id != NULL) {
            assert_true(identity_has(&c, "sasl", bytes_str(cases[i].id)));
        }
        assert_int_equal(c.n_ids, cases[i].id == NULL ? 1 : 2);
        identity_fini(&c);
    }
}

static void sasl_has_super_users_by_name(void **state)
{
    static const char *const supers[] = {"root", "admin@R"};
    static const struct {
        const char *name;
        bool is_super;
    } cases[] = {{"bob", false}, {"root", true}, {"admin@R", true}, {"admin", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct auth_options o = usual;
        struct identity c;

        o.sasl_supers = supers;
        o.n_sasl_supers = 2;
        begin(&c, "10.0.0.1");
        assert_int_equal(auth_add_sasl(&c, &o, cases[i].name), PAWL_OK);
        assert_int_equal(identity_may_everything(&c), cases[i].is_super);
        identity_fini(&c);
    }
}

static bool sasl_allows(const struct auth_options *o, const char *who, const char *id)
{
    struct acl_table *table = acl_table_new();
    struct strbuf b;
    struct identity c;
    struct acl_list list;
    bool allowed;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    list = list_of(&b, &(struct entry){1, "sasl", id}, 1);
    (void)list;
    begin(&c, "10.0.0.1");
    if (who != NULL) {
        assert_int_equal(auth_add_sasl(&c, o, who), PAWL_OK);
    }
    allowed = auth_allows(&c, o, table, acl_table_take(table, strbuf_bytes(&b)), 1);
    identity_fini(&c);
    strbuf_fini(&b);
    acl_table_free(table);
    return allowed;
}

static void acls_of_sasl_match_as_in_java(void **state)
{
    struct auth_options o = usual;

    (void)state;
    o.sasl_enabled = true;
    assert_true(sasl_allows(&o, "bob", "bob"));
    assert_false(sasl_allows(&o, "bob", "alice"));
    assert_true(sasl_allows(&o, "super", "alice"));
    assert_false(sasl_allows(&o, NULL, "bob"));
    assert_false(sasl_allows(&o, "bob", "anyone"));
    o.sasl_any = "anyone";
    assert_true(sasl_allows(&o, "bob", "anyone"));
    assert_false(sasl_allows(&o, NULL, "anyone"));
    o.sasl_enabled = false;
    assert_false(sasl_allows(&o, "bob", "bob"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_accepted_by_the_rules_of_their_scheme),
        cmocka_unit_test(networks_are_addresses_with_as_many_bits_as_there_are),
        cmocka_unit_test(what_a_long_list_came_to_is_kept_for_just_that_list_and_those_ids),
        cmocka_unit_test(what_hundreds_of_long_lists_came_to_is_kept),
        cmocka_unit_test(each_of_many_ids_counts_from_when_it_was_shown),
        cmocka_unit_test(a_network_lets_in_the_addresses_within_it),
        cmocka_unit_test(some_entry_must_have_a_wanted_permission_and_match),
        cmocka_unit_test(an_empty_list_lets_everybody_in_and_an_unknown_one_nobody),
        cmocka_unit_test(super_and_skip_acl_may_do_everything),
        cmocka_unit_test(digest_ids_are_those_of_zookeeper),
        cmocka_unit_test(a_connection_has_its_address_and_each_id_once),
        cmocka_unit_test(what_cannot_be_verified_fails),
        cmocka_unit_test(nobody_is_an_endless_number_of_people),
        cmocka_unit_test(certificates_have_ids),
        cmocka_unit_test(names_of_sasl_are_shortened_in_our_own_realm_only),
        cmocka_unit_test(sasl_has_super_users_by_name),
        cmocka_unit_test(acls_of_sasl_match_as_in_java),
        cmocka_unit_test(one_of_the_enforced_schemes_is_enough),
        cmocka_unit_test(duplicates_go_and_the_order_stays),
        cmocka_unit_test(auth_stands_for_the_authenticated_ids_and_not_for_the_address),
        cmocka_unit_test(an_empty_or_null_list_is_not_valid),
        cmocka_unit_test(a_null_id_behind_one_of_its_kind_cannot_be_decoded),
        cmocka_unit_test(a_list_that_fills_a_frame_costs_no_more_than_its_length),
        cmocka_unit_test(auth_many_times_over_many_ids_is_refused),
        cmocka_unit_test(whoami_shows_the_user_of_a_digest_and_nothing_of_super),
        cmocka_unit_test(the_hash_of_a_digest_is_redacted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
