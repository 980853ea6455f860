/* SPDX-License-Identifier: Apache-2.0 */
/* How long a session is certain to live: what counts, and what does not. T is 9 s, the gap 3 s. */
#include "client/certain.h"

#include "lib/test.h"

enum { T = 9000, GAP = 3000, FAR = 1000000 };

/* A link whose stream has a byte per millisecond of time. */
static struct certain_answer answer(enum certain_proof proof, int64_t sent, int64_t heard)
{
    return (struct certain_answer){.proof = proof,
                                   .sent_ms = sent,
                                   .heard_ms = heard,
                                   .position = (uint64_t)sent,
                                   .written = (uint64_t)heard};
}

static void take(struct certain *k, enum certain_proof proof, int64_t sent, int64_t heard)
{
    struct certain_answer a = answer(proof, sent, heard);

    certain_answered(k, &a);
}

/* A session that begins at 1000, and of which nothing has been known since 10000. */
static struct certain idle(void)
{
    struct certain_answer hello = answer(CERTAIN_HEARD, 1000, 1001);
    struct certain k = {0};

    certain_begun(&k, &hello, T);
    assert_int_equal(certain_left_ms(&k, 1001), T - 1);
    assert_int_equal(certain_left_ms(&k, 10000), 0);
    take(&k, CERTAIN_HEARD, 20000, 20010);
    take(&k, CERTAIN_HEARD, 30000, 30010);
    assert_int_equal(k.since_ms, 1000);
    return k;
}

static void a_begun_session_is_certain_from_its_handshake_on(void **state)
{
    struct certain k = idle();

    (void)state;
    certain_session_gone(&k);
    assert_int_equal(certain_left_ms(&k, 1001), 0);
}

/* A follower that is cut off answers. */
static void reads_and_pings_show_nothing(void **state)
{
    struct certain k = idle();

    (void)state;
    for (int64_t at = 31000; at < 60000; at += 500) {
        take(&k, CERTAIN_HEARD, at, at + 10);
    }
    assert_int_equal(k.since_ms, 1000);
}

static void a_leader_that_counts_is_sure_by_one_request(void **state)
{
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_COUNTED, 40000, 40100);
    assert_int_equal(k.since_ms, 40000); /* when it was sent */
    take(&k, CERTAIN_HEARD, 41000, 41100);
    assert_int_equal(k.since_ms, 40000);
    take(&k, CERTAIN_AGREED, 42000, 42100);
    assert_int_equal(k.since_ms, 42000);
    take(&k, CERTAIN_LED, 43000, 43100);
    assert_int_equal(k.since_ms, 43000);
    assert_int_equal(certain_due_ms(&k), 43000 + T / 3);
}

/* The next link may be to another one. */
static void who_leads_is_known_of_a_link_only(void **state)
{
    struct certain_answer hello = answer(CERTAIN_HEARD, 50000, 50001);
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_COUNTED, 40000, 40100);
    certain_link_gone(&k);
    assert_int_equal(k.since_ms, 40000); /* what was known stays so */
    certain_resumed(&k, &hello, T);
    take(&k, CERTAIN_LED, 50100, 50110);
    assert_int_equal(k.since_ms, 40000);
}

static void a_b_and_c_are_certain_from_a_on(void **state)
{
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_HEARD, 40000, 40010);         /* A */
    take(&k, CERTAIN_LED, 40010 + GAP + 1, 43500); /* B */
    assert_int_equal(k.since_ms, 1000);
    take(&k, CERTAIN_AGREED, 43501, 43510); /* C */
    assert_int_equal(k.since_ms, 40000);
    assert_int_equal(certain_left_ms(&k, 43510), T - 3510);
}

/* The follower may not have been asked by its leader in between. */
static void b_has_to_be_late(void **state)
{
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_HEARD, 40000, 40010);
    take(&k, CERTAIN_LED, 40010 + GAP, 43500);
    take(&k, CERTAIN_AGREED, 43501, 43510);
    assert_int_equal(k.since_ms, 30000); /* by an earlier A */
}

/* A read does not come from the leader. */
static void b_has_to_be_answered_by_the_leader(void **state)
{
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_HEARD, 40000, 40010);
    take(&k, CERTAIN_HEARD, 44000, 44010);
    take(&k, CERTAIN_AGREED, 44020, 44030);
    assert_int_equal(k.since_ms, 1000);
}

