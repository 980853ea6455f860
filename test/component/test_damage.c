/* SPDX-License-Identifier: Apache-2.0 */
/* Acknowledged transactions and a disk that loses some of them afterwards.
 *
 * A folder of some hundred transactions, each acknowledged, is harmed in one place: every sector of
 * every file in turn, in several ways. Then either everything that was acknowledged is there after
 * the start, or the start is refused and not a byte has changed. With accept_loss the start
 * succeeds from the last good transaction, and what it did not use is still there. A member, which
 * heals, is told what is damaged and gets what is left; not a byte has changed then either. And
 * who scrubs the folder finds what a start would refuse, in steps of any length. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "lib/history.h"
#include "lib/log_record.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/apply.h"
#include "store/durable.h"
#include "store/file_names.h"
#include "store/recovery.h"
#include "store/scrub.h"
#include "store/snapshot_write.h"
#include "store/txnlog_write.h"

enum { N_TXNS = 150, SECTOR = 512 };

static struct history *the_history;
static const struct recovery_options plain = {.tree.extended_types = true};

/* ---- folders ---- */

/* What is in it: a log begins with each of `rolls`, a snapshot is taken of each of `snapshots`. */
struct shape {
    const char *name;
    int64_t rolls[4];
    int64_t snapshots[4];
};

static const struct shape shapes[] = {
    {"one log", {0}, {0}},
    {"three logs", {50, 100}, {0}},
    {"a snapshot of the end of the first log", {50, 100}, {49}},
    {"a snapshot inside the second log", {50, 100}, {75}},
    {"a snapshot of everything", {100}, {N_TXNS}},
};

static bool is_among(int64_t zxid, const int64_t *list)
{
    for (; *list != 0; list++) {
        if (*list == zxid) {
            return true;
        }
    }
    return false;
}

static int append(struct txnlog *log, int64_t zxid)
{
    struct strbuf record;
    size_t mark;
    int rc;

    strbuf_init(&record, STRBUF_NO_LIMIT);
    mark = log_record_begin(&record);
    strbuf_append_bytes(&record, history_payload(the_history, zxid));
    log_record_end(&record, mark);
    rc = txnlog_append(log, record.data, record.len, zxid);
    strbuf_fini(&record);
    return rc;
}

static void apply_one(struct tree *tree, int64_t zxid)
{
    struct apply apply = {.tree = tree};
    struct txn txn;

    assert_int_equal(txn_read(history_payload(the_history, zxid), &txn), TXN_OK);
    apply_txn(&apply, &txn, NULL, 0);
}

/* Transactions `from` to N_TXNS, on disk one by one. */
static void write_history(struct disk *disk, struct tree *tree, const struct shape *shape,
                          int64_t from)
{
    struct txnlog_options options = {
        .folder = STORE_FOLDER, .force_sync = true, .preallocate_bytes = 8 << 10};
    struct snapshot_file_options snapshot = {.folder = STORE_FOLDER};
    struct txnlog *log;

    assert_int_equal(txnlog_open(disk, &options, &log), 0);
    for (int64_t zxid = from; zxid <= N_TXNS; zxid++) {
        if (is_among(zxid, shape->rolls)) {
            txnlog_roll(log);
        }
        assert_int_equal(append(log, zxid), 0);
        assert_int_equal(txnlog_sync(log), 0);
        apply_one(tree, zxid);
        if (is_among(zxid, shape->snapshots)) {
            assert_int_equal(snapshot_save(disk, &snapshot, tree, zxid), 0);
        }
    }
    txnlog_close(log);
}

static struct sim_disk *make_folder(const struct shape *shape)
{
    struct sim_disk *s = sim_disk_new(1);
    struct recovery_report report;
    struct tree *tree;

    assert_int_equal(recovery_load(sim_disk_disk(s), sim_disk_disk(s), &plain, &tree, &report), 0);
    write_history(sim_disk_disk(s), tree, shape, 1);
    tree_free(tree);
    return s;
}

/* ---- all of a folder ---- */

typedef void (*file_fn)(const char *name, struct bytes content, void *arg);

struct each {
    struct sim_disk *disk;
    file_fn fn;
    void *arg;
};

static void each_name(const char *name, void *arg)
{
    struct each *e = arg;
    char path[FILE_PATH_BYTES];

    file_path(path, STORE_FOLDER, name);
    e->fn(path, sim_disk_get(e->disk, path), e->arg);
}

