/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <zlib.h>

#include "base/memory.h"
#include "lib/log_record.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/durable.h"
#include "store/txnlog_format.h"
#include "store/txnlog_read.h"
#include "store/txnlog_truncate.h"
#include "store/txnlog_write.h"

#define FOLDER "version-2"

struct fixture {
    struct sim_disk *sim;
    struct disk *disk;
    struct txnlog *log;
};

static void setup(struct fixture *f, const struct txnlog_options *options)
{
    struct txnlog_options defaults = {.folder = FOLDER, .force_sync = true};

    f->sim = sim_disk_new(1);
    f->disk = sim_disk_disk(f->sim);
    assert_int_equal(disk_make_folder(f->disk, FOLDER), 0);
    assert_int_equal(disk_sync_folder(f->disk, ""), 0);
    assert_int_equal(txnlog_open(f->disk, options != NULL ? options : &defaults, &f->log), 0);
}

static void teardown(struct fixture *f)
{
    txnlog_close(f->log);
    sim_disk_free(f->sim);
}

/* An error record: the shortest there is. */
static void put_record(struct strbuf *out, int64_t zxid)
{
    struct txn_header header = {.client_id = 1, .zxid = zxid, .type = TXN_ERROR};
    struct txn_op op = {.type = TXN_ERROR, .err = -101};
    size_t mark = log_record_begin(out);

    txn_header_write(out, &header);
    txn_op_write(out, &op);
    log_record_end(out, mark);
}

/* One whose data makes the payload `size` bytes long, or a little more. */
static void put_large_record(struct strbuf *out, int64_t zxid, size_t size)
{
    struct txn_header header = {.zxid = zxid, .type = TXN_SET_DATA};
    uint8_t *data = must_zalloc(size);
    struct txn_op op = {.type = TXN_SET_DATA, .path = bytes_str("/"), .data = bytes_of(data, size)};
    size_t mark = log_record_begin(out);

    txn_header_write(out, &header);
    txn_op_write(out, &op);
    log_record_end(out, mark);
    free(data);
}

static int append(struct fixture *f, int64_t first, int64_t last)
{
    struct strbuf batch;
    int rc;

    strbuf_init(&batch, STRBUF_NO_LIMIT);
    for (int64_t zxid = first; zxid <= last; zxid++) {
        put_record(&batch, zxid);
    }
    rc = txnlog_append(f->log, batch.data, batch.len, first);
    strbuf_fini(&batch);
    return rc;
}

static struct txnlog_reader *open_reader(struct fixture *f, int64_t from)
{
    struct txnlog_reader_options options = {.folder = FOLDER};
    struct txnlog_reader *r;

    assert_int_equal(txnlog_reader_open(f->disk, &options, from, &r), 0);
    return r;
}

/* Reads from `from` and expects first, first + 1, ... last, and then `end`. */
static void expect_records(struct fixture *f, int64_t from, int64_t first, int64_t last,
                           enum txnlog_found end)
{
    struct txnlog_reader *r = open_reader(f, from);
    struct txnlog_record record;

    for (int64_t zxid = first; zxid <= last; zxid++) {
        assert_int_equal(txnlog_reader_next(r, &record), TXNLOG_RECORD);
        assert_int_equal(record.txn.header.zxid, zxid);
    }
    assert_int_equal(txnlog_reader_next(r, &record), end);
    assert_int_equal(txnlog_reader_next(r, &record), end);
    txnlog_reader_close(r);
}

static struct bytes file(struct fixture *f, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), FOLDER "/%s", name);
    return sim_disk_get(f->sim, path);
}

/* ---- writing ---- */

static void a_record_is_laid_out_as_the_format_says(void **state)
{
    struct fixture f;
    struct bytes b;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 5, 5), 0);
    b = file(&f, "log.5");
    assert_int_equal(b.len, 16 + 13 + 36);
    assert_memory_equal(b.data, "ZKLG\0\0\0\2\0\0\0\0\0\0\0\0", 16);
    assert_int_equal(load_u64(b.data + 16), adler32(1, b.data + 28, 36));
    assert_int_equal(load_u32(b.data + 24), 36);
    assert_int_equal(b.data[16 + 12 + 36], 0x42);
    teardown(&f);
}

