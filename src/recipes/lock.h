/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - the inside of <pawl/lock.h>: owners, how deep they hold, and who waits for them. */
#ifndef PAWL_RECIPES_LOCK_H
#define PAWL_RECIPES_LOCK_H

#include "pawl/lock.h"
#include "recipes/contender.h"

/* One who holds, or wants to. The handle is one, or each of its threads is. */
struct holder {
    struct list link; /* in pawl_lock.holders */
    struct pawl_lock *lock;
    pthread_t thread;
    struct contender contender;
    int depth;
    struct list acquires; /* struct acquire: that wait */
};

struct pawl_lock {
    struct recipe r;
    struct pawl_lock_options o;
    struct contender_rule rule; /* of the user's driver */
    struct contender_options contender;
    char *base, *marker, *data;
    struct list holders;
    struct note revoke_note;
    void *owner; /* of a lock that is part of another recipe */
};

/* For recipes that are made of locks: `contender` may be changed before the first acquire. */
int lock_new(struct pawl_client *c, const char *path, const struct pawl_lock_options *options,
             struct pawl_lock **out);

#endif