static void each_file(struct sim_disk *s, file_fn fn, void *arg)
{
    struct each e = {s, fn, arg};

    assert_int_equal(disk_list(sim_disk_disk(s), STORE_FOLDER, each_name, &e), 0);
}

static void copy_file(const char *path, struct bytes content, void *to)
{
    sim_disk_put(to, path, content);
}

static struct sim_disk *copy_of(struct sim_disk *s)
{
    struct sim_disk *copy = sim_disk_new(1);

    each_file(s, copy_file, copy);
    return copy;
}

static void add_hash(const char *path, struct bytes content, void *sum)
{
    uint64_t hash = hash_bytes(content.data, content.len, hash_bytes(path, strlen(path), 1));

    *(uint64_t *)sum += hash;
}

static uint64_t state_of(struct sim_disk *s)
{
    uint64_t sum = 0;

    each_file(s, add_hash, &sum);
    return sum;
}

/* ---- harm ---- */

struct harm {
    const char *name;
    /* To a file's bytes, at the sector that begins at `at`; returns its new length. */
    size_t (*fn)(uint8_t *data, size_t len, size_t at);
};

static size_t sector_end(size_t len, size_t at)
{
    return at + SECTOR < len ? at + SECTOR : len;
}

static size_t zero_sector(uint8_t *data, size_t len, size_t at)
{
    memset(data + at, 0, sector_end(len, at) - at);
    return len;
}

static size_t zero_rest(uint8_t *data, size_t len, size_t at)
{
    memset(data + at, 0, len - at);
    return len;
}

static size_t zero_from_the_middle(uint8_t *data, size_t len, size_t at)
{
    size_t from = at + SECTOR / 2 < len ? at + SECTOR / 2 : len - 1;

    return zero_rest(data, len, from);
}

/* What a record boundary gives away to nobody. */
static size_t zero_from_a_record(uint8_t *data, size_t len, size_t at)
{
    size_t record = 16;

    while (record < at && record + 12 < len && load_u32(data + record + 8) != 0) {
        record += 13 + load_u32(data + record + 8);
    }
    return record < len ? zero_rest(data, len, record) : len;
}

static size_t flip_bit(uint8_t *data, size_t len, size_t at)
{
    data[(at + sector_end(len, at)) / 2] ^= 0x04;
    return len;
}

static size_t flip_first_byte(uint8_t *data, size_t len, size_t at)
{
    data[at] ^= 0xff;
    return len;
}

static size_t flip_sector(uint8_t *data, size_t len, size_t at)
{
    for (size_t i = at; i < sector_end(len, at); i++) {
        data[i] ^= 0xff;
    }
    return len;
}

static size_t cut_at_sector(uint8_t *data, size_t len, size_t at)
{
    (void)data;
    (void)len;
    return at;
}

static size_t cut_inside(uint8_t *data, size_t len, size_t at)
{
    (void)data;
    return at + 77 < len ? at + 77 : len - 1;
}

/* A later sector of one write that came, an earlier one that did not. */
static size_t keep_only_last_of_three(uint8_t *data, size_t len, size_t at)
{
    zero_sector(data, len, at);
    return at + SECTOR < len ? zero_sector(data, len, at + SECTOR) : len;
}

static const struct harm harms[] = {
    {"zeroed", zero_sector},
    {"zeroed to the end", zero_rest},
    {"zeroed from its middle to the end", zero_from_the_middle},
    {"zeroed from a record to the end", zero_from_a_record},
    {"a bit flipped", flip_bit},
    {"the first byte flipped", flip_first_byte},
    {"flipped", flip_sector},
    {"cut before", cut_at_sector},
    {"cut inside", cut_inside},
    {"two zeroed", keep_only_last_of_three},
};

enum { N_SHAPES = sizeof(shapes) / sizeof(shapes[0]), N_HARMS = sizeof(harms) / sizeof(harms[0]) };

static struct sim_disk *harmed(struct sim_disk *whole, const char *path, const struct harm *harm,
                               size_t at)
{
    struct sim_disk *s = copy_of(whole);
    struct bytes b = sim_disk_get(s, path);
    uint8_t *copy = must_alloc(b.len + 1);

    memcpy(copy, b.data, b.len);
    sim_disk_put(s, path, bytes_of(copy, harm->fn(copy, b.len, at)));
    free(copy);
    return s;
}

/* ---- what must be true ---- */

