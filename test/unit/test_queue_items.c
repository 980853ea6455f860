/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes and the names of a queue, compared with what Curator wrote. */
#include "recipes/queue/queue_items.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/vectors.h"
#include "recipes/queue/queue_names.h"

#define CURATOR VECTORS "/curator/"

/* The data of the node that a vector file has behind "NAME\n", decoded. */
static size_t recorded(const char *file, const char *name, uint8_t *out, size_t size)
{
    char path[512], wanted[256];
    struct bytes all;
    const char *at;
    size_t n;

    snprintf(path, sizeof(path), CURATOR "%s", file);
    snprintf(wanted, sizeof(wanted), "\n  /%s\n", name);
    all = vectors_file(path);
    at = strstr((const char *)all.data, wanted);
    assert_non_null(at);
    at = strstr(at, "data=hex:");
    assert_non_null(at);
    n = vectors_hex(at + 9, out, size);
    free((void *)(uintptr_t)all.data);
    return n;
}

static void assert_recorded(const char *file, const char *name, const struct pawl_bytes *items,
                            size_t n)
{
    uint8_t expected[256];
    size_t len = recorded(file, name, expected, sizeof(expected)), found;
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    queue_items_write(&out, items, n);
    assert_int_equal(out.len, len);
    assert_memory_equal(out.data, expected, len);
    assert_int_equal(queue_items_check(strbuf_bytes(&out), &found), 0);
    assert_int_equal(found, n);
    strbuf_fini(&out);
}

static void items_are_written_as_curator_does(void **state)
{
    struct pawl_bytes one = {"one", 3}, many[] = {{"a", 1}, {"bb", 2}, {"", 0}};

    (void)state;
    assert_recorded("distributedqueue.txt", "v/q/queue-0000000000", &one, 1);
    assert_recorded("distributedqueue.txt", "v/q/queue-0000000001", many, 3);
}

static void items_are_read_back_one_by_one(void **state)
{
    struct pawl_bytes many[] = {{"a", 1}, {"bb", 2}, {"", 0}}, item;
    size_t at = QUEUE_ITEMS_FIRST, i = 0, second = 0, n;
    struct strbuf out, rest;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_init(&rest, STRBUF_NO_LIMIT);
    queue_items_write(&out, many, 3);
    while (queue_items_next(strbuf_bytes(&out), &at, &item)) {
        assert_int_equal(item.len, many[i].len);
        assert_memory_equal(item.data, many[i].data, item.len);
        second = i++ == 0 ? at : second;
    }
    assert_int_equal(i, 3);
    queue_items_rest(strbuf_bytes(&out), second, &rest);
    assert_int_equal(queue_items_check(strbuf_bytes(&rest), &n), 0);
    assert_int_equal(n, 2);
    strbuf_clear(&out);
    queue_items_write(&out, many + 1, 2);
    assert_int_equal(out.len, rest.len);
    assert_memory_equal(out.data, rest.data, out.len);
    strbuf_fini(&out);
    strbuf_fini(&rest);
}

static void damaged_nodes_are_told(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
        {"", 0},
        {"\0\1\0", 3},
        {"\0\1\0\1", 4},                      /* no end */
        {"\0\1\0\2\2", 5},                    /* another version */
        {"\0\1\0\1\3", 5},                    /* no such opcode */
        {"\0\1\0\1\1\0\0\0", 8},              /* half a length */
        {"\0\1\0\1\1\0\0\0\2x\2", 11},        /* longer than the node */
        {"\0\1\0\1\1\377\377\377\377\2", 10}, /* negative */
        {"\0\1\0\1\1\0\0\0\1x", 10},          /* no end */
    };
    size_t n = 77;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        assert_int_equal(queue_items_check(bytes_of(bad[i].bytes, bad[i].len), &n),
                         PAWL_ERR_CORRUPT);
    }
    assert_int_equal(n, 77);
    assert_int_equal(queue_items_check(bytes_of("\0\1\0\1\2more", 9), &n), 0);
    assert_int_equal(n, 0);
}

