/* SPDX-License-Identifier: Apache-2.0 */
/* What a leader sends to a learner until that is part of the broadcast.
 *
 *     DIFF | TRUNC | SNAP and stream      what it has to do with what it has
 *     PROPOSAL COMMIT ...                 what it lacks of our committed history
 *     NEWLEADER                           acked when all of that is on its disk
 *     PROPOSAL COMMIT ...                 what was committed meanwhile
 *     UPTODATE
 *     PROPOSAL ...                        what is proposed
 *
 * What is not committed is held back until UPTODATE: learners of Java 3.6.3 to 3.9.2 fail on it. */
#include <inttypes.h>

#include "base/assert.h"
#include "base/logging.h"
#include "quorum/zab.h"

enum { OBSERVER_SNAPSHOTS_MAX = 10 }; /* leader.maxConcurrentSnapSyncs */

/* The tree's zxid: before an epoch's first transaction it is the epoch's own, unless it began in
 * place. */
static int64_t tree_zxid(const struct quorum *q)
{
    int64_t start = zxid_make(q->leader.first_epoch, 0);

    if (q->leader.phase != LEADER_ACTIVE || q->committed > start) {
        return q->committed;
    }
    return start;
}

/* The part of the records from..to that has left memory, up to its last one: it is in the files,
 * on disk (see forget_old()). 0: all is in memory. */
static int64_t not_in_memory(const struct quorum *q, int64_t from, int64_t to)
{
    size_t i = recent_behind(&q->recent, from - 1);
    int64_t first = i < q->recent.count ? recent_at(&q->recent, i)->zxid : INT64_MAX;

    ASSERT(from <= to && to <= q->committed);
    if (first == from) {
        return 0;
    }
    return first > to ? to : history_before(&q->history, first);
}

static void send_from_files(struct quorum *q, struct peer *p, int64_t from, int64_t to)
{
    struct quorum_effect *e = quorum_emit(q, QUORUM_DO_SEND_LOG);

    ASSERT(to <= q->durable);
    e->link = p->id;
    e->from = from;
    e->zxid = to;
    p->sending_log = true;
}

static void send_from_memory(struct quorum *q, const struct peer *p, int64_t behind, int64_t to)
{
    size_t i = recent_behind(&q->recent, behind);

    for (; i < q->recent.count && recent_at(&q->recent, i)->zxid <= to; i++) {
        const struct recent_entry *entry = recent_at(&q->recent, i);

        quorum_send(q, p->id, PACKET_PROPOSAL, entry->zxid, entry->payload);
        quorum_send(q, p->id, PACKET_COMMIT, entry->zxid, BYTES_NULL);
    }
}

/* Records from..to, all committed, each as PROPOSAL and COMMIT. */
static void send_records(struct quorum *q, struct peer *p, int64_t from, int64_t to)
{
    int64_t files = not_in_memory(q, from, to);

    if (files != 0) {
        send_from_files(q, p, from, files);
    }
    send_from_memory(q, p, from - 1, to);
}

static void send_snapshot(struct quorum *q, struct peer *p, int64_t zxid)
{
    struct quorum_effect *e;

    quorum_send(q, p->id, PACKET_SNAP, zxid, BYTES_NULL);
    e = quorum_emit(q, QUORUM_DO_SEND_SNAPSHOT);
    e->link = p->id;
    e->zxid = zxid;
    p->sending_snapshot = true;
}

static struct sync_plan plan_for(const struct quorum *q, const struct peer *p)
{
    if (q->options.always_snapshot) {
        return (struct sync_plan){.kind = SYNC_SNAP, .zxid = tree_zxid(q)};
    }
    return history_plan(&q->history, p->last_zxid, q->committed, tree_zxid(q));
}

/* Observers can wait; voters are never turned away. */
static bool may_have_snapshot(const struct quorum *q, const struct peer *asking)
{
    int n = 0;
    struct peer *p;

    peers_for_each (p, q) {
        n += p->sending_snapshot;
    }
    return !asking->observer || n < OBSERVER_SNAPSHOTS_MAX;
}

/* ---- what an operator is told ---- */

static const char *sync_words(const struct sync_plan *plan)
{
    switch (plan->kind) {
    case SYNC_TRUNC:
        return "the order to forget what is behind";
    case SYNC_SNAP:
        return "the whole tree, as of";
    default:
        return plan->from == 0 ? "nothing, it has all up to" : "what it lacks, up to";
    }
}