/* A member of an ensemble starts with what is left, and knows that it is less. */
static void expect_damaged(struct sim_disk *s)
{
    struct recovery_options options = plain;
    uint64_t before = state_of(s);
    struct recovery_report report;
    struct tree *tree;

    options.heals = true;
    assert_int_equal(recovery_load(sim_disk_disk(s), sim_disk_disk(s), &options, &tree, &report),
                     0);
    assert_true(report.damaged);
    assert_true(strlen(report.damage) > 30);
    history_expect(the_history, tree, report.last_zxid);
    tree_free(tree);
    assert_true(state_of(s) == before);
}

/* The first file that a round finds fault with; "": none. */
static const char *scrubbed(struct sim_disk *s, size_t step)
{
    static struct scrub_damage damage;
    struct scrub_options options = {
        .snapshot_disk = sim_disk_disk(s), .log_disk = sim_disk_disk(s), .folder = STORE_FOLDER};
    struct scrub *scrub = scrub_new(&options);
    enum scrub_found found;

    damage.file.name[0] = '\0';
    while ((found = scrub_step(scrub, step, N_TXNS, &damage)) == SCRUB_MORE) {
    }
    scrub_free(scrub);
    assert_true(found == SCRUB_DAMAGED || damage.file.name[0] == '\0');
    return damage.file.name;
}

/* Everything is there, or nothing has changed. True: it started. */
static bool all_or_untouched(struct sim_disk *s)
{
    uint64_t before = state_of(s);
    struct recovery_report report;
    struct tree *tree;
    int rc = recovery_load(sim_disk_disk(s), sim_disk_disk(s), &plain, &tree, &report);

    if (rc == 0) {
        assert_int_equal(report.last_zxid, N_TXNS);
        history_expect(the_history, tree, N_TXNS);
        tree_free(tree);
        return true;
    }
    assert_int_equal(rc, PAWL_ERR_CORRUPT);
    assert_true(strlen(report.error) > 50);
    assert_true(state_of(s) == before);
    expect_damaged(s);
    return false;
}

static void count_file(const char *path, struct bytes content, void *n)
{
    (void)content;
    *(size_t *)n += strncmp(path, STORE_FOLDER "/aside.", strlen(STORE_FOLDER) + 7) == 0;
}

/* It goes on from somewhere, and then as if nothing had been. */
static void accept_and_go_on(struct sim_disk *s)
{
    struct recovery_options options = plain;
    struct disk *disk = sim_disk_disk(s);
    struct recovery_report report;
    struct tree *tree;
    size_t n_aside = 0;

    options.accept_loss = true;
    assert_int_equal(recovery_load(disk, disk, &options, &tree, &report), 0);
    assert_true(report.lost);
    history_expect(the_history, tree, report.last_zxid);
    each_file(s, count_file, &n_aside);
    write_history(disk, tree, &shapes[0], report.last_zxid + 1);
    tree_free(tree);
    assert_int_equal(recovery_load(disk, disk, &plain, &tree, &report), 0);
    assert_int_equal(report.last_zxid, N_TXNS);
    history_expect(the_history, tree, N_TXNS);
    tree_free(tree);
}

struct sweep {
    struct sim_disk *whole;
    const struct shape *shape;
    size_t n_started, n_refused, n_found;
};

/* Where a log will be written: nobody can tell what is to be there. */
static bool is_behind(struct bytes content, size_t at)
{
    size_t end = content.len;

    while (end > 0 && content.data[end - 1] == 0) {
        end--;
    }
    return at + SECTOR / 2 >= end;
}

/* No log and no snapshot. */
static bool is_noted(const char *path)
{
    return strcmp(path, STORE_FOLDER "/" DURABLE_FILE) == 0;
}

static void sweep_file(const char *path, struct bytes content, void *arg)
{
    struct sweep *w = arg;
    size_t n = 0;

    for (size_t at = 0; at < content.len; at += SECTOR) {
        for (size_t i = 0; i < N_HARMS; i++) {
            struct sim_disk *s = harmed(w->whole, path, &harms[i], at);
            bool is_found = scrubbed(s, 1 + at % 4000)[0] != '\0';
            bool started = all_or_untouched(s);

            w->n_found += is_found;
            assert_true(started || is_found || is_noted(path) || is_behind(content, at));

            w->n_started += started;
            w->n_refused += !started;
            if (!started && n++ % 16 == 0 && strstr(path, "log.") != NULL) {
                accept_and_go_on(s);
            }
            sim_disk_free(s);
        }
    }
}

