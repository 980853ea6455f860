/* SPDX-License-Identifier: Apache-2.0 */
/* Syncs, and the proof that we still lead which they need.
 *
 * A sync promises that what is read after it is at least as new as anything committed before it
 * came. Java's leader answers from memory, also when it has been deposed without noticing. Here a
 * quorum must have answered something that was sent after the sync came: a new leader needs a voter
 * of every quorum, which before that has stopped to answer us. One round of PINGs serves all syncs
 * that came before it began; those that come while it runs wait for the next one.
 *
 * A quorum's ack of a proposal that was made after the sync came proves the same; and the sync is
 * answered before that proposal's commit is told.
 *
 * A learner answers each PING behind UPTODATE, and in order: so they are matched by counting. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "quorum/zab.h"

static struct wish *wish_at(const struct leader *l, size_t i)
{
    return &l->wishes[(l->wishes_first + i) & (l->wishes_capacity - 1)];
}

static void grow_wishes(struct leader *l)
{
    size_t capacity = l->wishes_capacity == 0 ? 16 : 2 * l->wishes_capacity;
    struct wish *wishes = must_alloc(capacity * sizeof *wishes);

    for (size_t i = 0; i < l->n_wishes; i++) {
        wishes[i] = *wish_at(l, i);
    }
    free(l->wishes);
    l->wishes = wishes;
    l->wishes_capacity = capacity;
    l->wishes_first = 0;
}

static void push_wish(struct leader *l, struct wish wish)
{
    if (l->n_wishes == l->wishes_capacity) {
        grow_wishes(l);
    }
    *wish_at(l, l->n_wishes++) = wish;
}

void confirm_clear(struct quorum *q)
{
    free(q->leader.wishes);
    q->leader.wishes = NULL;
    q->leader.wishes_capacity = 0;
    q->leader.wishes_first = 0;
    q->leader.n_wishes = 0;
}

void confirm_ping(struct quorum *q, struct peer *p)
{
    int64_t start = zxid_make(q->leader.epoch, 0);
    int64_t last = history_last(&q->history);

    quorum_send(q, p->id, PACKET_PING, last > start ? last : start, BYTES_NULL);
    if (p->state == PEER_SERVED) {
        p->pings_sent++;
    }
}

static bool round_is_confirmed(const struct quorum *q)
{
    struct tally t = {0};
    struct peer *p;

    tally_add(&t, &q->seats);
    peers_for_each (p, q) {
        if (p->state == PEER_SERVED && p->confirmed) {
            tally_add(&t, &p->seats);
        }
    }
    return BROKEN(SYNC_CONFIRMATION) || members_are_enough(q, &t);
}

static void begin_round(struct quorum *q)
{
    struct peer *p;

    ASSERT(!q->leader.round_open);
    q->leader.round++;
    q->leader.round_open = true;
    q->leader.round_zxid = history_last(&q->history) + 1;
    peers_for_each (p, q) {
        if (peer_counts(p) && p->state == PEER_SERVED) {
            confirm_ping(q, p);
            p->confirming_ping = p->pings_sent;
            p->confirmed = false;
        }
    }
}

static bool can_be_granted(const struct quorum *q, const struct wish *wish)
{
    const struct leader *l = &q->leader;
    uint64_t confirmed = l->round_open ? l->round - 1 : l->round;

    return wish->zxid <= q->committed && wish->round <= confirmed;
}

static void grant(struct quorum *q, const struct wish *wish)
{
    if (wish->link == 0) {
        quorum_emit(q, QUORUM_DO_SYNCED);
    } else if (peers_find(q, wish->link) != NULL) {
        quorum_send(q, wish->link, PACKET_SYNC, 0,
                    wish->marked ? bytes_str(SYNC_MARK) : BYTES_NULL);
    }
}

static void grant_first(struct quorum *q)
{
    struct leader *l = &q->leader;

    grant(q, wish_at(l, 0));
    l->wishes_first = (l->wishes_first + 1) & (l->wishes_capacity - 1);
    l->n_wishes--;
}

void confirm_release(struct quorum *q)
{
    struct leader *l = &q->leader;

    while (l->n_wishes > 0 && can_be_granted(q, wish_at(l, 0))) {
        grant_first(q);
    }
}

bool confirm_is_due(const struct quorum *q, int64_t zxid)
{
    return q->leader.n_wishes > 0 && wish_at(&q->leader, 0)->zxid < zxid;
}

/* A quorum has acked `zxid`, which was proposed after these syncs came: it still follows us. */
void confirm_before(struct quorum *q, int64_t zxid)
{
    while (confirm_is_due(q, zxid)) {
        ASSERT(wish_at(&q->leader, 0)->zxid <= q->committed);
        grant_first(q);
    }
}

/* Rounds follow each other as long as somebody waits for one. */
static void go_on(struct quorum *q)
{
    struct leader *l = &q->leader;

    while (l->round_open && round_is_confirmed(q)) {
        l->round_open = false;
        confirm_release(q);
        if (l->n_wishes > 0 && wish_at(l, l->n_wishes - 1)->round > l->round) {
            begin_round(q);
        }
    }
}

void confirm_wish(struct quorum *q, link_id link, bool marked)
{
    ASSERT(q->leader.phase == LEADER_ACTIVE);
    push_wish(&q->leader, (struct wish){.link = link,
                                        .zxid = history_last(&q->history),
                                        .round = q->leader.round + 1,
                                        .marked = marked});
    if (!q->leader.round_open) {
        begin_round(q);
        go_on(q);
    }
}

static void confirm(struct quorum *q, struct peer *p)
{
    if (!p->confirmed) {
        p->confirmed = true;
        go_on(q);
    }
}

void confirm_pong(struct quorum *q, struct peer *p)
{
    p->pings_answered++;
    ASSERT(p->pings_answered <= p->pings_sent);
    if (p->pings_answered >= p->confirming_ping) {
        confirm(q, p);
    }
}

void confirm_ack(struct quorum *q, struct peer *p, int64_t zxid)
{
    if (q->leader.round_open && zxid >= q->leader.round_zxid) {
        confirm(q, p);
    }
}
