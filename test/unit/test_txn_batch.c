/* SPDX-License-Identifier: Apache-2.0 */
#include "store/txn_batch.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lib/test.h"
#include "wire/jute.h"

static struct txn_block *block_at(const struct txn_batch *b, int n)
{
    struct list *item;

    list_for_each (item, &b->blocks) {
        if (n-- == 0) {
            return container_of(item, struct txn_block, link);
        }
    }
    return NULL;
}

static void a_record_is_room_for_its_sum_length_payload_and_mark(void **state)
{
    struct txn_block *block;
    struct txn_batch b;
    struct bytes at;

    (void)state;
    txn_batch_init(&b);
    assert_true(txn_batch_empty(&b));
    at = txn_batch_add(&b, bytes_str("hello"), 7, false, &block);
    assert_str_view(at, "hello");
    assert_memory_equal(block->data, "\0\0\0\0\0\0\0\0\0\0\0\5hello\x42", 18);
    assert_int_equal(block->len, 18);
    assert_int_equal(block->n_records, 1);
    assert_int_equal(block->first_zxid, 7);
    assert_int_equal(block->last_zxid, 7);
    assert_int_equal(b.bytes, 18);
    txn_block_unref(block);
    txn_batch_fini(&b);
}

static void records_share_a_block_until_it_is_full_and_never_move(void **state)
{
    struct txn_block *blocks[50];
    uint8_t *payload = must_zalloc(5000);
    struct bytes places[50];
    struct txn_batch b;
    size_t n_records = 0;

    (void)state;
    txn_batch_init(&b);
    for (int i = 0; i < 50; i++) {
        memset(payload, i, 5000);
        places[i] = txn_batch_add(&b, bytes_of(payload, 5000), i + 1, false, &blocks[i]);
    }
    for (int i = 0; i < 50; i++) {
        memset(payload, i, 5000);
        assert_bytes_equal(places[i], bytes_of(payload, 5000));
        assert_true(blocks[i]->first_zxid <= i + 1 && blocks[i]->last_zxid >= i + 1);
        txn_block_unref(blocks[i]);
    }
    assert_int_equal(block_at(&b, 0)->n_records, 13);
    for (int i = 0; block_at(&b, i) != NULL; i++) {
        n_records += block_at(&b, i)->n_records;
    }
    assert_int_equal(n_records, 50);
    free(payload);
    txn_batch_fini(&b);
}

static void a_record_larger_than_a_block_has_one_of_its_own(void **state)
{
    uint8_t *payload = must_zalloc(1 << 20);
    struct txn_block *small, *large, *after;
    struct txn_batch b;

    (void)state;
    txn_batch_init(&b);
    txn_batch_add(&b, bytes_str("x"), 1, false, &small);
    txn_batch_add(&b, bytes_of(payload, 1 << 20), 2, false, &large);
    txn_batch_add(&b, bytes_str("y"), 3, false, &after);
    assert_ptr_not_equal(small, large);
    assert_ptr_not_equal(large, after);
    assert_int_equal(large->n_records, 1);
    txn_block_unref(small);
    txn_block_unref(large);
    txn_block_unref(after);
    free(payload);
    txn_batch_fini(&b);
}

static void a_new_file_begins_with_a_block_of_its_own(void **state)
{
    struct txn_block *first, *second, *third;
    struct txn_batch b;

    (void)state;
    txn_batch_init(&b);
    txn_batch_add(&b, bytes_str("x"), 1, false, &first);
    txn_batch_add(&b, bytes_str("y"), 2, true, &second);
    txn_batch_add(&b, bytes_str("z"), 3, false, &third);
    assert_false(first->roll_before);
    assert_ptr_not_equal(first, second);
    assert_true(second->roll_before);
    assert_ptr_equal(second, third);
    txn_block_unref(first);
    txn_block_unref(second);
    txn_block_unref(third);
    txn_batch_fini(&b);
}

static void whoever_holds_a_block_may_read_it_when_the_batch_is_gone(void **state)
{
    struct txn_block *block;
    struct txn_batch b;
    struct bytes at;

    (void)state;
    txn_batch_init(&b);
    at = txn_batch_add(&b, bytes_str("still here"), 1, false, &block);
    txn_batch_fini(&b);
    assert_str_view(at, "still here");
    txn_block_unref(block);
}

static void moving_keeps_the_order(void **state)
{
    struct txn_batch from, to;
    struct txn_block *block;

    (void)state;
    txn_batch_init(&from);
    txn_batch_init(&to);
    txn_batch_add(&to, bytes_str("x"), 1, false, &block);
    txn_block_unref(block);
    txn_batch_add(&from, bytes_str("y"), 2, false, &block);
    txn_block_unref(block);
    txn_batch_move(&to, &from);
    assert_true(txn_batch_empty(&from));
    assert_int_equal(from.bytes, 0);
    assert_int_equal(to.bytes, 28);
    assert_int_equal(block_at(&to, 0)->first_zxid, 1);
    assert_int_equal(block_at(&to, 1)->first_zxid, 2);
    txn_batch_move(&to, &from);
    assert_int_equal(to.bytes, 28);
    txn_batch_fini(&to);
    txn_batch_fini(&from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_room_for_its_sum_length_payload_and_mark),
        cmocka_unit_test(records_share_a_block_until_it_is_full_and_never_move),
        cmocka_unit_test(a_record_larger_than_a_block_has_one_of_its_own),
        cmocka_unit_test(a_new_file_begins_with_a_block_of_its_own),
        cmocka_unit_test(whoever_holds_a_block_may_read_it_when_the_batch_is_gone),
        cmocka_unit_test(moving_keeps_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
