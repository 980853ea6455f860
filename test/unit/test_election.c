/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* strndup */
#include "quorum/election.h"

#include <stdlib.h>

#include "base/logging.h"
#include "lib/test.h"
#include "lib/vectors.h"

/* One server's election, with what it has left to be done. Its id is 1, unless told otherwise. */
struct side {
    struct quorum_config config;
    struct election *election;
    struct election_effects effects;
    struct strbuf text; /* the others' configuration, which is the same */
    int64_t now_ms;
};

#define VOTERS(n) voters_text(n)

static const char *voters_text(int n)
{
    static char text[4096];
    int len = 0;

    for (int i = 1; i <= n; i++) {
        len += snprintf(text + len, sizeof(text) - (size_t)len, "server.%d=a:1:2\n", i);
    }
    snprintf(text + len, sizeof(text) - (size_t)len, "server.9=a:1:2:observer\nversion=0");
    return text;
}

static void side_init(struct side *s, const char *config, struct election_options options)
{
    struct strbuf why;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    assert_true(quorum_config_read(&s->config, bytes_str(config), &why));
    strbuf_fini(&why);
    options.config = &s->config;
    s->election = election_new(&options);
    election_effects_init(&s->effects);
    strbuf_init(&s->text, STRBUF_NO_LIMIT);
    quorum_config_write(&s->config, &s->text);
    s->now_ms = 1000;
}

static void side_fini(struct side *s)
{
    election_free(s->election);
    election_effects_fini(&s->effects);
    strbuf_fini(&s->text);
    quorum_config_fini(&s->config);
}

static void step(struct side *s, const struct election_input *in)
{
    election_effects_clear(&s->effects);
    election_step(s->election, s->now_ms * 1000, in, &s->effects);
}

static void start(struct side *s, int64_t zxid, int64_t epoch)
{
    step(s, &(struct election_input){.kind = ELECTION_START, .zxid = zxid, .epoch = epoch});
}

/* Server 1 of `n` voters, and 9 which observes. */
static void start_as_1(struct side *s, int n, int64_t zxid, int64_t epoch)
{
    side_init(s, VOTERS(n), (struct election_options){.id = 1});
    start(s, zxid, epoch);
}

static void pass(struct side *s, int64_t ms)
{
    s->now_ms += ms;
    step(s, &(struct election_input){.kind = ELECTION_TICK});
}

static void simple(struct side *s, enum election_input_kind kind, int64_t id, int64_t epoch)
{
    step(s, &(struct election_input){.kind = kind, .id = id, .epoch = epoch});
}

struct said {
    enum member_state state;
    int64_t leader, zxid, round, epoch;
};

static void hear_version(struct side *s, int64_t from, struct said said, int32_t version)
{
    struct notification n = {said.state, said.leader, said.zxid, said.round,
                             said.epoch, version,     BYTES_NULL};
    struct strbuf frame;

    n.config = strbuf_bytes(&s->text);
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    notification_write(&frame, &n);
    step(s, &(struct election_input){.kind = ELECTION_NOTIFICATION,
                                     .id = from,
                                     .bytes = bytes_of(frame.data + 4, frame.len - 4)});
    strbuf_fini(&frame);
}

static void hear(struct side *s, int64_t from, struct said said)
{
    hear_version(s, from, said, NOTIFICATION_VERSION);
}

#define LOOKING(...)   ((struct said){MEMBER_LOOKING, __VA_ARGS__})
#define FOLLOWING(...) ((struct said){MEMBER_FOLLOWING, __VA_ARGS__})
#define LEADING(...)   ((struct said){MEMBER_LEADING, __VA_ARGS__})
#define OBSERVING(...) ((struct said){MEMBER_OBSERVING, __VA_ARGS__})

/* --- what came of it --- */

/* The receivers of the last step's notifications: "2 3". */
static const char *told(const struct side *s)
{
    static char text[256];
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < s->effects.n; i++) {
        if (s->effects.effect[i].kind == ELECTION_NOTIFY) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d", len > 0 ? " " : "",
                                    (int)s->effects.effect[i].id);
        }
    }
    return text;
}

static void assert_same(struct notification n, struct said expected)
{
    assert_int_equal(n.state, expected.state);
    assert_int_equal(n.leader, expected.leader);
    assert_int_equal(n.zxid, expected.zxid);
    assert_int_equal(n.election_epoch, expected.round);
    assert_int_equal(n.peer_epoch, expected.epoch);
    assert_int_equal(n.version, NOTIFICATION_VERSION);
}

static struct notification said_in(const struct election_effect *e)
{
    struct notification n;
    struct bytes payload;
    size_t used;

    assert_int_equal(notification_frame(e->bytes, &payload, &used), STREAM_WHOLE);
    assert_int_equal(used, e->bytes.len);
    assert_true(notification_read(payload, &n));
    assert_true(bytes_starts_with(n.config, "server."));
    return n;
}

/* All notifications of the last step say this. */
static void assert_told(const struct side *s, const char *to, struct said expected)
{
    assert_string_equal(told(s), to);
    for (size_t i = 0; i < s->effects.n; i++) {
        if (s->effects.effect[i].kind == ELECTION_NOTIFY) {
            assert_same(said_in(&s->effects.effect[i]), expected);
        }
    }
}

/* The round in the last step's notification to that server; -1: there is none. */
static int64_t round_told_to(const struct side *s, int64_t id)
{
    for (size_t i = 0; i < s->effects.n; i++) {
        const struct election_effect *e = &s->effects.effect[i];

        if (e->kind == ELECTION_NOTIFY && e->id == id) {
            return said_in(e).election_epoch;
        }
    }
    return -1;
}

static const struct election_effect *elected(const struct side *s)
{
    for (size_t i = 0; i < s->effects.n; i++) {
        if (s->effects.effect[i].kind == ELECTION_ELECTED) {
            return &s->effects.effect[i];
        }
    }
    return NULL;
}

static void assert_elected(const struct side *s, int64_t leader, enum member_state state)
{
    assert_non_null(elected(s));
    assert_int_equal(elected(s)->id, leader);
    assert_int_equal(elected(s)->state, state);
    assert_int_equal(election_state(s->election), state);
    assert_int_equal(election_next_us(s->election), INT64_MAX);
}

static void assert_looking(const struct side *s)
{
    assert_null(elected(s));
    assert_int_equal(election_state(s->election), MEMBER_LOOKING);
    assert_false(election_is_idle(s->election));
}

static void assert_vote(const struct side *s, struct said expected)
{
    assert_same(election_vote(s->election), expected);
}

/* --- beginning --- */

static void everybody_begins_with_itself(void **state)
{
    struct side s;

    (void)state;
    side_init(&s, VOTERS(3), (struct election_options){.id = 1});
    assert_true(election_is_idle(s.election));
    assert_int_equal(election_next_us(s.election), INT64_MAX);
    start(&s, 0x500000007, 6);
    assert_told(&s, "2 3", LOOKING(1, 0x500000007, 1, 6));
    assert_looking(&s);
    assert_int_equal(election_next_us(s.election), 1200000);
    side_fini(&s);
}