static void log_plan(const struct peer *p, const struct sync_plan *plan)
{
    log_info("%s %" PRId64 " joins with zxid 0x%" PRIx64 " and gets %s 0x%" PRIx64,
             p->observer ? "observer" : "server", p->sid, (uint64_t)p->last_zxid, sync_words(plan),
             (uint64_t)plan->zxid);
}

static void log_joined(const struct quorum *q, const struct peer *p)
{
    log_info("%s %" PRId64 " is up to date with 0x%" PRIx64 " after %" PRId64 " ms",
             p->observer ? "observer" : "server", p->sid, (uint64_t)p->sent,
             (q->now_us - p->began_us) / 1000);
}

/* ---- steps ---- */

void sync_begin(struct quorum *q, struct peer *p)
{
    struct sync_plan plan = plan_for(q, p);

    ASSERT(q->leader.phase >= LEADER_UNITING);
    if (plan.kind == SYNC_SNAP && !may_have_snapshot(q, p)) {
        peers_refuse(q, p, "too many snapshots are being sent");
        return;
    }
    p->began_us = q->now_us;
    q->n_diffs += plan.kind != SYNC_SNAP;
    q->n_snapshots += plan.kind == SYNC_SNAP;
    log_plan(p, &plan);
    switch (plan.kind) {
    case SYNC_DIFF:
        quorum_send(q, p->id, PACKET_DIFF, plan.zxid, BYTES_NULL);
        break;
    case SYNC_TRUNC: /* never across epochs: it may lack what it would have to keep */
        ASSERT(zxid_epoch(plan.zxid) == zxid_epoch(p->last_zxid));
        quorum_send(q, p->id, PACKET_TRUNC, plan.zxid, BYTES_NULL);
        break;
    case SYNC_SNAP:
        send_snapshot(q, p, plan.zxid);
        break;
    }
    if (plan.from != 0) {
        send_records(q, p, plan.from, plan.to);
    }
    quorum_send(q, p->id, PACKET_NEW_LEADER, zxid_make(q->leader.epoch, 0),
                strbuf_bytes(&q->config_text));
    p->sent = q->committed;
    p->heard_us = q->now_us;
    peer_move(p, PEER_SYNCING);
}

/* What is in the files takes time, and if the learner were part of the broadcast already everything
 * new would pile up behind it. */
static bool must_catch_up(struct quorum *q, struct peer *p, int64_t missed)
{
    int64_t files = not_in_memory(q, missed, q->committed);

    if (files == 0) {
        return false;
    }
    send_from_files(q, p, missed, files);
    p->sent = files;
    return true;
}

static void send_outstanding(struct quorum *q, struct peer *p)
{
    for (size_t i = recent_behind(&q->recent, q->committed); i < q->recent.count; i++) {
        const struct recent_entry *entry = recent_at(&q->recent, i);

        broadcast_propose_to(q, p, entry->zxid, entry->payload);
    }
}

/* What was committed while the learner was busy may have gone from the log meanwhile: then it has
 * to begin again. */
void sync_finish(struct quorum *q, struct peer *p)
{
    int64_t missed = history_next(&q->history, p->sent);

    ASSERT(q->leader.phase == LEADER_ACTIVE);
    if (p->sent < q->history.base) {
        peers_refuse(q, p, "what it lacks is no longer in the log");
        return;
    }
    if (missed != 0 && missed <= q->committed) {
        if (must_catch_up(q, p, missed)) {
            return;
        }
        send_from_memory(q, p, p->sent, q->committed);
    }
    p->acked = p->sent;
    p->sent = q->committed;
    quorum_send(q, p->id, PACKET_UP_TO_DATE, -1, BYTES_NULL);
    p->confirming_ping = 1;
    p->confirmed = false;
    p->heard_us = q->now_us;
    peer_move(p, PEER_SERVED);
    log_joined(q, p);
    if (!p->observer) {
        send_outstanding(q, p);
    }
}

void sync_log_sent(struct quorum *q, struct peer *p)
{
    if (!p->sending_log) {
        return;
    }
    p->sending_log = false;
    p->heard_us = q->now_us;
    if (p->state == PEER_READY) {
        sync_finish(q, p);
        broadcast_advance(q);
    }
}
