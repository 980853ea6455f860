/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/member_fixture.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "lib/server_fixture.h"
#include "lib/sim_disk.h"
#include "lib/test.h"
#include "lib/tree_text.h"
#include "pawl/error.h"
#include "store/snapshot_read.h"
#include "store/snapshot_walk.h"
#include "store/snapshot_write.h"

static const struct tree_options tree_options = {.extended_types = true};

/* ---- effects ---- */

/* The last counter of an epoch is not used. */
static int64_t zxid_behind(int64_t zxid)
{
    return (zxid & 0xffffffff) == 0xfffffffe ? zxid + 3 : zxid + 1;
}

static void take_record(struct member_fixture *f, struct bytes payload)
{
    struct apply apply = {.tree = f->replica};
    struct txn txn;

    assert_int_equal(txn_read(payload, &txn), TXN_OK);
    assert_int_equal(txn.header.zxid, zxid_behind(f->appended_zxid));
    f->appended_zxid = txn.header.zxid;
    jute_write_buffer(&f->log, payload);
    apply_txn(&apply, &txn, NULL, 0);
    if (txn.has_digest) {
        assert_int_equal((uint64_t)txn.digest, tree_digest(f->replica));
    }
    if (f->on_txn != NULL) {
        f->on_txn(&txn, f->arg);
    }
}

/* A record: long sum, int length, payload, mark. */
static void take_block(struct member_fixture *f, const struct txn_block *b)
{
    f->n_rolls += b->roll_before ? 1 : 0;
    for (size_t at = 0; at < b->len; at += 13 + (size_t)load_u32(b->data + at + 8)) {
        take_record(f, bytes_of(b->data + at + 12, load_u32(b->data + at + 8)));
    }
}

static void take_effects(struct member_fixture *f)
{
    struct list *item;

    list_for_each (item, &f->effects.append.blocks) {
        take_block(f, container_of(item, struct txn_block, link));
    }
    txn_batch_fini(&f->effects.append);
    txn_batch_init(&f->effects.append);
    list_splice(&f->chunks, &f->effects.chunks);
    if (f->effects.snapshot_begun) {
        f->effects.snapshot_begun = false;
        f->snapshot_begun = true;
        f->snapshot_zxid = f->effects.snapshot_zxid;
    }
    if (f->effects.snapshot_complete) {
        f->effects.snapshot_complete = false;
        f->snapshot_complete = true;
        f->snapshot_digest = f->effects.snapshot_digest;
    }
}

void member_fixture_step(struct member_fixture *f, const struct member_input *in)
{
    member_step(f->member, f->now_us, f->wall_ms, in, &f->effects);
    take_effects(f);
}

/* ---- life ---- */

struct member_options member_fixture_options(void)
{
    return (struct member_options){.server = fixture_options(), .seed = 1};
}

static struct tree *fresh_tree(void)
{
    struct tree *t = tree_new(&tree_options);

    tree_add_system_nodes(t);
    return t;
}

static void leave_empty(struct tree *tree)
{
    (void)tree;
}

void member_fixture_init(struct member_fixture *f, const struct member_options *options)
{
    member_fixture_init_with(f, options, leave_empty, 0);
}

void member_fixture_init_with(struct member_fixture *f, const struct member_options *options,
                              void (*fill)(struct tree *tree), int64_t zxid)
{
    struct tree *tree = fresh_tree();

    *f = (struct member_fixture){.now_us = 1000000000, .wall_ms = 1794709440000, .log_bytes = 1000};
    strbuf_init(&f->log, STRBUF_NO_LIMIT);
    member_effects_init(&f->effects);
    list_init(&f->chunks);
    f->replica = fresh_tree();
    f->appended_zxid = f->durable_zxid = zxid;
    fill(f->replica);
    fill(tree);
    f->member = member_new(options, tree, zxid, f->now_us, f->wall_ms);
}

static void drop_chunks(struct member_fixture *f)
{
    struct list *item;

    while ((item = list_pop_front(&f->chunks)) != NULL) {
        snapshot_chunk_free(container_of(item, struct snapshot_chunk, link));
    }
}

void member_fixture_fini(struct member_fixture *f)
{
    member_free(f->member);
    member_effects_fini(&f->effects);
    strbuf_fini(&f->log);
    drop_chunks(f);
    tree_free(f->replica);
}

/* The tree that the durable part of the log gives; what lies behind it is cut off. */
static struct tree *recover(struct member_fixture *f)
{
    struct jute_reader r = jute_reader_of(strbuf_bytes(&f->log));
    struct tree *tree = fresh_tree();
    struct apply apply = {.tree = tree};
    struct txn txn;

    while (jute_left(&r) > 0) {
        size_t start = (size_t)(r.at - f->log.data);

        assert_int_equal(txn_read(jute_read_buffer(&r), &txn), TXN_OK);
        if (txn.header.zxid > f->durable_zxid) {
            f->log.len = start;
            break;
        }
        apply_txn(&apply, &txn, NULL, 0);
    }
    return tree;
}

