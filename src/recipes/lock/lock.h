/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - the inside of <pawl/lock.h>: owners, how deep they hold, and who waits for them. */
#ifndef PAWL_RECIPES_LOCK_LOCK_H
#define PAWL_RECIPES_LOCK_LOCK_H

#include "pawl/lock.h"
#include "recipes/core/contender.h"

/* One call of acquire or release that waits: a blocked caller's, on his stack, a callback's, or
 * that of a recipe made of locks. */
struct acquire {
    struct list link; /* in holder.acquires */
    struct holder *holder;
    struct timer timer;
    bool is_try;
    int err;
    struct waiter *waiter; /* NULL: tell `done`, or `step` */
    struct note note;
    struct pawl_lock *lock;
    pawl_lock_fn done;
    void *arg;
    void (*step)(struct acquire *a, int err); /* a step; it may do to the lock what it likes */
};

/* One who holds, or wants to. The handle is one, or each of its threads is. */
struct holder {
    struct list link; /* in pawl_lock.holders */
    struct pawl_lock *lock;
    uint64_t thread; /* recipe_thread() */
    struct contender contender;
    int depth;
    int n_ending;         /* acquires that are just being told: so long it must not go */
    struct list acquires; /* struct acquire: that wait */
};

struct pawl_lock {
    struct recipe r;
    struct pawl_lock_options o;
    struct pawl_lock_driver driver;
    struct contender_rule rule; /* of that driver */
    struct contender_options contender;
    char *base, *marker, *data;
    struct list holders;
    struct note revoke_note;
    void *owner; /* of a lock that is part of another recipe, which frees it */
    /* Asked before one queues; an error: he may not. NULL: all may. */
    int (*admit)(struct holder *h);
};

/* For recipes that are made of locks. */
int lock_new(struct pawl_client *c, const char *path, const struct pawl_lock_options *options,
             struct pawl_lock **out);
void lock_free(struct pawl_lock *l); /* whoever owns it */

/* Before the first acquire: a second marker in the same queue, and who holds. */
void lock_set_rule(struct pawl_lock *l, const char *also, const struct contender_rule *rule);

/* Steps. With 0 from lock_start() `a` waits, or has ended already: a->step was or will be told. */
void lock_acquire_init(struct acquire *a, struct pawl_lock *l);
int lock_start(struct pawl_lock *l, uint64_t thread, struct acquire *a, int timeout_ms);
void lock_stop(struct acquire *a, int err); /* ends one that waits */

/* One level of what `thread` holds. NOT_HELD: nothing was done. Unless `*ended`, `a` (NULL: nobody
 * asks) is told when the server has confirmed it. */
int lock_release(struct pawl_lock *l, uint64_t thread, struct acquire *a, bool *ended);

void lock_cancel_all(struct pawl_lock *l);

/* Who holds or queues as `thread`, or NULL. */
struct holder *lock_holder(const struct pawl_lock *l, uint64_t thread);
struct holder *lock_new_holder(struct pawl_lock *l, uint64_t thread); /* NULL: no memory */

/* A thread's holder goes with its last level; the handle's stays, since its grant does. A note
 * about the grant that is still to end keeps it, too: the next who comes, or the free, will find
 * it. */
void lock_drop_if_unused(struct holder *h);

/* Of its contender. */
void lock_settled(struct contender *c, int err);

#endif