static void an_observer_proposes_nobody(void **state)
{
    struct side s;

    (void)state;
    side_init(&s, VOTERS(3), (struct election_options){.id = 9});
    start(&s, 0x500000007, 6);
    assert_told(&s, "1 2 3", LOOKING(INT64_MIN, INT64_MIN, 1, INT64_MIN));
    side_fini(&s);
}

static void who_is_in_no_list_proposes_nobody_but_has_a_history(void **state)
{
    struct side s;

    (void)state;
    side_init(&s, VOTERS(3), (struct election_options){.id = 20});
    start(&s, 7, 6);
    assert_told(&s, "1 2 3", LOOKING(INT64_MIN, 7, 1, 6));
    hear(&s, 2, FOLLOWING(3, 0, 4, 1));
    hear(&s, 3, LEADING(3, 0, 4, 1));
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);

    side_init(&s, VOTERS(3), (struct election_options){.id = 20, .observer = true});
    start(&s, 7, 6);
    assert_told(&s, "1 2 3", LOOKING(INT64_MIN, INT64_MIN, 1, INT64_MIN));
    side_fini(&s);
}

static void a_lone_voter_elects_itself_at_once(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 1, 5, 1);
    assert_elected(&s, 1, MEMBER_LEADING);
    assert_string_equal(told(&s), "");
    side_fini(&s);
}

static void each_election_is_a_round_further(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 0, 0);
    assert_vote(&s, LOOKING(1, 0, 1, 0));
    simple(&s, ELECTION_LEAVE, 0, 0);
    assert_true(election_is_idle(s.election));
    start(&s, 1, 2);
    assert_told(&s, "2 3", LOOKING(1, 1, 2, 2));
    start(&s, 3, 4); /* also without a role in between */
    assert_told(&s, "2 3", LOOKING(1, 3, 3, 4));
    hear(&s, 2, LOOKING(2, 9, INT64_MAX, 9));
    start(&s, 3, 4); /* whatever a peer has said */
    assert_vote(&s, LOOKING(1, 3, INT64_MIN, 4));
    side_fini(&s);
}

/* --- the same round --- */

static void a_better_proposal_is_taken_over_and_told(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 5, 0x500000007, 6);
    hear(&s, 2, LOOKING(2, 0x500000007, 1, 6)); /* larger id */
    assert_told(&s, "2 3 4 5", LOOKING(2, 0x500000007, 1, 6));
    hear(&s, 3, LOOKING(5, 0x500000008, 1, 6)); /* larger zxid */
    assert_told(&s, "2 3 4 5", LOOKING(5, 0x500000008, 1, 6));
    hear(&s, 4, LOOKING(4, 1, 1, 7)); /* larger epoch */
    assert_told(&s, "2 3 4 5", LOOKING(4, 1, 1, 7));
    assert_looking(&s);
    side_fini(&s);
}

/* Found by the simulator: a leader had cut back server 1, and 5 still remembered its vote. */
static void a_vote_for_itself_with_what_it_lacks_does_not_win(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 5, 0x200000019, 2);
    hear(&s, 5, LOOKING(1, 0x20000001b, 1, 2));
    assert_told(&s, "2 3 4 5", LOOKING(1, 0x200000019, 2, 2)); /* in a newer round */
    hear(&s, 4, LOOKING(1, 0x20000001b, 1, 2));
    assert_told(&s, "4", LOOKING(1, 0x200000019, 2, 2));
    hear(&s, 3, LOOKING(1, 0x20000001b, 9, 2));
    assert_told(&s, "2 3 4 5", LOOKING(1, 0x200000019, 10, 2));
    hear(&s, 5, LOOKING(5, 0x20000001a, 10, 2));
    assert_told(&s, "2 3 4 5", LOOKING(5, 0x20000001a, 10, 2));
    hear(&s, 2, LOOKING(1, 0x200000018, 10, 2)); /* not better: it takes over ours */
    assert_told(&s, "2", LOOKING(5, 0x20000001a, 10, 2));
    side_fini(&s);
}

static void a_worse_proposal_is_answered(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 5, 0x500000007, 6);
    hear(&s, 2, LOOKING(2, 0x500000008, 1, 5));
    assert_told(&s, "2", LOOKING(1, 0x500000007, 1, 6));
    hear(&s, 3, LOOKING(3, 0x500000006, 1, 6));
    assert_told(&s, "3", LOOKING(1, 0x500000007, 1, 6));
    hear(&s, 4, LOOKING(1, 0x500000007, 1, 6)); /* the same one is not */
    assert_string_equal(told(&s), "");
    side_fini(&s);
}

static void only_voters_can_be_proposed(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(9, 100, 1, 100));
    assert_string_equal(told(&s), "");
    hear(&s, 2, LOOKING(77, 100, 1, 100));
    hear(&s, 2, LOOKING(INT64_MIN, INT64_MIN, 1, INT64_MIN));
    assert_string_equal(told(&s), "");
    hear(&s, 2, FOLLOWING(77, 100, 1, 100));
    hear(&s, 3, LEADING(77, 100, 1, 100));
    assert_looking(&s);
    assert_vote(&s, LOOKING(1, 1, 1, 1));
    side_fini(&s);
}

static void who_may_have_lost_its_database_elects_nobody(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, -1, 1, 9));
    assert_vote(&s, LOOKING(1, 1, 1, 1));
    assert_string_equal(told(&s), "");
    side_fini(&s);
    start_as_1(&s, 3, -1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 9));
    hear(&s, 3, LOOKING(2, 5, 1, 9));
    assert_vote(&s, LOOKING(1, -1, 1, 1));
    hear(&s, 2, LEADING(2, 5, 1, 9)); /* but it may follow */
    hear(&s, 3, FOLLOWING(2, 5, 1, 9));
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    side_fini(&s);
}

/* --- other rounds --- */

static void a_newer_round_begins_again_with_the_better_of_both(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 5, 10, 1);
    hear(&s, 2, LOOKING(2, 30, 1, 1));
    hear(&s, 3, LOOKING(3, 20, 4, 1)); /* worse than what was proposed, better than its own */
    assert_told(&s, "2 3 4 5", LOOKING(3, 20, 4, 1));
    hear(&s, 4, LOOKING(4, 5, 7, 1)); /* worse than its own */
    assert_told(&s, "2 3 4 5", LOOKING(1, 10, 7, 1));
    hear(&s, 2, LOOKING(1, 10, 7, 1));
    pass(&s, 200);
    assert_looking(&s); /* what was said in round 4 does not count */
    hear(&s, 3, LOOKING(1, 10, 7, 1));
    pass(&s, 200);
    assert_elected(&s, 1, MEMBER_LEADING);
    side_fini(&s);
}

static void an_older_round_is_answered_and_does_not_count(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 10, 1);
    start(&s, 10, 1);
    hear(&s, 2, LOOKING(2, 99, 1, 9));
    assert_told(&s, "2", LOOKING(1, 10, 2, 1));
    hear(&s, 2, LOOKING(1, 10, 1, 1));
    assert_told(&s, "2", LOOKING(1, 10, 2, 1));
    hear(&s, 2, LOOKING(INT64_MIN, 0, 1, 0)); /* also who has nobody to propose */
    assert_told(&s, "2", LOOKING(1, 10, 2, 1));
    pass(&s, 199);
    assert_looking(&s);
    assert_string_equal(told(&s), "");
    side_fini(&s);
}

