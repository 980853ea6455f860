/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - work put by some, done by others, in order; items survive both.
 *
 *     static int work(struct pawl_queue *q, const struct pawl_item *item, void *arg)
 *     {
 *         return do_it(item->data) ? 0 : -1;
 *     }
 *
 *     struct pawl_queue *q;
 *
 *     check(pawl_queue_new(client, "/jobs",
 *                          PAWL_QUEUE_OPTIONS(.lock_path = "/jobs-locks", .consumer = work), &q),
 *           "queue");
 *     check(pawl_queue_put(q, PAWL_PUT(.item = pawl_str("resize 7")), 10000), "put");
 *     // ...
 *     pawl_queue_free(q);
 *
 * The nodes, names and bytes are those of Curator's DistributedQueue, DistributedIdQueue,
 * DistributedPriorityQueue and DistributedDelayQueue: C and Java put and consume together.
 *
 * A node holds one item or several that were put together. A handle with a consumer takes one node
 * at a time and calls the consumer for each of its items.
 *
 *   without a lock path   the node is deleted first, then consumed: at most once. What a consumer
 *                         refuses, or was about to work on when its process died, is lost.
 *   with a lock path      the node is consumed under an ephemeral lock and deleted afterwards: at
 *                         least once. What a consumer refuses is put again, behind the others, with
 *                         its id, priority or delay; only the items that were not done. The same
 *                         handle leaves it alone for a while: 100 ms, then twice as long each
 *                         time, up to 10 s. When a consumer dies, or is cut off for longer than its
 *                         session, somebody else does the item.
 *
 * After any loss of the link or the session consumers go on by themselves.
 *
 * A queue in ZooKeeper is for hundreds of items, not for millions: every consumer lists the whole
 * node, and all of it lies in the servers' memory. */
#ifndef PAWL_QUEUE_H
#define PAWL_QUEUE_H

#include "pawl/client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_queue;

enum pawl_queue_kind {
    PAWL_QUEUE_PLAIN = 0, /* first in, first out */
    PAWL_QUEUE_ID,        /* the same; an item has an id by which it can be removed */
    PAWL_QUEUE_PRIORITY,  /* the smallest number first */
    PAWL_QUEUE_DELAY      /* not before a given time, by the consumer's clock */
};

/* What a consumer is given; lent until it returns. */
struct pawl_item {
    struct pawl_bytes data;
    const char *name; /* of the node; several items may be in one */
    const char *id;   /* PAWL_QUEUE_ID, else NULL */
    int32_t priority; /* PAWL_QUEUE_PRIORITY */
    int64_t due_ms;   /* PAWL_QUEUE_DELAY: milliseconds since 1970 */
    /* The first, second, ... time that this handle's consumer is given it, as far as is known: an
     * item that others refused counts from 1 here, and so does one whose link was lost just when it
     * was put again. */
    int attempt;
};

/* Returns 0 when the item is done. Runs like all callbacks: a slow one delays the others of its
 * client, so give a busy queue a client of its own. */
typedef int (*pawl_consumer_fn)(struct pawl_queue *q, const struct pawl_item *item, void *arg);

/* What becomes of an item that the consumer refused (with a lock path). */
enum pawl_on_failure { PAWL_ON_FAILURE_REQUEUE = 0, PAWL_ON_FAILURE_DROP };

/* Called when a put has ended. `path` is that of the new node, NULL when there is none. */
typedef void (*pawl_put_fn)(struct pawl_queue *q, int err, const char *path, void *arg);

struct pawl_queue_options {
    size_t size; /* sizeof(struct pawl_queue_options) */
    enum pawl_queue_kind kind;
    pawl_consumer_fn consumer; /* NULL: this handle only puts */
    void *consumer_arg;
    const char *lock_path; /* another node; NULL: at most once */
    enum pawl_on_failure on_failure;
    /* A put waits while so many nodes are in the queue; 0: never; BAD_ARGUMENTS below that. Each
     * putter counts for itself: several together may exceed it by one each. */
    int max_items;
    /* PAWL_QUEUE_PRIORITY: after so many nodes look whether more urgent ones have come. 0: after
     * each. */
    int items_before_refresh;
    pawl_put_fn on_put; /* every put of this handle that succeeded */
    void *on_put_arg;
};
#define PAWL_QUEUE_OPTIONS(...) PAWL_SIZED(pawl_queue_options, __VA_ARGS__)
PAWL_SIZED_TYPE(queue_options)