static void nothing_is_certain_before_the_sync(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 3), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    assert_int_equal(append(&f, 4, 6), 0);
    sim_disk_restart(f.sim, SIM_LOSE_ALL);
    expect_records(&f, 0, 1, 3, TXNLOG_END);
    teardown(&f);
}

static void without_force_sync_nothing_is_synced(void **state)
{
    struct txnlog_options options = {.folder = FOLDER, .force_sync = false};
    struct fixture f;

    (void)state;
    setup(&f, &options);
    assert_int_equal(append(&f, 1, 3), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    expect_records(&f, 0, 1, 3, TXNLOG_END);
    sim_disk_restart(f.sim, SIM_LOSE_ALL);
    assert_true(bytes_is_null(file(&f, "log.1")));
    teardown(&f);
}

/* The sizes that ZooKeeper 3.8.0 was seen to make with preAllocSize=8. */
static void padding_grows_in_zookeepers_steps(void **state)
{
    struct txnlog_options options = {
        .folder = FOLDER, .force_sync = true, .preallocate_bytes = 8192};
    struct fixture f;
    int64_t zxid = 1;

    (void)state;
    setup(&f, &options);
    assert_int_equal(append(&f, zxid, zxid), 0);
    assert_int_equal(file(&f, "log.1").len, 8208);
    assert_int_equal(txnlog_size(f.log), 8208);
    while (file(&f, "log.1").len == 8208) {
        zxid++;
        assert_int_equal(append(&f, zxid, zxid), 0);
    }
    assert_int_equal(file(&f, "log.1").len, 16400);
    assert_in_range(zxid * 49, 4096, 4096 + 2 * 49);
    assert_int_equal(txnlog_sync(f.log), 0);
    expect_records(&f, 0, 1, zxid, TXNLOG_END);
    teardown(&f);
}

static void a_batch_larger_than_the_padding_is_written(void **state)
{
    struct txnlog_options options = {
        .folder = FOLDER, .force_sync = true, .preallocate_bytes = 8192};
    struct strbuf batch;
    struct fixture f;

    (void)state;
    setup(&f, &options);
    strbuf_init(&batch, STRBUF_NO_LIMIT);
    put_large_record(&batch, 1, 100000);
    assert_int_equal(txnlog_append(f.log, batch.data, batch.len, 1), 0);
    assert_int_equal(append(&f, 2, 2), 0);
    assert_int_equal(file(&f, "log.1").len, (16 + batch.len + 8192) / 8192 * 8192);
    expect_records(&f, 0, 1, 2, TXNLOG_END);
    strbuf_fini(&batch);
    teardown(&f);
}

static void rolling_starts_a_file_named_after_its_first_zxid(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 3), 0);
    txnlog_roll(f.log);
    assert_int_equal(txnlog_size(f.log), 0);
    assert_int_equal(append(&f, 4, 5), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    sim_disk_restart(f.sim, SIM_LOSE_ALL);
    assert_false(bytes_is_null(file(&f, "log.4")));
    expect_records(&f, 0, 1, 5, TXNLOG_END);
    teardown(&f);
}

/* The end of the old file is on disk before the new file begins. */
static void a_rolled_file_is_synced_before_the_next_exists(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 3), 0);
    txnlog_roll(f.log);
    assert_int_equal(append(&f, 4, 4), 0);
    sim_disk_restart(f.sim, SIM_LOSE_ALL);
    expect_records(&f, 0, 1, 3, TXNLOG_END);
    teardown(&f);
}