/* --- the end --- */

static void a_quorum_waits_for_somebody_better(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    assert_looking(&s);
    assert_int_equal(election_next_us(s.election), 1200000);
    pass(&s, 100);
    hear(&s, 2, LOOKING(2, 5, 1, 1)); /* saying it again makes it no longer */
    pass(&s, 99);
    assert_looking(&s);
    pass(&s, 1);
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    assert_vote(&s, FOLLOWING(2, 5, 1, 1));
    side_fini(&s);
}

static void somebody_better_in_time_is_elected(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 5, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    hear(&s, 3, LOOKING(2, 5, 1, 1));
    pass(&s, 199);
    hear(&s, 4, LOOKING(4, 6, 1, 1));
    assert_told(&s, "2 3 4 5", LOOKING(4, 6, 1, 1));
    pass(&s, 199);
    assert_looking(&s); /* two of five */
    hear(&s, 3, LOOKING(4, 6, 1, 1));
    pass(&s, 199);
    assert_looking(&s);
    pass(&s, 1);
    assert_elected(&s, 4, MEMBER_FOLLOWING);
    side_fini(&s);
}

/* Though a quorum is for it at once. */
static void somebody_better_has_a_wait_of_its_own(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    pass(&s, 199);
    hear(&s, 3, LOOKING(3, 6, 1, 1));
    pass(&s, 199);
    assert_looking(&s);
    pass(&s, 1);
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
}

/* What it has may have changed since the others heard of it. */
static void who_is_for_the_same_leader_of_before_does_not_agree(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(3, 5, 1, 1));
    hear(&s, 3, LOOKING(3, 6, 1, 1));
    assert_looking(&s);
    hear(&s, 2, LOOKING(3, 6, 1, 1));
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
}

static void all_voters_agreed_need_not_wait(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(3, 5, 1, 1));
    hear(&s, 3, LOOKING(3, 5, 1, 1));
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
    start_as_1(&s, 3, 9, 1);
    hear(&s, 2, LOOKING(1, 9, 1, 1));
    hear(&s, 3, LOOKING(3, 5, 1, 1)); /* has spoken, and does not agree yet */
    assert_looking(&s);
    hear(&s, 3, LOOKING(1, 9, 1, 1));
    assert_elected(&s, 1, MEMBER_LEADING);
    side_fini(&s);
}

/* The others ended their wait before. */
static void who_follows_already_agrees_as_well(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 3, LOOKING(3, 5, 1, 1));
    hear(&s, 2, FOLLOWING(3, 5, 1, 1));
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
    start_as_1(&s, 3, 1, 1);
    hear(&s, 3, LOOKING(3, 5, 1, 1));
    hear(&s, 2, FOLLOWING(3, 5, 1, 2)); /* synced already */
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
    start_as_1(&s, 3, 1, 1);
    hear(&s, 3, LOOKING(3, 5, 1, 1));
    hear(&s, 2, FOLLOWING(3, 5, 2, 1)); /* in another round: says nothing of this one */
    assert_looking(&s);
    side_fini(&s);
}

static void who_refuses_is_not_waited_for_after_a_role(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    simple(&s, ELECTION_REFUSED, 3, 0); /* may be starting, as this one is */
    assert_looking(&s);
    pass(&s, 200);
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    simple(&s, ELECTION_SYNCED, 0, 2);

    start(&s, 6, 2);
    simple(&s, ELECTION_REFUSED, 3, 0);
    assert_looking(&s);
    hear(&s, 2, LOOKING(2, 6, 2, 2));
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    simple(&s, ELECTION_SYNCED, 0, 3);

    start(&s, 7, 3);
    hear(&s, 2, LOOKING(2, 7, 3, 3)); /* what was refused before does not count */
    assert_looking(&s);
    simple(&s, ELECTION_REFUSED, 9, 0);
    simple(&s, ELECTION_REFUSED, 77, 0);
    assert_looking(&s);
    simple(&s, ELECTION_REFUSED, 3, 0);
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    simple(&s, ELECTION_REFUSED, 3, 0); /* means nothing now */
    side_fini(&s);
}

static void an_election_that_came_to_nothing_was_no_role(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    pass(&s, 200);
    start(&s, 1, 1); /* server 2 did not lead */
    simple(&s, ELECTION_REFUSED, 3, 0);
    hear(&s, 2, LOOKING(2, 5, 2, 1));
    assert_looking(&s);
    side_fini(&s);
}

static void what_was_heard_in_the_last_election_is_forgotten(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, FOLLOWING(3, 5, 7, 2));
    start(&s, 1, 1);
    hear(&s, 3, LEADING(3, 5, 7, 2));
    assert_looking(&s);
    side_fini(&s);
}

static void who_refused_and_spoke_is_waited_for(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    pass(&s, 200);
    simple(&s, ELECTION_SYNCED, 0, 2);
    start(&s, 6, 2);
    simple(&s, ELECTION_REFUSED, 3, 0);
    hear(&s, 3, LOOKING(3, 9, 1, 2)); /* has started anew, in round 1 */
    assert_told(&s, "3", LOOKING(1, 6, 2, 2));
    hear(&s, 2, LOOKING(2, 6, 2, 2));
    assert_looking(&s);
    hear(&s, 3, LOOKING(3, 9, 2, 2));
    hear(&s, 2, LOOKING(3, 9, 2, 2));
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
}

static void somebody_better_in_an_older_round_is_waited_for(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    start(&s, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 2, 1));
    pass(&s, 150);
    hear(&s, 3, LOOKING(3, 9, 1, 1));
    assert_told(&s, "3", LOOKING(2, 5, 2, 1));
    pass(&s, 199);
    assert_looking(&s);
    hear(&s, 3, LOOKING(3, 4, 1, 1)); /* not for somebody worse */
    pass(&s, 1);
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    side_fini(&s);
}

static void a_newer_round_that_is_not_better_does_not_end_the_wait(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    hear(&s, 3, LOOKING(3, 4, 8, 1));
    assert_string_equal(told(&s), "");
    pass(&s, 200);
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    assert_told(&s, "3", FOLLOWING(2, 5, 1, 1)); /* it is told the outcome */
    side_fini(&s);
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    hear(&s, 3, LOOKING(3, 6, 8, 1)); /* a better one does */
    assert_told(&s, "2 3", LOOKING(3, 6, 8, 1));
    side_fini(&s);
}

/* --- those who have a leader --- */

