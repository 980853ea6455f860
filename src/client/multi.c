/* SPDX-License-Identifier: Apache-2.0 */
/* multi.c - several operations as one. */
#include "client/multi.h"

#include <stdlib.h>

#include "client/engine.h"
#include "client/finish.h"
#include "client/handle.h"
#include "client/ops.h"

/* ---- multi ---- */

struct pawl_multi {
    const struct pawl_client *c;
    struct strbuf body;
    bool reads, writes;
    int err; /* the first that building came to */
};

struct pawl_multi *pawl_multi_new(struct pawl_client *c)
{
    struct pawl_multi *m = handle_check(c) == 0 ? calloc(1, sizeof(*m)) : NULL;

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

static void note_error(struct pawl_multi *m, int rc)
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
    note_error(m, rc);
    if (p->call != NULL) {
        call_free(p->call);
    }
    prepare_end(p);
}

void pawl_multi_create(struct pawl_multi *m, const struct pawl_create *req)
{
    struct prepared p;
    int rc;

    if (m != NULL) {
        rc = ops_prepare_create((struct pawl_client *)(uintptr_t)m->c, req, &p);
        add_prepared(m, rc, &p);
    }
}

void pawl_multi_set(struct pawl_multi *m, const struct pawl_set *req)
{
    struct prepared p;
    int rc;

    if (m != NULL) {
        rc = ops_prepare_set((struct pawl_client *)(uintptr_t)m->c, req, &p);
        add_prepared(m, rc, &p);
    }
}

void pawl_multi_delete(struct pawl_multi *m, const struct pawl_delete *req)
{
    struct prepared p;
    int rc;

    if (m != NULL) {
        rc = ops_prepare_delete((struct pawl_client *)(uintptr_t)m->c, req, &p);
        add_prepared(m, rc, &p);
    }
}

static void add_path_op(struct pawl_multi *m, int32_t op, const char *path, int32_t version)
{
    struct prepared p;
    int rc;

    if (m != NULL) {
        rc = ops_prepare_path((struct pawl_client *)(uintptr_t)m->c, op, path, &p);
        p.q.version = version;
        add_prepared(m, rc, &p);
    }
}

void pawl_multi_check(struct pawl_multi *m, const char *path, int32_t version)
{
    add_path_op(m, OP_CHECK, path, version);
}

void multi_check_of(struct pawl_multi *m, const struct pawl_client *c, const char *path)
{
    const struct pawl_client *own = m == NULL ? NULL : m->c;

    if (m != NULL) {
        m->c = c;
        pawl_multi_check(m, path, -1);
        m->c = own;
    }
}

void pawl_multi_get(struct pawl_multi *m, const char *path)
{
    add_path_op(m, OP_GET_DATA, path, 0);
}

void pawl_multi_children(struct pawl_multi *m, const char *path)
{
    add_path_op(m, OP_GET_CHILDREN, path, 0);
}

static int multi_prepare(struct pawl_client *c, const struct pawl_multi *m, struct prepared *p)
{
    struct multi_header end = {.type = -1, .done = true, .err = -1};
    int rc = prepare_begin(c, p, m != NULL && m->reads ? OP_MULTI_READ : OP_MULTI);

    if (rc != 0 || m == NULL || m->err != 0 || (m->reads && m->writes)) {
        return rc != 0 ? rc : m != NULL && m->err != 0 ? m->err : PAWL_ERR_BAD_ARGUMENTS;
    }
    p->call->inflate = (c->e->settings.flags & PAWL_CLIENT_COMPRESS) != 0;
    strbuf_append_bytes(&p->path, strbuf_bytes(&m->body));
    multi_header_write(&p->path, &end);
    p->q.multi = strbuf_bytes(&p->path);
    return m->body.failed || p->path.failed ? PAWL_ERR_NO_MEMORY : 0;
}

int pawl_multi_run(struct pawl_client *c, const struct pawl_multi *m, struct pawl_reply **out)
{
    struct prepared p;
    int rc = multi_prepare(c, m, &p);

    return finish_wait(c, rc, &p, out);
}

int pawl_multi_run_async(struct pawl_client *c, const struct pawl_multi *m, pawl_reply_fn done,
                         void *arg)
{
    struct prepared p;
    int rc = multi_prepare(c, m, &p);

    return finish_async(c, rc, &p, done, arg);
}
