/* SPDX-License-Identifier: Apache-2.0 */
#include "client/plan.h"

#include <stdlib.h>

#include "client/engine.h"
#include "client/requests.h"
#include "client/step.h"
#include "lib/test.h"
#include "wire/ops.h"

/* An engine whose link stands, as far as its core knows; no machine below it. */
static struct engine *engine_with_link(void)
{
    struct pawl_client_options o;
    struct core_options core = {.session_timeout_ms = 1000, .max_request_bytes = 1000, .seed = 1};
    struct engine *e;

    pawl_client_options_init(&o);
    o.seed = 1;
    e = engine_new(&o);
    assert_non_null(e);
    assert_int_equal(core_new(&core, "a", 0, &e->core), 0);
    e->core->link = LINK_READY;
    return e;
}

static void drop_engine(struct engine *e)
{
    struct item *item;

    core_shut(e->core, PAWL_ERR_CLOSING);
    while ((item = core_next_item(e->core)) != NULL) {
        if (item->kind == ITEM_CALL) {
            call_free((struct call *)item);
        } else {
            free(item);
        }
    }
    engine_unref(e);
}

static struct call *submit_protected(struct engine *e)
{
    struct request q = {.path = bytes_str("/q/_c_id-n"), .ttl_ms = -1};
    struct call *call = call_new(OP_CREATE2);
    struct plan *p = plan_new(call, PLAN_CREATE, &q);

    p->flags = PAWL_OP_PROTECTED;
    strcpy(p->id, "_c_id");
    assert_int_equal(engine_submit(e, call, &q), 0);
    return call;
}

static int32_t last_queued_op(const struct engine *e)
{
    return container_of(e->core->queued.prev, struct call, item.link)->op;
}

/* The rest of the frame has to follow, and the server will execute it. */
static void a_protected_create_half_written_is_undone(void **state)
{
    struct engine *e = engine_with_link();
    struct call *call = submit_protected(e);

    (void)state;
    requests_wrote(e->core, 1, 10);
    assert_int_equal(engine_abandon(e, call), PAWL_OUTCOME_UNKNOWN);
    assert_int_equal(last_queued_op(e), OP_SYNC); /* then it is looked for */
    drop_engine(e);
}

static void a_protected_create_that_was_not_sent_needs_no_undoing(void **state)
{
    struct engine *e = engine_with_link();
    struct call *call = submit_protected(e);

    (void)state;
    assert_int_equal(engine_abandon(e, call), PAWL_OUTCOME_NOT_SENT);
    assert_true(list_empty(&e->core->queued));
    drop_engine(e);
}

/* ---- a protected create that may not be looked for ---- */

/* All that is queued is sent, and the one request answered. */
static struct call *answer(struct engine *e, int32_t op, int err, struct bytes body)
{
    struct call *call = container_of(e->core->queued.next, struct call, item.link);
    struct reply_header h = {.xid = call->xid, .err = err};
    struct item *item;

    assert_false(list_empty(&e->core->queued));
    assert_int_equal(call->op, op);
    e->core->in = e->core->in == NULL ? chunk_new(64) : e->core->in; /* where answers lie */
    requests_wrote(e->core, 1, requests_output(e->core).len);
    assert_int_equal(requests_answer(e->core, 0, &h, body), 0);
    item = core_next_item(e->core);
    assert_ptr_equal(item, &call->item);
    return call;
}

/* The answer to a create is lost, and the search for the node is refused. */
static struct engine *engine_with_refused_search(void)
{
    struct engine *e = engine_with_link();
    struct call *call = submit_protected(e);

    e->core->session_id = 7;
    call->plan->retry = (struct pawl_retry){.kind = PAWL_RETRY_N_TIMES, .n = 1};
    requests_wrote(e->core, 1, requests_output(e->core).len);
    requests_link_down(e->core);
    assert_ptr_equal(core_next_item(e->core), &call->item);
    assert_true(plan_step(e, call, 1));
    plan_run_due(e, 1);
    assert_true(plan_step(e, answer(e, OP_SYNC, 0, BYTES_NULL), 1));
    assert_ptr_equal(answer(e, OP_GET_CHILDREN, PAWL_ERR_NO_AUTH, BYTES_NULL), call);
    assert_false(plan_step(e, call, 1));
    assert_int_equal(call->err, PAWL_ERR_NO_AUTH);
    assert_int_equal(call->outcome, PAWL_OUTCOME_UNKNOWN);
    call_free(call);
    return e;
}

