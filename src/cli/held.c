/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/held.h"

#include "base/assert.h"

static int new_one(struct held *h, struct pawl_client *c, const char *path, size_t i)
{
    const struct pawl_lock_options options = {.size = sizeof(options), .doubt = PAWL_DOUBT_GO_ON};
    int err;

    if (h->kind == HELD_LOCK) {
        return pawl_lock_new(c, path, &options, &h->locks[i]);
    }
    err = pawl_rwlock_new(c, path, &options, &h->rwlocks[i]);
    if (err == PAWL_OK) {
        h->locks[i] = h->kind == HELD_READ ? pawl_rwlock_reader(h->rwlocks[i])
                                           : pawl_rwlock_writer(h->rwlocks[i]);
    }
    return err;
}

int held_new(struct held *h, struct pawl_client *c, enum held_kind kind, const char *const *paths,
             size_t n, int permits)
{
    int err = PAWL_OK;

    ASSERT(n > 0 && n <= HELD_PATHS_MAX);
    *h = (struct held){.kind = kind, .n = n};
    if (kind == HELD_LEASE) {
        ASSERT(n == 1);
        return pawl_semaphore_new(
            c, paths[0], PAWL_SEMAPHORE_OPTIONS(.max_leases = permits, .doubt = PAWL_DOUBT_GO_ON),
            &h->semaphore);
    }
    for (size_t i = 0; i < n && err == PAWL_OK; i++) {
        err = new_one(h, c, paths[i], i);
    }
    return err != PAWL_OK ? err : pawl_multilock_new(h->locks, n, &h->all);
}

void held_free(struct held *h)
{
    pawl_multilock_free(h->all);
    for (size_t i = 0; i < h->n; i++) {
        if (h->kind == HELD_LOCK) {
            pawl_lock_free(h->locks[i]);
        }
        pawl_rwlock_free(h->rwlocks[i]);
    }
    pawl_semaphore_free(h->semaphore);
}

static void held_on_locks(struct pawl_multilock *all, int err, void *arg)
{
    struct held *h = arg;

    (void)all;
    h->done(err, h->done_arg);
}

static void held_on_lease(struct pawl_semaphore *s, int err, struct pawl_lease *const *leases,
                          size_t n, void *arg)
{
    struct held *h = arg;

    (void)s;
    if (err == PAWL_OK) {
        ASSERT(n == 1);
        h->lease = leases[0];
    }
    h->done(err, h->done_arg);
}

int held_acquire(struct held *h, int timeout_ms, void (*done)(int err, void *arg), void *arg)
{
    h->done = done;
    h->done_arg = arg;
    if (h->kind == HELD_LEASE) {
        return pawl_semaphore_acquire_async(h->semaphore, 1, timeout_ms, held_on_lease, h);
    }
    return pawl_multilock_acquire_async(h->all, timeout_ms, held_on_locks, h);
}

static struct pawl_grant *grant_of(const struct held *h, size_t i)
{
    return h->kind == HELD_LEASE ? pawl_lease_grant(h->lease) : pawl_lock_grant(h->locks[i]);
}

struct pawl_grant *held_grant(const struct held *h)
{
    return grant_of(h, 0);
}

int64_t held_certain_ms(const struct held *h)
{
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < h->n; i++) {
        struct pawl_grant *g = grant_of(h, i);
        int64_t ms = pawl_grant_held(g) ? pawl_grant_certain_ms(g) : 0;

        least = ms < least ? ms : least;
    }
    return least;
}

bool held_is_lost(const struct held *h)
{
    for (size_t i = 0; i < h->n; i++) {
        if (pawl_grant_state(grant_of(h, i)) == PAWL_GRANT_LOST) {
            return true;
        }
    }
    return false;
}

int held_release(struct held *h)
{
    return h->kind == HELD_LEASE ? pawl_lease_release(h->lease) : pawl_multilock_release(h->all);
}