static void a_size_limit_rolls_after_the_sync(void **state)
{
    struct txnlog_options options = {.folder = FOLDER, .force_sync = true, .size_limit_bytes = 200};
    struct fixture f;

    (void)state;
    setup(&f, &options);
    assert_int_equal(append(&f, 1, 3), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    assert_int_equal(append(&f, 4, 4), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    assert_int_equal(append(&f, 5, 5), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    assert_false(bytes_is_null(file(&f, "log.5")));
    assert_true(bytes_is_null(file(&f, "log.4")));
    assert_int_equal(txnlog_size(f.log), 16 + 4 * 49 + 16 + 49); /* both files */
    expect_records(&f, 0, 1, 5, TXNLOG_END);
    teardown(&f);
}

static void an_error_is_final(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 1), 0);
    sim_disk_fail_at(f.sim, sim_disk_calls(f.sim) + 1, PAWL_ERR_IO);
    assert_int_equal(txnlog_sync(f.log), PAWL_ERR_IO);
    assert_int_equal(txnlog_sync(f.log), PAWL_ERR_IO);
    assert_int_equal(append(&f, 2, 2), PAWL_ERR_IO);
    teardown(&f);
}

static void a_log_that_holds_a_record_is_not_overwritten(void **state)
{
    struct txnlog_options options = {.folder = FOLDER, .force_sync = true};
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 2), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    txnlog_close(f.log);
    assert_int_equal(txnlog_open(f.disk, &options, &f.log), 0);
    assert_int_equal(append(&f, 1, 1), PAWL_ERR_EXISTS);
    expect_records(&f, 0, 1, 2, TXNLOG_END);
    teardown(&f);
}

static void reopen(struct fixture *f)
{
    struct txnlog_options options = {.folder = FOLDER, .force_sync = true};

    txnlog_close(f->log);
    assert_int_equal(txnlog_open(f->disk, &options, &f->log), 0);
}

/* Recovery cuts off a torn first record; what has not been cut off is not overwritten. */
static void only_a_log_without_a_byte_is_written_anew(void **state)
{
    struct bytes b;
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 1), 0);
    txnlog_roll(f.log);
    b = file(&f, "log.1");
    sim_disk_put(f.sim, FOLDER "/log.2", bytes_of(b.data, b.len - 7));
    expect_records(&f, 0, 1, 1, TXNLOG_TORN);
    assert_int_equal(append(&f, 2, 3), PAWL_ERR_EXISTS);
    sim_disk_put(f.sim, FOLDER "/log.2", bytes_of(file(&f, "log.2").data, TXNLOG_HEADER_BYTES));
    reopen(&f);
    assert_int_equal(append(&f, 2, 3), 0);
    expect_records(&f, 0, 1, 3, TXNLOG_END);
    teardown(&f);
}

static int64_t durable(struct fixture *f)
{
    struct durable_known known;

    assert_int_equal(durable_load(f->disk, FOLDER, &known), 0);
    return known.zxid;
}

static void the_number_of_what_is_on_disk_is_noted_after_each_sync(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(durable(&f), -1);
    assert_int_equal(append(&f, 1, 3), 0);
    assert_int_equal(durable(&f), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    assert_int_equal(durable(&f), 3);
    txnlog_roll(f.log);
    assert_int_equal(append(&f, 4, 5), 0);
    assert_int_equal(durable(&f), 3);
    assert_int_equal(txnlog_sync(f.log), 0);
    assert_int_equal(durable(&f), 5);
    reopen(&f); /* a clean end brings it to disk */
    assert_int_equal(disk_sync_folder(f.disk, FOLDER), 0);
    sim_disk_restart(f.sim, SIM_LOSE_ALL);
    assert_int_equal(durable(&f), 5);
    teardown(&f);
}

/* Otherwise a power cut in the first write would look like another program's log. */
static void a_log_is_known_as_ours_before_its_first_record(void **state)
{
    struct durable_known known;
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    for (int64_t zxid = 1; zxid <= 7; zxid += 3) {
        assert_int_equal(append(&f, zxid, zxid + 2), 0);
        sim_disk_restart(f.sim, SIM_LOSE_ALL);
        assert_int_equal(durable_load(f.disk, FOLDER, &known), 0);
        assert_int_equal(known.log, zxid);
        assert_int_equal(known.zxid, zxid - 1);
        reopen(&f);
        assert_int_equal(append(&f, zxid, zxid + 2), 0);
        assert_int_equal(txnlog_sync(f.log), 0);
        txnlog_roll(f.log);
    }
    teardown(&f);
}

/* The disk may still lose what is acknowledged, so nothing may be demanded of a later start. */
static void without_force_sync_no_number_is_noted(void **state)
{
    struct txnlog_options options = {.folder = FOLDER, .force_sync = false};
    struct fixture f;

    (void)state;
    setup(&f, &options);
    assert_int_equal(append(&f, 1, 3), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    assert_int_equal(durable(&f), -1);
    teardown(&f);
}

/* ---- reading ---- */

static void the_iterator_stands_on_the_first_record_from_there(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 5), 0);
    txnlog_roll(f.log);
    assert_int_equal(append(&f, 6, 9), 0);
    for (int64_t from = 0; from <= 9; from++) {
        expect_records(&f, from, from == 0 ? 1 : from, 9, TXNLOG_END);
    }
    expect_records(&f, 10, 10, 9, TXNLOG_END);
    teardown(&f);
}