static void every_sector_of_every_file_in_every_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        struct sweep w = {.whole = make_folder(&shapes[i]), .shape = &shapes[i]};

        each_file(w.whole, sweep_file, &w);
        assert_string_equal(scrubbed(w.whole, 1000), "");
        print_message("%s: %zu starts, %zu refused; scrubbing finds %zu\n", shapes[i].name,
                      w.n_started, w.n_refused, w.n_found);
        assert_true(w.n_refused > 100);
        sim_disk_free(w.whole);
    }
}

static void remove_one(const char *path, struct bytes content, void *arg)
{
    struct sweep *w = arg;
    struct sim_disk *s = copy_of(w->whole);

    (void)content;
    assert_int_equal(disk_remove(sim_disk_disk(s), path), 0);
    if (all_or_untouched(s)) {
        w->n_started++;
    } else {
        w->n_refused++;
    }
    sim_disk_free(s);
}

static void any_file_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SHAPES; i++) {
        struct sweep w = {.whole = make_folder(&shapes[i])};

        each_file(w.whole, remove_one, &w);
        assert_true(w.n_started > 0); /* without the noted number at least */
        assert_true(i == 4 || w.n_refused > 0);
        sim_disk_free(w.whole);
    }
}

/* Sector by sector, a snapshot and the log that would replace it. */
static void a_snapshot_and_its_log(void **state)
{
    struct sim_disk *whole = make_folder(&shapes[2]);
    size_t len = sim_disk_get(whole, STORE_FOLDER "/snapshot.31").len;

    (void)state;
    for (size_t at = 0; at < len; at += SECTOR) {
        struct sim_disk *s = harmed(whole, STORE_FOLDER "/snapshot.31", &harms[0], at), *both;

        assert_true(all_or_untouched(s)); /* snapshot.0 and all logs are there */
        both = harmed(whole, STORE_FOLDER "/snapshot.31", &harms[0], at);
        assert_int_equal(disk_remove(sim_disk_disk(both), STORE_FOLDER "/log.1"), 0);
        assert_false(all_or_untouched(both));
        sim_disk_free(both);
        sim_disk_free(s);
    }
    sim_disk_free(whole);
}

/* A killed server leaves records that are in nobody's memory but the system's. Once they have been
 * served they must survive the power going, too. */
static void what_is_served_is_on_disk(void **state)
{
    struct txnlog_options options = {.folder = STORE_FOLDER, .force_sync = true};
    struct sim_disk *s = sim_disk_new(1);
    struct disk *disk = sim_disk_disk(s);
    struct recovery_report report;
    struct txnlog *log;
    struct tree *tree;

    (void)state;
    assert_int_equal(recovery_load(disk, disk, &plain, &tree, &report), 0);
    tree_free(tree);
    assert_int_equal(txnlog_open(disk, &options, &log), 0);
    for (int64_t zxid = 1; zxid <= 10; zxid++) {
        assert_int_equal(append(log, zxid), 0);
    }
    txnlog_close(log); /* killed before the sync */
    assert_int_equal(recovery_load(disk, disk, &plain, &tree, &report), 0);
    assert_int_equal(report.last_zxid, 10);
    tree_free(tree);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_int_equal(recovery_load(disk, disk, &plain, &tree, &report), 0);
    assert_int_equal(report.last_zxid, 10);
    tree_free(tree);
    sim_disk_free(s);
}

/* A write that was never finished is still cut, and kept: behind what was acknowledged, it may have
 * lost any of its sectors. */
static void an_unfinished_write_is_cut_and_kept(void **state)
{
    struct sim_disk *whole = make_folder(&shapes[0]);
    struct bytes log = sim_disk_get(whole, STORE_FOLDER "/log.1");
    size_t end = log.len, half;
    uint8_t *copy = must_alloc(log.len);

    (void)state;
    while (log.data[end - 1] == 0) {
        end--;
    }
    memcpy(copy, log.data, log.len);
    half = 12 + history_payload(the_history, 1).len / 2;
    memcpy(copy + end, copy + 16, half); /* the first half of some record */
    sim_disk_put(whole, STORE_FOLDER "/log.1", bytes_of(copy, log.len));
    assert_true(all_or_untouched(whole));
    half = 0;
    each_file(whole, count_file, &half);
    assert_int_equal(half, 1);
    assert_int_equal(sim_disk_get(whole, STORE_FOLDER "/log.1").len, end);
    assert_true(all_or_untouched(whole)); /* and again */
    free(copy);
    sim_disk_free(whole);
}

/* ---- without the number, or with one of a log before ---- */

