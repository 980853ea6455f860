/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/election.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"

enum {
    FINAL_WAIT_US = 200 * 1000, /* how long somebody better may make himself heard */
    MIN_INTERVAL_MS = 200,
    MAX_INTERVAL_MS = 60000,
    /* Servers that do not vote are answered so often at most. Two servers that each take the other
     * for one, because their lists differ, would answer each other for ever. */
    ANSWERS = 64,
    ANSWERS_WINDOW_US = 100 * 1000,
    LIST_BYTES = 4096, /* of members, in a line of the log */
    NO_ROUND = 0, /* before every round: who looks for a leader answers and does not count it */
};

/* The states of a member, and one more: the role is over and START has not come. */
enum { IDLE = MEMBER_OBSERVING + 1, N_PHASES };

#define SETTLED (1 << MEMBER_FOLLOWING | 1 << MEMBER_LEADING | 1 << MEMBER_OBSERVING)

static const uint8_t election_may_follow[N_PHASES] = {
    [IDLE] = 1 << MEMBER_LOOKING | SETTLED,
    [MEMBER_LOOKING] = SETTLED | 1 << MEMBER_LOOKING | 1 << IDLE,
    [MEMBER_FOLLOWING] = 1 << MEMBER_LOOKING | 1 << IDLE,
    [MEMBER_LEADING] = 1 << MEMBER_LOOKING | 1 << IDLE,
    [MEMBER_OBSERVING] = 1 << MEMBER_LOOKING | 1 << IDLE,
};

/* A vote: this one as leader, because it has come so far. */
struct vote {
    int64_t leader;
    int64_t zxid;
    int64_t epoch;
};

/* The vote of one member, as it was told. */
struct heard {
    bool present;
    enum member_state state;
    struct vote vote;
    int64_t round;
    int32_t version;
};

struct election {
    int64_t id;
    const struct quorum_config *config;
    struct strbuf text; /* the configuration, as it is told */
    int me;             /* index, or -1: in no list */
    bool voter;
    bool observer;
    bool observes_unlisted; /* what a server is that is in no list */
    bool lists_change;
    const struct quorum_config *next; /* NULL: none */
    int64_t min_interval_us, max_interval_us;

    int phase;        /* enum member_state, or IDLE */
    int64_t round;    /* the logical clock: lives as long as the process */
    struct vote own;  /* what this server has itself */
    struct vote vote; /* LOOKING: the proposal; in a role: who was elected */
    bool deaf;        /* abstains in this election */
    bool damaged;     /* and does not know whom it could vote for */
    bool lacking;     /* deaf, and the log says already that all others lack something */
    bool had_role;    /* ever, in this process */
    int64_t began_us; /* the election */
    int64_t interval_us;
    int64_t resend_us; /* when the proposal is sent again */
    int64_t final_us;  /* when it is final; INT64_MAX: no quorum agrees */

    struct heard *in_round;    /* by index: said in this round, this server's own vote included */
    struct heard *outside;     /* by index: said by those in a role, in whatever round */
    struct quorum_set refused; /* nobody listened there, since this election began */
    struct quorum_set asked;   /* have to be told the outcome */

    int n_answers; /* to who does not vote, since answers_us */
    int64_t answers_us;
};

/* --- effects --- */

void election_effects_init(struct election_effects *e)
{
    *e = (struct election_effects){0};
    strbuf_init(&e->bytes, STRBUF_NO_LIMIT);
}

void election_effects_fini(struct election_effects *e)
{
    strbuf_fini(&e->bytes);
    free(e->effect);
}

void election_effects_clear(struct election_effects *e)
{
    e->n = 0;
    strbuf_clear(&e->bytes);
}

static struct election_effect *election_add_effect(struct election_effects *out)
{
    if (out->n == out->capacity) {
        out->capacity = out->capacity == 0 ? 16 : 2 * out->capacity;
        out->effect = must_realloc(out->effect, out->capacity * sizeof(*out->effect));
    }
    return &out->effect[out->n++];
}

/* Bytes move while they grow: views of them are made at the end of a step. */
static void election_lend_bytes(struct election_effects *out)
{
    ASSERT(!out->bytes.failed);
    for (size_t i = 0; i < out->n; i++) {
        out->effect[i].bytes.data = out->bytes.data + out->effect[i].offset;
    }
}

/* --- what is true between any two steps --- */

