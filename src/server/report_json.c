/* SPDX-License-Identifier: Apache-2.0 */
#include "server/report_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- rows, as far as they go ---- */

struct json_rows {
    struct json_writer *writer;
    size_t end; /* of what is written: behind it rows are only counted */
    size_t n_left_out;
    bool brief, secure; /* which connections, and how much of them */
    int64_t session_id; /* of the group that is open */
    struct bytes path;
    bool is_open;
};

static struct json_rows json_rows_begin(struct json_writer *w)
{
    return (struct json_rows){.writer = w, .end = w->out->len + REPORT_JSON_BYTES};
}

static bool json_rows_full(struct json_rows *r)
{
    if (r->writer->out->len < r->end) {
        return false;
    }
    r->n_left_out++;
    return true;
}

static void json_close_group(struct json_rows *r)
{
    if (r->is_open) {
        json_close_list(r->writer);
    }
    r->is_open = false;
}

static void json_left_out(const struct json_rows *r)
{
    if (r->n_left_out > 0) {
        json_put_integer(r->writer, "left_out", (int64_t)r->n_left_out);
    }
}

/* ---- configuration, dirs, environment, monitor ---- */

static void json_value(const struct report_value *v, void *arg)
{
    struct json_writer *w = arg;

    switch (v->kind) {
    case REPORT_TEXT:
        json_put_string(w, v->name, v->text);
        break;
    case REPORT_INTEGER:
        json_put_integer(w, v->name, v->number);
        break;
    case REPORT_AVERAGE:
        json_put_name(w, v->name);
        summary_print_average(w->out, v->number, v->count);
        break;
    case REPORT_RATIO:
        json_put_name(w, v->name);
        summary_print_ratio(w->out, v->ratio);
        break;
    }
}

/* The word's names are those of the file; the admin server has its own for some of them. */
static void json_conf_value(const struct report_value *v, void *arg)
{
    static const char *const names[][2] = {
        {"clientPort", "client_port"},
        {"dataDir", "data_dir"},
        {"dataLogDir", "data_log_dir"},
        {"tickTime", "tick_time"},
        {"maxClientCnxns", "max_client_cnxns"},
        {"minSessionTimeout", "min_session_timeout"},
        {"maxSessionTimeout", "max_session_timeout"},
        {"serverId", "server_id"},
        {"clientPortListenBacklog", "client_port_listen_backlog"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(v->name, names[i][0]) == 0) {
            struct report_value renamed = *v;

            renamed.name = names[i][1];
            json_value(&renamed, arg);
        }
    }
}

void report_json_configuration(const struct server *s, struct json_writer *w)
{
    report_conf(s, json_conf_value, w);
}

void report_json_dirs(const struct server *s, struct json_writer *w)
{
    report_dirs(s, json_value, w);
}

void report_json_environment(const struct server *s, struct json_writer *w)
{
    report_environment(s, json_value, w);
}

void report_json_monitor(const struct server *s, struct json_writer *w)
{
    report_metrics(s, json_value, w);
}

/* ---- server_stats, stats, connections ---- */

static void json_sizes(struct json_writer *w, const char *name, int64_t last, int64_t min,
                       int64_t max)
{
    json_open_object(w, name);
    json_put_integer(w, "last_buffer_size", last);
    json_put_integer(w, "min_buffer_size", min);
    json_put_integer(w, "max_buffer_size", max);
    json_close_object(w);
}

static void json_responses(const struct server *s, struct json_writer *w, const char *name)
{
    json_sizes(w, name, s->stats.last_response_size, s->stats.min_response_size,
               s->stats.max_response_size);
}

static void json_state(const struct server *s, const struct report_state *r, struct json_writer *w)
{
    json_open_object(w, "server_stats");
    json_put_integer(w, "packets_sent", (int64_t)r->sent);
    json_put_integer(w, "packets_received", (int64_t)r->received);
    json_put_integer(w, "fsync_threshold_exceed_count", s->facts.n_slow_syncs);
    json_responses(s, w, "client_response_stats");
    json_put_integer(w, "data_dir_size", s->facts.data_dir_bytes);
    json_put_integer(w, "log_dir_size", s->facts.log_dir_bytes);
    json_put_bool(w, "provider_null", false);
    json_put_string(w, "server_state", r->mode);
    json_put_integer(w, "last_processed_zxid", r->zxid);
    json_put_integer(w, "outstanding_requests", r->n_outstanding);
    json_put_name(w, "avg_latency");
    summary_print_average(w->out, r->latency.sum, r->latency.count);
    json_put_integer(w, "max_latency", summary_max(&r->latency));
    json_put_integer(w, "min_latency", summary_min(&r->latency));
    json_put_integer(w, "num_alive_client_connections", (int64_t)r->n_connections);
    json_put_integer(w, "auth_failed_count", (int64_t)s->stats.auth_failed);
    json_put_integer(w, "non_mtlsremote_conn_count", 0);
    json_put_integer(w, "non_mtlslocal_conn_count", 0);
    json_put_integer(w, "uptime", (s->now_us - s->started_us) / 1000);
    json_close_object(w);
}