/* What is known of the newest log. */
enum knowledge {
    LOST,       /* the file is gone, or there never was one */
    OF_ANOTHER, /* it is of a log before: another program went on from there */
};

static void know_only(struct sim_disk *s, enum knowledge knowledge)
{
    struct disk *disk = sim_disk_disk(s);
    struct durable *d;

    assert_int_equal(durable_forget(disk, STORE_FOLDER), 0);
    if (knowledge == OF_ANOTHER) {
        d = durable_new(disk, STORE_FOLDER);
        durable_begin_log(d, 77777); /* no log of this folder */
        durable_note(d, 1);
        durable_free(d);
    }
}

struct last_record {
    const char *path;
    size_t at, end;
};

static struct last_record last_record(struct sim_disk *s, const struct shape *shape)
{
    struct last_record last = {.path = STORE_FOLDER "/log.1", .at = 16, .end = 16};
    struct bytes b;

    if (shape->rolls[0] == 100 || shape->rolls[1] == 100) {
        last.path = STORE_FOLDER "/log.64";
    }
    b = sim_disk_get(s, last.path);
    while (last.end + 12 < b.len && load_u32(b.data + last.end + 8) != 0) {
        last.at = last.end;
        last.end += 13 + load_u32(b.data + last.end + 8);
    }
    return last;
}

/* Nobody can tell an acknowledged last record from an unfinished one. But as long as it is sound,
 * all that stands before it must be there, too. */
static void all_unless_last_is_harmed(struct sim_disk *s, const struct last_record *last,
                                      struct bytes sound, bool *started)
{
    struct bytes b = sim_disk_get(s, last->path);
    uint64_t before = state_of(s);
    bool is_sound = b.len >= last->end &&
                    memcmp(b.data + last->at, sound.data + last->at, last->end - last->at) == 0;
    struct recovery_report report;
    struct tree *tree;
    int rc = recovery_load(sim_disk_disk(s), sim_disk_disk(s), &plain, &tree, &report);

    *started = rc == 0;
    if (rc != 0) {
        assert_int_equal(rc, PAWL_ERR_CORRUPT);
        assert_true(state_of(s) == before);
        return;
    }
    assert_true(!is_sound || report.last_zxid == N_TXNS);
    history_expect(the_history, tree, report.last_zxid);
    tree_free(tree);
}

static void sweep_newest(struct sim_disk *whole, const struct shape *shape)
{
    struct last_record last = last_record(whole, shape);
    struct bytes sound = sim_disk_get(whole, last.path);
    uint8_t *copy = must_alloc(sound.len);
    size_t len = sound.len, n_started = 0, n_refused = 0;

    memcpy(copy, sound.data, sound.len);
    for (size_t at = 0; at < len; at += SECTOR) {
        for (size_t i = 0; i < N_HARMS; i++) {
            struct sim_disk *s = harmed(whole, last.path, &harms[i], at);
            bool started;

            all_unless_last_is_harmed(s, &last, bytes_of(copy, len), &started);
            n_started += started;
            n_refused += !started;
            sim_disk_free(s);
        }
    }
    print_message("%s: %zu starts, %zu refused\n", shape->name, n_started, n_refused);
    assert_true(n_started > 20 && n_refused > 20);
    free(copy);
}

static void without_a_number_nothing_before_a_sound_record_is_given_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) { /* the others have the same newest log, or need none */
        for (enum knowledge k = LOST; k <= OF_ANOTHER; k++) {
            struct sim_disk *whole = make_folder(&shapes[i]);

            know_only(whole, k);
            sweep_newest(whole, &shapes[i]);
            sim_disk_free(whole);
        }
    }
}

/* A start has shown clients everything, so the next one must find it: whatever was known before. */
static void what_was_served_is_known(void **state)
{
    struct sim_disk *s = make_folder(&shapes[0]), *shorter;
    struct last_record last = last_record(s, &shapes[0]);
    struct harm cut = {"cut", cut_at_sector};

    (void)state;
    know_only(s, LOST);
    assert_true(all_or_untouched(s));
    sim_disk_restart(s, SIM_LOSE_ALL);
    shorter = harmed(s, last.path, &cut, last.at);
    assert_false(all_or_untouched(shorter));
    sim_disk_free(shorter);
    sim_disk_free(s);
}

/* ---- with an old number: a power cut ---- */

enum { LARGE = 64 << 10, SMALL = 700 };

