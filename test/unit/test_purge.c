/* SPDX-License-Identifier: Apache-2.0 */
#include "store/purge.h"

#include <inttypes.h>

#include "lib/log_record.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/txnlog_format.h"
#include "store/txnlog_write.h"
#include "wire/txn.h"

#define FOLDER "version-2"

static const char whole[] = "1234567890\0\0\0\1/"; /* passes the quick test */

static void put_snapshot(struct sim_disk *s, int64_t zxid, bool is_whole)
{
    char path[64];

    snprintf(path, sizeof(path), FOLDER "/snapshot.%" PRIx64, (uint64_t)zxid);
    sim_disk_put(s, path, bytes_of(whole, is_whole ? sizeof(whole) - 1 : 8));
}

/* A log with one record, of the zxid in its name. */
static void put_log(struct sim_disk *s, int64_t zxid)
{
    struct txn_header header = {.zxid = zxid, .type = TXN_ERROR};
    struct txn_op op = {.type = TXN_ERROR, .err = -101};
    struct strbuf log;
    char path[64];
    size_t mark;

    strbuf_init(&log, STRBUF_NO_LIMIT);
    strbuf_append(&log, "ZKLG\0\0\0\2\0\0\0\0\0\0\0\0", 16);
    mark = log_record_begin(&log);
    txn_header_write(&log, &header);
    txn_op_write(&log, &op);
    log_record_end(&log, mark);
    txnlog_fill_sums(log.data + 16, log.len - 16);
    snprintf(path, sizeof(path), FOLDER "/log.%" PRIx64, (uint64_t)zxid);
    sim_disk_put(s, path, strbuf_bytes(&log));
    strbuf_fini(&log);
}

static bool exists(struct sim_disk *s, const char *prefix, int64_t zxid)
{
    char path[64];

    snprintf(path, sizeof(path), FOLDER "/%s.%" PRIx64, prefix, (uint64_t)zxid);
    return !bytes_is_null(sim_disk_get(s, path));
}

static void run(struct sim_disk *s, size_t retain, size_t snapshots, size_t logs)
{
    struct purge_report report;
    struct purge_plan plan;
    struct disk *d = sim_disk_disk(s);

    assert_int_equal(purge_find(d, d, FOLDER, retain, &plan), 0);
    assert_int_equal(purge_run(d, d, FOLDER, &plan, &report), 0);
    assert_int_equal(report.snapshots, snapshots);
    assert_int_equal(report.logs, logs);
    sim_disk_restart(s, SIM_LOSE_ALL);
}

static void the_newest_snapshots_and_their_logs_stay(void **state)
{
    struct sim_disk *s = sim_disk_new(1);

    (void)state;
    for (int64_t zxid = 10; zxid <= 60; zxid += 10) {
        put_snapshot(s, zxid, true);
        put_log(s, zxid + 5);
    }
    put_log(s, 1);
    run(s, 3, 3, 3); /* keeps 40, 50, 60 */
    assert_false(exists(s, "snapshot", 30));
    assert_true(exists(s, "snapshot", 40));
    assert_false(exists(s, "log", 25));
    assert_true(exists(s, "log", 35)); /* may go on behind 40 */
    assert_true(exists(s, "log", 45));
    run(s, 3, 0, 0);
    sim_disk_free(s);
}

static void a_log_named_like_the_snapshot_is_enough(void **state)
{
    struct sim_disk *s = sim_disk_new(1);

    (void)state;
    for (int64_t zxid = 10; zxid <= 40; zxid += 10) {
        put_snapshot(s, zxid, true);
        put_log(s, zxid);
    }
    run(s, 3, 1, 1);
    assert_false(exists(s, "log", 10));
    assert_true(exists(s, "log", 20));
    sim_disk_free(s);
}