static bool election_is_settled(const struct election *e)
{
    return (1 << e->phase & SETTLED) != 0;
}

static void election_check(const struct election *e)
{
    ASSERT(e->phase >= MEMBER_LOOKING && e->phase < N_PHASES);
    ASSERT((e->phase == MEMBER_LEADING) == (election_is_settled(e) && e->vote.leader == e->id));
    ASSERT(e->phase != MEMBER_LEADING || (e->voter && !e->deaf));
    ASSERT(e->phase != MEMBER_OBSERVING || e->observer);
    ASSERT(e->phase != MEMBER_FOLLOWING || !e->observer);
    if (election_is_settled(e)) {
        ASSERT(quorum_config_is_voter(e->config, e->vote.leader));
    }
    if (e->phase == MEMBER_LOOKING) {
        ASSERT(!e->voter || e->in_round[e->me].vote.leader == e->vote.leader);
        ASSERT(!e->deaf || e->vote.leader != e->id);
        ASSERT(e->interval_us > 0);
    } else {
        ASSERT(e->final_us == INT64_MAX);
    }
}

static void election_move(struct election *e, int next)
{
    ASSERT(election_may_follow[e->phase] & 1 << next);
    e->phase = next;
    e->final_us = INT64_MAX;
}

/* --- votes --- */

/* Of observers, of those in no list, and of who abstains and has heard of nobody. */
static const struct vote nobody = {INT64_MIN, INT64_MIN, INT64_MIN};

/* Who has no weight is beaten by everybody who has: only such a server votes for itself. */
static bool election_beats(const struct election *e, const struct vote *new,
                           const struct vote *current)
{
    if (quorum_config_weight(e->config, new->leader) == 0) {
        return false;
    }
    if (quorum_config_weight(e->config, current->leader) == 0) {
        return true;
    }
    if (new->epoch != current->epoch) {
        return new->epoch > current->epoch;
    }
    if (new->zxid != current->zxid) {
        return new->zxid > current->zxid;
    }
    return new->leader > current->leader;
}

/* Whether who is voted for has less than this server. */
static bool election_lacks(const struct election *e, const struct vote *vote)
{
    return vote->epoch < e->own.epoch || (vote->epoch == e->own.epoch && vote->zxid < e->own.zxid);
}

/* Whether somebody who abstains may vote so. Its id does not count: it does not stand. But its
 * history does, or what only it has could be lost. */
static bool election_is_eligible(const struct election *e, const struct vote *vote)
{
    return !e->damaged && vote->leader != e->id &&
           quorum_config_weight(e->config, vote->leader) > 0 &&
           (!election_lacks(e, vote) || quorum_config_weight(e->config, e->id) == 0);
}

/* Whether this server would rather vote so. */
static bool election_prefers(const struct election *e, const struct vote *new,
                             const struct vote *current)
{
    return (!e->deaf || election_is_eligible(e, new)) && election_beats(e, new, current);
}

static bool election_same_vote(const struct vote *a, const struct vote *b)
{
    return a->leader == b->leader && a->zxid == b->zxid && a->epoch == b->epoch;
}

/* Those in a role have replaced the epoch of their vote by the one that the leader made, and may
 * have been elected in different rounds. Before 3.4.6 the epoch meant something else. */
static bool election_agree(const struct heard *a, const struct heard *b)
{
    if (a->state == MEMBER_LOOKING || b->state == MEMBER_LOOKING) {
        return a->round == b->round && election_same_vote(&a->vote, &b->vote);
    }
    if ((a->version > 0) != (b->version > 0)) {
        return a->vote.leader == b->vote.leader;
    }
    return a->vote.leader == b->vote.leader && a->vote.epoch == b->vote.epoch;
}

/* Whether those who agree with `h` are a quorum. */
static bool election_has_quorum(const struct election *e, const struct heard *set,
                                const struct heard *h)
{
    struct quorum_set agreeing = QUORUM_SET_EMPTY;

    for (size_t i = 0; i < e->config->n_members; i++) {
        if (set[i].present && election_agree(&set[i], h)) {
            quorum_set_add(&agreeing, (int)i);
        }
    }
    return quorum_config_contains(e->config, &agreeing);
}

/* Whether a quorum is for exactly what this server proposes in this round. */
static bool election_proposal_has_quorum(const struct election *e)
{
    struct heard proposal = {true, MEMBER_LOOKING, e->vote, e->round, 0};

    return e->vote.leader != nobody.leader && election_has_quorum(e, e->in_round, &proposal);
}

