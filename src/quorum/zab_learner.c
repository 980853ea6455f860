/* SPDX-License-Identifier: Apache-2.0 */
/* A follower or an observer: finds its leader, gets its history, takes part.
 *
 * What comes in during synchronisation is logged and committed as it comes, exactly as later; only
 * nothing of it is acked. So there is no queue that grows with what was missed. What counts is the
 * end: at NEWLEADER everything before it has to be on disk (P2), then currentEpoch (P3), and then
 * the ack leaves, as the first packet since the promise. A crash in between leaves a beginning of
 * the leader's history without a hole.
 *
 * A TRUNC that cannot be carried out (the files are purged, or nothing ends there) leaves all as it
 * is. We connect to the leader again, and say in ACKEPOCH that we have nothing: every leader
 * answers that with its whole tree, and only that is taken. It is no lie that could lose a record,
 * because it is told in an epoch that we have promised before: such an ACKEPOCH (-1) counts for
 * nothing, and its leader had a quorum's promises, and with them all that was ever acknowledged,
 * before it ordered anything. To a leader of another epoch, whose quorum we may be part of, we tell
 * what we have. The election knows nothing of it, and the old history is there until the new one is
 * on disk. (Java's learner exits.)
 *
 * A member whose tree has diverged asks for the whole tree in the same way, whatever else it is
 * sent: what it lacks would be applied to a tree that is wrong, and no TRUNC mends it. Its log is
 * good, and counts in every quorum until then.
 *
 * A member that is damaged has lost records that it may have acked, and does not know up to where.
 * It asks for the whole tree at once, and its promise never counts (ACKEPOCH -1, in every epoch):
 * the leader has to have the promises of a quorum of others, of which each still has what it acked.
 * With them it has all that was ever committed, and who has taken its whole tree has that as well
 * and acks NEWLEADER like everybody. Until then nobody who is damaged helps to elect, is elected,
 * or is part of a quorum; if so many are damaged that the others are no quorum, nobody leads. What
 * it has promised (acceptedEpoch) must not be lost with the rest: it keeps us from an older leader
 * that does not know of what we acked since. The proof is in docs/ensemble.md. */
#include <inttypes.h>

#include "base/assert.h"
#include "base/logging.h"
#include "quorum/zab.h"

enum {
    DIAL_FIRST_WAIT_US = 10 * 1000,
    DIAL_LAST_WAIT_US = 100 * 1000,
    DIAL_REFUSED_US = 1000 * 1000, /* an elected leader listens by then, or never */
    UNLOADED_REST_US = 1000 * 1000,
    UNLOADED_DOUBLINGS_MAX = 5,
};

static const uint16_t may_follow[N_LEARNER_PHASES] = {
    [LEARNER_DIALING] = 1 << LEARNER_GREETING,
    [LEARNER_GREETING] = 1 << LEARNER_PROMISING | 1 << LEARNER_JOINING | 1 << LEARNER_DIALING,
    [LEARNER_PROMISING] = 1 << LEARNER_JOINING,
    [LEARNER_JOINING] = 1 << LEARNER_TRUNCATING | 1 << LEARNER_LOADING | 1 << LEARNER_RECEIVING |
                        1 << LEARNER_DIALING,
    [LEARNER_TRUNCATING] = 1 << LEARNER_RECEIVING | 1 << LEARNER_DIALING,
    [LEARNER_LOADING] = 1 << LEARNER_RECEIVING,
    [LEARNER_RECEIVING] = 1 << LEARNER_SETTLING,
    [LEARNER_SETTLING] = 1 << LEARNER_PLEDGING,
    [LEARNER_PLEDGING] = 1 << LEARNER_READY,
    [LEARNER_READY] = 1 << LEARNER_SERVING,
};

/* What it has can only be replaced, not added to. */
static bool is_unfit(const struct quorum *q)
{
    return q->diverged || q->damaged;
}

