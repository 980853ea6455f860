/* SPDX-License-Identifier: Apache-2.0 */
#include "server/listing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "server/version_text.h"

/* ---- pieces ---- */

void listing_peer(const struct peer *peer, struct strbuf *out)
{
    bool is_ipv6 = strchr(peer->ip, ':') != NULL;

    strbuf_printf(out, is_ipv6 ? "/[%s]:%u" : "/%s:%u", peer->ip, peer->port);
}

void listing_date(int64_t wall_ms, struct strbuf *out)
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

/* When something on the monotonic clock happens, as a date. */
static void append_expiry(const struct server *s, int64_t deadline_ms, size_t n, struct strbuf *out)
{
    strbuf_printf(out, "%zu expire at ", n);
    listing_date(s->wall_ms + deadline_ms - server_now_ms(s), out);
    strbuf_append_str(out, ":\n");
}

/* ---- srvr, stat, cons ---- */

/* The selector's interest in the link, as Java shows it: 1 reads, 4 has something to write. */
static int interest(const struct connection *c, const struct connection *self)
{
    if (c == self) {
        return 0;
    }
    return (c->input != INPUT_OPEN || c->state == CONNECTION_CLOSING ? 0 : 1) |
           (connection_unread(c) > 0 ? 4 : 0);
}

static void append_session(const struct connection *c, struct strbuf *out)
{
    const struct op *op = c->stats.last_op;
    uint64_t n = c->stats.n_latencies;

    strbuf_printf(out, ",sid=0x%" PRIx64 ",lop=%s,est=%" PRId64 ",to=%" PRId32,
                  (uint64_t)c->session_id, op == NULL ? "NA" : op->four, c->stats.established_ms,
                  c->timeout_ms);
    if (c->stats.last_cxid >= 0) {
        strbuf_printf(out, ",lcxid=0x%" PRIx32, (uint32_t)c->stats.last_cxid);
    }
    strbuf_printf(out,
                  ",lzxid=0x%" PRIx64 ",lresp=%" PRId64 ",llat=%" PRId64 ",minlat=%" PRId64
                  ",avglat=%" PRId64 ",maxlat=%" PRId64,
                  (uint64_t)c->stats.last_zxid, c->stats.last_response_ms, c->stats.last_latency_ms,
                  c->stats.min_latency_ms, n == 0 ? 0 : c->stats.total_latency_ms / (int64_t)n,
                  c->stats.max_latency_ms);
}

static void append_connections(const struct server *s, const struct connection *self, bool brief,
                               struct strbuf *out)
{
    struct list *item;

    list_for_each (item, &s->connections) {
        const struct connection *c = container_of(item, struct connection, link);

        strbuf_append_str(out, " ");
        listing_peer(&c->peer, out);
        strbuf_printf(out, "[%x](queued=%" PRId32 ",recved=%" PRIu64 ",sent=%" PRIu64,
                      (unsigned)interest(c, self), c->n_in_flight + c->n_parked, c->stats.received,
                      c->stats.sent);
        if (!brief && c->session_id != 0) {
            append_session(c, out);
        }
        strbuf_append_str(out, ")\n");
    }
    strbuf_append_str(out, "\n");
}

static void append_version(struct strbuf *out)
{
    strbuf_append_str(out, "Zookeeper version: " SERVER_VERSION_TEXT "\n");
}

static void append_state(const struct server *s, struct strbuf *out)
{
    struct summary latency = metrics_latency(&s->stats);

    strbuf_printf(out, "Latency min/avg/max: %" PRId64 "/", summary_min(&latency));
    summary_print_average(out, latency.sum, latency.count);
    strbuf_printf(out,
                  "/%" PRId64 "\nReceived: %" PRIu64 "\nSent: %" PRIu64
                  "\nConnections: %zu\nOutstanding: %" PRId64 "\nZxid: 0x%" PRIx64
                  "\nMode: standalone\n",
                  summary_max(&latency), s->stats.packets_received, s->stats.packets_sent,
                  s->n_connections, s->n_outstanding, (uint64_t)s->applied_zxid);
    /* ZooKeeper has the root in its table under two names and counts both. */
    strbuf_printf(out, "Node count: %" PRId64 "\n", tree_count(s->tree) + 1);
}

