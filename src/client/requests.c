/* SPDX-License-Identifier: Apache-2.0 */
/* requests.c - calls: encoded, queued, sent, answered, in order.
 *
 * The frames of queued calls lie in `out`, back to back with pings. A call counts as sent when the
 * last byte of its frame has been handed to the link: half a frame is never executed. What was sent
 * when a link goes down has an unknown outcome; what was not stays queued for the next link, and is
 * cut out of `out` when its time is up, so that "not sent" stays true. */
#include "client/requests.h"

#include <stdlib.h>

#include "base/assert.h"
#include "client/core.h"
#include "pawl/client.h"
#include "pawl/error.h"

enum { HEARTBEAT_AGAIN = 12 }; /* of the timeout, when one was refused */

static int32_t take_xid(struct core *c)
{
    int32_t xid = c->next_xid;

    c->next_xid = xid == INT32_MAX ? 1 : xid + 1;
    return xid;
}

static int encode(struct core *c, int32_t xid, int32_t op, const struct request *q, uint32_t *len)
{
    size_t start = c->out.len;

    jute_write_int(&c->out, 0);
    jute_write_int(&c->out, xid);
    jute_write_int(&c->out, op);
    request_write(&c->out, op_find(op), q);
    jute_patch_int(&c->out, start, (int32_t)(c->out.len - start - 4));
    if (c->out.failed) {
        c->out.failed = false;
        c->out.len = start;
        return PAWL_ERR_NO_MEMORY;
    }
    if (c->out.len - start - 4 > c->options.max_request_bytes) {
        c->out.len = start;
        return PAWL_ERR_TOO_LARGE;
    }
    *len = (uint32_t)(c->out.len - start);
    return 0;
}

/* ---- credentials ---- */

static int keep_auth(struct core *c, struct bytes scheme, struct bytes auth,
                     struct auth_entry **out)
{
    struct auth_entry *e = malloc(sizeof(*e) + scheme.len + auth.len);

    if (e == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    e->scheme_len = scheme.len;
    e->len = auth.len;
    if (scheme.len > 0) {
        memcpy(e->bytes, scheme.data, scheme.len);
    }
    if (auth.len > 0) {
        memcpy(e->bytes + scheme.len, auth.data, auth.len);
    }
    list_push_back(&c->auths, &e->link);
    *out = e;
    return 0;
}

int requests_add_auth(struct core *c, struct bytes scheme, struct bytes auth)
{
    struct auth_entry *e;

    return keep_auth(c, scheme, auth, &e);
}

static void unlink_auth(struct list *calls, const struct auth_entry *e)
{
    struct list *item;

    list_for_each (item, calls) {
        struct call *call = container_of(item, struct call, item.link);

        call->auth = call->auth == e ? NULL : call->auth;
    }
}

/* They are not sent again. */
static void forget_auth(struct core *c, struct auth_entry *e)
{
    unlink_auth(&c->queued, e);
    unlink_auth(&c->sent, e);
    list_remove(&e->link);
    free(e);
}

static struct auth_entry *nth_auth(struct core *c, size_t n)
{
    struct list *item;

