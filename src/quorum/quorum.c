/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/quorum.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "quorum/zab.h"

#ifdef PAWL_BREAKABLE
enum broken_rule broken_rule = BROKEN_NONE;
#endif

enum {
    REST_FIRST_US = 5 * 1000,
    REST_LAST_US = 1000 * 1000,
    SHY_TICKS = 2,
};

/* --- effects --- */

void quorum_effects_init(struct quorum_effects *e)
{
    *e = (struct quorum_effects){0};
}

void quorum_effects_fini(struct quorum_effects *e)
{
    free(e->items);
    quorum_effects_init(e);
}

struct quorum_effect *quorum_emit(struct quorum *q, enum quorum_effect_kind kind)
{
    struct quorum_effects *e = q->out;

    if (e->count == e->capacity) {
        e->capacity = e->capacity == 0 ? 16 : 2 * e->capacity;
        e->items = must_realloc(e->items, e->capacity * sizeof *e->items);
    }
    e->items[e->count] = (struct quorum_effect){.kind = kind};
    return &e->items[e->count++];
}

void quorum_send(struct quorum *q, link_id link, int32_t type, int64_t zxid, struct bytes data)
{
    struct quorum_effect *e = quorum_emit(q, QUORUM_DO_SEND);

    ASSERT(link != 0);
    e->link = link;
    e->packet.type = type;
    e->packet.zxid = zxid;
    e->packet.data = data;
    e->packet.auth.count = -1;
}

void quorum_close(struct quorum *q, link_id link, const char *reason)
{
    struct quorum_effect *e = quorum_emit(q, QUORUM_DO_CLOSE);

    ASSERT(link != 0);
    e->link = link;
    e->reason = reason;
}

void quorum_save_epoch(struct quorum *q, enum quorum_epoch which, int64_t epoch)
{
    struct quorum_effect *e = quorum_emit(q, QUORUM_DO_SAVE_EPOCH);

    ASSERT(epoch >= (which == EPOCH_ACCEPTED ? q->accepted_epoch : q->current_epoch));
    e->which = which;
    e->epoch = epoch;
}

/* What nobody can need from memory any more: it is in the tree, and in the files. Before a step:
 * the effects of the last one pointed to it. */
static void forget_old(struct quorum *q)
{
    recent_shrink(&q->recent, q->durable < q->committed ? q->durable : q->committed);
}

void quorum_append(struct quorum *q, int64_t zxid, struct bytes payload)
{
    struct quorum_effect *e = quorum_emit(q, QUORUM_DO_APPEND);

    e->zxid = zxid;
    e->bytes = payload;
    history_append(&q->history, zxid);
    recent_append(&q->recent, zxid, payload);
}

void quorum_commit(struct quorum *q, int64_t zxid)
{
    ASSERT(zxid > q->committed);
    ASSERT(zxid <= history_last(&q->history));
    q->committed = zxid;
    quorum_emit(q, QUORUM_DO_COMMIT)->zxid = zxid;
}

/* --- phases --- */

static const uint8_t may_follow[N_QUORUM_PHASES] = {
    [QUORUM_NEW] = 1 << QUORUM_MENDING | 1 << QUORUM_LOOKING,
    [QUORUM_MENDING] = 1 << QUORUM_LOOKING,
    [QUORUM_LOOKING] = 1 << QUORUM_LEADING | 1 << QUORUM_LEARNING,
    [QUORUM_LEADING] = 1 << QUORUM_STOPPING,
    [QUORUM_LEARNING] = 1 << QUORUM_STOPPING,
    [QUORUM_STOPPING] = 1 << QUORUM_LOOKING | 1 << QUORUM_RESTING,
    [QUORUM_RESTING] = 1 << QUORUM_LOOKING,
};

/* What is not both committed and on disk is in memory; and what is there is the history's end. */
static void memory_check(const struct quorum *q)
{
    const struct recent *r = &q->recent;
    int64_t last = history_last(&q->history);

    ASSERT(r->count == 0 || recent_at(r, r->count - 1)->zxid == last);
    ASSERT(r->count > 0 || (q->durable == last && q->committed == last));
    ASSERT(r->count == 0 || history_before(&q->history, recent_at(r, 0)->zxid) <= q->durable);
    ASSERT(r->count == 0 || history_before(&q->history, recent_at(r, 0)->zxid) <= q->committed);
}

