/* SPDX-License-Identifier: Apache-2.0 */
#include "server/waiting.h"

#include "lib/server_fixture.h"
#include "lib/test.h"
#include "server/connection.h"
#include "server/session.h"

struct world {
    struct waiting_queue q;
    struct connection c;
    struct session session;
};

static void begin(struct world *w)
{
    *w = (struct world){.session.id = 7};
    waiting_init(&w->q);
    list_init(&w->c.waiting);
    w->c.session = &w->session;
    w->c.session_id = 7;
}

static struct waiting *push(struct world *w, int32_t xid, int32_t type)
{
    return waiting_push(&w->q, &w->c, xid, &(struct request){.type = type}, 1000);
}

static struct waiting *take(struct world *w, int64_t session_id, int32_t cxid, int32_t type)
{
    return waiting_take(&w->q, &(struct txn_header){session_id, cxid, 1, 2, type});
}

static void drop(struct world *w, struct waiting *waiting)
{
    list_remove(&waiting->of_connection);
    waiting_free(&w->q, waiting);
}

static void the_first_one_is_answered_by_its_session_and_cxid(void **state)
{
    struct waiting *a, *b;
    struct world w;

    (void)state;
    begin(&w);
    assert_null(take(&w, 7, 1, TXN_CREATE));
    a = push(&w, 1, OP_CREATE);
    b = push(&w, 2, OP_SET_DATA);
    assert_true(a->order < b->order);
    assert_null(take(&w, 8, 1, TXN_CREATE));   /* another session's */
    assert_null(take(&w, 7, 2, TXN_SET_DATA)); /* its turn comes later */
    assert_int_equal(w.q.n, 2);
    assert_ptr_equal(take(&w, 7, 1, TXN_ERROR), a); /* refused: that is an answer, too */
    assert_ptr_equal(take(&w, 7, 2, TXN_SET_DATA), b);
    assert_int_equal(w.q.n, 0);
    drop(&w, a);
    drop(&w, b);
    waiting_fini(&w.q);
}

/* An expired session ends under cxid 0, and a client may count from 0. */
static void the_end_of_a_session_answers_nothing_but_a_close(void **state)
{
    struct waiting *a, *b;
    struct world w;

    (void)state;
    begin(&w);
    a = push(&w, 0, OP_CREATE);
    assert_null(take(&w, 7, 0, TXN_CLOSE_SESSION));
    assert_ptr_equal(take(&w, 7, 0, TXN_CREATE), a);
    b = push(&w, 0, OP_CLOSE_SESSION);
    assert_ptr_equal(take(&w, 7, 0, TXN_CLOSE_SESSION), b);
    drop(&w, a);
    drop(&w, b);
    waiting_fini(&w.q);
}

static void who_goes_is_forgotten_and_its_writes_keep_their_place(void **state)
{
    struct waiting *a;
    struct world w;

    (void)state;
    begin(&w);
    a = push(&w, 1, OP_CREATE);
    push(&w, 2, OP_CREATE);
    waiting_forget_connection(&w.c);
    assert_null(a->connection);
    assert_true(list_empty(&w.c.waiting));
    assert_ptr_equal(a->session, &w.session);
    waiting_forget_session(&w.q, &w.session);
    assert_null(a->session);
    assert_ptr_equal(take(&w, 7, 1, TXN_CREATE), a);
    waiting_free(&w.q, a);
    waiting_fini(&w.q); /* with one inside */
}

/* A multi of these operations, all of them creates. */
static struct waiting *push_multi(struct world *w, const int32_t *types, size_t n)
{
    struct waiting *result;
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < n; i++) {
        struct request q = fixture_create_request("/a", "", 0);

        q.type = types[i];
        multi_header_write(&b, &(struct multi_header){types[i], false, -1});
        request_write(&b, op_find(types[i]), &q);
    }
    multi_header_write(&b, &(struct multi_header){-1, true, -1});
    result = waiting_push(&w->q, &w->c, 1,
                          &(struct request){.type = OP_MULTI, .multi = strbuf_bytes(&b)}, 0);
    strbuf_fini(&b);
    return result;
}

static void what_a_multi_asked_for_is_known_here(void **state)
{
    const int32_t mixed[] = {OP_CREATE, OP_CREATE2, OP_CREATE, OP_CREATE2};
    struct waiting *a;
    struct world w;

    (void)state;
    begin(&w);
    a = push_multi(&w, mixed, 4);
    assert_non_null(a->is_create2);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(a->is_create2[i], mixed[i] == OP_CREATE2);
    }
    a = push_multi(&w, mixed, 1);
    assert_null(a->is_create2);
    waiting_forget_connection(&w.c);
    waiting_fini(&w.q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_one_is_answered_by_its_session_and_cxid),
        cmocka_unit_test(the_end_of_a_session_answers_nothing_but_a_close),
        cmocka_unit_test(who_goes_is_forgotten_and_its_writes_keep_their_place),
        cmocka_unit_test(what_a_multi_asked_for_is_known_here),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