static void a_running_ensemble_is_joined_when_its_leader_says_so(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 5, 0x100000009, 1);
    hear(&s, 2, FOLLOWING(5, 0, 4, 3));
    hear(&s, 3, FOLLOWING(5, 0, 4, 3));
    hear(&s, 4, FOLLOWING(5, 0, 3, 3)); /* elected in another round, and with another zxid */
    assert_looking(&s);
    hear(&s, 5, LEADING(5, 0, 4, 3));
    assert_elected(&s, 5, MEMBER_FOLLOWING);
    assert_vote(&s, FOLLOWING(5, 0, 4, 3));
    start(&s, 0, 0);
    assert_vote(&s, LOOKING(1, 0, 5, 0)); /* the round was taken over */
    side_fini(&s);
}

static void a_leader_without_a_quorum_is_not_joined(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 5, 1, 1);
    hear(&s, 5, LEADING(5, 0, 4, 3));
    hear(&s, 2, FOLLOWING(5, 0, 4, 3));
    hear(&s, 3, FOLLOWING(4, 0, 4, 3)); /* another one's */
    hear(&s, 4, FOLLOWING(5, 0, 4, 2)); /* of another epoch */
    assert_looking(&s);
    hear(&s, 4, FOLLOWING(5, 0, 4, 3));
    assert_elected(&s, 5, MEMBER_FOLLOWING);
    side_fini(&s);
}

static void a_leader_of_this_round_is_joined(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 3, LEADING(3, 5, 1, 1));
    assert_looking(&s);
    hear(&s, 2, FOLLOWING(3, 5, 1, 1));
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    assert_vote(&s, FOLLOWING(3, 5, 1, 1));
    side_fini(&s);
}

/* Within a round only the leader is compared, for the epoch is replaced one by one. */
static void in_the_same_round_epochs_may_differ(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 5, 1, 1);
    hear(&s, 2, FOLLOWING(5, 5, 1, 1));
    hear(&s, 5, LEADING(5, 5, 1, 2));
    hear(&s, 3, FOLLOWING(5, 5, 1, 2));
    assert_elected(&s, 5, MEMBER_FOLLOWING);
    side_fini(&s);
}

/* Entries of this round count as version 0, so an old server's epoch is compared with them. */
static void in_the_same_round_an_old_servers_epoch_counts(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 3, LEADING(3, 5, 1, 2));
    hear_version(&s, 2, FOLLOWING(3, 5, 1, 1), 0);
    /* Both know version 0 here; out of the round one does not, and only the leader counts. */
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
    start_as_1(&s, 5, 1, 1);
    hear_version(&s, 3, LEADING(3, 5, 1, 2), 0);
    hear_version(&s, 2, FOLLOWING(3, 5, 1, 1), 0);
    hear_version(&s, 4, FOLLOWING(3, 5, 1, 1), 0);
    assert_looking(&s);
    hear_version(&s, 5, FOLLOWING(3, 5, 1, 1), 0);
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
}

static void out_of_the_round_versions_decide_what_is_compared(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear_version(&s, 2, FOLLOWING(3, 5, 7, 1), 0); /* one old, one new: the leader alone */
    hear(&s, 3, LEADING(3, 5, 7, 2));
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
    start_as_1(&s, 3, 1, 1);
    hear_version(&s, 2, FOLLOWING(3, 5, 7, 1), 0); /* two old ones: the epoch as well */
    hear_version(&s, 3, LEADING(3, 5, 7, 2), 0);
    assert_looking(&s);
    hear_version(&s, 2, FOLLOWING(3, 4, 6, 2), 0);
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
}

/* Others follow this server, which has been started anew: it knows better. */
static void nobody_leads_on_the_word_of_others_alone(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, FOLLOWING(1, 1, 7, 1));
    hear(&s, 3, FOLLOWING(1, 1, 7, 1));
    assert_looking(&s);
    hear(&s, 2, FOLLOWING(1, 1, 1, 1)); /* elected in this very round, in which it votes so */
    assert_elected(&s, 1, MEMBER_LEADING);
    side_fini(&s);
}

/* It was their leader in a round of the same number, before it was started anew. */
static void nobody_leads_for_what_it_was_in_a_former_life(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 9, 2);
    hear(&s, 2, FOLLOWING(1, 5, 1, 2));
    hear(&s, 3, FOLLOWING(1, 5, 1, 2));
    pass(&s, 199);
    assert_looking(&s);
    hear(&s, 2, LOOKING(1, 9, 1, 2));
    pass(&s, 200);
    assert_elected(&s, 1, MEMBER_LEADING);
    assert_vote(&s, LEADING(1, 9, 1, 2));
    side_fini(&s);
}

static void observers_say_nothing_of_the_leader(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, OBSERVING(3, 0, 1, 1));
    hear(&s, 3, LEADING(3, 0, 1, 1));
    assert_looking(&s);
    side_fini(&s);
}

/* A quorum has turned away from the old leader, which does not know it yet. */
static void an_old_leaders_word_does_not_end_the_wait_for_another(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 5, 1, 1);
    start(&s, 1, 1);
    hear(&s, 4, FOLLOWING(2, 0, 1, 1));
    hear(&s, 5, FOLLOWING(2, 0, 1, 1));
    hear(&s, 3, LOOKING(3, 5, 2, 1));
    hear(&s, 5, LOOKING(3, 5, 2, 1));
    hear(&s, 2, LEADING(2, 0, 1, 1));
    assert_looking(&s);
    pass(&s, 200);
    assert_elected(&s, 3, MEMBER_FOLLOWING);
    side_fini(&s);
}

/* A connection begins with what was said last, which may be long ago. */
static void who_says_that_it_follows_looks_no_more(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 7, 1);
    hear(&s, 3, LOOKING(3, 9, 1, 1));
    pass(&s, 100);
    hear(&s, 3, FOLLOWING(2, 5, 1, 1));
    pass(&s, 100);
    assert_looking(&s);
    hear(&s, 2, LEADING(2, 5, 1, 1));
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    side_fini(&s);
    start_as_1(&s, 3, 7, 1);
    hear(&s, 3, LOOKING(3, 9, 1, 1));
    hear(&s, 3, FOLLOWING(2, 5, 4, 1)); /* in whatever round */
    pass(&s, 200);
    assert_looking(&s);
    side_fini(&s);
}

static void who_looks_again_follows_no_more(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 7, 1);
    hear(&s, 3, FOLLOWING(2, 5, 4, 1));
    hear(&s, 3, LOOKING(3, 5, 5, 1));
    hear(&s, 2, LEADING(2, 5, 4, 1));
    assert_looking(&s);
    side_fini(&s);
}

static void an_observer_finds_the_leader(void **state)
{
    struct side s;

    (void)state;
    side_init(&s, VOTERS(3), (struct election_options){.id = 9});
    start(&s, 0x500000007, 6);
    hear(&s, 1, FOLLOWING(3, 0, 4, 1));
    hear(&s, 3, LEADING(3, 0, 4, 1));
    assert_elected(&s, 3, MEMBER_OBSERVING);
    start(&s, 0x500000007, 6);
    hear(&s, 2, LOOKING(2, 5, 7, 1)); /* or elects it with the voters */
    hear(&s, 1, LOOKING(2, 5, 7, 1));
    hear(&s, 3, LOOKING(3, 4, 7, 1));
    assert_looking(&s);
    pass(&s, 200);
    assert_elected(&s, 2, MEMBER_OBSERVING);
    side_fini(&s);
}

