/* SPDX-License-Identifier: Apache-2.0 */
#include "server/parked.h"

#include <stdio.h>

#include "lib/test.h"

static void push_text(struct parked *q, const char *text, int64_t answer)
{
    parked_push(q, &(struct parked_request){
                       .frame = bytes_str(text), .n_auth_ids = 3, .when_us = 77, .answer = answer});
}

static void expect_text(struct parked *q, const char *text)
{
    struct parked_request r;

    assert_true(parked_is_ready(q));
    parked_pop(q, &r);
    assert_true(bytes_equal_str(r.frame, text));
    assert_int_equal(r.n_auth_ids, 3);
    assert_int_equal(r.when_us, 77);
}

static void what_is_behind_a_mark_is_ready_when_the_mark_is_done(void **state)
{
    struct parked_request r;
    struct parked q;

    (void)state;
    parked_init(&q);
    assert_false(parked_is_ready(&q));
    parked_push_mark(&q);
    push_text(&q, "one", 10);
    parked_push(&q, &(struct parked_request){.frame = BYTES_NULL, .xid = -8});
    parked_push_mark(&q);
    push_text(&q, "", 5);
    assert_int_equal(q.answers, 15);
    assert_int_equal(q.n_requests, 3);
    assert_false(parked_is_ready(&q));
    parked_mark_done(&q);
    expect_text(&q, "one");
    assert_int_equal(q.answers, 5);
    assert_true(parked_is_ready(&q));
    parked_pop(&q, &r);
    assert_true(bytes_is_null(r.frame));
    assert_int_equal(r.xid, -8);
    assert_false(parked_is_ready(&q));
    parked_mark_done(&q);
    expect_text(&q, "");
    parked_tidy(&q);
    assert_true(parked_is_empty(&q));
    parked_fini(&q);
}

/* The second of two is done before what is behind the first was taken out. */
static void marks_may_be_done_before_their_turn(void **state)
{
    struct parked q;

    (void)state;
    parked_init(&q);
    parked_push_mark(&q);
    push_text(&q, "a", 1);
    parked_push_mark(&q);
    push_text(&q, "b", 1);
    parked_push_mark(&q);
    parked_mark_done(&q);
    parked_mark_done(&q);
    assert_int_equal(q.n_in_flight, 1);
    expect_text(&q, "a");
    expect_text(&q, "b");
    assert_false(parked_is_ready(&q));
    assert_false(parked_is_empty(&q));
    parked_check(&q);
    parked_fini(&q);
}

static void what_was_taken_out_does_not_stay_in_memory(void **state)
{
    struct parked q;
    char text[32];

    (void)state;
    parked_init(&q);
    parked_push_mark(&q);
    parked_mark_done(&q);
    push_text(&q, "0", 1);
    for (int i = 0; i < 100000; i++) { /* never empty */
        snprintf(text, sizeof(text), "%d", i + 1);
        push_text(&q, text, 1);
        snprintf(text, sizeof(text), "%d", i);
        expect_text(&q, text);
        parked_tidy(&q);
    }
    assert_true(q.bytes.capacity < 500000);
    assert_int_equal(q.n_requests, 1);
    assert_int_equal(q.answers, 1);
    parked_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_behind_a_mark_is_ready_when_the_mark_is_done),
        cmocka_unit_test(marks_may_be_done_before_their_turn),
        cmocka_unit_test(what_was_taken_out_does_not_stay_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