/* What is true between any two steps. */
static void quorum_check(const struct quorum *q)
{
    ASSERT((q->phase == QUORUM_LOOKING) <= (q->role == MEMBER_LOOKING));
    ASSERT(q->durable <= history_last(&q->history));
    ASSERT(q->committed <= history_last(&q->history));
    ASSERT((q->phase == QUORUM_LEADING) || (q->leader.n_peers == 0 && q->leader.n_wishes == 0));
    ASSERT((q->phase == QUORUM_LEARNING) || (q->learner.link == 0));
    memory_check(q);
    members_check(q);
    if (q->phase != QUORUM_NEW && q->phase != QUORUM_MENDING) {
        ASSERT(q->accepted_epoch >= q->current_epoch);
    }
    if (q->phase == QUORUM_LEADING) {
        leader_check(q);
    } else if (q->phase == QUORUM_LEARNING) {
        learner_check(q);
    }
}

static void quorum_move(struct quorum *q, enum quorum_phase next)
{
    ASSERT(may_follow[q->phase] & 1 << next);
    q->phase = next;
}

/* --- the election --- */

static void take_role(struct quorum *q, int64_t leader, enum member_state role)
{
    ASSERT(q->phase == QUORUM_LOOKING);
    ASSERT((role == MEMBER_LEADING) == (leader == q->options.sid));
    q->role = role;
    q->elected_us = q->now_us;
    q->leader_sid = leader;
    if (role == MEMBER_LEADING) {
        quorum_move(q, QUORUM_LEADING);
        leader_begin(q);
    } else {
        quorum_move(q, QUORUM_LEARNING);
        learner_begin(q);
    }
}

static bool is_serving(const struct quorum *q)
{
    return (q->phase == QUORUM_LEADING && q->leader.phase == LEADER_ACTIVE) ||
           (q->phase == QUORUM_LEARNING && q->learner.phase == LEARNER_SERVING);
}

static void begin_election(struct quorum *q, int64_t last);

/* Somebody knows a list that became active when we were away: the election begins again, among
 * those. Who leads alone, by a list that has only itself, hears of it in this way, too. */
static void take_newer_list(struct quorum *q, struct bytes text)
{
    bool looks = q->phase == QUORUM_LOOKING;
    struct quorum_config told;

    if (is_serving(q) || q->phase == QUORUM_STOPPING || !members_read(text, &told)) {
        return;
    }
    if (looks) {
        election_step(q->election, q->now_us, &(struct election_input){.kind = ELECTION_LEAVE},
                      &q->elected);
    } else {
        quorum_leave(q, "others have a later list of members");
    }
    members_adopt(q, &told);
    quorum_config_fini(&told);
    if (looks) {
        begin_election(q, history_last(&q->history));
    }
}

static void ask_election(struct quorum *q, const struct election_input *in)
{
    size_t before = q->elected.n;

    election_step(q->election, q->now_us, in, &q->elected);
    for (size_t i = before; i < q->elected.n; i++) {
        if (q->elected.effect[i].kind == ELECTION_ELECTED) {
            take_role(q, q->elected.effect[i].id, q->elected.effect[i].state);
            return; /* the last word of an election */
        }
        if (q->elected.effect[i].kind == ELECTION_NEWER_LIST) {
            take_newer_list(q, q->elected.effect[i].list);
            return; /* another election has begun */
        }
    }
}

/* At the end of a step: until then the election may be asked again, and its bytes move. */
static void emit_notifications(struct quorum *q)
{
    for (size_t i = 0; i < q->elected.n; i++) {
        const struct election_effect *effect = &q->elected.effect[i];

        if (effect->kind == ELECTION_NOTIFY) {
            struct quorum_effect *e = quorum_emit(q, QUORUM_DO_NOTIFY);

            e->sid = effect->id;
            e->bytes = effect->bytes;
        }
    }
}

static bool abstains(const struct quorum *q)
{
    return q->damaged || q->diverged || q->deaf || q->now_us < q->shy_until_us;
}

static void stand_if_we_can(struct quorum *q)
{
    if (!abstains(q)) {
        ask_election(q, &(struct election_input){.kind = ELECTION_HEARS});
    }
}

