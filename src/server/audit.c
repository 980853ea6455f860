/* SPDX-License-Identifier: Apache-2.0 */
#include "server/audit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "pawl/error.h"
#include "server/connection.h"
#include "server/server.h"
#include "wire/request.h"
#include "wire/txn.h"

/* Everything is kept as text: what it was made of may be gone when the line is written. */
struct audit_note {
    int64_t session_id;
    const char *operation; /* NULL: a multi, which is told of by its parts */
    char *who;             /* "user=...\tip=..." */
    char *more;            /* our fields about the client */
    char *path;
    const char *mode; /* of a create, else NULL */
    char *acl;        /* of setAcl, else NULL */
    const char **modes;
    size_t n_modes; /* one for each operation of a multi */
};

/* ---- words ---- */

static const char *operation_of(int32_t type)
{
    switch (type) {
    case OP_CREATE:
    case OP_CREATE2:
    case OP_CREATE_CONTAINER:
    case OP_CREATE_TTL:
        return "create";
    case OP_DELETE:
    case OP_DELETE_CONTAINER:
        return "delete";
    case OP_SET_DATA:
        return "setData";
    case OP_SET_ACL:
        return "setAcl";
    case OP_RECONFIG:
        return "reconfig";
    default:
        return NULL;
    }
}

static const char *mode_of(const struct request *q)
{
    static const char *const modes[] = {
        [CREATE_PERSISTENT] = "persistent",
        [CREATE_EPHEMERAL] = "ephemeral",
        [CREATE_SEQUENTIAL] = "persistent_sequential",
        [CREATE_EPHEMERAL_SEQUENTIAL] = "ephemeral_sequential",
        [CREATE_CONTAINER_FLAG] = "container",
        [CREATE_TTL_FLAG] = "persistent_with_ttl",
        [CREATE_TTL_SEQUENTIAL] = "persistent_sequential_with_ttl",
    };
    const char *operation = operation_of(q->type);

    if (operation == NULL || strcmp(operation, "create") != 0 || q->flags < 0 ||
        q->flags >= (int32_t)(sizeof(modes) / sizeof(modes[0]))) {
        return NULL;
    }
    return modes[q->flags];
}

static void put(struct strbuf *out, const void *data, size_t len)
{
    const uint8_t *at = data;

    for (size_t i = 0; i < len; i++) {
        strbuf_append(out, at[i] < ' ' || at[i] == 0x7f ? (const uint8_t *)"?" : &at[i], 1);
    }
}

static void put_bytes(struct strbuf *out, struct bytes b)
{
    put(out, b.data, b.len);
}

static void put_str(struct strbuf *out, const char *s)
{
    put(out, s, strlen(s));
}

static char *taken(struct strbuf *b)
{
    char *text = must_strdup(strbuf_cstr(b));

    strbuf_fini(b);
    return text;
}

/* ---- who it was ---- */

static void put_identity(struct strbuf *out, const struct identity *i, bool with_scheme)
{
    struct list *item;
    bool is_first = true;

    list_for_each (item, &i->ids) {
        const struct auth_id *a = container_of(item, struct auth_id, link);

        if (a->rank >= i->n_in_force || strcmp(a->scheme, "super") == 0 ||
            (with_scheme && strcmp(a->scheme, "x509") == 0)) {
            continue;
        }
        strbuf_append_str(out, is_first ? "" : ",");
        if (with_scheme) {
            strbuf_printf(out, "%s:", a->scheme);
        }
        put_bytes(out, auth_user(a));
        is_first = false;
    }
}

static char *who_text(const struct connection *c)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_append_str(&out, "user=");
    put_identity(&out, &c->identity, false);
    strbuf_append_str(&out, "\tip=");
    put_str(&out, c->peer.ip);
    return taken(&out);
}

static char *more_text(const struct connection *c)
{
    struct strbuf out;
    struct list *item;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_append_str(&out, "\tidentity=");
    put_identity(&out, &c->identity, true);
    strbuf_printf(&out, "\taddress=%s:%u", c->peer.ip, c->peer.port);
    list_for_each (item, &c->identity.ids) {
        const struct auth_id *a = container_of(item, struct auth_id, link);

        if (strcmp(a->scheme, "x509") == 0) {
            strbuf_append_str(&out, "\tcertificate=");
            put_str(&out, a->id);
        }
    }
    return taken(&out);
}

/* ---- what it asked for ---- */

static void put_perms(struct strbuf *out, int32_t perms)
{
    static const struct {
        int32_t bit;
        const char *letter;
    } letters[] = {{PERM_CREATE, "c"},
                   {PERM_DELETE, "d"},
                   {PERM_READ, "r"},
                   {PERM_WRITE, "w"},
                   {PERM_ADMIN, "a"}};

    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
        strbuf_append_str(out, (perms & letters[i].bit) != 0 ? letters[i].letter : "");
    }
}

/* One after the other without anything between them, as in ZooKeeper. */
static char *acl_text(const struct acl_list *acl)
{
    struct jute_reader r = jute_reader_of(acl->elements);
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    for (int32_t i = 0; i < acl->count; i++) {
        struct acl_entry e = acl_entry_read(&r);
        const uint8_t *colon = e.id.len > 0 ? memchr(e.id.data, ':', e.id.len) : NULL;

        put_bytes(&out, e.scheme);
        strbuf_append_str(&out, ":");
        if (bytes_equal_str(e.scheme, "digest") && colon != NULL) {
            put(&out, e.id.data, (size_t)(colon - e.id.data));
            strbuf_append_str(&out, ":(not shown)");
        } else {
            put_bytes(&out, e.id);
        }
        strbuf_append_str(&out, ":");
        put_perms(&out, e.perms);
    }
    return taken(&out);
}

