/* SPDX-License-Identifier: Apache-2.0 */
/* counter.h - one value that everybody sees, and numbers that everybody counts with.
 *
 *     struct pawl_atomic *orders;
 *     struct pawl_atomic_result r;
 *
 *     check(pawl_atomic_new(client, "/orders/number", NULL, &orders), "atomic");
 *     if (pawl_atomic_increment(orders, &r) == PAWL_OK && r.succeeded) {
 *         // r.after is ours alone
 *     }
 *     pawl_atomic_free(orders);
 *
 * The nodes of Curator's SharedValue, SharedCount, DistributedAtomicLong, -Integer and -Value:
 * C and Java processes share them.
 *
 * A change is made at most once, also when the answer to it is lost: it is looked for, and done
 * again only if it cannot have happened. When nobody can tell any more (another has changed the
 * value since, may have written the same, or has deleted the node) that is reported: `outcome` is
 * PAWL_OUTCOME_UNKNOWN. Not so what is set whatever it was before: that is done again until it is
 * known to have been done, and may so write over a later value. */
#ifndef PAWL_COUNTER_H
#define PAWL_COUNTER_H

#include <stdbool.h>

#include "pawl/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- shared value ---- */

/* A copy of a node's data that follows it. */
struct pawl_shared_value;

/* The copy at one moment. */
struct pawl_versioned {
    struct pawl_bytes data;
    bool exists;     /* false: the node has been deleted; the data are the last it had */
    int64_t zxid;    /* of the change that made it so: larger for every later value */
    int32_t version; /* the node's */
};

/* Called at every change from now on, in order; the last one when they come faster than callbacks
 * run. Lent until it returns. */
typedef void (*pawl_shared_value_fn)(struct pawl_shared_value *v,
                                     const struct pawl_versioned *value, void *arg);

/* `done` is called once, with how it ended. */
typedef void (*pawl_shared_value_done_fn)(struct pawl_shared_value *v, int err, void *arg);

/* `seed` is what the node is made with, by whoever starts first. Nothing is sent. */
PAWL_API int pawl_shared_value_new(struct pawl_client *c, const char *path, struct pawl_bytes seed,
                                   struct pawl_shared_value **out);

/* The node stays. Each `done` that has not run yet still does: how it ended, or CANCELLED. */
PAWL_API void pawl_shared_value_free(struct pawl_shared_value *v);

/* Makes the node if need be and reads it; within the client's timeout. INVALID_STATE: it has been
 * started. After another error it can be started again. */
PAWL_API int pawl_shared_value_start(struct pawl_shared_value *v);
PAWL_API int pawl_shared_value_start_async(struct pawl_shared_value *v,
                                           pawl_shared_value_done_fn done, void *arg);

PAWL_API int pawl_shared_value_add_listener(struct pawl_shared_value *v, pawl_shared_value_fn fn,
                                            void *arg);

/* When it returns `fn` does not run any more, unless it was called from inside a callback. */
PAWL_API void pawl_shared_value_remove_listener(struct pawl_shared_value *v,
                                                pawl_shared_value_fn fn, void *arg);

/* The copy; free it. INVALID_STATE: not started. Asks nobody: it may be behind, by as long as the
 * link is down. */
PAWL_API int pawl_shared_value_get(const struct pawl_shared_value *v, struct pawl_versioned **out);
PAWL_API void pawl_versioned_free(struct pawl_versioned *value);

/* Whatever it was before. NO_NODE: it has been deleted. */
PAWL_API int pawl_shared_value_set(struct pawl_shared_value *v, struct pawl_bytes data);
PAWL_API int pawl_shared_value_set_async(struct pawl_shared_value *v, struct pawl_bytes data,
                                         pawl_shared_value_done_fn done, void *arg);

/* Only if the value is still `previous`. BAD_VERSION: it is not; the copy is brought up to date
 * first. CONNECTION_LOSS: not known, see above. INVALID_STATE: the version is -1, which the server
 * cannot compare with; use set. In every other case nothing was changed. */
PAWL_API int pawl_shared_value_try_set(struct pawl_shared_value *v,
                                       const struct pawl_versioned *previous,
                                       struct pawl_bytes data);
PAWL_API int pawl_shared_value_try_set_async(struct pawl_shared_value *v,
                                             const struct pawl_versioned *previous,
                                             struct pawl_bytes data, pawl_shared_value_done_fn done,
                                             void *arg);

/* ---- shared count ---- */

/* A shared value of four bytes: a number. */
struct pawl_shared_count;

struct pawl_versioned_count {
    int32_t count;
    bool exists;
    int64_t zxid;
    int32_t version;
};

typedef void (*pawl_shared_count_fn)(struct pawl_shared_count *s,
                                     const struct pawl_versioned_count *value, void *arg);
typedef void (*pawl_shared_count_done_fn)(struct pawl_shared_count *s, int err, void *arg);

/* As above. `listener` may be NULL, and others be added. DATA_INCONSISTENCY where the node has less
 * than four bytes. */
