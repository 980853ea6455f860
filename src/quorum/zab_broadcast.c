/* SPDX-License-Identifier: Apache-2.0 */
/* Proposals, acks and commits of an active leader.
 *
 * A learner's ack of n means that n and everything before it is on its disk, and acks come in
 * order; so one zxid per learner tells all its acks, and what a quorum has on disk is found by
 * adding voters, the farthest first, until they are a quorum. Zxids are consecutive within the
 * epoch and all proposals are of one, so commits are in order and without a hole. */
#include "base/assert.h"
#include "quorum/zab.h"

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
    if (zxid_counter(zxid) > QUORUM_LAST_COUNTER) {
        quorum_leave(q, "the zxids of this epoch are used up");
        return;
    }
    if (!members_see_proposal(q, payload)) {
        quorum_leave(q, "a new list of members that cannot be read");
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

/* What of it differs when the transaction is a new list of members. */
struct announcement {
    int32_t to_followers, to_observers;
    struct bytes commit, inform;
};

static void announce(struct quorum *q, int64_t zxid, const struct announcement *a)
{
    struct peer *p;

    peers_for_each (p, q) {
        if (p->state != PEER_SERVED || (p->observer && zxid <= p->sent)) {
            continue;
        }
        if (!p->observer) {
            quorum_send(q, p->id, a->to_followers, zxid, a->commit);
        } else {
            turn_before_inform(q, p, zxid);
            quorum_send(q, p->id, a->to_observers, zxid, a->inform);
            p->sent = zxid;
        }
    }
}

static void tell_commit(struct quorum *q, const struct recent_entry *entry)
{
    announce(q, entry->zxid,
             &(struct announcement){PACKET_COMMIT, PACKET_INFORM, BYTES_NULL, entry->payload});
}

static void tell_activation(struct quorum *q, const struct recent_entry *entry, int64_t leader)
{
    struct activation a = {.leader = leader, .txn = entry->payload};
    struct bytes all;

    strbuf_clear(&q->leader.activation);
    activation_write(&q->leader.activation, &a);
    all = strbuf_bytes(&q->leader.activation);
    announce(q, entry->zxid,
             &(struct announcement){PACKET_COMMIT_AND_ACTIVATE, PACKET_INFORM_AND_ACTIVATE,
                                    bytes_of(all.data, ACTIVATION_LEADER_BYTES), all});
}

/* Those who are being synchronised were told of another list; they come again. */
static void send_away_half_synced(struct quorum *q)
{
    struct peer *p;

    peers_for_each (p, q) {
        if (p->state == PEER_SYNCING || p->state == PEER_READY) {
            peers_refuse(q, p, "the list of members has changed meanwhile");
        }
    }
}

/* The new list is committed: all who are with us take it. If we are no voter in it, or elsewhere,
 * another one leads from now on, with an epoch of its own. */
static void activate(struct quorum *q, const struct recent_entry *entry)
{
    int64_t leader = members_designate(q);

    tell_activation(q, entry, leader);
    quorum_commit(q, entry->zxid);
    send_away_half_synced(q);
    if (leader != q->options.sid) {
        quorum_hand_over(q, leader, "the new list of members has another leader");
    }
    members_activate(q);
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

static bool is_next_list(const struct quorum *q, int64_t zxid)
{
    return q->list[LIST_NEXT] != NULL && q->list[LIST_NEXT]->version == zxid;
}

/* Up to `zxid`, or to a new list of members: that changes who has to have the rest. */
static void commit_up_to(struct quorum *q, int64_t zxid)
{
    size_t i = recent_behind(&q->recent, q->committed);
    int64_t last = q->committed;

    for (; i < q->recent.count && recent_at(&q->recent, i)->zxid <= zxid; i++) {
        commit_before_sync(q, i);
        if (is_next_list(q, recent_at(&q->recent, i)->zxid)) {
            if (last > q->committed) {
                quorum_commit(q, last);
            }
            activate(q, recent_at(&q->recent, i));
            return;
        }
        tell_commit(q, recent_at(&q->recent, i));
        last = recent_at(&q->recent, i)->zxid;
    }
    quorum_commit(q, zxid);
}

void broadcast_advance(struct quorum *q)
{
    int64_t zxid;

    while (q->phase == QUORUM_LEADING && q->leader.phase == LEADER_ACTIVE &&
           history_last(&q->history) > q->committed &&
           (zxid = members_committable(q)) > q->committed) {
        commit_up_to(q, zxid);
        members_drop_old(q);
    }
    if (q->phase == QUORUM_LEADING) {
        turn_go_on(q);
        confirm_release(q);
    }
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
    if (zxid_counter(zxid) == 0) { /* NEWLEADER's, which comes a second time after UPTODATE */
        turn_acked(q, p, zxid);
        return;
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
    if (peer_counts(p)) {
        confirm_ack(q, p, zxid);
        broadcast_advance(q);
    }
}
