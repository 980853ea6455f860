/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.h - carries out what a quorum asks for (quorum.h): links, log, epochs, snapshots.
 *
 *     election transport          quorum port
 *            |                        |
 *            v                        v
 *        +--------------- carrier ---------------+
 *        |   quorum_step() -> effects, in order  |
 *        +---------------------------------------+
 *            |                        |
 *            v                        v
 *      the log's thread          the member: tree, clients
 *
 * A step never happens within another: what the member asks for while effects are carried out is
 * kept, and is a step of its own afterwards. Nothing here decides anything. With the log's level at
 * DEBUG each input and effect is a line (trace.h).
 *
 * Belongs to the loop. */
#ifndef PAWL_DAEMON_CARRIER_H
#define PAWL_DAEMON_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/log_jobs.h"
#include "daemon/quorum_net.h"
#include "quorum/config.h"
#include "quorum/quorum.h"

struct carrier;
struct member_input;
struct snapshot_taker;

/* Whoever has the member and its log. None of these may step the quorum: carrier_do() keeps it for
 * later. */
struct carrier_host {
    void *arg;
    /* Steps the member:
     *   MEMBER_EFFECT         what the quorum asks of it, lent for the call
     *   MEMBER_CATCH_UP       all that was appended is on disk: it is applied, committed or not
     * (P8) MEMBER_TREE           the history ends with `zxid` now, and the tree is this one
     *   MEMBER_WANT_SNAPSHOT  a learner wants the tree: as soon as a walk can begin,
     *                         carrier_snapshot() follows, perhaps from within */
    void (*step)(void *arg, const struct member_input *in);
    /* What was appended goes to the log's thread now. */
    void (*hand_over)(void *arg);
    /* A disk fails, or what a leader asks for cannot be: the server has to stop. */
    void (*fail)(void *arg, int code, const char *text);
};

struct carrier_options {
    uv_loop_t *loop;
    struct log_jobs *jobs;
    struct quorum_options quorum; /* config, limits; outlive the carrier */
    size_t packet_bytes;
    size_t output_bytes;
    size_t backlog_bytes; /* of a leader's records that are not on disk: reading waits */
    bool keepalive;
    struct peer_tls *tls;           /* outlives the carrier; NULL: none */
    const struct member_sasl *sasl; /* the same */
    bool listen_on_all;             /* quorumListenOnAllIPs */
    struct carrier_host host;
    /* The election's transport. */
    void (*notify)(void *arg, int64_t sid, struct bytes frame);
    /* Of members: as the quorum has them now. */
    void (*lists_changed)(void *arg, bool is_active);
    void *notify_arg;
};

struct carrier *carrier_new(const struct carrier_options *options);
/* All links end, nothing is carried out any more, and what the log's thread still answers is not
 * heard. Then the thread is stopped; then it is freed, and the loop has to run once more. NULL is
 * allowed. */
void carrier_close(struct carrier *c);
void carrier_free(struct carrier *c);

/* What was recovered. */
struct carrier_recovered {
    int64_t last_zxid, accepted_epoch, current_epoch;
    const struct history *history;
    const struct quorum_config *next; /* the list of members that was proposed; NULL: none */
    bool diverged, damaged;           /* which marks of store/mark.h were found */
};

/* Once. */
void carrier_start(struct carrier *c, const struct carrier_recovered *r);

/* An input of the election's transport or the member: now, or after the effects that are being
 * carried out; its bytes are copied if it has to wait. */
void carrier_do(struct carrier *c, const struct quorum_input *in);

/* The log is on disk up to here. */
void carrier_durable(struct carrier *c, int64_t zxid);

/* The tree that `link` was promised; `taker` is the carrier's from now on. */
void carrier_snapshot(struct carrier *c, link_id link, struct snapshot_taker *taker, int64_t zxid);

/* Before the loop sleeps. */
void carrier_flush(struct carrier *c);

const struct quorum *carrier_quorum(const struct carrier *c);
int carrier_port(const struct carrier *c); /* of the quorum port; -1: it is not ours */

#endif