void learner_check(const struct quorum *q)
{
    const struct learner *l = &q->learner;

    ASSERT((l->phase == LEARNER_DIALING) == (l->link == 0));
    ASSERT(l->phase == LEARNER_DIALING || l->dial_us == INT64_MAX);
    ASSERT(q->leader_sid != q->options.sid);
    ASSERT(l->phase < LEARNER_RECEIVING || l->unwanted_epoch == 0 || l->unwanted_epoch != l->epoch);
    ASSERT(l->phase < LEARNER_RECEIVING || !is_unfit(q));
    if (l->phase >= LEARNER_JOINING) {
        ASSERT(BROKEN(P1) || q->accepted_epoch == l->epoch || q->accepted_epoch == l->next_epoch);
    }
    if (l->phase < LEARNER_RECEIVING) { /* it is as it was when we voted */
        ASSERT(q->durable == history_last(&q->history));
        ASSERT(q->committed == history_last(&q->history));
    } else {
        ASSERT(l->snapshot_zxid <= q->committed);
        ASSERT(BROKEN(P4) || l->acked <= q->durable || l->acked <= q->committed);
        ASSERT(zxid_epoch(history_last(&q->history)) <= l->epoch);
    }
    if (l->phase >= LEARNER_PLEDGING && (!l->is_turning || l->is_pledging)) {
        ASSERT(BROKEN(P2) || q->durable >= l->settling);
    }
    if (l->phase >= LEARNER_READY && !l->is_turning) {
        ASSERT(BROKEN(P3) || q->current_epoch == l->epoch);
    }
    ASSERT(l->next_epoch == 0 || l->phase == LEARNER_SERVING);
}

/* The leader's whole tree: what it would send instead is of no use. */
static bool wants_all(const struct quorum *q)
{
    return q->learner.unwanted_epoch != 0 && q->learner.unwanted_epoch == q->learner.epoch;
}

/* While our own disk is what we wait for, the leader may be silent. */
static bool waits_for_leader(enum learner_phase phase)
{
    return phase != LEARNER_PROMISING && phase != LEARNER_TRUNCATING && phase != LEARNER_LOADING &&
           phase != LEARNER_SETTLING && phase != LEARNER_PLEDGING;
}

static void expect_leader(struct quorum *q)
{
    struct learner *l = &q->learner;
    int64_t limit = l->phase >= LEARNER_READY ? q->options.sync_limit : q->options.init_limit;

    if (l->phase == LEARNER_DIALING) {
        limit = q->options.connect_limit > 0 ? q->options.connect_limit : q->options.init_limit;
    }
    l->deadline_us = waits_for_leader(l->phase) ? q->now_us + ticks_us(q, limit) : INT64_MAX;
}

static void phase_move(struct quorum *q, enum learner_phase next)
{
    ASSERT(may_follow[q->learner.phase] & 1 << next);
    q->learner.phase = next;
    expect_leader(q);
    learner_check(q);
}

static bool is_observer(const struct quorum *q)
{
    return q->role == MEMBER_OBSERVING;
}

/* --- finding the leader --- */

static void dial(struct quorum *q)
{
    q->learner.dial_us = INT64_MAX;
    quorum_emit(q, QUORUM_DO_DIAL)->sid = q->leader_sid;
}

static void begin_dialing(struct quorum *q)
{
    q->learner.dial_wait_us = DIAL_FIRST_WAIT_US;
    q->learner.refused_us = q->now_us + DIAL_REFUSED_US;
    dial(q);
}

static void dial_failed(struct quorum *q, int64_t sid)
{
    struct learner *l = &q->learner;

    if (l->phase != LEARNER_DIALING || sid != q->leader_sid || l->dial_us != INT64_MAX) {
        return;
    }
    if (q->now_us >= l->refused_us) {
        quorum_leave(q, "the leader cannot be reached");
        return;
    }
    l->dial_us = q->now_us + l->dial_wait_us;
    l->dial_wait_us *= 2;
    if (l->dial_wait_us > DIAL_LAST_WAIT_US) {
        l->dial_wait_us = DIAL_LAST_WAIT_US;
    }
}

static void greet(struct quorum *q)
{
    struct learner *l = &q->learner;

    store_u64(l->info_bytes, (uint64_t)q->options.sid);
    store_u32(l->info_bytes + 8, QUORUM_PROTOCOL_VERSION);
    store_u64(l->info_bytes + 12, (uint64_t)q->list[LIST_ACTIVE]->version);
    quorum_send(q, l->link, is_observer(q) ? PACKET_OBSERVER_INFO : PACKET_FOLLOWER_INFO,
                zxid_make(q->accepted_epoch, 0), bytes_of(l->info_bytes, sizeof l->info_bytes));
}