static void note_multi(struct audit_note *n, struct bytes multi)
{
    struct jute_reader r = jute_reader_of(multi);
    struct request q;
    size_t room = 0;

    while (multi_next(&r, false, &q) == MULTI_OP) {
        if (n->n_modes == room) {
            room = room == 0 ? 8 : 2 * room;
            n->modes = must_realloc(n->modes, room * sizeof(*n->modes));
        }
        n->modes[n->n_modes++] = mode_of(&q);
    }
}

struct audit_note *audit_note_new(const struct connection *c, const struct request *q)
{
    const char *operation = operation_of(q->type);
    struct audit_note *n;

    if (operation == NULL && q->type != OP_MULTI) {
        return NULL;
    }
    n = must_zalloc(sizeof(*n));
    n->session_id = c->session_id;
    n->operation = operation;
    n->who = who_text(c);
    n->more = more_text(c);
    if (q->type == OP_MULTI) {
        note_multi(n, q->multi);
        return n;
    }
    n->path = q->type == OP_RECONFIG ? NULL : must_copy_string(q->path);
    n->mode = mode_of(q);
    n->acl = q->type == OP_SET_ACL ? acl_text(&q->acl) : NULL;
    return n;
}

void audit_note_free(struct audit_note *n)
{
    if (n != NULL) {
        free(n->who);
        free(n->more);
        free(n->path);
        free(n->acl);
        free(n->modes);
        free(n);
    }
}

/* ---- lines ---- */

struct told {
    const char *operation;
    struct bytes path;
    const char *mode, *acl;
    int err;
};

static void tell(const struct server *s, const struct audit_note *n, const struct told *t,
                 int64_t zxid)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_printf(&out, "session=0x%" PRIx64 "\t%s\toperation=%s", (uint64_t)n->session_id, n->who,
                  t->operation);
    if (t->path.len > 0) {
        strbuf_append_str(&out, "\tznode=");
        put_bytes(&out, t->path);
    }
    if (t->mode != NULL) {
        strbuf_printf(&out, "\tznode_type=%s", t->mode);
    }
    if (t->acl != NULL) {
        strbuf_append_str(&out, "\tacl=");
        strbuf_append_str(&out, t->acl);
    }
    strbuf_printf(&out, "\tresult=%s\tzxid=0x%" PRIx64, t->err == PAWL_OK ? "success" : "failure",
                  (uint64_t)zxid);
    if (t->err != PAWL_OK) {
        strbuf_printf(&out, "\terr=%d", t->err);
    }
    strbuf_append_str(&out, n->more);
    s->audit.line(s->audit.arg, t->err != PAWL_OK, strbuf_cstr(&out));
    strbuf_fini(&out);
}

static int first_error(const struct server *s, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (s->results[i].err != PAWL_OK) {
            return s->results[i].err;
        }
    }
    return PAWL_OK;
}

static void tell_multi(struct server *s, const struct audit_note *n, const struct txn *txn)
{
    struct jute_reader r = jute_reader_of(txn->op.multi);
    int err = first_error(s, txn->op.n_multi);
    struct txn_op op;

    if (err != PAWL_OK) {
        tell(s, n, &(struct told){.operation = "multiOperation", .err = err}, txn->header.zxid);
        return;
    }
    for (int32_t i = 0; i < txn->op.n_multi; i++) {
        txn_multi_next(&r, &op);
        if (operation_of(op.type) != NULL) {
            tell(s, n,
                 &(struct told){.operation = operation_of(op.type),
                                .path = op.path,
                                .mode = (size_t)i < n->n_modes ? n->modes[i] : NULL},
                 txn->header.zxid);
        }
    }
}

void audit_applied(struct server *s, const struct audit_note *n, const struct txn *txn)
{
    bool is_error = txn->op.type == TXN_ERROR;
    struct told t = {.operation = n->operation != NULL ? n->operation : "multiOperation",
                     .path = n->path != NULL ? bytes_str(n->path) : BYTES_NULL,
                     .mode = n->mode,
                     .acl = n->acl,
                     .err = is_error ? txn->op.err : s->results[0].err};

    if (txn->op.type == TXN_MULTI) {
        tell_multi(s, n, txn);
        return;
    }
    if (!is_error && txn->op.path.len > 0) {
        t.path = txn->op.path; /* of a sequential node the whole name */
    }
    tell(s, n, &t, txn->header.zxid);
}

void audit_ephemeral(struct server *s, int64_t session_id, struct bytes path)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_printf(&out,
                  "session=0x%" PRIx64
                  "\tuser=%s\toperation=ephemeralZNodeDeletionOnSessionCloseOrExpire\tznode=",
                  (uint64_t)session_id, s->audit.user);
    put_bytes(&out, path);
    strbuf_printf(&out, "\tresult=success\tzxid=0x%" PRIx64, (uint64_t)s->applied_zxid);
    s->audit.line(s->audit.arg, false, strbuf_cstr(&out));
    strbuf_fini(&out);
}

void audit_own(const struct audit *a, const char *operation, const char *result)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_printf(&out, "user=%s\toperation=%s\tresult=%s", a->user, operation, result);
    a->line(a->arg, false, strbuf_cstr(&out));
    strbuf_fini(&out);
}
