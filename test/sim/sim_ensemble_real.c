/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_real.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "lib/sim_disk.h"
#include "member/ensemble.h"
#include "pawl/error.h"
#include "sim_ensemble.h"
#include "store/received.h"
#include "store/snapshot_stream.h"
#include "store/snapshot_taker.h"

enum { TICK_US = 50000, SLICE_US = 5000, WALL_MS_PER_US = 1000 };
#define WALL_BEGIN_MS INT64_C(1794709440000)

/* A learner's snapshot that is being walked. */
struct walked {
    struct walked *next;
    uint64_t link;
    int64_t zxid;
    struct snapshot_taker *taker;
    struct strbuf bytes;
};

/* One life of a member's process. It may end in the middle of a step: then it is freed behind it.
 */
struct real {
    struct sim_member *owner;
    struct member *member;
    struct member_effects effects;
    int depth; /* of steps within each other */
    bool is_doomed, is_flushing;
    int64_t tick_us, slice_us;
    struct walked *walked;
};

struct payload {
    struct map_entry entry;
    uint64_t value;
    size_t len;
    uint8_t data[];
};

/* ---- payloads ---- */

static struct real_ensemble *shared(const struct sim_member *m)
{
    return m->cluster->body_arg;
}

static uint64_t value_of(struct bytes b)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < b.len; i++) {
        value = (value ^ b.data[i]) * UINT64_C(0x100000001b3);
    }
    return value;
}

static struct payload *find_payload(struct real_ensemble *e, uint64_t value)
{
    struct map_entry *entry;

    for (entry = map_first(&e->payloads, value); entry != NULL; entry = map_next(entry)) {
        struct payload *p = (struct payload *)entry;

        if (p->value == value) {
            return p;
        }
    }
    return NULL;
}

static uint64_t real_value(struct cluster *c, struct bytes payload)
{
    struct real_ensemble *e = c->body_arg;
    uint64_t value = value_of(payload);
    struct payload *p = find_payload(e, value);

    if (p == NULL) {
        p = must_alloc(sizeof(*p) + payload.len);
        p->value = value;
        p->len = payload.len;
        memcpy(p->data, payload.data, payload.len);
        map_insert(&e->payloads, &p->entry, value);
    }
    ASSERT(p->len == payload.len && memcmp(p->data, payload.data, p->len) == 0);
    return value;
}

static struct bytes real_payload(struct cluster *c, uint64_t value)
{
    const struct payload *p = find_payload(c->body_arg, value);

    ASSERT(p != NULL);
    return bytes_of(p->data, p->len);
}

/* ---- trees ---- */

static struct tree *fresh_tree(void)
{
    struct tree *t = tree_new(&(struct tree_options){.extended_types = true});

    tree_add_system_nodes(t);
    return t;
}

static void apply_payload(struct tree *tree, struct bytes payload, struct txn *txn)
{
    struct apply apply = {.tree = tree};

    ASSERT(txn_read(payload, txn) == TXN_OK);
    apply_txn(&apply, txn, NULL, 0);
}

static struct tree *tree_of(const struct sim_member *m)
{
    const struct toy_history *h = &m->carrier.disk.history;
    struct tree *tree = fresh_tree();
    struct txn txn;

    for (size_t i = 0; i < h->n; i++) {
        apply_payload(tree, real_payload(m->cluster, h->records[i].value), &txn);
    }
    return tree;
}

static void truth_grows(struct cluster *c, int64_t zxid, uint64_t value)
{
    struct real_ensemble *e = c->body_arg;
    struct txn txn;

    apply_payload(e->truth, real_payload(c, value), &txn);
    e->truth_zxid = zxid;
    if (txn.header.zxid != zxid) {
        cluster_violated(c, "0x%llx carries another transaction", (unsigned long long)zxid);
    }
    if (txn.has_digest && (uint64_t)txn.digest != tree_digest(e->truth)) {
        cluster_violated(c, "T7: the digest in 0x%llx is not the tree's", (unsigned long long)zxid);
    }
    if (e->n == e->capacity) {
        e->capacity = e->capacity == 0 ? 1024 : 2 * e->capacity;
        e->digests = must_realloc(e->digests, e->capacity * sizeof(e->digests[0]));
    }
    e->digests[e->n++] = tree_digest(e->truth);
    if (e->wrote != NULL) {
        e->wrote(e->arg, &txn);
    }
}