/* They have elected us and nobody came: it may be that they cannot, because the packets to our
 * quorum port are dropped on the way. They would elect us again, in vain, without end. So we let
 * them have another one, if one has as much as we have; not for long, because those who were only
 * slow wait with us. */
static void become_shy(struct quorum *q)
{
    int64_t shy_us = ticks_us(q, SHY_TICKS);

    q->unreached = false;
    q->shy_until_us = q->now_us + shy_us;
    log_warn("nobody has connected to this leader within initLimit: perhaps its quorum port cannot "
             "be reached. For %" PRId64 " ms it votes for another one",
             shy_us / 1000);
}

static void begin_election(struct quorum *q, int64_t last)
{
    ask_election(q, &(struct election_input){.kind = ELECTION_START,
                                             .zxid = last,
                                             .epoch = q->current_epoch,
                                             .deaf = abstains(q),
                                             .damaged = q->damaged && !BROKEN(DAMAGED_COUNTS)});
}

/* P9: the vote is not behind anything that was ever acked, so `last` is all that is logged. */
static void look(struct quorum *q, int64_t last)
{
    quorum_move(q, QUORUM_LOOKING);
    q->looking_since_us = q->now_us;
    q->role = MEMBER_LOOKING;
    q->leader_sid = SID_NOBODY;
    if (q->unreached) {
        become_shy(q);
    }
    ASSERT(q->committed == history_last(&q->history));
    begin_election(q, last);
}

void quorum_synced(struct quorum *q, int64_t epoch)
{
    ask_election(q, &(struct election_input){.kind = ELECTION_SYNCED, .epoch = epoch});
}

void quorum_leave(struct quorum *q, const char *reason)
{
    q->n_in_vain = is_serving(q) ? 0 : q->n_in_vain + 1;
    if (q->phase == QUORUM_LEADING) {
        leader_end(q);
    } else {
        ASSERT(q->phase == QUORUM_LEARNING);
        learner_end(q);
    }
    quorum_move(q, QUORUM_STOPPING);
    quorum_emit(q, QUORUM_DO_STOP)->reason = reason;
    ask_election(q, &(struct election_input){.kind = ELECTION_LEAVE});
    members_drop_old(q);
}

void quorum_hand_over(struct quorum *q, int64_t leader, const char *reason)
{
    quorum_leave(q, reason);
    q->designated = leader;
}

/* --- beginning and end of a role --- */

/* A crash in the middle of a synchronisation leaves a log of a later epoch than currentEpoch. It is
 * a beginning of that epoch's history without a hole, so nobody with less of it can win by it. */
static void mend_epochs(struct quorum *q)
{
    int64_t epoch = zxid_epoch(history_last(&q->history));

    if (epoch < q->current_epoch) {
        epoch = q->current_epoch;
    }
    if (q->accepted_epoch < epoch) {
        quorum_save_epoch(q, EPOCH_ACCEPTED, epoch);
    }
    if (q->current_epoch < epoch) {
        quorum_save_epoch(q, EPOCH_CURRENT, epoch);
    }
}

static void start(struct quorum *q, const struct quorum_input *in)
{
    bool mends;

    ASSERT(q->phase == QUORUM_NEW);
    ASSERT(in->zxid >= 0);
    history_fini(&q->history);
    if (in->history != NULL) {
        history_copy(&q->history, in->history);
    } else {
        history_begin(&q->history, in->zxid);
    }
    ASSERT(history_last(&q->history) == in->zxid);
    q->durable = in->zxid;
    q->committed = in->zxid;
    q->accepted_epoch = in->accepted_epoch;
    q->current_epoch = in->current_epoch;
    q->deaf = in->deaf;
    q->diverged = in->diverged;
    q->damaged = in->damaged;
    ASSERT(!q->diverged || in->zxid > 0); /* there is a tree that can be wrong */
    mend_epochs(q);
    mends = q->out->count > 0;
    members_recover(q, in->next, in->next_is_saved);
    if (mends) {
        quorum_move(q, QUORUM_MENDING);
    } else {
        look(q, in->zxid);
    }
}

static void go_on_mending(struct quorum *q)
{
    int64_t epoch = zxid_epoch(history_last(&q->history));

    if (q->current_epoch >= epoch && q->accepted_epoch >= q->current_epoch) {
        look(q, history_last(&q->history));
    }
}