/* --- answering --- */

static void who_has_a_role_answers_who_looks(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    pass(&s, 200);
    hear(&s, 3, LOOKING(3, 9, 5, 1));
    assert_told(&s, "3", FOLLOWING(2, 5, 1, 1));
    simple(&s, ELECTION_SYNCED, 0, 2);
    hear(&s, 3, LOOKING(3, 9, 5, 1));
    assert_told(&s, "3", FOLLOWING(2, 5, 1, 2)); /* the epoch is that of the leader now */
    hear(&s, 3, FOLLOWING(2, 5, 1, 2));
    assert_string_equal(told(&s), "");
    hear(&s, 3, LOOKING(77, 9, 5, 1)); /* whomever it proposes */
    assert_told(&s, "3", FOLLOWING(2, 5, 1, 2));
    assert_int_equal(election_state(s.election), MEMBER_FOLLOWING);
    pass(&s, 100000);
    assert_string_equal(told(&s), "");
    side_fini(&s);
}

static void who_does_not_vote_is_answered_in_every_state(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 9, LOOKING(INT64_MIN, INT64_MIN, 4, INT64_MIN));
    assert_told(&s, "9", LOOKING(1, 1, 1, 1));
    hear(&s, -1, LOOKING(INT64_MIN, INT64_MIN, 4, INT64_MIN)); /* in no list */
    assert_told(&s, "-1", LOOKING(1, 1, 1, 1));
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    pass(&s, 200);
    assert_told(&s, "9", FOLLOWING(2, 5, 1, 1)); /* it had asked before there was a leader */
    hear(&s, 9, LOOKING(INT64_MIN, INT64_MIN, 4, INT64_MIN));
    assert_told(&s, "9", FOLLOWING(2, 5, 1, 1));
    hear(&s, 42, LOOKING(42, 100, 4, 100));
    assert_told(&s, "42", FOLLOWING(2, 5, 1, 1));
    side_fini(&s);
}

/* Two servers whose lists differ may each take the other for an observer. */
static void answers_to_strangers_have_their_measure(void **state)
{
    struct side s;
    int n = 0;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    for (int i = 0; i < 1000; i++) {
        hear(&s, 42, LOOKING(42, 1, 1, 1));
        n += s.effects.n > 0;
    }
    assert_int_equal(n, 64);
    s.now_ms += 100;
    hear(&s, 42, LOOKING(42, 1, 1, 1));
    assert_string_equal(told(&s), "42");
    side_fini(&s);
}

static void between_two_roles_nothing_is_said(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 2, LOOKING(2, 5, 1, 1));
    pass(&s, 200);
    simple(&s, ELECTION_LEAVE, 0, 0);
    hear(&s, 2, LOOKING(2, 5, 2, 1));
    hear(&s, 9, LOOKING(INT64_MIN, INT64_MIN, 4, INT64_MIN));
    simple(&s, ELECTION_REFUSED, 2, 0);
    pass(&s, 100000);
    assert_int_equal(s.effects.n, 0);
    assert_int_equal(election_next_us(s.election), INT64_MAX);
    side_fini(&s);
}

static void its_own_words_are_not_heard(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    hear(&s, 1, LOOKING(3, 9, 9, 9));
    assert_vote(&s, LOOKING(1, 1, 1, 1));
    side_fini(&s);
}

/* --- saying it again --- */

static void a_proposal_is_sent_again_in_growing_intervals(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 1, 1);
    for (int64_t ms = 200; ms < 60000; ms *= 2) {
        pass(&s, ms - 1);
        assert_string_equal(told(&s), "");
        pass(&s, 1);
        assert_told(&s, "2 3", LOOKING(1, 1, 0, 1));
    }
    pass(&s, 59999);
    assert_string_equal(told(&s), "");
    pass(&s, 1);
    assert_string_equal(told(&s), "2 3");
    start(&s, 1, 1); /* a new election begins with the short one */
    pass(&s, 200);
    assert_string_equal(told(&s), "2 3");
    side_fini(&s);
}

/* Java's members answer a message of an earlier round, and not a worse vote of their own. */
static void who_was_not_heard_in_this_round_is_asked(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 5, 1);
    hear(&s, 2, LOOKING(2, 1, 7, 1)); /* a round further: all that was heard before is over */
    assert_told(&s, "2 3", LOOKING(1, 5, 7, 1));
    pass(&s, 200);
    assert_string_equal(told(&s), "2 3");
    assert_int_equal(round_told_to(&s, 2), 7);
    assert_int_equal(round_told_to(&s, 3), 0);
    hear(&s, 3, LOOKING(3, 4, 7, 1)); /* worse: it is told, and heard from now on */
    assert_told(&s, "3", LOOKING(1, 5, 7, 1));
    pass(&s, 400);
    assert_told(&s, "2 3", LOOKING(1, 5, 7, 1));
    side_fini(&s);
}

static void a_question_is_answered_and_does_not_count(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 5, 1);
    hear(&s, 3, LOOKING(3, 9, 0, 1)); /* better, but of no round */
    assert_told(&s, "3", LOOKING(1, 5, 1, 1));
    assert_vote(&s, LOOKING(1, 5, 1, 1));
    hear(&s, 2, LOOKING(1, 5, 0, 1)); /* for this one, but of no round: there is no quorum */
    assert_told(&s, "2", LOOKING(1, 5, 1, 1));
    assert_int_not_equal(election_next_us(s.election), INT64_MAX);
    pass(&s, 200);
    assert_looking(&s);
    side_fini(&s);
}

static void the_intervals_can_be_chosen(void **state)
{
    struct side s;

    (void)state;
    side_init(&s, VOTERS(3),
              (struct election_options){.id = 1, .min_interval_ms = 10, .max_interval_ms = 15});
    start(&s, 1, 1);
    pass(&s, 10);
    assert_string_equal(told(&s), "2 3");
    pass(&s, 14);
    assert_string_equal(told(&s), "");
    pass(&s, 1);
    assert_string_equal(told(&s), "2 3");
    pass(&s, 15);
    assert_string_equal(told(&s), "2 3");
    side_fini(&s);
}

/* --- weights --- */

static void who_has_no_weight_is_never_elected(void **state)
{
    struct side s;
    static const char text[] = "server.1=a:1:2\nserver.2=a:1:2\nserver.3=a:1:2\ngroup.1=1:2:3\n"
                               "weight.3=0\nversion=0";

    (void)state;
    side_init(&s, text, (struct election_options){.id = 1});
    start(&s, 1, 1);
    hear(&s, 3, LOOKING(3, 99, 1, 9));
    assert_told(&s, "3", LOOKING(1, 1, 1, 1));
    hear(&s, 2, LOOKING(1, 1, 1, 1));
    assert_elected(&s, 1, MEMBER_LEADING); /* nor waited for */
    side_fini(&s);

    side_init(&s, text, (struct election_options){.id = 3});
    start(&s, 99, 9);
    assert_told(&s, "1 2", LOOKING(3, 99, 1, 9));
    hear(&s, 1, LOOKING(1, 1, 1, 1)); /* which it knows itself */
    assert_told(&s, "1 2", LOOKING(1, 1, 1, 1));
    hear(&s, 2, LOOKING(1, 1, 1, 1));
    assert_elected(&s, 1, MEMBER_FOLLOWING);
    side_fini(&s);
}