/* ---- names ---- */

static void assert_name(enum pawl_queue_kind kind, const struct pawl_put *put, const char *expected)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    assert_int_equal(queue_name_write(&out, kind, put), 0);
    assert_string_equal(strbuf_cstr(&out), expected);
    strbuf_fini(&out);
}

/* The names are those of distributed{id,priority,delay}queue.txt without their numbers. */
static void names_are_curators(void **state)
{
    uint8_t ignored[64];

    (void)state;
    assert_name(PAWL_QUEUE_PLAIN, PAWL_PUT(.id = "x"), "queue-");
    assert_name(PAWL_QUEUE_ID, PAWL_PUT(.id = "id-1"), "queue-|id-1|");
    assert_name(PAWL_QUEUE_ID, PAWL_PUT(.id = "id/2|z"), "queue-|id_2_z|");
    assert_name(PAWL_QUEUE_PRIORITY, PAWL_PUT(.priority = 5), "queue-100000005");
    assert_name(PAWL_QUEUE_PRIORITY, PAWL_PUT(.priority = -1), "queue-0FFFFFFFF");
    assert_name(PAWL_QUEUE_PRIORITY, PAWL_PUT(.priority = INT32_MAX), "queue-17FFFFFFF");
    assert_name(PAWL_QUEUE_PRIORITY, PAWL_PUT(.priority = INT32_MIN), "queue-080000000");
    assert_name(PAWL_QUEUE_DELAY, PAWL_PUT(.due_ms = 1700000000000), "queue-|18BCFE56800|");
    assert_name(PAWL_QUEUE_DELAY, PAWL_PUT(.due_ms = 10), "queue-|0000000A|");
    recorded("distributedidqueue.txt", "v/idq/queue-|id_2_z|0000000001", ignored, 64);
    recorded("distributedpriorityqueue.txt", "v/pq/queue-0FFFFFFFF0000000002", ignored, 64);
    recorded("distributedpriorityqueue.txt", "v/pq/queue-0800000000000000004", ignored, 64);
    recorded("distributeddelayqueue.txt", "v/dq/queue-|18BCFE56800|0000000000", ignored, 64);
}

static void names_are_read(void **state)
{
    size_t len;

    (void)state;
    assert_int_equal(queue_name_stem(QUEUE_PREFIX, "queue-0000000001"), 6);
    assert_int_equal(queue_name_stem(QUEUE_PREFIX, "queue--2147483648"), 6);
    assert_int_equal(queue_name_stem(QUEUE_PREFIX, "queue-|a|-2147483648"), 9);
    assert_int_equal(queue_name_stem(QUEUE_PREFIX, "queue-1000000050000000000"), 15);
    assert_int_equal(queue_name_stem(QUEUE_PREFIX, "queue-x"), 7);
    assert_int_equal(queue_name_priority("queue-0FFFFFFFF0000000002"), -1);
    assert_int_equal(queue_name_priority("queue-17FFFFFFF0000000002"), INT32_MAX);
    assert_int_equal(queue_name_priority("queue-0800000000000000004"), INT32_MIN);
    assert_int_equal(queue_name_priority("queue-0000000002"), 0);
    assert_int_equal(queue_name_due_ms("queue-|18BCFE56800|0000000000"), 1700000000000);
    assert_int_equal(queue_name_due_ms("queue-|what|0000000000"), 0);
    assert_int_equal(queue_name_due_ms("queue-0000000000"), 0);
    assert_non_null(queue_name_id("queue-|id-1|0000000000", &len));
    assert_int_equal(len, 4);
    assert_null(queue_name_id("queue-|id-1", &len));
    assert_true(queue_name_has_id("queue-|id_2_z|0000000001", "id/2|z"));
    assert_false(queue_name_has_id("queue-|id_2_z|0000000001", "id"));
}