static void only_the_logs_needed_are_opened(void **state)
{
    struct txnlog_reader *r;
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    for (int64_t zxid = 1; zxid <= 5; zxid++) {
        assert_int_equal(append(&f, zxid, zxid), 0);
        txnlog_roll(f.log);
    }
    r = open_reader(&f, 4); /* log.4, log.5, and log.3, which may go on */
    assert_int_equal(txnlog_reader_files(r)->count, 3);
    assert_int_equal(txnlog_reader_files(r)->files[0].zxid, 3);
    txnlog_reader_close(r);
    teardown(&f);
}

/* A crash can leave a log without records whose name is ahead of what was written later. */
static void a_log_without_records_hides_no_other(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 9), 0);
    sim_disk_put(f.sim, FOLDER "/log.3", bytes_of("ZKLG\0\0\0\2\0\0\0\0\0\0\0\0", 16));
    expect_records(&f, 6, 6, 9, TXNLOG_END);
    teardown(&f);
}

static void records_larger_than_the_block_are_read(void **state)
{
    struct strbuf batch;
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    strbuf_init(&batch, STRBUF_NO_LIMIT);
    for (int64_t zxid = 1; zxid <= 5; zxid++) {
        put_large_record(&batch, zxid, (size_t)zxid * 400000);
    }
    assert_int_equal(txnlog_append(f.log, batch.data, batch.len, 1), 0);
    expect_records(&f, 0, 1, 5, TXNLOG_END);
    strbuf_fini(&batch);
    teardown(&f);
}

static void a_record_above_the_limit_is_damage(void **state)
{
    struct strbuf batch;
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    strbuf_init(&batch, STRBUF_NO_LIMIT);
    put_large_record(&batch, 1, TXNLOG_DEFAULT_LIMIT);
    assert_int_equal(txnlog_append(f.log, batch.data, batch.len, 1), 0);
    expect_records(&f, 0, 1, 0, TXNLOG_DAMAGED);
    strbuf_fini(&batch);
    teardown(&f);
}

/* Every single byte of a log changed, one at a time: never a record that was not written, and a
 * record is left out only at the end, or with the reader saying so. */
