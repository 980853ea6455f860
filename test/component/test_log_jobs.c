/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of the log's thread: in order with what is appended, and answered on the loop, which is
 * the test itself here. */
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "daemon/log_jobs.h"
#include "daemon/txnlog_thread.h"
#include "lib/history.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/apply.h"
#include "store/epoch.h"
#include "store/snapshot_walk.h"
#include "store/snapshot_write.h"
#include "wire/packet.h"

enum { N_TXNS = 200 };

static struct history *the_history;

struct fixture {
    struct sim_disk *sim;
    struct log_jobs jobs;
    struct txnlog_thread *thread;
    struct txn_batch batch;
    int64_t appended;
    pthread_mutex_t lock; /* guards `woken` */
    pthread_cond_t changed;
    bool woken;
};

/* ---- the loop ---- */

static void note_wake(void *arg)
{
    struct fixture *f = arg;

    pthread_mutex_lock(&f->lock);
    f->woken = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* One turn: sleeps until it is woken, then hears what is done. */
static void turn(struct fixture *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->woken) {
        pthread_cond_wait(&f->changed, &f->lock);
    }
    f->woken = false;
    pthread_mutex_unlock(&f->lock);
    txnlog_thread_settle(f->thread);
}

static struct tree *tree_at(int64_t zxid)
{
    struct tree *t = tree_new(&history_tree_options);
    struct apply apply = {.tree = t};
    struct txn txn;

    tree_add_system_nodes(t);
    for (int64_t z = 1; z <= zxid; z++) {
        assert_int_equal(txn_read(history_payload(the_history, z), &txn), TXN_OK);
        apply_txn(&apply, &txn, NULL, 0);
    }
    return t;
}

static void setup(struct fixture *f)
{
    struct snapshot_file_options options = {.folder = STORE_FOLDER};
    struct txnlog_thread_options log = {.log = {.folder = STORE_FOLDER, .force_sync = true},
                                        .fsync_warning_ms = 60000,
                                        .wake = note_wake,
                                        .arg = f};
    struct tree *empty = tree_at(0);

    *f = (struct fixture){.sim = sim_disk_new(1)};
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    txn_batch_init(&f->batch);
    log.disk = sim_disk_disk(f->sim);
    assert_int_equal(disk_make_folder(log.disk, STORE_FOLDER), 0);
    assert_int_equal(disk_sync_folder(log.disk, ""), 0);
    assert_int_equal(snapshot_save(log.disk, &options, empty, 0), 0);
    tree_free(empty);
    assert_int_equal(txnlog_thread_start(&log, &f->thread), 0);
    f->jobs = (struct log_jobs){.thread = f->thread,
                                .data_disk = log.disk,
                                .log_disk = log.disk,
                                .recovery.tree = history_tree_options};
}

static void teardown(struct fixture *f)
{
    txnlog_thread_stop(f->thread);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->changed);
    sim_disk_free(f->sim);
}

static void append_to(struct fixture *f, int64_t last)
{
    struct txn_block *block;

    while (f->appended < last) {
        f->appended++;
        txn_batch_add(&f->batch, history_payload(the_history, f->appended), f->appended, false,
                      &block);
        txn_block_unref(block);
    }
    txnlog_thread_append(f->thread, &f->batch);
}

/* What the disk would come back with now. Nothing may run on the thread. */
static int64_t last_zxid_after_crash(struct fixture *f)
{
    struct recovery_options options = {.tree = history_tree_options, .read_only = true};
    struct recovery_report report;
    struct tree *tree;

    sim_disk_restart(f->sim, SIM_LOSE_ALL);
    assert_int_equal(recovery_load(f->jobs.data_disk, f->jobs.log_disk, &options, &tree, &report),
                     0);
    history_expect(the_history, tree, report.last_zxid);
    tree_free(tree);
    return report.last_zxid;
}

/* ---- answers ---- */

struct answers {
    int n;
    int rc;
    struct log_result last;
};

static void note_answer(void *arg, struct log_result *result)
{
    struct answers *a = arg;

    a->n++;
    a->rc = result->rc;
    a->last = *result;
}

static void await(struct fixture *f, const struct answers *a, int n)
{
    while (a->n < n) {
        turn(f);
    }
}

/* ---- tests ---- */

