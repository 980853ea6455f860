/* SPDX-License-Identifier: Apache-2.0 */
#include "server/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "server/version_text.h"

/* ---- values with a name ---- */

struct report_to {
    report_value_fn fn;
    void *arg;
};

static void report_give_text(const struct report_to *to, const char *name, const char *text)
{
    to->fn(
        &(struct report_value){.name = name, .kind = REPORT_TEXT, .text = text == NULL ? "" : text},
        to->arg);
}

static void report_give_integer(const struct report_to *to, const char *name, int64_t number)
{
    to->fn(&(struct report_value){.name = name, .kind = REPORT_INTEGER, .number = number}, to->arg);
}

void report_conf(const struct server *s, report_value_fn fn, void *arg)
{
    const struct report_to to = {fn, arg};
    const struct server_facts *f = &s->facts;

    report_give_integer(&to, "clientPort", f->client_port);
    report_give_integer(&to, "secureClientPort", f->secure_client_port);
    report_give_text(&to, "dataDir", f->data_dir);
    report_give_integer(&to, "dataDirSize", f->data_dir_bytes);
    report_give_text(&to, "dataLogDir", f->log_dir);
    report_give_integer(&to, "dataLogSize", f->log_dir_bytes);
    report_give_integer(&to, "tickTime", s->options.tick_ms);
    report_give_integer(&to, "maxClientCnxns", s->options.limits.max_per_address);
    report_give_integer(&to, "minSessionTimeout", s->options.min_session_timeout_ms);
    report_give_integer(&to, "maxSessionTimeout", s->options.max_session_timeout_ms);
    report_give_integer(&to, "clientPortListenBacklog", f->listen_backlog);
    /* A server that stands alone is number 0, though it numbers its sessions as if it were 1. */
    report_give_integer(&to, "serverId", f->membership == NULL ? 0 : f->server_id);
    if (f->membership != NULL) {
        report_give_integer(&to, "initLimit", f->init_limit);
        report_give_integer(&to, "syncLimit", f->sync_limit);
        report_give_integer(&to, "electionAlg", 3);
        report_give_integer(&to, "electionPort", f->election_port);
        report_give_integer(&to, "quorumPort", f->quorum_port);
        report_give_integer(&to, "peerType", f->observer ? 1 : 0);
    }
}

void report_dirs(const struct server *s, report_value_fn fn, void *arg)
{
    const struct report_to to = {fn, arg};

    report_give_integer(&to, "datadir_size", s->facts.data_dir_bytes);
    report_give_integer(&to, "logdir_size", s->facts.log_dir_bytes);
}

static void report_give_megabytes(const struct report_to *to, const char *name, int64_t megabytes)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64 "MB", megabytes);
    report_give_text(to, name, text);
}

void report_environment(const struct server *s, report_value_fn fn, void *arg)
{
    static const char *const of_java[] = {"java.version",    "java.vendor",       "java.home",
                                          "java.class.path", "java.library.path", "java.io.tmpdir",
                                          "java.compiler"};
    const struct report_to to = {fn, arg};
    const struct server_facts *f = &s->facts;

    report_give_text(&to, "zookeeper.version", SERVER_VERSION_TEXT);
    report_give_text(&to, "host.name", f->host_name);
    for (size_t i = 0; i < sizeof(of_java) / sizeof(of_java[0]); i++) {
        report_give_text(&to, of_java[i], "<NA>");
    }
    report_give_text(&to, "os.name", f->os_name);
    report_give_text(&to, "os.arch", f->os_arch);
    report_give_text(&to, "os.version", f->os_version);
    report_give_text(&to, "user.name", f->user_name);
    report_give_text(&to, "user.home", f->user_home);
    report_give_text(&to, "user.dir", f->user_dir);
    report_give_megabytes(&to, "os.memory.free", f->memory_free_mb);
    report_give_megabytes(&to, "os.memory.max", f->memory_max_mb);
    report_give_megabytes(&to, "os.memory.total", f->memory_total_mb);
}

/* ---- srvr, stat, cons ---- */

