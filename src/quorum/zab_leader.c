/* SPDX-License-Identifier: Apache-2.0 */
/* A leader: discovery, its phases, and what its learners say. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "quorum/zab.h"

enum {
    EPOCH_MAX = INT32_MAX - 1024, /* who has accepted a later one has a damaged file */
    YIELD_WAIT_MAX = 64,          /* times initLimit */
};

/* --- phases --- */

static const uint8_t phase_may_follow[N_LEADER_PHASES] = {
    [LEADER_DISCOVERY] = 1 << LEADER_NAMING,
    [LEADER_NAMING] = 1 << LEADER_PROMISING,
    [LEADER_PROMISING] = 1 << LEADER_UNITING,
    [LEADER_UNITING] = 1 << LEADER_ACTIVE,
};

void leader_check(const struct quorum *q)
{
    const struct leader *l = &q->leader;

    ASSERT(q->role == MEMBER_LEADING && q->leader_sid == q->options.sid);
    ASSERT(quorum_votes(q));
    ASSERT(l->phase == LEADER_DISCOVERY || l->epoch > 0);
    ASSERT(l->phase <= LEADER_NAMING || BROKEN(P1) || q->accepted_epoch >= l->epoch);
    ASSERT(l->phase != LEADER_ACTIVE || BROKEN(P3) || l->turn == TURN_UNITING ||
           q->current_epoch == l->epoch);
    ASSERT(l->phase == LEADER_ACTIVE || l->turn == TURN_NONE);
    ASSERT(l->phase == LEADER_ACTIVE || l->n_wishes == 0);
    ASSERT(l->phase == LEADER_ACTIVE || q->committed == history_last(&q->history));
    ASSERT(l->n_wishes == 0 || l->round > 0);
    ASSERT(!l->round_open || l->round > 0);
}

/* Each phase that depends on others has its own limit. */
static void phase_move(struct quorum *q, enum leader_phase next)
{
    bool waits_for_others = next != LEADER_NAMING && next != LEADER_ACTIVE;

    ASSERT(phase_may_follow[q->leader.phase] & 1 << next);
    q->leader.phase = next;
    q->leader.deadline_us =
        waits_for_others ? q->now_us + ticks_us(q, q->options.init_limit) : INT64_MAX;
    leader_check(q);
}

static void invite(struct quorum *q, struct peer *p)
{
    static const uint8_t protocol_version[4] = {0, 1, 0, 0};

    peer_move(p, PEER_INVITED);
    p->heard_us = q->now_us;
    quorum_send(q, p->id, PACKET_LEADER_INFO, zxid_make(q->leader.epoch, 0),
                bytes_of(protocol_version, sizeof protocol_version));
}

/* P1: the epoch is ours on disk before anybody hears of it. After a crash we would name the same
 * one again, for another history. */
static void begin_promising(struct quorum *q)
{
    struct peer *p;

    phase_move(q, LEADER_PROMISING);
    peers_for_each (p, q) {
        if (p->state == PEER_INFORMED) {
            invite(q, p);
        }
    }
}

static void try_naming(struct quorum *q)
{
    struct tally t = peers_at(q, PEER_INFORMED);
    int64_t largest = q->seen_epoch > q->accepted_epoch ? q->seen_epoch : q->accepted_epoch;

    if (q->leader.phase != LEADER_DISCOVERY || !members_are_enough(q, &t)) {
        return;
    }
    if (largest >= INT32_MAX) {
        quorum_leave(q, "there are no more epochs");
        return;
    }
    q->leader.epoch = largest + 1;
    phase_move(q, LEADER_NAMING);
    quorum_save_epoch(q, EPOCH_ACCEPTED, q->leader.epoch);
    if (BROKEN(P1)) {
        begin_promising(q);
    }
}

/* Promises count unless the learner had given this one before: then it may have been to another
 * leader with the same epoch. */
static bool promises_are_enough(const struct quorum *q)
{
    struct tally t = {0};
    struct peer *p;

    tally_add(&t, &q->seats);
    peers_for_each (p, q) {
        if (p->state >= PEER_JOINING && p->current_epoch != -1) {
            tally_add(&t, &p->seats);
        }
    }
    return members_are_enough(q, &t);
}