static void a_flush_is_answered_when_all_before_it_is_on_disk(void **state)
{
    struct answers a = {0};
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, 20);
    append_to(&f, 90);
    log_flush(&f.jobs, note_answer, &a);
    assert_int_equal(a.n, 0); /* not from within the call */
    await(&f, &a, 1);
    assert_int_equal(a.rc, 0);
    txnlog_thread_stop(f.thread);
    f.thread = NULL;
    assert_int_equal(last_zxid_after_crash(&f), 90);
    teardown(&f);
}

/* P8 is asserted: an append behind the flush of an ended role would be a bug. */
static void a_closed_log_is_opened_for_the_next_role(void **state)
{
    struct answers a = {0};
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, 10);
    txnlog_thread_close_log(f.thread);
    log_flush(&f.jobs, note_answer, &a);
    await(&f, &a, 1);
    txnlog_thread_open_log(f.thread);
    append_to(&f, 12);
    log_flush(&f.jobs, note_answer, &a);
    await(&f, &a, 2);
    teardown(&f);
}

static void jobs_are_answered_in_order_with_the_appends(void **state)
{
    struct answers a = {0}, b = {0}, c = {0};
    struct fixture f;
    int64_t epoch;

    (void)state;
    setup(&f);
    append_to(&f, 30);
    log_save_epoch(&f.jobs, EPOCH_ACCEPTED_FILE, 4, note_answer, &a);
    append_to(&f, 60);
    log_truncate(&f.jobs, 40, note_answer, &b);
    f.appended = 40;
    append_to(&f, 45); /* goes on behind the cut */
    log_save_epoch(&f.jobs, EPOCH_CURRENT_FILE, 4, note_answer, &c);
    await(&f, &a, 1);
    await(&f, &b, 1);
    await(&f, &c, 1);
    assert_int_equal(a.rc, 0);
    assert_int_equal(b.rc, 0);
    assert_int_equal(b.last.report.last_zxid, 40);
    history_expect(the_history, b.last.tree, 40);
    tree_free(b.last.tree);
    txnlog_thread_stop(f.thread);
    f.thread = NULL;
    assert_int_equal(last_zxid_after_crash(&f), 45);
    assert_int_equal(epoch_load(f.jobs.data_disk, STORE_FOLDER, EPOCH_ACCEPTED_FILE, &epoch), 0);
    assert_int_equal(epoch, 4);
    assert_int_equal(epoch_load(f.jobs.data_disk, STORE_FOLDER, EPOCH_CURRENT_FILE, &epoch), 0);
    assert_int_equal(epoch, 4);
    teardown(&f);
}

static void a_truncation_that_cannot_be_touches_nothing_and_has_a_reason(void **state)
{
    struct answers a = {0};
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, 30);
    log_truncate(&f.jobs, 50, note_answer, &a);
    await(&f, &a, 1);
    assert_int_equal(a.rc, PAWL_ERR_CORRUPT);
    assert_true(a.last.is_untouched);
    assert_true(strlen(a.last.error) > 10);
    append_to(&f, 31);
    log_flush(&f.jobs, note_answer, &a);
    await(&f, &a, 2);
    txnlog_thread_stop(f.thread);
    f.thread = NULL;
    assert_int_equal(last_zxid_after_crash(&f), 31);
    teardown(&f);
}

/* The log has the transaction, but nothing leads there any more: its beginning was purged. */
static void a_truncation_between_purged_logs_and_a_newer_snapshot_touches_nothing(void **state)
{
    struct snapshot_file_options options = {.folder = STORE_FOLDER};
    struct answers a = {0};
    struct tree *tree = NULL;
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, 10);
    log_flush(&f.jobs, note_answer, &a);
    await(&f, &a, 1);
    f.appended = 20;
    append_to(&f, 30); /* 11 to 20 are nowhere */
    log_flush(&f.jobs, note_answer, &a);
    await(&f, &a, 2);
    tree = tree_at(28);
    assert_int_equal(snapshot_save(f.jobs.data_disk, &options, tree, 28), 0);
    tree_free(tree);
    log_truncate(&f.jobs, 25, note_answer, &a);
    await(&f, &a, 3);
    assert_true(a.last.is_untouched);
    txnlog_thread_stop(f.thread);
    f.thread = NULL;
    assert_int_equal(last_zxid_after_crash(&f), 30);
    teardown(&f);
}