static void a_changed_byte_never_passes_unnoticed(void **state)
{
    struct txnlog_record record;
    struct txnlog_reader *r;
    enum txnlog_found found;
    struct fixture f;
    uint8_t original[16 + 5 * 49], changed[16 + 5 * 49];

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 5), 0);
    assert_int_equal(file(&f, "log.1").len, sizeof(original));
    memcpy(original, file(&f, "log.1").data, sizeof(original));
    for (size_t i = 0; i < sizeof(original); i++) {
        int64_t last = 0;

        memcpy(changed, original, sizeof(original));
        changed[i] ^= 0x20;
        sim_disk_put(f.sim, FOLDER "/log.1", bytes_of(changed, sizeof(changed)));
        r = open_reader(&f, 0);
        while ((found = txnlog_reader_next(r, &record)) == TXNLOG_RECORD) {
            assert_int_equal(record.txn.header.zxid, ++last);
        }
        if (i >= 4 && i < 16) {
            assert_int_equal(last, 5); /* version and dbid are not looked at */
        } else if (i < 16 + 4 * 49) {
            assert_int_equal(found, TXNLOG_DAMAGED);
        } else {
            assert_true(found == TXNLOG_DAMAGED || found == TXNLOG_TORN);
            assert_int_equal(last, 4);
        }
        txnlog_reader_close(r);
    }
    teardown(&f);
}

static void a_log_cut_at_any_length_is_torn_there(void **state)
{
    struct txnlog_record record;
    struct txnlog_reader *r;
    enum txnlog_found found;
    struct fixture f;
    uint8_t original[16 + 3 * 49];

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 3), 0);
    memcpy(original, file(&f, "log.1").data, sizeof(original));
    for (size_t len = 16; len <= sizeof(original); len++) {
        int64_t last = 0, whole = (int64_t)(len - 16) / 49;
        size_t rest = (len - 16) % 49;

        sim_disk_put(f.sim, FOLDER "/log.1", bytes_of(original, len));
        r = open_reader(&f, 0);
        while ((found = txnlog_reader_next(r, &record)) == TXNLOG_RECORD) {
            last = record.txn.header.zxid;
        }
        assert_int_equal(last, whole);
        /* The first four bytes of a record are zero, like padding. */
        assert_int_equal(found, rest <= 4 ? TXNLOG_END : TXNLOG_TORN);
        if (found == TXNLOG_TORN) {
            assert_int_equal(txnlog_reader_place(r)->offset, 16 + (size_t)whole * 49);
            assert_int_equal(txnlog_reader_place(r)->last_zxid, whole == 0 ? -1 : whole);
        }
        txnlog_reader_close(r);
    }
    teardown(&f);
}

/* The first four bytes of a sum are always zero: that they alone stand at the end of a sector
 * proves no loss. */
static void zeroes_of_a_sum_are_no_lost_sector(void **state)
{
    enum { SECOND_AT = 508 }; /* four bytes before the end of the sector */
    uint8_t changed[SECOND_AT + 49];
    struct strbuf first;
    struct fixture f;
    size_t overhead;

    (void)state;
    setup(&f, NULL);
    strbuf_init(&first, STRBUF_NO_LIMIT);
    put_large_record(&first, 1, 0);
    overhead = first.len;
    strbuf_clear(&first);
    put_large_record(&first, 1, SECOND_AT - 16 - overhead);
    assert_int_equal(txnlog_append(f.log, first.data, first.len, 1), 0);
    assert_int_equal(append(&f, 2, 2), 0);
    assert_int_equal(file(&f, "log.1").len, sizeof(changed));
    memcpy(changed, file(&f, "log.1").data, sizeof(changed));
    changed[SECOND_AT + 20] ^= 1;
    sim_disk_put(f.sim, FOLDER "/log.1", bytes_of(changed, sizeof(changed)));
    expect_records(&f, 0, 1, 1, TXNLOG_DAMAGED);
    strbuf_fini(&first);
    teardown(&f);
}

/* Also one that came late in the log, and one that came before a smaller one. */
static void the_largest_session_and_the_latest_time_are_remembered(void **state)
{
    static const int64_t sessions[] = {5, 9, 3}, times[] = {50, 20, 30};
    struct txn_op op = {.type = TXN_ERROR, .err = -101};
    struct txnlog_record record;
    struct txnlog_reader *r;
    struct strbuf batch;
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    strbuf_init(&batch, STRBUF_NO_LIMIT);
    for (int i = 0; i < 3; i++) {
        struct txn_header header = {
            .client_id = sessions[i], .zxid = i + 1, .time_ms = times[i], .type = TXN_ERROR};
        size_t mark = log_record_begin(&batch);

        txn_header_write(&batch, &header);
        txn_op_write(&batch, &op);
        log_record_end(&batch, mark);
    }
    assert_int_equal(txnlog_append(f.log, batch.data, batch.len, 1), 0);
    r = open_reader(&f, 0);
    while (txnlog_reader_next(r, &record) == TXNLOG_RECORD) {
    }
    assert_int_equal(txnlog_reader_seen(r).session_id, 9);
    assert_int_equal(txnlog_reader_seen(r).time_ms, 50);
    txnlog_reader_close(r);
    strbuf_fini(&batch);
    teardown(&f);
}

