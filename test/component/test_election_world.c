/* SPDX-License-Identifier: Apache-2.0 */
/* Elections of whole ensembles, by seed: votes that are late, lost, doubled, out of order or left
 * over from a former life; servers that are killed and come back. Roles are modelled as far as an
 * election can tell: a leader that a quorum follows makes an epoch and writes, who follows nobody
 * gives up.
 *
 *   test_election_world [FIRST_SEED [HOW_MANY]] */
#include <stdlib.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/prng.h"
#include "lib/test.h"
#include "quorum/election.h"

enum {
    SERVERS_MAX = 10,
    LOOK_MS = 20,     /* how often roles are looked at */
    PATIENCE_MS = 600 /* how long a role may stay without the others */
};

struct message {
    struct list node;
    int from, to;
    int64_t at_us;
    size_t len;
    uint8_t frame[];
};

/* A vote that was given, for whoever may have heard of it. */
struct given {
    int voter;
    struct notification vote;
};

struct server {
    struct election *election; /* NULL: down */
    int64_t zxid, epoch;       /* what its disk has */
    int64_t since_ms;          /* in its role */
    bool serves;               /* in its role: the leader has been found, or a quorum */
    struct strbuf last[SERVERS_MAX];
};

struct world {
    uint64_t seed;
    struct prng prng;
    struct quorum_config config;
    struct server server[SERVERS_MAX];
    int n;
    bool trouble;
    int64_t now_us;
    struct list messages;
    struct election_effects effects;
    struct given *given;
    size_t n_given;
    int64_t epoch; /* the last one made */
    int64_t committed_epoch, committed_zxid;
};

static bool chance(struct world *w, uint64_t percent)
{
    return prng_below(&w->prng, 100) < percent;
}

static int64_t between(struct world *w, int64_t low, int64_t high)
{
    return low + (int64_t)prng_below(&w->prng, (uint64_t)(high - low + 1));
}

static int64_t id_of(int index)
{
    return index + 1;
}

#define must_hold(w, condition)                                                                 \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            fail_msg("test_election_world %llu 1: " #condition, (unsigned long long)(w)->seed); \
        }                                                                                       \
    } while (0)

/* --- the network --- */

static void post(struct world *w, int from, int to, struct bytes frame, int64_t delay_us)
{
    struct message *m = must_alloc(sizeof(*m) + frame.len);

    m->from = from;
    m->to = to;
    m->at_us = w->now_us + delay_us;
    m->len = frame.len;
    if (frame.len > 0) {
        memcpy(m->frame, frame.data, frame.len);
    }
    list_push_back(&w->messages, &m->node);
}

static void send_frame(struct world *w, int from, int to, struct bytes frame)
{
    if (w->server[to].election == NULL) {
        post(w, to, from, BYTES_NULL, 500); /* refused */
        return;
    }
    if (!w->trouble) {
        post(w, from, to, frame, 1000);
        return;
    }
    if (chance(w, 80)) {
        post(w, from, to, frame, between(w, 100, 40000));
    }
    if (chance(w, 10)) {
        post(w, from, to, frame, between(w, 100, 1000000));
    }
}

static void send_vote(struct world *w, int from, const struct election_effect *e)
{
    int to = (int)e->id - 1;
    struct strbuf *last = &w->server[from].last[to];

    strbuf_clear(last);
    strbuf_append_bytes(last, e->bytes);
    send_frame(w, from, to, e->bytes);
}

/* A new connection: the last vote is sent again. */
static void reconnect(struct world *w, int a, int b)
{
    if (w->server[a].last[b].len > 0) {
        send_frame(w, a, b, strbuf_bytes(&w->server[a].last[b]));
    }
}

/* --- votes that were given --- */

static bool same_notification(const struct notification *a, const struct notification *b)
{
    return a->leader == b->leader && a->zxid == b->zxid && a->peer_epoch == b->peer_epoch &&
           a->election_epoch == b->election_epoch;
}

