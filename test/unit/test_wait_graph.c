/* SPDX-License-Identifier: Apache-2.0 */
#include "look/wait_graph.h"

#include <string.h>

#include "lib/test.h"
#include "look/places.h"

enum { MOST = 8 };

/* A queue of sessions; 'r' in `kinds` reads, 'w' writes. */
struct made {
    struct pawl_participant nodes[MOST];
    const struct pawl_participant *items[MOST];
    struct lock_queue q;
};

static struct lock_queue *queue(struct made *m, const char *kinds, const int64_t *sessions)
{
    memset(m, 0, sizeof(*m));
    for (size_t i = 0; kinds[i] != '\0'; i++) {
        m->nodes[i] = (struct pawl_participant){.path = kinds[i] == 'r' ? "/l/x__READ__0000000000"
                                                                        : "/l/x__WRIT__0000000000",
                                                .session_id = sessions[i]};
        m->items[i] = &m->nodes[i];
        m->q.n++;
    }
    m->q.items = m->items;
    return &m->q;
}

static void two_locks_taken_both_ways_are_a_circle(void **state)
{
    struct wait_graph g = {0};
    struct made a, b;

    (void)state;
    wait_graph_add(&g, "a", queue(&a, "ww", (int64_t[]){1, 2}));
    assert_int_equal(wait_graph_find_circles(&g), 0);
    wait_graph_add(&g, "b", queue(&b, "ww", (int64_t[]){2, 1}));
    assert_int_equal(wait_graph_find_circles(&g), 2);
    assert_int_equal(g.edges[0].next, 1);
    assert_int_equal(g.edges[1].next, 0);
    wait_graph_fini(&g);
}

/* 3 waits for the circle of 1 and 2, and is not in it. */
static void who_waits_for_a_circle_is_not_in_it(void **state)
{
    struct wait_graph g = {0};
    struct made a, b;

    (void)state;
    wait_graph_add(&g, "a", queue(&a, "www", (int64_t[]){1, 2, 3}));
    wait_graph_add(&g, "b", queue(&b, "ww", (int64_t[]){2, 1}));
    assert_int_equal(wait_graph_find_circles(&g), 2);
    for (size_t i = 0; i < g.n; i++) {
        assert_int_equal(g.edges[i].is_in_circle, g.edges[i].from != 3);
    }
    wait_graph_fini(&g);
}

/* The writer waits for both readers, the first of which waits for the writer elsewhere. */
static void a_circle_through_any_of_several_readers(void **state)
{
    struct wait_graph g = {0};
    struct made a, b;

    (void)state;
    wait_graph_add(&g, "a", queue(&a, "rrw", (int64_t[]){1, 2, 3}));
    wait_graph_add(&g, "b", queue(&b, "ww", (int64_t[]){3, 1}));
    assert_int_equal(wait_graph_find_circles(&g), 2);
    wait_graph_fini(&g);
}

static void readers_do_not_wait_for_each_other(void **state)
{
    struct wait_graph g = {0};
    struct made a, b;

    (void)state;
    wait_graph_add(&g, "a", queue(&a, "rr", (int64_t[]){1, 2}));
    wait_graph_add(&g, "b", queue(&b, "rr", (int64_t[]){2, 1}));
    assert_int_equal(g.n, 0);
    assert_int_equal(wait_graph_find_circles(&g), 0);
    wait_graph_fini(&g);
}

/* One session twice in a queue, and a node of nobody's: neither waits for itself. */
static void no_edge_to_oneself_or_to_nobody(void **state)
{
    struct wait_graph g = {0};
    struct made a;

    (void)state;
    wait_graph_add(&g, "a", queue(&a, "wwww", (int64_t[]){1, 1, 0, 2}));
    assert_int_equal(g.n, 0);
    wait_graph_fini(&g);
}

static void a_long_circle_needs_no_deep_stack(void **state)
{
    enum { LONG = 20000 };
    struct wait_graph g = {0};
    struct made a;

    (void)state;
    for (int64_t i = 0; i < LONG; i++) {
        wait_graph_add(&g, "a", queue(&a, "ww", (int64_t[]){1 + (i + 1) % LONG, 1 + i}));
    }
    assert_int_equal(wait_graph_find_circles(&g), LONG);
    wait_graph_fini(&g);
}

static void recipes_by_their_names(void **state)
{
    static const struct {
        const char *name;
        enum place_kind kind;
    } names[] = {{"_c_3b7c-lock-0000000007", PLACE_LOCK},
                 {"00ff__lock__0000000007", PLACE_LOCK},
                 {"_c_1__READ__0000000001", PLACE_RWLOCK},
                 {"_c_1__WRIT__0000000001", PLACE_RWLOCK},
                 {"x__rlock__0000000001", PLACE_RWLOCK},
                 {"_c_1-lease-0000000001", PLACE_SEMAPHORE},
                 {"_c_1-latch-0000000001", PLACE_LATCH},
                 {"queue-0000000001", PLACE_QUEUE},
                 {"qn-0000000001", PLACE_QUEUE},
                 {"entry-100-0000000001", PLACE_QUEUE},
                 {"lock-1", NO_PLACE},
                 {"0000000001", NO_PLACE},
                 {"block-000000001x", NO_PLACE},
                 {"", NO_PLACE}};
    const char *semaphore[] = {"locks", "leases"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(place_of(names[i].name), names[i].kind);
    }
    assert_int_equal(places_of(&(struct pawl_strings){semaphore, 2}), PLACE_SEMAPHORE);
    assert_int_equal(places_of(&(struct pawl_strings){semaphore, 1}), NO_PLACE);
    assert_false(place_is_queued("queue-0000000001"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_locks_taken_both_ways_are_a_circle),
        cmocka_unit_test(who_waits_for_a_circle_is_not_in_it),
        cmocka_unit_test(a_circle_through_any_of_several_readers),
        cmocka_unit_test(readers_do_not_wait_for_each_other),
        cmocka_unit_test(no_edge_to_oneself_or_to_nobody),
        cmocka_unit_test(a_long_circle_needs_no_deep_stack),
        cmocka_unit_test(recipes_by_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