/* The list that all have got with NEWLEADER. Who is no voter in it has done what it could: the
 * others take the list with UPTODATE, and elect one of their own. */
static bool take_next_list(struct quorum *q)
{
    struct peer *p;

    if (q->list[LIST_NEXT] == NULL) {
        return true;
    }
    if (members_keep_role(q)) {
        members_activate(q);
        return true;
    }
    peers_for_each (p, q) {
        if (p->state == PEER_READY) {
            quorum_send(q, p->id, PACKET_UP_TO_DATE, -1, BYTES_NULL);
        }
    }
    quorum_leave(q, "the list of members is complete, and this server is not to lead them");
    members_activate(q);
    return false;
}

static void begin_leading(struct quorum *q)
{
    struct peer *p;

    if (!take_next_list(q)) {
        return;
    }
    phase_move(q, LEADER_ACTIVE);
    q->leader.first_epoch = q->leader.epoch;
    q->leader.next_ping_us = q->now_us + ticks_us(q, 1) / 2;
    quorum_emit(q, QUORUM_DO_LEAD)->epoch = q->leader.epoch;
    quorum_synced(q, q->leader.epoch);
    peers_for_each (p, q) {
        if (p->state == PEER_READY) {
            sync_finish(q, p);
        }
    }
}

static void try_activating(struct quorum *q)
{
    struct tally t = peers_at(q, PEER_READY);

    if (q->leader.phase != LEADER_UNITING) {
        return;
    }
    /* P3: we count ourselves when currentEpoch is on disk. */
    if ((q->current_epoch != q->leader.epoch && !BROKEN(P3)) || !members_are_saved(q)) {
        return;
    }
    if (!members_are_enough(q, &t) && !BROKEN(NEWLEADER_ACK)) {
        return;
    }
    begin_leading(q);
}

static void try_uniting(struct quorum *q)
{
    struct peer *p;

    if (q->leader.phase != LEADER_PROMISING || !promises_are_enough(q)) {
        return;
    }
    phase_move(q, LEADER_UNITING);
    members_unite(q, q->leader.epoch);
    quorum_save_epoch(q, EPOCH_CURRENT, q->leader.epoch);
    peers_for_each (p, q) {
        if (p->state == PEER_JOINING) {
            sync_begin(q, p);
        }
    }
    try_activating(q);
}

static void epoch_was_saved(struct quorum *q, enum quorum_epoch which)
{
    if (which == EPOCH_ACCEPTED && q->leader.phase == LEADER_NAMING) {
        ASSERT(q->accepted_epoch == q->leader.epoch);
        begin_promising(q);
        try_uniting(q);
    } else if (which == EPOCH_CURRENT) {
        try_activating(q);
    }
    turn_epoch_saved(q, which);
}

/* --- packets of discovery --- */

/* Who has accepted a later epoch can never follow this one. We start over, with an epoch behind
 * its, or it would be left outside for as long as we lead. */
static bool is_too_far(const struct quorum *q, const struct peer *p)
{
    return peer_counts(p) && q->leader.phase != LEADER_DISCOVERY &&
           p->accepted_epoch > q->leader.epoch;
}

static void yield(struct quorum *q, struct peer *p)
{
    struct yielding *y = &q->yielding;
    int64_t first_us = ticks_us(q, q->options.init_limit);
    bool is_calm = q->now_us - y->not_before_us > y->wait_us;

    if (q->now_us < y->not_before_us) {
        peers_refuse(q, p, "has accepted a later epoch, and has to wait");
        return;
    }
    y->wait_us = is_calm || y->wait_us == 0 ? first_us : 2 * y->wait_us;
    if (y->wait_us > YIELD_WAIT_MAX * first_us) {
        y->wait_us = YIELD_WAIT_MAX * first_us;
    }
    y->not_before_us = q->now_us + y->wait_us;
    quorum_leave(q, "a voter has accepted a later epoch");
}