static void note_vote(struct world *w, int i)
{
    const struct server *s = &w->server[i];
    struct notification vote = election_vote(s->election);

    if (election_is_idle(s->election) || s->serves || !quorum_set_has(&w->config.voters, i)) {
        return;
    }
    if (vote.state == MEMBER_LOOKING) { /* nobody votes for less than it has */
        must_hold(w, vote.peer_epoch > s->epoch ||
                         (vote.peer_epoch == s->epoch && vote.zxid >= s->zxid));
    }
    w->given = must_realloc(w->given, (w->n_given + 1) * sizeof(*w->given));
    w->given[w->n_given++] = (struct given){i, vote};
}

/* A quorum has voted for this leader, in this round. */
static void check_leader(struct world *w, int i)
{
    struct notification vote = election_vote(w->server[i].election);
    struct quorum_set voters = QUORUM_SET_EMPTY;

    for (size_t k = 0; k < w->n_given; k++) {
        if (same_notification(&w->given[k].vote, &vote)) {
            quorum_set_add(&voters, w->given[k].voter);
        }
    }
    must_hold(w, vote.leader == id_of(i));
    must_hold(w, quorum_config_contains(&w->config, &voters));
}

/* --- servers --- */

static void step(struct world *w, int i, const struct election_input *in)
{
    struct server *s = &w->server[i];

    election_effects_clear(&w->effects);
    election_step(s->election, w->now_us, in, &w->effects);
    note_vote(w, i);
    for (size_t k = 0; k < w->effects.n; k++) {
        const struct election_effect *e = &w->effects.effect[k];

        if (e->kind == ELECTION_NOTIFY) {
            send_vote(w, i, e);
        } else {
            s->since_ms = w->now_us / 1000;
            if (e->state == MEMBER_LEADING) {
                check_leader(w, i);
            }
        }
    }
}

static void look_for_leader(struct world *w, int i)
{
    struct server *s = &w->server[i];

    s->serves = false;
    step(w, i,
         &(struct election_input){.kind = ELECTION_START, .zxid = s->zxid, .epoch = s->epoch});
}

static void bring_up(struct world *w, int i)
{
    struct election_options options = {
        .id = id_of(i), .config = &w->config, .max_interval_ms = 1000};

    w->server[i].election = election_new(&options);
    look_for_leader(w, i);
    for (int k = 0; k < w->n; k++) {
        if (k != i && w->server[k].election != NULL) {
            reconnect(w, k, i);
        }
    }
}

static void take_down(struct world *w, int i)
{
    struct server *s = &w->server[i];

    election_free(s->election);
    s->election = NULL;
    s->serves = false;
    for (int k = 0; k < SERVERS_MAX; k++) {
        strbuf_clear(&s->last[k]);
    }
}

/* --- roles --- */

static enum member_state state_of(const struct world *w, int i)
{
    const struct election *e = w->server[i].election;

    return e == NULL ? MEMBER_LOOKING : election_state(e);
}

/* Whether `i` follows `leader`, which leads and does not lack what `i` has. */
static bool follows(const struct world *w, int i, int leader)
{
    const struct server *s = &w->server[i], *l = &w->server[leader];

    if (state_of(w, leader) != MEMBER_LEADING || state_of(w, i) == MEMBER_LOOKING) {
        return false;
    }
    return election_vote(s->election).leader == id_of(leader) &&
           (s->serves || s->epoch < l->epoch || (s->epoch == l->epoch && s->zxid <= l->zxid));
}

static struct quorum_set followers_of(const struct world *w, int leader)
{
    struct quorum_set set = QUORUM_SET_EMPTY;

    for (int i = 0; i < w->n; i++) {
        if (follows(w, i, leader)) {
            quorum_set_add(&set, i);
        }
    }
    return set;
}

static void synced(struct world *w, int i, int leader)
{
    struct server *s = &w->server[i];

    s->serves = true;
    s->zxid = w->server[leader].zxid;
    s->epoch = w->server[leader].epoch;
    step(w, i, &(struct election_input){.kind = ELECTION_SYNCED, .epoch = s->epoch});
}

