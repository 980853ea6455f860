/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - the operations of client.h, each in its two forms. */
#include "client/ops.h"

#include <stdlib.h>

#include "client/engine.h"
#include "client/finish.h"
#include "client/handle.h"
#include "client/take.h"
#include "client/uuid.h"
#include "wire/path.h"

enum {
    CREATE_FLAGS = PAWL_OP_PARENTS | PAWL_OP_CONTAINER_PARENTS | PAWL_OP_PROTECTED |
                   PAWL_OP_OR_SET | PAWL_OP_IDEMPOTENT | PAWL_OP_COMPRESS,
    SET_FLAGS = PAWL_OP_IDEMPOTENT | PAWL_OP_COMPRESS,
    DELETE_FLAGS = PAWL_OP_CHILDREN_TOO | PAWL_OP_GUARANTEED | PAWL_OP_IDEMPOTENT,
};

/* Takes a struct of the application's; BAD_ARGUMENTS: without its size. */
#define TAKE_CHECKED(rc, local, given)                                           \
    do {                                                                         \
        TAKE(local, take_is_good(given) ? (given) : NULL);                       \
        (rc) = (rc) != 0 || take_is_good(given) ? (rc) : PAWL_ERR_BAD_ARGUMENTS; \
    } while (0)

/* ---- create ---- */

static int32_t create_op(enum pawl_mode mode)
{
    switch (mode) {
    case PAWL_MODE_CONTAINER:
        return OP_CREATE_CONTAINER;
    case PAWL_MODE_TTL:
    case PAWL_MODE_TTL_SEQUENTIAL:
        return OP_CREATE_TTL;
    default:
        return OP_CREATE2;
    }
}

static bool is_sequential(enum pawl_mode mode)
{
    return mode == PAWL_MODE_SEQUENTIAL || mode == PAWL_MODE_EPHEMERAL_SEQUENTIAL ||
           mode == PAWL_MODE_TTL_SEQUENTIAL;
}

static int make_id(struct engine *e, char out[40])
{
    memcpy(out, "_c_", 3);
    return uuid_text(e, out + 3);
}