/* Why nobody can be who it says it is; NULL: it can. */
static const char *cannot_be(const struct quorum *q, const struct packet *packet,
                             const struct learner_info *info)
{
    int64_t epoch = zxid_epoch(packet->zxid);

    if (epoch > EPOCH_MAX || epoch - q->accepted_epoch > EPOCH_LEAP_MAX) {
        log_warn("a member that claims epoch %" PRId64 " is refused: epoch %" PRId64
                 " is the last one known here. If it is one of ours, its file acceptedEpoch is "
                 "damaged",
                 epoch, q->accepted_epoch);
        return "has accepted an epoch that cannot be";
    }
    if (info->has_server_id &&
        (info->server_id == q->options.sid || info->server_id == SID_NOBODY)) {
        return "has an id that it cannot have";
    }
    return info->config_version > q->list[LIST_ACTIVE]->version ? "has a newer configuration"
                                                                : NULL;
}

static void take_identity(struct quorum *q, struct peer *p, const struct packet *packet,
                          const struct learner_info *info)
{
    p->observer = packet->type == PACKET_OBSERVER_INFO;
    p->sid = info->has_server_id ? info->server_id : --q->leader.last_assigned;
    p->accepted_epoch = zxid_epoch(packet->zxid);
    p->config_version = info->config_version;
    p->seats = members_seats(q, p->sid, p->observer);
    q->leader.reached |= peer_counts(p);
}

/* It is a learner of ours, unless its epoch is over. */
static void admit(struct quorum *q, struct peer *p)
{
    if (peer_counts(p) && p->accepted_epoch > q->seen_epoch) {
        q->seen_epoch = p->accepted_epoch;
    }
    if (is_too_far(q, p)) {
        yield(q, p);
        return;
    }
    peer_move(p, PEER_INFORMED);
    if (q->leader.phase >= LEADER_PROMISING) {
        invite(q, p);
    } else {
        try_naming(q);
    }
}

static void take_info(struct quorum *q, struct peer *p, const struct packet *packet)
{
    struct learner_info info;
    const char *reason;

    if ((packet->type != PACKET_FOLLOWER_INFO && packet->type != PACKET_OBSERVER_INFO) ||
        packet->zxid < 0 || !learner_info_read(packet->data, &info)) {
        peers_refuse(q, p, "expected who it is");
        return;
    }
    if (q->leader.turn != TURN_NONE) {
        peers_refuse(q, p, "a new epoch is about to begin here: it has to come again");
        return;
    }
    reason = cannot_be(q, packet, &info);
    if (reason != NULL) {
        peers_refuse(q, p, reason);
        return;
    }
    take_identity(q, p, packet, &info);
    if (peers_make_room(q, p)) {
        admit(q, p);
    }
}

/* A learner with more than we have must not be cut back: the election went wrong. But of one that
 * is a voter in the next list only, and has not heard that this is active, all of that is
 * uncommitted: a quorum of our own list would have it, and with that we. */
static bool is_ahead(const struct quorum *q, const struct peer *p)
{
    bool is_next_only = p->seats.at[LIST_ACTIVE] < 0 && p->seats.at[LIST_NEXT] >= 0;

    if (p->current_epoch == -1 || q->leader.phase != LEADER_PROMISING || is_next_only) {
        return false;
    }
    return p->current_epoch > q->current_epoch ||
           (p->current_epoch == q->current_epoch && p->last_zxid > history_last(&q->history));
}

static void take_promise(struct quorum *q, struct peer *p, const struct packet *packet)
{
    int32_t epoch;

    if (packet->type != PACKET_ACK_EPOCH || packet->zxid < 0 ||
        !packet_int_read(packet->data, &epoch) || epoch < -1) {
        peers_refuse(q, p, "expected its promise for the epoch");
        return;
    }
    p->current_epoch = epoch;
    p->last_zxid = packet->zxid;
    p->turns = packet->data.len == 4 + strlen(TURN_MARK) &&
               memcmp(packet->data.data + 4, TURN_MARK, strlen(TURN_MARK)) == 0;
    if (is_ahead(q, p)) {
        peers_refuse(q, p, "is ahead of this leader");
        return;
    }
    peer_move(p, PEER_JOINING);
    if (q->leader.phase >= LEADER_UNITING) {
        sync_begin(q, p);
    } else {
        try_uniting(q);
    }
}