/* A leader that refuses us, or whom nobody follows, would be elected again at once, for ever: each
 * time in vain takes twice the rest of the one before. Observers are not needed to elect anybody,
 * and may be many. 0: none. */
static int64_t rest_due_us(struct quorum *q)
{
    int64_t rest_us = (int64_t)REST_FIRST_US << (q->n_in_vain < 10 ? q->n_in_vain : 10);
    int64_t pause_us = q->options.observer ? q->options.observer_pause_ms * 1000 : 0;

    if (q->n_in_vain > 1) {
        rest_us = rest_us < REST_LAST_US ? rest_us : REST_LAST_US;
    } else {
        rest_us = pause_us > 0 ? (int64_t)prng_below(&q->prng, (uint64_t)pause_us) : 0;
    }
    return rest_us < q->least_rest_us ? q->least_rest_us : rest_us;
}

static void rest(struct quorum *q, int64_t rest_us)
{
    quorum_move(q, QUORUM_RESTING);
    q->role = MEMBER_LOOKING;
    q->leader_sid = SID_NOBODY;
    q->rest_us = q->now_us + rest_us;
    q->least_rest_us = 0;
}

/* Nobody is elected: the last leader has named the next one. */
static void follow_designated(struct quorum *q, int64_t zxid)
{
    int64_t leader = q->designated;

    q->designated = SID_NOBODY;
    if (leader == q->options.sid && abstains(q)) {
        look(q, zxid);
        return;
    }
    quorum_move(q, QUORUM_LOOKING);
    q->looking_since_us = q->now_us;
    q->role = MEMBER_LOOKING;
    ask_election(
        q, &(struct election_input){
               .kind = ELECTION_DESIGNATED, .id = leader, .zxid = zxid, .epoch = q->current_epoch});
}

/* The tree has all that is logged, committed or not: it is our history, and if we lead it will be
 * everybody's. */
static void stopped(struct quorum *q, int64_t zxid)
{
    int64_t vote = BROKEN(P9) ? q->committed : zxid;
    int64_t rest_us = rest_due_us(q);

    ASSERT(q->phase == QUORUM_STOPPING);
    ASSERT(zxid == history_last(&q->history));
    q->durable = zxid;
    q->committed = zxid;
    if (q->designated != SID_NOBODY) {
        follow_designated(q, zxid);
    } else if (rest_us == 0) {
        look(q, vote);
    } else {
        rest(q, rest_us);
    }
}

/* --- inputs that concern every role --- */

static void epoch_saved(struct quorum *q, enum quorum_epoch which, int64_t epoch)
{
    int64_t *saved = which == EPOCH_ACCEPTED ? &q->accepted_epoch : &q->current_epoch;

    ASSERT(epoch >= *saved);
    *saved = epoch;
}

static void log_durable(struct quorum *q, int64_t zxid)
{
    ASSERT(zxid <= history_last(&q->history));
    if (zxid > q->durable) {
        q->durable = zxid;
    }
}

/* What is behind `zxid` is gone, from the log and from memory. */
static void truncated(struct quorum *q, int64_t zxid)
{
    history_cut(&q->history, zxid);
    members_forget_after(q, zxid);
    recent_clear(&q->recent);
    q->durable = zxid;
    q->committed = zxid;
}

/* Nothing that the log had before counts: it may never have been committed, and what lies between
 * it and the snapshot is missing. */
static void snapshot_loaded(struct quorum *q, int64_t zxid)
{
    history_fini(&q->history);
    history_begin(&q->history, zxid);
    members_forget_after(q, zxid);
    recent_clear(&q->recent);
    q->durable = zxid;
    q->committed = zxid;
    q->diverged = q->damaged = false;
}

/* What is not committed, or not on disk, is somebody's to send or to ack: it cannot be gone. Where
 * no record is of that zxid, whoever has the last one before it still lacks nothing that is gone.
 */
static void log_trimmed(struct quorum *q, int64_t zxid)
{
    int64_t settled = q->durable < q->committed ? q->durable : q->committed;
    int64_t gone = zxid < settled ? zxid : settled;

    history_trim(&q->history, history_before(&q->history, gone + 1));
}

