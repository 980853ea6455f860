/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/jute.h"

#include <stdlib.h>

#include "lib/test.h"
#include "lib/vectors.h"
#include "wire/records.h"

static struct bytes hex(const char *text)
{
    static uint8_t bytes[256];

    return bytes_of(bytes, vectors_hex(text, bytes, sizeof(bytes)));
}

static void integers_are_big_endian(void **state)
{
    struct jute_reader r = jute_reader_of(hex("fffffffe"
                                              "0102030405060708"
                                              "00"
                                              "02"));

    (void)state;
    assert_int_equal(jute_read_int(&r), -2);
    assert_int_equal(jute_read_long(&r), 0x0102030405060708);
    assert_false(jute_read_bool(&r));
    assert_true(jute_read_bool(&r)); /* any byte but zero is true */
    assert_false(r.failed);
    assert_int_equal(jute_left(&r), 0);
}

static void null_and_empty_are_two_things(void **state)
{
    struct jute_reader r = jute_reader_of(hex("ffffffff"
                                              "00000000"
                                              "000000026869"));
    struct bytes null = jute_read_buffer(&r);
    struct bytes empty = jute_read_buffer(&r);

    (void)state;
    assert_true(bytes_is_null(null));
    assert_false(bytes_is_null(empty));
    assert_int_equal(empty.len, 0);
    assert_str_view(jute_read_buffer(&r), "hi");
    assert_false(r.failed);
}

static void a_length_outside_the_frame_fails(void **state)
{
    static const char *const frames[] = {"",           "000000",   "00000001", "0000000561626364",
                                         "7fffffff61", "fffffffe", "80000000"};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(frames); i++) {
        struct jute_reader r = jute_reader_of(hex(frames[i]));

        assert_true(bytes_is_null(jute_read_buffer(&r)));
        assert_true(r.failed);
    }
}

static void after_a_failure_everything_reads_as_nothing(void **state)
{
    struct jute_reader r = jute_reader_of(hex("fffffffe"
                                              "0102030405060708"));

    (void)state;
    jute_read_buffer(&r);
    assert_true(r.failed);
    assert_int_equal(jute_read_int(&r), 0);
    assert_int_equal(jute_read_long(&r), 0);
    assert_false(jute_read_bool(&r));
    assert_true(bytes_is_null(jute_read_buffer(&r)));
}

static void a_null_view_reads_as_an_empty_frame(void **state)
{
    struct jute_reader r = jute_reader_of(BYTES_NULL);

    (void)state;
    assert_int_equal(jute_left(&r), 0);
    jute_read_int(&r);
    assert_true(r.failed);
}

static void a_negative_count_is_null_or_empty(void **state)
{
    struct jute_reader r = jute_reader_of(hex("ffffffff"
                                              "fffffffe"
                                              "80000000"
                                              "00000007"));

    (void)state;
    assert_int_equal(jute_read_count(&r), -1);
    assert_int_equal(jute_read_count(&r), 0);
    assert_int_equal(jute_read_count(&r), 0);
    assert_int_equal(jute_read_count(&r), 7);
}

static void a_writer_says_when_its_limit_is_reached(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, 10);
    jute_write_long(&b, 1);
    assert_false(b.failed);
    jute_write_int(&b, 1);
    assert_true(b.failed);
    jute_write_bool(&b, true); /* would fit, but the record is broken already */
    assert_int_equal(b.len, 8);
    strbuf_fini(&b);
}

static void a_place_holder_is_overwritten(void **state)
{
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    jute_write_int(&b, 0);
    jute_write_int(&b, 7);
    jute_patch_int(&b, 0, -3);
    assert_bytes_equal(strbuf_bytes(&b), hex("fffffffd00000007"));
    strbuf_fini(&b);
}

/* One row of the recorded table of values: type, value, encoding. */
static void check_value(const char *row, void *arg)
{
    char type[32], value[64], encoding[128];
    struct jute_reader r;
    struct strbuf b;

    (void)arg;
    assert_int_equal(sscanf(row, "%31s %63s %127s", type, value, encoding), 3);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    r = jute_reader_of(hex(encoding));
    if (strcmp(type, "int") == 0) {
        jute_write_int(&b, jute_read_int(&r));
    } else if (strcmp(type, "long") == 0) {
        jute_write_long(&b, jute_read_long(&r));
    } else if (strcmp(type, "boolean") == 0) {
        jute_write_bool(&b, jute_read_bool(&r));
    } else if (strcmp(type, "ustring") == 0 || strcmp(type, "buffer") == 0) {
        jute_write_buffer(&b, jute_read_buffer(&r));
    } else if (strcmp(type, "vector<ustring>") == 0) {
        struct string_list list = string_list_read(&r);

        string_list_write(&b, &list);
    } else if (strcmp(type, "Id") == 0) {
        struct id_entry id = id_entry_read(&r);

        assert_str_view(id.scheme, "world");
        assert_str_view(id.id, "anyone");
        id_entry_write(&b, &id);
    } else if (strcmp(type, "ACL") == 0) {
        struct acl_entry entry = acl_entry_read(&r);

        assert_int_equal(entry.perms, PERM_ALL);
        acl_entry_write(&b, &entry);
    } else {
        fail_msg("unknown type %s", type);
    }
    assert_false(r.failed);
    assert_int_equal(jute_left(&r), 0);
    assert_bytes_equal(strbuf_bytes(&b), hex(encoding));
    strbuf_fini(&b);
}

static void recorded_values_survive_both_directions(void **state)
{
    (void)state;
    assert_int_equal(vectors_table(VECTORS "/client.txt", "jute", check_value, NULL), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_big_endian),
        cmocka_unit_test(null_and_empty_are_two_things),
        cmocka_unit_test(a_length_outside_the_frame_fails),
        cmocka_unit_test(after_a_failure_everything_reads_as_nothing),
        cmocka_unit_test(a_null_view_reads_as_an_empty_frame),
        cmocka_unit_test(a_negative_count_is_null_or_empty),
        cmocka_unit_test(a_writer_says_when_its_limit_is_reached),
        cmocka_unit_test(a_place_holder_is_overwritten),
        cmocka_unit_test(recorded_values_survive_both_directions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