static void take_new_leader_ack(struct quorum *q, struct peer *p, const struct packet *packet)
{
    if (packet->type != PACKET_ACK) {
        peers_refuse(q, p, "expected its ack of NEWLEADER");
        return;
    }
    if (packet->zxid != zxid_make(q->leader.epoch, 0)) {
        return; /* learners before 3.8.5 may ack a proposal of the DIFF first */
    }
    p->sending_snapshot = false;
    p->sending_log = false;
    peer_move(p, PEER_READY);
    if (q->leader.phase == LEADER_ACTIVE) {
        sync_finish(q, p);
        broadcast_advance(q); /* it may be the one that was missing */
    } else {
        try_activating(q);
    }
}

/* --- packets of the broadcast --- */

static void hand_up(struct quorum *q, const struct peer *p, const struct packet *packet)
{
    struct quorum_effect *e = quorum_emit(q, QUORUM_DO_RECEIVED);

    e->link = p->id;
    e->sid = p->sid;
    e->packet = *packet;
}

static void take_pong(struct quorum *q, struct peer *p, const struct packet *packet)
{
    if (p->pings_answered == p->pings_sent) {
        peers_refuse(q, p, "answers what was not asked");
        return;
    }
    hand_up(q, p, packet);
    confirm_pong(q, p);
}

static void take_request(struct quorum *q, struct peer *p, const struct packet *packet)
{
    switch (packet->type) {
    case PACKET_ACK:
        broadcast_ack(q, p, packet->zxid);
        break;
    case PACKET_PING:
        take_pong(q, p, packet);
        break;
    case PACKET_ACK_EPOCH:
        turn_promise(q, p, packet);
        break;
    case PACKET_REQUEST:
    case PACKET_REVALIDATE:
        hand_up(q, p, packet);
        break;
    default:
        break; /* unknown ones are ignored, by both sides */
    }
}

static void take_packet(struct quorum *q, link_id id, const struct packet *packet)
{
    struct peer *p = peers_find(q, id);

    if (p == NULL) {
        return;
    }
    peer_check(p);
    p->heard_us = q->now_us;
    switch (p->state) {
    case PEER_GREETING:
        take_info(q, p, packet);
        break;
    case PEER_INVITED:
        take_promise(q, p, packet);
        break;
    case PEER_SYNCING:
        take_new_leader_ack(q, p, packet);
        break;
    case PEER_SERVED:
        take_request(q, p, packet);
        break;
    default:
        if (p->state != PEER_READY || packet->type != PACKET_ACK) {
            peers_refuse(q, p, "speaks out of turn");
        }
        break;
    }
}

/* --- time --- */

static void leader_tick(struct quorum *q)
{
    static const char *const too_late[] = {
        [LEADER_DISCOVERY] = "no quorum has connected within initLimit",
        [LEADER_PROMISING] = "no quorum has accepted the epoch within initLimit",
        [LEADER_UNITING] = "no quorum was synchronised within initLimit",
    };

    if (q->now_us >= q->leader.deadline_us) {
        q->unreached = !q->leader.reached;
        quorum_leave(q, too_late[q->leader.phase]);
    } else if (q->now_us >= q->leader.next_ping_us) {
        peers_look_after(q);
        if (q->phase == QUORUM_LEADING) {
            turn_tick(q);
        }
    }
}

int64_t leader_next_us(const struct quorum *q)
{
    return q->leader.deadline_us < q->leader.next_ping_us ? q->leader.deadline_us
                                                          : q->leader.next_ping_us;
}

/* --- in and out --- */

static void link_down(struct quorum *q, link_id id)
{
    struct peer *p = peers_find(q, id);

    if (p != NULL) {
        peers_drop(q, p);
    }
}