static void link_up(struct quorum *q, link_id link, int64_t sid)
{
    struct learner *l = &q->learner;

    if (l->phase != LEARNER_DIALING || sid != q->leader_sid) {
        quorum_close(q, link, "not wanted any more");
        return;
    }
    l->link = link;
    phase_move(q, LEARNER_GREETING);
    greet(q);
}

/* --- the promise --- */

/* P1: after a crash nobody else may get the same promise from us. `current` is that of our
 * history; -1: we had promised the epoch before, or are damaged, and do not count. */
void learner_promise(struct quorum *q, int32_t current)
{
    struct learner *l = &q->learner;

    ASSERT(!wants_all(q) || current == -1);
    store_u32(l->epoch_bytes, (uint32_t)current);
    memcpy(l->epoch_bytes + 4, TURN_MARK, strlen(TURN_MARK));
    quorum_send(q, l->link, PACKET_ACK_EPOCH, wants_all(q) ? 0 : history_last(&q->history),
                bytes_of(l->epoch_bytes, sizeof l->epoch_bytes));
}

static void promise(struct quorum *q, int32_t current)
{
    phase_move(q, LEARNER_JOINING);
    learner_promise(q, current);
}

/* The epoch is new to us, and on disk. */
static void promise_first(struct quorum *q)
{
    bool counts = !q->damaged || BROKEN(DAMAGED_COUNTS);

    if (!counts) {
        q->learner.unwanted_epoch = q->learner.epoch;
    }
    promise(q, counts ? (int32_t)q->current_epoch : -1);
}

static void take_leader_info(struct quorum *q, const struct packet *packet)
{
    struct learner *l = &q->learner;

    if (packet->type != PACKET_LEADER_INFO || packet->zxid < 0) {
        quorum_leave(q, "the leader did not name its epoch");
        return;
    }
    l->epoch = zxid_epoch(packet->zxid);
    if (l->epoch < q->accepted_epoch) {
        quorum_leave(q, "the leader's epoch is over");
    } else if (l->epoch == q->accepted_epoch) {
        if (is_unfit(q)) {
            l->unwanted_epoch = l->epoch;
        }
        promise(q, -1);
    } else {
        phase_move(q, LEARNER_PROMISING);
        quorum_save_epoch(q, EPOCH_ACCEPTED, l->epoch);
        if (BROKEN(P1)) {
            promise_first(q);
        }
    }
}

/* --- synchronisation --- */

static void begin_receiving(struct quorum *q)
{
    phase_move(q, LEARNER_RECEIVING);
    q->learner.acked = history_last(&q->history);
}

/* What lies before the history that is known may be in older files. */
static bool may_be_cut_at(const struct history *h, int64_t zxid)
{
    return zxid >= 0 && (zxid <= h->base || history_has(h, zxid));
}

/* The role is kept: a leader that needs us would otherwise have to be elected again. */
static void ask_for_all(struct quorum *q, const char *reason)
{
    q->learner.unwanted_epoch = q->learner.epoch;
    quorum_close(q, q->learner.link, reason);
    q->learner.link = 0;
    phase_move(q, LEARNER_DIALING);
    begin_dialing(q);
}

static void cannot_cut(struct quorum *q)
{
    log_warn("the history cannot be cut at 0x%" PRIx64 ", as leader %" PRId64
             " orders; it stays as it is until the leader has sent its whole tree",
             (uint64_t)q->learner.settling, q->leader_sid);
    ask_for_all(q, "what it would cut off cannot be");
}

static void take_trunc(struct quorum *q, int64_t zxid)
{
    q->learner.settling = zxid;
    if (!may_be_cut_at(&q->history, zxid)) {
        cannot_cut(q);
        return;
    }
    phase_move(q, LEARNER_TRUNCATING);
    quorum_emit(q, QUORUM_DO_TRUNCATE)->zxid = zxid;
}