struct torn_log {
    int n; /* records, one unfinished write */
    size_t size;
    int64_t step_ms; /* between them */
    bool is_foreign; /* not known to be ours */
};

static void put_set(struct strbuf *out, int32_t number, const struct torn_log *t)
{
    static uint8_t data[LARGE];
    struct txn_header header = {
        .zxid = number, .time_ms = number * t->step_ms, .type = TXN_SET_DATA};
    struct txn_op op = {.type = TXN_SET_DATA, .path = bytes_str("/"), .version = number};
    size_t mark = log_record_begin(out);

    memset(data, 'x', sizeof(data));
    op.data = bytes_of(data, t->size);
    txn_header_write(out, &header);
    txn_op_write(out, &op);
    log_record_end(out, mark);
}

/* Puts the log there, with the sector zeroed at which the second record begins. */
static void put_torn_log(struct sim_disk *s, const struct torn_log *t)
{
    struct txnlog_options options = {.folder = STORE_FOLDER, .force_sync = true};
    struct strbuf records;
    struct txnlog *log;
    uint8_t *copy;
    size_t second, len;

    strbuf_init(&records, STRBUF_NO_LIMIT);
    put_set(&records, 1, t);
    second = (16 + records.len + SECTOR - 1) / SECTOR * SECTOR;
    for (int i = 2; i <= t->n; i++) {
        put_set(&records, i, t);
    }
    len = 16 + records.len;
    assert_int_equal(txnlog_open(sim_disk_disk(s), &options, &log), 0);
    assert_int_equal(txnlog_append(log, records.data, records.len, 1), 0);
    txnlog_close(log);
    copy = must_alloc(len);
    memcpy(copy, sim_disk_get(s, STORE_FOLDER "/log.1").data, len);
    zero_sector(copy, len, second);
    sim_disk_put(s, STORE_FOLDER "/log.1", bytes_of(copy, len));
    free(copy);
    strbuf_fini(&records);
}

static int load_torn(struct torn_log t, struct recovery_report *report)
{
    struct sim_disk *s = sim_disk_new(1);
    struct disk *disk = sim_disk_disk(s);
    struct tree *tree;
    int rc;

    assert_int_equal(recovery_load(disk, disk, &plain, &tree, report), 0);
    tree_free(tree);
    put_torn_log(s, &t);
    if (t.is_foreign) {
        know_only(s, LOST);
    }
    rc = recovery_load(disk, disk, &plain, &tree, report);
    if (rc == 0) {
        tree_free(tree);
    }
    sim_disk_free(s);
    return rc;
}

static void one_write_explains_a_lost_sector(void **state)
{
    struct torn_log t = {.n = 10, .size = LARGE, .step_ms = 1};
    struct recovery_report report;

    (void)state;
    assert_int_equal(load_torn(t, &report), 0);
    assert_true(report.torn);
    assert_int_equal(report.last_zxid, 1);
    t.is_foreign = true;
    assert_int_equal(load_torn(t, &report), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, "sound records follow"));
    t.n = 2; /* the one that is torn is the last */
    assert_int_equal(load_torn(t, &report), 0);
    assert_true(report.torn);
}

static void more_than_one_write_explains_nothing(void **state)
{
    struct recovery_report report;

    (void)state;
    assert_int_equal(load_torn((struct torn_log){100, LARGE, 1, false}, &report), PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, "more follows than one unfinished write"));
    assert_int_equal(load_torn((struct torn_log){10, LARGE, 3000, false}, &report),
                     PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, "over a longer time"));
    assert_int_equal(load_torn((struct torn_log){1200, SMALL, 0, false}, &report),
                     PAWL_ERR_CORRUPT);
    assert_non_null(strstr(report.error, "more records follow"));
}

static int make_history(void **state)
{
    (void)state;
    the_history = history_new(7, N_TXNS);
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
        cmocka_unit_test(every_sector_of_every_file_in_every_way),
        cmocka_unit_test(any_file_missing),
        cmocka_unit_test(a_snapshot_and_its_log),
        cmocka_unit_test(what_is_served_is_on_disk),
        cmocka_unit_test(an_unfinished_write_is_cut_and_kept),
        cmocka_unit_test(without_a_number_nothing_before_a_sound_record_is_given_up),
        cmocka_unit_test(what_was_served_is_known),
        cmocka_unit_test(one_write_explains_a_lost_sector),
        cmocka_unit_test(more_than_one_write_explains_nothing),
    };

    return cmocka_run_group_tests(tests, make_history, free_history);
}
