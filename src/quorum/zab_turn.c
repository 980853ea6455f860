/* SPDX-License-Identifier: Apache-2.0 */
/* A new epoch in place: before its zxids are used up a leader goes on in the next epoch, with the
 * same followers and over the same links. Nobody stops serving.
 *
 *     leader                                      learner, serving
 *     acceptedEpoch on disk
 *     LEADERINFO next          ------------>      acceptedEpoch on disk
 *                              <------------      ACKEPOCH
 *     all of them, and they are a quorum:
 *     NEWLEADER next           ------------>      all before it on disk, then currentEpoch
 *     PROPOSAL next, 1 ...                        (what comes behind is logged, and not acked yet)
 *                              <------------      ACK next, 0
 *                              <------------      ACK next, 1 ...
 *
 * It is what a leader does that is elected again, without the parts that others would need. The
 * epoch is nobody else's: a quorum has promised it to this leader. Its first history is that of the
 * old one, which every follower has had from the same leader when NEWLEADER comes; who acks
 * anything of the new epoch has it on disk, and its number (P1 to P4). So a later leader is elected
 * by the same rules as ever, wherever this was interrupted. An observer is told right before the
 * first transaction of the new epoch: it hears of what is committed only.
 *
 * Every learner that is here has to know this; Java's do not. Then the leader goes on to the last
 * zxid and resigns, as Java's does. Who comes meanwhile is sent away, and comes again. */
#include <inttypes.h>

#include "base/assert.h"
#include "base/logging.h"
#include "quorum/zab.h"

/* It begins so many transactions before the end. */
enum { TURN_ROOM = 1 << 24 };

int64_t turn_last_counter(const struct quorum *q)
{
    return q->options.last_counter == 0 ? QUORUM_LAST_COUNTER : q->options.last_counter;
}

/* ---- the leader ---- */

static bool is_due(const struct quorum *q)
{
    int64_t limit = turn_last_counter(q);
    int64_t room = limit / 2 < TURN_ROOM ? limit / 2 : TURN_ROOM;
    int64_t last = history_last(&q->history);

    return zxid_epoch(last) == q->leader.epoch && zxid_counter(last) > limit - room;
}

/* All who are here can, and have this epoch; nobody is half here, and the list of members is one.
 */
static bool can_turn(const struct quorum *q)
{
    struct peer *p;

    peers_for_each (p, q) {
        bool ready = p->state == PEER_SERVED && p->turns && p->united == q->leader.epoch;

        if (!ready && p->state != PEER_GREETING) {
            return false;
        }
    }
    return q->list[LIST_NEXT] == NULL && q->list[LIST_OLD] == NULL;
}

/* P1: before anybody hears of it. */
static void begin(struct quorum *q)
{
    struct leader *l = &q->leader;
    int64_t largest = q->seen_epoch > q->accepted_epoch ? q->seen_epoch : q->accepted_epoch;

    if (largest >= INT32_MAX) {
        return;
    }
    l->turn = TURN_NAMING;
    l->next_epoch = largest + 1;
    l->turn_deadline_us = q->now_us + ticks_us(q, q->options.init_limit);
    quorum_save_epoch(q, EPOCH_ACCEPTED, l->next_epoch);
}

static void try_promised(struct quorum *q)
{
    struct tally t = {0};
    struct peer *p;

    if (q->leader.turn != TURN_PROMISING) {
        return;
    }
    tally_add(&t, &q->seats);
    peers_for_each (p, q) {
        if (p->state == PEER_SERVED && p->promised != q->leader.next_epoch &&
            !BROKEN(TURN_PROMISED)) {
            return;
        }
        if (p->state == PEER_SERVED) {
            tally_add(&t, &p->seats);
        }
    }
    if (members_are_enough(q, &t) || BROKEN(TURN_PROMISED)) {
        q->leader.turn = TURN_PROMISED;
        quorum_emit(q, QUORUM_DO_TURN)->epoch = q->leader.next_epoch;
    }
}

static void begin_promising(struct quorum *q)
{
    struct peer *p;

    q->leader.turn = TURN_PROMISING;
    peers_for_each (p, q) {
        if (p->state == PEER_SERVED) {
            quorum_send(q, p->id, PACKET_LEADER_INFO, zxid_make(q->leader.next_epoch, 0),
                        BYTES_NULL);
        }
    }
    try_promised(q);
}

void turn_promise(struct quorum *q, struct peer *p, const struct packet *packet)
{
    int32_t current;

    if (q->leader.turn == TURN_PROMISING && packet_int_read(packet->data, &current) &&
        current != -1) {
        p->promised = q->leader.next_epoch;
        try_promised(q);
    }
}

/* The next proposal is of the new epoch. */
void turn_now(struct quorum *q, int64_t epoch)
{
    struct leader *l = &q->leader;
    struct peer *p;

    if (l->turn != TURN_PROMISED || epoch != l->next_epoch) {
        return;
    }
    l->turn = TURN_UNITING;
    l->turn_last = history_last(&q->history);
    l->turn_saving = false;
    l->epoch = epoch;
    peers_for_each (p, q) {
        if (p->state == PEER_SERVED && !p->observer) {
            quorum_send(q, p->id, PACKET_NEW_LEADER, zxid_make(epoch, 0), BYTES_NULL);
        }
        p->turn_due = p->state == PEER_SERVED && p->observer;
    }
    turn_go_on(q);
}

