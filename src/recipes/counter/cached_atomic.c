/* SPDX-License-Identifier: Apache-2.0 */
/* cached_atomic.c - numbers handed out of a block that one add has reserved. */
#include <stdlib.h>

#include "recipes/counter/atomic.h"

struct pawl_cached_atomic {
    struct recipe r;
    struct pawl_atomic *atomic;
    int64_t block;
    int64_t next, left; /* the first of those not handed out yet, and how many there are */
    struct list waits;  /* struct next_ask */
    struct atomic_op *reserving;
};

struct next_ask {
    struct ask ask;
    int64_t number;
    pawl_cached_atomic_fn done;
    void *arg;
};

static void reserve(struct pawl_cached_atomic *x);

static struct pawl_cached_atomic *cached_of(const struct ask *a)
{
    return container_of(a->r, struct pawl_cached_atomic, r);
}

/* They wrap like the number that they are taken from. */
static int64_t after(const struct pawl_cached_atomic *x, int64_t number)
{
    uint64_t n = (uint64_t)number + 1;

    return x->atomic->a.o.bits == 32 ? (int32_t)(uint32_t)n : (int64_t)n;
}

/* In the order in which they came. */
static void hand_out(struct pawl_cached_atomic *x)
{
    while (x->left > 0 && !list_empty(&x->waits)) {
        struct ask *a = container_of(x->waits.next, struct ask, link);

        container_of(a, struct next_ask, ask)->number = x->next;
        x->next = after(x, x->next);
        x->left--;
        ask_end(a, 0);
    }
    if (!list_empty(&x->waits)) {
        reserve(x);
    }
}

static void reserved(struct atomic_op *op, void *cached)
{
    struct pawl_cached_atomic *x = cached;
    int err = op->ask.err;

    x->reserving = NULL;
    if (op->succeeded) {
        x->next = after(x, atomic_number(&x->atomic->a, &op->before));
        x->left = x->block;
        hand_out(x);
    } else {
        ask_end_all(&x->waits, err == 0 ? PAWL_ERR_BAD_VERSION : err);
    }
    recipe_unref(&x->r);
}

static void reserve(struct pawl_cached_atomic *x)
{
    struct atomic_op *op = x->reserving != NULL ? NULL : atomic_number_op(ATOMIC_CHANGE, x->block);
    int rc;

    if (x->reserving != NULL) {
        return;
    }
    if (op == NULL) {
        ask_end_all(&x->waits, PAWL_ERR_NO_MEMORY);
        return;
    }
    op->adds = true;
    op->told = reserved;
    op->told_arg = x;
    x->reserving = op;
    recipe_ref(&x->r);
    rc = ask_inside(&x->atomic->a.r, &op->ask, x->r.timeout_ms);
    if (rc != 0) {
        x->reserving = NULL;
        ask_end_all(&x->waits, rc);
        recipe_unref(&x->r);
    }
}

static int cached_start(struct ask *a)
{
    struct pawl_cached_atomic *x = cached_of(a);

    list_push_back(&x->waits, &a->link);
    hand_out(x);
    return 0;
}

/* ---- from outside ---- */

static void cached_take(struct ask *a, void *out)
{
    if (a->err == 0) {
        *(int64_t *)out = container_of(a, struct next_ask, ask)->number;
    }
}

static void cached_tell(struct ask *ask)
{
    struct next_ask *a = container_of(ask, struct next_ask, ask);

    a->done(cached_of(ask), ask->err, a->number, a->arg);
}

int pawl_cached_atomic_next(struct pawl_cached_atomic *x, int64_t *out)
{
    if (x == NULL || out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return ask_block(&x->r, ask_new(sizeof(struct next_ask), cached_start), x->r.timeout_ms,
                     cached_take, out);
}

int pawl_cached_atomic_next_async(struct pawl_cached_atomic *x, pawl_cached_atomic_fn done,
                                  void *arg)
{
    struct next_ask *a;

    if (x == NULL || done == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    a = ask_new(sizeof(*a), cached_start);
    if (a != NULL) {
        a->ask.tell = cached_tell;
        a->done = done;
        a->arg = arg;
    }
    return ask_post(&x->r, a == NULL ? NULL : &a->ask, x->r.timeout_ms);
}

/* ---- life ---- */

static void cached_destroy(struct recipe *r)
{
    recipe_fini(r);
    free(container_of(r, struct pawl_cached_atomic, r));
}

int pawl_cached_atomic_new(struct pawl_atomic *a, int block, struct pawl_cached_atomic **out)
{
    struct pawl_cached_atomic *x;
    struct recipe *r;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (a == NULL || block < 1 || out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = recipe_new(sizeof(*x), a->a.r.client, cached_destroy, &r);
    if (rc != 0) {
        return rc;
    }
    x = container_of(r, struct pawl_cached_atomic, r);
    list_init(&x->waits);
    x->r.timeout_ms = a->a.r.timeout_ms;
    x->atomic = a;
    x->block = block;
    *out = x;
    return 0;
}

static void cached_shut(struct recipe *r)
{
    struct pawl_cached_atomic *x = container_of(r, struct pawl_cached_atomic, r);

    ask_end_all(&x->waits, PAWL_ERR_CANCELLED);
}

void pawl_cached_atomic_free(struct pawl_cached_atomic *x)
{
    recipe_free(x == NULL ? NULL : &x->r, cached_shut);
}
