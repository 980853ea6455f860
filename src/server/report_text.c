/* SPDX-License-Identifier: Apache-2.0 */
#include "server/report_text.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- pieces ---- */

void report_text_peer(const struct peer *peer, struct strbuf *out)
{
    bool is_ipv6 = strchr(peer->ip, ':') != NULL;

    strbuf_printf(out, is_ipv6 ? "/[%s]:%u" : "/%s:%u", peer->ip, peer->port);
}

void report_text_date(int64_t wall_ms, struct strbuf *out)
{
    static const char days[][4] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t seconds = wall_ms / 1000;
    int64_t day = seconds / 86400; /* since Thursday, 1 January 1970 */
    int64_t z = day + 719468;      /* since 1 March of year 0: leap days then end their years */
    int64_t era = z / 146097;
    int64_t of_era = z % 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153; /* 0 is March */

    strbuf_printf(out, "%s %s %02" PRId64 " %02" PRId64 ":%02" PRId64 ":%02" PRId64 " UTC %" PRId64,
                  days[day % 7], months[(month + 2) % 12], of_year - (153 * month + 2) / 5 + 1,
                  seconds / 3600 % 24, seconds / 60 % 60, seconds % 60,
                  year + era * 400 + (month >= 10 ? 1 : 0));
}

/* ---- conf, dirs, envi, mntr ---- */

/* Between what its lines are written. */
struct text_lines {
    struct strbuf *out;
    const char *before, *between;
};

void report_text_value(const struct report_value *v, struct strbuf *out)
{
    switch (v->kind) {
    case REPORT_TEXT:
        strbuf_append_str(out, v->text);
        break;
    case REPORT_INTEGER:
        strbuf_printf(out, "%" PRId64, v->number);
        break;
    case REPORT_AVERAGE:
        summary_print_average(out, v->number, v->count);
        break;
    case REPORT_RATIO:
        summary_print_ratio(out, v->ratio);
        break;
    }
}

static void text_line(const struct report_value *v, void *arg)
{
    const struct text_lines *lines = arg;

    strbuf_append_str(lines->out, lines->before);
    strbuf_append_str(lines->out, v->name);
    strbuf_append_str(lines->out, lines->between);
    report_text_value(v, lines->out);
    strbuf_append_str(lines->out, "\n");
}

void report_text_conf(const struct server *s, struct strbuf *out)
{
    report_conf(s, text_line, &(struct text_lines){out, "", "="});
    if (s->facts.membership != NULL && s->role->kind != ROLE_READ_ONLY) {
        strbuf_printf(out, "membership: \n%s", s->facts.membership);
    }
}

void report_text_dirs(const struct server *s, struct strbuf *out)
{
    report_dirs(s, text_line, &(struct text_lines){out, "", ": "});
}

void report_text_envi(const struct server *s, struct strbuf *out)
{
    strbuf_append_str(out, "Environment:\n");
    report_environment(s, text_line, &(struct text_lines){out, "", "="});
}

void report_text_mntr(const struct server *s, struct strbuf *out)
{
    report_metrics(s, text_line, &(struct text_lines){out, "zk_", "\t"});
}

/* ---- srvr, stat, cons ---- */

static void text_version(const struct report_state *r, struct strbuf *out)
{
    strbuf_printf(out, "Zookeeper version: %s\n", r->version);
    if (r->read_only) {
        strbuf_append_str(out, "READ-ONLY mode; serving only read-only clients\n");
    }
}

static void text_state(const struct report_state *r, struct strbuf *out)
{
    strbuf_printf(out, "Latency min/avg/max: %" PRId64 "/", summary_min(&r->latency));
    summary_print_average(out, r->latency.sum, r->latency.count);
    strbuf_printf(out,
                  "/%" PRId64 "\nReceived: %" PRIu64 "\nSent: %" PRIu64
                  "\nConnections: %zu\nOutstanding: %" PRId64 "\nZxid: 0x%" PRIx64
                  "\nMode: %s\nNode count: %" PRId64 "\n",
                  summary_max(&r->latency), r->received, r->sent, r->n_connections,
                  r->n_outstanding, (uint64_t)r->zxid, r->mode, r->n_nodes);
    if (r->has_proposals) {
        strbuf_printf(out, "Proposal sizes last/min/max: %" PRId64 "/%" PRId64 "/%" PRId64 "\n",
                      r->last_proposal_size, r->min_proposal_size, r->max_proposal_size);
    }
}

