/* SPDX-License-Identifier: Apache-2.0 */
/* The learners of a leader: which there are, which of them count, which are still with it. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "quorum/zab.h"

enum { PEERS_MAX = 1024 };

static const uint8_t peer_may_follow[N_PEER_STATES] = {
    [PEER_GREETING] = 1 << PEER_INFORMED, [PEER_INFORMED] = 1 << PEER_INVITED,
    [PEER_INVITED] = 1 << PEER_JOINING,   [PEER_JOINING] = 1 << PEER_SYNCING,
    [PEER_SYNCING] = 1 << PEER_READY,     [PEER_READY] = 1 << PEER_SERVED,
};

void peer_check(const struct peer *p)
{
    ASSERT((p->state == PEER_GREETING) == (p->sid == SID_NOBODY));
    ASSERT(p->acked <= p->sent);
    ASSERT(p->awaited == 0 || (p->awaited > p->acked && p->awaited <= p->sent));
    ASSERT(p->awaited == 0 || p->state == PEER_SERVED);
    ASSERT(!p->sending_snapshot || p->state == PEER_SYNCING);
    ASSERT(!p->sending_log || p->state == PEER_SYNCING || p->state == PEER_READY);
    ASSERT(p->pings_answered <= p->pings_sent);
    ASSERT(p->pings_sent == 0 || p->state == PEER_SERVED);
}

void peer_move(struct peer *p, enum peer_state next)
{
    ASSERT(peer_may_follow[p->state] & 1 << next);
    p->state = next;
    peer_check(p);
}

struct peer *peers_find(const struct quorum *q, link_id id)
{
    struct peer *p;

    peers_for_each (p, q) {
        if (p->id == id) {
            return p;
        }
    }
    return NULL;
}

void peers_add(struct quorum *q, link_id id)
{
    struct peer *p;

    ASSERT(peers_find(q, id) == NULL);
    if (q->leader.n_peers == PEERS_MAX) {
        quorum_close(q, id, "too many learners");
        return;
    }
    p = must_zalloc(sizeof *p);
    p->id = id;
    p->state = PEER_GREETING;
    p->sid = SID_NOBODY;
    p->seats = (struct seats){{-1, -1, -1}};
    p->heard_us = q->now_us;
    list_push_back(&q->leader.peers, &p->link);
    q->leader.n_peers++;
}

void peers_drop(struct quorum *q, struct peer *p)
{
    if (p->state == PEER_SERVED) {
        struct quorum_effect *e = quorum_emit(q, QUORUM_DO_LINK_GONE);

        e->link = p->id;
        e->sid = p->sid;
        log_info("%s %" PRId64 " is gone; it had acknowledged 0x%" PRIx64,
                 p->observer ? "observer" : "server", p->sid, (uint64_t)p->acked);
    }
    list_remove(&p->link);
    free(p);
    q->leader.n_peers--;
}

void peers_refuse(struct quorum *q, struct peer *p, const char *reason)
{
    quorum_close(q, p->id, reason);
    peers_drop(q, p);
}

static struct peer *older_of(const struct quorum *q, const struct peer *newer)
{
    struct peer *p;

    peers_for_each (p, q) {
        if (p != newer && p->sid == newer->sid && p->sid >= 0) {
            return p;
        }
    }
    return NULL;
}

bool peers_make_room(struct quorum *q, struct peer *newer)
{
    struct peer *older = older_of(q, newer);

    if (older == NULL) {
        return true;
    }
    if (older->state != PEER_SERVED) {
        peers_refuse(q, older, "the same member has connected again");
        return true;
    }
    log_warn("somebody who claims to be server %" PRId64 " is refused: that one is connected",
             newer->sid);
    confirm_ping(q, older);
    peers_refuse(q, newer, "has the id of a member that is here");
    return false;
}

struct tally peers_at(const struct quorum *q, enum peer_state state)
{
    struct tally t = {0};
    struct peer *p;

    tally_add(&t, &q->seats);
    peers_for_each (p, q) {
        if (p->state >= state) {
            tally_add(&t, &p->seats);
        }
    }
    return t;
}

/* --- time --- */

/* Who is expected to say something, and has not for too long. */
static const char *overdue(const struct quorum *q, const struct peer *p)
{
    int64_t silent_us = q->now_us - p->heard_us;

    switch (p->state) {
    case PEER_SERVED:
        if (silent_us > ticks_us(q, q->options.sync_limit)) {
            return "silent for syncLimit";
        }
        if (p->awaited != 0 && q->now_us - p->awaited_us > ticks_us(q, q->options.sync_limit)) {
            return "has not acked a proposal for syncLimit";
        }
        return NULL;
    case PEER_GREETING:
    case PEER_INVITED:
    case PEER_SYNCING:
        if (!p->sending_snapshot && !p->sending_log &&
            silent_us > ticks_us(q, q->options.init_limit)) {
            return "silent for initLimit";
        }
        return NULL;
    default:
        return NULL;
    }
}

/* Whether it belongs to those we lead. One that is being synchronised may take its time; but one to
 * which a snapshot is sent without end may be dead, and is no quorum. */
static bool is_with_us(const struct quorum *q, const struct peer *p)
{
    int64_t limit = q->options.sync_limit;

    if (p->state < PEER_INFORMED) {
        return false;
    }
    if (p->state != PEER_SERVED) {
        limit += q->options.init_limit;
    }
    return q->now_us - p->heard_us <= ticks_us(q, limit);
}

/* Everybody who has NEWLEADER, synchronised or not: it must not take us for dead. */
static void ping_all(struct quorum *q)
{
    struct peer *p;

    peers_for_each (p, q) {
        if (p->state >= PEER_SYNCING && !p->sending_snapshot && !p->sending_log) {
            confirm_ping(q, p);
        }
    }
}

void peers_look_after(struct quorum *q)
{
    struct peer *p;

    q->leader.next_ping_us = q->now_us + ticks_us(q, 1) / 2;
    peers_for_each (p, q) {
        const char *reason = overdue(q, p);

        if (reason != NULL) {
            peers_refuse(q, p, reason);
        }
    }
    if (q->leader.phase == LEADER_ACTIVE && !members_can_commit(q, is_with_us)) {
        quorum_leave(q, "not enough learners are left");
        return;
    }
    ping_all(q);
}