void member_fixture_restart(struct member_fixture *f, const struct member_options *options)
{
    member_free(f->member);
    tree_free(f->replica);
    f->replica = recover(f);
    f->appended_zxid = f->durable_zxid;
    f->now_us += 1000000;
    f->wall_ms += 1000;
    f->member = member_new(options, recover(f), f->durable_zxid, f->now_us, f->wall_ms);
}

/* ---- inputs ---- */

struct connection *member_fixture_connect(struct member_fixture *f)
{
    struct peer peer = {.ip = "127.0.0.1", .port = 40001};

    member_fixture_step(f, &(struct member_input){.kind = MEMBER_CONNECT, .peer = &peer});
    return f->effects.connected;
}

void member_fixture_send(struct member_fixture *f, struct connection *c, struct bytes bytes)
{
    member_fixture_step(
        f, &(struct member_input){.kind = MEMBER_BYTES, .connection = c, .bytes = bytes});
}

void member_fixture_durable(struct member_fixture *f, int64_t zxid)
{
    assert_true(zxid <= f->appended_zxid);
    f->durable_zxid = zxid > f->durable_zxid ? zxid : f->durable_zxid;
    member_fixture_step(f, &(struct member_input){.kind = MEMBER_DURABLE,
                                                  .zxid = f->durable_zxid,
                                                  .log_bytes = f->log_bytes});
}

void member_fixture_tick(struct member_fixture *f, int64_t ms)
{
    f->now_us += ms * 1000;
    f->wall_ms += ms;
    member_fixture_step(f, &(struct member_input){.kind = MEMBER_TICK});
}

void member_fixture_disconnect(struct member_fixture *f, struct connection *c)
{
    member_fixture_step(f, &(struct member_input){.kind = MEMBER_DISCONNECT, .connection = c});
}

void member_fixture_read(struct member_fixture *f, struct connection *c, size_t n)
{
    size_t left = c->out.len - c->out_at;

    c->out_at += n < left ? n : left;
    member_fixture_step(f, &(struct member_input){.kind = MEMBER_SENT, .connection = c});
}

/* ---- snapshots ---- */

struct tree *member_fixture_load_snapshot(struct member_fixture *f)
{
    struct snapshot_file_options options = {.folder = "version-2"};
    struct snapshot_read_options reading = {.tree = tree_options};
    struct sim_disk *disk = sim_disk_new(1);
    struct snapshot_file *file;
    struct snapshot_info info;
    struct tree *tree;
    struct list *item;
    char path[64];

    assert_true(f->snapshot_complete);
    assert_int_equal(disk_make_folder(sim_disk_disk(disk), "version-2"), PAWL_OK);
    assert_int_equal(snapshot_file_begin(sim_disk_disk(disk), &options, f->snapshot_zxid, &file),
                     PAWL_OK);
    list_for_each (item, &f->chunks) {
        const struct snapshot_chunk *c = container_of(item, struct snapshot_chunk, link);

        assert_int_equal(snapshot_file_write(file, c->data, c->len), PAWL_OK);
    }
    assert_int_equal(snapshot_file_finish(file, f->snapshot_digest), PAWL_OK);
    snprintf(path, sizeof(path), "version-2/snapshot.%" PRIx64, (uint64_t)f->snapshot_zxid);
    assert_int_equal(snapshot_load(sim_disk_disk(disk), path, &reading, &tree, &info), PAWL_OK);
    assert_int_equal(f->snapshot_digest, tree_digest(tree));
    assert_true(info.digest == tree_digest(tree) || f->snapshot_zxid == 0); /* that one has none */
    tree_check(tree);
    sim_disk_free(disk);
    drop_chunks(f);
    f->snapshot_begun = false;
    f->snapshot_complete = false;
    member_fixture_step(f, &(struct member_input){.kind = MEMBER_SNAPSHOT_WRITTEN});
    return tree;
}

/* ---- state ---- */

struct session_ids {
    int64_t ids[4096];
    size_t n;
};

static void note_session(int64_t id, int32_t timeout_ms, void *arg)
{
    struct session_ids *sessions = arg;

    assert_true(sessions->n < 4096);
    sessions->ids[sessions->n++] = id ^ (int64_t)timeout_ms << 40;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

char *member_fixture_state(const struct tree *tree)
{
    struct session_ids sessions = {.n = 0};
    struct strbuf text;
    char *copy;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    tree_text(tree, &text);
    tree_each_session(tree, note_session, &sessions);
    qsort(sessions.ids, sessions.n, sizeof(sessions.ids[0]), by_value);
    for (size_t i = 0; i < sessions.n; i++) {
        strbuf_printf(&text, "session %" PRIx64 "\n", (uint64_t)sessions.ids[i]);
    }
    copy = must_strdup(strbuf_cstr(&text));
    strbuf_fini(&text);
    return copy;
}