PAWL_API int pawl_shared_count_new(struct pawl_client *c, const char *path, int32_t seed,
                                   pawl_shared_count_fn listener, void *arg,
                                   struct pawl_shared_count **out);
PAWL_API void pawl_shared_count_free(struct pawl_shared_count *s);
PAWL_API int pawl_shared_count_start(struct pawl_shared_count *s);
PAWL_API int pawl_shared_count_start_async(struct pawl_shared_count *s,
                                           pawl_shared_count_done_fn done, void *arg);
PAWL_API int pawl_shared_count_add_listener(struct pawl_shared_count *s, pawl_shared_count_fn fn,
                                            void *arg);
PAWL_API void pawl_shared_count_remove_listener(struct pawl_shared_count *s,
                                                pawl_shared_count_fn fn, void *arg);
PAWL_API int pawl_shared_count_get(const struct pawl_shared_count *s,
                                   struct pawl_versioned_count *out);
PAWL_API int pawl_shared_count_set(struct pawl_shared_count *s, int32_t count);
PAWL_API int pawl_shared_count_set_async(struct pawl_shared_count *s, int32_t count,
                                         pawl_shared_count_done_fn done, void *arg);
PAWL_API int pawl_shared_count_try_set(struct pawl_shared_count *s,
                                       const struct pawl_versioned_count *previous, int32_t count);
PAWL_API int pawl_shared_count_try_set_async(struct pawl_shared_count *s,
                                             const struct pawl_versioned_count *previous,
                                             int32_t count, pawl_shared_count_done_fn done,
                                             void *arg);

/* ---- atomic values and numbers ---- */

struct pawl_atomic_options {
    size_t size; /* sizeof(struct pawl_atomic_options) */
    int bits;    /* of a number: 64 (default) or 32 */
    /* What to do when somebody else was faster; default: ten times, 10 ms to 200 ms apart. */
    struct pawl_retry retry;
    /* When that did not help: take the lock at this path (within lock_timeout_ms, default 10000)
     * and go on by another policy (default: the same). NULL: no lock. */
    const char *lock_path;
    int lock_timeout_ms;
    struct pawl_retry lock_retry;
    /* Numbers: 16 random bytes behind each number that we write, by which a change whose answer was
     * lost is known again. Curator reads over them; what insists on the exact length does not. */
    bool mark;
};
#define PAWL_ATOMIC_OPTIONS(...) PAWL_SIZED(pawl_atomic_options, __VA_ARGS__)
PAWL_SIZED_TYPE(atomic_options)

struct pawl_atomic_stats {
    int optimistic_tries;
    int64_t optimistic_ms;
    int promoted_tries; /* under the lock */
    int64_t promoted_ms;
};

/* Calls on both kinds return PAWL_OK when it is known what happened, whether it succeeded or not,
 * and take at most the client's timeout. Otherwise `outcome` shows whether it may have happened. */

/* A number. The node need not be there: it counts as 0. Wraps around in silence. Shorter data than
 * its size: DATA_INCONSISTENCY. */
struct pawl_atomic;

struct pawl_atomic_result {
    bool succeeded;
    enum pawl_outcome outcome;
    int64_t before, after; /* the latter only if it succeeded; of a get they are the same */
    struct pawl_atomic_stats stats;
};

typedef void (*pawl_atomic_fn)(struct pawl_atomic *a, int err,
                               const struct pawl_atomic_result *result, void *arg);

PAWL_API int pawl_atomic_new(struct pawl_client *c, const char *path,
                             const struct pawl_atomic_options *options, struct pawl_atomic **out);
PAWL_API void pawl_atomic_free(struct pawl_atomic *a);

PAWL_API int pawl_atomic_get(struct pawl_atomic *a, struct pawl_atomic_result *out);
PAWL_API int pawl_atomic_add(struct pawl_atomic *a, int64_t delta, struct pawl_atomic_result *out);
PAWL_API int pawl_atomic_subtract(struct pawl_atomic *a, int64_t delta,
                                  struct pawl_atomic_result *out);
PAWL_API int pawl_atomic_increment(struct pawl_atomic *a, struct pawl_atomic_result *out);
PAWL_API int pawl_atomic_decrement(struct pawl_atomic *a, struct pawl_atomic_result *out);

/* Not if others are faster all the time; force_set: in any case. */
PAWL_API int pawl_atomic_try_set(struct pawl_atomic *a, int64_t value,
                                 struct pawl_atomic_result *out);
PAWL_API int pawl_atomic_force_set(struct pawl_atomic *a, int64_t value,
                                   struct pawl_atomic_result *out);

/* Only if the node is there and is `expected`; tried once. */
PAWL_API int pawl_atomic_compare_and_set(struct pawl_atomic *a, int64_t expected, int64_t value,
                                         struct pawl_atomic_result *out);

/* Only if the node is not there. */
PAWL_API int pawl_atomic_initialise(struct pawl_atomic *a, int64_t value,
                                    struct pawl_atomic_result *out);

