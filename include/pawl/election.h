/* SPDX-License-Identifier: Apache-2.0 */
/* election.h - one leader among many processes: the latch reports, the selector calls.
 *
 *     static void on_leader(struct pawl_latch *l, uint64_t token, void *arg);
 *     static void on_lost(struct pawl_latch *l, void *arg);
 *
 *     struct pawl_latch *l;
 *
 *     check(pawl_latch_new(client, "/jobs/leader",
 *                          PAWL_LATCH_OPTIONS(.id = "worker-7", .on_leader = on_leader,
 *                                             .on_lost = on_lost), &l),
 *           "latch");
 *     check(pawl_latch_start(l), "start");
 *     // pawl_latch_is_leader(l) is the truth at any time
 *     pawl_latch_free(l);
 *
 * Who leads a latch does so until it is closed or its session ends; who has lost its place gets a
 * new one by itself. A selector runs a function while it leads; the leadership ends with it, which
 * makes it go round.
 *
 *     static void lead(struct pawl_selector *s, uint64_t token, void *arg)
 *     {
 *         while (there_is_work() && !pawl_selector_should_stop(s)) {
 *             work_a_little(token);
 *         }
 *     }
 *
 * The same nodes as Curator's LeaderLatch and LeaderSelector: C and Java processes elect one leader
 * among them. First come, first served; each watches only the one ahead.
 *
 * Leadership is a grant (grant.h): it knows for how long it is certain, has a token to fence with
 * and a path that proves it, and learns at once when somebody deletes its node. Both can be started
 * before the client has connected, and go on through lost links, ended sessions and servers that
 * forgot everything. */
#ifndef PAWL_ELECTION_H
#define PAWL_ELECTION_H

#include "pawl/grant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- latch ---- */

struct pawl_latch;

/* on_leader and on_lost take turns, beginning with on_leader; they tell how things stand, so a
 * doubt that is over before they could run is not reported. A leadership that is followed by
 * another of ours is: lost, and leader with a new token. */
struct pawl_latch_options {
    size_t size; /* sizeof(struct pawl_latch_options) */
    /* Who we are, as others see it: the data of our node, "" for none. NULL: address, host,
     * process, program and time. */
    const char *id;
    enum pawl_doubt doubt; /* STOP: a lost link ends leadership until it is back; GO_ON: as long as
                            * it is certain it does not (Curator's session policy) */
    void (*on_leader)(struct pawl_latch *l, uint64_t token, void *arg);
    void (*on_lost)(struct pawl_latch *l, void *arg);
    /* We cannot take our place: NO_AUTH, for example. It is tried again every second, except after
     * CLOSING, and SESSION_EXPIRED of a client with one session only. */
    void (*on_error)(struct pawl_latch *l, int err, void *arg);
    void *arg; /* of all three */
};
#define PAWL_LATCH_OPTIONS(...) PAWL_SIZED(pawl_latch_options, __VA_ARGS__)
PAWL_SIZED_TYPE(latch_options)

/* `options` NULL: all defaults. Nothing is sent. */
PAWL_API int pawl_latch_new(struct pawl_client *c, const char *path,
                            const struct pawl_latch_options *options, struct pawl_latch **out);

/* Closes it, silently, if need be. Callbacks do not run any more when it returns, unless it was
 * called from one. */
PAWL_API void pawl_latch_free(struct pawl_latch *l);

/* Joins the queue. INVALID_STATE: it was started before. */
PAWL_API int pawl_latch_start(struct pawl_latch *l);

enum pawl_latch_close {
    PAWL_LATCH_CLOSE_SILENT = 0, /* no callback begins any more */
    PAWL_LATCH_CLOSE_NOTIFY /* on_lost, if on_leader was called: before this returns, but not from
                             * inside a callback or with a loop of your own: then soon */
};

/* Leaves the queue, for good; our node is deleted in the background until that is confirmed, also
 * one whose creation is still under way. INVALID_STATE: it was not started, or closed before.
 * OPERATION_TIMEOUT: closed, but on_lost had to wait too long for its turn. */