/* --- formats --- */

static void hear_bytes(struct side *s, int64_t from, struct bytes bytes)
{
    step(s, &(struct election_input){.kind = ELECTION_NOTIFICATION, .id = from, .bytes = bytes});
}

static void old_formats_count_and_others_do_not(void **state)
{
    struct notification n = {MEMBER_LOOKING, 2, 0x500000001, 1, 6, 2, bytes_str("not readable")};
    struct strbuf frame;
    struct side s;

    (void)state;
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    notification_write(&frame, &n);
    start_as_1(&s, 3, 1, 1);
    for (size_t len = 0; len < frame.len - 4; len++) {
        if (len != 28 && len != 40) { /* 36 among them */
            hear_bytes(&s, 2, bytes_of(frame.data + 4, len));
            assert_vote(&s, LOOKING(1, 1, 1, 1));
            assert_int_equal(s.effects.n, 0);
        }
    }
    hear_bytes(&s, 2, bytes_of(frame.data + 4, 28));
    assert_vote(&s, LOOKING(2, 0x500000001, 1, 5)); /* the epoch is the zxid's */
    hear_bytes(&s, 2, bytes_of(frame.data + 4, 40));
    assert_vote(&s, LOOKING(2, 0x500000001, 1, 6));
    start(&s, 1, 1);
    store_u64(frame.data + 4 + 20, 2); /* its round */
    hear_bytes(&s, 2, bytes_of(frame.data + 4, frame.len - 4));
    assert_vote(&s, LOOKING(2, 0x500000001, 2, 6)); /* whatever its configuration is */
    strbuf_fini(&frame);
    side_fini(&s);
}

/* --- for the operator --- */

static char log_text[4096];

static void keep_log(enum log_level level, const char *line, void *arg)
{
    size_t len = strlen(log_text);

    (void)arg;
    if (level == LOG_WARN) {
        snprintf(log_text + len, sizeof(log_text) - len, "%s\n", line);
    }
}

static void a_server_with_another_list_is_reported_and_counts(void **state)
{
    struct notification n = {MEMBER_LOOKING, 2, 5, 1, 1, 2, BYTES_NULL};
    struct log_target target = {keep_log, NULL, LOG_INFO};
    static const char *const texts[] = {
        "server.1=other:1:2;2181\nserver.2=a:1:2\nserver.3=a:1:2\nserver.9=x:1:2:observer\n"
        "version=5",
        "nothing that could be read",
        "server.1=a:1:2\nserver.2=a:1:2:observer\nversion=0",
    };
    struct side s;

    (void)state;
    log_text[0] = '\0';
    logging_use(&target);
    start_as_1(&s, 3, 1, 1);
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        struct strbuf frame;

        assert_string_equal(log_text, "");
        strbuf_init(&frame, STRBUF_NO_LIMIT);
        n.config = bytes_str(texts[i]);
        notification_write(&frame, &n);
        hear_bytes(&s, 2, bytes_of(frame.data + 4, frame.len - 4));
        assert_vote(&s, LOOKING(2, 5, 1, 1));
        strbuf_fini(&frame);
    }
    assert_string_equal(log_text, "server 2 has the members 1 2(observer), this one has "
                                  "1 2 3 9(observer): the lists have to be the same on all "
                                  "servers\n");
    side_fini(&s);
    logging_use(NULL);
}

/* --- what Java said --- */

#define RECORDED_MAX 32

struct recorded {
    size_t n;
    struct strbuf message[RECORDED_MAX];
};

static void keep_notification(const struct quorum_message *m, void *arg)
{
    struct recorded *r = arg;

    if (strncmp(m->meaning, "NOTIF ", 6) == 0) {
        assert_true(r->n < RECORDED_MAX);
        strbuf_init(&r->message[r->n], STRBUF_NO_LIMIT);
        strbuf_append_bytes(&r->message[r->n++], m->bytes);
    }
}

static struct recorded recorded_in(const char *path)
{
    struct recorded r = {0};

    vectors_quorum(path, keep_notification, &r);
    return r;
}

static void recorded_fini(struct recorded *r)
{
    for (size_t i = 0; i < r->n; i++) {
        strbuf_fini(&r->message[i]);
    }
}

static struct bytes recorded_bytes(const struct recorded *r, size_t i)
{
    assert_true(i < r->n);
    return strbuf_bytes(&r->message[i]);
}

/* The sender's last step has a notification for `to`, and it is that message. */
static void assert_sends(const struct side *s, int64_t to, struct bytes message)
{
    for (size_t i = 0; i < s->effects.n; i++) {
        if (s->effects.effect[i].kind == ELECTION_NOTIFY && s->effects.effect[i].id == to) {
            assert_bytes_equal(s->effects.effect[i].bytes, message);
            return;
        }
    }
    fail_msg("nothing is sent to %d", (int)to);
}

static void receives(struct side *s, int64_t from, struct bytes message)
{
    hear_bytes(s, from, bytes_of(message.data + 4, message.len - 4));
}

static void side_of_recorded(struct side *s, int64_t id, struct bytes message)
{
    struct notification n;
    char *text;

    assert_true(notification_read(bytes_of(message.data + 4, message.len - 4), &n));
    text = strndup((const char *)n.config.data, n.config.len);
    side_init(s, text, (struct election_options){.id = id});
    free(text);
}

static void a_recorded_cold_start_is_repeated(void **state)
{
    struct recorded r = recorded_in(VECTORS "/quorum/election-cold-start.txt");
    struct side s1, s2, s3;

    (void)state;
    assert_int_equal(r.n, 9);
    side_of_recorded(&s1, 1, recorded_bytes(&r, 0));
    side_of_recorded(&s2, 2, recorded_bytes(&r, 0));
    side_of_recorded(&s3, 3, recorded_bytes(&r, 0));

    start(&s1, 0, 0);
    assert_sends(&s1, 2, recorded_bytes(&r, 0));
    start(&s2, 0, 0);
    assert_sends(&s2, 1, recorded_bytes(&r, 1));
    receives(&s1, 2, recorded_bytes(&r, 1));
    assert_sends(&s1, 2, recorded_bytes(&r, 2));
    assert_sends(&s1, 3, recorded_bytes(&r, 4)); /* reaches it late: the last one sent */
    receives(&s2, 1, recorded_bytes(&r, 0));
    receives(&s2, 1, recorded_bytes(&r, 2));
    pass(&s1, 200);
    assert_elected(&s1, 2, MEMBER_FOLLOWING);
    pass(&s2, 200);
    assert_elected(&s2, 2, MEMBER_LEADING);
    simple(&s1, ELECTION_SYNCED, 0, 1);
    simple(&s2, ELECTION_SYNCED, 0, 1);

    start(&s3, 0, 0);
    assert_sends(&s3, 1, recorded_bytes(&r, 3));
    assert_sends(&s3, 2, recorded_bytes(&r, 6));
    receives(&s1, 3, recorded_bytes(&r, 3));
    assert_sends(&s1, 3, recorded_bytes(&r, 5));
    receives(&s2, 3, recorded_bytes(&r, 6));
    assert_sends(&s2, 3, recorded_bytes(&r, 8));
    for (size_t i = 4; i <= 5; i++) {
        receives(&s3, 1, recorded_bytes(&r, i));
    }
    receives(&s3, 2, recorded_bytes(&r, 7));
    assert_looking(&s3);
    receives(&s3, 2, recorded_bytes(&r, 8));
    assert_elected(&s3, 2, MEMBER_FOLLOWING);

    side_fini(&s1);
    side_fini(&s2);
    side_fini(&s3);
    recorded_fini(&r);
}