/* A leader that has not said itself that it leads may be gone, however many still follow it. And
 * this server knows better than others whether it leads: they may be talking of its former life,
 * which had a round of the same number. */
static bool election_leader_is_there(const struct election *e, const struct heard *set,
                                     const struct heard *h)
{
    int i = quorum_config_find(e->config, h->vote.leader);

    if (h->vote.leader == e->id) {
        return election_same_vote(&h->vote, &e->vote) && election_proposal_has_quorum(e);
    }
    return set[i].present && set[i].state == MEMBER_LEADING;
}

static struct vote election_own_vote(const struct election *e, int64_t zxid, int64_t epoch)
{
    if (e->observer) {
        return nobody;
    }
    return (struct vote){e->voter ? e->id : nobody.leader, zxid, epoch};
}

/* What a round begins with. */
static struct vote election_first_vote(const struct election *e)
{
    return e->deaf ? nobody : e->own;
}

/* --- telling --- */

static void election_say(struct election *e, int64_t id, int64_t round,
                         struct election_effects *out)
{
    struct notification n = election_vote(e);
    struct election_effect *effect = election_add_effect(out);
    size_t start = out->bytes.len;

    n.config = strbuf_bytes(&e->text);
    n.election_epoch = round;
    if (e->voter && n.leader == nobody.leader) {
        n.leader = id; /* election.h: a vote for nobody */
    }
    notification_write(&out->bytes, &n);
    *effect = (struct election_effect){.kind = ELECTION_NOTIFY, .id = id, .offset = start};
    effect->bytes.len = out->bytes.len - start;
}

static void election_tell(struct election *e, int64_t id, struct election_effects *out)
{
    election_say(e, id, e->round, out);
}

/* Those who are voters in the next list only count for nothing here, and are asked at once. */
static void election_ask_next(struct election *e, struct election_effects *out)
{
    for (size_t i = 0; e->next != NULL && i < e->next->n_members; i++) {
        int64_t id = e->next->member[i].id;

        if (!e->next->member[i].observer && id != e->id && !quorum_config_is_voter(e->config, id)) {
            election_say(e, id, NO_ROUND, out);
        }
    }
}

/* `ask`: those who were not heard in this round are asked (election.h), the others told. */
static void election_tell_voters(struct election *e, int64_t now_us, bool ask,
                                 struct election_effects *out)
{
    for (size_t i = 0; i < e->config->n_members; i++) {
        if (quorum_set_has(&e->config->voters, (int)i) && (int)i != e->me) {
            election_say(e, e->config->member[i].id,
                         ask && !e->in_round[i].present ? NO_ROUND : e->round, out);
        }
    }
    election_ask_next(e, out);
    e->resend_us = now_us + e->interval_us;
}

static void election_propose(struct election *e, int64_t now_us, struct vote vote,
                             struct election_effects *out)
{
    e->vote = vote;
    e->final_us = INT64_MAX;
    if (e->voter) {
        e->in_round[e->me] = (struct heard){true, MEMBER_LOOKING, vote, e->round, 0};
    }
    election_tell_voters(e, now_us, false, out);
}

/* --- the outcome --- */

static void election_log_outcome(const struct election *e, int64_t now_us, const char *why)
{
    static const char *const roles[] = {[MEMBER_FOLLOWING] = "follows it",
                                        [MEMBER_LEADING] = "is that server",
                                        [MEMBER_OBSERVING] = "observes it"};

    log_info("server %" PRId64 " is elected leader, and this one %s: %s, round %" PRId64
             ", %" PRId64 " ms; the vote was for epoch %" PRId64 " and zxid 0x%" PRIx64,
             e->vote.leader, roles[e->phase], why, e->round, (now_us - e->began_us) / 1000,
             e->vote.epoch, (uint64_t)e->vote.zxid);
}

static void election_settle(struct election *e, int64_t now_us, const char *why,
                            struct election_effects *out)
{
    int learner = e->observer ? MEMBER_OBSERVING : MEMBER_FOLLOWING;
    struct election_effect *effect = election_add_effect(out);