static void an_item_of_an_id_queue_needs_one(void **state)
{
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    assert_int_equal(queue_name_write(&out, PAWL_QUEUE_ID, PAWL_PUT(.id = NULL)),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(queue_name_write(&out, PAWL_QUEUE_ID, PAWL_PUT(.id = "")),
                     PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(queue_name_write(&out, PAWL_QUEUE_DELAY, PAWL_PUT(.due_ms = -1)),
                     PAWL_ERR_BAD_ARGUMENTS);
    strbuf_fini(&out);
}

/* ---- order ---- */

static void assert_order(enum pawl_queue_kind kind, const char *const *given, size_t n_given,
                         const char *const *expected, size_t n_expected)
{
    struct pawl_strings names = {given, n_given};
    struct queue_entry *entries;
    size_t n;

    assert_int_equal(queue_entries_new(QUEUE_PREFIX, kind, &names, &entries, &n), 0);
    assert_int_equal(n, n_expected);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(entries[i].name, expected[i]);
    }
    queue_entries_free(entries, n);
}
#define ASSERT_ORDER(kind, given, expected) \
    assert_order(kind, given, TEST_COUNT(given), expected, TEST_COUNT(expected))

static void the_order_survives_the_wrap_of_the_numbers(void **state)
{
    static const char *const given[] = {"queue--2147483647", "queue-2147483646", "other",
                                        "queue--2147483648", "queue-2147483647"};
    static const char *const expected[] = {"queue-2147483646", "queue-2147483647",
                                           "queue--2147483648", "queue--2147483647"};

    (void)state;
    ASSERT_ORDER(PAWL_QUEUE_PLAIN, given, expected);
}

static void ids_do_not_influence_the_order(void **state)
{
    static const char *const given[] = {"queue-|a|0000000002", "queue-|b|0000000001",
                                        "queue-0000000000"};
    static const char *const expected[] = {"queue-0000000000", "queue-|b|0000000001",
                                           "queue-|a|0000000002"};

    (void)state;
    ASSERT_ORDER(PAWL_QUEUE_ID, given, expected);
}

static void small_numbers_are_urgent(void **state)
{
    static const char *const given[] = {"queue-1000000050000000000", "queue-1000000000000000001",
                                        "queue-0FFFFFFFF0000000002", "queue-17FFFFFFF0000000003",
                                        "queue-0800000000000000004", "queue-1000000000000000005"};
    static const char *const expected[] = {
        "queue-0800000000000000004", "queue-0FFFFFFFF0000000002", "queue-1000000000000000001",
        "queue-1000000000000000005", "queue-1000000050000000000", "queue-17FFFFFFF0000000003"};

    (void)state;
    ASSERT_ORDER(PAWL_QUEUE_PRIORITY, given, expected);
}

static void the_earliest_comes_first(void **state)
{
    static const char *const given[] = {"queue-|1A1DD096916|0000000001",
                                        "queue-|18BCFE56800|0000000002",
                                        "queue-|FFFFFFFF|0000000003", "queue-0000000004"};
    static const char *const expected[] = {"queue-0000000004", "queue-|FFFFFFFF|0000000003",
                                           "queue-|18BCFE56800|0000000002",
                                           "queue-|1A1DD096916|0000000001"};

    (void)state;
    ASSERT_ORDER(PAWL_QUEUE_DELAY, given, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_are_written_as_curator_does),
        cmocka_unit_test(items_are_read_back_one_by_one),
        cmocka_unit_test(damaged_nodes_are_told),
        cmocka_unit_test(names_are_curators),
        cmocka_unit_test(names_are_read),
        cmocka_unit_test(an_item_of_an_id_queue_needs_one),
        cmocka_unit_test(the_order_survives_the_wrap_of_the_numbers),
        cmocka_unit_test(ids_do_not_influence_the_order),
        cmocka_unit_test(small_numbers_are_urgent),
        cmocka_unit_test(the_earliest_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