/* The state that every role has; what the role makes of it comes after. */
static void note(struct quorum *q, const struct quorum_input *in)
{
    switch (in->kind) {
    case QUORUM_IN_EPOCH_SAVED:
        epoch_saved(q, in->which, in->epoch);
        break;
    case QUORUM_IN_CONFIG_SAVED:
        members_saved(q);
        break;
    case QUORUM_IN_LOG_DURABLE:
        log_durable(q, in->zxid);
        break;
    case QUORUM_IN_TRUNCATED:
        truncated(q, in->zxid);
        break;
    case QUORUM_IN_SNAPSHOT_LOADED:
        snapshot_loaded(q, in->zxid);
        break;
    case QUORUM_IN_LOG_TRIMMED:
        log_trimmed(q, in->zxid);
        break;
    default:
        break;
    }
}

static void election_input(struct quorum *q, const struct quorum_input *in)
{
    struct election_input e = {.id = in->sid, .bytes = in->bytes};

    switch (in->kind) {
    case QUORUM_IN_NOTIFICATION:
        e.kind = ELECTION_NOTIFICATION;
        break;
    case QUORUM_IN_REFUSED:
        e.kind = ELECTION_REFUSED;
        break;
    default:
        ASSERT(in->kind == QUORUM_IN_TICK);
        e.kind = ELECTION_TICK;
        break;
    }
    ask_election(q, &e);
}

static void hears(struct quorum *q)
{
    q->deaf = false;
    stand_if_we_can(q);
}

static void idle_tick(struct quorum *q)
{
    if (q->now_us >= q->shy_until_us) {
        q->shy_until_us = 0;
    }
    if (q->phase == QUORUM_RESTING && q->now_us >= q->rest_us) {
        look(q, history_last(&q->history));
    } else if (q->phase == QUORUM_LOOKING) {
        stand_if_we_can(q);
    }
}

/* Without a role a link is nobody's. */
static void idle_step(struct quorum *q, const struct quorum_input *in)
{
    switch (in->kind) {
    case QUORUM_IN_LINK_UP:
        quorum_close(q, in->link, "not wanted any more");
        break;
    case QUORUM_IN_STOPPED:
        stopped(q, in->zxid);
        break;
    case QUORUM_IN_TICK:
        idle_tick(q);
        break;
    case QUORUM_IN_EPOCH_SAVED:
        if (q->phase == QUORUM_MENDING) {
            go_on_mending(q);
        }
        break;
    default:
        break;
    }
}

static void role_step(struct quorum *q, const struct quorum_input *in)
{
    if (q->phase == QUORUM_LEADING) {
        leader_step(q, in);
    } else if (q->phase == QUORUM_LEARNING) {
        learner_step(q, in);
    } else {
        idle_step(q, in);
    }
}

static void resign(struct quorum *q)
{
    if (q->phase == QUORUM_LEADING || q->phase == QUORUM_LEARNING) {
        quorum_leave(q, "asked to");
    }
}

void quorum_step(struct quorum *q, int64_t now_us, const struct quorum_input *in,
                 struct quorum_effects *out)
{
    ASSERT((q->phase == QUORUM_NEW) == (in->kind == QUORUM_IN_START));
    ASSERT(now_us >= q->now_us);
    q->now_us = now_us;
    q->out = out;
    out->count = 0;
    forget_old(q);
    election_effects_clear(&q->elected);
    switch (in->kind) {
    case QUORUM_IN_START:
        start(q, in);
        break;
    case QUORUM_IN_NOTIFICATION:
    case QUORUM_IN_REFUSED:
        election_input(q, in);
        break;
    case QUORUM_IN_TICK:
        election_input(q, in);
        role_step(q, in);
        break;
    case QUORUM_IN_RESIGN:
        resign(q);
        break;
    case QUORUM_IN_HEARS:
        hears(q);
        break;
    default:
        note(q, in);
        role_step(q, in);
        break;
    }
    emit_notifications(q);
    quorum_check(q);
    q->out = NULL;
}

/* --- life --- */

struct quorum *quorum_new(const struct quorum_options *options)
{
    struct quorum *q = must_zalloc(sizeof *q);