    election_move(e, e->vote.leader == e->id ? MEMBER_LEADING : learner);
    *effect = (struct election_effect){
        .kind = ELECTION_ELECTED, .id = e->vote.leader, .state = (enum member_state)e->phase};
    election_log_outcome(e, now_us, why);
    for (size_t i = 0; i < e->config->n_members; i++) {
        if (quorum_set_has(&e->asked, (int)i)) {
            election_tell(e, e->config->member[i].id, out);
        }
    }
    e->asked = QUORUM_SET_EMPTY;
}

static void election_adopt(struct election *e, int64_t now_us, const struct heard *h,
                           struct election_effects *out)
{
    e->vote = h->vote;
    e->round = h->round;
    election_settle(e, now_us, "a quorum is with it already", out);
}

/* Whether somebody could still bring a better vote. */
static bool election_may_improve(const struct election *e)
{
    for (size_t i = 0; i < e->config->n_members; i++) {
        const struct quorum_member *m = &e->config->member[i];
        const struct heard *h = &e->in_round[i];
        /* Who follows already may have the new epoch in its vote. */
        bool agrees = h->present && h->vote.leader == e->vote.leader &&
                      h->vote.zxid == e->vote.zxid &&
                      (h->state != MEMBER_LOOKING || h->vote.epoch == e->vote.epoch);
        bool gone = e->had_role && quorum_set_has(&e->refused, (int)i);

        if (!m->observer && m->weight > 0 && !agrees && !gone) {
            return true;
        }
    }
    return false;
}

static void election_consider(struct election *e, int64_t now_us, struct election_effects *out)
{
    if (!election_proposal_has_quorum(e)) {
        e->final_us = INT64_MAX;
        return;
    }
    if (!election_may_improve(e)) {
        election_settle(e, now_us, "all who run agree", out);
    } else if (e->final_us == INT64_MAX) {
        e->final_us = now_us + FINAL_WAIT_US;
    }
}

/* --- hearing --- */

static void election_enter_round(struct election *e, int64_t now_us, int64_t round,
                                 struct vote vote, struct election_effects *out)
{
    struct vote first;

    e->round = round;
    for (size_t i = 0; i < e->config->n_members; i++) {
        e->in_round[i].present = false;
    }
    first = election_first_vote(e);
    election_propose(e, now_us, election_prefers(e, &vote, &first) ? vote : first, out);
}

/* Nobody knows better than this server where its history ends. Such a vote is from before a leader
 * cut it back, and must not win: the one elected would lack what it was elected for. Of who
 * abstains every vote for it is from before. */
static bool election_is_outdated(const struct election *e, const struct vote *vote)
{
    if (!e->voter || vote->leader != e->id) {
        return false;
    }
    if (e->deaf) {
        return vote->zxid != nobody.zxid;
    }
    return election_beats(e, vote, &e->vote) && !election_same_vote(vote, &e->own);
}

/* Says once in an election why there may be no leader. */
static void election_note_lacking(struct election *e, const struct heard *h)
{
    if (!e->deaf || e->damaged || e->lacking || e->vote.leader != nobody.leader ||
        h->vote.leader == e->id || !election_lacks(e, &h->vote)) {
        return;
    }
    e->lacking = true;
    log_warn("server %" PRId64 " is proposed with epoch %" PRId64 " and zxid 0x%" PRIx64
             ", here are epoch %" PRId64 " and zxid 0x%" PRIx64
             ": this server, which cannot lead, does not vote for it, or what only it has could be "
             "lost. Without others there is no leader until this server can lead again",
             h->vote.leader, h->vote.epoch, (uint64_t)h->vote.zxid, e->own.epoch,
             (uint64_t)e->own.zxid);
}

/* A message of somebody who looks for a leader, too. */
static void election_hear_looking(struct election *e, int64_t now_us, int index,
                                  const struct heard *h, struct election_effects *out)
{
    bool better = election_prefers(e, &h->vote, &e->vote);
    bool waiting = e->final_us != INT64_MAX;

    e->outside[index].present = false; /* it has no leader any more */
    if (e->own.zxid == -1 || h->vote.zxid == -1) {
        return; /* its database may have been lost: it must not help to elect anybody */
    }
    election_note_lacking(e, h);
    if (h->round < e->round) {
        election_tell(e, e->config->member[index].id, out);
        if (waiting && better) { /* it will come into this round, and win */
            e->final_us = now_us + FINAL_WAIT_US;
        }
        return;
    }
    if (election_is_outdated(e, &h->vote)) {
        /* Who has it does not give it up in its round. */
        election_enter_round(e, now_us, (int64_t)((uint64_t)h->round + 1), election_first_vote(e),
                             out);
        election_consider(e, now_us, out);
        return;
    }
    if (h->round > e->round && waiting && !better) {
        quorum_set_add(&e->asked, index); /* the others are about to settle in this round */
        return;
    }
    if (h->round > e->round) {
        election_enter_round(e, now_us, h->round, h->vote, out);
    } else if (better) {
        election_propose(e, now_us, h->vote, out);
    } else if (e->vote.leader != nobody.leader && !election_same_vote(&h->vote, &e->vote)) {
        /* Java leaves it to the next interval; but it may have come too late for what was told
         * when this round began, and would wait for nothing. */
        election_tell(e, e->config->member[index].id, out);
    }
    e->in_round[index] = *h;
    election_consider(e, now_us, out);
}