PAWL_API int pawl_latch_close(struct pawl_latch *l, enum pawl_latch_close mode);

/* Waits up to timeout_ms (-1: for ever) until we lead. OPERATION_TIMEOUT: not yet. CANCELLED: it
 * was closed. Other errors: as for on_error. */
PAWL_API int pawl_latch_wait(struct pawl_latch *l, int timeout_ms);

/* Do we lead, now? */
PAWL_API bool pawl_latch_is_leader(const struct pawl_latch *l);

/* Lives as long as the latch. Its path and its token are those of a leader or none. */
PAWL_API struct pawl_grant *pawl_latch_grant(struct pawl_latch *l);

/* All in the queue, the leader first; none: n is 0. Waits as long as the client's timeout. */
PAWL_API int pawl_latch_participants(struct pawl_latch *l, struct pawl_participants **out);

/* ---- selector ---- */

struct pawl_selector;

/* Runs on a thread of its own while we lead; returning gives leadership up. Never runs twice at the
 * same time for one selector. A leadership in doubt before it could begin is given back, and we
 * queue again. May make blocking calls, close or free the selector. The thread blocks the signals
 * that the one which called pawl_selector_start() blocked. */
typedef void (*pawl_lead_fn)(struct pawl_selector *s, uint64_t token, void *arg);

struct pawl_selector_options {
    size_t size;       /* sizeof(struct pawl_selector_options) */
    pawl_lead_fn lead; /* required */
    /* Who we are: the data of our node. NULL or "": address, host, process, program and time. */
    const char *id;
    enum pawl_doubt doubt; /* when should_stop becomes true after a lost link */
    int auto_requeue;      /* queue again whenever `lead` has returned */
    /* As of a latch; also SYSTEM, when there is no thread to be had. */
    void (*on_error)(struct pawl_selector *s, int err, void *arg);
    void *arg; /* of both */
};
#define PAWL_SELECTOR_OPTIONS(...) PAWL_SIZED(pawl_selector_options, __VA_ARGS__)
PAWL_SIZED_TYPE(selector_options)

/* Nothing is sent. */
PAWL_API int pawl_selector_new(struct pawl_client *c, const char *path,
                               const struct pawl_selector_options *options,
                               struct pawl_selector **out);

/* Closes it if need be, and waits until `lead` has returned; except inside `lead` and inside
 * callbacks of the client, where the selector lives until it has. */
PAWL_API void pawl_selector_free(struct pawl_selector *s);

/* Joins the queue. INVALID_STATE: it was started or closed before. */
PAWL_API int pawl_selector_start(struct pawl_selector *s);

/* Joins the queue again; while we lead, or from inside `lead`: when it has returned. INVALID_STATE:
 * it is queued already, or not started, or closed. */
PAWL_API int pawl_selector_requeue(struct pawl_selector *s);

/* Asks `lead` to stop. NOT_HELD: we do not lead, nothing was done. */
PAWL_API int pawl_selector_interrupt(struct pawl_selector *s);

/* Leaves the queue for good; if we lead `lead` is asked to stop, and our node stays until it has.
 * Does not wait. INVALID_STATE: it was not started, or closed before. */
PAWL_API int pawl_selector_close(struct pawl_selector *s);

/* For `lead`: it was interrupted, the selector was closed, or the grant has been in doubt or lost.
 * Once true it stays so until `lead` has returned. The descriptor of the grant (pawl_grant_fd())
 * shows the same to poll(). */
PAWL_API bool pawl_selector_should_stop(struct pawl_selector *s);

/* Do we lead, now? */
PAWL_API bool pawl_selector_is_leader(const struct pawl_selector *s);

/* In the queue, or going to be after a failure. */
PAWL_API bool pawl_selector_is_queued(const struct pawl_selector *s);

PAWL_API struct pawl_grant *pawl_selector_grant(struct pawl_selector *s);

/* All in the queue, the leader first; none: n is 0. Waits as long as the client's timeout. */
PAWL_API int pawl_selector_participants(struct pawl_selector *s, struct pawl_participants **out);

#ifdef __cplusplus
}
#endif

#endif