static void take_snap(struct quorum *q, int64_t zxid)
{
    struct quorum_effect *e;

    if (zxid < 0 || zxid_epoch(zxid) > q->learner.epoch) {
        quorum_leave(q, "the leader's snapshot is of a later epoch");
        return;
    }
    phase_move(q, LEARNER_LOADING);
    q->learner.settling = zxid;
    e = quorum_emit(q, QUORUM_DO_LOAD_SNAPSHOT);
    e->link = q->learner.link;
    e->zxid = zxid;
}

static void log_sync_kind(const struct quorum *q, const struct packet *packet)
{
    log_info("leader %" PRId64 " %s 0x%" PRIx64 "; here is 0x%" PRIx64, q->leader_sid,
             packet->type == PACKET_DIFF    ? "sends what is missing here, if anything, up to"
             : packet->type == PACKET_TRUNC ? "orders to forget what is behind"
                                            : "sends its whole tree, as of",
             (uint64_t)packet->zxid, (uint64_t)history_last(&q->history));
}

static void take_sync_kind(struct quorum *q, const struct packet *packet)
{
    if (packet->type == PACKET_DIFF || packet->type == PACKET_TRUNC ||
        packet->type == PACKET_SNAP) {
        log_sync_kind(q, packet);
    }
    if (wants_all(q) && packet->type != PACKET_SNAP) {
        quorum_leave(q, "the leader was asked for its whole tree, and sends something else");
        return;
    }
    if (is_unfit(q) && (packet->type == PACKET_DIFF || packet->type == PACKET_TRUNC)) {
        log_info("the tree here is not the others': the leader is asked for its own, all of it");
        ask_for_all(q, "the tree has diverged, and nothing but a whole one mends it");
        return;
    }
    switch (packet->type) {
    case PACKET_DIFF:
        begin_receiving(q);
        break;
    case PACKET_TRUNC:
        take_trunc(q, packet->zxid);
        break;
    case PACKET_SNAP:
        take_snap(q, packet->zxid);
        break;
    default:
        quorum_leave(q, "the leader did not say how to synchronise");
        break;
    }
}

/* P6, P7: what the leader made of our history is on disk, and the tree is that. */
static void history_is_replaced(struct quorum *q, enum learner_phase expected, int64_t zxid)
{
    if (q->learner.phase != expected) {
        return;
    }
    if (zxid != q->learner.settling) {
        ASSERT(expected == LEARNER_TRUNCATING);
        cannot_cut(q);
        return;
    }
    if (expected == LEARNER_LOADING) {
        q->learner.snapshot_zxid = zxid;
        q->n_unloaded = 0;
    }
    q->learner.unwanted_epoch = 0;
    begin_receiving(q);
}

/* A disk that is full is not free in a moment, and each attempt costs the leader a whole tree. */
static void load_failed(struct quorum *q)
{
    if (q->learner.phase != LEARNER_LOADING) {
        return;
    }
    q->least_rest_us = (int64_t)UNLOADED_REST_US << q->n_unloaded;
    q->n_unloaded += q->n_unloaded < UNLOADED_DOUBLINGS_MAX;
    quorum_leave(q, "the leader's snapshot cannot be taken over");
}

/* --- proposals and commits, from synchronisation on --- */

/* False: it is in the snapshot already, or we have left. */
static bool take_proposal(struct quorum *q, int64_t zxid, struct bytes payload)
{
    if (zxid <= q->learner.snapshot_zxid && zxid >= 0) {
        return false;
    }
    if (!history_may_follow(&q->history, zxid) || zxid_epoch(zxid) > q->learner.epoch) {
        quorum_leave(q, "a proposal does not follow the one before");
        return false;
    }
    if (bytes_is_null(payload) || payload.len == 0) {
        quorum_leave(q, "a proposal without content");
        return false;
    }
    if (!members_see_proposal(q, payload)) {
        quorum_leave(q, "a new list of members that cannot be read");
        return false;
    }
    quorum_append(q, zxid, payload);
    return true;
}

/* A commit may come before our own record of it is on disk. */
static void take_commit(struct quorum *q, int64_t zxid)
{
    if (zxid <= q->committed && zxid >= 0) {
        return;
    }
    if (zxid != history_next(&q->history, q->committed)) {
        quorum_leave(q, "a commit out of order");
        return;
    }
    quorum_commit(q, zxid);
}

