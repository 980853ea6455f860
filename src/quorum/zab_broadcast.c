/* SPDX-License-Identifier: Apache-2.0 */
/* Proposals, acks and commits of an active leader.
 *
 * A learner's ack of n means that n and everything before it is on its disk, and acks come in
 * order; so one zxid per learner tells all its acks, and what a quorum has on disk is found by
 * adding voters, the farthest first, until they are a quorum. Zxids are consecutive within the
 * epoch and all proposals are of one, so commits are in order and without a hole. */
#include "base/assert.h"
#include "quorum/zab.h"

#define LAST_COUNTER INT64_C(0xfffffffe)

void broadcast_propose_to(struct quorum *q, struct peer *p, int64_t zxid, struct bytes payload)
{
    ASSERT(p->state == PEER_SERVED);
    ASSERT(zxid > p->sent);
    quorum_send(q, p->id, PACKET_PROPOSAL, zxid, payload);
    p->sent = zxid;
    p->sent_us = q->now_us;
    if (p->awaited == 0) {
        p->awaited = zxid;
        p->awaited_us = q->now_us;
    }
}

static bool is_next(const struct quorum *q, int64_t zxid)
{
    int64_t last = history_last(&q->history);
    int64_t start = zxid_make(q->leader.epoch, 0);

    return zxid == (last > start ? last : start) + 1;
}

void broadcast_propose(struct quorum *q, int64_t zxid, struct bytes payload)
{
    struct peer *p;

    ASSERT(q->leader.phase == LEADER_ACTIVE);
    ASSERT(is_next(q, zxid));
    if (zxid_counter(zxid) > LAST_COUNTER) {
        quorum_leave(q, "the zxids of this epoch are used up");
        return;
    }
    quorum_append(q, zxid, payload);
    peers_for_each (p, q) {
        if (p->state == PEER_SERVED && !p->observer) {
            broadcast_propose_to(q, p, zxid, payload);
        }
    }
    if (BROKEN(P4)) {
        broadcast_advance(q);
    }
}

/* --- commit --- */

struct vote_count {
    int index;
    int64_t acked;
};

/* P4: we have on disk what LOG_DURABLE has told. */
static size_t count_votes(const struct quorum *q, struct vote_count *votes)
{
    size_t n = 0;
    struct peer *p;

    votes[n++] = (struct vote_count){q->self, BROKEN(P4) ? history_last(&q->history) : q->durable};
    peers_for_each (p, q) {
        if (p->index >= 0 && p->state == PEER_SERVED && n < QUORUM_MEMBERS_MAX) {
            votes[n++] = (struct vote_count){p->index, p->acked};
        }
    }
    return n;
}

static void sort_votes(struct vote_count *votes, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct vote_count vote = votes[i];
        size_t at = i;

        for (; at > 0 && votes[at - 1].acked < vote.acked; at--) {
            votes[at] = votes[at - 1];
        }
        votes[at] = vote;
    }
}

/* The last zxid that a quorum has on disk; 0: none. */
static int64_t quorum_has(const struct quorum *q)
{
    struct vote_count votes[QUORUM_MEMBERS_MAX];
    size_t n = count_votes(q, votes);
    struct quorum_set set = QUORUM_SET_EMPTY;

    sort_votes(votes, n);
    for (size_t i = 0; i < n; i++) {
        quorum_set_add(&set, votes[i].index);
        if (quorum_is_enough(q, &set)) {
            return votes[i].acked;
        }
    }
    return 0;
}

static void tell_commit(struct quorum *q, const struct recent_entry *entry)
{
    struct peer *p;

    peers_for_each (p, q) {
        if (p->state != PEER_SERVED || (p->observer && entry->zxid <= p->sent)) {
            continue;
        }
        if (!p->observer) {
            quorum_send(q, p->id, PACKET_COMMIT, entry->zxid, BYTES_NULL);
        } else {
            quorum_send(q, p->id, PACKET_INFORM, entry->zxid, entry->payload);
            p->sent = entry->zxid;
        }
    }
}

/* A sync has its place between what was proposed before it came and what was proposed later: a
 * Java learner takes commits and syncs for answers to its requests in their order. */
static void commit_before_sync(struct quorum *q, size_t i)
{
    int64_t next = recent_at(&q->recent, i)->zxid;

    if (!confirm_is_due(q, next)) {
        return;
    }
    if (i > 0 && recent_at(&q->recent, i - 1)->zxid > q->committed) {
        quorum_commit(q, recent_at(&q->recent, i - 1)->zxid);
    }
    confirm_before(q, next);
}

void broadcast_advance(struct quorum *q)
{
    int64_t zxid;
    size_t i;

    if (q->leader.phase != LEADER_ACTIVE || history_last(&q->history) == q->committed) {
        return;
    }
    zxid = quorum_has(q);
    if (zxid <= q->committed) {
        return;
    }
    i = recent_behind(&q->recent, q->committed);
    for (; i < q->recent.count && recent_at(&q->recent, i)->zxid <= zxid; i++) {
        commit_before_sync(q, i);
        tell_commit(q, recent_at(&q->recent, i));
    }
    quorum_commit(q, zxid);
    confirm_release(q);
}

/* --- acks --- */

static void note_progress(struct peer *p)
{
    if (p->awaited == 0 || p->acked < p->awaited) {
        return;
    }
    p->awaited = p->acked < p->sent ? p->sent : 0;
    p->awaited_us = p->sent_us;
}

void broadcast_ack(struct quorum *q, struct peer *p, int64_t zxid)
{
    if (zxid_counter(zxid) == 0) {
        return; /* NEWLEADER's, which comes a second time after UPTODATE */
    }
    if (zxid > p->sent) {
        peers_refuse(q, p, "acks what it was not sent");
        return;
    }
    if (zxid <= p->acked) {
        return;
    }
    p->acked = zxid;
    note_progress(p);
    if (p->index >= 0) {
        confirm_ack(q, p, zxid);
        broadcast_advance(q);
    }
}