void listing_srvr(struct server *s, struct strbuf *out)
{
    append_version(out);
    append_state(s, out);
}

void listing_stat(struct server *s, const struct connection *self, struct strbuf *out)
{
    append_version(out);
    strbuf_append_str(out, "Clients:\n");
    append_connections(s, self, true, out);
    append_state(s, out);
}

void listing_cons(struct server *s, const struct connection *self, struct strbuf *out)
{
    append_connections(s, self, false, out);
}

/* ---- dump ---- */

struct dump {
    const struct server *server;
    struct strbuf *out;
    size_t n;
};

static void count_items(int64_t deadline_ms, const struct list *items, void *arg)
{
    struct dump *d = arg;
    struct list *item;

    (void)deadline_ms;
    list_for_each (item, items) {
        d->n++;
    }
}

static void append_bucket(int64_t deadline_ms, const struct list *items, void *arg)
{
    struct dump *d = arg;
    struct list *item;

    d->n = 0;
    count_items(deadline_ms, items, d);
    append_expiry(d->server, deadline_ms, d->n, d->out);
    list_for_each (item, items) {
        const struct session *session =
            container_of(container_of(item, struct expiry_item, link), struct session, expiry);

        strbuf_printf(d->out, "\t0x%" PRIx64 "\n", (uint64_t)session->id);
    }
}

static void dump_sessions(struct dump *d)
{
    const struct expiry *x = &d->server->sessions.expiry;

    expiry_each(x, count_items, d);
    strbuf_printf(d->out, "SessionTracker dump:\nSession Sets (%zu)/(%zu):\n", x->buckets.count,
                  d->n);
    expiry_each(x, append_bucket, d);
}

static void count_owner(int64_t session_id, void *arg)
{
    struct dump *d = arg;

    (void)session_id;
    d->n++;
}

static void append_owner(int64_t session_id, void *arg)
{
    struct dump *d = arg;
    const struct tree *tree = d->server->tree;

    strbuf_printf(d->out, "0x%" PRIx64 ":\n", (uint64_t)session_id);
    for (znode_id id = tree_first_ephemeral(tree, session_id); id != 0;
         id = tree_next_ephemeral(tree, id)) {
        strbuf_append_str(d->out, "\t");
        tree_path(tree, id, d->out);
        strbuf_append_str(d->out, "\n");
    }
}

static void dump_ephemerals(struct dump *d)
{
    d->n = 0;
    tree_each_ephemeral_owner(d->server->tree, count_owner, d);
    strbuf_printf(d->out, "ephemeral nodes dump:\nSessions with Ephemerals (%zu):\n", d->n);
    tree_each_ephemeral_owner(d->server->tree, append_owner, d);
}

/* When a silent connection is given up: with its session, or because it never opened one. */
struct link_expiry {
    int64_t deadline_ms;
    const struct connection *connection;
};

static int64_t link_deadline(const struct server *s, const struct connection *c)
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

static int by_deadline(const void *a, const void *b)
{
    const struct link_expiry *x = a, *y = b;

    return (x->deadline_ms > y->deadline_ms) - (x->deadline_ms < y->deadline_ms);
}

static struct link_expiry *sorted_links(const struct server *s)
{
    struct link_expiry *links = must_alloc((s->n_connections + 1) * sizeof(*links));
    struct list *item;
    size_t n = 0;

    list_for_each (item, &s->connections) {
        const struct connection *c = container_of(item, struct connection, link);

        links[n++] = (struct link_expiry){link_deadline(s, c), c};
    }
    qsort(links, n, sizeof(*links), by_deadline);
    return links;
}