void report_state(const struct server *s, struct report_state *out)
{
    *out = (struct report_state){
        .version = SERVER_VERSION_TEXT,
        .mode = role_name(s->role->kind),
        .read_only = s->role->kind == ROLE_READ_ONLY,
        .latency = metrics_latency(&s->stats),
        .received = s->stats.packets_received,
        .sent = s->stats.packets_sent,
        .n_connections = s->n_connections,
        .n_outstanding = server_outstanding(s),
        .zxid = s->applied_zxid,
        .n_nodes = tree_count(s->tree) + 1,
        .has_proposals = s->role->kind == ROLE_LEADER,
        .last_proposal_size = s->stats.last_proposal_size,
        .min_proposal_size = s->stats.min_proposal_size,
        .max_proposal_size = s->stats.max_proposal_size,
    };
}

static struct report_connection report_connection_of(const struct connection *c, bool is_self)
{
    const struct op *op = c->stats.last_op;
    uint64_t n = c->stats.n_latencies;

    return (struct report_connection){
        .peer = &c->peer,
        .reads = !is_self && c->input == INPUT_OPEN && c->state != CONNECTION_CLOSING,
        .writes = !is_self && connection_unread(c) > 0,
        .n_queued = c->parked.n_in_flight + c->parked.n_requests,
        .received = c->stats.received,
        .sent = c->stats.sent,
        .session_id = c->session_id,
        .last_op = op == NULL ? "NA" : op->four,
        .established_ms = c->stats.established_ms,
        .timeout_ms = c->timeout_ms,
        .last_cxid = c->stats.last_cxid,
        .last_zxid = c->stats.last_zxid,
        .last_response_ms = c->stats.last_response_ms,
        .last_latency_ms = c->stats.last_latency_ms,
        .min_latency_ms = c->stats.min_latency_ms,
        .average_latency_ms = n == 0 ? 0 : c->stats.total_latency_ms / (int64_t)n,
        .max_latency_ms = c->stats.max_latency_ms,
    };
}

void report_connections(const struct server *s, const struct connection *self,
                        report_connection_fn fn, void *arg)
{
    struct list *item;

    list_for_each (item, &s->connections) {
        const struct connection *c = container_of(item, struct connection, link);
        struct report_connection row = report_connection_of(c, c == self);

        fn(&row, arg);
    }
}

/* ---- dump ---- */

struct report_session_rows {
    const struct server *server;
    struct report_dues *out;
    bool local;
    size_t room;
};

static int64_t report_wall_ms(const struct server *s, int64_t deadline_ms)
{
    return s->wall_ms + deadline_ms - server_now_ms(s);
}

static void report_bucket(int64_t deadline_ms, const struct list *items, void *arg)
{
    struct report_session_rows *r = arg;
    struct list *item;

    list_for_each (item, items) {
        const struct session *session =
            container_of(container_of(item, struct expiry_item, link), struct session, expiry);

        if (session->local != r->local) {
            continue;
        }
        if (r->out->n == r->room) {
            r->room = r->room == 0 ? 64 : 2 * r->room;
            r->out->rows = must_realloc(r->out->rows, r->room * sizeof(*r->out->rows));
        }
        r->out->rows[r->out->n++] = (struct report_due){
            .at_wall_ms = report_wall_ms(r->server, deadline_ms), .session_id = session->id};
    }
}

void report_sessions(const struct server *s, bool local, struct report_dues *out)
{
    struct report_session_rows r = {.server = s, .out = out, .local = local};

    *out = (struct report_dues){0};
    expiry_each(&s->tracker.expiry, report_bucket, &r);
}

struct report_known {
    struct report_session *rows;
    size_t n;
};

static void report_add_known(int64_t id, int32_t timeout_ms, void *arg)
{
    struct report_known *known = arg;

    known->rows[known->n++] = (struct report_session){id, timeout_ms};
}