/* Servers that follow 3 in epoch 1, as the recorded ones do. */
static void settle_on_3(struct side *s, int64_t id, struct bytes answer)
{
    side_of_recorded(s, id, answer);
    start(s, 0, 0);
    for (int64_t from = 1; from <= 3; from++) {
        hear(s, from, LOOKING(3, 0, 1, 0));
    }
    assert_vote(s, (struct said){id == 3 ? MEMBER_LEADING : MEMBER_FOLLOWING, 3, 0, 1, 0});
    simple(s, ELECTION_SYNCED, 0, 1);
}

/* One who does not vote asks all three; `question` and `answer` are the recorded messages. */
static void ask_all(struct side *asker, const struct recorded *r, const size_t question[3],
                    const size_t answer[3])
{
    start(asker, 0, 0);
    for (int64_t id = 1; id <= 3; id++) {
        struct bytes answered = recorded_bytes(r, answer[id - 1]);
        struct side s;

        settle_on_3(&s, id, answered);
        receives(&s, 4, recorded_bytes(r, question[id - 1]));
        assert_sends(&s, 4, answered);
        side_fini(&s);
    }
    for (int64_t id = 1; id <= 3; id++) {
        assert_sends(asker, id, recorded_bytes(r, question[id - 1]));
    }
    for (int64_t id = 1; id <= 3; id++) {
        receives(asker, id, recorded_bytes(r, answer[id - 1]));
    }
}

static void a_recorded_observer_finds_its_leader(void **state)
{
    struct recorded r = recorded_in(VECTORS "/quorum/observer-join-election.txt");
    struct side observer;

    (void)state;
    assert_int_equal(r.n, 15);
    side_of_recorded(&observer, 4, recorded_bytes(&r, 0));
    ask_all(&observer, &r, (size_t[3]){0, 2, 4}, (size_t[3]){1, 3, 5});
    assert_elected(&observer, 3, MEMBER_OBSERVING);
    side_fini(&observer);

    /* With the voters' configuration, in which it is not. */
    side_of_recorded(&observer, 4, recorded_bytes(&r, 1));
    ask_all(&observer, &r, (size_t[3]){7, 9, 13}, (size_t[3]){8, 10, 14});
    assert_elected(&observer, 3, MEMBER_FOLLOWING);
    side_fini(&observer);
    recorded_fini(&r);
}

/* --- who cannot lead --- */

#define NOBODY(id, round) LOOKING(id, INT64_MIN, round, INT64_MIN)

/* Server `id` of three voters, which cannot listen for learners. */
static void start_deaf(struct side *s, int64_t id, int64_t zxid, int64_t epoch)
{
    side_init(s, VOTERS(3), (struct election_options){.id = id});
    step(s, &(struct election_input){
                .kind = ELECTION_START, .zxid = zxid, .epoch = epoch, .deaf = true});
}

/* What `id` was told in the last step. */
static struct notification told_to(const struct side *s, int64_t id)
{
    struct notification n = {0};
    struct bytes payload;
    size_t used;

    for (size_t i = 0; i < s->effects.n; i++) {
        const struct election_effect *e = &s->effects.effect[i];

        if (e->kind == ELECTION_NOTIFY && e->id == id) {
            assert_int_equal(notification_frame(e->bytes, &payload, &used), STREAM_WHOLE);
            assert_true(notification_read(payload, &n));
        }
    }
    return n;
}

/* Java passes over votes for a server that does not vote, and would stay in its round. */
static void who_is_deaf_votes_for_nobody_with_a_voter_named(void **state)
{
    struct side s;

    (void)state;
    start_deaf(&s, 3, 7, 6);
    assert_string_equal(told(&s), "1 2");
    assert_same(told_to(&s, 1), NOBODY(1, 1));
    assert_same(told_to(&s, 2), NOBODY(2, 1));
    assert_looking(&s);
    side_fini(&s);
}

static void who_is_deaf_votes_for_whoever_has_as_much(void **state)
{
    struct side s;

    (void)state;
    start_deaf(&s, 3, 7, 6);
    hear(&s, 1, LOOKING(1, 7, 1, 6));
    assert_told(&s, "1 2", LOOKING(1, 7, 1, 6));
    hear(&s, 2, LOOKING(2, 7, 1, 6));
    assert_told(&s, "1 2", LOOKING(2, 7, 1, 6));
    hear(&s, 1, LOOKING(2, 7, 1, 6));
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    side_fini(&s);
}

static void who_is_deaf_helps_nobody_who_lacks_something(void **state)
{
    struct side s;

    (void)state;
    start_deaf(&s, 3, 7, 6);
    hear(&s, 1, LOOKING(1, 6, 1, 6));
    assert_string_equal(told(&s), ""); /* an answer would be answered, without end */
    hear(&s, 2, LOOKING(2, 9, 1, 5));
    assert_string_equal(told(&s), "");
    hear(&s, 1, LOOKING(1, 6, 4, 6));
    assert_same(told_to(&s, 1), NOBODY(1, 4));
    pass(&s, 10000);
    assert_looking(&s);
    hear(&s, 2, LOOKING(2, 8, 4, 6));
    assert_told(&s, "1 2", LOOKING(2, 8, 4, 6));
    side_fini(&s);
}

/* They were told so before it lost its port. */
static void who_is_deaf_does_not_lead_whoever_votes_for_it(void **state)
{
    struct side s;

    (void)state;
    start_deaf(&s, 3, 7, 6);
    hear(&s, 1, LOOKING(3, 7, 1, 6));
    assert_string_equal(told(&s), "1 2"); /* a new round: who votes so does not give it up */
    assert_same(told_to(&s, 1), NOBODY(1, 2));
    hear(&s, 2, LOOKING(3, 7, 1, 6)); /* from the round before */
    assert_same(told_to(&s, 2), NOBODY(2, 2));
    hear(&s, 2, FOLLOWING(3, 7, 2, 6));
    hear(&s, 1, FOLLOWING(3, 7, 2, 6));
    pass(&s, 10000);
    assert_looking(&s);
    hear(&s, 2, LOOKING(2, 7, 2, 6));
    assert_told(&s, "1 2", LOOKING(2, 7, 2, 6));
    side_fini(&s);
}

