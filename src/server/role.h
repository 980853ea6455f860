/* SPDX-License-Identifier: Apache-2.0 */
/* role.h - what a server asks of its role in the ensemble.
 *
 *               submit                        answered by
 *   alone       prepares, appends             server_commit() when it is durable here
 *   leader      prepares, proposes            server_commit() when a quorum has it
 *   learner     forwards to the leader        server_commit() of what the leader makes of it
 *   read-only   (refused by the server)
 *
 * The server does not know which of these it has: it keeps who asked (waiting.h), and finds the
 * answer in the transactions that are committed, whoever prepared them. */
#ifndef PAWL_SERVER_ROLE_H
#define PAWL_SERVER_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct identity;
struct request;
struct session;
struct strbuf;

enum role_kind {
    ROLE_NONE,      /* looks for a leader: nobody is served */
    ROLE_READ_ONLY, /* looks for a leader, and serves who wants no more than to read: nothing is
                       submitted, and there are no callbacks but revalidate() */
    ROLE_ALONE,
    ROLE_LEADER,
    ROLE_FOLLOWER,
    ROLE_OBSERVER,
};

/* A write (or a sync) on its way to agreement; all of it is lent during the call. */
struct submission {
    struct identity *identity;
    struct session *session; /* NULL: the server's own, or not known here */
    int64_t session_id;
    int32_t xid;
    const struct request *request;
    struct bytes body; /* of a client's request: as it came behind its header */
    int refusal;       /* PAWL_OK; or it becomes this error, whatever it asks for */
};

/* How the ensemble stands, for the words. What only a leader knows is 0 elsewhere. */
struct role_standing {
    int64_t leader; /* its id */
    size_t n_voters;
    size_t n_learners; /* that are connected, synchronised or not */
    size_t n_synced_followers, n_synced_non_voting, n_synced_observers;
    size_t n_pending_syncs;
    int64_t election_ms;           /* the last one took */
    int64_t sync_ms;               /* and since then */
    uint64_t n_diffs, n_snapshots; /* sent to learners since the start */
};

struct role {
    enum role_kind kind;
    bool counts_requests; /* each is a sign of life of its session to whoever expires it, as far as
                             we know: a learner has to hear that from its leader */

    /* Agree upon this. Returns how many bytes are kept of it until it is committed. */
    int64_t (*submit)(struct role *r, const struct submission *q);

    /* Everything that was agreed upon anywhere until now is to be seen here. False: it is;
     * otherwise server_synced() follows, in the order of the calls. */
    bool (*sync)(struct role *r, const struct submission *q);

    /* Whether the session lives, and moves here if it does: server_revalidated() follows, perhaps
     * at once. */
    void (*revalidate)(struct role *r, int64_t session_id, int32_t timeout_ms);

    /* Leading: the members as `q` wants them, as the text that the transaction `zxid` is to have.
     * PAWL_OK, or what the client is told instead. NULL: there is no ensemble. */
    int (*change_members)(struct role *r, const struct request *q, int64_t zxid,
                          struct strbuf *text);

    /* NULL: there is no ensemble. */
    void (*standing)(struct role *r, struct role_standing *out);
};

static inline bool role_serves(const struct role *r)
{
    return r->kind != ROLE_NONE;
}

/* "leader": as the four-letter words call it. */
const char *role_name(enum role_kind kind);

/* "leading": the same as an activity. */
const char *role_activity(enum role_kind kind);

/* Whoever is not led makes the transactions, and decides which sessions live. */
static inline bool role_leads(const struct role *r)
{
    return r->kind == ROLE_ALONE || r->kind == ROLE_LEADER;
}

#endif