static int report_by_id(const void *a, const void *b)
{
    const struct report_session *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

struct report_session *report_known_sessions(const struct server *s, size_t *n)
{
    size_t room = tree_n_sessions(s->tree);
    struct report_known known = {.rows = must_alloc((room + 1) * sizeof(*known.rows))};

    tree_each_session(s->tree, report_add_known, &known);
    ASSERT(known.n == room);
    qsort(known.rows, known.n, sizeof(*known.rows), report_by_id);
    *n = known.n;
    return known.rows;
}

/* When a silent connection is given up: with its session, or because it never opened one. */
static int64_t report_silence_of(const struct server *s, const struct connection *c)
{
    int64_t interval_ms = s->options.limits.sessionless_ms;
    int64_t deadline_ms = c->opened_us / 1000 + interval_ms;

    if (interval_ms <= 0) {
        interval_ms = 1;
    }
    if (c->session != NULL && c->session->expiry.deadline_ms != 0) {
        deadline_ms = c->session->expiry.deadline_ms;
    }
    return (deadline_ms / interval_ms + 1) * interval_ms;
}

static int report_by_time(const void *a, const void *b)
{
    const struct report_due *x = a, *y = b;

    return (x->at_wall_ms > y->at_wall_ms) - (x->at_wall_ms < y->at_wall_ms);
}

void report_silences(const struct server *s, struct report_dues *out)
{
    struct list *item;

    *out = (struct report_dues){.rows = must_alloc((s->n_connections + 1) * sizeof(*out->rows))};
    list_for_each (item, &s->connections) {
        const struct connection *c = container_of(item, struct connection, link);

        out->rows[out->n++] = (struct report_due){
            .at_wall_ms = report_wall_ms(s, report_silence_of(s, c)),
            .session_id = c->session_id,
            .peer = &c->peer,
        };
    }
    ASSERT(out->n == s->n_connections);
    qsort(out->rows, out->n, sizeof(*out->rows), report_by_time);
}

void report_dues_fini(struct report_dues *d)
{
    free(d->rows);
    *d = (struct report_dues){0};
}

static void report_count_owner(int64_t session_id, void *arg)
{
    (void)session_id;
    (*(size_t *)arg)++;
}

size_t report_n_owners(const struct server *s)
{
    size_t n = 0;

    tree_each_ephemeral_owner(s->tree, report_count_owner, &n);
    return n;
}

struct report_owners {
    const struct tree *tree;
    report_path_fn fn;
    void *arg;
    struct strbuf path;
    int64_t *ids;
    size_t n;
};

static void report_add_owner(int64_t session_id, void *arg)
{
    struct report_owners *r = arg;

    r->ids[r->n++] = session_id;
}

static int report_ids_ascend(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void report_owner(struct report_owners *r, int64_t session_id)
{
    for (znode_id id = tree_first_ephemeral(r->tree, session_id); id != 0;
         id = tree_next_ephemeral(r->tree, id)) {
        strbuf_clear(&r->path);
        tree_path(r->tree, id, &r->path);
        r->fn(session_id, strbuf_bytes(&r->path), r->arg);
    }
}

void report_ephemerals(const struct server *s, report_path_fn fn, void *arg)
{
    struct report_owners r = {.tree = s->tree, .fn = fn, .arg = arg};

    r.ids = must_alloc((report_n_owners(s) + 1) * sizeof(*r.ids));
    strbuf_init(&r.path, STRBUF_NO_LIMIT);
    tree_each_ephemeral_owner(s->tree, report_add_owner, &r);
    qsort(r.ids, r.n, sizeof(*r.ids), report_ids_ascend);
    for (size_t i = 0; i < r.n; i++) {
        report_owner(&r, r.ids[i]);
    }
    strbuf_fini(&r.path);
    free(r.ids);
}

/* ---- watches, digests ---- */

void report_watches(const struct server *s, struct report_watches *out)
{
    struct list *item;

    *out = (struct report_watches){.n_paths = s->watches.paths.count,
                                   .n_watches = watch_count(&s->watches)};
    list_for_each (item, &s->connections) {
        const struct connection *c = container_of(item, struct connection, link);

        out->n_connections += list_empty(&c->watches) ? 0 : 1;
    }
}

struct report_rows {
    report_path_fn fn;
    void *arg;
};

static void report_watch(struct bytes path, const struct connection *c, unsigned kinds, void *arg)
{
    struct report_rows *rows = arg;

    (void)kinds;
    rows->fn(c->session_id, path, rows->arg);
}

void report_watches_by_session(const struct server *s, report_path_fn fn, void *arg)
{
    struct report_rows rows = {fn, arg};
    struct list *item;

    list_for_each (item, &s->connections) {
        watch_each_of(container_of(item, struct connection, link), report_watch, &rows);
    }
}

void report_watches_by_path(const struct server *s, report_path_fn fn, void *arg)
{
    struct report_rows rows = {fn, arg};

    watch_each(&s->watches, report_watch, &rows);
}

void report_digests(const struct server *s, report_digest_fn fn, void *arg)
{
    for (size_t i = 0; i < s->digests.count; i++) {
        const struct digest_entry *e = digest_log_at(&s->digests, i);

        fn(e->zxid, e->digest, arg);
    }
}