void report_json_server_stats(const struct server *s, struct json_writer *w)
{
    struct report_state r;

    report_state(s, &r);
    json_put_string(w, "version", r.version);
    json_put_bool(w, "read_only", r.read_only);
    json_state(s, &r, w);
    json_responses(s, w, "client_response");
    if (r.has_proposals) {
        json_sizes(w, "proposal_stats", r.last_proposal_size, r.min_proposal_size,
                   r.max_proposal_size);
    }
    json_put_integer(w, "node_count", r.n_nodes);
}

static void json_session(const struct report_connection *c, struct json_writer *w)
{
    json_put_integer(w, "session_id", c->session_id);
    json_put_string(w, "last_operation", c->last_op);
    json_put_integer(w, "established", c->established_ms);
    json_put_integer(w, "session_timeout", c->timeout_ms);
    json_put_integer(w, "last_cxid", c->last_cxid);
    json_put_integer(w, "last_zxid", c->last_zxid);
    json_put_integer(w, "last_response_time", c->last_response_ms);
    json_put_integer(w, "last_latency", c->last_latency_ms);
    json_put_integer(w, "min_latency", c->min_latency_ms);
    json_put_integer(w, "avg_latency", c->average_latency_ms);
    json_put_integer(w, "max_latency", c->max_latency_ms);
}

static void json_connection(const struct report_connection *c, void *arg)
{
    struct json_rows *r = arg;
    struct json_writer *w = r->writer;
    char address[64];

    if (c->peer->is_secure != r->secure || json_rows_full(r)) {
        return;
    }
    snprintf(address, sizeof(address), strchr(c->peer->ip, ':') != NULL ? "[%s]:%u" : "%s:%u",
             c->peer->ip, c->peer->port);
    json_open_object(w, NULL);
    json_put_string(w, "remote_socket_address", address);
    json_put_integer(w, "interest_ops", (c->reads ? 1 : 0) | (c->writes ? 4 : 0));
    json_put_integer(w, "outstanding_requests", c->n_queued);
    json_put_integer(w, "packets_received", (int64_t)c->received);
    json_put_integer(w, "packets_sent", (int64_t)c->sent);
    if (!r->brief) {
        json_session(c, w);
    }
    json_close_object(w);
}

static void json_connections(const struct server *s, struct json_writer *w, bool brief)
{
    struct json_rows r = json_rows_begin(w);

    r.brief = brief;
    json_open_list(w, "connections");
    report_connections(s, NULL, json_connection, &r);
    json_close_list(w);
    r.secure = true;
    json_open_list(w, "secure_connections");
    report_connections(s, NULL, json_connection, &r);
    json_close_list(w);
    json_left_out(&r);
}

void report_json_connections(const struct server *s, struct json_writer *w)
{
    json_connections(s, w, false);
}

void report_json_stats(const struct server *s, struct json_writer *w)
{
    report_json_server_stats(s, w);
    json_connections(s, w, true);
}

/* ---- dump, watches ---- */

static struct bytes json_decimal(int64_t value, char text[24])
{
    return bytes_of(text, (size_t)snprintf(text, 24, "%" PRId64, value));
}

/* A list for each time: those that end then. */
static void json_dues(const struct report_dues *d, struct json_rows *r)
{
    char text[24];

    for (size_t i = 0; i < d->n; i++) {
        if (json_rows_full(r)) {
            continue;
        }
        if (!r->is_open || d->rows[i].at_wall_ms != d->rows[i - 1].at_wall_ms) {
            json_close_group(r);
            json_open_list_of(r->writer, json_decimal(d->rows[i].at_wall_ms, text));
            r->is_open = true;
        }
        json_put_integer(r->writer, NULL, d->rows[i].session_id);
    }
    json_close_group(r);
}

static void json_path_of_session(int64_t session_id, struct bytes path, void *arg)
{
    struct json_rows *r = arg;
    char text[24];

    if (json_rows_full(r)) {
        return;
    }
    if (!r->is_open || r->session_id != session_id) {
        json_close_group(r);
        json_open_list_of(r->writer, json_decimal(session_id, text));
        r->is_open = true;
        r->session_id = session_id;
    }
    json_put_bytes(r->writer, NULL, path);
}