    list_for_each (item, &c->auths) {
        if (n-- == 0) {
            return container_of(item, struct auth_entry, link);
        }
    }
    return NULL;
}

/* ---- removing watches ---- */

typedef bool (*call_is_fn)(const struct call *call, const void *arg);

static struct call *find_call(const struct list *items, call_is_fn is, const void *arg)
{
    for (struct list *link = items->next; link != items; link = link->next) {
        struct item *item = container_of(link, struct item, link);

        if (item->kind == ITEM_CALL && is((struct call *)item, arg)) {
            return (struct call *)item;
        }
    }
    return NULL;
}

static bool any_call(const struct core *c, call_is_fn is, const void *arg)
{
    return find_call(&c->queued, is, arg) != NULL || find_call(&c->sent, is, arg) != NULL;
}

/* A watcher at a path, or one to be; and from where in the stream on it is. */
struct needer {
    const struct core *core;
    const char *path;
    unsigned table;
    const struct event_target *target;
    uint64_t since;
};

static bool removes(const struct call *call, const void *needer)
{
    const struct needer *n = needer;

    return (call->unwatch_mask & 1u << n->table) != 0 && call->end > n->since &&
           strcmp(call->path, n->path) == 0 &&
           (call->unwatch_all || event_target_same(&call->target, n->target));
}

static bool leaves(enum watcher_kind table, const struct event_target *target, void *needer)
{
    struct needer n = *(const struct needer *)needer;

    n.table = (unsigned)table;
    n.target = target;
    return any_call(n.core, removes, &n);
}

struct unwatch {
    const struct core *core;
    const struct call *call;
    unsigned others; /* tables whose watchers go along with it, and are not its own */
};

/* A request on its way whose answer makes one more who needs the watch. */
static bool comes(const struct call *call, const void *unwatch)
{
    const struct unwatch *u = unwatch;
    struct needer n = {u->core, call->path, call->watch_table, &call->target, call->end};
    unsigned table = call->watch_table < N_WATCHER_KINDS ? 1u << call->watch_table : 0;
    bool own = (u->call->unwatch_mask & table) != 0 &&
               (u->call->unwatch_all || event_target_same(&call->target, &u->call->target));

    return ((u->call->unwatch_mask | u->others) & table) != 0 && !own &&
           strcmp(call->path, u->call->path) == 0 && !any_call(u->core, removes, &n);
}

static size_t needers(const struct core *c, unsigned mask, const char *path,
                      const struct event_target *but)
{
    static const struct event_target nobody;
    struct needer any = {.core = c, .path = path};

    return watches_others(&c->watches, mask, bytes_str(path), but == NULL ? &nobody : but, leaves,
                          &any);
}

/* A watch goes from the server only with the last of ours that needs it; otherwise the server is
 * just asked whether it is there. Those count who will need it by then: also one whose request is
 * still on its way, but not one who is about to go; and those whose watch an older server would
 * remove with it. Where some were left there already, all go together, with the last. */
static bool is_shared(const struct core *c, const struct call *call)
{
    unsigned mask = call->unwatch_mask;
    struct unwatch u = {c, call, watches_same_place(mask) & ~mask};

    return mask != 0 && (watches_are_left(&c->watches, bytes_str(call->path)) ||
                         any_call(c, comes, &u) || needers(c, u.others, call->path, NULL) > 0 ||
                         (!call->unwatch_all && needers(c, mask, call->path, &call->target) > 0));
}

/* ---- watches that nobody needs ---- */

static bool watches_path(const struct call *call, const void *path)
{
    return call->watch_table < N_WATCHER_KINDS && strcmp(call->path, path) == 0;
}

/* Behind a request that is going to watch the path it would take that one along: later, then. */
static bool sweep_one(struct core *c, struct bytes path)
{
    struct request q = {.path = path, .watch_type = PAWL_WATCHES_ANY};
    struct call *call = call_new(OP_REMOVE_WATCHES);
    bool done = false;

    if (call == NULL) {
        return false;
    }
    call->abandoned = true;
    call->path = malloc(path.len + 1);
    if (call->path != NULL) {
        memcpy(call->path, path.data, path.len);
        call->path[path.len] = '\0';
        done = !any_call(c, watches_path, call->path) && requests_submit(c, call, &q) == 0;
    }
    if (done) {
        watches_not_stale(&c->watches, path);
    } else {
        call_free(call);
    }
    return done;
}

void requests_sweep(struct core *c)
{
    struct bytes path = watches_stale(&c->watches);

    while (!bytes_is_null(path) && c->link == LINK_READY && sweep_one(c, path)) {
        path = watches_stale(&c->watches);
    }
}

/* ---- the heartbeat ---- */

/* A write without effect, that needs no right of ours: the root is there, whatever its version. */
static void write_nothing(struct strbuf *b)
{
    const struct multi_header check = {.type = OP_CHECK, .err = -1};
    const struct multi_header end = {.type = MULTI_RESULT_ERROR, .done = true, .err = -1};

    multi_header_write(b, &check);
    request_write(b, op_find(OP_CHECK), &(struct request){.path = bytes_str("/"), .version = -1});
    multi_header_write(b, &end);
}

void requests_heartbeat(struct core *c)
{
    bool writes = c->certain.leader == LEADER_PINGS;
    struct call *call = call_new(writes ? OP_MULTI : OP_SYNC);
    struct request q = {.path = bytes_str(SIGN_OF_LIFE)};
    struct strbuf nothing;

    ASSERT(c->heartbeat == NULL);
    strbuf_init(&nothing, STRBUF_NO_LIMIT);
    write_nothing(&nothing);
    q.multi = strbuf_bytes(&nothing);
    if (call != NULL && !nothing.failed) {
        call->abandoned = true;
        c->heartbeat = requests_submit(c, call, &q) == 0 ? call : NULL;
    }
    if (c->heartbeat == NULL) {
        call_free(call);
    }
    strbuf_fini(&nothing);
}

static bool look_at_root(struct core *c)
{
    struct call *call = call_new(OP_EXISTS);
    bool done;

    if (call == NULL) {
        return false;
    }
    call->abandoned = true;
    done = requests_submit(c, call, &(struct request){.path = bytes_str("/")}) == 0;
    if (!done) {
        call_free(call);
    }
    return done;
}

void requests_signs(struct core *c, int n)
{
    while (n-- > 0 && look_at_root(c)) {
    }
}

/* ---- watches that need not be set ---- */

/* Beside one that stays a one-shot watch needs none of its own on the server. On a server
 * before 3.9 it would even take the place of the one that stays, and go with its first event. The
 * session that both belong to ends both, and the request. */
static bool is_spared(const struct core *c, const struct call *call)
{
    unsigned stays = 1u << WATCHER_PERSISTENT;

    if (call->watch_table == WATCHER_DATA || call->watch_table == WATCHER_EXIST) {
        stays |= 1u << WATCHER_RECURSIVE;
    } else if (call->watch_table != WATCHER_CHILD) {
        return false;
    }
    return needers(c, stays, call->path, NULL) > 0;
}

/* ---- calls ---- */

/* What the server is asked may be less than what the call is for. */
static const struct request *spare(struct core *c, struct call *call, const struct request *asked,
                                   struct request *less)
{
    bool shared = call->op == OP_REMOVE_WATCHES && is_shared(c, call);

