/* SPDX-License-Identifier: Apache-2.0 */
#include "client/core.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/broken.h"
#include "base/logging.h"
#include "client/core_internal.h"
#include "pawl/error.h"

enum {
    CHUNK_FIRST = 8 * 1024,
    CHUNK_USUAL = 64 * 1024,
    PAUSE_FIRST_MS = 20,
    PAUSE_MOST_MS = 1000,
    PAUSE_MOST_UNIX_MS = 100, /* on this machine: the next host of local:DIR comes soon */
    PING_MOST_MS = 10000,
    PROBE_FIRST_MS = 100,
    PROBE_MOST_MS = 60000,
    CORE_SASL_BYTES = 1 << 20,
};

/* ---- life ---- */

static int core_init(struct core *c, const char *servers, int64_t now_ms)
{
    int rc;

    prng_seed(&c->random, c->options.seed);
    list_init(&c->auths);
    list_init(&c->queued);
    list_init(&c->sent);
    list_init(&c->items);
    strbuf_init(&c->pre, STRBUF_NO_LIMIT);
    strbuf_init(&c->out, STRBUF_NO_LIMIT);
    strbuf_init(&c->sasl_token, CORE_SASL_BYTES);
    c->timeout_ms = c->options.session_timeout_ms;
    c->next_xid = 1;
    c->connect_at_ms = now_ms;
    c->hosts.last = SIZE_MAX;
    c->last_news = malloc(sizeof(*c->last_news));
    rc = c->last_news == NULL ? PAWL_ERR_NO_MEMORY : watches_init(&c->watches);
    return rc != 0 ? rc : hosts_parse(servers, false, &c->random, &c->hosts, &c->chroot);
}

int core_new(const struct core_options *options, const char *servers, int64_t now_ms,
             struct core **out)
{
    struct core *c = calloc(1, sizeof(*c));
    int rc;