/* A message of somebody who has a leader. */
static void election_hear_settled(struct election *e, int64_t now_us, int index,
                                  const struct heard *h, struct election_effects *out)
{
    e->in_round[index].present = false; /* it has stopped to look for one */
    if (h->round == e->round) {
        e->in_round[index] = *h;
        e->in_round[index].version = 0;
        if (election_has_quorum(e, e->in_round, h) && election_leader_is_there(e, e->in_round, h)) {
            election_adopt(e, now_us, h, out);
            return;
        }
    }
    e->outside[index] = *h;
    if (election_has_quorum(e, e->outside, h) && election_leader_is_there(e, e->outside, h)) {
        election_adopt(e, now_us, h, out);
        return;
    }
    election_consider(e, now_us, out);
}

static void election_hear_voter(struct election *e, int64_t now_us, int index,
                                const struct heard *h, struct election_effects *out)
{
    quorum_set_remove(&e->refused, index);
    if (election_is_settled(e)) {
        if (h->state == MEMBER_LOOKING) {
            election_tell(e, e->config->member[index].id, out);
        }
        return;
    }
    if (!quorum_config_is_voter(e->config, h->vote.leader)) {
        if (h->state == MEMBER_LOOKING && h->round < e->round) {
            election_tell(e, e->config->member[index].id, out);
        }
        return;
    }
    if (h->state == MEMBER_LOOKING) {
        election_hear_looking(e, now_us, index, h, out);
    } else if (h->state != MEMBER_OBSERVING) {
        election_hear_settled(e, now_us, index, h, out);
    }
}

/* Who does not vote asks for the leader. While there is none it is answered, too, and once more
 * when there is one. */
static void election_hear_other(struct election *e, int64_t now_us, int64_t id, int index,
                                enum member_state state, struct election_effects *out)
{
    if (e->lists_change && state != MEMBER_LOOKING) {
        return; /* it has a leader; it may be that it only answers */
    }

    if (e->phase == MEMBER_LOOKING && index >= 0) {
        quorum_set_add(&e->asked, index);
    }
    if (now_us - e->answers_us >= ANSWERS_WINDOW_US) {
        e->answers_us = now_us;
        e->n_answers = 0;
    }
    if (e->n_answers < ANSWERS) {
        e->n_answers++;
        election_tell(e, id, out);
    }
}

/* Votes count whatever list their sender has. But two halves of an ensemble with different lists
 * may each find a quorum, and somebody has to hear of it before that. */
static void election_compare_lists(const struct election *e, int64_t id, struct bytes text)
{
    struct quorum_config other;
    struct strbuf why, here, there;

    if (bytes_is_null(text) || bytes_equal(text, strbuf_bytes(&e->text))) {
        return;
    }
    if (e->lists_change) {
        return; /* they are on their way from one to the next */
    }
    strbuf_init(&why, LIST_BYTES);
    strbuf_init(&here, LIST_BYTES);
    strbuf_init(&there, LIST_BYTES);
    if (quorum_config_read(&other, text, &why)) {
        if (!quorum_config_same_members(e->config, &other)) {
            quorum_config_list(e->config, &here);
            quorum_config_list(&other, &there);
            log_limited(LOG_WARN,
                        "server %" PRId64 " has the members %s, this one has %s: the lists have to "
                        "be the same on all servers",
                        id, strbuf_cstr(&there), strbuf_cstr(&here));
        }
        quorum_config_fini(&other);
    }
    strbuf_fini(&why);
    strbuf_fini(&here);
    strbuf_fini(&there);
}

