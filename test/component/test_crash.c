/* SPDX-License-Identifier: Apache-2.0 */
/* Crashes, errors and a full disk at every single call of a workload.
 *
 * The workload writes a history of transactions through the log, with rolling, snapshots taken
 * while transactions go on, purging and restarts. It is run once to count its calls to the disk,
 * and then once per call and kind of trouble. After each the folder is recovered, and what comes
 * back must be the state after some transaction that is not older than the last one acknowledged,
 * exactly. Then the server goes on, and crashes and recovers again. */
#include <stdlib.h>

#include "base/prng.h"
#include "lib/history.h"
#include "lib/log_record.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/apply.h"
#include "store/purge.h"
#include "store/recovery.h"
#include "store/snapshot_walk.h"
#include "store/snapshot_write.h"
#include "store/txnlog_format.h"
#include "store/txnlog_write.h"

enum { N_TXNS = 280, N_BEFORE = 240, ROLL_EVERY = 23, RESTART_EVERY = 71 };

static struct history *the_history;
static uint64_t the_seed; /* of history and disks; PAWL_SEED=n tries others */

struct server {
    struct sim_disk *sim;
    struct disk *disk;
    struct prng prng;
    struct tree *tree;
    struct txnlog *log;
    struct strbuf batch;
    struct snapshot_walk *walk;
    struct snapshot_taker *taker;
    struct snapshot_file *file;
    uint64_t preallocate;
    enum snapshot_codec codec;
    int64_t appended; /* last zxid given to the log */
    int64_t acked;    /* last zxid that a client was told of */
    int64_t since_roll;
};

/* ---- a server, as far as its disk is concerned ---- */

static void drop_snapshot(struct server *s)
{
    snapshot_walk_free(s->walk);
    snapshot_taker_free(s->taker);
    snapshot_file_abort(s->file);
    s->walk = NULL;
    s->taker = NULL;
    s->file = NULL;
}

static void stop(struct server *s)
{
    drop_snapshot(s);
    txnlog_close(s->log);
    s->log = NULL;
    tree_free(s->tree);
    s->tree = NULL;
}

static int start(struct server *s)
{
    struct recovery_options options = {.tree = history_tree_options, .codec = s->codec};
    struct txnlog_options log_options = {.folder = STORE_FOLDER,
                                         .preallocate_bytes = s->preallocate,
                                         .size_limit_bytes = 48 << 10,
                                         .force_sync = true};
    struct recovery_report report;
    int rc = recovery_load(s->disk, s->disk, &options, &s->tree, &report);

    if (rc != 0) {
        if (rc == PAWL_ERR_CORRUPT || rc == PAWL_ERR_CONFIG) { /* never after a mere crash */
            print_error("%s\n", report.error);
        }
        assert_int_not_equal(rc, PAWL_ERR_CORRUPT);
        assert_int_not_equal(rc, PAWL_ERR_CONFIG);
        return rc;
    }
    assert_int_equal(report.n_digest_mismatches, 0);
    assert_in_range(report.last_zxid, s->acked, s->appended);
    history_expect(the_history, s->tree, report.last_zxid);
    s->appended = report.last_zxid;
    s->acked = report.last_zxid; /* a reader may see it from now on */
    s->since_roll = 0;
    return txnlog_open(s->disk, &log_options, &s->log);
}

static void apply_up_to(struct server *s, int64_t zxid)
{
    struct apply apply = {.tree = s->tree};
    struct txn txn;

    for (int64_t z = s->acked + 1; z <= zxid; z++) {
        assert_int_equal(txn_read(history_payload(the_history, z), &txn), TXN_OK);
        apply_txn(&apply, &txn, NULL, 0);
    }
    s->acked = zxid;
}

static int append_batch(struct server *s, int64_t last)
{
    size_t n = 1 + (size_t)prng_below(&s->prng, 6);
    int64_t first = s->appended + 1;

    strbuf_clear(&s->batch);
    while (n-- > 0 && s->appended < last) {
        size_t mark = log_record_begin(&s->batch);

        strbuf_append_bytes(&s->batch, history_payload(the_history, ++s->appended));
        log_record_end(&s->batch, mark);
        s->since_roll++;
    }
    return txnlog_append(s->log, s->batch.data, s->batch.len, first);
}