/* Some of the followers get the next write; committed is what a quorum has. */
static void write_something(struct world *w, int leader, const struct quorum_set *followers)
{
    struct quorum_set have = QUORUM_SET_EMPTY;
    struct server *l = &w->server[leader];

    l->zxid++;
    quorum_set_add(&have, leader);
    for (int i = 0; i < w->n; i++) {
        if (i != leader && quorum_set_has(followers, i) && w->server[i].serves && chance(w, 80)) {
            w->server[i].zxid = l->zxid;
            quorum_set_add(&have, i);
        }
    }
    if (quorum_config_contains(&w->config, &have)) {
        w->committed_epoch = l->epoch;
        w->committed_zxid = l->zxid;
    }
}

static void lead(struct world *w, int leader, const struct quorum_set *followers)
{
    struct server *l = &w->server[leader];

    if (!l->serves) { /* nothing that was committed is missing */
        must_hold(w, l->epoch >= w->committed_epoch);
        must_hold(w, l->zxid >= w->committed_zxid);
        l->epoch = ++w->epoch;
    }
    for (int i = 0; i < w->n; i++) {
        if (quorum_set_has(followers, i) && !w->server[i].serves) {
            synced(w, i, leader);
        }
    }
    write_something(w, leader, followers);
}

static void give_up(struct world *w, int i)
{
    step(w, i, &(struct election_input){.kind = ELECTION_LEAVE});
    look_for_leader(w, i);
}

static void look_at_role(struct world *w, int i)
{
    struct server *s = &w->server[i];
    struct quorum_set followers;
    int leader;
    bool good;

    if (s->election == NULL || state_of(w, i) == MEMBER_LOOKING) {
        return;
    }
    leader = (int)election_vote(s->election).leader - 1;
    followers = followers_of(w, leader);
    good = quorum_set_has(&followers, i) && quorum_config_contains(&w->config, &followers);
    if (good && leader == i) {
        lead(w, i, &followers);
    } else if (!good && (s->serves || w->now_us / 1000 - s->since_ms > PATIENCE_MS)) {
        give_up(w, i);
    }
}

/* --- time --- */

static void deliver(struct world *w, struct message *m)
{
    struct election_input in = {.kind = ELECTION_REFUSED, .id = id_of(m->from)};

    list_remove(&m->node);
    if (m->len > 0) {
        in.kind = ELECTION_NOTIFICATION;
        in.bytes = bytes_of(m->frame + 4, m->len - 4);
    }
    if (w->server[m->to].election != NULL) {
        step(w, m->to, &in);
    }
    free(m);
}

static struct message *next_message(struct world *w)
{
    struct message *next = NULL;
    struct list *item;

    list_for_each (item, &w->messages) {
        struct message *m = container_of(item, struct message, node);

        if (next == NULL || m->at_us < next->at_us) {
            next = m;
        }
    }
    return next;
}

/* The next thing that happens before `until_us`; false: nothing does. */
static bool happen(struct world *w, int64_t until_us)
{
    struct message *m = next_message(w);
    int64_t at_us = m != NULL ? m->at_us : INT64_MAX;
    int timer = -1;

    for (int i = 0; i < w->n; i++) {
        const struct election *e = w->server[i].election;

        if (e != NULL && election_next_us(e) < at_us) {
            at_us = election_next_us(e);
            timer = i;
        }
    }
    if (at_us > until_us) {
        w->now_us = until_us;
        return false;
    }
    w->now_us = at_us > w->now_us ? at_us : w->now_us;
    if (timer >= 0) {
        step(w, timer, &(struct election_input){.kind = ELECTION_TICK});
    } else {
        deliver(w, m);
    }
    return true;
}

static void make_trouble(struct world *w)
{
    int i = (int)prng_below(&w->prng, (uint64_t)w->n);

    if (!chance(w, 5)) {
        return;
    }
    if (w->server[i].election == NULL) {
        bring_up(w, i);
    } else {
        take_down(w, i);
    }
}

static void run_for(struct world *w, int64_t ms)
{
    int64_t end_us = w->now_us + ms * 1000;

    while (w->now_us < end_us) {
        int64_t until_us = w->now_us + LOOK_MS * 1000;

        while (happen(w, until_us)) {
        }
        for (int i = 0; i < w->n; i++) {
            look_at_role(w, i);
        }
        if (w->trouble) {
            make_trouble(w);
        }
    }
}