/* It may have overtaken the word about us. */
static void c_has_to_be_sent_behind_the_answer_to_b(void **state)
{
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_HEARD, 40000, 40010);
    take(&k, CERTAIN_LED, 44000, 44100);
    take(&k, CERTAIN_AGREED, 44050, 44110);
    assert_int_equal(k.since_ms, 1000);
    take(&k, CERTAIN_AGREED, 44111, 44120);
    assert_int_equal(k.since_ms, 40000);
}

/* A leader that was deposed answers a sync. */
static void c_has_to_be_agreed_upon(void **state)
{
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_HEARD, 40000, 40010);
    take(&k, CERTAIN_LED, 44000, 44010);
    take(&k, CERTAIN_LED, 44020, 44030);
    take(&k, CERTAIN_ECHOED, 44040, 44050);
    assert_int_equal(k.since_ms, 1000);
}

static void an_old_contact_serves_when_the_last_one_is_too_young(void **state)
{
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_HEARD, 40000, 40010);
    take(&k, CERTAIN_HEARD, 44000, 44010);
    take(&k, CERTAIN_AGREED, 45000, 45010); /* B for 40000 */
    take(&k, CERTAIN_AGREED, 45020, 45030);
    assert_int_equal(k.since_ms, 40000);
}

/* ---- a note that a follower loses ---- */

enum { PING = T / 40 }; /* between two of a leader's, at the least */

/* A session that began at 1000, and is certain until 10000. */
static struct certain begun(void)
{
    struct certain_answer hello = answer(CERTAIN_HEARD, 1000, 1001);
    struct certain k = {0};

    certain_begun(&k, &hello, T);
    return k;
}

/* A B and a C, T/3 later and within the time that is certain. */
static void confirm_at(struct certain *k, int64_t at)
{
    take(k, CERTAIN_AGREED, at, at + 1);
    take(k, CERTAIN_AGREED, at + 2, at + 3);
}

/* A ping of the leader may have met it. */
static void a_single_request_is_not_sure(void **state)
{
    struct certain k = begun();

    (void)state;
    take(&k, CERTAIN_HEARD, 3000, 3001);
    confirm_at(&k, 3001 + GAP + 1);
    assert_int_equal(k.since_ms, 1000);
}

static void neither_are_two_that_are_far_apart(void **state)
{
    struct certain k = begun();

    (void)state;
    take(&k, CERTAIN_LED, 3000, 3001);
    take(&k, CERTAIN_HEARD, 3002, 3003);
    take(&k, CERTAIN_HEARD, 3000 + PING - 2, 3000 + PING - 1);
    confirm_at(&k, 4000 + GAP);
    assert_int_equal(k.since_ms, 1000);
}

/* One ping at the most is sent in so short a time. */
static void two_at_once_are(void **state)
{
    struct certain k = begun();

    (void)state;
    take(&k, CERTAIN_LED, 3000, 3001);
    take(&k, CERTAIN_HEARD, 3002, 3003);
    take(&k, CERTAIN_HEARD, 3004, 3000 + PING - 2);
    take(&k, CERTAIN_AGREED, 3000 + PING - 2 + GAP, 6300); /* B: a millisecond too soon */
    take(&k, CERTAIN_AGREED, 6301, 6302);
    assert_int_equal(k.since_ms, 1000);
    confirm_at(&k, 6400);
    assert_int_equal(k.since_ms, 3002); /* the first of the two, and not what came before */
}

static void the_longer_it_takes_the_more_it_takes(void **state)
{
    (void)state;
    for (int n = 1; n <= 7; n++) {
        struct certain k = begun();

        take(&k, CERTAIN_LED, 3000, 3001);
        for (int i = 0; i < n; i++) {
            take(&k, CERTAIN_HEARD, 3002 + i, 3000 + 4 * PING + 10);
        }
        confirm_at(&k, 3000 + 4 * PING + 20 + GAP);
        assert_int_equal(k.since_ms, n > 5 ? 3002 : 1000);
    }
}

/* Pings from before may be on their way. */
static void they_are_counted_from_an_answer_of_the_leader(void **state)
{
    struct certain k = begun();

    (void)state;
    for (int i = 0; i < 100; i++) {
        take(&k, CERTAIN_HEARD, 3000 + i, 3001 + i);
    }
    confirm_at(&k, 3101 + GAP);
    assert_int_equal(k.since_ms, 1000);
}