static bool election_is_newer(const struct election *e, struct bytes text)
{
    struct quorum_config other;
    struct strbuf why;
    bool is_newer = false;

    if (!e->lists_change || bytes_is_null(text) || bytes_equal(text, strbuf_bytes(&e->text))) {
        return false;
    }
    strbuf_init(&why, LIST_BYTES);
    if (quorum_config_read(&other, text, &why)) {
        is_newer = other.version > e->config->version;
        quorum_config_fini(&other);
    }
    strbuf_fini(&why);
    return is_newer;
}

static void election_hear(struct election *e, int64_t now_us, const struct election_input *in,
                          struct election_effects *out)
{
    int index = quorum_config_find(e->config, in->id);
    struct notification n;
    struct heard h;

    if (!notification_read(in->bytes, &n)) {
        log_limited(LOG_WARN, "a vote of server %" PRId64 " cannot be read: %zu bytes", in->id,
                    in->bytes.len);
        return;
    }
    if (in->id == e->id || e->phase == IDLE) {
        return;
    }
    election_compare_lists(e, in->id, n.config);
    if (election_is_newer(e, n.config)) {
        struct election_effect *effect = election_add_effect(out);

        *effect = (struct election_effect){.kind = ELECTION_NEWER_LIST, .list = n.config};
        if (e->phase == MEMBER_LOOKING) {
            return;
        }
    }
    h = (struct heard){.present = true,
                       .state = n.state,
                       .vote = {n.leader, n.zxid, n.peer_epoch},
                       .round = n.election_epoch,
                       .version = n.version};
    if (quorum_config_is_voter(e->config, in->id)) {
        election_hear_voter(e, now_us, index, &h, out);
    } else {
        election_hear_other(e, now_us, in->id, index, n.state, out);
    }
}

/* --- other inputs --- */

static void election_start(struct election *e, int64_t now_us, const struct election_input *in,
                           struct election_effects *out)
{
    election_move(e, MEMBER_LOOKING);
    e->round = (int64_t)((uint64_t)e->round + 1); /* a peer may have said any number */
    e->own = election_own_vote(e, in->zxid, in->epoch);
    ASSERT(in->deaf || !in->damaged);
    e->deaf = e->voter && in->deaf;
    e->damaged = e->voter && in->damaged;
    e->lacking = false;
    e->began_us = now_us;
    e->interval_us = e->min_interval_us;
    e->refused = e->asked = QUORUM_SET_EMPTY;
    for (size_t i = 0; i < e->config->n_members; i++) {
        e->in_round[i].present = e->outside[i].present = false;
    }
    log_info("looking for a leader: round %" PRId64 ", here are epoch %" PRId64
             " and zxid 0x%" PRIx64 "%s",
             e->round, in->epoch, (uint64_t)in->zxid,
             e->damaged ? "; this server has lost a part of its history, and votes for nobody"
             : e->deaf  ? "; this server cannot lead, and votes for another"
                        : "");
    election_propose(e, now_us, election_first_vote(e), out);
    election_consider(e, now_us, out);
}

static void election_follow(struct election *e, int64_t now_us, const struct election_input *in,
                            struct election_effects *out)
{
    ASSERT(e->phase == IDLE);
    ASSERT(quorum_config_is_voter(e->config, in->id));
    e->own = election_own_vote(e, in->zxid, in->epoch);
    e->deaf = e->damaged = false;
    e->began_us = now_us;
    e->vote = (struct vote){in->id, in->zxid, in->epoch};
    e->asked = QUORUM_SET_EMPTY;
    election_settle(e, now_us, "the last leader has named it", out);
}

static void election_tick(struct election *e, int64_t now_us, struct election_effects *out)
{
    if (now_us < election_next_us(e)) {
        return;
    }
    if (e->final_us != INT64_MAX) {
        election_settle(e, now_us, "a quorum agrees", out);
        return;
    }
    e->interval_us *= 2;
    e->interval_us = e->interval_us < e->max_interval_us ? e->interval_us : e->max_interval_us;
    election_tell_voters(e, now_us, true, out);
}

static void election_refused(struct election *e, int64_t now_us, int64_t id,
                             struct election_effects *out)
{
    int i = quorum_config_find(e->config, id);

    if (i >= 0 && e->phase == MEMBER_LOOKING) {
        quorum_set_add(&e->refused, i);
        election_consider(e, now_us, out);
    }
}