/* As far as its history is what everybody delivers: behind STOP it may have more. */
static void check_tree(const struct sim_member *m)
{
    const struct toy_history *h = &m->carrier.disk.history, *all = &m->cluster->judge.committed;
    const struct real_ensemble *e = shared(m);
    size_t n = m->carrier.n_applied;

    ASSERT(all->n == e->n);
    if (n == 0 || n > e->n || toy_history_digest(h, n) != toy_history_digest(all, n)) {
        return;
    }
    if (tree_digest(member_server(m->real->member)->tree) != e->digests[n - 1]) {
        cluster_violated(m->cluster, "T7: m%d has another tree at 0x%llx", m->index + 1,
                         (unsigned long long)h->records[n - 1].zxid);
    }
}

/* ---- steps ---- */

static void real_free(struct real *r)
{
    struct walked *w;

    while ((w = r->walked) != NULL) {
        r->walked = w->next;
        snapshot_taker_free(w->taker);
        strbuf_fini(&w->bytes);
        free(w);
    }
    member_free(r->member);
    member_effects_fini(&r->effects);
    free(r);
}

/* Files are the carrier's business: it has the transactions already, and no snapshot is written. */
static void drop_effects(struct real *r)
{
    struct list *item;

    while ((item = list_pop_front(&r->effects.chunks)) != NULL) {
        snapshot_chunk_free(container_of(item, struct snapshot_chunk, link));
    }
    txn_batch_fini(&r->effects.append);
    txn_batch_init(&r->effects.append);
    if (r->effects.diverged_zxid != 0) {
        cluster_violated(r->owner->cluster, "T7: m%d finds that its tree differs since 0x%llx",
                         r->owner->index + 1, (unsigned long long)r->effects.diverged_zxid);
    }
}

static void flush(struct real *r)
{
    struct sim_member *m = r->owner;
    struct connection *c;

    if (r->is_flushing) {
        return;
    }
    r->is_flushing = true;
    while (!r->is_doomed && (c = member_next_touched(r->member)) != NULL) {
        shared(m)->touched(shared(m)->arg, m, c);
    }
    r->is_flushing = false;
}

/* False: the process has ended in it. */
static bool real_step(struct sim_member *m, struct member_input in)
{
    struct real *r = m->real;
    int64_t now = sim_member_now_us(m);

    r->depth++;
    m->carrier.body_depth = r->depth;
    member_step(r->member, now, WALL_BEGIN_MS + m->wall_ahead_ms + now / WALL_MS_PER_US, &in,
                &r->effects);
    r->depth--;
    if (!r->is_doomed && r->depth == 0) {
        m->carrier.body_depth = 0;
        drop_effects(r);
        r->depth++; /* it lives as long as we look at it */
        flush(r);
        if (!r->is_doomed) {
            sim_carrier_settle(m);
        }
        r->depth--;
    }
    if (r->is_doomed) {
        if (r->depth == 0) {
            real_free(r);
        }
        return false;
    }
    m->carrier.body_depth = r->depth;
    return true;
}

static void real_ask(void *host, const struct quorum_input *in)
{
    struct real *r = host;

    if (!r->is_doomed) {
        sim_carrier_do(r->owner, in);
    }
}

/* ---- snapshots ---- */

static void real_snapshot(void *host, link_id link, struct snapshot_taker *taker, int64_t zxid)
{
    struct real *r = host;
    struct walked *w = must_zalloc(sizeof(*w));

    *w = (struct walked){.next = r->walked, .link = link, .zxid = zxid, .taker = taker};
    strbuf_init(&w->bytes, STRBUF_NO_LIMIT);
    r->walked = w;
}

static void real_want_snapshot(struct sim_member *m, uint64_t link)
{
    m->real->slice_us = sim_member_now_us(m);
    real_step(m, (struct member_input){.kind = MEMBER_WANT_SNAPSHOT, .link = link});
}

static void collect(struct walked *w)
{
    struct snapshot_chunk *chunk;

    while ((chunk = snapshot_taker_take(w->taker)) != NULL) {
        strbuf_append(&w->bytes, chunk->data, chunk->len);
        snapshot_chunk_free(chunk);
    }
}

/* Whole, or given up. */
static void send_walked(struct sim_member *m, struct walked *w)
{
    const struct toy_history *h = &m->carrier.disk.history;

    if (w->taker->state == TAKER_WHOLE) {
        jute_write_str(&w->bytes, SNAPSHOT_SIGNATURE);
        sim_carrier_send_snapshot(m, w->link, w->zxid, toy_history_upto(h, w->zxid),
                                  strbuf_bytes(&w->bytes));
    } else {
        mesh_close(&m->cluster->mesh, m->index, w->link);
        sim_carrier_link_down(m, w->link);
    }
}