    call->spared = asked->watch && is_spared(c, call);
    if (!shared && !call->spared) {
        return asked;
    }
    *less = *asked;
    less->watch = false;
    if (shared) {
        call->op = OP_CHECK_WATCHES;
        less->watch_type = PAWL_WATCHES_ANY; /* whichever it is that is shared */
    }
    return less;
}

int requests_submit(struct core *c, struct call *call, const struct request *q)
{
    struct request less;
    int rc;

    ASSERT(call->place == CALL_NOWHERE || call->place == CALL_DONE);
    if (c->closed) {
        return PAWL_ERR_CLOSING;
    }
    if (c->options.one_session && c->state == PAWL_STATE_LOST) {
        return PAWL_ERR_SESSION_EXPIRED;
    }
    q = spare(c, call, q, &less);
    call->xid = call->op == OP_AUTH ? XID_AUTH : take_xid(c);
    rc = encode(c, call->xid, call->op, q, &call->len);
    if (rc == 0 && call->op == OP_AUTH && call->auth == NULL) {
        rc = keep_auth(c, q->scheme, q->data, &call->auth);
        c->out.len -= rc == 0 ? 0 : call->len;
    }
    if (rc != 0) {
        return rc;
    }
    call->end = c->out_base + c->out.len;
    call->place = CALL_QUEUED;
    list_push_back(&c->queued, &call->item.link);
    c->n_calls++;
    if (call->deadline_ms != 0 &&
        (c->next_deadline_ms == 0 || call->deadline_ms < c->next_deadline_ms)) {
        c->next_deadline_ms = call->deadline_ms;
    }
    return 0;
}

static void unregister_watch(struct core *c, struct call *call)
{
    bool stays = call->op == OP_CHECK_WATCHES && call->err == 0;
    struct event_item *e;
    int rc;

    if (call->unwatch_mask == 0 || (call->err != 0 && !call->unwatch_local)) {
        return;
    }
    rc = watches_remove(&c->watches, call->unwatch_mask, bytes_str(call->path),
                        call->unwatch_all ? NULL : &call->target, stays, &e);
    if (e != NULL) {
        list_push_back(&c->items, &e->item.link);
    }
    call->unwatch_mask = 0;
    call->err = rc;
}

/* Takes a call out of the queues and lines it up for the application. */
static void finish_call(struct core *c, struct call *call, int err, enum pawl_outcome outcome)
{
    list_remove(&call->item.link);
    c->n_calls--;
    c->heartbeat = c->heartbeat == call ? NULL : c->heartbeat;
    call->place = CALL_DONE;
    call->err = err;
    call->outcome = outcome;
    if (call->auth != NULL && outcome == PAWL_OUTCOME_NOT_SENT) {
        forget_auth(c, call->auth);
        call->auth = NULL;
    }
    if (err != 0 && call->unwatch_local) { /* no answer came: forgetting needs none */
        unregister_watch(c, call);
        call->outcome = call->err == 0 ? PAWL_OUTCOME_DONE : outcome;
    }
    if (call->abandoned) {
        call_free(call);
        return;
    }
    list_push_back(&c->items, &call->item.link);
}

/* ---- output ---- */

static void forget_written(struct core *c)
{
    if (c->out_at == c->out.len) {
        c->out_base += c->out.len;
        c->out_at = 0;
        strbuf_clear(&c->out);
        if (c->n_calls == 0) {
            strbuf_trim(&c->out, 4096);
        }
    } else if (c->out_at > 65536 && c->out_at > c->out.len / 2) {
        memmove(c->out.data, c->out.data + c->out_at, c->out.len - c->out_at);
        c->out_base += c->out_at;
        c->out.len -= c->out_at;
        c->out_at = 0;
    }
}

struct bytes requests_output(const struct core *c)
{
    if (c->link == LINK_NONE || c->link == LINK_OPENING || c->want_drop) {
        return BYTES_NULL;
    }
    if (c->pre_at < c->pre.len) {
        return bytes_of(c->pre.data + c->pre_at, c->pre.len - c->pre_at);
    }
    if (c->link != LINK_READY || c->out_at == c->out.len) {
        return BYTES_NULL;
    }
    return bytes_of(c->out.data + c->out_at, c->out.len - c->out_at);
}

void requests_wrote(struct core *c, int64_t now_ms, size_t n)
{
    uint64_t written;

    c->spoke_ms = now_ms;
    if (c->pre_at < c->pre.len) {
        c->pre_at += n;
        ASSERT(c->pre_at <= c->pre.len);
        if (c->pre_at == c->pre.len) {
            c->pre_at = 0;
            strbuf_clear(&c->pre);
            strbuf_trim(&c->pre, 256);
        }
        return;
    }
    c->out_at += n;
    ASSERT(c->out_at <= c->out.len);
    written = c->out_base + c->out_at;
    while (!list_empty(&c->queued)) {
        struct call *call = container_of(c->queued.next, struct call, item.link);

        if (call->end > written) {
            break;
        }
        list_remove(&call->item.link);
        call->place = CALL_SENT;
        call->sent_ms = now_ms;
        list_push_back(&c->sent, &call->item.link);
    }
    forget_written(c);
}

/* Makes `out` anew from the frames of the calls that are still queued, and those only. */
static int rebuild_out(struct core *c)
{
    struct strbuf fresh;
    struct list *item;

    strbuf_init(&fresh, STRBUF_NO_LIMIT);
    list_for_each (item, &c->queued) {
        struct call *call = container_of(item, struct call, item.link);

        strbuf_append(&fresh, c->out.data + (call->end - call->len - c->out_base), call->len);
    }
    if (fresh.failed) {
        strbuf_fini(&fresh);
        return PAWL_ERR_NO_MEMORY;
    }
    c->out_base += c->out.len;
    size_t at = 0;

    list_for_each (item, &c->queued) {
        struct call *call = container_of(item, struct call, item.link);

        at += call->len;
        call->end = c->out_base + at;
    }
    strbuf_fini(&c->out);
    c->out = fresh;
    c->out_at = 0;
    return 0;
}

/* True when part of its frame is out already: the rest has to follow. */
static bool is_half_written(const struct core *c, const struct call *call)
{
    return call->place == CALL_QUEUED && call->end - call->len < c->out_base + c->out_at;
}

bool requests_is_underway(const struct core *c, const struct call *call)
{
    return call->place == CALL_SENT || is_half_written(c, call);
}

/* Cuts the frame of a queued call out of `out`. */
static void cut(struct core *c, const struct call *call)
{
    size_t at = (size_t)(call->end - call->len - c->out_base);
    struct list *item;

    memmove(c->out.data + at, c->out.data + at + call->len, c->out.len - at - call->len);
    c->out.len -= call->len;
    for (item = call->item.link.next; item != &c->queued; item = item->next) {
        container_of(item, struct call, item.link)->end -= call->len;
    }
}

enum pawl_outcome requests_abandon(struct core *c, struct call *call)
{
    call->abandoned = true;
    if (requests_is_underway(c, call)) {
        if (call->unwatch_local) {
            call->err = PAWL_ERR_OPERATION_TIMEOUT;
            unregister_watch(c, call);
        }
        return PAWL_OUTCOME_UNKNOWN;
    }
    requests_withdraw(c, call);
    return PAWL_OUTCOME_NOT_SENT;
}

struct answerer {
    pawl_reply_fn done;
    const void *arg;
};

static bool is_answered_to(const struct call *call, const void *answerer)
{
    const struct answerer *a = answerer;

    return call->done == a->done && call->arg == a->arg;
}

struct call *requests_find(const struct core *c, pawl_reply_fn done, const void *arg)
{
    const struct list *const places[] = {&c->queued, &c->sent, &c->items};
    struct answerer a = {done, arg};
    struct call *call = NULL;