static void json_session_of_path(int64_t session_id, struct bytes path, void *arg)
{
    struct json_rows *r = arg;

    if (json_rows_full(r)) {
        return;
    }
    if (!r->is_open || r->path.data != path.data) {
        json_close_group(r);
        json_open_list_of(r->writer, path);
        r->is_open = true;
        r->path = path;
    }
    json_put_integer(r->writer, NULL, session_id);
}

/* When sessions end is known where they are tracked: a learner has no such rows, as Apache's. */
void report_json_dump(const struct server *s, struct json_writer *w)
{
    struct json_rows r = json_rows_begin(w);
    struct report_dues dues;

    json_open_object(w, "expiry_time_to_session_ids");
    if (role_leads(s->role)) {
        report_sessions(s, false, &dues);
        json_dues(&dues, &r);
        report_dues_fini(&dues);
    }
    json_close_object(w);
    json_open_object(w, "session_id_to_ephemeral_paths");
    report_ephemerals(s, json_path_of_session, &r);
    json_close_group(&r);
    json_close_object(w);
    json_left_out(&r);
}

void report_json_watch_summary(const struct server *s, struct json_writer *w)
{
    struct report_watches watches;

    report_watches(s, &watches);
    json_put_integer(w, "num_connections", (int64_t)watches.n_connections);
    json_put_integer(w, "num_paths", (int64_t)watches.n_paths);
    json_put_integer(w, "num_total_watches", (int64_t)watches.n_watches);
}

void report_json_watches(const struct server *s, struct json_writer *w)
{
    struct json_rows r = json_rows_begin(w);

    json_open_object(w, "session_id_to_watched_paths");
    report_watches_by_session(s, json_path_of_session, &r);
    json_close_group(&r);
    json_close_object(w);
    json_left_out(&r);
}

void report_json_watches_by_path(const struct server *s, struct json_writer *w)
{
    struct json_rows r = json_rows_begin(w);

    json_open_object(w, "path_to_session_ids");
    report_watches_by_path(s, json_session_of_path, &r);
    json_close_group(&r);
    json_close_object(w);
    json_left_out(&r);
}

/* ---- hash ---- */

static void json_digest(int64_t zxid, uint64_t digest, void *arg)
{
    struct json_writer *w = arg;

    json_open_object(w, NULL);
    json_put_integer(w, "zxid", zxid);
    json_put_integer(w, "digest", (int64_t)digest);
    json_put_integer(w, "digest_version", 2);
    json_close_object(w);
}

void report_json_hash(const struct server *s, struct json_writer *w)
{
    json_open_list(w, "digests");
    report_digests(s, json_digest, w);
    json_close_list(w);
}

/* ---- who asks most ---- */

enum { TOP_SHOWN = 20 };

static void json_talkers(struct json_writer *w, const char *name, const struct talker_list *l)
{
    const struct talker *sorted[TALKERS_KEPT];
    size_t n = talkers_sort(l, sorted);

    json_open_list(w, name);
    for (size_t i = 0; i < n && i < TOP_SHOWN; i++) {
        json_open_object(w, NULL);
        json_put_bytes(w, "name", bytes_of(sorted[i]->name, sorted[i]->len));
        json_put_integer(w, "requests", (int64_t)(sorted[i]->n * TALKERS_SAMPLE));
        json_put_integer(w, "at_most_too_high", (int64_t)(sorted[i]->over * TALKERS_SAMPLE));
        json_close_object(w);
    }
    json_close_list(w);
}

static void json_minute(const struct server *s, struct json_writer *w, const char *name,
                        bool before)
{
    const struct talkers_minute *m = talkers_minute(&s->talkers, before);
    int64_t end_ms = before ? talkers_minute(&s->talkers, false)->began_ms : s->now_us / 1000;

    json_open_object(w, name);
    json_put_integer(w, "ms", end_ms - m->began_ms);
    json_put_integer(w, "requests", (int64_t)(m->n * TALKERS_SAMPLE));
    json_talkers(w, "clients", &m->clients);
    json_talkers(w, "paths", &m->paths);
    json_open_object(w, "operations");
    for (int i = 0; i < N_OPS; i++) {
        if (m->ops[i] > 0) {
            json_put_integer(w, op_at(i)->name, (int64_t)(m->ops[i] * TALKERS_SAMPLE));
        }
    }
    json_close_object(w);
    json_close_object(w);
}

void report_json_top(const struct server *s, struct json_writer *w)
{
    json_minute(s, w, "now", false);
    json_minute(s, w, "minute_before", true);
}
