/* SPDX-License-Identifier: Apache-2.0 */
/* grant.h - the proof that something is ours, and for how much longer.
 *
 * Locks, read/write locks, semaphore leases, latches and selectors all hand out the same thing when
 * they are granted. What other libraries give is a boolean that was true once; a grant shows the
 * truth now, by our own clock, also in a process that was stopped, swapped out or cut off:
 *
 *     while (there_is_work() && pawl_grant_held(g)) {
 *         write_to_storage(pawl_grant_token(g));
 *     }
 *
 * The token is the number of the transaction that made our node. It is larger for every later
 * holder: a resource that remembers the largest token it has seen and refuses smaller ones cannot
 * be damaged by a holder that does not know yet that it is none (fencing). Data in ZooKeeper itself
 * is protected by pawl_grant_guard(), which makes a multi fail when the grant is gone.
 *
 * Ownership is certain for pawl_grant_certain_ms(): the servers give our things to somebody else
 * only after a whole session timeout T without us, and we count from a moment at which whoever
 * decides that is known to have heard of us, or to have heard of us later.
 *
 *          acquired          link lost (1), certain time over         session gone, node deleted
 *   NONE -----------> CERTAIN <----------------------------> IN_DOUBT ---------------------> LOST
 *    ^                   |     link is back, certain again       |                             |
 *    +-------------------+-------------- released ---------------+-----------------------------+
 *
 * (1) with PAWL_DOUBT_STOP. With PAWL_DOUBT_GO_ON it stays CERTAIN until the certain time is over.
 *
 * In an ensemble the leader decides, and a new leader gives every session its whole timeout when it
 * begins. The server that we are linked to may be cut off from both and go on answering. So its
 * answers alone count for nothing, and while something is held or waited for the client's heartbeat
 * is not a ping but a request that the leader has to answer:
 *
 * - Where pawld leads, and for a pawld that stands alone: a sync, every T/3. The leader counts it
 *   as a sign of life, and answers it only when a quorum has followed it since. The certain time
 *   counts from when it was sent: 2T/3 of it are left at any time.
 * - Where Apache's server leads, or stands between us and a pawld that does: its leader hears of us
 *   only when it next asks the follower, which it does every half tick. Requests A that were
 *   answered; a write B, sent T/3 later: the leader has asked in between, and the follower has
 *   answered that before it answers us B; then a write C: the leader had the follower's answer
 *   before C, and a quorum agrees upon C, so that nobody else led before it was sent. When C is
 *   answered the certain time counts from when A was sent. B and C are multis without effect. A
 *   follower can lose one note of us each time it is asked (a race in Apache's 3.8.0); so A are two
 *   reads at once, and more if they take long: more than it can have been asked meanwhile. T/4 less
 *   five round trips are left at any time, 2T/3 at most. This relies on T being two ticks or more
 *   and twenty or less (it is, unless minSessionTimeout or maxSessionTimeout is configured), and on
 *   a leader that asks in time, T/12 late at the most. Not covered: an observer behind an observer
 *   master, which asks in its stead. Likely and not sure, for the T/3 until there is more: the
 * first certain time after one in which nothing was held or waited for. It rests on a single ping.
 * - A session that has just begun counts from its handshake. One that comes to another server
 *   counts from there after the next sync (pawld) or write (Apache); until then from before.
 *   Answers to credentials (auth) count for nothing.
 * - A local session (localSessionsEnabled) is known to its own server only, and goes when that is
 *   restarted. Nothing is held by one: the first ephemeral node makes it a session of the ensemble,
 *   which the leader tracks from then on. Where that is not allowed (localSessionsUpgradingEnabled
 *   is off) nothing can be acquired.
 *
 * The derivation in full is in src/client/certain.h. An acquisition is complete when it is certain:
 * if nothing was held or waited for during the last T, that can take one more request, or two.
 *
 * Not covered: somebody who deletes our node by hand. We learn of it at once, but the next in line
 * may have learnt of it a moment earlier; the token and the guard protect against that, too. */
#ifndef PAWL_GRANT_H
#define PAWL_GRANT_H

#include <stdbool.h>

#include "pawl/client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_grant;

enum pawl_grant_state {
    PAWL_GRANT_NONE = 0, /* nothing was acquired, or it was released */
    PAWL_GRANT_CERTAIN,  /* ours */
    PAWL_GRANT_IN_DOUBT, /* perhaps ours: stop, and wait for what comes */
    PAWL_GRANT_LOST      /* not ours any more; release it to be able to acquire again */
};

/* When the link to the server goes. */
enum pawl_doubt {
    PAWL_DOUBT_STOP = 0, /* at once in doubt */
    PAWL_DOUBT_GO_ON     /* in doubt only when the certain time is over */
};

/* Called at every change after the acquisition: IN_DOUBT, CERTAIN again, LOST; how things stand,
 * when they changed faster than callbacks run. Runs like all callbacks. */
typedef void (*pawl_grant_fn)(struct pawl_grant *g, enum pawl_grant_state state, void *arg);

/* May we act as the holder, now? CERTAIN, and the certain time is not over. */
PAWL_API bool pawl_grant_held(const struct pawl_grant *g);

PAWL_API enum pawl_grant_state pawl_grant_state(const struct pawl_grant *g);

/* For how many milliseconds ownership is certain if we hear nothing more; 0: not at all. */
PAWL_API int64_t pawl_grant_certain_ms(const struct pawl_grant *g);

/* 0 when nothing was acquired. Stays after LOST. */
PAWL_API uint64_t pawl_grant_token(const struct pawl_grant *g);

/* The path of our node, copied; empty when there is none. */
PAWL_API void pawl_grant_path(const struct pawl_grant *g, char *out, size_t size);

/* Adds the check to a multi, of whatever view: it is executed only if our node is there. NOT_HELD
 * when there is none to check. */
PAWL_API int pawl_grant_guard(const struct pawl_grant *g, struct pawl_multi *m);

/* A descriptor that is readable while the grant is IN_DOUBT or LOST, and of a selector also while
 * it should stop: for poll(), not to be read from or closed; it lives as long as the grant.
 * Negative: an error code. */
PAWL_API int pawl_grant_fd(struct pawl_grant *g);

/* ---- who is there ---- */

/* A node in the queue of a lock, latch or selector. */
struct pawl_participant {
    const char *path;
    struct pawl_bytes data; /* ours say: address host=... pid=... program=... since=... */
    int64_t session_id;
    int64_t since_ms; /* by the server's clock, since 1970 */
    uint64_t token;
};

struct pawl_participants {
    const struct pawl_participant *const *items; /* in the order of the queue */
    size_t n;
};

/* All that queue below `path`: of a lock, latch or selector, Curator's or ours. None: n is 0. */
PAWL_API int pawl_participants(struct pawl_client *c, const char *path,
                               struct pawl_participants **out);
PAWL_API void pawl_participants_free(struct pawl_participants *p);

#ifdef __cplusplus
}
#endif

#endif
