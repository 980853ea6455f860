/* SPDX-License-Identifier: Apache-2.0 */
#include "member/journal.h"

#include "lib/test.h"
#include "store/txn_batch.h"

static void append(struct journal *j, struct txn_batch *log, int64_t zxid)
{
    char text[32];

    snprintf(text, sizeof(text), "txn %d", (int)zxid);
    journal_append(j, log, zxid, bytes_str(text), 10 * zxid);
}

static void what_is_appended_comes_out_in_order(void **state)
{
    struct txn_batch log;
    struct journal j;
    int64_t next = 5, last = 4;

    (void)state;
    txn_batch_init(&log);
    journal_init(&j, 4);
    assert_null(journal_first(&j));
    for (int round = 0; round < 50; round++) { /* the ring goes round, and grows */
        for (int i = 0; i < 7; i++) {
            append(&j, &log, ++last);
        }
        for (int i = 0; i < 5; i++, next++) {
            char text[32];

            snprintf(text, sizeof(text), "txn %d", (int)next);
            assert_int_equal(journal_first(&j)->zxid, next);
            assert_int_equal(journal_first(&j)->when_us, 10 * next);
            assert_str_view(journal_first(&j)->payload, text);
            journal_pop(&j);
        }
    }
    assert_int_equal(j.n, 100);
    assert_int_equal(j.last_zxid, last);
    txn_batch_fini(&log); /* the log is done with it; the journal is not */
    assert_int_equal(journal_first(&j)->zxid, next);
    assert_int_equal(journal_first(&j)->payload.data[0], 't');
    journal_fini(&j);
}

static void a_file_ends_where_it_is_asked_to(void **state)
{
    struct txn_batch log;
    struct journal j;

    (void)state;
    txn_batch_init(&log);
    journal_init(&j, 0);
    append(&j, &log, 1);
    journal_roll(&j);
    append(&j, &log, 2);
    append(&j, &log, 3);
    assert_int_equal(j.file_zxid, 2);
    assert_false(j.roll_next);
    assert_false(container_of(log.blocks.next, struct txn_block, link)->roll_before);
    assert_true(container_of(log.blocks.prev, struct txn_block, link)->roll_before);
    assert_int_equal(container_of(log.blocks.prev, struct txn_block, link)->first_zxid, 2);
    journal_fini(&j);
    txn_batch_fini(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_comes_out_in_order),
        cmocka_unit_test(a_file_ends_where_it_is_asked_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