static void and_only_those_sent_behind_it(void **state)
{
    struct certain k = begun();

    (void)state;
    take(&k, CERTAIN_LED, 3000, 3010);
    take(&k, CERTAIN_HEARD, 3005, 3011);
    take(&k, CERTAIN_HEARD, 3010, 3011);
    take(&k, CERTAIN_HEARD, 3011, 3012);
    confirm_at(&k, 4000 + GAP);
    assert_int_equal(k.since_ms, 1000);
}

/* What is not sure serves until something is. */
static void a_guess_is_followed_by_what_is_sure(void **state)
{
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_HEARD, 40000, 40001);
    take(&k, CERTAIN_LED, 40002 + GAP, 43003); /* B, and R */
    take(&k, CERTAIN_AGREED, 43004, 43005);    /* C */
    take(&k, CERTAIN_HEARD, 43005, 43006);
    assert_int_equal(k.since_ms, 40000);
    assert_false(k.is_sure);
    confirm_at(&k, 43007 + GAP);
    assert_int_equal(k.since_ms, 43004);
    assert_true(k.is_sure);
    take(&k, CERTAIN_HEARD, 47000, 47001);
    confirm_at(&k, 47002 + GAP); /* for the run of the last B */
    assert_int_equal(k.since_ms, 43004);
}

static void as_many_are_wanted_as_it_takes(void **state)
{
    struct certain k = begun();

    (void)state;
    take(&k, CERTAIN_LED, 3000, 3001);
    assert_int_equal(certain_wanted(&k), 0); /* the leader may be one that counts */
    take(&k, CERTAIN_ECHOED, 5000, 5001);
    assert_int_equal(certain_wanted(&k), 2);
    certain_wanted_sent(&k);
    assert_int_equal(certain_wanted(&k), 0);
    take(&k, CERTAIN_AGREED, 7000, 7000 + 2 * PING);
    assert_int_equal(certain_wanted(&k), 6);
    take(&k, CERTAIN_AGREED, 7001, 7001 + 2 * PING); /* they make a run of themselves */
    assert_int_equal(certain_wanted(&k), 6);
}

/* The leader was asked whether the session lives; but it may have been deposed. */
static void to_resume_needs_one_write_more(void **state)
{
    struct certain_answer hello = answer(CERTAIN_HEARD, 50000, 50010);
    struct certain k = idle();

    (void)state;
    certain_link_gone(&k);
    certain_resumed(&k, &hello, T);
    assert_int_equal(k.since_ms, 1000);
    take(&k, CERTAIN_LED, 50020, 50030);
    assert_int_equal(k.since_ms, 1000);
    take(&k, CERTAIN_AGREED, 50040, 50050);
    assert_int_equal(k.since_ms, 50000);
}

static void a_new_link_begins_a_new_chain(void **state)
{
    struct certain_answer hello = answer(CERTAIN_HEARD, 50000, 50010);
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_HEARD, 40000, 40010);
    take(&k, CERTAIN_LED, 44000, 44010);
    certain_link_gone(&k);
    take(&k, CERTAIN_AGREED, 44020, 44030);
    assert_int_equal(k.since_ms, 1000);
    certain_resumed(&k, &hello, T);
    take(&k, CERTAIN_LED, 50020, 50030);
    assert_int_equal(k.since_ms, 1000);
}

/* A new leader knows what was granted first; the one we have, what was granted last. */
static void the_least_timeout_counts(void **state)
{
    struct certain_answer hello = answer(CERTAIN_HEARD, 2000, 2010);
    struct certain k = idle();

    (void)state;
    certain_resumed(&k, &hello, 2 * T);
    assert_int_equal(certain_left_ms(&k, 2000), T - 1000);
    certain_resumed(&k, &hello, T / 2);
    assert_int_equal(certain_left_ms(&k, 2000), T / 2 - 1000);
}

static void time_that_was_not_counted_has_passed(void **state)
{
    struct certain k = idle();

    (void)state;
    take(&k, CERTAIN_HEARD, 40000, 40010);
    take(&k, CERTAIN_LED, 44000, 44010);
    certain_jumped(&k, 500);
    assert_int_equal(k.since_ms, 500);
    take(&k, CERTAIN_AGREED, 44020, 44030);
    assert_int_equal(k.since_ms, 500);
}