static void jobs_behind_a_failed_log_are_answered_at_the_end(void **state)
{
    struct answers a = {0};
    struct fixture f;

    (void)state;
    setup(&f);
    sim_disk_limit(f.sim, 1);
    append_to(&f, 30);
    log_flush(&f.jobs, note_answer, &a);
    txnlog_thread_stop(f.thread);
    f.thread = NULL;
    assert_int_equal(a.n, 1);
    assert_int_equal(a.rc, PAWL_ERR_CLOSING);
    teardown(&f);
}

/* ---- reading ---- */

struct reading {
    struct fixture *f;
    struct log_reading *reading;
    int64_t next;
    bool next_is_commit;
    int n_pieces;
    int stop_after; /* pieces; 0: never */
    bool is_over;
    int rc;
};

static void check_packets(struct reading *r, struct bytes packets)
{
    while (packets.len > 0) {
        struct packet p;
        size_t used;

        assert_int_equal(packet_read(packets, 1 << 20, &p, &used), STREAM_WHOLE);
        assert_int_equal(p.zxid, r->next);
        assert_int_equal(p.type, r->next_is_commit ? PACKET_COMMIT : PACKET_PROPOSAL);
        assert_int_equal(p.auth.count, -1);
        if (!r->next_is_commit) {
            assert_bytes_equal(p.data, history_payload(the_history, r->next));
        } else {
            assert_true(bytes_is_null(p.data));
            r->next++;
        }
        r->next_is_commit = !r->next_is_commit;
        packets = bytes_of(packets.data + used, packets.len - used);
    }
}

static void note_piece(void *arg, struct bytes packets, bool is_last,
                       const struct log_result *result)
{
    struct reading *r = arg;

    r->n_pieces++;
    r->rc = result->rc;
    check_packets(r, packets);
    r->is_over = is_last || r->n_pieces == r->stop_after;
    if (r->is_over) {
        log_reading_stop(r->reading);
    } else {
        log_reading_next(r->reading);
    }
}

static void a_range_comes_as_packets_in_pieces(void **state)
{
    struct reading r = {.next = 7};
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, N_TXNS);
    r.reading = log_reading_start(&f.jobs, 7, N_TXNS, note_piece, &r);
    while (!r.is_over) {
        turn(&f);
    }
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.next, N_TXNS + 1);
    teardown(&f);
}

static void a_reading_can_be_stopped_at_any_time(void **state)
{
    struct reading r = {.next = 1, .stop_after = 1}, unheard = {.next = 1};
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, N_TXNS);
    r.reading = log_reading_start(&f.jobs, 1, N_TXNS, note_piece, &r);
    unheard.reading = log_reading_start(&f.jobs, 1, N_TXNS, note_piece, &unheard);
    log_reading_stop(unheard.reading);
    while (!r.is_over) {
        turn(&f);
    }
    teardown(&f);
    assert_int_equal(unheard.n_pieces, 0);
}

static void a_range_that_is_not_there_ends_with_a_reason(void **state)
{
    struct reading r = {.next = 10};
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, 20);
    r.reading = log_reading_start(&f.jobs, 10, 30, note_piece, &r);
    while (!r.is_over) {
        turn(&f);
    }
    assert_int_equal(r.rc, PAWL_ERR_CORRUPT);
    teardown(&f);
}

/* ---- a spool ---- */

static void spool_tree(struct log_spool *s, int64_t zxid)
{
    struct tree *t = tree_at(zxid);
    struct snapshot_walk *w = snapshot_walk_begin(t, zxid);
    struct snapshot_taker *taker = snapshot_walk_join(w, SIZE_MAX);
    struct snapshot_chunk *chunk;

    while (!snapshot_walk_step(w, 10, SIZE_MAX)) {
    }
    while ((chunk = snapshot_taker_take(taker)) != NULL) {
        for (size_t at = 0; at < chunk->len; at += 700) {
            size_t n = chunk->len - at < 700 ? chunk->len - at : 700;

            log_spool_write(s, bytes_of(chunk->data + at, n));
        }
        snapshot_chunk_free(chunk);
    }
    snapshot_taker_free(taker);
    snapshot_walk_free(w);
    tree_free(t);
}