/* How many, from `at` on, share its deadline. */
static size_t set_size(const struct link_expiry *links, size_t at, size_t n)
{
    size_t end = at;

    while (end < n && links[end].deadline_ms == links[at].deadline_ms) {
        end++;
    }
    return end - at;
}

static void dump_connections(struct dump *d)
{
    size_t n = d->server->n_connections;
    struct link_expiry *links = sorted_links(d->server);
    size_t n_sets = 0;

    for (size_t i = 0; i < n; i += set_size(links, i, n)) {
        n_sets++;
    }
    strbuf_printf(d->out, "Connections dump:\nConnections Sets (%zu)/(%zu):\n", n_sets, n);
    for (size_t i = 0; i < n; i++) {
        const struct connection *c = links[i].connection;

        if (i == 0 || links[i].deadline_ms != links[i - 1].deadline_ms) {
            append_expiry(d->server, links[i].deadline_ms, set_size(links, i, n), d->out);
        }
        strbuf_append_str(d->out, "\tip: ");
        listing_peer(&c->peer, d->out);
        strbuf_printf(d->out, " sessionId: 0x%" PRIx64 "\n", (uint64_t)c->session_id);
    }
    free(links);
}

void listing_dump(struct server *s, struct strbuf *out)
{
    struct dump d = {.server = s, .out = out};

    dump_sessions(&d);
    dump_ephemerals(&d);
    dump_connections(&d);
}

/* ---- watches ---- */

static void append_path(struct bytes path, const struct connection *c, unsigned kinds, void *arg)
{
    struct strbuf *out = arg;

    (void)c;
    (void)kinds;
    strbuf_append_str(out, "\t");
    strbuf_append_bytes(out, path);
    strbuf_append_str(out, "\n");
}

void listing_wchc(struct server *s, struct strbuf *out)
{
    struct list *item;

    list_for_each (item, &s->connections) {
        const struct connection *c = container_of(item, struct connection, link);

        if (!list_empty(&c->watches)) {
            strbuf_printf(out, "0x%" PRIx64 "\n", (uint64_t)c->session_id);
            watch_each_of(c, append_path, out);
        }
    }
    strbuf_append_str(out, "\n");
}

struct by_path {
    struct strbuf *out;
    struct bytes path; /* of the row before */
};

static void append_watcher(struct bytes path, const struct connection *c, unsigned kinds, void *arg)
{
    struct by_path *rows = arg;

    (void)kinds;
    if (path.data != rows->path.data) { /* rows of a path follow each other and share its bytes */
        strbuf_append_bytes(rows->out, path);
        strbuf_append_str(rows->out, "\n");
        rows->path = path;
    }
    strbuf_printf(rows->out, "\t0x%" PRIx64 "\n", (uint64_t)c->session_id);
}

void listing_wchp(struct server *s, struct strbuf *out)
{
    struct by_path rows = {out, BYTES_NULL};

    watch_each(&s->watches, append_watcher, &rows);
    strbuf_append_str(out, "\n");
}

void listing_wchs(struct server *s, struct strbuf *out)
{
    struct list *item;
    size_t n = 0;

    list_for_each (item, &s->connections) {
        n += list_empty(&container_of(item, struct connection, link)->watches) ? 0 : 1;
    }
    strbuf_printf(out, "%zu connections watching %zu paths\nTotal watches:%zu\n", n,
                  s->watches.paths.count, watch_count(&s->watches));
}

/* ---- hash ---- */

void listing_hash(struct server *s, struct strbuf *out)
{
    for (size_t i = 0; i < s->digests.count; i++) {
        const struct digest_entry *e = digest_log_at(&s->digests, i);

        strbuf_printf(out, "%" PRIx64 ": %" PRId64 "\n", (uint64_t)e->zxid, (int64_t)e->digest);
    }
}