static void who_is_deaf_follows_who_leads_already(void **state)
{
    struct side s;

    (void)state;
    start_deaf(&s, 3, 7, 6); /* others may lack what was never committed */
    hear(&s, 1, FOLLOWING(2, 6, 5, 7));
    hear(&s, 2, LEADING(2, 6, 5, 7));
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    side_fini(&s);
}

static void who_hears_again_stands_in_the_same_round(void **state)
{
    struct side s;

    (void)state;
    start_deaf(&s, 3, 7, 6);
    hear(&s, 1, LOOKING(1, 6, 1, 6));
    simple(&s, ELECTION_HEARS, 0, 0);
    assert_told(&s, "1 2", LOOKING(3, 7, 1, 6));
    hear(&s, 1, LOOKING(3, 7, 1, 6));
    pass(&s, 200);
    assert_elected(&s, 3, MEMBER_LEADING);
    side_fini(&s);
}

static void who_hears_again_leaves_a_better_vote_as_it_is(void **state)
{
    struct side s;

    (void)state;
    start_deaf(&s, 1, 7, 6);
    hear(&s, 2, LOOKING(2, 7, 1, 6));
    simple(&s, ELECTION_HEARS, 0, 0);
    assert_string_equal(told(&s), "");
    assert_vote(&s, LOOKING(2, 7, 1, 6));
    simple(&s, ELECTION_HEARS, 0, 0);
    pass(&s, 200);
    assert_elected(&s, 2, MEMBER_FOLLOWING);
    simple(&s, ELECTION_HEARS, 0, 0);
    assert_string_equal(told(&s), "");
    side_fini(&s);
}

/* The votes of two who are deaf are the same, and for nobody. */
static void votes_for_nobody_elect_nobody(void **state)
{
    struct side s;

    (void)state;
    start_as_1(&s, 3, 7, 6);
    hear(&s, 2, NOBODY(1, 1));
    assert_told(&s, "2", LOOKING(1, 7, 1, 6));
    hear(&s, 3, NOBODY(1, 1));
    pass(&s, 150);
    assert_looking(&s);
    hear(&s, 2, NOBODY(1, 5)); /* but who says so is in a later round */
    assert_told(&s, "2 3", LOOKING(1, 7, 5, 6));
    side_fini(&s);

    side_init(&s, "server.1=a:1:2\nversion=0", (struct election_options){.id = 1});
    step(&s, &(struct election_input){.kind = ELECTION_START, .deaf = true});
    pass(&s, 10000);
    assert_looking(&s);
    simple(&s, ELECTION_HEARS, 0, 0);
    assert_elected(&s, 1, MEMBER_LEADING);
    side_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_begins_with_itself),
        cmocka_unit_test(an_observer_proposes_nobody),
        cmocka_unit_test(who_is_in_no_list_proposes_nobody_but_has_a_history),
        cmocka_unit_test(a_lone_voter_elects_itself_at_once),
        cmocka_unit_test(each_election_is_a_round_further),
        cmocka_unit_test(a_better_proposal_is_taken_over_and_told),
        cmocka_unit_test(a_vote_for_itself_with_what_it_lacks_does_not_win),
        cmocka_unit_test(a_worse_proposal_is_answered),
        cmocka_unit_test(only_voters_can_be_proposed),
        cmocka_unit_test(who_may_have_lost_its_database_elects_nobody),
        cmocka_unit_test(a_newer_round_begins_again_with_the_better_of_both),
        cmocka_unit_test(an_older_round_is_answered_and_does_not_count),
        cmocka_unit_test(a_quorum_waits_for_somebody_better),
        cmocka_unit_test(somebody_better_in_time_is_elected),
        cmocka_unit_test(somebody_better_has_a_wait_of_its_own),
        cmocka_unit_test(who_is_for_the_same_leader_of_before_does_not_agree),
        cmocka_unit_test(all_voters_agreed_need_not_wait),
        cmocka_unit_test(who_follows_already_agrees_as_well),
        cmocka_unit_test(who_refuses_is_not_waited_for_after_a_role),
        cmocka_unit_test(an_election_that_came_to_nothing_was_no_role),
        cmocka_unit_test(what_was_heard_in_the_last_election_is_forgotten),
        cmocka_unit_test(who_refused_and_spoke_is_waited_for),
        cmocka_unit_test(somebody_better_in_an_older_round_is_waited_for),
        cmocka_unit_test(a_newer_round_that_is_not_better_does_not_end_the_wait),
        cmocka_unit_test(a_running_ensemble_is_joined_when_its_leader_says_so),
        cmocka_unit_test(a_leader_without_a_quorum_is_not_joined),
        cmocka_unit_test(a_leader_of_this_round_is_joined),
        cmocka_unit_test(in_the_same_round_epochs_may_differ),
        cmocka_unit_test(in_the_same_round_an_old_servers_epoch_counts),
        cmocka_unit_test(out_of_the_round_versions_decide_what_is_compared),
        cmocka_unit_test(nobody_leads_on_the_word_of_others_alone),
        cmocka_unit_test(nobody_leads_for_what_it_was_in_a_former_life),
        cmocka_unit_test(observers_say_nothing_of_the_leader),
        cmocka_unit_test(an_old_leaders_word_does_not_end_the_wait_for_another),
        cmocka_unit_test(who_says_that_it_follows_looks_no_more),
        cmocka_unit_test(who_looks_again_follows_no_more),
        cmocka_unit_test(an_observer_finds_the_leader),
        cmocka_unit_test(who_has_a_role_answers_who_looks),
        cmocka_unit_test(who_does_not_vote_is_answered_in_every_state),
        cmocka_unit_test(answers_to_strangers_have_their_measure),
        cmocka_unit_test(between_two_roles_nothing_is_said),
        cmocka_unit_test(its_own_words_are_not_heard),
        cmocka_unit_test(a_proposal_is_sent_again_in_growing_intervals),
        cmocka_unit_test(who_was_not_heard_in_this_round_is_asked),
        cmocka_unit_test(a_question_is_answered_and_does_not_count),
        cmocka_unit_test(the_intervals_can_be_chosen),
        cmocka_unit_test(who_has_no_weight_is_never_elected),
        cmocka_unit_test(old_formats_count_and_others_do_not),
        cmocka_unit_test(a_server_with_another_list_is_reported_and_counts),
        cmocka_unit_test(a_recorded_cold_start_is_repeated),
        cmocka_unit_test(a_recorded_observer_finds_its_leader),
        cmocka_unit_test(who_is_deaf_votes_for_nobody_with_a_voter_named),
        cmocka_unit_test(who_is_deaf_votes_for_whoever_has_as_much),
        cmocka_unit_test(who_is_deaf_helps_nobody_who_lacks_something),
        cmocka_unit_test(who_is_deaf_does_not_lead_whoever_votes_for_it),
        cmocka_unit_test(who_is_deaf_follows_who_leads_already),
        cmocka_unit_test(who_hears_again_stands_in_the_same_round),
        cmocka_unit_test(who_hears_again_leaves_a_better_vote_as_it_is),
        cmocka_unit_test(votes_for_nobody_elect_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
