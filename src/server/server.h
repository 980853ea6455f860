/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - what a client sees: sessions, watches, authentication and the order of answers.
 *
 * Pure: it is handed bytes and committed transactions, and yields bytes and writes to be agreed
 * upon. Its role (role.h) knows how that is done. Time is what the caller says it is. One thread.
 */
#ifndef PAWL_SERVER_SERVER_H
#define PAWL_SERVER_SERVER_H

#include "server/attention.h"
#include "server/audit.h"
#include "server/auth.h"
#include "server/changes.h"
#include "server/connection.h"
#include "server/digest_log.h"
#include "server/limits.h"
#include "server/metrics.h"
#include "server/proposer.h"
#include "server/reaper.h"
#include "server/role.h"
#include "server/session.h"
#include "server/talkers.h"
#include "server/tracker.h"
#include "server/waiting.h"
#include "server/watch.h"
#include "store/apply.h"

struct sasl_gate;
struct server;

struct server_options {
    int64_t tick_ms;
    int64_t min_session_timeout_ms;
    int64_t max_session_timeout_ms;
    int64_t server_id;
    /* Of an earlier life of this server, from its log: a session id is never given out again, even
     * if the clock was set back meanwhile. 0: none known. */
    int64_t last_session_id;
    int64_t last_time_ms;
    int64_t attention_ms; /* the host looks at all clients at least this often; 0: not promised */
    struct auth_options auth;
    struct limit_options limits;
    bool extended_types;
    bool enforce_quota;
    bool reconfig_enabled;
    bool close_session_txn;
    bool with_digest;
    int64_t reap_interval_ms;   /* znode.container.checkIntervalMs */
    int64_t reap_per_minute;    /* znode.container.maxPerMinute */
    int64_t reap_never_used_ms; /* znode.container.maxNeverUsedIntervalMs; 0: never */
    const char *words;          /* 4lw.commands.whitelist; NULL: the default */
    bool read_only_mode;        /* readonlymode.enabled */
    bool local_sessions;        /* localSessionsEnabled: new ones are; only in an ensemble */
    bool upgrade_sessions;      /* localSessionsUpgradingEnabled */
    bool leader_serves_nobody;  /* leaderServes=no */
};

/* What the surroundings can tell that the server itself cannot know: for conf, dirs, envi, mntr.
 * They tell it now and then; what they have not told is zero or NULL. */
struct server_facts {
    int client_port;
    int secure_client_port;
    int listen_backlog;
    int64_t data_dir_bytes, log_dir_bytes;
    const char *data_dir, *log_dir; /* with version-2 */
    const char *host_name, *os_name, *os_arch, *os_version, *user_name, *user_home, *user_dir;
    int64_t memory_free_mb, memory_max_mb, memory_total_mb;
    int64_t n_open_files, max_open_files;
    int64_t n_slow_syncs; /* of the log, longer than is warned of */

    /* Of an ensemble's member. */
    const char *membership; /* the text of quorum/config.h; NULL: it stands alone */
    int64_t server_id;
    int64_t init_limit, sync_limit; /* ticks */
    int election_port, quorum_port;
    bool observer;
};

/* How many nodes are below `of`, at `zxid`. */
struct descendants {
    znode_id of;
    int64_t zxid;
    int64_t n;
};

struct server {
    struct server_options options;
    struct role *role;
    struct tree *tree;
    struct quota *quota;
    struct proposer *proposer; /* NULL: somebody else leads */
    struct apply apply;
    struct changes changes; /* the latest, for those who missed them */
    struct watch_table watches;
    struct session_table sessions;
    struct tracker tracker;
    struct identity self; /* who expires sessions and reaps */
    struct connection_throttle throttle;
    struct prng prng;
    struct metrics stats;
    struct digest_log digests;
    struct talkers talkers;
    struct server_facts facts;
    struct audit audit;
    int64_t ending_session; /* whose end is being applied; 0: nobody's */
    int64_t trace_mask;     /* gtmk, stmk: kept for those who ask, nothing depends on it */

    struct sasl_gate *sasl; /* the I/O side's; NULL: nobody authenticates with SASL */
    struct {                /* kept by the I/O side, for the metrics */
        int64_t n_handshakes, n_nameless_remote, n_nameless_local;
        bool is_on, is_on_among_members;
        int64_t days_left, days_left_among_members; /* of the certificates */
    } tls;

    struct list connections;
    size_t n_connections;
    struct list touched; /* connections the I/O side must look at */

    struct waiting_queue waiting; /* writes of our clients */
    struct list syncs;            /* that the role was asked for, see pipeline.c */
    struct list joining;          /* connections that wait for a word about their session */
    int64_t n_parked;             /* requests behind writes */
    int64_t large_bytes;
    struct list paused;  /* connections whose input waits */
    int64_t n_want_turn; /* of them those that wait for the next turn */
    int64_t turn;        /* counts them */