/* `options` NULL: a plain queue to put into. Makes the node, in the background, and begins to
 * consume. */
PAWL_API int pawl_queue_new(struct pawl_client *c, const char *path,
                            const struct pawl_queue_options *options, struct pawl_queue **out);

/* No consumer runs any more when it returns, unless called from one. What was taken and not yet
 * consumed is put back. Puts that wait for room end with CANCELLED; those on their way go on, and
 * their `done` is called: pawl_queue_flush() before, to be sure. */
PAWL_API void pawl_queue_free(struct pawl_queue *q);

struct pawl_put {
    size_t size;
    struct pawl_bytes item;
    const struct pawl_bytes *items; /* instead of `item`: n_items in one node */
    size_t n_items;
    const char *id; /* PAWL_QUEUE_ID; '/' and '|' become '_' */
    int32_t priority;
    int64_t due_ms; /* PAWL_QUEUE_DELAY: milliseconds since 1970; 0: now */
};
#define PAWL_PUT(...) PAWL_SIZED(pawl_put, __VA_ARGS__)
PAWL_SIZED_TYPE(put)

/* Returns when the item is in the queue. Waits for room, and for the server, up to timeout_ms; -1:
 * for ever. OPERATION_TIMEOUT: not put if it waited for room, otherwise it may have been.
 * CONNECTION_LOSS: it may have been put; putting it again may double it. */
PAWL_API int pawl_queue_put(struct pawl_queue *q, const struct pawl_put *put, int timeout_ms);

/* `done` (or NULL) is called once. Puts of one handle arrive in order. */
PAWL_API int pawl_queue_put_async(struct pawl_queue *q, const struct pawl_put *put,
                                  pawl_put_fn done, void *arg);

/* Returns when every put that was made before has ended. */
PAWL_API int pawl_queue_flush(struct pawl_queue *q, int timeout_ms);

/* Removes the items with this id that nobody works on, and counts their nodes. `timeout_ms` is for
 * each request; 0: the client's. */
PAWL_API int pawl_queue_remove(struct pawl_queue *q, const char *id, int timeout_ms,
                               int *n_removed);

/* ---- the simple queue ----
 *
 * Curator's SimpleDistributedQueue, as in ZooKeeper's own recipes: a node per item, its data raw,
 * taken when it is asked for. Who takes deletes: at most once. */

struct pawl_simple_queue;

/* Nothing is sent. The node is a container made when it is needed. */
PAWL_API int pawl_simple_queue_new(struct pawl_client *c, const char *path,
                                   struct pawl_simple_queue **out);

/* Ends whoever waits with CANCELLED. */
PAWL_API void pawl_simple_queue_free(struct pawl_simple_queue *q);

/* Puts one at the end. CONNECTION_LOSS: it may have been put. */
PAWL_API int pawl_simple_queue_offer(struct pawl_simple_queue *q, struct pawl_bytes data);

/* The first, taken out; free() its data, behind which there is a NUL that does not count. Waits
 * for one up to timeout_ms; -1: for ever; 0: not at all. OPERATION_TIMEOUT: there is none, or the
 * server was silent; none was taken. CONNECTION_LOSS: the link broke, or the time was up, between
 * the request that takes one and its answer: it may be gone. If the answer comes after all and it
 * is, it is put back, at the end; if not it is lost. CANCELLED: the same, if there was one. */
PAWL_API int pawl_simple_queue_take(struct pawl_simple_queue *q, int timeout_ms, void **data,
                                    size_t *len);

/* The first, left where it is; does not wait for one. */
PAWL_API int pawl_simple_queue_peek(struct pawl_simple_queue *q, void **data, size_t *len);

/* `done` is called once; the data are lent. */
typedef void (*pawl_take_fn)(struct pawl_simple_queue *q, int err, struct pawl_bytes data,
                             void *arg);
PAWL_API int pawl_simple_queue_take_async(struct pawl_simple_queue *q, int timeout_ms,
                                          pawl_take_fn done, void *arg);

#ifdef __cplusplus
}
#endif

#endif