/* The whole path, with the id of a protected name in front of the last part. */
static int put_create_path(const struct pawl_client *c, struct strbuf *out,
                           const struct pawl_create *req, const char *id)
{
    const char *name = strrchr(req->path, '/') + 1;

    if (*id == '\0') {
        return prepare_append_path(c, out, req->path);
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
    if (!prepare_is_good_path(req->path, is_sequential(req->mode)) ||
        req->mode < PAWL_MODE_PERSISTENT || req->mode > PAWL_MODE_TTL_SEQUENTIAL ||
        (req->flags & ~CREATE_FLAGS) != 0) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (create_op(req->mode) == OP_CREATE_TTL ? req->ttl_ms <= 0 : req->ttl_ms != 0) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return 0;
}

int ops_prepare_create(struct pawl_client *c, const struct pawl_create *given, struct prepared *p)
{
    struct pawl_create req;
    int rc;

    TAKE(req, take_is_good(given) ? given : NULL);
    rc = prepare_begin(c, p, create_op(req.mode));
    TAKE_CHECKED(rc, req, given);
    rc = rc != 0 ? rc : check_create(&req);
    if (rc == 0 && (req.flags & PAWL_OP_PROTECTED) != 0) {
        rc = make_id(c->e, p->id);
    }
    rc = rc != 0 ? rc : put_create_path(c, &p->path, &req, p->id);
    rc = rc != 0 ? rc
                 : prepare_choose_acl(c->e, &p->acl, &req.acls, strbuf_cstr(&p->path), &p->q.acl);
    rc = rc != 0 ? rc : prepare_put_data(c, p, &req.data, req.flags);
    if (rc != 0) {
        return rc;
    }
    p->q.path = strbuf_bytes(&p->path);
    p->q.flags = (int32_t)req.mode;
    p->q.ttl_ms = req.ttl_ms;
    p->kind = PLAN_CREATE;
    p->flags = req.flags & (PAWL_OP_PARENTS | PAWL_OP_CONTAINER_PARENTS | PAWL_OP_PROTECTED |
                            PAWL_OP_OR_SET | PAWL_OP_IDEMPOTENT);
    if (c->prefix_len > c->chroot_len && path_parent(p->q.path).len == c->prefix_len) {
        p->flags |= PAWL_OP_CONTAINER_PARENTS; /* a namespace is made on demand */
    }
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return 0;
}

int pawl_create(struct pawl_client *c, const struct pawl_create *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_create(c, req, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_create_async(struct pawl_client *c, const struct pawl_create *req, pawl_reply_fn done,
                      void *arg)
{
    struct prepared p;
    int rc = ops_prepare_create(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- reads ---- */

static int ops_prepare_read(struct pawl_client *c, int32_t op, const char *path,
                            const struct pawl_watch *watch, struct prepared *p)
{
    enum watcher_kind table = op == OP_GET_CHILDREN2 ? WATCHER_CHILD : WATCHER_DATA;
    int rc = prepare_begin(c, p, op);

    rc = rc != 0 ? rc : prepare_put_path(c, p, path);
    rc = rc != 0 ? rc : prepare_put_watch(p, watch, table, (uint32_t)c->prefix_len);
    if (rc == 0 && op == OP_GET_DATA) {
        p->call->inflate = (c->e->settings.flags & PAWL_CLIENT_COMPRESS) != 0;
    }
    return rc;
}

static int ops_prepare_get_compressed(struct pawl_client *c, const char *path,
                                      const struct pawl_watch *watch, struct prepared *p)
{
    int rc = ops_prepare_read(c, OP_GET_DATA, path, watch, p);

    if (rc == 0) {
        p->call->inflate = true;
    }
    return rc;
}

int pawl_get(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
             struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_read(c, OP_GET_DATA, path, watch, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_get_async(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                   pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_read(c, OP_GET_DATA, path, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_get_compressed(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                        struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_get_compressed(c, path, watch, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_get_compressed_async(struct pawl_client *c, const char *path,
                              const struct pawl_watch *watch, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_get_compressed(c, path, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_exists(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_read(c, OP_EXISTS, path, watch, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_exists_async(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                      pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_read(c, OP_EXISTS, path, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_children(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                  struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_read(c, OP_GET_CHILDREN2, path, watch, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_children_async(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                        pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_read(c, OP_GET_CHILDREN2, path, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- set and delete ---- */

int ops_prepare_set(struct pawl_client *c, const struct pawl_set *given, struct prepared *p)
{
    struct pawl_set req;
    int rc = prepare_begin(c, p, OP_SET_DATA);

    TAKE_CHECKED(rc, req, given);
    rc = rc != 0 ? rc : prepare_put_path(c, p, req.path);
    rc = rc != 0 ? rc : prepare_check_flags(req.flags, SET_FLAGS);
    rc = rc != 0 ? rc : prepare_put_data(c, p, &req.data, req.flags);
    rc = rc != 0 ? rc : prepare_put_version(p, &req.only_if);
    p->kind = PLAN_SET;
    p->flags = req.flags & PAWL_OP_IDEMPOTENT;
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return rc;
}

int pawl_set(struct pawl_client *c, const struct pawl_set *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_set(c, req, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_set_async(struct pawl_client *c, const struct pawl_set *req, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_set(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}

int ops_prepare_delete(struct pawl_client *c, const struct pawl_delete *given, struct prepared *p)
{
    struct pawl_delete req;
    int rc = prepare_begin(c, p, OP_DELETE);

    TAKE_CHECKED(rc, req, given);
    rc = rc != 0 ? rc : prepare_put_path(c, p, req.path);
    rc = rc != 0 ? rc : prepare_check_flags(req.flags, DELETE_FLAGS);
    rc = rc != 0 ? rc : prepare_put_version(p, &req.only_if);
    p->kind = PLAN_DELETE;
    p->flags = req.flags & (PAWL_OP_CHILDREN_TOO | PAWL_OP_GUARANTEED | PAWL_OP_IDEMPOTENT);
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return rc;
}

int pawl_delete(struct pawl_client *c, const struct pawl_delete *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_delete(c, req, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_delete_async(struct pawl_client *c, const struct pawl_delete *req, pawl_reply_fn done,
                      void *arg)
{
    struct prepared p;
    int rc = ops_prepare_delete(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- ACLs ---- */

int ops_prepare_path(struct pawl_client *c, int32_t op, const char *path, struct prepared *p)
{
    int rc = prepare_begin(c, p, op);

    return rc != 0 ? rc : prepare_put_path(c, p, path);
}

int pawl_get_acl(struct pawl_client *c, const char *path, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_path(c, OP_GET_ACL, path, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_get_acl_async(struct pawl_client *c, const char *path, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_path(c, OP_GET_ACL, path, &p);

    return finish_async(c, rc, &p, done, arg);
}

static int ops_prepare_set_acl(struct pawl_client *c, const struct pawl_set_acl *given,
                               struct prepared *p)
{
    struct pawl_set_acl req;
    int rc = prepare_begin(c, p, OP_SET_ACL);

    TAKE_CHECKED(rc, req, given);
    rc = rc != 0 ? rc : prepare_put_path(c, p, req.path);
    if (rc == 0 && req.acls.n == 0) {
        rc = PAWL_ERR_INVALID_ACL;
    }
    rc = rc != 0 ? rc : prepare_choose_acl(c->e, &p->acl, &req.acls, "", &p->q.acl);
    rc = rc != 0 ? rc : prepare_put_version(p, &req.only_if);
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return rc;
}

int pawl_set_acl(struct pawl_client *c, const struct pawl_set_acl *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_set_acl(c, req, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_set_acl_async(struct pawl_client *c, const struct pawl_set_acl *req, pawl_reply_fn done,
                       void *arg)
{
    struct prepared p;
    int rc = ops_prepare_set_acl(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- sync and questions ---- */

int pawl_sync(struct pawl_client *c, const char *path, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_path(c, OP_SYNC, path, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_sync_async(struct pawl_client *c, const char *path, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_path(c, OP_SYNC, path, &p);

    return finish_async(c, rc, &p, done, arg);
}

static int ops_prepare_ephemerals(struct pawl_client *c, const char *prefix, struct prepared *p)
{
    int rc = prepare_begin(c, p, OP_GET_EPHEMERALS);

    return rc != 0 ? rc : prepare_put_raw_path(p, prefix == NULL ? "/" : prefix);
}

int pawl_ephemerals(struct pawl_client *c, const char *prefix, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_ephemerals(c, prefix, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_ephemerals_async(struct pawl_client *c, const char *prefix, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_ephemerals(c, prefix, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_count_all_children(struct pawl_client *c, const char *path, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_path(c, OP_GET_ALL_CHILDREN_NUMBER, path, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_count_all_children_async(struct pawl_client *c, const char *path, pawl_reply_fn done,
                                  void *arg)
{
    struct prepared p;
    int rc = ops_prepare_path(c, OP_GET_ALL_CHILDREN_NUMBER, path, &p);

    return finish_async(c, rc, &p, done, arg);
}

int pawl_whoami(struct pawl_client *c, struct pawl_reply **out)
{
    struct prepared p;
    int rc = prepare_begin(c, &p, OP_WHO_AM_I);

    return finish_wait(c, rc, &p, out);
}

int pawl_whoami_async(struct pawl_client *c, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = prepare_begin(c, &p, OP_WHO_AM_I);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- credentials ---- */

static int ops_prepare_auth(struct pawl_client *c, const struct pawl_auth *auth, struct prepared *p)
{
    int rc = prepare_begin(c, p, OP_AUTH);

    if (rc == 0 && (auth == NULL || auth->scheme == NULL || !take_is_data(auth->auth))) {
        rc = PAWL_ERR_BAD_ARGUMENTS;
    }
    if (rc != 0) {
        return rc;
    }
    p->q.scheme = bytes_str(auth->scheme);
    p->q.data = bytes_of(auth->auth.data, auth->auth.len);
    return 0;
}

int pawl_add_auth(struct pawl_client *c, const struct pawl_auth *auth, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_auth(c, auth, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_add_auth_async(struct pawl_client *c, const struct pawl_auth *auth, pawl_reply_fn done,
                        void *arg)
{
    struct prepared p;
    int rc = ops_prepare_auth(c, auth, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- watches ---- */

static int ops_prepare_watch(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
                             const struct pawl_watch *watch, struct prepared *p)
{
    int rc = prepare_begin(c, p, OP_ADD_WATCH);

    if (rc == 0 &&
        (watch == NULL || (mode != PAWL_WATCH_PERSISTENT && mode != PAWL_WATCH_RECURSIVE))) {
        rc = PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = rc != 0 ? rc : prepare_put_path(c, p, path);
    p->q.watch_type = (int32_t)mode;
    return rc != 0 ? rc
                   : prepare_put_watch(p, watch,
                                       mode == PAWL_WATCH_RECURSIVE ? WATCHER_RECURSIVE
                                                                    : WATCHER_PERSISTENT,
                                       (uint32_t)c->prefix_len);
}

int pawl_watch(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
               const struct pawl_watch *watch, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_watch(c, path, mode, watch, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_watch_async(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
                     const struct pawl_watch *watch, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_watch(c, path, mode, watch, &p);

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

static int ops_prepare_unwatch(struct pawl_client *c, const char *path, int kind,
                               const struct pawl_watch *watch, struct prepared *p)
{
    int rc = prepare_begin(c, p, OP_REMOVE_WATCHES);
    struct call *call = p->call;
    struct pawl_watch any = {nobody, NULL};

    rc = rc != 0 ? rc : prepare_put_path(c, p, path);
    if (rc == 0 && tables_of(kind) == 0) {
        rc = PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = rc != 0 ? rc
                 : prepare_put_watch(p, watch == NULL ? &any : watch, WATCHER_NONE,
                                     (uint32_t)c->prefix_len);
    if (rc != 0) {
        return rc;
    }
    p->q.watch_type = kind & ~PAWL_WATCHES_LOCAL;
    call->unwatch_mask = (uint8_t)tables_of(kind);
    call->unwatch_all = watch == NULL;
    call->unwatch_local = (kind & PAWL_WATCHES_LOCAL) != 0;
    engine_lock(c->e);
    if (!watches_has(&c->e->core->watches, call->unwatch_mask, p->q.path,
                     watch == NULL ? NULL : &call->target)) {
        rc = PAWL_ERR_NO_WATCHER;
    }
    engine_unlock(c->e);
    return rc;
}

int pawl_unwatch(struct pawl_client *c, const char *path, int kind, const struct pawl_watch *watch,
                 struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_unwatch(c, path, kind, watch, &p);
    struct engine *e = rc == 0 ? c->e : NULL;
    int64_t deadline = finish_deadline(p.timeout_ms);

    if (e != NULL) {
        engine_ref(e);
    }
    rc = finish_wait(c, rc, &p, out);
    if (e != NULL) { /* after this call the watch says nothing more */
        engine_lock(e);
        dispatch_barrier(e, deadline);
        engine_unlock(e);
        engine_unref(e);
    }
    return rc;
}

int pawl_unwatch_async(struct pawl_client *c, const char *path, int kind,
                       const struct pawl_watch *watch, pawl_reply_fn done, void *arg)
{
    struct prepared p;
    int rc = ops_prepare_unwatch(c, path, kind, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

/* ---- the ensemble ---- */

static int ops_prepare_config(struct pawl_client *c, const struct pawl_watch *watch,
                              struct prepared *p)
{
    int rc = prepare_begin(c, p, OP_GET_DATA);

    rc = rc != 0 ? rc : prepare_put_raw_path(p, "/zookeeper/config");
    return rc != 0 ? rc : prepare_put_watch(p, watch, WATCHER_DATA, 0);
}

int pawl_config(struct pawl_client *c, const struct pawl_watch *watch, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_config(c, watch, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_config_async(struct pawl_client *c, const struct pawl_watch *watch, pawl_reply_fn done,
                      void *arg)
{
    struct prepared p;
    int rc = ops_prepare_config(c, watch, &p);

    return finish_async(c, rc, &p, done, arg);
}

static struct bytes text_or_null(const char *s)
{
    return s == NULL ? BYTES_NULL : bytes_str(s);
}

static int ops_prepare_reconfig(struct pawl_client *c, const struct pawl_reconfig *given,
                                struct prepared *p)
{
    struct pawl_reconfig req;
    int rc = prepare_begin(c, p, OP_RECONFIG);

    rc = rc != 0 || given != NULL ? rc : PAWL_ERR_BAD_ARGUMENTS;
    TAKE_CHECKED(rc, req, given);
    p->q.joining = text_or_null(req.joining);
    p->q.leaving = text_or_null(req.leaving);
    p->q.members = text_or_null(req.members);
    rc = rc != 0 ? rc : prepare_take_condition(&req.only_if, &p->q.config_id);
    p->timeout_ms = req.timeout_ms != 0 ? req.timeout_ms : p->timeout_ms;
    return rc;
}

int pawl_reconfig(struct pawl_client *c, const struct pawl_reconfig *req, struct pawl_reply **out)
{
    struct prepared p;
    int rc = ops_prepare_reconfig(c, req, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_reconfig_async(struct pawl_client *c, const struct pawl_reconfig *req, pawl_reply_fn done,
                        void *arg)
{
    struct prepared p;
    int rc = ops_prepare_reconfig(c, req, &p);

    return finish_async(c, rc, &p, done, arg);
}