    for (int i = 0; i < 3 && call == NULL; i++) {
        call = find_call(places[i], is_answered_to, &a);
    }
    return call;
}

void requests_withdraw(struct core *c, struct call *call)
{
    ASSERT(call->place == CALL_QUEUED && !is_half_written(c, call));
    cut(c, call);
    finish_call(c, call, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_NOT_SENT);
    forget_written(c);
}

/* ---- ends ---- */

static void fail_list(struct core *c, struct list *calls, int err, enum pawl_outcome outcome)
{
    while (!list_empty(calls)) {
        finish_call(c, container_of(calls->next, struct call, item.link), err, outcome);
    }
}

/* Half of its frame went out, and nobody waits: the whole must not follow on another link. */
static void drop_abandoned(struct core *c)
{
    struct list *item, *next;

    for (item = c->queued.next; item != &c->queued; item = next) {
        struct call *call = container_of(item, struct call, item.link);

        next = item->next;
        if (call->abandoned) {
            finish_call(c, call, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
        }
    }
}

void requests_link_down(struct core *c)
{
    fail_list(c, &c->sent, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
    drop_abandoned(c);
    c->pre_at = 0;
    strbuf_clear(&c->pre);
    c->n_pre_auths = 0;
    if (list_empty(&c->queued)) {
        c->out_at = c->out.len;
        forget_written(c);
    } else if (rebuild_out(c) != 0) {
        fail_list(c, &c->queued, PAWL_ERR_NO_MEMORY, PAWL_OUTCOME_NOT_SENT);
        c->out_at = c->out.len;
        forget_written(c);
    }
    chunk_unref(c->in);
    c->in = NULL;
    c->in_len = c->in_at = c->skip = 0;
}

void requests_fail_all(struct core *c, int err)
{
    fail_list(c, &c->sent, err, PAWL_OUTCOME_UNKNOWN);
    fail_list(c, &c->queued, err, PAWL_OUTCOME_NOT_SENT);
    c->out_at = c->out.len;
    forget_written(c);
}

/* A call that was sent leaves an abandoned one behind, to keep the place of its answer. */
static bool expire_sent(struct core *c, struct call *call)
{
    struct call *ghost = call_new(call->op);

    if (ghost == NULL) {
        return false; /* later, then */
    }
    ghost->xid = call->xid;
    ghost->place = call->place;
    ghost->abandoned = true;
    ghost->end = call->end;
    ghost->len = call->len;
    ghost->sent_ms = call->sent_ms;
    ghost->item.link = call->item.link;
    ghost->item.link.prev->next = &ghost->item.link;
    ghost->item.link.next->prev = &ghost->item.link;
    ghost->auth = call->auth;
    call->auth = NULL;
    list_init(&call->item.link);
    c->n_calls++;
    finish_call(c, call, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_UNKNOWN);
    return true;
}

static void expire_list(struct core *c, struct list *calls, int64_t now_ms, bool *cut_any)
{
    struct list *item, *next;

    for (item = calls->next; item != calls; item = next) {
        struct call *call = container_of(item, struct call, item.link);

        next = item->next;
        if (call->deadline_ms == 0 || call->abandoned) {
            continue;
        }
        if (call->deadline_ms > now_ms) {
            if (c->next_deadline_ms == 0 || call->deadline_ms < c->next_deadline_ms) {
                c->next_deadline_ms = call->deadline_ms;
            }
        } else if (requests_is_underway(c, call)) {
            if (!expire_sent(c, call)) {
                c->next_deadline_ms = now_ms + 1;
            }
        } else {
            if (c->link == LINK_READY) {
                cut(c, call);
            } else {
                *cut_any = true;
            }
            finish_call(c, call, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_NOT_SENT);
        }
    }
}

/* Without a link, when thousands may be due, `out` is made anew in one pass. With one, they are cut
 * out one by one: something may be half sent. */
void requests_expire(struct core *c, int64_t now_ms)
{
    bool cut_any = false;

    if (c->next_deadline_ms == 0 || now_ms < c->next_deadline_ms) {
        return;
    }
    c->next_deadline_ms = 0;
    expire_list(c, &c->sent, now_ms, &cut_any);
    expire_list(c, &c->queued, now_ms, &cut_any);
    if (cut_any && rebuild_out(c) != 0) {
        fail_list(c, &c->queued, PAWL_ERR_NO_MEMORY, PAWL_OUTCOME_NOT_SENT);
        c->out_at = c->out.len;
    }
    forget_written(c);
}

/* ---- answers ---- */

/* As after a reconnect: a change since the last answer is told at once, so none is missed. */
static int set_again(struct core *c, enum watcher_kind kind, struct bytes path)
{
    struct request q = {.relative_zxid = c->last_zxid, .n_watch_lists = N_WATCHER_KINDS};
    struct call *call = call_new(OP_SET_WATCHES2);
    struct strbuf list;
    int rc;

    if (call == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    call->abandoned = true;
    strbuf_init(&list, STRBUF_NO_LIMIT);
    jute_write_buffer(&list, path);
    q.watches[kind] = (struct string_list){1, strbuf_bytes(&list)};
    rc = list.failed ? PAWL_ERR_NO_MEMORY : requests_submit(c, call, &q);
    strbuf_fini(&list);
    if (rc != 0) {
        call_free(call);
    }
    return rc == PAWL_ERR_CLOSING ? 0 : rc;
}

int requests_wait_beside(struct core *c, struct bytes path)
{
    return watches_wait_beside(&c->watches, path) ? set_again(c, WATCHER_CHILD, path) : 0;
}

/* A server before 3.9 has put the new one in the place of what was at that path. A persistent one
 * tells all that a one-shot watch would, but not what a recursive one does; and that one not what
 * those hear who wait for children. */
static int restore_beside(struct core *c, enum watcher_kind by, struct bytes path)
{
    bool deep = watches_has(&c->watches, 1u << WATCHER_RECURSIVE, path, NULL);
    int rc = by == WATCHER_PERSISTENT && deep ? set_again(c, WATCHER_RECURSIVE, path) : 0;

    if (rc == 0 && (by == WATCHER_PERSISTENT || by == WATCHER_RECURSIVE)) {
        rc = requests_wait_beside(c, path);
    }
    return rc;
}

static int register_watch(struct core *c, const struct call *call)
{
    enum watcher_kind table = (enum watcher_kind)call->watch_table;
    struct event_item *shadowed = NULL;
    int rc;

    if (table == WATCHER_NONE) {
        return 0;
    }
    if (call->op == OP_EXISTS && call->err == PAWL_ERR_NO_NODE) {
        table = WATCHER_EXIST;
    } else if (call->err != 0) {
        return 0;
    }
    rc = watches_add(&c->watches, table, bytes_str(call->path), &call->target);
    if (rc == 0 && !call->spared) {
        rc = watches_shadow(&c->watches, table, bytes_str(call->path), &shadowed);
    }
    if (shadowed != NULL) {
        list_push_back(&c->items, &shadowed->item.link);
    }
    return rc == 0 ? restore_beside(c, table, bytes_str(call->path)) : rc;
}

static struct call *find_auth(struct core *c)
{
    struct list *item;

    list_for_each (item, &c->sent) {
        struct call *call = container_of(item, struct call, item.link);

        if (call->op == OP_AUTH) {
            return call;
        }
    }
    return NULL;
}

/* Whose answer it is; NULL: that of credentials which the core sent by itself. */
static struct call *answered_auth(struct core *c, const struct reply_header *h)
{
    struct call *call = NULL;
    struct auth_entry *e;

    if (c->n_pre_auths > 0) {
        e = nth_auth(c, c->n_sent_auths - c->n_pre_auths);
        c->n_pre_auths--;
    } else {
        call = find_auth(c);
        e = call == NULL ? NULL : call->auth;
    }
    if (h->err != 0 && e != NULL) {
        forget_auth(c, e);
    }
    return call;
}

/* An answer that was too large to be kept was none of refusal: a write has happened then. */
static enum pawl_outcome outcome_of(const struct call *call, int err)
{
    if (err == PAWL_ERR_TOO_LARGE && op_find(call->op)->kind == OP_KIND_WRITE) {
        return PAWL_OUTCOME_UNKNOWN;
    }
    return err == 0 ? PAWL_OUTCOME_DONE : PAWL_OUTCOME_REFUSED;
}

/* Those for whom a watch was left on the server may not have come after all: then it goes now. */
static bool removes_after_all(struct core *c, struct call *call)
{
    const unsigned data = 1u << WATCHER_DATA | 1u << WATCHER_EXIST, child = 1u << WATCHER_CHILD;
    unsigned mask = call->unwatch_mask;
    struct request q = {.watch_type = mask == child  ? PAWL_WATCHES_CHILDREN
                                      : mask == data ? PAWL_WATCHES_DATA
                                                     : PAWL_WATCHES_ANY};

    if (call->op != OP_CHECK_WATCHES || mask == 0 || call->err != 0 || is_shared(c, call)) {
        return false;
    }
    q.path = bytes_str(call->path);
    if (!watches_has(&c->watches, mask, q.path, &call->target)) {
        return false;
    }
    list_remove(&call->item.link);
    c->n_calls--;
    call->place = CALL_DONE;
    call->op = OP_REMOVE_WATCHES;
    if (requests_submit(c, call, &q) == 0) {
        return true;
    }
    c->n_calls++;
    return false;
}

/* ---- what an answer shows of the session (certain.h) ---- */

/* The first result tells of all: of a multi that failed each is an error. Who may not read what our
 * heartbeat checks was asked for the session before. */
static enum certain_proof proof_of_multi(struct bytes body)
{
    struct jute_reader r = jute_reader_of(body);
    struct multi_header h = multi_header_read(&r);

    if (r.failed || (h.type == MULTI_RESULT_ERROR && h.err != PAWL_ERR_NO_AUTH)) {
        return CERTAIN_HEARD;
    }
    return CERTAIN_AGREED;
}

static enum certain_proof proof_of_sync(struct bytes body)
{
    struct jute_reader r = jute_reader_of(body);
    struct bytes path = jute_read_buffer(&r);

    if (bytes_equal_str(path, SIGN_OF_LIFE_TAKEN)) {
        return CERTAIN_COUNTED;
    }
    return bytes_equal_str(path, SIGN_OF_LIFE) ? CERTAIN_ECHOED : CERTAIN_LED;
}

/* A write that is refused may have been so before anybody asked whether its session lives. */
static enum certain_proof proof_of(int32_t code, int err, struct bytes body)
{
    const struct op *op = op_find(code);

    if (err != 0 || op == NULL) {
        return CERTAIN_HEARD;
    }
    if (code == OP_SYNC) {
        return proof_of_sync(body);
    }
    if (code == OP_MULTI) {
        return proof_of_multi(body);
    }
    return op->kind == OP_KIND_WRITE ? CERTAIN_AGREED : CERTAIN_HEARD;
}

static void take_proof(struct core *c, int64_t now_ms, const struct call *call,
                       enum certain_proof proof)
{
    core_answered(c, now_ms, proof, call->sent_ms, call->end);
    if (c->heartbeat == call && proof == CERTAIN_HEARD) {
        c->heartbeat_from_ms = now_ms + c->timeout_ms / HEARTBEAT_AGAIN;
    }
}

/* 0, or an error that ends the link. */
int requests_answer(struct core *c, int64_t now_ms, const struct reply_header *h, struct bytes body)
{
    struct call *call;
    bool abandoned;
    int err = h->err;

    if (h->xid == XID_AUTH) {
        call = answered_auth(c, h);
        if (call == NULL) {
            return 0;
        }
    } else {
        call = list_empty(&c->sent) ? NULL : container_of(c->sent.next, struct call, item.link);
        if (call == NULL || call->xid != h->xid) {
            return PAWL_ERR_MARSHALLING;
        }
        if (h->zxid > c->last_zxid) {
            c->last_zxid = h->zxid;
        }
        take_proof(c, now_ms, call, proof_of(call->op, err, body));
    }
    call->err = err;
    abandoned = call->abandoned;
    if (!abandoned) {
        call->zxid = h->zxid;
        if (register_watch(c, call) != 0) {
            return PAWL_ERR_NO_MEMORY;
        }
        if (removes_after_all(c, call)) {
            return 0;
        }
        unregister_watch(c, call);
        err = call->err;
        if (body.len > 0) {
            atomic_fetch_add_explicit(&c->in->refs, 1, memory_order_relaxed);
            call->chunk = c->in;
            call->body = body;
        }
    }
    finish_call(c, call, err, outcome_of(call, err));
    requests_sweep(c);
    return 0;
}