/* The one leader that everybody who runs has found, or -1. */
static int common_leader(const struct world *w)
{
    int leader = -1;

    for (int i = 0; i < w->n; i++) {
        leader = state_of(w, i) == MEMBER_LEADING ? i : leader;
    }
    for (int i = 0; leader >= 0 && i < w->n; i++) {
        if (w->server[i].election != NULL && !(w->server[i].serves && follows(w, i, leader))) {
            return -1;
        }
    }
    return leader;
}

static int wait_for_leader(struct world *w, int64_t ms)
{
    int64_t end_us = w->now_us + ms * 1000;

    while (common_leader(w) < 0 && w->now_us < end_us) {
        run_for(w, LOOK_MS);
    }
    must_hold(w, common_leader(w) >= 0);
    return common_leader(w);
}

/* --- whole worlds --- */

static void world_init(struct world *w, uint64_t seed, int n_voters, int n_observers)
{
    struct strbuf why;

    *w = (struct world){.seed = seed, .n = n_voters + n_observers};
    prng_seed(&w->prng, seed);
    list_init(&w->messages);
    election_effects_init(&w->effects);
    quorum_config_init(&w->config);
    strbuf_init(&why, STRBUF_NO_LIMIT);
    for (int i = 0; i < w->n; i++) {
        const char *line = i < n_voters ? "a:1:2" : "a:1:2:observer";

        assert_true(quorum_config_add_server(&w->config, id_of(i), line, false, &why));
        for (int k = 0; k < SERVERS_MAX; k++) {
            strbuf_init(&w->server[i].last[k], STRBUF_NO_LIMIT);
        }
    }
    strbuf_fini(&why);
}

static void world_fini(struct world *w)
{
    struct message *m;

    while ((m = next_message(w)) != NULL) {
        list_remove(&m->node);
        free(m);
    }
    for (int i = 0; i < w->n; i++) {
        if (w->server[i].election != NULL) {
            take_down(w, i);
        }
        for (int k = 0; k < SERVERS_MAX; k++) {
            strbuf_fini(&w->server[i].last[k]);
        }
    }
    election_effects_fini(&w->effects);
    quorum_config_fini(&w->config);
    free(w->given);
}

static uint64_t first_seed = 1, n_seeds = 200;

static void after_trouble_there_is_one_leader(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        struct world w;

        world_init(&w, seed, 3 + 2 * (int)(seed % 3), (int)(seed % 4));
        for (int i = 0; i < w.n; i++) {
            bring_up(&w, i);
        }
        w.trouble = true;
        run_for(&w, 20000);
        w.trouble = false;
        for (int i = 0; i < w.n; i++) {
            if (w.server[i].election == NULL) {
                bring_up(&w, i);
            }
        }
        wait_for_leader(&w, 10000);
        world_fini(&w);
    }
}

/* Whom waiting would have elected, without the wait. */
static void the_best_one_is_elected_at_once_when_all_speak(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
        struct world w;
        int best = 0;

        world_init(&w, seed, 3 + 2 * (int)(seed % 3), 0);
        for (int i = 0; i < w.n; i++) {
            struct server *s = &w.server[i];

            s->epoch = between(&w, 1, 2);
            s->zxid = s->epoch << 32 | between(&w, 1, 3);
            best = s->zxid >= w.server[best].zxid ? i : best;
        }
        w.epoch = 2;
        for (int i = 0; i < w.n; i++) {
            run_for(&w, between(&w, 0, 1) * LOOK_MS);
            bring_up(&w, i);
        }
        must_hold(&w, wait_for_leader(&w, 3 * LOOK_MS) == best);

        /* And when the leader is killed, the rest do not wait for it. */
        take_down(&w, best);
        wait_for_leader(&w, 4 * LOOK_MS);
        world_fini(&w);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_trouble_there_is_one_leader),
        cmocka_unit_test(the_best_one_is_elected_at_once_when_all_speak),
    };

    first_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : first_seed;
    n_seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : n_seeds;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
