/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_server.h"

#include "lib/server_fixture.h"
#include "store/recovery.h"
#include "store/txnlog_format.h"
#include "store/txnlog_write.h"

static const struct tree_options tree_options = {.extended_types = true};

/* ---- the disk ---- */

static void sync_log(struct sim_server *s)
{
    if (s->hold || s->durable == s->appended || txnlog_sync(s->log) != 0) {
        return;
    }
    s->durable = s->appended;
    member_step(s->member, s->now_us, s->wall_ms,
                &(struct member_input){.kind = MEMBER_DURABLE,
                                       .zxid = s->durable,
                                       .log_bytes = (int64_t)txnlog_size(s->log)},
                &s->effects);
}

static void write_log(struct sim_server *s)
{
    struct list *item;

    list_for_each (item, &s->effects.append.blocks) {
        struct txn_block *b = container_of(item, struct txn_block, link);

        if (b->roll_before) {
            txnlog_roll(s->log);
        }
        if (txnlog_append(s->log, b->data, b->len, b->first_zxid) == 0) {
            s->appended = b->last_zxid;
        }
    }
    txn_batch_fini(&s->effects.append);
    txn_batch_init(&s->effects.append);
}

static void step(struct sim_server *s, const struct member_input *in)
{
    member_step(s->member, s->now_us, s->wall_ms, in, &s->effects);
    while (!txn_batch_empty(&s->effects.append)) {
        write_log(s);
        sync_log(s);
    }
    while (member_next_touched(s->member) != NULL) {
    }
}

/* ---- life ---- */

static bool start(struct sim_server *s)
{
    struct recovery_options options = {.tree = tree_options};
    struct txnlog_options log = {
        .folder = STORE_FOLDER, .preallocate_bytes = 64 << 10, .force_sync = true};
    struct disk *disk = sim_disk_disk(s->disk);
    struct recovery_report report;
    struct tree *tree;

    if (recovery_load(disk, disk, &options, &tree, &report) != 0) {
        return false;
    }
    s->n_lost += s->appended - report.last_zxid;
    s->appended = s->durable = report.last_zxid;
    if (txnlog_open(disk, &log, &s->log) != 0) {
        tree_free(tree);
        return false;
    }
    s->member = member_new(&s->options, tree, report.last_zxid, s->now_us, s->wall_ms);
    return true;
}

bool sim_server_init(struct sim_server *s, uint64_t seed)
{
    *s = (struct sim_server){.options = {.server = fixture_options(), .seed = seed},
                             .now_us = 1000000000,
                             .wall_ms = 1794709440000};
    prng_seed(&s->random, seed);
    strbuf_init(&s->taken, STRBUF_NO_LIMIT);
    member_effects_init(&s->effects);
    s->disk = sim_disk_new(seed);
    return start(s);
}

static void stop(struct sim_server *s)
{
    member_free(s->member);
    txnlog_close(s->log);
    s->member = NULL;
    s->log = NULL;
    txn_batch_fini(&s->effects.append);
    txn_batch_init(&s->effects.append);
}

void sim_server_fini(struct sim_server *s)
{
    stop(s);
    member_effects_fini(&s->effects);
    sim_disk_free(s->disk);
    strbuf_fini(&s->taken);
}

bool sim_server_restart(struct sim_server *s)
{
    static const enum sim_loss losses[] = {SIM_LOSE_SOME, SIM_LOSE_ALL, SIM_LOSE_NOTHING};
    enum sim_loss loss = losses[prng_below(&s->random, 3)];

    stop(s);
    sim_disk_restart(s->disk, loss);
    s->hold = false;
    s->n_restarts++;
    return start(s);
}

/* ---- inputs ---- */

void sim_server_release(struct sim_server *s)
{
    s->hold = false;
    sync_log(s);
    step(s, &(struct member_input){.kind = MEMBER_TICK});
}

void sim_server_advance(struct sim_server *s, int64_t ms)
{
    s->now_us += ms * 1000;
    s->wall_ms += ms;
    step(s, &(struct member_input){.kind = MEMBER_TICK});
}

struct connection *sim_server_connect(struct sim_server *s)
{
    struct peer peer = {.ip = "127.0.0.1", .port = 40001};

    step(s, &(struct member_input){.kind = MEMBER_CONNECT, .peer = &peer});
    return s->effects.connected;
}

void sim_server_send(struct sim_server *s, struct connection *c, struct bytes bytes)
{
    step(s, &(struct member_input){.kind = MEMBER_BYTES, .connection = c, .bytes = bytes});
}

void sim_server_disconnect(struct sim_server *s, struct connection *c)
{
    step(s, &(struct member_input){.kind = MEMBER_DISCONNECT, .connection = c});
}

struct bytes sim_server_take(struct sim_server *s, struct connection *c)
{
    strbuf_clear(&s->taken);
    if (c->out_at < c->out.len) {
        strbuf_append(&s->taken, c->out.data + c->out_at, c->out.len - c->out_at);
    }
    c->out_at = c->out.len;
    step(s, &(struct member_input){.kind = MEMBER_SENT, .connection = c});
    return strbuf_bytes(&s->taken);
}