    if (c == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    c->options = *options;
    rc = core_init(c, servers, now_ms);
    if (rc != 0) {
        core_free(c);
        return rc;
    }
    *out = c;
    return 0;
}

void core_free(struct core *c)
{
    struct list *item;

    if (c == NULL) {
        return;
    }
    ASSERT(list_empty(&c->queued) && list_empty(&c->sent) && list_empty(&c->items));
    while ((item = list_pop_front(&c->auths)) != NULL) {
        free(container_of(item, struct auth_entry, link));
    }
    watches_fini(&c->watches);
    hosts_fini(&c->hosts);
    strbuf_fini(&c->pre);
    strbuf_fini(&c->out);
    strbuf_fini(&c->sasl_token);
    chunk_unref(c->in);
    free(c->chroot);
    free(c->last_news);
    free(c);
}

/* ---- states ---- */

/* What may follow what; the application sees no other order. */
static const uint8_t may_follow[] = {
    [PAWL_STATE_CONNECTING] = 1 << PAWL_STATE_CONNECTED | 1 << PAWL_STATE_READ_ONLY |
                              1 << PAWL_STATE_LOST | 1 << PAWL_STATE_CLOSED,
    [PAWL_STATE_CONNECTED] = 1 << PAWL_STATE_SUSPENDED | 1 << PAWL_STATE_CLOSED,
    [PAWL_STATE_SUSPENDED] = 1 << PAWL_STATE_CONNECTED | 1 << PAWL_STATE_RECONNECTED |
                             1 << PAWL_STATE_READ_ONLY | 1 << PAWL_STATE_LOST |
                             1 << PAWL_STATE_CLOSED,
    [PAWL_STATE_RECONNECTED] = 1 << PAWL_STATE_SUSPENDED | 1 << PAWL_STATE_CLOSED,
    [PAWL_STATE_READ_ONLY] = 1 << PAWL_STATE_SUSPENDED | 1 << PAWL_STATE_CLOSED,
    [PAWL_STATE_LOST] = 1 << PAWL_STATE_CONNECTED | 1 << PAWL_STATE_RECONNECTED |
                        1 << PAWL_STATE_READ_ONLY | 1 << PAWL_STATE_CLOSED,
    [PAWL_STATE_CLOSED] = 0,
};

static const uint8_t link_may_follow[] = {
    [LINK_NONE] = 1 << LINK_OPENING,
    [LINK_OPENING] = 1 << LINK_HELLO | 1 << LINK_NONE,
    [LINK_HELLO] = 1 << LINK_SASL | 1 << LINK_READY | 1 << LINK_NONE,
    [LINK_SASL] = 1 << LINK_READY | 1 << LINK_NONE,
    [LINK_READY] = 1 << LINK_NONE,
};

void core_move_link(struct core *c, enum link_state next)
{
    ASSERT((link_may_follow[c->link] & 1 << next) != 0);
    c->link = next;
}

/* Without memory for the news it is told with the next one. */
static void announce(struct core *c)
{
    struct state_item *s;

    if (c->announced == c->state) {
        return;
    }
    s = c->state == PAWL_STATE_CLOSED ? c->last_news : malloc(sizeof(*s));
    if (s == NULL) {
        return;
    }
    c->last_news = s == c->last_news ? NULL : c->last_news;
    *s = (struct state_item){.item = {.kind = ITEM_STATE}, .state = c->state};
    list_push_back(&c->items, &s->item.link);
    c->announced = c->state;
}

static void core_move(struct core *c, enum pawl_state next)
{
    ASSERT((may_follow[c->state] & 1 << next) != 0);
    c->state = next;
    announce(c);
}

bool core_is_connected(const struct core *c)
{
    return c->state == PAWL_STATE_CONNECTED || c->state == PAWL_STATE_RECONNECTED ||
           c->state == PAWL_STATE_READ_ONLY;
}

/* What holds between any two inputs. */
void core_check(const struct core *c)
{
    ASSERT((c->link == LINK_READY) == core_is_connected(c));
    ASSERT(c->closed == (c->state == PAWL_STATE_CLOSED));
    ASSERT(c->closed || c->link == LINK_READY || (!c->link_read_only && c->ping_sent_ms == 0));
    ASSERT(c->in_at <= c->in_len && c->pre_at <= c->pre.len);
    ASSERT(!c->want_sasl || c->link == LINK_SASL);
}

static int64_t lost_at(const struct core *c)
{
    return c->suspended_ms + (int64_t)c->timeout_ms * c->options.lost_percent / 100;
}

static void end_watches(struct core *c, enum pawl_state why)
{
    struct event_item *e;

    while (watches_end(&c->watches, why, &e) == 0 && e != NULL) {
        list_push_back(&c->items, &e->item.link);
    }
}

/* The session is over: what was asked in it ends, and so do its watches. */
static void lose_session(struct core *c, int64_t now_ms)
{
    log_info("session 0x%llx is lost", (unsigned long long)c->session_id);
    c->session_id = 0;
    c->granted = (struct connect_response){0};
    memset(c->password, 0, sizeof(c->password));
    c->session_is_real = false;
    c->last_zxid = c->told_zxid = 0;
    certain_session_gone(&c->certain);
    c->timeout_ms = c->options.session_timeout_ms;
    if (c->state != PAWL_STATE_LOST) {
        core_move(c, PAWL_STATE_LOST);
    }
    requests_fail_all(c, PAWL_ERR_SESSION_EXPIRED);
    end_watches(c, PAWL_STATE_LOST);
    c->connect_at_ms = c->options.one_session ? INT64_MAX : now_ms;
}

/* ---- the link ---- */

/* Even with one server three attempts fit into the session's timeout: a server of Apache that is
 * just starting takes connections and forgets them, and waiting for it would cost the session. */
static int connect_timeout(const struct core *c)
{
    int n = c->hosts.n < 3 ? 3 : c->hosts.n > 1000 ? 1000 : (int)c->hosts.n;
    int share = c->timeout_ms / n;

    if (c->options.connect_timeout_ms > 0) {
        return c->options.connect_timeout_ms;
    }
    return share < 1000 ? 1000 : share;
}

/* Doubles with every walk through the whole list, half of it left to chance; a link that did not
 * become a session changes nothing, so a server that accepts and closes is not stormed. */
static int64_t pause_before_next(struct core *c)
{
    unsigned rounds = c->n_failures / (unsigned)(c->hosts.n > 1000 ? 1000 : c->hosts.n);
    int64_t most = c->timeout_ms / 10 < PAUSE_MOST_MS ? c->timeout_ms / 10 : PAUSE_MOST_MS;
    int64_t pause = (int64_t)PAUSE_FIRST_MS << (rounds > 8 ? 8 : rounds);

    if (c->n_failures == 0) {
        return 0;
    }
    if (c->hosts.items[0].port == 0) {
        most = PAUSE_MOST_UNIX_MS;
    }
    pause = pause > most ? most : pause;
    return pause / 2 + (int64_t)prng_below(&c->random, (uint64_t)(pause / 2 + 1));
}

static void link_gone(struct core *c, int64_t now_ms)
{
    bool was_ready = c->link == LINK_READY;

    if (!was_ready) {
        c->n_failures++;
    }
    core_move_link(c, LINK_NONE);
    c->want_sasl = false;
    if (c->granted.read_only) { /* which nobody else knows */
        c->granted = (struct connect_response){0};
    }
    c->link_read_only = false;
    c->probe_at_ms = 0;
    c->ping_sent_ms = 0;
    c->heartbeat_from_ms = 0;
    certain_link_gone(&c->certain);
    requests_link_down(c);
    watches_none_stale(&c->watches); /* the server forgets them with the connection */
    c->connect_at_ms = now_ms + pause_before_next(c);
    if (core_is_connected(c)) {
        c->suspended_ms = now_ms;
        core_move(c, PAWL_STATE_SUSPENDED);
    }
}

/* The same trouble with every attempt is logged once. */
void core_trouble(struct core *c, const char *why)
{
    struct host_entry *host = &c->hosts.items[c->host];
    char brief[sizeof(host->trouble)];

    if (host->port == 0) {
        snprintf(c->trouble, sizeof(c->trouble), "%s: %s", host->name, why);
    } else {
        snprintf(c->trouble, sizeof(c->trouble), "%s:%d: %s", host->name, host->port, why);
    }
    snprintf(brief, sizeof(brief), "%s", why);
    if (strcmp(brief, host->trouble) != 0) {
        log_warn("%s", c->trouble);
        memcpy(host->trouble, brief, sizeof(brief));
    }
}

static void trouble_over(struct core *c)
{
    c->trouble[0] = '\0';
    for (size_t i = 0; i < c->hosts.n; i++) {
        c->hosts.items[i].trouble[0] = '\0';
    }
}

static void leave_link(struct core *c, int64_t now_ms, const char *why)
{
    log_info("leaving %s:%d: %s", c->hosts.items[c->host].name, c->hosts.items[c->host].port, why);
    c->want_drop = true;
    c->want_link = false;
    link_gone(c, now_ms);
}

void core_drop_link(struct core *c, int64_t now_ms, const char *why)
{
    core_trouble(c, why);
    leave_link(c, now_ms, why);
}

void core_link_down(struct core *c, int64_t now_ms)
{
    if (c->link != LINK_NONE && !c->closed) {
        link_gone(c, now_ms);
    }
    core_check(c);
}

static void open_link(struct core *c, int64_t now_ms)
{
    c->host = hosts_pick(&c->hosts, &c->random);
    core_move_link(c, LINK_OPENING);
    c->link_limit_ms = now_ms + connect_timeout(c);
    c->want_link = true;
    log_debug("connecting to %s:%d", c->hosts.items[c->host].name, c->hosts.items[c->host].port);
}

void core_link_up(struct core *c, int64_t now_ms)
{
    struct connect_request q = {
        .last_zxid_seen = c->last_zxid,
        .timeout_ms = c->options.session_timeout_ms,
        .session_id = c->session_is_real ? c->session_id : c->granted.session_id,
        .password =
            bytes_of(c->session_is_real ? c->password : c->granted.password, PASSWORD_BYTES),
        .has_read_only = true,
        .read_only = c->options.read_only,
    };

    core_move_link(c, LINK_HELLO);
    strbuf_clear(&c->pre);
    c->pre_at = 0;
    jute_write_int(&c->pre, 0);
    connect_request_write(&c->pre, &q);
    jute_patch_int(&c->pre, 0, (int32_t)(c->pre.len - 4));
    c->hello_sent_ms = now_ms;
    if (c->pre.failed) {
        core_drop_link(c, now_ms, "no memory");
    }
    core_check(c);
}

/* ---- the handshake's answer ---- */

static void resend_auths(struct core *c)
{
    struct list *item;

    c->n_pre_auths = 0;
    list_for_each (item, &c->auths) {
        const struct auth_entry *e = container_of(item, struct auth_entry, link);
        struct request q = {.scheme = bytes_of(e->bytes, e->scheme_len),
                            .data = bytes_of(e->bytes + e->scheme_len, e->len)};
        size_t start = c->pre.len;

        jute_write_int(&c->pre, 0);
        jute_write_int(&c->pre, XID_AUTH);
        jute_write_int(&c->pre, OP_AUTH);
        request_write(&c->pre, op_find(OP_AUTH), &q);
        jute_patch_int(&c->pre, start, (int32_t)(c->pre.len - start - 4));
        c->n_pre_auths++;
    }
    c->n_sent_auths = c->n_pre_auths;
}

static void settle_state(struct core *c)
{
    if (c->link_read_only) {
        core_move(c, PAWL_STATE_READ_ONLY);
    } else {
        core_move(c, c->ever_connected ? PAWL_STATE_RECONNECTED : PAWL_STATE_CONNECTED);
        c->ever_connected = true;
    }
}

/* A time when something was sent, by a clock that has counted what ours has not. */
static int64_t sent_at(const struct core *c, int64_t sent_ms)
{
    return sent_ms - (sent_ms <= c->jump_at_ms ? c->jump_ms : 0);
}

/* A read-only server answers, too, but does not know whether the session lives. It takes neither
 * writes nor syncs. */
static void hello_shows(struct core *c, int64_t now_ms, const struct connect_response *r)
{
    struct certain_answer hello = {.sent_ms = sent_at(c, c->hello_sent_ms),
                                   .heard_ms = now_ms,
                                   .written = c->out_base + c->out_at};

    if (r->read_only) {
        return;
    }
    c->answered_ms = hello.sent_ms;
    if (c->session_is_real && c->session_id == r->session_id) {
        certain_resumed(&c->certain, &hello, r->timeout_ms);
    } else {
        certain_begun(&c->certain, &hello, r->timeout_ms);
    }
}

/* What happened behind it may not have been told. A change of which an event says the zxid may have
 * had others behind it, those before it are told; so is all that an answer or a ping shows. */
static int64_t seen_zxid(const struct core *c)
{
    return c->told_zxid > c->last_zxid ? c->told_zxid : c->last_zxid;
}

void core_session_stands(struct core *c, int64_t now_ms, const struct connect_response *r)
{
    hello_shows(c, now_ms, r);
    c->session_id = r->session_id;
    memcpy(c->password, r->password, PASSWORD_BYTES);
    c->timeout_ms = r->timeout_ms;
    c->link_read_only = r->read_only;
    c->session_is_real = c->session_is_real || !r->read_only;
    c->granted = (struct connect_response){0};
    core_move_link(c, LINK_READY);
    trouble_over(c);
    c->n_failures = 0;
    c->heard_ms = now_ms;
    c->spoke_ms = now_ms;
    c->probe_at_ms = r->read_only ? now_ms + PROBE_FIRST_MS : 0;
    c->probe_pause_ms = PROBE_FIRST_MS;
    hosts_connected(&c->hosts, c->host);
    strbuf_clear(&c->pre);
    c->pre_at = 0;
    resend_auths(c);
    c->sets = watches_encode(&c->watches, seen_zxid(c), &c->pre);
    c->n_sets_told = 0;
    log_info("session 0x%llx on %s:%d, timeout %d ms%s", (unsigned long long)c->session_id,
             c->hosts.items[c->host].name, c->hosts.items[c->host].port, c->timeout_ms,
             r->read_only ? ", read-only" : "");
    if (c->pre.failed) {
        core_drop_link(c, now_ms, "no memory");
        return;
    }
    settle_state(c);
}

static void hello_answered(struct core *c, int64_t now_ms, struct bytes frame)
{
    struct connect_response r;

    if (!connect_response_read(frame, &r)) {
        core_drop_link(c, now_ms, "the answer to the handshake makes no sense");
        return;
    }
    if (r.timeout_ms > 0 && c->options.sasl) {
        core_sasl_begin(c, &r);
        return;
    }
    if (r.timeout_ms > 0) {
        core_session_stands(c, now_ms, &r);
        return;
    }
    if (!c->session_is_real && c->granted.session_id != 0) {
        c->granted = (struct connect_response){0};
        core_drop_link(c, now_ms, "the session has expired before we had authenticated");
        return;
    }
    if (!c->session_is_real) { /* we had none: this server has a problem, not we */
        core_drop_link(c, now_ms, "no new session was granted");
        return;
    }
    core_drop_link(c, now_ms, "the session has expired");
    lose_session(c, now_ms);
}

/* ---- input ---- */

/* On a server before 3.9 a watch of children beside a recursive one tells once, and none can be set
 * while there is no node. */
static bool renews_children(int32_t type)
{
    return type == PAWL_EVENT_CHILDREN_CHANGED || type == PAWL_EVENT_CREATED;
}

static void fire(struct core *c, int64_t now_ms, struct jute_reader *r, int64_t zxid)
{
    struct event ev = event_read(r);
    struct event_item *e = NULL;
    int rc = PAWL_ERR_MARSHALLING;

    if (!r->failed && !bytes_is_null(ev.path)) {
        rc = watches_fire(&c->watches, (enum pawl_event_type)ev.type, ev.path, zxid, &e);
    }
    if (rc == 0 && zxid < 0 && renews_children(ev.type)) {
        rc = requests_wait_beside(c, ev.path);
    }
    if (e != NULL) {
        list_push_back(&c->items, &e->item.link);
    }
    if (rc == PAWL_ERR_MARSHALLING) {
        core_drop_link(c, now_ms, "an event makes no sense");
    } else if (rc != 0) {
        core_drop_link(c, now_ms, "no memory");
    } else if (e != NULL) {
        requests_sweep(c);
    }
}

/* Not while some watches are not set again: theirs would be forgotten with the next link. */
static void told_up_to(struct core *c, int64_t zxid)
{
    if (c->sets.n == 0 && zxid > c->told_zxid) {
        c->told_zxid = zxid;
    }
}

/* The answer to one of the requests that set our watches again. */
static void watches_set(struct core *c, int64_t now_ms, int32_t err, struct jute_reader *r)
{
    bool told = err == 0 && jute_left(r) > 0 && jute_read_int(r) == MISSED_EVENTS_TOLD;

    if (c->sets.n == 0) {
        core_drop_link(c, now_ms, "an answer that fits no request");
        return;
    }
    c->n_sets_told += told && !r->failed ? 1 : 0;
    if (--c->sets.n == 0 && c->sets.n_asked > 0 &&
        watches_answered(&c->watches, c->n_sets_told == c->sets.n_asked, &c->items) != 0) {
        core_drop_link(c, now_ms, "no memory");
    }
}

static void take_frame(struct core *c, int64_t now_ms, struct bytes frame, bool cut_off)
{
    struct jute_reader r = jute_reader_of(frame);
    struct reply_header h;
    int rc = 0;

    if (c->link == LINK_HELLO) {
        hello_answered(c, now_ms, frame);
        return;
    }
    if (c->link == LINK_SASL) {
        core_sasl_answered(c, now_ms, frame);
        return;
    }
    h = reply_header_read(&r);
    if (r.failed) {
        core_drop_link(c, now_ms, "an answer is too short");
        return;
    }
    c->newest_zxid = h.zxid > c->newest_zxid ? h.zxid : c->newest_zxid;
    if (h.xid == XID_PING) {
        core_answered(c, now_ms, CERTAIN_HEARD, c->ping_sent_ms, 0);
        c->ping_sent_ms = 0;
        told_up_to(c, h.zxid);
    } else if (h.xid == XID_EVENT) {
        told_up_to(c, h.zxid - 1);
        fire(c, now_ms, &r, h.zxid);
    } else if (h.xid == XID_SET_WATCHES) {
        watches_set(c, now_ms, h.err, &r);
    } else {
        if (cut_off && h.err == 0) {
            h.err = PAWL_ERR_TOO_LARGE;
        }
        rc = requests_answer(c, now_ms, &h,
                             h.err == 0 ? bytes_of(r.at, jute_left(&r)) : bytes_of(r.at, 0));
    }
    if (rc != 0) {
        core_drop_link(c, now_ms, "an answer that fits no request");
    } else if (h.xid == XID_AUTH && h.err != 0) {
        /* The server is about to close it: what is sent from here on would be lost. */
        core_drop_link(c, now_ms, "the server refused our credentials");
    }
}

/* Bytes that the chunk must hold so that the frame at in_at fits; 0 when that is not known yet. */
static size_t frame_need(const struct core *c)
{
    size_t have = c->in_len - c->in_at;
    uint32_t len;

    if (have < 4) {
        return 0;
    }
    len = load_u32(c->in->data + c->in_at);
    return len > c->options.max_reply_bytes ? 4 + REPLY_HEADER_BYTES : 4 + (size_t)len;
}

size_t core_room(struct core *c, uint8_t **at)
{
    size_t have = c->in_len - c->in_at, need, capacity;
    struct chunk *fresh;

    if (c->in != NULL && have == 0 &&
        atomic_load_explicit(&c->in->refs, memory_order_acquire) == 1) {
        c->in_len = c->in_at = 0;
    }
    need = c->in == NULL ? 0 : frame_need(c);
    if (c->in == NULL || c->in->capacity - c->in_len < 512 ||
        (need > have && c->in->capacity - c->in_at < need)) {
        capacity = c->in == NULL ? CHUNK_FIRST : CHUNK_USUAL;
        capacity = need > capacity ? need : capacity;
        fresh = chunk_new(capacity);
        if (fresh == NULL) {
            return 0;
        }
        if (have > 0) {
            memcpy(fresh->data, c->in->data + c->in_at, have);
        }
        chunk_unref(c->in);
        c->in = fresh;
        c->in_len = have;
        c->in_at = 0;
    }
    *at = c->in->data + c->in_len;
    return c->in->capacity - c->in_len;
}

/* One whole frame, or the beginning of one that is too large to be kept; false: not there yet. */
static bool next_frame(struct core *c, int64_t now_ms)
{
    size_t have = c->in_len - c->in_at, len;
    const uint8_t *at = c->in->data + c->in_at;
    bool too_large;

    if (c->skip > 0) {
        size_t n = have < c->skip ? have : c->skip;

        c->skip -= n;
        c->in_at += n;
        return have > n;
    }
    if (have < 4) {
        return false;
    }
    len = load_u32(at);
    if (len > INT32_MAX) {
        core_drop_link(c, now_ms, "a frame of negative length");
        return false;
    }
    too_large = len > c->options.max_reply_bytes;
    if (have - 4 < (too_large ? (size_t)REPLY_HEADER_BYTES : len)) {
        return false;
    }
    c->in_at += 4 + (too_large ? (size_t)REPLY_HEADER_BYTES : len);
    c->skip = too_large ? len - REPLY_HEADER_BYTES : 0;
    take_frame(c, now_ms, bytes_of(at + 4, too_large ? (size_t)REPLY_HEADER_BYTES : len),
               too_large);
    return c->link >= LINK_HELLO;
}

void core_received(struct core *c, int64_t now_ms, size_t n)
{
    if (c->link < LINK_HELLO) {
        return;
    }
    c->heard_ms = now_ms;
    c->in_len += n;
    ASSERT(c->in_len <= c->in->capacity);
    while (c->in != NULL && next_frame(c, now_ms)) {
    }
    if (c->in != NULL && c->in_at == c->in_len && c->n_calls == 0 &&
        c->in->capacity > CHUNK_FIRST) {
        chunk_unref(c->in); /* nothing is due: an idle handle should not cost much */
        c->in = NULL;
        c->in_len = c->in_at = 0;
    }
    core_check(c);
}

/* ---- time ---- */

static int64_t ping_at(const struct core *c)
{
    int64_t pause = c->timeout_ms / 3;

    if (c->ping_sent_ms != 0) {
        return INT64_MAX;
    }
    return c->spoke_ms + (pause > PING_MOST_MS ? PING_MOST_MS : pause);
}

static bool is_kept_certain(const struct core *c)
{
    return (c->n_keepers > 0 || c->keep_until_ms != 0) && !c->link_read_only;
}

static int64_t heartbeat_at(const struct core *c)
{
    int64_t due = certain_due_ms(&c->certain);

    if (c->heartbeat != NULL || !is_kept_certain(c) || BROKEN(CERTAIN_BY_LEADER)) {
        return INT64_MAX;
    }
    return due > c->heartbeat_from_ms ? due : c->heartbeat_from_ms;
}

/* What is wanted beside the heartbeats. */
static int64_t signs_at(const struct core *c)
{
    return is_kept_certain(c) && certain_wanted(&c->certain) > 0 ? 0 : INT64_MAX;
}

static int64_t silence_limit(const struct core *c)
{
    return c->heard_ms + (int64_t)c->timeout_ms * 2 / 3;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t core_next_ms(const struct core *c)
{
    int64_t t = INT64_MAX;

    if (c->closed) {
        return t;
    }
    if (c->jumped) {
        return 0;
    }
    if (c->next_deadline_ms != 0) {
        t = c->next_deadline_ms;
    }
    switch (c->link) {
    case LINK_NONE:
        t = earlier(t, c->connect_at_ms);
        break;
    case LINK_OPENING:
    case LINK_HELLO:
    case LINK_SASL:
        t = earlier(t, c->link_limit_ms);
        break;
    case LINK_READY:
        t = earlier(t, earlier(ping_at(c), silence_limit(c)));
        t = earlier(t, earlier(heartbeat_at(c), signs_at(c)));
        if (c->probe_at_ms != 0) {
            t = earlier(t, c->probe_at_ms);
        }
        break;
    }
    if (c->state == PAWL_STATE_SUSPENDED) {
        t = earlier(t, lost_at(c));
    }
    return t;
}

static void ping(struct core *c, int64_t now_ms)
{
    size_t start = c->out.len;

    jute_write_int(&c->out, 8);
    jute_write_int(&c->out, XID_PING);
    jute_write_int(&c->out, OP_PING);
    if (c->out.failed) { /* no memory for twelve bytes: next time */
        c->out.failed = false;
        c->out.len = start;
        return;
    }
    c->ping_sent_ms = now_ms;
    c->spoke_ms = now_ms;
}

static void probe(struct core *c, int64_t now_ms)
{
    c->probe_next = (c->probe_next + 1) % c->hosts.n;
    c->probe_host = c->probe_next;
    c->want_probe = true;
    c->probe_pause_ms = earlier(c->probe_pause_ms * 2, PROBE_MOST_MS);
    c->probe_at_ms = now_ms + c->probe_pause_ms;
}

void core_probed(struct core *c, int64_t now_ms, bool writes)
{
    if (c->link != LINK_READY || !c->link_read_only || !writes || c->probe_host >= c->hosts.n) {
        return;
    }
    c->hosts.next = c->probe_host;
    leave_link(c, now_ms, "another server writes");
    c->connect_at_ms = now_ms;
}

static void tick_ready(struct core *c, int64_t now_ms)
{
    if (now_ms >= silence_limit(c)) {
        core_drop_link(c, now_ms, "nothing heard for two thirds of the session's timeout");
        return;
    }
    if (now_ms >= c->keep_until_ms) {
        c->keep_until_ms = 0;
    }
    if (now_ms >= signs_at(c)) {
        requests_signs(c, certain_wanted(&c->certain));
        certain_wanted_sent(&c->certain);
    }
    if (now_ms >= heartbeat_at(c)) {
        requests_heartbeat(c);
        c->spoke_ms = c->heartbeat != NULL ? now_ms : c->spoke_ms; /* in place of a ping */
    }
    if (now_ms >= ping_at(c)) {
        ping(c, now_ms);
    }
    if (c->probe_at_ms != 0 && now_ms >= c->probe_at_ms) {
        probe(c, now_ms);
    }
}

/* Whether the session lives is asked anew, on a new link: the server may have closed the old one.
 */
static void tick_jumped(struct core *c, int64_t now_ms)
{
    bool uncertain = is_kept_certain(c) && core_certain_ms(c, now_ms) == 0;

    c->jumped = false;
    if (c->link == LINK_READY && (uncertain || now_ms >= c->answered_ms + c->timeout_ms)) {
        core_drop_link(c, now_ms, "the session may have ended while the machine stood still");
        c->connect_at_ms = now_ms;
    }
}

void core_tick(struct core *c, int64_t now_ms)
{
    if (c->closed) {
        return;
    }
    if (c->jumped) {
        tick_jumped(c, now_ms);
    }
    if (c->link == LINK_READY) {
        tick_ready(c, now_ms);
    } else if (c->link != LINK_NONE && now_ms >= c->link_limit_ms) {
        core_drop_link(c, now_ms, "no session in time");
    }
    if (c->state == PAWL_STATE_SUSPENDED && now_ms >= lost_at(c)) {
        if (c->link != LINK_NONE) {
            core_drop_link(c, now_ms, "the session has been without a link for too long");
        }
        lose_session(c, now_ms);
    }
    requests_expire(c, now_ms);
    if (c->link == LINK_NONE && now_ms >= c->connect_at_ms) {
        open_link(c, now_ms);
    }
    announce(c);
    core_check(c);
}

void core_hurry(struct core *c, int64_t now_ms)
{
    if (c->link == LINK_NONE && c->connect_at_ms > now_ms && c->connect_at_ms != INT64_MAX) {
        c->connect_at_ms = now_ms;
    }
}

/* ---- the session ---- */

void core_keep_certain(struct core *c, bool keep)
{
    ASSERT(keep || c->n_keepers > 0);
    c->n_keepers += keep ? 1 : -1u;
}

void core_answered(struct core *c, int64_t now_ms, enum certain_proof proof, int64_t sent_ms,
                   uint64_t position)
{
    struct certain_answer a = {.proof = proof,
                               .sent_ms = sent_at(c, sent_ms),
                               .heard_ms = now_ms,
                               .position = position,
                               .written = c->out_base + c->out_at};
    bool was_certain = core_certain_ms(c, now_ms) > 0;

    c->answered_ms = a.sent_ms > c->answered_ms ? a.sent_ms : c->answered_ms;
    certain_answered(&c->certain, &a);
    c->certain_again |= !was_certain && core_certain_ms(c, now_ms) > 0;
}

void core_jumped(struct core *c, int64_t now_ms, int64_t jump_ms)
{
    ASSERT(jump_ms > 0);
    log_warn("the wall clock is %lld ms ahead of ours: that time counts as passed",
             (long long)jump_ms);
    c->jump_at_ms = now_ms;
    c->jump_ms = jump_ms;
    c->jumped = true;
    c->answered_ms -= jump_ms;
    certain_jumped(&c->certain, jump_ms);
}

int64_t core_certain_ms(const struct core *c, int64_t now_ms)
{
    return c->session_id == 0 ? 0 : certain_left_ms(&c->certain, now_ms);
}

int core_set_servers(struct core *c, const char *servers, int64_t now_ms)
{
    struct hosts fresh;
    char *chroot;
    /* Who has begun with TLS goes on with it. */
    int rc = hosts_parse(servers, c->hosts.is_secure, &c->random, &fresh, &chroot);
    bool leave;

    if (rc != 0) {
        return rc;
    }
    if (*chroot != '\0' || (fresh.is_secure && !c->hosts.is_secure)) {
        free(chroot);
        hosts_fini(&fresh);
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    free(chroot);
    if (c->link != LINK_NONE && c->link != LINK_READY) {
        c->hosts.last = c->host;
    }
    leave = hosts_change(&c->hosts, &fresh, &c->random);
    c->host = c->hosts.last == SIZE_MAX ? 0 : c->hosts.last;
    c->probe_next = 0;
    c->probe_host = SIZE_MAX;
    c->want_probe = false;
    if (c->link != LINK_NONE && (leave || c->link != LINK_READY)) {
        leave_link(c, now_ms, "the list of servers has changed");
        c->connect_at_ms = now_ms;
    }
    core_check(c);
    return 0;
}

void core_shut(struct core *c, int err)
{
    if (c->closed) {
        return;
    }
    c->closed = true;
    c->want_drop = c->link != LINK_NONE;
    c->want_link = c->want_sasl = false;
    if (c->link != LINK_NONE) {
        core_move_link(c, LINK_NONE);
    }
    requests_fail_all(c, err);
    end_watches(c, PAWL_STATE_CLOSED);
    core_move(c, PAWL_STATE_CLOSED);
    core_check(c);
}

struct item *core_next_item(struct core *c)
{
    struct list *link = list_pop_front(&c->items);

    return link == NULL ? NULL : container_of(link, struct item, link);
}
