/* SPDX-License-Identifier: Apache-2.0 */
#include "client/prepare.h"

#include <stdlib.h>

#include "os/clock.h"
#include "wire/path.h"

/* ---- preparing ---- */

int prepare_begin(const struct pawl_client *c, struct prepared *p, int32_t op)
{
    int rc = client_check(c);

    *p = (struct prepared){.timeout_ms = rc == 0 ? c->timeout_ms : 0, .kind = PLAN_SIMPLE};
    strbuf_init(&p->path, STRBUF_NO_LIMIT);
    strbuf_init(&p->acl, STRBUF_NO_LIMIT);
    if (rc != 0) {
        return rc;
    }
    p->q = (struct request){.type = op, .ttl_ms = -1};
    p->call = call_new(op);
    if (p->call == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    p->call->strip = (uint32_t)c->prefix_len;
    return 0;
}

void prepare_end(struct prepared *p)
{
    strbuf_fini(&p->path);
    strbuf_fini(&p->acl);
    free(p->packed);
}

/* A sequential name may be empty: "/a/" becomes "/a/0000000000". */
bool prepare_is_good_path(const char *path, bool sequential)
{
    struct bytes b;

    if (path == NULL) {
        return false;
    }
    b = bytes_str(path);
    if (sequential && b.len > 1 && path[b.len - 1] == '/') {
        b.len--; /* the server appends digits */
    }
    return path_is_valid(b);
}

int prepare_append_path(const struct pawl_client *c, struct strbuf *out, const char *path)
{
    strbuf_append(out, c->prefix, c->prefix_len);
    if (path[1] != '\0' || c->prefix_len == 0) {
        strbuf_append_str(out, path);
    }
    return out->failed ? PAWL_ERR_NO_MEMORY : 0;
}

int prepare_put_path(const struct pawl_client *c, struct prepared *p, const char *path)
{
    int rc;

    if (!prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = prepare_append_path(c, &p->path, path);
    p->q.path = strbuf_bytes(&p->path);
    return rc;
}

int prepare_put_raw_path(struct prepared *p, const char *path)
{
    if (!prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    p->q.path = bytes_str(path);
    return 0;
}

/* Where the answer registers it. */
int prepare_put_watch(struct prepared *p, const struct pawl_watch *watch, enum watcher_kind table,
                      uint32_t strip)
{
    struct call *call = p->call;

    if (watch == NULL) {
        return 0;
    }
    if (watch->fn == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    call->path = malloc(p->q.path.len + 1);
    if (call->path == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    memcpy(call->path, p->q.path.data, p->q.path.len);
    call->path[p->q.path.len] = '\0';
    call->target = (struct event_target){.fn = watch->fn, .arg = watch->arg, .strip = strip};
    call->watch_table = (uint8_t)table;
    p->q.watch = true;
    return 0;
}

static void encode_acls(struct strbuf *out, const struct pawl_acls *acls)
{
    for (size_t i = 0; i < acls->n; i++) {
        struct acl_entry e = {.perms = acls->items[i].perms,
                              .scheme = bytes_str(acls->items[i].scheme),
                              .id = bytes_str(acls->items[i].id)};

        acl_entry_write(out, &e);
    }
}

int prepare_choose_acl(struct engine *e, struct strbuf *out, const struct pawl_acls *given,
                       const char *path, struct acl_list *list)
{
    struct pawl_acls acls = *given;

    if (acls.n == 0 && e->acl_provider != NULL) {
        e->acl_provider(path, &acls, e->acl_provider_arg);
    }
    if (acls.n == 0) {
        *list = e->default_acl;
        return 0;
    }
    encode_acls(out, &acls);
    *list = (struct acl_list){(int32_t)acls.n, strbuf_bytes(out)};
    return out->failed ? PAWL_ERR_NO_MEMORY : 0;
}

int prepare_put_data(const struct pawl_client *c, struct prepared *p, const struct pawl_bytes *data,
                     int flags)
{
    bool pack = (flags & PAWL_COMPRESS) != 0 || (c->e->client_flags & PAWL_CLIENT_COMPRESS) != 0;
    size_t len;
    int rc;

    p->q.data = bytes_of(data->data, data->len);
    if (!pack || data->data == NULL) {
        return 0;
    }
    rc = gzip_pack(p->q.data, &p->packed, &len);
    if (rc == 0) {
        p->q.data = bytes_of(p->packed, len);
    }
    return rc;
}

/* ---- finishing ---- */

static int add_plan(const struct pawl_client *c, struct prepared *p)
{
    struct plan *plan;

    if (c->retry.kind == PAWL_RETRY_NONE && p->flags == 0) {
        return 0;
    }
    plan = plan_new(p->call, p->kind, &p->q);
    if (plan == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    plan->flags = p->flags;
    plan->retry = c->retry;
    plan->prefix_len = c->prefix_len;
    memcpy(plan->id, p->id, sizeof(plan->id));
    return 0;
}

static int fail_blocking(int rc, struct pawl_reply **out)
{
    if (out != NULL) {
        *out = reply_error(rc, PAWL_OUTCOME_REFUSED);
    }
    return rc;
}

int64_t prepared_deadline(int timeout_ms)
{
    return timeout_ms < 0 ? 0 : engine_now_ms() + timeout_ms;
}

/* With the lock: submits, waits, gives up. */
static int submit_and_wait(struct engine *e, struct prepared *p, struct waiter *w,
                           enum pawl_outcome *outcome)
{
    int64_t deadline = prepared_deadline(p->timeout_ms);
    int rc;

    *outcome = PAWL_OUTCOME_REFUSED;
    if (e->mode == PAWL_DISPATCH_EXTERNAL && engine_is_dispatcher(e)) {
        return PAWL_ERR_WOULD_DEADLOCK;
    }
    p->call->waiter = w;
    rc = engine_submit(e, p->call, &p->q);
    if (rc != 0) {
        return rc;
    }
    waiter_claim(e, w);
    engine_settle(e, engine_now_ms());
    if (waiter_wait(e, w, deadline)) {
        return 0;
    }
    *outcome = engine_abandon(e, p->call);
    engine_settle(e, engine_now_ms());
    p->call = NULL;
    return PAWL_ERR_OPERATION_TIMEOUT;
}

static int wait_for_answer(struct pawl_client *c, struct prepared *p, struct pawl_reply **out)
{
    struct engine *e = c->e;
    struct pawl_reply *reply;
    enum pawl_outcome outcome;
    struct waiter w;
    int rc;

    waiter_init(&w);
    engine_ref(e);
    p->call->began_us = e->metric == NULL ? 0 : clock_monotonic_us();
    pthread_mutex_lock(&e->lock);
    rc = submit_and_wait(e, p, &w, &outcome);
    pthread_mutex_unlock(&e->lock);
    waiter_fini(&w);
    engine_unref(e);
    if (rc != 0) {
        reply = reply_error(rc, outcome);
    } else {
        reply = reply_of(p->call, true);
        rc = reply == NULL ? PAWL_ERR_NO_MEMORY : reply->err;
    }
    if (p->call != NULL) {
        call_free(p->call);
        p->call = NULL;
    }
    if (out != NULL) {
        *out = reply;
    } else {
        pawl_reply_free(reply);
    }
    return rc;
}

/* `rc` is what preparing came to. */
int prepared_wait(struct pawl_client *c, int rc, struct prepared *p, struct pawl_reply **out)
{
    if (rc == 0) {
        rc = add_plan(c, p);
    }
    if (rc != 0) {
        if (p->call != NULL) {
            call_free(p->call);
        }
        prepare_end(p);
        return fail_blocking(rc, out);
    }
    rc = wait_for_answer(c, p, out);
    prepare_end(p);
    return rc;
}

static void ignore(const struct pawl_reply *reply, void *arg)
{
    (void)reply;
    (void)arg;
}

int prepared_start(struct pawl_client *c, int rc, struct prepared *p, pawl_reply_fn done, void *arg)
{
    struct call *call = p->call;

    if (rc == 0) {
        rc = add_plan(c, p);
    }
    if (rc == 0) {
        struct engine *e = c->e;

        call->done = done == NULL ? ignore : done;
        call->arg = arg;
        call->deadline_ms = prepared_deadline(p->timeout_ms);
        call->began_us = e->metric == NULL ? 0 : clock_monotonic_us();
        pthread_mutex_lock(&e->lock);
        call->inside = call->target.inside = e->inside;
        rc = engine_submit(e, call, &p->q);
        if (rc == 0 && !e->inside) {
            engine_submitted(e); /* what a step asks for is sent at its end, all at once */
        }
        pthread_mutex_unlock(&e->lock);
    }
    if (rc != 0 && call != NULL) {
        call_free(call);
    }
    prepare_end(p);
    return rc;
}

/* Input structs may come from an older header: what it did not have is zero. */
void prepare_take_struct(void *to, size_t to_size, const void *from)
{
    size_t size;

    memset(to, 0, to_size);
    if (from == NULL) {
        return;
    }
    memcpy(&size, from, sizeof(size));
    memcpy(to, from, size < to_size ? size : to_size);
}
