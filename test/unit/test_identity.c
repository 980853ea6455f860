/* SPDX-License-Identifier: Apache-2.0 */
#include "server/identity.h"

#include "lib/test.h"
#include "pawl/error.h"
#include "server/auth.h"
#include "store/acl_table.h"

#define BOB_ID "bob:ikIaKsbtGweaHnb/jKn7OHqbunM="

static const struct auth_options usual = {.digest_enabled = true, .digest_algorithm = "SHA1"};

/* What `who` may do where only `scheme` `id` may read. */
static bool may_read(struct identity *who, const char *scheme, const char *id)
{
    struct acl_table *t = acl_table_new();
    struct strbuf b;
    bool result;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    jute_write_int(&b, 1);
    acl_entry_write(&b, &(struct acl_entry){PERM_READ, bytes_str(scheme), bytes_str(id)});
    result =
        auth_allows(who, &usual, t, acl_table_take(t, strbuf_bytes(&b)), PERM_READ | PERM_ADMIN);
    strbuf_fini(&b);
    acl_table_free(t);
    return result;
}

/* A vector<Id> of pairs, up to a NULL. */
static struct id_list ids_of(struct strbuf *b, const char *const *pairs)
{
    int32_t n = 0;

    strbuf_clear(b);
    for (; pairs[2 * n] != NULL; n++) {
        id_entry_write(b, &(struct id_entry){bytes_str(pairs[2 * n]), bytes_str(pairs[2 * n + 1])});
    }
    return (struct id_list){n, strbuf_bytes(b)};
}

static void a_forwarded_request_has_the_ids_that_it_brings(void **state)
{
    static const char *const brought[] = {"ip", "10.1.2.3", "digest", BOB_ID, NULL};
    struct identity i;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    identity_init_forwarded(&i, ids_of(&b, brought));
    assert_int_equal(i.n_ids, 0); /* nobody has asked */
    assert_true(may_read(&i, "digest", BOB_ID));
    assert_int_equal(i.n_ids, 2);
    assert_true(may_read(&i, "ip", "10.1.0.0/16"));
    assert_false(may_read(&i, "ip", "10.2.0.0/16"));
    assert_false(may_read(&i, "digest", "eve:hash"));
    identity_check(&i);
    identity_fini(&i);
    strbuf_fini(&b);
}

static void one_that_brings_nothing_may_nothing(void **state)
{
    static const char *const none[] = {NULL};
    const struct id_list null = {-1, BYTES_NULL};
    struct identity i;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    identity_init_forwarded(&i, ids_of(&b, none));
    assert_false(may_read(&i, "digest", BOB_ID));
    assert_false(may_read(&i, "ip", "0.0.0.0/0"));
    assert_true(may_read(&i, "world", "anyone"));
    identity_fini(&i);
    identity_init_forwarded(&i, null);
    assert_false(may_read(&i, "digest", BOB_ID));
    identity_fini(&i);
    strbuf_fini(&b);
}

static void the_super_user_is_one_elsewhere_too(void **state)
{
    static const char *const brought[] = {"ip", "10.1.2.3", "super", "", NULL};
    struct identity i;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    identity_init_forwarded(&i, ids_of(&b, brought));
    assert_true(may_read(&i, "digest", BOB_ID));
    identity_fini(&i);
    strbuf_fini(&b);
}

static void an_id_with_a_zero_in_it_is_nobodys(void **state)
{
    struct identity i;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    id_entry_write(&b, &(struct id_entry){bytes_of("super\0x", 7), bytes_str("")});
    id_entry_write(&b, &(struct id_entry){bytes_str("digest"), BYTES_NULL});
    identity_init_forwarded(&i, (struct id_list){2, strbuf_bytes(&b)});
    assert_false(may_read(&i, "digest", BOB_ID));
    assert_int_equal(i.n_ids, 0);
    identity_fini(&i);
    strbuf_fini(&b);
}

static void the_server_itself_may_everything(void **state)
{
    struct identity i;

    (void)state;
    identity_init_server(&i);
    assert_true(may_read(&i, "digest", BOB_ID));
    assert_int_equal(i.cost, 0);
    identity_check(&i);
    identity_fini(&i);
}

static void what_is_written_is_what_was_shown(void **state)
{
    static const char *const expected[] = {"ip", "10.1.2.3", "digest", BOB_ID, NULL};
    struct strbuf out, b;
    struct identity i;
    struct id_list list;
    struct jute_reader r;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    identity_init(&i, "10.1.2.3");
    assert_int_equal(auth_add(&i, &usual, bytes_str("digest"), bytes_str("bob:pw")), PAWL_OK);
    identity_write(&i, &out);
    r = jute_reader_of(strbuf_bytes(&out));
    list = id_list_read(&r);
    assert_int_equal(jute_left(&r), 0);
    assert_int_equal(list.count, 2);
    assert_true(bytes_equal(list.elements, ids_of(&b, expected).elements));
    identity_fini(&i);
    strbuf_fini(&out);
    strbuf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forwarded_request_has_the_ids_that_it_brings),
        cmocka_unit_test(one_that_brings_nothing_may_nothing),
        cmocka_unit_test(the_super_user_is_one_elsewhere_too),
        cmocka_unit_test(an_id_with_a_zero_in_it_is_nobodys),
        cmocka_unit_test(the_server_itself_may_everything),
        cmocka_unit_test(what_is_written_is_what_was_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