/* The same, reported to `done`. */
PAWL_API int pawl_atomic_get_async(struct pawl_atomic *a, pawl_atomic_fn done, void *arg);
PAWL_API int pawl_atomic_add_async(struct pawl_atomic *a, int64_t delta, pawl_atomic_fn done,
                                   void *arg);
PAWL_API int pawl_atomic_subtract_async(struct pawl_atomic *a, int64_t delta, pawl_atomic_fn done,
                                        void *arg);
PAWL_API int pawl_atomic_try_set_async(struct pawl_atomic *a, int64_t value, pawl_atomic_fn done,
                                       void *arg);
PAWL_API int pawl_atomic_force_set_async(struct pawl_atomic *a, int64_t value, pawl_atomic_fn done,
                                         void *arg);
PAWL_API int pawl_atomic_compare_and_set_async(struct pawl_atomic *a, int64_t expected,
                                               int64_t value, pawl_atomic_fn done, void *arg);
PAWL_API int pawl_atomic_initialise_async(struct pawl_atomic *a, int64_t value, pawl_atomic_fn done,
                                          void *arg);

/* Bytes. `bits` and `mark` of the options do not count. */
struct pawl_atomic_value;

struct pawl_atomic_value_result {
    bool succeeded;
    enum pawl_outcome outcome;
    struct pawl_bytes before, after; /* data NULL: there was no node, or it had no data */
    struct pawl_atomic_stats stats;
};

typedef void (*pawl_atomic_value_fn)(struct pawl_atomic_value *a, int err,
                                     const struct pawl_atomic_value_result *result, void *arg);

PAWL_API int pawl_atomic_value_new(struct pawl_client *c, const char *path,
                                   const struct pawl_atomic_options *options,
                                   struct pawl_atomic_value **out);
PAWL_API void pawl_atomic_value_free(struct pawl_atomic_value *a);

/* `*out`, if `out` is not NULL, is to be freed in each case; NULL if there is nothing to tell. */
PAWL_API int pawl_atomic_value_get(struct pawl_atomic_value *a,
                                   struct pawl_atomic_value_result **out);
PAWL_API int pawl_atomic_value_try_set(struct pawl_atomic_value *a, struct pawl_bytes value,
                                       struct pawl_atomic_value_result **out);
PAWL_API int pawl_atomic_value_force_set(struct pawl_atomic_value *a, struct pawl_bytes value,
                                         struct pawl_atomic_value_result **out);
PAWL_API int pawl_atomic_value_compare_and_set(struct pawl_atomic_value *a,
                                               struct pawl_bytes expected, struct pawl_bytes value,
                                               struct pawl_atomic_value_result **out);
PAWL_API int pawl_atomic_value_initialise(struct pawl_atomic_value *a, struct pawl_bytes value,
                                          struct pawl_atomic_value_result **out);
PAWL_API void pawl_atomic_value_result_free(struct pawl_atomic_value_result *result);

PAWL_API int pawl_atomic_value_get_async(struct pawl_atomic_value *a, pawl_atomic_value_fn done,
                                         void *arg);
PAWL_API int pawl_atomic_value_try_set_async(struct pawl_atomic_value *a, struct pawl_bytes value,
                                             pawl_atomic_value_fn done, void *arg);
PAWL_API int pawl_atomic_value_force_set_async(struct pawl_atomic_value *a, struct pawl_bytes value,
                                               pawl_atomic_value_fn done, void *arg);
PAWL_API int pawl_atomic_value_compare_and_set_async(struct pawl_atomic_value *a,
                                                     struct pawl_bytes expected,
                                                     struct pawl_bytes value,
                                                     pawl_atomic_value_fn done, void *arg);
PAWL_API int pawl_atomic_value_initialise_async(struct pawl_atomic_value *a,
                                                struct pawl_bytes value, pawl_atomic_value_fn done,
                                                void *arg);

/* ---- cached numbers ---- */

/* Hands out numbers of a block that it reserves with one add: one round trip for `block` of them.
 * Each is handed out once, to any thread; they grow, with gaps where a process went with the rest
 * of its block. */
struct pawl_cached_atomic;

/* Uses `a`, which must live longer. */
PAWL_API int pawl_cached_atomic_new(struct pawl_atomic *a, int block,
                                    struct pawl_cached_atomic **out);
PAWL_API void pawl_cached_atomic_free(struct pawl_cached_atomic *x);

typedef void (*pawl_cached_atomic_fn)(struct pawl_cached_atomic *x, int err, int64_t number,
                                      void *arg);

/* The next number. OPERATION_TIMEOUT: there is none in the client's time; an error never hands out
 * a number twice. BAD_VERSION: others were faster all the time. */
PAWL_API int pawl_cached_atomic_next(struct pawl_cached_atomic *x, int64_t *out);
PAWL_API int pawl_cached_atomic_next_async(struct pawl_cached_atomic *x, pawl_cached_atomic_fn done,
                                           void *arg);

#ifdef __cplusplus
}
#endif

#endif
