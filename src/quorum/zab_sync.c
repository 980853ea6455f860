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
#include "base/assert.h"
#include "quorum/zab.h"

/* The tree's zxid: before an epoch's first transaction it is the epoch's own. */
static int64_t tree_zxid(const struct quorum *q)
{
    int64_t start = zxid_make(q->leader.epoch, 0);

    if (q->leader.phase != LEADER_ACTIVE || q->committed > start) {
        return q->committed;
    }
    return start;
}

/* Records from..to, all committed, each as PROPOSAL and COMMIT: from memory what is there, from
 * the files what is older, which is on disk (see recent_shrink()). */
static void send_records(struct quorum *q, const struct peer *p, int64_t from, int64_t to)
{
    size_t i = recent_behind(&q->recent, from - 1);
    int64_t in_memory = i < q->recent.count ? recent_at(&q->recent, i)->zxid : INT64_MAX;

    ASSERT(from <= to && to <= q->committed);
    if (in_memory > from) {
        struct quorum_effect *e = quorum_emit(q, QUORUM_DO_SEND_LOG);

        e->link = p->id;
        e->from = from;
        e->zxid = in_memory > to ? to : history_before(&q->history, in_memory);
        ASSERT(e->zxid <= q->durable);
    }
    for (; i < q->recent.count && recent_at(&q->recent, i)->zxid <= to; i++) {
        const struct recent_entry *entry = recent_at(&q->recent, i);

        quorum_send(q, p->id, PACKET_PROPOSAL, entry->zxid, entry->payload);
        quorum_send(q, p->id, PACKET_COMMIT, entry->zxid, BYTES_NULL);
    }
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

void sync_begin(struct quorum *q, struct peer *p)
{
    struct sync_plan plan = plan_for(q, p);

    ASSERT(q->leader.phase >= LEADER_UNITING);
    switch (plan.kind) {
    case SYNC_DIFF:
        quorum_send(q, p->id, PACKET_DIFF, plan.zxid, BYTES_NULL);
        break;
    case SYNC_TRUNC:
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

/* What was committed while the learner was busy may have gone from the log meanwhile: then it has
 * to begin again. */
void sync_finish(struct quorum *q, struct peer *p)
{
    int64_t missed = history_next(&q->history, p->sent);

    ASSERT(q->leader.phase == LEADER_ACTIVE);
    if (p->sent < q->history.base) {
        leader_refuse(q, p, "what it lacks is no longer in the log");
        return;
    }
    p->acked = p->sent;
    if (missed != 0 && missed <= q->committed) {
        send_records(q, p, missed, q->committed);
        p->sent = q->committed;
    }
    quorum_send(q, p->id, PACKET_UP_TO_DATE, -1, BYTES_NULL);
    p->confirming_ping = 1;
    p->confirmed = false;
    peer_move(p, PEER_SERVED);
    if (p->observer) {
        return;
    }
    for (size_t i = recent_behind(&q->recent, q->committed); i < q->recent.count; i++) {
        const struct recent_entry *entry = recent_at(&q->recent, i);

        broadcast_propose_to(q, p, entry->zxid, entry->payload);
    }
}
