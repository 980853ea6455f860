/* SPDX-License-Identifier: Apache-2.0 */
#include "client/step_watch.h"
#include "client/watches.h"

#include <stdlib.h>

#include "lib/test.h"
#include "pawl/error.h"
#include "wire/request.h"

static void nothing(const struct pawl_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

static int marks[16];

static struct event_target who(int i)
{
    return (struct event_target){.fn = nothing, .arg = &marks[i]};
}

static void add(struct watches *w, enum watcher_kind kind, const char *path, int i)
{
    struct event_target t = who(i);

    assert_int_equal(watches_add(w, kind, bytes_str(path), &t), 0);
}

/* Who is told, as a set of bits. */
static unsigned told(struct event_item *e)
{
    unsigned set = 0;

    for (size_t i = 0; e != NULL && i < e->n_targets; i++) {
        unsigned bit = 1u << ((int *)e->targets[i].arg - marks);

        assert_int_equal(set & bit, 0);
        set |= bit;
    }
    free(e);
    return set;
}

static unsigned fire(struct watches *w, enum pawl_event_type type, const char *path)
{
    struct event_item *e;

    assert_int_equal(watches_fire(w, type, bytes_str(path), 1, &e), 0);
    return told(e);
}

static void each_kind_hears_what_concerns_it(void **state)
{
    struct watches w;

    (void)state;
    assert_int_equal(watches_init(&w), 0);
    for (int round = 0; round < 4; round++) {
        enum pawl_event_type type = (enum pawl_event_type)(PAWL_EVENT_CREATED + round);
        static const unsigned expected[] = {1 | 2 | 8 | 16 | 32, 1 | 2 | 4 | 8 | 16 | 32,
                                            1 | 2 | 8 | 16 | 32, 4 | 8};

        add(&w, WATCHER_DATA, "/a/b", 0);
        add(&w, WATCHER_EXIST, "/a/b", 1);
        add(&w, WATCHER_CHILD, "/a/b", 2);
        add(&w, WATCHER_PERSISTENT, "/a/b", 3);
        add(&w, WATCHER_RECURSIVE, "/a/b", 4);
        add(&w, WATCHER_RECURSIVE, "/", 5);
        add(&w, WATCHER_RECURSIVE, "/a/bc", 6); /* not above it */
        add(&w, WATCHER_PERSISTENT, "/a", 7);   /* above, but not recursive */
        assert_int_equal(fire(&w, type, "/a/b"), expected[round]);
        fire(&w, PAWL_EVENT_DELETED, "/a/b");
    }
    assert_int_equal(fire(&w, PAWL_EVENT_DATA_CHANGED, "/a/b"), 8 | 16 | 32); /* those stay */
    assert_int_equal(fire(&w, PAWL_EVENT_DATA_CHANGED, "/x"), 32);
    watches_fini(&w);
}

static unsigned shadow(struct watches *w, enum watcher_kind by, const char *path)
{
    struct event_item *e;

    assert_int_equal(watches_shadow(w, by, bytes_str(path), &e), 0);
    assert_true(e == NULL || (int)e->type == EVENT_SHADOWED);
    return told(e);
}

static void count_up(void *n)
{
    ++*(int *)n;
}

static void count_down(void *n)
{
    --*(int *)n;
}

/* Tells whom it concerns, as the engine does. */
static void tell_steps(struct event_item *e)
{
    struct pawl_event event = {.type = e->type, .path = e->path};

    for (size_t i = 0; i < e->n_targets; i++) {
        step_watch_tell(e->targets[i].step, &event, e->targets[i].n_ended);
    }
    free(e);
}

static void set_step(struct watches *w, enum watcher_kind kind, const char *path,
                     struct step_watch *x)
{
    struct event_target t = {.fn = x->ask.fn, .arg = x->ask.arg, .step = step_watch_of(&x->ask)};

    assert_int_equal(watches_add(w, kind, bytes_str(path), &t), 0);
}

/* However many of it there are, set twice or once, told of one by one or all at once. */
static void a_recipes_watch_holds_it_until_it_has_been_told_of_the_end(void **state)
{
    struct step_watch x;
    struct event_item *e;
    struct watches w;
    int n = 0;

    (void)state;
    assert_int_equal(watches_init(&w), 0);
    step_watch_init(&x, nothing, NULL, count_up, count_down, &n);
    set_step(&w, WATCHER_DATA, "/a", &x);
    set_step(&w, WATCHER_DATA, "/a", &x);
    assert_int_equal(n, 1);
    set_step(&w, WATCHER_CHILD, "/a", &x);
    set_step(&w, WATCHER_DATA, "/b", &x);
    set_step(&w, WATCHER_PERSISTENT, "/a", &x);
    assert_int_equal(n, 4);
    assert_int_equal(watches_fire(&w, PAWL_EVENT_DELETED, bytes_str("/a"), 1, &e), 0);
    assert_int_equal(e->n_targets, 1);
    assert_int_equal(n, 4); /* it has not been told */
    set_step(&w, WATCHER_DATA, "/a", &x);
    tell_steps(e);
    assert_int_equal(n, 3);
    assert_int_equal(watches_remove(&w, 0x1f, bytes_str("/a"), NULL, false, &e), 0);
    tell_steps(e);
    assert_int_equal(n, 1);
    assert_true(step_watch_is_set(&x));
    assert_int_equal(watches_end(&w, PAWL_STATE_LOST, &e), 0);
    tell_steps(e);
    assert_int_equal(n, 0);
    assert_false(step_watch_is_set(&x));
    watches_fini(&w);
}

/* Who stands to lose his persistent watch by a one-shot one at the same path; of the library's. */
static void one_shot_watches_endanger_persistent_ones(void **state)
{
    static const enum watcher_kind kinds[] = {WATCHER_DATA, WATCHER_PERSISTENT, WATCHER_RECURSIVE};
    struct step_watch recipe;
    struct watches w;
    int n = 0;

    (void)state;
    assert_int_equal(watches_init(&w), 0);
    step_watch_init(&recipe, nothing, NULL, count_up, count_down, &n);
    for (int i = 0; i < 3; i++) {
        struct event_target t = who(i);

        t.step = &recipe;
        assert_int_equal(watches_add(&w, kinds[i], bytes_str("/a"), &t), 0);
    }
    add(&w, WATCHER_PERSISTENT, "/a", 3); /* the application's own */
    assert_int_equal(shadow(&w, WATCHER_DATA, "/a"), 2 | 4);
    assert_int_equal(shadow(&w, WATCHER_EXIST, "/a"), 2 | 4);
    assert_int_equal(shadow(&w, WATCHER_CHILD, "/a"), 2);
    assert_int_equal(shadow(&w, WATCHER_PERSISTENT, "/a"), 0);
    assert_int_equal(shadow(&w, WATCHER_DATA, "/a/b"), 0);
    assert_int_equal(fire(&w, PAWL_EVENT_DATA_CHANGED, "/a"), 1 | 2 | 4 | 8); /* all still there */
    watches_fini(&w);
}

static void the_same_watcher_counts_once(void **state)
{
    struct watches w;

    (void)state;
    assert_int_equal(watches_init(&w), 0);
    add(&w, WATCHER_DATA, "/a", 0);
    add(&w, WATCHER_DATA, "/a", 0);
    add(&w, WATCHER_CHILD, "/a", 0);
    assert_int_equal(w.n_watchers, 2);
    assert_int_equal(fire(&w, PAWL_EVENT_DELETED, "/a"), 1); /* one call for both */
    assert_int_equal(w.n_watchers, 0);
    assert_int_equal(fire(&w, PAWL_EVENT_DELETED, "/a"), 0);
    watches_fini(&w);
}

static void removal_takes_one_or_all(void **state)
{
    struct event_target one = who(1);
    struct watches w;
    struct event_item *e;
    unsigned any = (1u << N_WATCHER_KINDS) - 1;

    (void)state;
    assert_int_equal(watches_init(&w), 0);
    add(&w, WATCHER_DATA, "/a", 0);
    add(&w, WATCHER_DATA, "/a", 1);
    add(&w, WATCHER_CHILD, "/a", 2);
    assert_true(watches_has(&w, any, bytes_str("/a"), &one));
    assert_int_equal(watches_others(&w, 1u << WATCHER_DATA, bytes_str("/a"), &one, NULL, NULL), 1);
    assert_int_equal(watches_remove(&w, any, bytes_str("/a"), &one, false, &e), 0);
    assert_int_equal(e->type, PAWL_EVENT_WATCH_REMOVED);
    assert_int_equal(told(e), 2);
    assert_int_equal(watches_remove(&w, any, bytes_str("/a"), &one, false, &e),
                     PAWL_ERR_NO_WATCHER);
    assert_int_equal(watches_remove(&w, any, bytes_str("/a"), NULL, false, &e), 0);
    assert_int_equal(told(e), 1 | 4);
    assert_int_equal(watches_remove(&w, any, bytes_str("/b"), NULL, false, &e),
                     PAWL_ERR_NO_WATCHER);
    watches_fini(&w);
}

static void the_end_of_the_session_is_told_to_all(void **state)
{
    struct watches w;
    struct event_item *e;
    unsigned all = 0;

    (void)state;
    assert_int_equal(watches_init(&w), 0);
    add(&w, WATCHER_DATA, "/a", 0);
    add(&w, WATCHER_PERSISTENT, "/b", 1);
    add(&w, WATCHER_RECURSIVE, "/", 2);
    while (watches_end(&w, PAWL_STATE_LOST, &e) == 0 && e != NULL) {
        assert_int_equal(e->type, PAWL_EVENT_SESSION);
        assert_int_equal(e->state, PAWL_STATE_LOST);
        all |= told(e);
    }
    assert_int_equal(all, 7);
    assert_int_equal(w.n_watchers, 0);
    watches_fini(&w);
}

/* The next request in `b`; its lists go to `out`. */
static int32_t next_request(struct bytes *b, struct request *out)
{
    struct jute_reader r = jute_reader_of(*b);
    int32_t len = jute_read_int(&r), xid = jute_read_int(&r), type = jute_read_int(&r);

    assert_int_equal(xid, XID_SET_WATCHES);
    assert_true(request_read(op_find(type), &r, out));
    *b = bytes_of(b->data + 4 + len, b->len - 4 - (size_t)len);
    return type;
}

static void they_are_set_again_in_one_request_or_several(void **state)
{
    struct watches w;
    struct strbuf out;
    struct request q;
    struct bytes left;
    char path[256];
    int n = 0, requests = 0;

    (void)state;
    assert_int_equal(watches_init(&w), 0);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    watches_encode(&w, 77, &out);
    assert_int_equal(out.len, 0);
    add(&w, WATCHER_DATA, "/d", 0);
    add(&w, WATCHER_EXIST, "/e", 0);
    add(&w, WATCHER_CHILD, "/c", 0);
    watches_encode(&w, 77, &out);
    left = strbuf_bytes(&out);
    assert_int_equal(next_request(&left, &q), OP_SET_WATCHES); /* what 3.5 understands */
    assert_int_equal(q.relative_zxid, 77);
    assert_int_equal(q.watches[0].count, 1);
    assert_int_equal(q.watches[1].count, 1);
    assert_int_equal(q.watches[2].count, 1);
    assert_int_equal(left.len, 0);
    add(&w, WATCHER_RECURSIVE, "/r", 0);
    strbuf_clear(&out);
    watches_encode(&w, 77, &out);
    left = strbuf_bytes(&out);
    assert_int_equal(next_request(&left, &q), OP_SET_WATCHES2);
    assert_int_equal(q.watches[4].count, 1);
    for (int i = 0; i < 3000; i++) {
        snprintf(path, sizeof(path), "/%0200d", i);
        add(&w, WATCHER_DATA, path, 0);
    }
    strbuf_clear(&out);
    watches_encode(&w, 77, &out);
    left = strbuf_bytes(&out);
    while (left.len > 0) {
        size_t before = left.len;

        next_request(&left, &q);
        assert_true(before - left.len < 160 * 1024);
        n += q.watches[0].count;
        requests++;
    }
    assert_int_equal(n, 3001);
    assert_int_equal(requests, 5); /* 3000 x 201 bytes in parts of 128 KiB */
    strbuf_fini(&out);
    watches_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_hears_what_concerns_it),
        cmocka_unit_test(a_recipes_watch_holds_it_until_it_has_been_told_of_the_end),
        cmocka_unit_test(one_shot_watches_endanger_persistent_ones),
        cmocka_unit_test(the_same_watcher_counts_once),
        cmocka_unit_test(removal_takes_one_or_all),
        cmocka_unit_test(the_end_of_the_session_is_told_to_all),
        cmocka_unit_test(they_are_set_again_in_one_request_or_several),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