static void link_up(struct quorum *q, const struct quorum_input *in)
{
    if (in->sid == SID_NOBODY) {
        peers_add(q, in->link);
    } else {
        quorum_close(q, in->link, "not wanted any more");
    }
}

static void snapshot_was_sent(struct quorum *q, link_id id, int64_t zxid)
{
    struct peer *p = peers_find(q, id);

    if (p == NULL || !p->sending_snapshot) {
        return;
    }
    p->sending_snapshot = false;
    p->heard_us = q->now_us;
    if (zxid > p->sent && zxid <= q->committed) {
        p->sent = zxid;
    }
}

static void log_was_sent(struct quorum *q, link_id id)
{
    struct peer *p = peers_find(q, id);

    if (p != NULL) {
        sync_log_sent(q, p);
    }
}

static void answer(struct quorum *q, link_id id, const struct packet *packet)
{
    if (peers_find(q, id) != NULL) {
        quorum_send(q, id, packet->type, packet->zxid, packet->data);
    }
}

/* The port was ours when we were elected; it should not happen. The others find a closed port, or
 * wait initLimit ticks for whoever has it. */
static void listen_failed(struct quorum *q)
{
    q->deaf = true;
    quorum_leave(q, "the quorum port cannot be listened on");
}

void leader_step(struct quorum *q, const struct quorum_input *in)
{
    switch (in->kind) {
    case QUORUM_IN_TICK:
        leader_tick(q);
        break;
    case QUORUM_IN_LINK_UP:
        link_up(q, in);
        break;
    case QUORUM_IN_LINK_DOWN:
        link_down(q, in->link);
        break;
    case QUORUM_IN_PACKET:
        take_packet(q, in->link, in->packet);
        break;
    case QUORUM_IN_LOG_DURABLE:
        broadcast_advance(q);
        break;
    case QUORUM_IN_TURN:
        turn_now(q, in->epoch);
        break;
    case QUORUM_IN_EPOCH_SAVED:
        epoch_was_saved(q, in->which);
        break;
    case QUORUM_IN_CONFIG_SAVED:
        try_activating(q);
        broadcast_advance(q);
        break;
    case QUORUM_IN_SNAPSHOT_SENT:
        snapshot_was_sent(q, in->link, in->zxid);
        break;
    case QUORUM_IN_LOG_SENT:
        log_was_sent(q, in->link);
        break;
    case QUORUM_IN_PROPOSE:
        broadcast_propose(q, in->zxid, in->bytes);
        break;
    case QUORUM_IN_ANSWER:
        answer(q, in->link, in->packet);
        break;
    case QUORUM_IN_LISTEN_FAILED:
        listen_failed(q);
        break;
    case QUORUM_IN_SYNC:
        confirm_wish(q, in->link, in->marked);
        break;
    default:
        break;
    }
}

void leader_begin(struct quorum *q)
{
    ASSERT(quorum_votes(q));
    ASSERT(!q->diverged && !q->damaged); /* its tree would be everybody's */
    ASSERT(q->leader.n_peers == 0);
    ASSERT(q->durable == history_last(&q->history));
    q->leader.phase = LEADER_DISCOVERY;
    q->leader.epoch = 0;
    q->leader.reached = false;
    q->leader.turn = TURN_NONE;
    q->leader.next_epoch = 0;
    q->leader.last_assigned = 0;
    q->leader.deadline_us = q->now_us + ticks_us(q, q->options.init_limit);
    q->leader.next_ping_us = q->now_us + ticks_us(q, 1) / 2;
    q->leader.round = 0;
    q->leader.round_open = false;
    quorum_emit(q, QUORUM_DO_LISTEN);
    try_naming(q);
}

void leader_end(struct quorum *q)
{
    struct peer *p;

    quorum_emit(q, QUORUM_DO_UNLISTEN);
    peers_for_each (p, q) {
        quorum_close(q, p->id, "no longer leading");
        list_remove(&p->link);
        free(p);
    }
    q->leader.n_peers = 0;
    confirm_clear(q);
}