static void take_inform(struct quorum *q, int64_t zxid, struct bytes payload)
{
    if (take_proposal(q, zxid, payload)) {
        take_commit(q, zxid);
    }
}

/* P4: each record that is on disk, one by one, as the leader expects it. What was committed when
 * we became part of the broadcast needs none. */
static void ack_durable(struct quorum *q)
{
    struct learner *l = &q->learner;
    int64_t on_disk = BROKEN(P4) ? history_last(&q->history) : members_ackable(q, q->durable);
    int64_t zxid;

    if (l->phase != LEARNER_SERVING || is_observer(q)) {
        return;
    }
    on_disk = turn_ackable(q, on_disk);
    while ((zxid = history_next(&q->history, l->acked)) != 0 && zxid <= on_disk) {
        quorum_send(q, l->link, PACKET_ACK, zxid, BYTES_NULL);
        l->acked = zxid;
    }
}

/* --- NEWLEADER and UPTODATE --- */

static void ack_new_leader(struct quorum *q)
{
    quorum_send(q, q->learner.link, PACKET_ACK, zxid_make(q->learner.epoch, 0), BYTES_NULL);
}

static void be_ready(struct quorum *q)
{
    phase_move(q, LEARNER_READY);
    ack_new_leader(q);
}

/* The leader's link is read no faster than our disk writes: as long as that goes on, it is not the
 * leader that is silent. */
static void go_on_receiving(struct quorum *q)
{
    if (q->learner.phase == LEARNER_RECEIVING || q->learner.phase == LEARNER_READY) {
        expect_leader(q);
    }
}

/* P2 before P3 before the ack. */
static void try_pledging(struct quorum *q)
{
    struct learner *l = &q->learner;

    if (l->phase != LEARNER_SETTLING || (q->durable < l->settling && !BROKEN(P2)) ||
        !members_are_saved(q)) {
        return;
    }
    phase_move(q, LEARNER_PLEDGING);
    if (q->current_epoch == l->epoch) {
        be_ready(q);
        return;
    }
    quorum_save_epoch(q, EPOCH_CURRENT, l->epoch);
    if (BROKEN(P3)) {
        be_ready(q);
    }
}

static void take_new_leader(struct quorum *q, int64_t zxid, struct bytes list)
{
    struct learner *l = &q->learner;

    if (l->phase != LEARNER_RECEIVING || zxid != zxid_make(l->epoch, 0)) {
        quorum_leave(q, "NEWLEADER of another epoch, or out of turn");
        return;
    }
    if (!members_hear_leader(q, list)) {
        quorum_leave(q, "NEWLEADER with a list of members that cannot be read");
        return;
    }
    l->settling = history_last(&q->history);
    phase_move(q, LEARNER_SETTLING);
    try_pledging(q);
}

/* The leader's list, all of whose quorums have said that they have it; not one that it has proposed
 * since. */
static bool take_next_list(struct quorum *q)
{
    bool goes_on;

    if (q->list[LIST_NEXT] == NULL || q->list[LIST_NEXT]->version != q->learner.list_version) {
        return true;
    }
    goes_on = members_keep_role(q);
    if (!goes_on) {
        quorum_leave(q, "this server has another part in the new list of members");
    }
    members_activate(q);
    return goes_on;
}

static void take_up_to_date(struct quorum *q)
{
    struct learner *l = &q->learner;
    struct quorum_effect *e;

    if (l->phase == LEARNER_SERVING) {
        return;
    }
    if (l->phase != LEARNER_READY) {
        quorum_leave(q, "UPTODATE out of turn");
        return;
    }
    if (!take_next_list(q)) {
        return;
    }
    phase_move(q, LEARNER_SERVING);
    log_info("up to date with leader %" PRId64 ": zxid 0x%" PRIx64 ", %" PRId64
             " ms after its election",
             q->leader_sid, (uint64_t)history_last(&q->history), (q->now_us - l->began_us) / 1000);
    e = quorum_emit(q, QUORUM_DO_SERVE);
    e->role = q->role;
    e->epoch = l->epoch;
    e->sid = q->leader_sid;
    quorum_synced(q, l->epoch);
    ack_new_leader(q);
    if (l->acked < q->committed) {
        l->acked = q->committed;
    }
    ack_durable(q);
}