static void look_at_walked(struct sim_member *m)
{
    struct real *r = m->real;

    for (struct walked **at = &r->walked; m->real == r && *at != NULL;) {
        struct walked *w = *at;

        collect(w);
        if (w->taker->state == TAKER_WALKING) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        send_walked(m, w);
        snapshot_taker_free(w->taker);
        strbuf_fini(&w->bytes);
        free(w);
    }
}

/* Through the files of a machine of its own. */
static struct tree *tree_of_snapshot(struct sim_member *m, int64_t zxid)
{
    struct bytes all = strbuf_bytes(&m->carrier.loaded);
    struct sim_disk *disk = sim_disk_new(1);
    struct received_options options = {.snapshot_disk = sim_disk_disk(disk),
                                       .log_disk = sim_disk_disk(disk),
                                       .folder = "version-2",
                                       .reading.tree.extended_types = true};
    struct snapshot_stream stream;
    struct snapshot_info info = {.reason = ""};
    struct received *received;
    struct tree *tree = NULL;
    size_t used, body;

    snapshot_stream_init(&stream, 0, 0);
    if (snapshot_stream_feed(&stream, all, &used, &body) != STREAM_WHOLE || used != all.len ||
        disk_make_folder(sim_disk_disk(disk), "version-2") != PAWL_OK ||
        received_begin(&options, zxid, &received) != PAWL_OK ||
        received_write(received, all.data, body) != PAWL_OK ||
        received_check(received, &info) != PAWL_OK || received_finish(received, &tree) != PAWL_OK) {
        cluster_violated(m->cluster, "m%d got a snapshot that makes no tree: %s", m->index + 1,
                         info.reason);
    }
    sim_disk_free(disk);
    return tree;
}

static void real_replaced(struct sim_member *m)
{
    struct tree *tree = tree_of(m);
    int64_t zxid = m->carrier.disk.history.zxid;

    if (m->carrier.loaded.len > 0) {
        struct tree *sent = tree_of_snapshot(m, zxid);

        strbuf_clear(&m->carrier.loaded);
        if (tree_digest(sent) != tree_digest(tree)) {
            cluster_violated(m->cluster, "T7: m%d was sent another tree at 0x%llx", m->index + 1,
                             (unsigned long long)zxid);
        }
        tree_free(tree);
        tree = sent;
    }
    real_step(m, (struct member_input){.kind = MEMBER_TREE, .tree = tree, .zxid = zxid});
}

/* ---- the body ---- */

static const struct quorum *real_quorum(void *arg)
{
    const struct real *r = arg;

    return r->owner->carrier.quorum;
}

static void real_start(struct sim_member *m)
{
    struct real_ensemble *e = shared(m);
    struct real *r = must_zalloc(sizeof(*r));
    struct member_ensemble ensemble = {.ask = real_ask,
                                       .quorum = real_quorum,
                                       .last_counter = m->cluster->plan->counter_limit,
                                       .snapshot = real_snapshot,
                                       .host = r};
    struct member_options options = e->options;
    struct tree *tree = tree_of(m);
    int64_t now = sim_member_now_us(m);

    if (m->carrier.disk.diverged) {
        tree_set_data(tree, tree_find(tree, bytes_str("/")), bytes_str("wrong"), 1, 1, 1);
    }
    options.has_diverged = m->carrier.disk.diverged || m->carrier.disk.damaged;
    options.ensemble = &ensemble;
    options.server.server_id = sim_member_sid(m);
    options.seed = m->cluster->seed * 1000 + m->life * SIM_MEMBERS + (uint64_t)m->index;
    r->owner = m;
    r->tick_us = now;
    r->slice_us = INT64_MAX;
    member_effects_init(&r->effects);
    r->member = member_new(&options, tree, m->carrier.disk.history.zxid, now,
                           WALL_BEGIN_MS + m->wall_ahead_ms + now / WALL_MS_PER_US);
    m->real = r;
}

static void real_end(struct sim_member *m)
{
    struct real *r = m->real;

    m->real = NULL;
    m->carrier.body_depth = 0;
    r->is_doomed = true;
    shared(m)->ended(shared(m)->arg, m);
    if (r->depth == 0) {
        real_free(r);
    }
}

static void real_effect(struct sim_member *m, const struct quorum_effect *e)
{
    if (real_step(m, (struct member_input){.kind = MEMBER_EFFECT, .effect = e}) &&
        (e->kind == QUORUM_DO_COMMIT || e->kind == QUORUM_DO_LEAD || e->kind == QUORUM_DO_SERVE)) {
        check_tree(m);
    }
}