/* A node may hold a copy of a log. In a record that was cut short that is no sound record, as long
 * as its zxid is from nowhere near. */
static void a_record_inside_a_torn_one_is_data(void **state)
{
    struct txn_header header = {.zxid = 2, .type = TXN_SET_DATA};
    struct txn_op op = {.type = TXN_SET_DATA, .path = bytes_str("/")};
    struct strbuf inner, outer;
    struct fixture f;
    size_t mark;

    (void)state;
    setup(&f, NULL);
    strbuf_init(&inner, STRBUF_NO_LIMIT);
    strbuf_init(&outer, STRBUF_NO_LIMIT);
    put_record(&inner, 0x7000000000000001);
    txnlog_fill_sums(inner.data, inner.len);
    op.data = strbuf_bytes(&inner);
    assert_int_equal(append(&f, 1, 1), 0);
    mark = log_record_begin(&outer);
    txn_header_write(&outer, &header);
    txn_op_write(&outer, &op);
    log_record_end(&outer, mark);
    assert_int_equal(txnlog_append(f.log, outer.data, outer.len, 2), 0);
    sim_disk_put(f.sim, FOLDER "/log.1",
                 bytes_of(file(&f, "log.1").data, file(&f, "log.1").len - 5)); /* its end */
    expect_records(&f, 0, 1, 1, TXNLOG_TORN);
    strbuf_fini(&inner);
    strbuf_fini(&outer);
    teardown(&f);
}

static void an_epoch_begins_with_its_first_transaction(void **state)
{
    (void)state;
    assert_true(zxid_may_follow(0x100000004, 0x100000003));
    assert_true(zxid_may_follow(0x100000003, 0x100000003));
    assert_false(zxid_may_follow(0x100000005, 0x100000003));
    assert_true(zxid_may_follow(0x200000000, 0x100000003));
    assert_true(zxid_may_follow(0x300000001, 0x100000003));
    assert_false(zxid_may_follow(0x200000002, 0x100000003));
}

static void read_errors_are_not_taken_for_the_end(void **state)
{
    struct txnlog_record record;
    struct txnlog_reader *r;
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 1, 3), 0);
    r = open_reader(&f, 0);
    sim_disk_fail_at(f.sim, sim_disk_calls(f.sim) + 2, PAWL_ERR_IO);
    assert_int_equal(txnlog_reader_next(r, &record), TXNLOG_FAILED);
    assert_int_equal(txnlog_reader_error(r), PAWL_ERR_IO);
    txnlog_reader_close(r);
    teardown(&f);
}

/* ---- truncation ---- */

/* As far as a quick look can tell. */
static const char whole_snapshot[] = {'Z', 'K', 'S', 'N', 0, 0, 0, 0, 0, 1, '/'};

static void truncation_takes_back_later_logs_and_snapshots(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    sim_disk_put(f.sim, FOLDER "/snapshot.0", bytes_of(whole_snapshot, sizeof(whole_snapshot)));
    sim_disk_put(f.sim, FOLDER "/snapshot.2", bytes_of(whole_snapshot, sizeof(whole_snapshot)));
    sim_disk_put(f.sim, FOLDER "/snapshot.4", bytes_of(whole_snapshot, sizeof(whole_snapshot)));
    assert_int_equal(append(&f, 1, 5), 0);
    txnlog_roll(f.log);
    assert_int_equal(append(&f, 6, 7), 0);
    assert_int_equal(txnlog_sync(f.log), 0);
    assert_int_equal(txnlog_truncate(f.disk, f.disk, FOLDER, 0, 3), 0);
    sim_disk_restart(f.sim, SIM_LOSE_ALL);
    expect_records(&f, 0, 1, 3, TXNLOG_END);
    assert_true(bytes_is_null(file(&f, "log.6")));
    assert_true(bytes_is_null(file(&f, "snapshot.4")));
    assert_false(bytes_is_null(file(&f, "snapshot.2")));
    teardown(&f);
}

