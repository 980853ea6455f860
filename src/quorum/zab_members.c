/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of members that count, and how one takes the place of another.
 *
 *            proposed, or with NEWLEADER            committed, or with UPTODATE
 *   active ------------------------------> next ------------------------------> active
 *                                                     the one before: old, until what was proposed
 *                                                     when it counted is committed
 *
 * A change of the list is a transaction, and its zxid is the new list's version. From its proposal
 * on both lists count: whatever a leader asks for, it needs a quorum of each. So nobody leads by
 * one of them unless a quorum of the other agrees, whichever a member knows of; and the new list is
 * on disk (SAVE_CONFIG) before its proposal or NEWLEADER is acked. What was proposed before the
 * change is committed by the active list alone; what was proposed between the proposal and the
 * commit of the change by both of them, even when the new one is active: who does not know yet that
 * it is elects by the old one, and must find it there.
 *
 * A list whose proposal was cut from the history is forgotten. It was not committed: a quorum of
 * the active list would have it, and with that whoever leads. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "quorum/zab.h"

/* --- whose word counts --- */

/* Who comes as an observer is none of the active list's voters; of another list it may be one. */
struct seats members_seats(const struct quorum *q, int64_t sid, bool observes)
{
    struct seats s;

    for (int i = 0; i < N_LISTS; i++) {
        bool votes = q->list[i] != NULL && quorum_config_is_voter(q->list[i], sid);

        s.at[i] = votes ? quorum_config_find(q->list[i], sid) : -1;
    }
    s.at[LIST_ACTIVE] = observes ? -1 : s.at[LIST_ACTIVE];
    return s;
}

void tally_add(struct tally *t, const struct seats *s)
{
    for (int i = 0; i < N_LISTS; i++) {
        if (s->at[i] >= 0) {
            quorum_set_add(&t->set[i], s->at[i]);
        }
    }
}

static bool contains(const struct quorum_config *c, const struct quorum_set *set)
{
    if (BROKEN(QUORUM_COUNT)) {
        size_t n = 0;

        for (int i = 0; i < (int)c->n_members; i++) {
            n += quorum_set_has(set, i) && quorum_set_has(&c->voters, i);
        }
        return 2 * n >= c->n_voters - 1;
    }
    return quorum_config_contains(c, set);
}

bool members_are_enough(const struct quorum *q, const struct tally *t)
{
    const struct quorum_config *next = q->list[LIST_NEXT];

    return contains(q->list[LIST_ACTIVE], &t->set[LIST_ACTIVE]) &&
           (next == NULL || BROKEN(BOTH_QUORUMS) || contains(next, &t->set[LIST_NEXT]));
}

/* An observer does not ack what is proposed, even if it is to be a voter: when its list is
 * NEWLEADER's it will be one. */
static bool may_ack(const struct peer *p, enum list_kind list)
{
    return !p->observer || list == LIST_OLD;
}