    int64_t applied_zxid;
    struct {
        int64_t epoch;
        int64_t warn_below; /* when so few zxids are left in it */
    } zxids;
    int64_t differs_zxid;  /* the last one compared, if the tree after it was not the leader's */
    struct strbuf differs; /* what that was, and of which nodes, for a person */
    int64_t diverged_zxid; /* the first at which this tree is not the leader's; 0: none */
    int64_t now_us;
    int64_t wall_ms;
    int64_t started_us;
    int64_t role_since_us;
    bool clocks_told; /* in this role: that the leader's is another one */
    struct attention attention;
    int64_t attended_us; /* what now_us is for deadlines of clients */

    struct reaper reaper;

    struct descendants descendants; /* the last ones counted; see read.c */
    struct strbuf repaired;         /* scratch: strings that were not UTF-8, made so */
    struct apply_result *results;
    size_t n_results;
};

/* The last counter of an epoch that a transaction has. */
#define SERVER_LAST_COUNTER INT64_C(0xfffffffe)

static inline int64_t server_zxids_left(int64_t zxid)
{
    return SERVER_LAST_COUNTER - (zxid & INT64_C(0xffffffff));
}

/* Takes over `tree`, whose last transaction is `zxid`. */
struct server *server_new(const struct server_options *options, struct role *role,
                          struct tree *tree, int64_t zxid, int64_t now_us, int64_t wall_ms,
                          uint64_t seed);
void server_free(struct server *s);

/* The role is another one now: all clients are closed, and what they waited for is forgotten. The
 * tree may be another one as well, which is taken over; its last transaction is `zxid`. */
void server_change(struct server *s, struct tree *tree, int64_t zxid);

/* Every call below happens at this time. */
void server_set_time(struct server *s, int64_t now_us, int64_t wall_ms);

/* For deadlines of clients: attended time. */
static inline int64_t server_now_ms(const struct server *s)
{
    return s->attended_us / 1000;
}

/* A client has connected, and has shown a certificate of this subject; NULL: none. */
struct connection *server_connect(struct server *s, const struct peer *peer, const char *subject);

/* The I/O side has sent some of c->out. */
void server_sent(struct server *s, struct connection *c);

/* The link is gone; `c` is freed. The session lives on. */
void server_disconnect(struct server *s, struct connection *c);

/* A transaction is agreed upon: the payload of a log record, the next one of all. It is applied,
 * watches fire, and if it is what a client of ours asked for, that one is answered. */
void server_commit(struct server *s, struct bytes payload);

/* What the role was asked for first has come: a sync; the word about a session. */
void server_synced(struct server *s);
void server_revalidated(struct server *s, int64_t session_id, bool valid);

/* Of the oldest sync that waits: what had been proposed here when it came; INT64_MAX: none does. */
int64_t server_sync_zxid(const struct server *s);

/* A session that is to be known here, from now on; here only. */
struct session *server_add_session(struct server *s, int64_t id, int32_t timeout_ms);
struct session *server_add_local_session(struct server *s, int64_t id, int32_t timeout_ms);

/* A local session is tracked like any other from here on; its createSession is on its way. */
void server_make_global(struct server *s, struct session *session);

/* It is gone: its connection is closed when what it has to read is sent. */
void server_end_session(struct server *s, struct session *session);

/* Whether anybody is served: a leader may have been told to leave that to the others. */
static inline bool server_takes_clients(const struct server *s)
{
    return role_serves(s->role) &&
           !(s->role->kind == ROLE_LEADER && s->options.leader_serves_nobody);
}

/* Whether new sessions are local ones. */
static inline bool server_makes_local(const struct server *s)
{
    return s->options.local_sessions || s->role->kind == ROLE_READ_ONLY;
}

/* Time passes: sessions expire, containers are reaped, the sessionless are shown out. All that had
 * arrived at `looked_us`, by the clock of server_set_time(), has been received. */
void server_tick(struct server *s, int64_t looked_us);

/* Somebody knows better than silence how much time a session has left; 0: it ends now. */
void server_session_left(struct server *s, int64_t id, int64_t left_ms);

/* pipeline.c: goes on with connections whose input had to wait for commits. */
void server_resume(struct server *s);

/* pipeline.c: a turn begins: who has had its share of the last one goes on. As long as
 * s->n_want_turn is not zero there is somebody who waits for the next. */
void server_turn(struct server *s);

/* The next connection to look at, or NULL; it is taken off the list. */
struct connection *server_next_touched(struct server *s);

/* Something that happened outside took so long, or was so many: a sync, a snapshot, the start. */
static inline void server_observe(struct server *s, enum summary_id id, int64_t value)
{
    metrics_observe(&s->stats, id, value);
}

/* Requests taken and not answered yet, those that are nobody's included. */
static inline int64_t server_outstanding(const struct server *s)
{
    return s->n_parked + (s->proposer != NULL ? s->proposer->n_in_flight : s->waiting.n);
}

/* Submits a write of `c`; `body` is the request as it came behind its header. */
void server_submit(struct server *s, struct connection *c, int32_t xid, const struct request *q,
                   struct bytes body);

/* Makes the local session of `c` everybody's, under the id that it has. What is submitted from here
 * on finds it so. */
void server_upgrade(struct server *s, struct connection *c);

/* Submits a write of a client that is not ours; see forwarded.h. */
void server_propose(struct server *s, const struct submission *q);

/* Submits a write that no client asked for: session expiry, reaping. */
void server_submit_own(struct server *s, const struct request *q, int64_t session_id);

#endif
