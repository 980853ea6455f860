/* SPDX-License-Identifier: Apache-2.0 */
#include "client/plan.h"

#include <stdlib.h>

#include "client/engine.h"
#include "client/requests.h"
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

    p->flags = PAWL_PROTECTED;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_protected_create_half_written_is_undone),
        cmocka_unit_test(a_protected_create_that_was_not_sent_needs_no_undoing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