    ASSERT(options->tick_ms > 0);
    ASSERT(options->init_limit > 0);
    ASSERT(options->sync_limit > 0);
    q->options = *options;
    prng_seed(&q->prng, options->seed);
    list_init(&q->leader.peers);
    members_init(q, options->config);
    q->role = MEMBER_LOOKING;
    q->leader_sid = SID_NOBODY;
    q->designated = SID_NOBODY;
    strbuf_init(&q->leader.activation, STRBUF_NO_LIMIT);
    q->election =
        election_new(&(struct election_options){.id = options->sid,
                                                .observer = options->observer,
                                                .config = q->list[LIST_ACTIVE],
                                                .lists_change = options->config_of != NULL,
                                                .min_interval_ms = options->min_notification_ms,
                                                .max_interval_ms = options->max_notification_ms});
    election_effects_init(&q->elected);
    history_begin(&q->history, 0);
    recent_init(&q->recent, options->recent_bytes);
    learner_init(q);
    return q;
}

void quorum_free(struct quorum *q)
{
    struct quorum_effects unheard;

    quorum_effects_init(&unheard);
    q->out = &unheard;
    leader_end(q);
    quorum_effects_fini(&unheard);
    learner_fini(q);
    recent_fini(&q->recent);
    history_fini(&q->history);
    election_effects_fini(&q->elected);
    election_free(q->election);
    members_fini(q);
    strbuf_fini(&q->leader.activation);
    free(q);
}

int64_t quorum_next_us(const struct quorum *q)
{
    int64_t next = election_next_us(q->election);
    int64_t role = INT64_MAX;

    if (q->phase == QUORUM_LEADING) {
        role = leader_next_us(q);
    } else if (q->phase == QUORUM_LEARNING) {
        role = learner_next_us(q);
    } else if (q->phase == QUORUM_RESTING) {
        role = q->rest_us;
    } else if (q->phase == QUORUM_LOOKING && q->shy_until_us != 0) {
        role = q->shy_until_us;
    }
    return role < next ? role : next;
}

/* Outstanding are the records behind the last committed one; while a leader is active these are
 * all of its own epoch. */
static size_t n_outstanding(const struct quorum *q)
{
    return q->recent.count - recent_behind(&q->recent, q->committed);
}

struct quorum_status quorum_status(const struct quorum *q)
{
    struct quorum_status s = {
        .role = q->role,
        .stopping = q->phase == QUORUM_STOPPING,
        .serving = is_serving(q),
        .leader = q->leader_sid,
        .accepted_epoch = q->accepted_epoch,
        .current_epoch = q->current_epoch,
        .last_zxid = history_last(&q->history),
        .durable_zxid = q->durable,
        .committed_zxid = q->committed,
        .n_outstanding = n_outstanding(q),
        .n_wishes = q->leader.n_wishes,
        .election_us = q->elected_us - q->looking_since_us,
        .role_us = q->now_us - q->elected_us,
        .n_diffs = q->n_diffs,
        .n_snapshots = q->n_snapshots,
    };
    struct peer *p;

    peers_for_each (p, q) {
        s.n_links++;
        s.n_synced_observers += p->state == PEER_SERVED && p->observer;
        s.n_synced_non_voting +=
            p->state == PEER_SERVED && !p->observer && p->seats.at[LIST_ACTIVE] < 0;
        s.n_learners += p->state == PEER_SERVED;
        s.n_synced_voters += p->state == PEER_SERVED && p->seats.at[LIST_ACTIVE] >= 0;
    }
    return s;
}

const struct quorum_config *quorum_active_config(const struct quorum *q)
{
    return q->list[LIST_ACTIVE];
}

const struct quorum_config *quorum_next_config(const struct quorum *q)
{
    return q->list[LIST_NEXT];
}

bool quorum_is_changing(const struct quorum *q)
{
    return q->list[LIST_NEXT] != NULL || q->list[LIST_OLD] != NULL;
}

bool quorum_could_commit(const struct quorum *q, const struct quorum_config *next)
{
    struct quorum_set set = QUORUM_SET_EMPTY;
    struct peer *p;

    if (quorum_config_is_voter(next, q->options.sid)) {
        quorum_set_add(&set, quorum_config_find(next, q->options.sid));
    }
    peers_for_each (p, q) {
        if (p->state == PEER_SERVED && !p->observer && quorum_config_is_voter(next, p->sid)) {
            quorum_set_add(&set, quorum_config_find(next, p->sid));
        }
    }
    return quorum_config_contains(next, &set);
}
