/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what the server tells of itself, as values.
 *
 * Gathering is here, writing elsewhere: report_text.c writes ZooKeeper's text for the four-letter
 * words, and another writer needs nothing but this. Lists are given row by row, in the order of the
 * words. What rows point to is lent until the callback returns. */
#ifndef PAWL_SERVER_REPORT_H
#define PAWL_SERVER_REPORT_H

#include "server/server.h"

/* ---- values with a name: conf, dirs, envi, mntr ---- */

enum report_kind { REPORT_TEXT, REPORT_INTEGER, REPORT_AVERAGE, REPORT_RATIO };

struct report_value {
    const char *name;
    enum report_kind kind;
    const char *text; /* never NULL in a text */
    int64_t number;   /* of an average: the sum */
    uint64_t count;   /* of an average */
    double ratio;
};

typedef void (*report_value_fn)(const struct report_value *v, void *arg);

void report_conf(const struct server *s, report_value_fn fn, void *arg);
void report_dirs(const struct server *s, report_value_fn fn, void *arg);
void report_environment(const struct server *s, report_value_fn fn, void *arg);

/* All of metrics.def; report_metrics.c. */
void report_metrics(const struct server *s, report_value_fn fn, void *arg);

/* ---- the same as families, each with its type ---- */

enum report_type { REPORT_GAUGE, REPORT_COUNTER, REPORT_BASIC, REPORT_FULL };

struct report_metric {
    const char *name, *help;
    enum report_type type;
    struct bytes label;            /* the namespace it is about; null: it has none */
    struct report_value value;     /* of a gauge or counter; its name is the metric's */
    const struct summary *summary; /* of the other two */
};

typedef void (*report_metric_fn)(const struct report_metric *m, void *arg);

/* Those without a label, in the order of metrics.def. While nobody is served there are no gauges,
 * as in ZooKeeper: "no uptime" is how alerts notice that. */
void report_families(const struct server *s, report_metric_fn fn, void *arg);

/* Those by namespace, a namespace at a time. */
void report_labelled(const struct server *s, report_metric_fn fn, void *arg);

/* The families by namespace, whether there is a namespace or not. */
struct report_family {
    const char *name, *help;
    enum report_type type;
};
extern const struct report_family report_namespace_families[];
extern const size_t report_n_namespace_families;

/* ---- srvr, stat, cons ---- */

struct report_state {
    const char *version, *mode;
    bool read_only;         /* it serves who reads, and nobody leads */
    struct summary latency; /* ms */
    uint64_t received, sent;
    size_t n_connections;
    int64_t n_outstanding;
    int64_t zxid;
    int64_t n_nodes;    /* the root counts twice, as in ZooKeeper */
    bool has_proposals; /* it leads others, and then: */
    int64_t last_proposal_size, min_proposal_size, max_proposal_size;
};

void report_state(const struct server *s, struct report_state *out);

struct report_connection {
    const struct peer *peer;
    bool reads, writes; /* the server waits for it, has something for it; neither of whoever asks */
    int32_t n_queued;
    uint64_t received, sent;
    int64_t session_id; /* 0: none, and then nothing below */
    const char *last_op;
    int64_t established_ms;
    int32_t timeout_ms;
    int32_t last_cxid; /* -1: none yet */
    int64_t last_zxid, last_response_ms;
    int64_t last_latency_ms, min_latency_ms, average_latency_ms, max_latency_ms;
};

typedef void (*report_connection_fn)(const struct report_connection *c, void *arg);

/* `self` is the connection that asks; it counts among the others. */
void report_connections(const struct server *s, const struct connection *self,
                        report_connection_fn fn, void *arg);

/* ---- dump ---- */

/* A session or connection, and when it is given up if nothing is heard. Rows come in that order. */
struct report_due {
    int64_t at_wall_ms;
    int64_t session_id;
    const struct peer *peer; /* NULL in the list of sessions */
};

struct report_dues {
    struct report_due *rows;
    size_t n;
};

/* A session as a learner knows it: only the leader knows when it ends. */
struct report_session {
    int64_t id;
    int32_t timeout_ms;
};

/* All, in the order of their ids; the caller frees it. */
struct report_session *report_known_sessions(const struct server *s, size_t *n);

/* The local ones, or the others, whose end is known here. Freed by report_dues_fini(). */
void report_sessions(const struct server *s, bool local, struct report_dues *out);
void report_silences(const struct server *s, struct report_dues *out);
void report_dues_fini(struct report_dues *d);

size_t report_n_owners(const struct server *s);

/* Grouped by session. */
typedef void (*report_path_fn)(int64_t session_id, struct bytes path, void *arg);
void report_ephemerals(const struct server *s, report_path_fn fn, void *arg);

/* ---- watches, digests ---- */

struct report_watches {
    size_t n_connections, n_paths, n_watches;
};

void report_watches(const struct server *s, struct report_watches *out);

/* Grouped by session, or by path: then the rows of a path share its bytes. */
void report_watches_by_session(const struct server *s, report_path_fn fn, void *arg);
void report_watches_by_path(const struct server *s, report_path_fn fn, void *arg);

typedef void (*report_digest_fn)(int64_t zxid, uint64_t digest, void *arg);
void report_digests(const struct server *s, report_digest_fn fn, void *arg);

#endif