static void a_spooled_snapshot_takes_the_place_of_everything(void **state)
{
    struct answers a = {0};
    struct log_spool *s;
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, 50);
    s = log_spool_start(&f.jobs, 120);
    spool_tree(s, 120);
    assert_true(log_spool_backlog(s) > 0);
    log_spool_finish(s, note_answer, &a);
    await(&f, &a, 1);
    assert_int_equal(a.rc, 0);
    history_expect(the_history, a.last.tree, 120);
    tree_free(a.last.tree);
    f.appended = 120;
    append_to(&f, 130);
    txnlog_thread_stop(f.thread);
    f.thread = NULL;
    assert_int_equal(last_zxid_after_crash(&f), 130);
    teardown(&f);
}

static void a_spool_given_up_changes_nothing(void **state)
{
    struct answers a = {0};
    struct log_spool *s;
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, 50);
    s = log_spool_start(&f.jobs, 120);
    spool_tree(s, 120);
    log_spool_stop(s);
    append_to(&f, 55);
    log_flush(&f.jobs, note_answer, &a);
    await(&f, &a, 1);
    txnlog_thread_stop(f.thread);
    f.thread = NULL;
    assert_int_equal(last_zxid_after_crash(&f), 55);
    assert_true(bytes_is_null(sim_disk_get(f.sim, STORE_FOLDER "/tmp.snapshot.78")));
    teardown(&f);
}

static void a_full_disk_is_known_before_the_end_of_a_spool(void **state)
{
    struct answers a = {0};
    struct log_spool *s;
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, 30);
    log_flush(&f.jobs, note_answer, &a);
    await(&f, &a, 1);
    sim_disk_limit(f.sim, 1);
    s = log_spool_start(&f.jobs, 120);
    spool_tree(s, 120);
    while (!log_spool_has_failed(s)) { /* nobody has ended it */
        turn(&f);
    }
    log_spool_finish(s, note_answer, &a);
    await(&f, &a, 2);
    assert_int_not_equal(a.rc, PAWL_OK);
    assert_true(a.last.is_untouched);
    assert_true(strlen(a.last.error) > 10);
    txnlog_thread_stop(f.thread);
    f.thread = NULL;
    assert_int_equal(last_zxid_after_crash(&f), 30);
    teardown(&f);
}

static void a_spool_that_makes_no_tree_is_refused_with_a_reason(void **state)
{
    struct answers a = {0};
    struct log_spool *s;
    struct fixture f;

    (void)state;
    setup(&f);
    append_to(&f, 50);
    s = log_spool_start(&f.jobs, 120);
    log_spool_write(s, bytes_of("\0\0\0\0\0\0\0\0\0\0\0\4/a/b", 16));
    log_spool_finish(s, note_answer, &a);
    await(&f, &a, 1);
    assert_int_equal(a.rc, PAWL_ERR_CORRUPT);
    assert_true(strlen(a.last.error) > 10);
    append_to(&f, 55);
    txnlog_thread_stop(f.thread);
    f.thread = NULL;
    assert_int_equal(last_zxid_after_crash(&f), 55);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flush_is_answered_when_all_before_it_is_on_disk),
        cmocka_unit_test(a_closed_log_is_opened_for_the_next_role),
        cmocka_unit_test(jobs_are_answered_in_order_with_the_appends),
        cmocka_unit_test(a_truncation_that_cannot_be_touches_nothing_and_has_a_reason),
        cmocka_unit_test(a_truncation_between_purged_logs_and_a_newer_snapshot_touches_nothing),
        cmocka_unit_test(jobs_behind_a_failed_log_are_answered_at_the_end),
        cmocka_unit_test(a_range_comes_as_packets_in_pieces),
        cmocka_unit_test(a_reading_can_be_stopped_at_any_time),
        cmocka_unit_test(a_range_that_is_not_there_ends_with_a_reason),
        cmocka_unit_test(a_spooled_snapshot_takes_the_place_of_everything),
        cmocka_unit_test(a_spool_given_up_changes_nothing),
        cmocka_unit_test(a_full_disk_is_known_before_the_end_of_a_spool),
        cmocka_unit_test(a_spool_that_makes_no_tree_is_refused_with_a_reason),
    };
    int rc;

    the_history = history_new(5, N_TXNS);
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    history_free(the_history);
    return rc;
}
