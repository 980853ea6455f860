/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tracker.h"

#include "lib/test.h"
#include "wire/packet.h"

enum { START_MS = 1000000 };

struct world {
    struct session_table table;
    struct tracker tracker;
};

static void begin(struct world *w, bool expires)
{
    session_table_init(&w->table, 1, 1);
    tracker_init(&w->tracker, expires, 2000, START_MS);
}

static void end(struct world *w)
{
    session_table_fini(&w->table);
    tracker_fini(&w->tracker);
}

static struct session *add(struct world *w, int64_t id)
{
    struct session *s = session_add(&w->table, id, 4000);

    tracker_add(&w->tracker, s, START_MS);
    return s;
}

static void a_session_expires_once_and_is_closing_then(void **state)
{
    struct session *s;
    struct world w;

    (void)state;
    begin(&w, true);
    s = add(&w, 5);
    assert_ptr_equal(session_find(&w.table, 5), s);
    assert_null(session_find(&w.table, 6));
    assert_true(tracker_touch(&w.tracker, s, START_MS + 3000));
    assert_null(tracker_pop_due(&w.tracker, START_MS + 7999));
    assert_ptr_equal(tracker_pop_due(&w.tracker, START_MS + 8000), s);
    tracker_close(&w.tracker, s);
    assert_false(tracker_touch(&w.tracker, s, START_MS + 8000));
    assert_null(tracker_pop_due(&w.tracker, START_MS + 100000));
    tracker_remove(&w.tracker, s);
    session_remove(&w.table, s);
    assert_null(session_find(&w.table, 5));
    end(&w);
}

static void a_closing_session_does_not_expire_again(void **state)
{
    struct session *s;
    struct world w;

    (void)state;
    begin(&w, true);
    s = add(&w, 5);
    tracker_close(&w.tracker, s);
    assert_false(tracker_touch(&w.tracker, s, START_MS));
    assert_null(tracker_pop_due(&w.tracker, START_MS + 100000));
    end(&w);
}

static void the_first_who_speaks_for_a_session_owns_it(void **state)
{
    struct session *s;
    struct world w;

    (void)state;
    begin(&w, true);
    s = add(&w, 5);
    assert_true(tracker_claim(s, 3));
    assert_true(tracker_claim(s, 3));
    assert_false(tracker_claim(s, 4));
    assert_false(tracker_claim(s, OWNER_OURSELVES));
    end(&w);
}

/* What a PING is answered with. */
static int count_heard(struct world *w, int64_t *last)
{
    struct strbuf out;
    struct jute_reader r;
    int n = 0;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    tracker_take_heard(&w->tracker, &out);
    r = jute_reader_of(strbuf_bytes(&out));
    while (jute_left(&r) > 0) {
        struct session_touch t = session_touch_read(&r);

        assert_int_equal(t.timeout_ms, 4000);
        *last = t.session_id;
        n++;
    }
    strbuf_fini(&out);
    return n;
}

static void a_learner_tells_once_whom_it_has_heard(void **state)
{
    struct session *a, *b;
    struct world w;
    int64_t id = 0;

    (void)state;
    begin(&w, false);
    a = add(&w, 5);
    b = add(&w, 6);
    assert_int_equal(count_heard(&w, &id), 2); /* a new one has been heard from */
    assert_int_equal(count_heard(&w, &id), 0);
    assert_true(tracker_touch(&w.tracker, b, START_MS));
    assert_true(tracker_touch(&w.tracker, b, START_MS + 1));
    assert_int_equal(count_heard(&w, &id), 1);
    assert_int_equal(id, 6);
    tracker_touch(&w.tracker, a, START_MS);
    tracker_close(&w.tracker, a); /* it is about to end: nobody wants to know */
    assert_false(tracker_touch(&w.tracker, a, START_MS));
    assert_int_equal(count_heard(&w, &id), 0);
    assert_null(tracker_pop_due(&w.tracker, START_MS + 100000)); /* that is not ours to decide */
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_expires_once_and_is_closing_then),
        cmocka_unit_test(a_closing_session_does_not_expire_again),
        cmocka_unit_test(the_first_who_speaks_for_a_session_owns_it),
        cmocka_unit_test(a_learner_tells_once_whom_it_has_heard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
