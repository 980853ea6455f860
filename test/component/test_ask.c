/* SPDX-License-Identifier: Apache-2.0 */
/* A caller who is blocked in a recipe: what it is told when the recipe is freed at the same time.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "lib/test.h"

#include "lib/recipe_helpers.h"
#include "recipes/core/ask.h"

struct toy {
    struct recipe r;
    struct ask *waiting;
    bool is_change;
    int result;
};

static int toy_start(struct ask *a)
{
    struct toy *t = container_of(a->r, struct toy, r);

    a->is_change = t->is_change;
    t->waiting = a;
    return 0;
}

static void toy_destroy(struct recipe *r)
{
    recipe_fini(r);
    free(container_of(r, struct toy, r));
}

static void *toy_block(void *toy)
{
    struct toy *t = toy;

    return (void *)(intptr_t)ask_block(&t->r, ask_new(sizeof(struct ask), toy_start), -1, NULL,
                                       NULL);
}

static bool toy_waits(struct toy *t)
{
    bool waits;

    assert_int_equal(recipe_look(&t->r), 0);
    waits = t->waiting != NULL;
    recipe_looked(&t->r);
    return waits;
}

/* It ends well and is freed before who waited for it can run: all in one step. */
static int end_and_free(struct pawl_client *c, bool is_change)
{
    struct recipe *r = NULL;
    struct toy *t;
    pthread_t thread;
    void *result;

    assert_int_equal(recipe_new(sizeof(*t), c, toy_destroy, &r), 0);
    t = container_of(r, struct toy, r);
    t->is_change = is_change;
    assert_int_equal(pthread_create(&thread, NULL, toy_block, t), 0);
    wait_until(toy_waits(t));
    assert_int_equal(recipe_begin(r), 0);
    ask_end(t->waiting, 0);
    r->freed = true;
    recipe_end(r);
    pthread_join(thread, &result);
    recipe_free(r, NULL);
    return (int)(intptr_t)result;
}

/* A lease, for example, that went with its semaphore. */
static void what_was_got_from_a_recipe_that_is_gone_is_not_handed_out(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    assert_int_equal(end_and_free(c, false), PAWL_ERR_CANCELLED);
    pawl_client_close(c);
}

static void what_was_changed_is_told_all_the_same(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL);

    (void)state;
    assert_int_equal(end_and_free(c, true), 0);
    pawl_client_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_got_from_a_recipe_that_is_gone_is_not_handed_out),
        cmocka_unit_test(what_was_changed_is_told_all_the_same),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