/* --- the leader's other packets --- */

static void answer_ping(struct quorum *q, int64_t zxid)
{
    struct strbuf *touches = &q->learner.touches;

    if (q->learner.phase != LEARNER_SERVING) {
        return; /* the leader expects no answer before UPTODATE */
    }
    strbuf_clear(touches);
    if (q->options.touches != NULL) {
        q->options.touches(q->options.host, touches);
    }
    ASSERT(touches->len % SESSION_TOUCH_BYTES == 0);
    quorum_send(q, q->learner.link, PACKET_PING, zxid,
                touches->len == 0 ? bytes_of("", 0) : strbuf_bytes(touches));
}

static void hand_up(struct quorum *q, const struct packet *packet)
{
    struct quorum_effect *e;

    if (q->learner.phase != LEARNER_SERVING) {
        return;
    }
    e = quorum_emit(q, QUORUM_DO_RECEIVED);
    e->link = q->learner.link;
    e->sid = q->leader_sid;
    e->packet = *packet;
}

/* The list is committed, and whoever is to lead is known without an election. */
static void activate(struct quorum *q, int64_t leader)
{
    bool stays = leader == q->leader_sid && members_keep_role(q);
    bool is_voter = quorum_config_is_voter(q->list[LIST_NEXT], leader);

    if (!stays) {
        quorum_hand_over(q, is_voter ? leader : SID_NOBODY,
                         "the new list of members has another leader, or another part for us");
    }
    members_activate(q);
}

static void take_activation(struct quorum *q, const struct packet *packet)
{
    struct activation a;

    if (!activation_read(packet->data, &a)) {
        quorum_leave(q, "an activation that cannot be read");
        return;
    }
    if (packet->type == PACKET_COMMIT_AND_ACTIVATE) {
        take_commit(q, packet->zxid);
    } else {
        take_inform(q, packet->zxid, a.txn);
    }
    if (q->phase == QUORUM_LEARNING && q->list[LIST_NEXT] != NULL &&
        q->list[LIST_NEXT]->version == packet->zxid) {
        activate(q, a.leader);
    }
}

static void take_history(struct quorum *q, const struct packet *packet)
{
    switch (packet->type) {
    case PACKET_PROPOSAL:
        if (take_proposal(q, packet->zxid, packet->data) && BROKEN(P4)) {
            ack_durable(q);
        }
        break;
    case PACKET_COMMIT:
        take_commit(q, packet->zxid);
        break;
    case PACKET_INFORM:
        take_inform(q, packet->zxid, packet->data);
        break;
    case PACKET_COMMIT_AND_ACTIVATE:
    case PACKET_INFORM_AND_ACTIVATE:
        take_activation(q, packet);
        break;
    case PACKET_LEADER_INFO:
        if (q->learner.phase == LEARNER_SERVING) {
            turn_leader_info(q, packet);
        }
        break;
    case PACKET_NEW_LEADER:
        if (q->learner.phase == LEARNER_SERVING) {
            turn_new_leader(q, packet->zxid);
        } else {
            take_new_leader(q, packet->zxid, packet->data);
        }
        break;
    case PACKET_UP_TO_DATE:
        take_up_to_date(q);
        break;
    case PACKET_PING:
        answer_ping(q, packet->zxid);
        break;
    case PACKET_SYNC:
    case PACKET_REVALIDATE:
        hand_up(q, packet);
        break;
    default:
        break; /* unknown ones are ignored, by both sides */
    }
}

static void take_packet(struct quorum *q, link_id link, const struct packet *packet)
{
    if (link != q->learner.link) {
        return;
    }
    /* Packets are held back until the history is replaced. */
    ASSERT(q->learner.phase != LEARNER_TRUNCATING && q->learner.phase != LEARNER_LOADING);
    expect_leader(q);
    switch (q->learner.phase) {
    case LEARNER_GREETING:
        take_leader_info(q, packet);
        break;
    case LEARNER_JOINING:
        take_sync_kind(q, packet);
        break;
    case LEARNER_PROMISING:
        quorum_leave(q, "the leader speaks out of turn");
        break;
    default:
        take_history(q, packet);
        break;
    }
}