/* As the core does: one at a time, as soon as it is due, and behind it what is wanted. What is
 * left, at the least, once it is certain; and how many heartbeats and others it took. */
static int64_t least_left(enum certain_leader leader, int64_t round_trip, int *n, int *n_signs)
{
    struct certain k = idle();
    int64_t now = 31000, least = T, position = FAR;

    *n_signs = 0;
    for (*n = 0; now < 31000 + 100 * T; (*n)++) {
        enum certain_proof proof = leader == LEADER_COUNTS    ? CERTAIN_COUNTED
                                   : k.leader == LEADER_PINGS ? CERTAIN_AGREED
                                                              : CERTAIN_ECHOED;
        int64_t due = certain_due_ms(&k);
        int signs = certain_wanted(&k);

        certain_wanted_sent(&k);
        now = due > now && signs == 0 ? due : now;
        if (*n > 8) { /* the moment before the answer */
            int64_t left = certain_left_ms(&k, now + round_trip);

            least = left < least ? left : least;
        }
        for (int i = 0; i <= signs; i++) {
            bool is_sign = i < signs;

            position += 10;
            if (is_sign || due <= now) {
                struct certain_answer a = {.proof = is_sign ? CERTAIN_HEARD : proof,
                                           .sent_ms = now,
                                           .heard_ms = now + round_trip,
                                           .position = (uint64_t)position,
                                           .written = (uint64_t)(position + 10 * (signs - i))};

                certain_answered(&k, &a);
            }
        }
        *n_signs += signs;
        now += round_trip;
    }
    return least;
}

static void who_asks_when_it_is_due_stays_certain(void **state)
{
    int n, n_signs;

    (void)state;
    assert_true(least_left(LEADER_COUNTS, 10, &n, &n_signs) >= T * 2 / 3 - 10);
    assert_in_range(n, 290, 310); /* three per timeout */
    assert_int_equal(n_signs, 0);
    assert_true(least_left(LEADER_PINGS, 10, &n, &n_signs) >= T / 3 - 5 * 10 - 2); /* rounded */
    assert_in_range(n, 580, 610); /* twice as many */
    assert_in_range(n_signs, 580, 610);
}

static void on_a_slow_link_as_well(void **state)
{
    int n, n_signs;

    (void)state;
    assert_true(least_left(LEADER_PINGS, T / 25, &n, &n_signs) >= T / 3 - 5 * T / 25 - 5);
    assert_in_range(n, 400, 610);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_begun_session_is_certain_from_its_handshake_on),
        cmocka_unit_test(reads_and_pings_show_nothing),
        cmocka_unit_test(a_leader_that_counts_is_sure_by_one_request),
        cmocka_unit_test(who_leads_is_known_of_a_link_only),
        cmocka_unit_test(a_b_and_c_are_certain_from_a_on),
        cmocka_unit_test(b_has_to_be_late),
        cmocka_unit_test(b_has_to_be_answered_by_the_leader),
        cmocka_unit_test(c_has_to_be_sent_behind_the_answer_to_b),
        cmocka_unit_test(c_has_to_be_agreed_upon),
        cmocka_unit_test(an_old_contact_serves_when_the_last_one_is_too_young),
        cmocka_unit_test(a_single_request_is_not_sure),
        cmocka_unit_test(neither_are_two_that_are_far_apart),
        cmocka_unit_test(two_at_once_are),
        cmocka_unit_test(the_longer_it_takes_the_more_it_takes),
        cmocka_unit_test(they_are_counted_from_an_answer_of_the_leader),
        cmocka_unit_test(and_only_those_sent_behind_it),
        cmocka_unit_test(a_guess_is_followed_by_what_is_sure),
        cmocka_unit_test(as_many_are_wanted_as_it_takes),
        cmocka_unit_test(to_resume_needs_one_write_more),
        cmocka_unit_test(a_new_link_begins_a_new_chain),
        cmocka_unit_test(the_least_timeout_counts),
        cmocka_unit_test(time_that_was_not_counted_has_passed),
        cmocka_unit_test(who_asks_when_it_is_due_stays_certain),
        cmocka_unit_test(on_a_slow_link_as_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