static void real_durable(struct sim_member *m, int64_t zxid)
{
    real_step(m, (struct member_input){.kind = MEMBER_DURABLE, .zxid = zxid, .log_bytes = 1000});
}

static void real_caught_up(struct sim_member *m)
{
    if (real_step(m, (struct member_input){.kind = MEMBER_CATCH_UP})) {
        check_tree(m);
    }
}

static int64_t real_next_us(const struct sim_member *m)
{
    const struct real *r = m->real;
    int64_t next = r->tick_us, reap = member_reap_us(r->member);

    next = reap < next ? reap : next;
    next = r->slice_us < next ? r->slice_us : next;
    return member_wants_turn(r->member) ? 0 : next;
}

static bool slice(struct sim_member *m, int64_t now)
{
    struct real *r = m->real;
    uint64_t wait = prng_below(&m->cluster->random, SLICE_US);

    r->slice_us = member_is_snapshotting(r->member) ? now + (int64_t)wait : INT64_MAX;
    if (!real_step(m, (struct member_input){.kind = MEMBER_SNAPSHOT_SLICE})) {
        return false;
    }
    look_at_walked(m);
    return m->real == r;
}

static void real_wake(struct sim_member *m)
{
    struct real *r = m->real;
    int64_t now = sim_member_now_us(m);

    if (member_wants_turn(r->member) && !real_step(m, (struct member_input){.kind = MEMBER_TURN})) {
        return;
    }
    if (now >= r->tick_us) {
        r->tick_us = now + TICK_US;
        if (!real_step(m, (struct member_input){.kind = MEMBER_TICK})) {
            return;
        }
    }
    if (now >= member_reap_us(r->member) &&
        !real_step(m, (struct member_input){.kind = MEMBER_REAP})) {
        return;
    }
    if (now >= r->slice_us) {
        slice(m, now);
    }
}

static bool real_is_idle(const struct sim_member *m)
{
    (void)m;
    return true;
}

static void real_touches(void *member, struct strbuf *out)
{
    const struct sim_member *m = member;

    member_touches(m->real->member, out);
}

const struct sim_body real_body = {
    .start = real_start,
    .end = real_end,
    .effect = real_effect,
    .durable = real_durable,
    .caught_up = real_caught_up,
    .replaced = real_replaced,
    .want_snapshot = real_want_snapshot,
    .next_us = real_next_us,
    .wake = real_wake,
    .is_idle = real_is_idle,
    .value = real_value,
    .payload = real_payload,
    .touches = real_touches,
};

void real_ensemble_init(struct real_ensemble *e, struct cluster *c,
                        const struct member_options *options)
{
    *e = (struct real_ensemble){.cluster = c, .options = *options, .truth = fresh_tree()};
    map_init(&e->payloads);
    c->body_arg = e;
    c->committed = truth_grows;
}

void real_ensemble_fini(struct real_ensemble *e)
{
    struct map_entry *entry;
    size_t at = 0;

    while ((entry = map_drain(&e->payloads, &at)) != NULL) {
        free(entry);
    }
    map_fini(&e->payloads);
    tree_free(e->truth);
    free(e->digests);
}

/* ---- clients ---- */

struct server *real_server(const struct sim_member *m)
{
    return m->real == NULL ? NULL : member_server(m->real->member);
}

bool real_serves(const struct sim_member *m)
{
    return m->real != NULL && role_serves(member_server(m->real->member)->role);
}

struct connection *real_connect(struct sim_member *m)
{
    struct peer peer = {.ip = "127.0.0.1", .port = 40001};
    struct real *r = m->real;

    ASSERT(r != NULL);
    return real_step(m, (struct member_input){.kind = MEMBER_CONNECT, .peer = &peer})
               ? r->effects.connected
               : NULL;
}

void real_receive(struct sim_member *m, struct connection *c, struct bytes bytes)
{
    real_step(m, (struct member_input){.kind = MEMBER_BYTES, .connection = c, .bytes = bytes});
}

void real_sent(struct sim_member *m, struct connection *c, size_t n)
{
    ASSERT(n <= c->out.len - c->out_at);
    c->out_at += n;
    real_step(m, (struct member_input){.kind = MEMBER_SENT, .connection = c});
}

void real_disconnect(struct sim_member *m, struct connection *c)
{
    real_step(m, (struct member_input){.kind = MEMBER_DISCONNECT, .connection = c});
}
