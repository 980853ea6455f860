/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - the operations of client.h.
 *
 * Each is prepared once (paths made whole, data packed, a plan if it needs one) and then finished
 * in one of two ways: waited for, or left to its callback. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "client/internal.h"
#include "os/clock.h"
#include "wire/path.h"

struct prepared {
    struct call *call;
    struct request q;
    struct strbuf path, acl;
    uint8_t *packed;
    int timeout_ms;
    int flags;
    enum plan_kind kind;
    char id[40];
};

/* ---- preparing ---- */

static int begin(const struct pawl_client *c, struct prepared *p, int32_t op)
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

static void fini(struct prepared *p)
{
    strbuf_fini(&p->path);
    strbuf_fini(&p->acl);
    free(p->packed);
}

/* A sequential name may be empty: "/a/" becomes "/a/0000000000". */
static bool is_good_path(const char *path, bool sequential)
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

static int append_path(const struct pawl_client *c, struct strbuf *out, const char *path)
{
    strbuf_append(out, c->prefix, c->prefix_len);
    if (path[1] != '\0' || c->prefix_len == 0) {
        strbuf_append_str(out, path);
    }
    return out->failed ? PAWL_ERR_NO_MEMORY : 0;
}

static int put_path(const struct pawl_client *c, struct prepared *p, const char *path)
{
    int rc;

    if (!is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = append_path(c, &p->path, path);
    p->q.path = strbuf_bytes(&p->path);
    return rc;
}

static int put_raw_path(struct prepared *p, const char *path)
{
    if (!is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    p->q.path = bytes_str(path);
    return 0;
}

/* Where the answer registers it. */
static int put_watch(struct prepared *p, const struct pawl_watch *watch, enum watcher_kind table,
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

static int choose_acl(struct engine *e, struct strbuf *out, const struct pawl_acls *given,
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

static int put_data(const struct pawl_client *c, struct prepared *p, const struct pawl_bytes *data,
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

static int64_t deadline_of(int timeout_ms)
{
    return timeout_ms < 0 ? 0 : engine_now_ms() + timeout_ms;
}

/* With the lock: submits, waits, gives up. */
static int submit_and_wait(struct engine *e, struct prepared *p, struct waiter *w,
                           enum pawl_outcome *outcome)
{
    int64_t deadline = deadline_of(p->timeout_ms);
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
static int finish_blocking(struct pawl_client *c, int rc, struct prepared *p,
                           struct pawl_reply **out)
{
    if (rc == 0) {
        rc = add_plan(c, p);
    }
    if (rc != 0) {
        if (p->call != NULL) {
            call_free(p->call);
        }
        fini(p);
        return fail_blocking(rc, out);
    }
    rc = wait_for_answer(c, p, out);
    fini(p);
    return rc;
}

static void ignore(const struct pawl_reply *reply, void *arg)
{
    (void)reply;
    (void)arg;
}

static int finish_async(struct pawl_client *c, int rc, struct prepared *p, pawl_reply_fn done,
                        void *arg)
{
    struct call *call = p->call;

    if (rc == 0) {
        rc = add_plan(c, p);
    }
    if (rc == 0) {
        struct engine *e = c->e;

        call->done = done == NULL ? ignore : done;
        call->arg = arg;
        call->deadline_ms = deadline_of(p->timeout_ms);
        call->began_us = e->metric == NULL ? 0 : clock_monotonic_us();
        pthread_mutex_lock(&e->lock);
        rc = engine_submit(e, call, &p->q);
        if (rc == 0) {
            engine_submitted(e);
        }
        pthread_mutex_unlock(&e->lock);
    }
    if (rc != 0 && call != NULL) {
        call_free(call);
    }
    fini(p);
    return rc;
}

/* Input structs may come from an older header: what it did not have is zero. */
static void take_struct(void *to, size_t to_size, const void *from)
{
    size_t size;

    memset(to, 0, to_size);
    if (from == NULL) {
        return;
    }
    memcpy(&size, from, sizeof(size));
    memcpy(to, from, size < to_size ? size : to_size);
}

#define TAKE(local, given) take_struct(&(local), sizeof(local), given)

/* ---- create ---- */

static int32_t create_op(enum pawl_mode mode)
{
    switch (mode) {
    case PAWL_CONTAINER:
        return OP_CREATE_CONTAINER;
    case PAWL_TTL:
    case PAWL_TTL_SEQUENTIAL:
        return OP_CREATE_TTL;
    default:
        return OP_CREATE2;
    }
}

static bool is_sequential(enum pawl_mode mode)
{
    return mode == PAWL_SEQUENTIAL || mode == PAWL_EPHEMERAL_SEQUENTIAL ||
           mode == PAWL_TTL_SEQUENTIAL;
}

/* "_c_" and a random UUID. */
static int make_id(char *out)
{
    uint8_t b[16];

    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b)) {
        return PAWL_ERR_SYSTEM;
    }
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(out, 40, "_c_%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
    return 0;
}

/* The whole path, with the id of a protected name in front of the last part. */
static int put_create_path(const struct pawl_client *c, struct strbuf *out,
                           const struct pawl_create *req, const char *id)
{
    const char *name = strrchr(req->path, '/') + 1;

    if (*id == '\0') {
        return append_path(c, out, req->path);
    }
    strbuf_append(out, c->prefix, c->prefix_len);
    strbuf_append(out, req->path, (size_t)(name - req->path));
    strbuf_append_str(out, id);
    strbuf_append_str(out, "-");
    strbuf_append_str(out, name);
    return out->failed ? PAWL_ERR_NO_MEMORY : 0;
}

static int check_create(const struct pawl_create *req)
{
    if (!is_good_path(req->path, is_sequential(req->mode)) || req->mode < PAWL_PERSISTENT ||
        req->mode > PAWL_TTL_SEQUENTIAL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if ((req->mode == PAWL_TTL || req->mode == PAWL_TTL_SEQUENTIAL) && req->ttl_ms <= 0) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return 0;
}

static int prepare_create(struct pawl_client *c, const struct pawl_create *given,
                          struct prepared *p)
{
    struct pawl_create req;
    int rc;

    TAKE(req, given);
    rc = begin(c, p, create_op(req.mode));
    rc = rc != 0 ? rc : check_create(&req);
    if (rc == 0 && (req.flags & PAWL_PROTECTED) != 0) {
        rc = make_id(p->id);
    }
    rc = rc != 0 ? rc : put_create_path(c, &p->path, &req, p->id);
    rc = rc != 0 ? rc : choose_acl(c->e, &p->acl, &req.acls, strbuf_cstr(&p->path), &p->q.acl);
    rc = rc != 0 ? rc : put_data(c, p, &req.data, req.flags);
    if (rc != 0) {
        return rc;
    }
    p->q.path = strbuf_bytes(&p->path);
    p->q.flags = (int32_t)req.mode;
    p->q.ttl_ms = req.ttl_ms;
    p->kind = PLAN_CREATE;
    p->flags = req.flags & (PAWL_PARENTS | PAWL_CONTAINER_PARENTS | PAWL_PROTECTED | PAWL_OR_SET |
                            PAWL_IDEMPOTENT);
    if (c->prefix_len > c->chroot_len && path_parent(p->q.path).len == c->prefix_len) {
        p->flags |= PAWL_CONTAINER_PARENTS; /* a namespace is made on demand */
    }
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return 0;
}

int pawl_create(struct pawl_client *c, const struct pawl_create *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_create(c, req, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_create_async(struct pawl_client *c, const struct pawl_create *req, pawl_reply_fn done,
                      void *arg)
{
    struct prepared p;
    int rc = prepare_create(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- reads ---- */

static int prepare_read(struct pawl_client *c, int32_t op, const char *path,
                        const struct pawl_watch *watch, struct prepared *p)
{
    enum watcher_kind table = op == OP_GET_CHILDREN2 ? WATCHER_CHILD : WATCHER_DATA;
    int rc = begin(c, p, op);

    rc = rc != 0 ? rc : put_path(c, p, path);
    rc = rc != 0 ? rc : put_watch(p, watch, table, (uint32_t)c->prefix_len);
    if (rc == 0 && op == OP_GET_DATA) {
        p->call->inflate = (c->e->client_flags & PAWL_CLIENT_COMPRESS) != 0;
    }
    return rc;
}

static int prepare_get_compressed(struct pawl_client *c, const char *path,
                                  const struct pawl_watch *watch, struct prepared *p)
{
    int rc = prepare_read(c, OP_GET_DATA, path, watch, p);

    if (rc == 0) {
        p->call->inflate = true;
    }
    return rc;
}

int pawl_get(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
             struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_read(c, OP_GET_DATA, path, watch, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_get_async(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                   pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_read(c, OP_GET_DATA, path, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_get_compressed(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                        struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_get_compressed(c, path, watch, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_get_compressed_async(struct pawl_client *c, const char *path,
                              const struct pawl_watch *watch, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_get_compressed(c, path, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_exists(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_read(c, OP_EXISTS, path, watch, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_exists_async(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                      pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_read(c, OP_EXISTS, path, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_children(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                  struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_read(c, OP_GET_CHILDREN2, path, watch, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_children_async(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                        pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_read(c, OP_GET_CHILDREN2, path, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- set and delete ---- */

static int prepare_set(struct pawl_client *c, const struct pawl_set *given, struct prepared *p)
{
    struct pawl_set req;
    int rc = begin(c, p, OP_SET_DATA);

    TAKE(req, given);
    rc = rc != 0 ? rc : put_path(c, p, req.path);
    rc = rc != 0 ? rc : put_data(c, p, &req.data, req.flags);
    p->q.version = req.if_version ? req.version : -1;
    p->kind = PLAN_SET;
    p->flags = req.flags & PAWL_IDEMPOTENT;
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return rc;
}

int pawl_set(struct pawl_client *c, const struct pawl_set *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_set(c, req, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_set_async(struct pawl_client *c, const struct pawl_set *req, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_set(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}

static int prepare_delete(struct pawl_client *c, const struct pawl_delete *given,
                          struct prepared *p)
{
    struct pawl_delete req;
    int rc = begin(c, p, OP_DELETE);

    TAKE(req, given);
    rc = rc != 0 ? rc : put_path(c, p, req.path);
    p->q.version = req.if_version ? req.version : -1;
    p->kind = PLAN_DELETE;
    p->flags = req.flags & (PAWL_CHILDREN_TOO | PAWL_GUARANTEED | PAWL_IDEMPOTENT);
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return rc;
}

int pawl_delete(struct pawl_client *c, const struct pawl_delete *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_delete(c, req, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_delete_async(struct pawl_client *c, const struct pawl_delete *req, pawl_reply_fn done,
                      void *arg)
{
    struct prepared p;
    int rc = prepare_delete(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- ACLs ---- */

static int prepare_path(struct pawl_client *c, int32_t op, const char *path, struct prepared *p)
{
    int rc = begin(c, p, op);

    return rc != 0 ? rc : put_path(c, p, path);
}

int pawl_get_acl(struct pawl_client *c, const char *path, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_path(c, OP_GET_ACL, path, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_get_acl_async(struct pawl_client *c, const char *path, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_path(c, OP_GET_ACL, path, &p);

    return finish_async(c, rc, &p, done, arg);
}

static int prepare_set_acl(struct pawl_client *c, const struct pawl_set_acl *given,
                           struct prepared *p)
{
    struct pawl_set_acl req;
    int rc = begin(c, p, OP_SET_ACL);

    TAKE(req, given);
    rc = rc != 0 ? rc : put_path(c, p, req.path);
    if (rc == 0 && req.acls.n == 0) {
        rc = PAWL_ERR_INVALID_ACL;
    }
    rc = rc != 0 ? rc : choose_acl(c->e, &p->acl, &req.acls, "", &p->q.acl);
    p->q.version = req.if_version ? req.version : -1;
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return rc;
}

int pawl_set_acl(struct pawl_client *c, const struct pawl_set_acl *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_set_acl(c, req, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_set_acl_async(struct pawl_client *c, const struct pawl_set_acl *req, pawl_reply_fn done,
                       void *arg)
{
    struct prepared p;
    int rc = prepare_set_acl(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- sync and questions ---- */

int pawl_sync(struct pawl_client *c, const char *path, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_path(c, OP_SYNC, path, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_sync_async(struct pawl_client *c, const char *path, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_path(c, OP_SYNC, path, &p);

    return finish_async(c, rc, &p, done, arg);
}

static int prepare_ephemerals(struct pawl_client *c, const char *prefix, struct prepared *p)
{
    int rc = begin(c, p, OP_GET_EPHEMERALS);

    return rc != 0 ? rc : put_raw_path(p, prefix == NULL ? "/" : prefix);
}

int pawl_ephemerals(struct pawl_client *c, const char *prefix, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_ephemerals(c, prefix, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_ephemerals_async(struct pawl_client *c, const char *prefix, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_ephemerals(c, prefix, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_count_all_children(struct pawl_client *c, const char *path, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_path(c, OP_GET_ALL_CHILDREN_NUMBER, path, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_count_all_children_async(struct pawl_client *c, const char *path, pawl_reply_fn done,
                                  void *arg)
{
    struct prepared p;
    int rc = prepare_path(c, OP_GET_ALL_CHILDREN_NUMBER, path, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_whoami(struct pawl_client *c, struct pawl_reply **out)
{
    struct prepared p;
    int rc = begin(c, &p, OP_WHO_AM_I);

    return finish_blocking(c, rc, &p, out);
}

int pawl_whoami_async(struct pawl_client *c, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = begin(c, &p, OP_WHO_AM_I);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- credentials ---- */

static int prepare_auth(struct pawl_client *c, const struct pawl_auth *auth, struct prepared *p)
{
    int rc = begin(c, p, OP_AUTH);

    if (rc == 0 && (auth == NULL || auth->scheme == NULL)) {
        rc = PAWL_ERR_BAD_ARGUMENTS;
    }
    if (rc != 0) {
        return rc;
    }
    p->q.scheme = bytes_str(auth->scheme);
    p->q.data = bytes_of(auth->auth.data, auth->auth.len);
    pthread_mutex_lock(&c->e->lock);
    rc = core_add_auth(c->e->core, p->q.scheme, p->q.data);
    pthread_mutex_unlock(&c->e->lock);
    return rc;
}

int pawl_add_auth(struct pawl_client *c, const struct pawl_auth *auth, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_auth(c, auth, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_add_auth_async(struct pawl_client *c, const struct pawl_auth *auth, pawl_reply_fn done,
                        void *arg)
{
    struct prepared p;
    int rc = prepare_auth(c, auth, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- watches ---- */

static int prepare_watch(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
                         const struct pawl_watch *watch, struct prepared *p)
{
    int rc = begin(c, p, OP_ADD_WATCH);

    if (rc == 0 &&
        (watch == NULL || (mode != PAWL_WATCH_PERSISTENT && mode != PAWL_WATCH_RECURSIVE))) {
        rc = PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = rc != 0 ? rc : put_path(c, p, path);
    p->q.watch_type = (int32_t)mode;
    return rc != 0
               ? rc
               : put_watch(p, watch,
                           mode == PAWL_WATCH_RECURSIVE ? WATCHER_RECURSIVE : WATCHER_PERSISTENT,
                           (uint32_t)c->prefix_len);
}

int pawl_watch(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
               const struct pawl_watch *watch, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_watch(c, path, mode, watch, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_watch_async(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
                     const struct pawl_watch *watch, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_watch(c, path, mode, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

static unsigned tables_of(int kind)
{
    unsigned any = (1u << N_WATCHER_KINDS) - 1;

    switch (kind & ~PAWL_WATCHES_LOCAL) {
    case PAWL_WATCHES_CHILDREN:
        return 1u << WATCHER_CHILD;
    case PAWL_WATCHES_DATA:
        return 1u << WATCHER_DATA | 1u << WATCHER_EXIST;
    case PAWL_WATCHES_ANY:
        return any;
    default:
        return 0;
    }
}

static void nobody(const struct pawl_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

/* A watch goes from the server only with the last of ours that needs it; otherwise the server is
 * just asked whether it is there. */
static int prepare_unwatch(struct pawl_client *c, const char *path, int kind,
                           const struct pawl_watch *watch, struct prepared *p)
{
    int rc = begin(c, p, OP_REMOVE_WATCHES);
    struct call *call = p->call;
    struct pawl_watch any = {nobody, NULL};

    rc = rc != 0 ? rc : put_path(c, p, path);
    if (rc == 0 && tables_of(kind) == 0) {
        rc = PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = rc != 0
             ? rc
             : put_watch(p, watch == NULL ? &any : watch, WATCHER_NONE, (uint32_t)c->prefix_len);
    if (rc != 0) {
        return rc;
    }
    p->q.watch_type = kind & ~PAWL_WATCHES_LOCAL;
    call->unwatch_mask = (uint8_t)tables_of(kind);
    call->unwatch_all = watch == NULL;
    call->unwatch_local = (kind & PAWL_WATCHES_LOCAL) != 0;
    pthread_mutex_lock(&c->e->lock);
    if (!watches_has(&c->e->core->watches, call->unwatch_mask, p->q.path,
                     watch == NULL ? NULL : &call->target)) {
        rc = PAWL_ERR_NO_WATCHER;
    } else if (watch != NULL && watches_others(&c->e->core->watches, call->unwatch_mask, p->q.path,
                                               &call->target) > 0) {
        call->op = OP_CHECK_WATCHES;
    }
    pthread_mutex_unlock(&c->e->lock);
    return rc;
}

int pawl_unwatch(struct pawl_client *c, const char *path, int kind, const struct pawl_watch *watch,
                 struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_unwatch(c, path, kind, watch, &p);
    struct engine *e = rc == 0 ? c->e : NULL;
    int64_t deadline = deadline_of(p.timeout_ms);

    if (e != NULL) {
        engine_ref(e);
    }
    rc = finish_blocking(c, rc, &p, out);
    if (e != NULL) { /* after this call the watch says nothing more */
        pthread_mutex_lock(&e->lock);
        engine_barrier(e, deadline);
        pthread_mutex_unlock(&e->lock);
        engine_unref(e);
    }
    return rc;
}

int pawl_unwatch_async(struct pawl_client *c, const char *path, int kind,
                       const struct pawl_watch *watch, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_unwatch(c, path, kind, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- the ensemble ---- */

static int prepare_config(struct pawl_client *c, const struct pawl_watch *watch, struct prepared *p)
{
    int rc = begin(c, p, OP_GET_DATA);

    rc = rc != 0 ? rc : put_raw_path(p, "/zookeeper/config");
    return rc != 0 ? rc : put_watch(p, watch, WATCHER_DATA, 0);
}

int pawl_config(struct pawl_client *c, const struct pawl_watch *watch, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_config(c, watch, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_config_async(struct pawl_client *c, const struct pawl_watch *watch, pawl_reply_fn done,
                      void *arg)
{
    struct prepared p;
    int rc = prepare_config(c, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

static struct bytes text_or_null(const char *s)
{
    return s == NULL ? BYTES_NULL : bytes_str(s);
}

static int prepare_reconfig(struct pawl_client *c, const struct pawl_reconfig *given,
                            struct prepared *p)
{
    struct pawl_reconfig req;
    int rc = begin(c, p, OP_RECONFIG);

    TAKE(req, given);
    p->q.joining = text_or_null(req.joining);
    p->q.leaving = text_or_null(req.leaving);
    p->q.members = text_or_null(req.members);
    p->q.config_id = req.if_config ? req.config : -1;
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return rc;
}

int pawl_reconfig(struct pawl_client *c, const struct pawl_reconfig *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_reconfig(c, req, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_reconfig_async(struct pawl_client *c, const struct pawl_reconfig *req, pawl_reply_fn done,
                        void *arg)
{
    struct prepared p;
    int rc = prepare_reconfig(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- multi ---- */

struct pawl_multi {
    const struct pawl_client *c;
    struct strbuf body;
    bool reads, writes;
    int err; /* the first that building came to */
};

struct pawl_multi *pawl_multi_new(struct pawl_client *c)
{
    struct pawl_multi *m = client_check(c) == 0 ? calloc(1, sizeof(*m)) : NULL;

    if (m != NULL) {
        m->c = c;
        strbuf_init(&m->body, STRBUF_NO_LIMIT);
    }
    return m;
}

void pawl_multi_free(struct pawl_multi *m)
{
    if (m != NULL) {
        strbuf_fini(&m->body);
        free(m);
    }
}

static void add_op(struct pawl_multi *m, int32_t op, const struct request *q)
{
    struct multi_header h = {.type = op, .done = false, .err = -1};

    multi_header_write(&m->body, &h);
    request_write(&m->body, op_find(op), q);
    if (op_find(op)->kind == OP_KIND_READ) {
        m->reads = true;
    } else {
        m->writes = true;
    }
}

static void note(struct pawl_multi *m, int rc)
{
    if (m != NULL && m->err == 0) {
        m->err = rc;
    }
}

/* Adds what was prepared for a call of its own, and drops that call. */
static void add_prepared(struct pawl_multi *m, int rc, struct prepared *p)
{
    if (rc == 0) {
        add_op(m, p->call->op, &p->q);
    }
    note(m, rc);
    if (p->call != NULL) {
        call_free(p->call);
    }
    fini(p);
}

void pawl_multi_create(struct pawl_multi *m, const struct pawl_create *req)
{
    struct prepared p;
    int rc;

    if (m != NULL) {
        rc = prepare_create((struct pawl_client *)(uintptr_t)m->c, req, &p);
        add_prepared(m, rc, &p);
    }
}

void pawl_multi_set(struct pawl_multi *m, const struct pawl_set *req)
{
    struct prepared p;
    int rc;

    if (m != NULL) {
        rc = prepare_set((struct pawl_client *)(uintptr_t)m->c, req, &p);
        add_prepared(m, rc, &p);
    }
}

void pawl_multi_delete(struct pawl_multi *m, const struct pawl_delete *req)
{
    struct prepared p;
    int rc;

    if (m != NULL) {
        rc = prepare_delete((struct pawl_client *)(uintptr_t)m->c, req, &p);
        add_prepared(m, rc, &p);
    }
}

static void add_path_op(struct pawl_multi *m, int32_t op, const char *path, int32_t version)
{
    struct prepared p;
    int rc;

    if (m != NULL) {
        rc = prepare_path((struct pawl_client *)(uintptr_t)m->c, op, path, &p);
        p.q.version = version;
        add_prepared(m, rc, &p);
    }
}

void pawl_multi_check(struct pawl_multi *m, const char *path, int32_t version)
{
    add_path_op(m, OP_CHECK, path, version);
}

void pawl_multi_get(struct pawl_multi *m, const char *path)
{
    add_path_op(m, OP_GET_DATA, path, 0);
}

void pawl_multi_children(struct pawl_multi *m, const char *path)
{
    add_path_op(m, OP_GET_CHILDREN, path, 0);
}

static int prepare_multi(struct pawl_client *c, const struct pawl_multi *m, struct prepared *p)
{
    struct multi_header end = {.type = -1, .done = true, .err = -1};
    int rc = begin(c, p, m != NULL && m->reads ? OP_MULTI_READ : OP_MULTI);

    if (rc != 0 || m == NULL || m->err != 0 || (m->reads && m->writes)) {
        return rc != 0 ? rc : m != NULL && m->err != 0 ? m->err : PAWL_ERR_BAD_ARGUMENTS;
    }
    p->call->inflate = (c->e->client_flags & PAWL_CLIENT_COMPRESS) != 0;
    strbuf_append_bytes(&p->path, strbuf_bytes(&m->body));
    multi_header_write(&p->path, &end);
    p->q.multi = strbuf_bytes(&p->path);
    return m->body.failed || p->path.failed ? PAWL_ERR_NO_MEMORY : 0;
}

int pawl_multi_run(struct pawl_client *c, const struct pawl_multi *m, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_multi(c, m, &p);

    return finish_blocking(c, rc, &p, out);
}

int pawl_multi_run_async(struct pawl_client *c, const struct pawl_multi *m, pawl_reply_fn done,
                         void *arg)
{
    struct prepared p;
    int rc = prepare_multi(c, m, &p);

    return finish_async(c, rc, &p, done, arg);
}