/* A snapshot that fails is given up; the server goes on. */
static void snapshot_some(struct server *s)
{
    struct snapshot_chunk *chunk;
    struct purge_report purged;
    struct purge_plan plan;
    bool done = snapshot_walk_step(s->walk, 3, SIZE_MAX);
    int rc = 0;

    while (rc == 0 && (chunk = snapshot_taker_take(s->taker)) != NULL) {
        rc = snapshot_file_write(s->file, chunk->data, chunk->len);
        snapshot_chunk_free(chunk);
    }
    if (rc != 0) {
        drop_snapshot(s);
    } else if (done) {
        uint64_t digest = snapshot_walk_digest(s->walk);

        snapshot_walk_free(s->walk);
        snapshot_taker_free(s->taker);
        s->walk = NULL;
        s->taker = NULL;
        rc = snapshot_file_finish(s->file, digest);
        s->file = NULL;
        if (rc == 0) {
            rc = purge_find(s->disk, s->disk, STORE_FOLDER, 3, &plan);
        }
        if (rc == 0) {
            purge_run(s->disk, s->disk, STORE_FOLDER, &plan, &purged);
        }
    }
}

static void begin_snapshot(struct server *s)
{
    struct snapshot_file_options options = {.folder = STORE_FOLDER, .codec = s->codec};

    if (snapshot_file_begin(s->disk, &options, s->acked, &s->file) == 0) {
        s->walk = snapshot_walk_begin(s->tree, s->acked);
        s->taker = snapshot_walk_join(s->walk, SIZE_MAX);
    } else {
        s->file = NULL;
    }
}

static int step(struct server *s, int64_t last)
{
    int rc = append_batch(s, last);

    if (rc == 0 && s->since_roll > ROLL_EVERY) {
        s->since_roll = 0;
        txnlog_roll(s->log);
        if (s->walk == NULL) {
            begin_snapshot(s);
        }
    }
    if (rc == 0 && prng_below(&s->prng, 5) == 0 && s->appended < last) {
        rc = append_batch(s, last); /* two writes before one sync */
    }
    if (rc == 0) {
        rc = txnlog_sync(s->log);
    }
    if (rc == 0) {
        apply_up_to(s, s->appended);
    }
    if (s->walk != NULL) {
        snapshot_some(s);
    }
    return rc;
}

/* Works until transaction `last` is acknowledged, with a clean restart now and then. */
static int work(struct server *s, int64_t last)
{
    int64_t restart_at = s->acked + RESTART_EVERY;
    int rc = 0;

    while (rc == 0 && s->acked < last) {
        rc = step(s, last);
        if (rc == 0 && s->acked >= restart_at && s->acked < last) {
            restart_at += RESTART_EVERY;
            stop(s);
            rc = start(s);
        }
    }
    return rc;
}

/* ---- trouble ---- */

static struct server *server_new(uint64_t seed, uint64_t preallocate, enum snapshot_codec codec)
{
    struct server *s = calloc(1, sizeof(*s));

    s->sim = sim_disk_new(the_seed * 1000003 + seed);
    s->disk = sim_disk_disk(s->sim);
    s->preallocate = preallocate;
    s->codec = codec;
    prng_seed(&s->prng, the_seed); /* the same workload whatever the seed of the disk */
    strbuf_init(&s->batch, STRBUF_NO_LIMIT);
    return s;
}

static void server_free(struct server *s)
{
    stop(s);
    sim_disk_free(s->sim);
    strbuf_fini(&s->batch);
    free(s);
}

static int begin(struct server *s)
{
    int rc = start(s);

    return rc == 0 ? work(s, N_BEFORE) : rc;
}

/* After the trouble: recover (crashing once more on the way, somewhere), go on to the end of the
 * history, crash without warning, recover again. */