static void fewer_than_three_are_never_kept(void **state)
{
    struct sim_disk *s = sim_disk_new(1);

    (void)state;
    for (int64_t zxid = 1; zxid <= 4; zxid++) {
        put_snapshot(s, zxid, true);
    }
    run(s, 1, 1, 0);
    assert_true(exists(s, "snapshot", 2));
    sim_disk_free(s);
}

static void halves_of_snapshots_do_not_count(void **state)
{
    struct sim_disk *s = sim_disk_new(1);

    (void)state;
    put_snapshot(s, 1, true);
    put_snapshot(s, 2, true);
    put_snapshot(s, 3, false);
    put_snapshot(s, 4, true);
    put_snapshot(s, 5, true);
    put_snapshot(s, 6, false);
    run(s, 3, 1, 0); /* 2, 4 and 5 are the newest three that look whole */
    assert_false(exists(s, "snapshot", 1));
    assert_true(exists(s, "snapshot", 2));
    assert_true(exists(s, "snapshot", 6));
    sim_disk_free(s);
}

static void without_a_snapshot_nothing_goes(void **state)
{
    struct sim_disk *s = sim_disk_new(1);

    (void)state;
    put_log(s, 1);
    put_log(s, 2);
    put_snapshot(s, 3, false);
    run(s, 3, 0, 0);
    assert_true(exists(s, "log", 1));
    sim_disk_free(s);
}

static void an_empty_log_does_not_stand_in_for_one_with_records(void **state)
{
    struct sim_disk *s = sim_disk_new(1);

    (void)state;
    for (int64_t zxid = 10; zxid <= 30; zxid += 10) {
        put_snapshot(s, zxid, true);
    }
    put_log(s, 2);
    put_log(s, 5);
    sim_disk_put(s, FOLDER "/log.7", bytes_str(""));
    run(s, 3, 0, 1);
    assert_true(exists(s, "log", 5));
    sim_disk_free(s);
}

static void it_is_known_before_which_logs_go(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct disk *d = sim_disk_disk(s);
    struct purge_plan plan;

    (void)state;
    assert_int_equal(purge_find(d, d, FOLDER, 3, &plan), 0);
    assert_int_equal(plan.log, 0);
    for (int64_t zxid = 10; zxid <= 60; zxid += 10) {
        put_snapshot(s, zxid, true);
        put_log(s, zxid + 5);
    }
    assert_int_equal(purge_find(d, d, FOLDER, 3, &plan), 0);
    assert_int_equal(plan.snapshot, 40);
    assert_int_equal(plan.log, 35);
    assert_true(exists(s, "log", 15)); /* not yet */
    sim_disk_free(s);
}

static void errors_are_passed_on(void **state)
{
    struct purge_report report;
    struct purge_plan plan;
    uint64_t n = 0;
    int rc;

    (void)state;
    do {
        struct sim_disk *s = sim_disk_new(1);
        struct disk *d = sim_disk_disk(s);

        for (int64_t zxid = 1; zxid <= 5; zxid++) {
            put_snapshot(s, zxid, true);
            put_log(s, zxid);
        }
        sim_disk_fail_at(s, ++n, PAWL_ERR_IO);
        rc = purge_find(d, d, FOLDER, 3, &plan);
        rc = rc == 0 ? purge_run(d, d, FOLDER, &plan, &report) : rc;
        assert_true(rc == 0 || rc == PAWL_ERR_IO);
        assert_true(exists(s, "snapshot", 3) && exists(s, "log", 3));
        sim_disk_free(s);
    } while (rc != 0);
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_snapshots_and_their_logs_stay),
        cmocka_unit_test(a_log_named_like_the_snapshot_is_enough),
        cmocka_unit_test(fewer_than_three_are_never_kept),
        cmocka_unit_test(halves_of_snapshots_do_not_count),
        cmocka_unit_test(without_a_snapshot_nothing_goes),
        cmocka_unit_test(an_empty_log_does_not_stand_in_for_one_with_records),
        cmocka_unit_test(it_is_known_before_which_logs_go),
        cmocka_unit_test(errors_are_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
