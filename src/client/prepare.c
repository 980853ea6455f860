/* SPDX-License-Identifier: Apache-2.0 */
#include "client/prepare.h"

#include <stdlib.h>

#include "client/engine.h"
#include "client/gzip.h"
#include "client/handle.h"
#include "client/take.h"
#include "wire/path.h"

int prepare_begin(const struct pawl_client *c, struct prepared *p, int32_t op)
{
    int rc = handle_check(c);

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

/* ---- conditions and flags ---- */

static const int64_t condition_mark = 0x7061776c2d696600; /* what no half-said condition has */

struct pawl_condition pawl_version(int64_t version)
{
    return (struct pawl_condition){.mark = condition_mark, .version = version};
}

int prepare_take_condition(const struct pawl_condition *condition, int64_t *version)
{
    bool none = condition->mark == 0 && condition->version == 0;

    if ((!none && condition->mark != condition_mark)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *version = none ? -1 : condition->version;
    return 0;
}

int prepare_put_version(struct prepared *p, const struct pawl_condition *condition)
{
    int64_t version;
    int rc = prepare_take_condition(condition, &version);

    if (rc == 0 && (version > INT32_MAX || version < INT32_MIN)) {
        rc = PAWL_ERR_BAD_ARGUMENTS;
    }
    p->q.version = rc == 0 ? (int32_t)version : -1;
    return rc;
}

int prepare_check_flags(int flags, int known)
{
    return (flags & ~known) == 0 ? 0 : PAWL_ERR_BAD_ARGUMENTS;
}

/* ---- ACLs ---- */

int prepare_choose_acl(struct engine *e, struct strbuf *out, const struct pawl_acls *given,
                       const char *path, struct acl_list *list)
{
    struct pawl_acls acls = *given;

    if (acls.n == 0 && e->settings.acl_provider != NULL) {
        e->settings.acl_provider(path, &acls, e->settings.acl_provider_arg);
    }
    if (!take_is_acls(acls)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (acls.n == 0) {
        *list = e->settings.default_acl;
        return 0;
    }
    encode_acls(out, &acls);
    *list = (struct acl_list){(int32_t)acls.n, strbuf_bytes(out)};
    return out->failed ? PAWL_ERR_NO_MEMORY : 0;
}

int prepare_put_data(const struct pawl_client *c, struct prepared *p, const struct pawl_bytes *data,
                     int flags)
{
    bool pack =
        (flags & PAWL_OP_COMPRESS) != 0 || (c->e->settings.flags & PAWL_CLIENT_COMPRESS) != 0;
    size_t len;
    int rc;

    if (!take_is_data(*data)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
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