void turn_before_inform(struct quorum *q, struct peer *p, int64_t zxid)
{
    if (p->turn_due && zxid_epoch(zxid) == q->leader.epoch) {
        p->turn_due = false;
        quorum_send(q, p->id, PACKET_NEW_LEADER, zxid_make(q->leader.epoch, 0), BYTES_NULL);
    }
}

int64_t turn_on_disk(const struct quorum *q, int64_t on_disk)
{
    const struct leader *l = &q->leader;
    bool named = q->current_epoch == l->epoch || l->turn != TURN_UNITING || BROKEN(P3);

    return named || on_disk < l->turn_last ? on_disk : l->turn_last;
}

static bool is_united(const struct quorum *q)
{
    struct tally t = {0};
    struct peer *p;

    tally_add(&t, &q->seats);
    peers_for_each (p, q) {
        if (p->united == q->leader.epoch) {
            tally_add(&t, &p->seats);
        }
    }
    return members_are_enough(q, &t);
}

/* P2 before P3. Until all of the old epoch is committed the tree is not what a newcomer could take
 * for the beginning of the new one. */
void turn_go_on(struct quorum *q)
{
    struct leader *l = &q->leader;

    if (l->turn != TURN_UNITING) {
        return;
    }
    if (!l->turn_saving && (q->durable >= l->turn_last || BROKEN(P2))) {
        l->turn_saving = true;
        quorum_save_epoch(q, EPOCH_CURRENT, l->epoch);
    }
    if (q->current_epoch == l->epoch && q->committed >= l->turn_last && is_united(q)) {
        l->turn = TURN_NONE;
        l->next_epoch = 0;
        quorum_synced(q, l->epoch);
        log_info("epoch %" PRId64 " in place of the one before, behind 0x%" PRIx64
                 "; nobody has stopped serving",
                 l->epoch, (uint64_t)l->turn_last);
    }
}

void turn_epoch_saved(struct quorum *q, enum quorum_epoch which)
{
    if (which == EPOCH_ACCEPTED && q->leader.turn == TURN_NAMING) {
        begin_promising(q);
    } else if (which == EPOCH_CURRENT && q->leader.turn == TURN_UNITING) {
        broadcast_advance(q); /* we count from here on */
    }
}

void turn_acked(struct quorum *q, struct peer *p, int64_t zxid)
{
    if (zxid == zxid_make(q->leader.epoch, 0)) {
        p->united = q->leader.epoch;
        turn_go_on(q);
    }
}

void turn_tick(struct quorum *q)
{
    struct leader *l = &q->leader;

    if (l->turn != TURN_NONE && q->now_us >= l->turn_deadline_us) {
        quorum_leave(q, "the next epoch was not taken up in time");
    } else if (l->turn != TURN_NONE) {
        try_promised(q); /* somebody may have gone */
        turn_go_on(q);
    } else if (l->phase == LEADER_ACTIVE && is_due(q) && can_turn(q)) {
        begin(q);
    }
}

/* ---- the learner ---- */

void turn_leader_info(struct quorum *q, const struct packet *packet)
{
    struct learner *l = &q->learner;
    int64_t epoch = zxid_epoch(packet->zxid);

    if (packet->zxid < 0 || epoch <= q->accepted_epoch || l->next_epoch != 0) {
        quorum_leave(q, "the leader names an epoch that cannot follow");
        return;
    }
    l->next_epoch = epoch;
    l->is_turning = false;
    quorum_save_epoch(q, EPOCH_ACCEPTED, epoch);
    if (BROKEN(P1)) {
        learner_promise(q, (int32_t)q->current_epoch);
    }
}

/* P2 before P3 before the ack. */
static void settle(struct quorum *q)
{
    struct learner *l = &q->learner;

    if (l->is_turning && !l->is_pledging && (q->durable >= l->settling || BROKEN(P2))) {
        l->is_pledging = true;
        quorum_save_epoch(q, EPOCH_CURRENT, l->epoch);
    }
}

void turn_new_leader(struct quorum *q, int64_t zxid)
{
    struct learner *l = &q->learner;

    if (l->next_epoch == 0 || l->is_turning || zxid != zxid_make(l->next_epoch, 0) ||
        q->accepted_epoch < l->next_epoch) {
        quorum_leave(q, "NEWLEADER of another epoch, or out of turn");
        return;
    }
    l->is_turning = true;
    l->is_pledging = false;
    l->epoch = l->next_epoch;
    l->settling = history_last(&q->history);
    settle(q);
}

void turn_learner_durable(struct quorum *q)
{
    if (q->learner.phase == LEARNER_SERVING) {
        settle(q);
    }
}

bool turn_learner_saved(struct quorum *q, enum quorum_epoch which)
{
    struct learner *l = &q->learner;

    if (l->phase != LEARNER_SERVING || l->next_epoch == 0) {
        return false;
    }
    if (which == EPOCH_ACCEPTED && !BROKEN(P1)) {
        learner_promise(q, (int32_t)q->current_epoch);
    } else if (which == EPOCH_CURRENT) {
        l->next_epoch = 0;
        l->is_turning = false;
        quorum_send(q, l->link, PACKET_ACK, zxid_make(l->epoch, 0), BYTES_NULL);
        quorum_synced(q, l->epoch);
    }
    return which == EPOCH_CURRENT;
}

int64_t turn_ackable(const struct quorum *q, int64_t on_disk)
{
    const struct learner *l = &q->learner;

    return l->is_turning && on_disk > l->settling && !BROKEN(P3) ? l->settling : on_disk;
}