/* Votes only become better: what the others have of this round still counts. */
static void election_stand(struct election *e, int64_t now_us, struct election_effects *out)
{
    bool was_deaf = e->deaf;

    ASSERT(!e->damaged || e->phase != MEMBER_LOOKING); /* a tree is loaded in a role */
    e->deaf = e->damaged = false;
    if (!was_deaf || e->phase != MEMBER_LOOKING) {
        return;
    }
    log_info("this server can lead now, and stands for election in round %" PRId64, e->round);
    if (e->vote.leader == nobody.leader || election_beats(e, &e->own, &e->vote)) {
        election_propose(e, now_us, e->own, out);
        election_consider(e, now_us, out);
    }
}

static void election_synced(struct election *e, int64_t epoch)
{
    ASSERT(election_is_settled(e));
    e->vote.epoch = epoch;
    e->had_role = true;
}

void election_step(struct election *e, int64_t now_us, const struct election_input *in,
                   struct election_effects *out)
{
    switch (in->kind) {
    case ELECTION_START:
        election_start(e, now_us, in, out);
        break;
    case ELECTION_NOTIFICATION:
        election_hear(e, now_us, in, out);
        break;
    case ELECTION_TICK:
        election_tick(e, now_us, out);
        break;
    case ELECTION_SYNCED:
        election_synced(e, in->epoch);
        break;
    case ELECTION_LEAVE:
        election_move(e, IDLE);
        break;
    case ELECTION_DESIGNATED:
        election_follow(e, now_us, in, out);
        break;
    case ELECTION_REFUSED:
        election_refused(e, now_us, in->id, out);
        break;
    case ELECTION_HEARS:
        election_stand(e, now_us, out);
        break;
    }
    election_lend_bytes(out);
    election_check(e);
}

/* --- life, and questions --- */

void election_take_config(struct election *e, const struct quorum_config *config)
{
    size_t n = config->n_members;

    ASSERT(e->phase != MEMBER_LOOKING);
    e->config = config;
    strbuf_clear(&e->text);
    quorum_config_write(e->config, &e->text);
    e->me = quorum_config_find(e->config, e->id);
    e->observer = e->me >= 0 ? e->config->member[e->me].observer : e->observes_unlisted;
    e->voter = e->me >= 0 && !e->observer;
    free(e->in_round);
    free(e->outside);
    e->in_round = must_zalloc((n + 1) * sizeof(*e->in_round));
    e->outside = must_zalloc((n + 1) * sizeof(*e->outside));
    e->refused = e->asked = QUORUM_SET_EMPTY;
    election_check(e);
}

void election_take_next(struct election *e, const struct quorum_config *next)
{
    e->next = next;
}

struct election *election_new(const struct election_options *options)
{
    struct election *e = must_zalloc(sizeof(*e));
    int64_t min_ms = options->min_interval_ms, max_ms = options->max_interval_ms;

    ASSERT(options->id >= 0);
    ASSERT(min_ms >= 0 && max_ms >= 0);
    e->id = options->id;
    e->observes_unlisted = options->observer;
    e->lists_change = options->lists_change;
    strbuf_init(&e->text, STRBUF_NO_LIMIT);
    e->min_interval_us = (min_ms > 0 ? min_ms : MIN_INTERVAL_MS) * 1000;
    e->max_interval_us = (max_ms > 0 ? max_ms : MAX_INTERVAL_MS) * 1000;
    e->phase = IDLE;
    e->final_us = INT64_MAX;
    election_take_config(e, options->config);
    return e;
}

void election_free(struct election *e)
{
    strbuf_fini(&e->text);
    free(e->in_round);
    free(e->outside);
    free(e);
}

int64_t election_next_us(const struct election *e)
{
    if (e->phase != MEMBER_LOOKING) {
        return INT64_MAX;
    }
    return e->final_us != INT64_MAX ? e->final_us : e->resend_us;
}

bool election_is_idle(const struct election *e)
{
    return e->phase == IDLE;
}

enum member_state election_state(const struct election *e)
{
    return e->phase == IDLE ? MEMBER_LOOKING : (enum member_state)e->phase;
}

struct notification election_vote(const struct election *e)
{
    return (struct notification){.state = election_state(e),
                                 .leader = e->vote.leader,
                                 .zxid = e->vote.zxid,
                                 .election_epoch = e->round,
                                 .peer_epoch = e->vote.epoch,
                                 .version = NOTIFICATION_VERSION};
}