static void prove(struct server *s, enum sim_loss loss)
{
    stop(s);
    sim_disk_restart(s->sim, loss);
    sim_disk_crash_at(s->sim, sim_disk_calls(s->sim) + 1 + prng_below(&s->prng, 30));
    if (start(s) == 0 && !sim_disk_crashed(s->sim)) {
        work(s, N_BEFORE);
    }
    stop(s);
    sim_disk_restart(s->sim, loss);
    assert_int_equal(start(s), 0);
    assert_int_equal(work(s, N_TXNS), 0);
    stop(s);
    sim_disk_restart(s->sim, loss);
    assert_int_equal(start(s), 0);
    assert_int_equal(s->acked, N_TXNS);
    server_free(s);
}

static uint64_t count_calls(uint64_t preallocate, enum snapshot_codec codec)
{
    struct server *s = server_new(1, preallocate, codec);
    uint64_t calls;

    assert_int_equal(begin(s), 0);
    calls = sim_disk_calls(s->sim);
    server_free(s);
    return calls;
}

static void crash_everywhere(uint64_t preallocate, enum snapshot_codec codec, enum sim_loss loss,
                             uint64_t seed)
{
    uint64_t calls = count_calls(preallocate, codec);

    assert_true(calls > 250);
    for (uint64_t n = 1; n <= calls; n++) {
        struct server *s = server_new(seed + n, preallocate, codec);

        sim_disk_crash_at(s->sim, n);
        begin(s);
        assert_true(sim_disk_crashed(s->sim));
        prove(s, loss);
    }
}

static void a_crash_that_loses_all_it_can(void **state)
{
    (void)state;
    crash_everywhere(8 << 10, SNAPSHOT_PLAIN, SIM_LOSE_ALL, 0);
}

static void a_crash_that_loses_nothing(void **state)
{
    (void)state;
    crash_everywhere(8 << 10, SNAPSHOT_GZIP, SIM_LOSE_NOTHING, 0);
}

static void a_crash_that_tears_sectors(void **state)
{
    (void)state;
    crash_everywhere(8 << 10, SNAPSHOT_PLAIN, SIM_LOSE_SOME, 1000);
    crash_everywhere(16 << 10, SNAPSHOT_SNAPPY, SIM_LOSE_SOME, 2000);
}

static void a_crash_of_a_log_without_padding(void **state)
{
    (void)state;
    crash_everywhere(0, SNAPSHOT_PLAIN, SIM_LOSE_SOME, 3000);
}

static void an_error_of_any_call(void **state)
{
    uint64_t calls = count_calls(8 << 10, SNAPSHOT_PLAIN);

    (void)state;
    for (uint64_t n = 1; n <= calls; n++) {
        struct server *s = server_new(n, 8 << 10, SNAPSHOT_PLAIN);

        sim_disk_fail_at(s->sim, n, PAWL_ERR_IO);
        begin(s);
        prove(s, n % 2 == 0 ? SIM_LOSE_SOME : SIM_LOSE_NOTHING);
    }
}

static void a_disk_that_runs_full_at_any_size(void **state)
{
    int rc = -1;

    (void)state;
    for (uint64_t limit = 0; rc != 0; limit += 1024) {
        struct server *s = server_new(limit, 8 << 10, SNAPSHOT_PLAIN);

        sim_disk_limit(s->sim, limit);
        rc = begin(s);
        assert_true(rc == 0 || rc == PAWL_ERR_DISK_FULL);
        prove(s, SIM_LOSE_SOME);
    }
}

static int make_history(void **state)
{
    const char *seed = getenv("PAWL_SEED");

    (void)state;
    the_seed = seed != NULL ? strtoull(seed, NULL, 10) : 42;
    print_message("seed %llu\n", (unsigned long long)the_seed);
    the_history = history_new(the_seed, N_TXNS);
    return 0;
}

static int free_history(void **state)
{
    (void)state;
    history_free(the_history);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_that_loses_all_it_can),
        cmocka_unit_test(a_crash_that_loses_nothing),
        cmocka_unit_test(a_crash_that_tears_sectors),
        cmocka_unit_test(a_crash_of_a_log_without_padding),
        cmocka_unit_test(an_error_of_any_call),
        cmocka_unit_test(a_disk_that_runs_full_at_any_size),
    };

    return cmocka_run_group_tests(tests, make_history, free_history);
}