static void text_session(const struct report_connection *c, struct strbuf *out)
{
    strbuf_printf(out, ",sid=0x%" PRIx64 ",lop=%s,est=%" PRId64 ",to=%" PRId32,
                  (uint64_t)c->session_id, c->last_op, c->established_ms, c->timeout_ms);
    if (c->last_cxid >= 0) {
        strbuf_printf(out, ",lcxid=0x%" PRIx32, (uint32_t)c->last_cxid);
    }
    strbuf_printf(out,
                  ",lzxid=0x%" PRIx64 ",lresp=%" PRId64 ",llat=%" PRId64 ",minlat=%" PRId64
                  ",avglat=%" PRId64 ",maxlat=%" PRId64,
                  (uint64_t)c->last_zxid, c->last_response_ms, c->last_latency_ms,
                  c->min_latency_ms, c->average_latency_ms, c->max_latency_ms);
}

/* In brackets the selector's interest in the link, as Java shows it: 1 reads, 4 writes. */
static void text_connection(const struct report_connection *c, struct strbuf *out, bool brief)
{
    strbuf_append_str(out, " ");
    report_text_peer(c->peer, out);
    strbuf_printf(out, "[%x](queued=%" PRId32 ",recved=%" PRIu64 ",sent=%" PRIu64,
                  (c->reads ? 1u : 0u) | (c->writes ? 4u : 0u), c->n_queued, c->received, c->sent);
    if (!brief && c->session_id != 0) {
        text_session(c, out);
    }
    strbuf_append_str(out, ")\n");
}

static void text_brief(const struct report_connection *c, void *arg)
{
    text_connection(c, arg, true);
}

static void text_full(const struct report_connection *c, void *arg)
{
    text_connection(c, arg, false);
}

void report_text_srvr(const struct server *s, struct strbuf *out)
{
    struct report_state r;

    report_state(s, &r);
    text_version(&r, out);
    text_state(&r, out);
}

void report_text_stat(const struct server *s, const struct connection *self, struct strbuf *out)
{
    struct report_state r;

    report_state(s, &r);
    text_version(&r, out);
    strbuf_append_str(out, "Clients:\n");
    report_connections(s, self, text_brief, out);
    strbuf_append_str(out, "\n");
    text_state(&r, out);
}

void report_text_cons(const struct server *s, const struct connection *self, struct strbuf *out)
{
    report_connections(s, self, text_full, out);
    strbuf_append_str(out, "\n");
}

/* ---- dump ---- */

/* How many, from `at` on, share its time. */
static size_t text_set_size(const struct report_dues *d, size_t at)
{
    size_t end = at;

    while (end < d->n && d->rows[end].at_wall_ms == d->rows[at].at_wall_ms) {
        end++;
    }
    return end - at;
}

static size_t text_n_sets(const struct report_dues *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i += text_set_size(d, i)) {
        n++;
    }
    return n;
}

static void text_due(const struct report_due *row, struct strbuf *out)
{
    if (row->peer == NULL) {
        strbuf_printf(out, "\t0x%" PRIx64 "\n", (uint64_t)row->session_id);
        return;
    }
    strbuf_append_str(out, "\tip: ");
    report_text_peer(row->peer, out);
    strbuf_printf(out, " sessionId: 0x%" PRIx64 "\n", (uint64_t)row->session_id);
}

/* Those that are due at the same time under one line. */
static void text_dues(const struct report_dues *d, const char *kind, struct strbuf *out)
{
    size_t size;

    strbuf_printf(out, "%s Sets (%zu)/(%zu):\n", kind, text_n_sets(d), d->n);
    for (size_t i = 0; i < d->n; i += size) {
        size = text_set_size(d, i);
        strbuf_printf(out, "%zu expire at ", size);
        report_text_date(d->rows[i].at_wall_ms, out);
        strbuf_append_str(out, ":\n");
        for (size_t k = i; k < i + size; k++) {
            text_due(&d->rows[k], out);
        }
    }
}