bool members_can_commit(const struct quorum *q,
                        bool (*is_with_us)(const struct quorum *q, const struct peer *p))
{
    struct tally t = {0};
    struct peer *p;

    tally_add(&t, &q->seats);
    peers_for_each (p, q) {
        for (int list = 0; list < N_LISTS && is_with_us(q, p); list++) {
            if (p->seats.at[list] >= 0 && may_ack(p, (enum list_kind)list)) {
                quorum_set_add(&t.set[list], p->seats.at[list]);
            }
        }
    }
    return members_are_enough(q, &t) &&
           (q->list[LIST_OLD] == NULL || contains(q->list[LIST_OLD], &t.set[LIST_OLD]));
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- how far a quorum of each has come --- */

struct ballot {
    int seat;
    int64_t acked;
};

/* Who has come again with the active list will not elect by the old one: it need not have what it
 * was asked for under that. (Its part in the new list may be another, and it cannot ack.) */
static int64_t acked_for(const struct quorum *q, const struct peer *p, enum list_kind list)
{
    bool knows = p->config_version >= q->list[LIST_ACTIVE]->version;

    return list == LIST_OLD && knows ? INT64_MAX : p->acked;
}

static void put_ballot(struct ballot *votes, size_t *n, struct ballot vote)
{
    size_t at = *n;

    if (vote.seat < 0) {
        return;
    }
    for (; at > 0 && votes[at - 1].acked < vote.acked; at--) {
        votes[at] = votes[at - 1];
    }
    votes[at] = vote;
    (*n)++;
}

/* P4: we have on disk what LOG_DURABLE has told. */
static size_t count_votes(const struct quorum *q, enum list_kind list, struct ballot *votes)
{
    int64_t on_disk = BROKEN(P4) ? history_last(&q->history) : members_ackable(q, q->durable);
    size_t n = 0;
    struct peer *p;

    put_ballot(votes, &n, (struct ballot){q->seats.at[list], turn_on_disk(q, on_disk)});
    peers_for_each (p, q) {
        if (p->state == PEER_SERVED && n < QUORUM_MEMBERS_MAX) {
            put_ballot(votes, &n, (struct ballot){p->seats.at[list], acked_for(q, p, list)});
        }
    }
    return n;
}

/* The last zxid that a quorum of a list has on disk; 0: there is no quorum. */
static int64_t reached(const struct quorum *q, enum list_kind list)
{
    struct ballot votes[QUORUM_MEMBERS_MAX];
    size_t n = count_votes(q, list, votes);
    struct quorum_set set = QUORUM_SET_EMPTY;

    for (size_t i = 0; i < n; i++) {
        quorum_set_add(&set, votes[i].seat);
        if (contains(q->list[list], &set)) {
            return votes[i].acked;
        }
    }
    return 0;
}

int64_t members_committable(const struct quorum *q)
{
    int64_t zxid = reached(q, LIST_ACTIVE), by_list;

    if (q->list[LIST_NEXT] != NULL && !BROKEN(BOTH_QUORUMS)) {
        int64_t before = history_before(&q->history, q->list[LIST_NEXT]->version);

        by_list = reached(q, LIST_NEXT);
        zxid = least(zxid, by_list > before ? by_list : before);
    }
    if (q->list[LIST_OLD] != NULL && !BROKEN(OLD_QUORUM)) {
        by_list = reached(q, LIST_OLD);
        zxid = by_list < q->old_last ? least(zxid, by_list) : zxid;
    }
    return zxid;
}

/* --- life of a list --- */

static struct quorum_config *config_new(const struct quorum_config *from)
{
    struct quorum_config *c = must_alloc(sizeof *c);

    quorum_config_copy(c, from);
    return c;
}

static void config_free(struct quorum_config **c)
{
    if (*c != NULL) {
        quorum_config_fini(*c);
        free(*c);
        *c = NULL;
    }
}

/* A learner takes the list that NEWLEADER has with UPTODATE: of a leader that is active already it
 * gets the active one, for the next may come to nothing. (Java's sends the next one.) */
static void write_text(struct quorum *q)
{
    bool is_active = q->phase == QUORUM_LEADING && q->leader.phase == LEADER_ACTIVE;
    enum list_kind list = q->list[LIST_NEXT] != NULL && !is_active ? LIST_NEXT : LIST_ACTIVE;

    strbuf_clear(&q->config_text);
    quorum_config_write(q->list[list], &q->config_text);
}

/* Who is in no list is what it was started as. */
static bool is_observer_in(const struct quorum *q, const struct quorum_config *c)
{
    int i = quorum_config_find(c, q->options.sid);

    return i >= 0 ? c->member[i].observer : q->options.observer;
}

static void take_seats(struct quorum *q)
{
    struct peer *p;

    q->seats = members_seats(q, q->options.sid, is_observer_in(q, q->list[LIST_ACTIVE]));
    peers_for_each (p, q) {
        if (p->state > PEER_GREETING) {
            p->seats = members_seats(q, p->sid, p->observer);
        }
    }
}

void members_init(struct quorum *q, const struct quorum_config *config)
{
    q->list[LIST_ACTIVE] = config_new(config);
    q->first_unsaved = INT64_MAX;
    strbuf_init(&q->config_text, STRBUF_NO_LIMIT);
    write_text(q);
    take_seats(q);
}

void members_fini(struct quorum *q)
{
    config_free(&q->list[LIST_ACTIVE]);
    config_free(&q->list[LIST_NEXT]);
    config_free(&q->list[LIST_OLD]);
    strbuf_fini(&q->config_text);
}

void members_check(const struct quorum *q)
{
    ASSERT(q->list[LIST_NEXT] == NULL ||
           q->list[LIST_NEXT]->version > q->list[LIST_ACTIVE]->version);
    ASSERT(q->list[LIST_OLD] == NULL || (q->phase == QUORUM_LEADING && q->old_last > q->committed));
    ASSERT(q->list[LIST_OLD] == NULL || q->list[LIST_OLD]->version < q->list[LIST_ACTIVE]->version);
}

static void save(struct quorum *q)
{
    const struct quorum_config *next = q->list[LIST_NEXT];

    quorum_emit(q, QUORUM_DO_SAVE_CONFIG)->config = next;
    q->n_saving++;
    q->first_unsaved = least(q->first_unsaved, next != NULL ? next->version : INT64_MAX);
}

static void set_next(struct quorum *q, const struct quorum_config *next)
{
    struct quorum_config *copy = config_new(next);

    config_free(&q->list[LIST_NEXT]);
    q->list[LIST_NEXT] = copy;
    election_take_next(q->election, copy);
    write_text(q);
    take_seats(q);
}

void members_recover(struct quorum *q, const struct quorum_config *next, bool is_saved)
{
    if (next != NULL && next->version > q->list[LIST_ACTIVE]->version) {
        set_next(q, next);
        members_forget_after(q, history_last(&q->history));
        if (!is_saved && q->list[LIST_NEXT] != NULL) {
            save(q);
        }
    }
}

/* The newest list may be active before it is on disk: others have committed it. */
static int64_t newest_version(const struct quorum *q)
{
    return q->list[q->list[LIST_NEXT] != NULL ? LIST_NEXT : LIST_ACTIVE]->version;
}

bool members_are_saved(const struct quorum *q)
{
    return q->n_saving == 0 || BROKEN(P10);
}

void members_saved(struct quorum *q)
{
    ASSERT(q->n_saving > 0);
    if (--q->n_saving == 0) {
        q->first_unsaved = INT64_MAX;
    }
}

int64_t members_ackable(const struct quorum *q, int64_t durable)
{
    return members_are_saved(q) ? durable
                                : least(durable, history_before(&q->history, q->first_unsaved));
}

static void take_seen(struct quorum *q, const struct quorum_config *seen)
{
    if (seen->version > newest_version(q)) {
        set_next(q, seen);
        save(q);
    }
}

bool members_read(struct bytes text, struct quorum_config *out)
{
    struct strbuf why;
    bool is_read;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    is_read = quorum_config_read(out, text, &why);
    if (!is_read) {
        log_error("a list of members that was sent cannot be read: %s", strbuf_cstr(&why));
    }
    strbuf_fini(&why);
    return is_read;
}

static bool members_see(struct quorum *q, struct bytes text)
{
    struct quorum_config seen;

    if (!members_read(text, &seen)) {
        return false;
    }
    take_seen(q, &seen);
    quorum_config_fini(&seen);
    return true;
}

bool members_hear_leader(struct quorum *q, struct bytes text)
{
    struct quorum_config told;

    q->learner.list_version = 0;
    if (q->options.config_of == NULL || bytes_is_null(text) || text.len == 0) {
        return true;
    }
    if (!members_read(text, &told)) {
        return false;
    }
    members_forget_after(q, told.version);
    take_seen(q, &told);
    q->learner.list_version = told.version;
    quorum_config_fini(&told);
    return true;
}

bool members_see_proposal(struct quorum *q, struct bytes payload)
{
    struct bytes text;

    return q->options.config_of == NULL || !q->options.config_of(payload, &text) ||
           members_see(q, text);
}

/* One that a first leader has numbered is the active one but for its version: it may stay. */
void members_forget_after(struct quorum *q, int64_t zxid)
{
    if (q->list[LIST_NEXT] != NULL && q->list[LIST_NEXT]->version > zxid &&
        zxid_counter(q->list[LIST_NEXT]->version) != 0) {
        config_free(&q->list[LIST_NEXT]);
        election_take_next(q->election, NULL);
        write_text(q);
        take_seats(q);
        save(q);
    }
}

/* The first leader of an ensemble gives the list of its files a version. */
static void give_version(struct quorum *q, int64_t epoch)
{
    struct quorum_config *numbered;

    numbered = config_new(q->list[LIST_ACTIVE]);
    numbered->version = zxid_make(epoch, 0);
    set_next(q, numbered);
    config_free(&numbered);
    save(q);
}

void members_unite(struct quorum *q, int64_t epoch)
{
    if (q->options.config_of != NULL && q->list[LIST_ACTIVE]->version == 0 &&
        q->list[LIST_NEXT] == NULL) {
        give_version(q, epoch);
    }
    write_text(q);
}

bool members_keep_role(const struct quorum *q)
{
    const struct quorum_config *next = q->list[LIST_NEXT];
    bool is_observer = is_observer_in(q, next);

    if (q->role == MEMBER_LEADING) {
        return quorum_config_same_voter(q->list[LIST_ACTIVE], next, q->options.sid);
    }
    return is_observer == (q->role == MEMBER_OBSERVING) &&
           quorum_config_is_voter(next, q->leader_sid);
}

/* `fresh` is taken over. */
static void replace_active(struct quorum *q, struct quorum_config *fresh)
{
    config_free(&q->list[LIST_OLD]);
    if (q->phase == QUORUM_LEADING && q->leader.phase == LEADER_ACTIVE &&
        history_last(&q->history) > q->committed) {
        q->list[LIST_OLD] = q->list[LIST_ACTIVE];
        q->old_last = history_last(&q->history);
    } else {
        config_free(&q->list[LIST_ACTIVE]);
    }
    q->list[LIST_ACTIVE] = fresh;
    write_text(q);
    take_seats(q);
    election_take_config(q->election, fresh);
    quorum_emit(q, QUORUM_DO_ACTIVATE)->config = q->list[LIST_ACTIVE];
    log_info("the list of members of version 0x%" PRIx64 " is active",
             (uint64_t)q->list[LIST_ACTIVE]->version);
}

void members_activate(struct quorum *q)
{
    struct quorum_config *fresh = q->list[LIST_NEXT];

    ASSERT(fresh != NULL);
    q->list[LIST_NEXT] = NULL;
    election_take_next(q->election, NULL);
    replace_active(q, fresh);
}

/* One that is later still may be in our history, and nobody has said that it is committed. */
void members_adopt(struct quorum *q, const struct quorum_config *told)
{
    const struct quorum_config *next = q->list[LIST_NEXT];

    ASSERT(told->version > q->list[LIST_ACTIVE]->version);
    if (next != NULL && next->version > told->version) {
        replace_active(q, config_new(told));
        save(q);
    } else {
        take_seen(q, told);
        members_activate(q);
    }
}

void members_drop_old(struct quorum *q)
{
    if (q->list[LIST_OLD] != NULL && (q->committed >= q->old_last || q->phase != QUORUM_LEADING)) {
        config_free(&q->list[LIST_OLD]);
        take_seats(q);
    }
}

/* The one that has most of what is proposed, so that as little as possible has to be sent. */
int64_t members_designate(const struct quorum *q)
{
    const struct peer *best = NULL;
    struct peer *p;

    if (quorum_config_same_voter(q->list[LIST_ACTIVE], q->list[LIST_NEXT], q->options.sid)) {
        return q->options.sid;
    }
    peers_for_each (p, q) {
        if (p->state == PEER_SERVED && p->seats.at[LIST_NEXT] >= 0 &&
            p->acked >= q->list[LIST_NEXT]->version && (best == NULL || p->acked > best->acked)) {
            best = p;
        }
    }
    ASSERT(best != NULL || BROKEN(BOTH_QUORUMS)); /* a quorum of them has acked it */
    return best != NULL ? best->sid : SID_NOBODY;
}