static void truncation_to_what_is_not_there_touches_nothing(void **state)
{
    struct fixture f;

    (void)state;
    setup(&f, NULL);
    assert_int_equal(append(&f, 5, 9), 0);
    sim_disk_put(f.sim, FOLDER "/snapshot.7", bytes_of(whole_snapshot, sizeof(whole_snapshot)));
    assert_int_equal(txnlog_truncate(f.disk, f.disk, FOLDER, 0, 6),
                     PAWL_ERR_NOT_FOUND); /* no base */
    sim_disk_put(f.sim, FOLDER "/snapshot.2", bytes_of(whole_snapshot, sizeof(whole_snapshot)));
    assert_int_equal(txnlog_truncate(f.disk, f.disk, FOLDER, 0, 3), PAWL_ERR_NOT_FOUND);
    assert_int_equal(txnlog_truncate(f.disk, f.disk, FOLDER, 0, 10), PAWL_ERR_NOT_FOUND);
    assert_false(bytes_is_null(file(&f, "snapshot.7")));
    expect_records(&f, 0, 5, 9, TXNLOG_END);
    assert_int_equal(txnlog_truncate(f.disk, f.disk, FOLDER, 0, 2), 0); /* the snapshot's own */
    expect_records(&f, 0, 3, 2, TXNLOG_END);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_laid_out_as_the_format_says),
        cmocka_unit_test(nothing_is_certain_before_the_sync),
        cmocka_unit_test(without_force_sync_nothing_is_synced),
        cmocka_unit_test(padding_grows_in_zookeepers_steps),
        cmocka_unit_test(a_batch_larger_than_the_padding_is_written),
        cmocka_unit_test(rolling_starts_a_file_named_after_its_first_zxid),
        cmocka_unit_test(a_rolled_file_is_synced_before_the_next_exists),
        cmocka_unit_test(a_size_limit_rolls_after_the_sync),
        cmocka_unit_test(an_error_is_final),
        cmocka_unit_test(a_log_that_holds_a_record_is_not_overwritten),
        cmocka_unit_test(only_a_log_without_a_byte_is_written_anew),
        cmocka_unit_test(the_number_of_what_is_on_disk_is_noted_after_each_sync),
        cmocka_unit_test(a_log_is_known_as_ours_before_its_first_record),
        cmocka_unit_test(without_force_sync_no_number_is_noted),
        cmocka_unit_test(the_iterator_stands_on_the_first_record_from_there),
        cmocka_unit_test(only_the_logs_needed_are_opened),
        cmocka_unit_test(a_log_without_records_hides_no_other),
        cmocka_unit_test(records_larger_than_the_block_are_read),
        cmocka_unit_test(a_record_above_the_limit_is_damage),
        cmocka_unit_test(a_changed_byte_never_passes_unnoticed),
        cmocka_unit_test(a_log_cut_at_any_length_is_torn_there),
        cmocka_unit_test(zeroes_of_a_sum_are_no_lost_sector),
        cmocka_unit_test(the_largest_session_and_the_latest_time_are_remembered),
        cmocka_unit_test(a_record_inside_a_torn_one_is_data),
        cmocka_unit_test(an_epoch_begins_with_its_first_transaction),
        cmocka_unit_test(read_errors_are_not_taken_for_the_end),
        cmocka_unit_test(truncation_takes_back_later_logs_and_snapshots),
        cmocka_unit_test(truncation_to_what_is_not_there_touches_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