/* --- in and out --- */

static void epoch_was_saved(struct quorum *q, enum quorum_epoch which)
{
    if (which == EPOCH_ACCEPTED && q->learner.phase == LEARNER_PROMISING) {
        promise_first(q);
    } else if (which == EPOCH_CURRENT && q->learner.phase == LEARNER_PLEDGING) {
        be_ready(q);
    } else if (turn_learner_saved(q, which)) {
        ack_durable(q);
    }
}

static void forward(struct quorum *q, const struct packet *packet)
{
    struct quorum_effect *e = quorum_emit(q, QUORUM_DO_SEND);

    ASSERT(q->learner.phase == LEARNER_SERVING);
    e->link = q->learner.link;
    e->packet = *packet;
}

static void learner_tick(struct quorum *q)
{
    if (q->now_us >= q->learner.deadline_us) {
        quorum_leave(q, "nothing was heard of the leader for too long");
    } else if (q->now_us >= q->learner.dial_us) {
        dial(q);
    }
}

/* Who hangs up before a word is a proxy in front of a leader that does not listen yet: as if it had
 * refused. To look for a leader again would be one round too far for one who waits for us. */
static void link_down(struct quorum *q, link_id link)
{
    struct learner *l = &q->learner;

    if (link != l->link || link == 0) {
        return;
    }
    l->link = 0;
    if (l->phase == LEARNER_GREETING) {
        phase_move(q, LEARNER_DIALING);
        dial_failed(q, q->leader_sid);
    } else {
        quorum_leave(q, "the link to the leader is lost");
    }
}

void learner_step(struct quorum *q, const struct quorum_input *in)
{
    switch (in->kind) {
    case QUORUM_IN_TICK:
        learner_tick(q);
        break;
    case QUORUM_IN_LINK_UP:
        link_up(q, in->link, in->sid);
        break;
    case QUORUM_IN_LINK_DOWN:
        link_down(q, in->link);
        break;
    case QUORUM_IN_DIAL_FAILED:
        dial_failed(q, in->sid);
        break;
    case QUORUM_IN_PACKET:
        take_packet(q, in->link, in->packet);
        break;
    case QUORUM_IN_LOG_DURABLE:
        go_on_receiving(q);
        try_pledging(q);
        turn_learner_durable(q);
        ack_durable(q);
        break;
    case QUORUM_IN_EPOCH_SAVED:
        epoch_was_saved(q, in->which);
        break;
    case QUORUM_IN_CONFIG_SAVED:
        try_pledging(q);
        ack_durable(q);
        break;
    case QUORUM_IN_TRUNCATED:
        history_is_replaced(q, LEARNER_TRUNCATING, in->zxid);
        break;
    case QUORUM_IN_SNAPSHOT_LOADED:
        history_is_replaced(q, LEARNER_LOADING, in->zxid);
        break;
    case QUORUM_IN_LOAD_FAILED:
        load_failed(q);
        break;
    case QUORUM_IN_FORWARD:
        forward(q, in->packet);
        break;
    default:
        break;
    }
}

int64_t learner_next_us(const struct quorum *q)
{
    return q->learner.deadline_us < q->learner.dial_us ? q->learner.deadline_us
                                                       : q->learner.dial_us;
}

void learner_init(struct quorum *q)
{
    strbuf_init(&q->learner.touches, STRBUF_NO_LIMIT);
}

void learner_fini(struct quorum *q)
{
    strbuf_fini(&q->learner.touches);
}

void learner_begin(struct quorum *q)
{
    struct learner *l = &q->learner;

    ASSERT(l->link == 0);
    ASSERT(q->durable == history_last(&q->history));
    l->phase = LEARNER_DIALING;
    l->epoch = 0;
    l->acked = 0;
    l->settling = 0;
    l->next_epoch = 0;
    l->is_turning = false;
    l->snapshot_zxid = 0;
    l->began_us = q->now_us;
    expect_leader(q);
    begin_dialing(q);
}

void learner_end(struct quorum *q)
{
    if (q->learner.link != 0) {
        quorum_close(q, q->learner.link, "no longer following");
        q->learner.link = 0;
    }
    q->learner.dial_us = INT64_MAX;
}