/* The search goes on without the caller; true: it will be tried again. */
static bool search_is_refused(struct engine *e, int64_t now_ms)
{
    struct call *call;
    bool again;

    assert_true(plan_step(e, answer(e, OP_SYNC, 0, BYTES_NULL), now_ms));
    call = answer(e, OP_GET_CHILDREN, PAWL_ERR_NO_AUTH, BYTES_NULL);
    again = plan_step(e, call, now_ms);
    if (!again) {
        call_free(call);
    }
    return again;
}

static void a_node_that_may_not_be_looked_for_is_undone_later(void **state)
{
    static const uint8_t names[] = "\0\0\0\1"
                                   "\0\0\0\7"
                                   "_c_id-n";
    struct engine *e = engine_with_refused_search();
    struct call *call;
    int64_t now = 1, pause = 0, before;

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_true(search_is_refused(e, now));
        assert_true(list_empty(&e->core->queued));
        before = pause;
        pause = plan_next_ms(e) - now;
        assert_true(pause > before || pause == 60000);
        now += pause;
        plan_run_due(e, now - 1);
        assert_true(list_empty(&e->core->queued));
        plan_run_due(e, now);
    }
    assert_int_equal(pause, 60000);
    assert_true(plan_step(e, answer(e, OP_SYNC, 0, BYTES_NULL), now));
    call = answer(e, OP_GET_CHILDREN, 0, bytes_of(names, sizeof(names) - 1));
    assert_false(plan_step(e, call, now));
    call_free(call);
    call = answer(e, OP_DELETE, PAWL_ERR_NO_AUTH, BYTES_NULL); /* may be listed, not deleted */
    assert_true(plan_step(e, call, now));
    plan_run_due(e, plan_next_ms(e));
    call = answer(e, OP_DELETE, 0, BYTES_NULL);
    assert_false(plan_step(e, call, now));
    call_free(call);
    assert_true(list_empty(&e->delayed) && list_empty(&e->core->queued));
    drop_engine(e);
}

static void nothing_is_undone_that_went_with_its_session(void **state)
{
    struct engine *e = engine_with_refused_search();

    (void)state;
    assert_true(search_is_refused(e, 1));
    e->core->session_id = 8;
    plan_run_due(e, plan_next_ms(e));
    assert_false(search_is_refused(e, 1000));
    assert_true(list_empty(&e->delayed) && list_empty(&e->core->queued));
    drop_engine(e);
}

/* ---- what a recipe withdraws ---- */

static void nobody_is_told(const struct pawl_reply *reply, void *arg)
{
    (void)reply;
    (void)arg;
}

/* A delete that is tried again for ever, with pauses that nobody lives to see the end of. */
static struct call *submit_delete(struct engine *e, void *arg)
{
    struct request q = {.path = bytes_str("/q/n"), .version = -1};
    struct call *call = call_new(OP_DELETE);
    struct plan *p = plan_new(call, PLAN_DELETE, &q);

    p->retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 1000000};
    call->done = nobody_is_told;
    call->arg = arg;
    assert_int_equal(engine_submit(e, call, &q), 0);
    return call;
}

static void send_all(struct engine *e)
{
    requests_wrote(e->core, 1, requests_output(e->core).len);
    assert_true(list_empty(&e->core->queued));
}

/* The server refuses the first of those that were sent, for now. */
static struct call *throttle_first(struct engine *e)
{
    struct call *call = container_of(e->core->sent.next, struct call, item.link);
    struct reply_header h = {.xid = call->xid, .err = PAWL_ERR_THROTTLED_OP};

    assert_int_equal(requests_answer(e->core, 0, &h, BYTES_NULL), 0);
    return call;
}

static struct call *next_call(struct engine *e)
{
    struct item *item = core_next_item(e->core);

    assert_non_null(item);
    assert_int_equal(item->kind, ITEM_CALL);
    return (struct call *)item;
}

/* It has ended, and does not begin again. */
static void assert_ended(struct engine *e, struct call *call, int err, enum pawl_outcome outcome)
{
    assert_ptr_equal(next_call(e), call);
    assert_false(plan_step(e, call, 1));
    assert_int_equal(call->err, err);
    assert_int_equal(call->outcome, outcome);
    assert_true(list_empty(&e->delayed));
    assert_true(list_empty(&e->core->queued));
    call_free(call);
}

static void what_is_withdrawn_in_a_pause_makes_no_other_attempt(void **state)
{
    struct engine *e = engine_with_link();
    struct call *one = submit_delete(e, "one"), *other = submit_delete(e, "other");

    (void)state;
    send_all(e);
    for (int i = 0; i < 2; i++) {
        throttle_first(e);
        assert_true(plan_step(e, next_call(e), 1)); /* it pauses */
    }
    assert_false(step_withdraw(e, nobody_is_told, other->arg));
    assert_ptr_equal(e->delayed.next, &one->plan->link);
    list_remove(&one->plan->link);
    assert_ended(e, other, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_NOT_SENT);
    call_free(one);
    drop_engine(e);
}

