/* SPDX-License-Identifier: Apache-2.0 */
/* ensemble_fixture.h - several real members in one program, over links that neither lose nor delay,
 * and logs that are durable when the test lets them be.
 *
 * Everything that is under way stands in one queue, and is delivered in order by
 * ensemble_fixture_run(). Nobody's tree is ever looked into by another: a snapshot is the log. */
#ifndef PAWL_TEST_ENSEMBLE_FIXTURE_H
#define PAWL_TEST_ENSEMBLE_FIXTURE_H

#include "member/ensemble.h"
#include "member/member.h"
#include "quorum/config.h"

enum { ENSEMBLE_MAX = 5 };

struct ensemble_fixture;

struct ensemble_node {
    struct ensemble_fixture *fixture;
    int64_t sid;
    struct member *member; /* NULL: it is down */
    struct member_effects effects;
    struct quorum *quorum;
    struct quorum_effects quorum_effects;
    bool stepping;    /* the quorum */
    struct list kept; /* inputs that came meanwhile */
    int64_t accepted_epoch, current_epoch;
    struct strbuf log; /* payloads, as jute buffers */
    int64_t appended_zxid;
    int64_t asked_zxid; /* whose DURABLE is under way */
    int64_t durable_zxid;
    int depth; /* of steps of the member within each other */
    bool hold; /* nothing gets durable */
    bool listening;
    bool stopping;                    /* STOP has come, STOPPED has not gone */
    link_id loading;                  /* a snapshot is expected over it */
    struct snapshot_taker *takers[4]; /* that the member has handed over, in order */
    int64_t taken_zxid[4];
    size_t n_takers;
};

struct ensemble_fixture {
    struct quorum_config config;
    struct server_options options; /* reconfig_enabled: the list of members may change; who is
                                      started again has the first one */
    bool read_only_clients;        /* new links say that they only read */
    struct ensemble_node nodes[ENSEMBLE_MAX]; /* number sid - 1 */
    size_t n_nodes, n_voters;
    struct list events;
    struct list links;
    link_id last_link;
    int64_t now_us, wall_ms;
    int64_t last_counter; /* of an epoch; 0: the usual one */
    int64_t diverged_zxid;
    int32_t next_xid;
    struct strbuf taken;
};

/* Members 1 to n_voters vote, those behind them observe. All are started. */
void ensemble_fixture_init(struct ensemble_fixture *f, size_t n_voters, size_t n_observers);
void ensemble_fixture_init_with(struct ensemble_fixture *f, size_t n_voters, size_t n_observers,
                                const struct server_options *options);
void ensemble_fixture_init_ending(struct ensemble_fixture *f, size_t n_voters, size_t n_observers,
                                  int64_t last_counter);
void ensemble_fixture_fini(struct ensemble_fixture *f);

/* Delivers what is under way, until nothing is; then lets time pass, in ticks. */
void ensemble_fixture_settle(struct ensemble_fixture *f);
void ensemble_fixture_pass(struct ensemble_fixture *f, int64_t ms);

/* Time passes until somebody leads and all that are up serve. Its node. */
struct ensemble_node *ensemble_fixture_elect(struct ensemble_fixture *f);
struct ensemble_node *ensemble_fixture_leader(struct ensemble_fixture *f);

/* A follower; or the observer. */
struct ensemble_node *ensemble_fixture_follower(struct ensemble_fixture *f);

/* The process is gone, and what was not durable with it; and comes back. */
void ensemble_node_crash(struct ensemble_node *n);
void ensemble_node_start(struct ensemble_node *n);

/* Packets of the node that are under way do not arrive: to be called before its crash. */
void ensemble_node_lose_packets(struct ensemble_node *n);

/* Whatever was held back gets durable. */
void ensemble_node_release(struct ensemble_node *n);

/* An input of the quorum, and all that follows from it. */
void ensemble_node_do(struct ensemble_node *n, const struct quorum_input *in);

struct server *ensemble_node_server(const struct ensemble_node *n);

/* Its tree and its sessions as text, but for the node that each member writes for itself. The
 * caller frees it. */
char *ensemble_node_state(const struct ensemble_node *n);

/* ---- clients ---- */

struct connection *ensemble_client(struct ensemble_node *n, int32_t timeout_ms);

/* A link that asks for the session of another; nothing is delivered yet. */
struct connection *ensemble_resume(struct ensemble_node *n, int64_t session_id, int32_t timeout_ms);

/* Sends a request; its xid. */
int32_t ensemble_send(struct ensemble_node *n, struct connection *c, const struct request *q);

/* What waits for `c`, taken out as lines: "7 OK", "created /a". Good until the next call. */
const char *ensemble_trace(struct ensemble_node *n, struct connection *c);

void ensemble_disconnect(struct ensemble_node *n, struct connection *c);

#endif