/* Rows with a heading wherever the one before was another session's. */
struct text_by_session {
    struct strbuf *out;
    const char *after;
    int64_t session_id;
    bool any;
};

static void text_path(int64_t session_id, struct bytes path, void *arg)
{
    struct text_by_session *t = arg;

    if (!t->any || t->session_id != session_id) {
        strbuf_printf(t->out, "0x%" PRIx64 "%s\n", (uint64_t)session_id, t->after);
    }
    t->any = true;
    t->session_id = session_id;
    strbuf_append_str(t->out, "\t");
    strbuf_append_bytes(t->out, path);
    strbuf_append_str(t->out, "\n");
}

static void text_deadlines(const struct server *s, bool local, struct strbuf *out)
{
    struct report_dues dues;

    report_sessions(s, local, &dues);
    text_dues(&dues, "Session", out);
    report_dues_fini(&dues);
}

static void text_known_sessions(const struct server *s, struct strbuf *out)
{
    size_t n;
    struct report_session *rows = report_known_sessions(s, &n);

    strbuf_printf(out, "Global Sessions(%zu):\n", n);
    for (size_t i = 0; i < n; i++) {
        strbuf_printf(out, "0x%" PRIx64 "\t%" PRId32 "ms\n", (uint64_t)rows[i].id,
                      rows[i].timeout_ms);
    }
    free(rows);
}

void report_text_dump(const struct server *s, struct strbuf *out)
{
    bool has_local = s->options.local_sessions || s->sessions.n_local > 0;
    struct report_dues dues;

    strbuf_append_str(out, "SessionTracker dump:\n");
    if (has_local) {
        strbuf_append_str(out, "Local ");
        text_deadlines(s, true, out);
    }
    if (role_leads(s->role)) {
        strbuf_append_str(out, has_local ? "Global " : "");
        text_deadlines(s, false, out);
    } else {
        text_known_sessions(s, out);
    }
    strbuf_printf(out, "ephemeral nodes dump:\nSessions with Ephemerals (%zu):\n",
                  report_n_owners(s));
    report_ephemerals(s, text_path, &(struct text_by_session){.out = out, .after = ":"});
    report_silences(s, &dues);
    strbuf_append_str(out, "Connections dump:\n");
    text_dues(&dues, "Connections", out);
    report_dues_fini(&dues);
}

/* ---- watches ---- */

void report_text_wchs(const struct server *s, struct strbuf *out)
{
    struct report_watches w;

    report_watches(s, &w);
    strbuf_printf(out, "%zu connections watching %zu paths\nTotal watches:%zu\n", w.n_connections,
                  w.n_paths, w.n_watches);
}

void report_text_wchc(const struct server *s, struct strbuf *out)
{
    report_watches_by_session(s, text_path, &(struct text_by_session){.out = out, .after = ""});
    strbuf_append_str(out, "\n");
}

struct text_by_path {
    struct strbuf *out;
    struct bytes path; /* of the row before */
};

static void text_watcher(int64_t session_id, struct bytes path, void *arg)
{
    struct text_by_path *t = arg;

    if (path.data != t->path.data) {
        strbuf_append_bytes(t->out, path);
        strbuf_append_str(t->out, "\n");
        t->path = path;
    }
    strbuf_printf(t->out, "\t0x%" PRIx64 "\n", (uint64_t)session_id);
}

void report_text_wchp(const struct server *s, struct strbuf *out)
{
    report_watches_by_path(s, text_watcher, &(struct text_by_path){out, BYTES_NULL});
    strbuf_append_str(out, "\n");
}

/* ---- hash ---- */

static void text_digest(int64_t zxid, uint64_t digest, void *arg)
{
    strbuf_printf(arg, "%" PRIx64 ": %" PRId64 "\n", (uint64_t)zxid, (int64_t)digest);
}

void report_text_hash(const struct server *s, struct strbuf *out)
{
    report_digests(s, text_digest, out);
}