static void what_is_withdrawn_after_an_attempt_in_doubt_says_so(void **state)
{
    struct engine *e = engine_with_link();
    struct call *call = submit_delete(e, NULL);

    (void)state;
    call->plan->flags = PAWL_OP_IDEMPOTENT;
    send_all(e);
    requests_link_down(e->core);
    assert_true(plan_step(e, next_call(e), 1));
    assert_true(step_withdraw(e, nobody_is_told, NULL));
    assert_ended(e, call, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_UNKNOWN);
    drop_engine(e);
}

static void what_is_withdrawn_underway_does_not_pause_later(void **state)
{
    struct engine *e = engine_with_link();
    struct call *call = submit_delete(e, NULL);

    (void)state;
    send_all(e);
    assert_true(step_withdraw(e, nobody_is_told, NULL));
    throttle_first(e);
    assert_ended(e, call, PAWL_ERR_THROTTLED_OP, PAWL_OUTCOME_REFUSED);
    drop_engine(e);
}

/* Its answer has come, and has not been looked at: a timer of the same tick. */
static void what_is_withdrawn_with_its_answer_does_not_pause_later(void **state)
{
    struct engine *e = engine_with_link();
    struct call *call = submit_delete(e, NULL);

    (void)state;
    send_all(e);
    throttle_first(e);
    assert_true(step_withdraw(e, nobody_is_told, NULL));
    assert_ended(e, call, PAWL_ERR_THROTTLED_OP, PAWL_OUTCOME_REFUSED);
    drop_engine(e);
}

static void what_is_withdrawn_in_the_queue_is_not_sent(void **state)
{
    struct engine *e = engine_with_link();
    struct call *call = submit_delete(e, NULL);

    (void)state;
    assert_false(step_withdraw(e, nobody_is_told, NULL));
    assert_int_equal(requests_output(e->core).len, 0);
    assert_ended(e, call, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_NOT_SENT);
    assert_true(step_withdraw(e, nobody_is_told, NULL)); /* nothing to withdraw */
    drop_engine(e);
}

/* ---- pauses ---- */

static void a_retry_comes_after_its_pause_and_not_before(void **state)
{
    struct engine *e = engine_with_link();
    struct call *call = submit_delete(e, NULL);

    (void)state;
    call->plan->retry = (struct pawl_retry){.kind = PAWL_RETRY_N_TIMES, .n = 2, .pause_ms = 500};
    for (int i = 0; i < 2; i++) {
        int64_t now = 1000 * i + 1;

        send_all(e);
        throttle_first(e);
        assert_true(plan_step(e, next_call(e), now));
        assert_int_equal(plan_next_ms(e), now + 500);
        plan_run_due(e, now + 499);
        assert_true(list_empty(&e->core->queued));
        plan_run_due(e, now + 500);
        assert_int_equal(last_queued_op(e), OP_DELETE);
    }
    send_all(e);
    throttle_first(e);
    assert_ended(e, call, PAWL_ERR_THROTTLED_OP, PAWL_OUTCOME_REFUSED);
    drop_engine(e);
}

static void no_retry_begins_after_the_deadline(void **state)
{
    struct engine *e = engine_with_link();
    struct call *call = submit_delete(e, NULL);

    (void)state;
    call->deadline_ms = 300;
    send_all(e);
    throttle_first(e);
    assert_true(plan_step(e, next_call(e), 1));
    assert_int_equal(plan_next_ms(e), 300);
    plan_run_due(e, 300);
    assert_ended(e, call, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_NOT_SENT);
    drop_engine(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_protected_create_half_written_is_undone),
        cmocka_unit_test(a_protected_create_that_was_not_sent_needs_no_undoing),
        cmocka_unit_test(a_node_that_may_not_be_looked_for_is_undone_later),
        cmocka_unit_test(nothing_is_undone_that_went_with_its_session),
        cmocka_unit_test(a_retry_comes_after_its_pause_and_not_before),
        cmocka_unit_test(no_retry_begins_after_the_deadline),
        cmocka_unit_test(what_is_withdrawn_in_a_pause_makes_no_other_attempt),
        cmocka_unit_test(what_is_withdrawn_after_an_attempt_in_doubt_says_so),
        cmocka_unit_test(what_is_withdrawn_underway_does_not_pause_later),
        cmocka_unit_test(what_is_withdrawn_with_its_answer_does_not_pause_later),
        cmocka_unit_test(what_is_withdrawn_in_the_queue_is_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
