/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/records.h"

#include "lib/test.h"
#include "lib/vectors.h"

static void a_stat_is_68_bytes_and_comes_back(void **state)
{
    struct stat_record s = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, back;
    struct jute_reader r;
    struct strbuf b, again;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    stat_write(&b, &s);
    assert_int_equal(b.len, STAT_BYTES);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(load_u64(b.data + 8 * i), i + 1);
    }
    assert_int_equal(load_u64(b.data + 60), 11); /* pzxid is last */
    r = jute_reader_of(strbuf_bytes(&b));
    back = stat_read(&r);
    assert_false(r.failed);
    assert_int_equal(back.aversion, 7);
    assert_int_equal(back.ephemeral_owner, 8);
    assert_int_equal(back.n_children, 10);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    stat_write(&again, &back);
    assert_bytes_equal(strbuf_bytes(&again), strbuf_bytes(&b));
    strbuf_fini(&again);
    strbuf_fini(&b);
}

static void a_stored_stat_is_60_bytes_and_comes_back(void **state)
{
    struct stat_persisted s = {1, 2, 3, 4, -5, -6, -7, INT64_MIN, 11}, back;
    struct jute_reader r;
    struct strbuf b, again;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    stat_persisted_write(&b, &s);
    assert_int_equal(b.len, STAT_PERSISTED_BYTES);
    r = jute_reader_of(strbuf_bytes(&b));
    back = stat_persisted_read(&r);
    assert_false(r.failed);
    assert_int_equal(back.version, -5);
    assert_int_equal(back.ephemeral_owner, INT64_MIN);
    assert_int_equal(back.pzxid, 11);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    stat_persisted_write(&again, &back);
    assert_bytes_equal(strbuf_bytes(&again), strbuf_bytes(&b));
    strbuf_fini(&again);
    strbuf_fini(&b);
}

static void a_stat_that_does_not_fit_is_not_written_at_all(void **state)
{
    struct stat_record s = {0};
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STAT_BYTES - 1);
    stat_write(&b, &s);
    assert_true(b.failed);
    assert_int_equal(b.len, 0);
    strbuf_fini(&b);
}

static void an_acl_is_walked_in_its_frame(void **state)
{
    struct acl_entry entries[] = {
        {PERM_ALL, bytes_str("world"), bytes_str("anyone")},
        {PERM_READ, bytes_str("ip"), BYTES_NULL},
    };
    struct acl_list list;
    struct jute_reader r;
    struct strbuf b, again;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    jute_write_int(&b, 2);
    acl_entry_write(&b, &entries[0]);
    acl_entry_write(&b, &entries[1]);
    r = jute_reader_of(strbuf_bytes(&b));
    list = acl_list_read(&r);
    assert_int_equal(list.count, 2);
    assert_int_equal(jute_left(&r), 0);

    r = jute_reader_of(list.elements);
    for (int i = 0; i < 2; i++) {
        struct acl_entry e = acl_entry_read(&r);

        assert_int_equal(e.perms, entries[i].perms);
        assert_bytes_equal(e.scheme, entries[i].scheme);
        assert_bytes_equal(e.id, entries[i].id);
    }
    acl_list_write(&again, &list);
    assert_bytes_equal(strbuf_bytes(&again), strbuf_bytes(&b));
    strbuf_fini(&b);
    strbuf_fini(&again);
}

static void a_huge_count_ends_with_the_frame(void **state)
{
    uint8_t frame[64] = {0x7f, 0xff, 0xff, 0xff}; /* 2^31 - 1 elements, all of them empty */
    struct jute_reader r;

    (void)state;
    r = jute_reader_of(bytes_of(frame, sizeof(frame)));
    acl_list_read(&r);
    assert_true(r.failed);
    r = jute_reader_of(bytes_of(frame, sizeof(frame)));
    string_list_read(&r);
    assert_true(r.failed);
    r = jute_reader_of(bytes_of(frame, sizeof(frame)));
    id_list_read(&r);
    assert_true(r.failed);
}

static void null_lists_stay_null(void **state)
{
    static const uint8_t null[] = {0xff, 0xff, 0xff, 0xff};
    struct jute_reader r = jute_reader_of(bytes_of(null, 4));
    struct string_list list = string_list_read(&r);
    struct strbuf b;

    (void)state;
    assert_int_equal(list.count, -1);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    string_list_write(&b, &list);
    assert_bytes_equal(strbuf_bytes(&b), bytes_of(null, 4));
    strbuf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stat_is_68_bytes_and_comes_back),
        cmocka_unit_test(a_stored_stat_is_60_bytes_and_comes_back),
        cmocka_unit_test(a_stat_that_does_not_fit_is_not_written_at_all),
        cmocka_unit_test(an_acl_is_walked_in_its_frame),
        cmocka_unit_test(a_huge_count_ends_with_the_frame),
        cmocka_unit_test(null_lists_stay_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
