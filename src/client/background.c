/* SPDX-License-Identifier: Apache-2.0 */
#include "client/background.h"

#include <stdio.h>

#include "client/engine.h"
#include "client/plan_internal.h"

enum { PAUSE_MS = 200, MOST_CHORES = 1 << 20 };

enum chore_kind { CHORE_NONE, CHORE_DELETE, CHORE_UNDO };

static struct plan *background_plan(const struct engine *e, enum plan_kind kind, int32_t op,
                                    const struct request *q)
{
    struct call *call = call_new(op);
    struct plan *p = call == NULL ? NULL : plan_new(call, kind, q);

    if (p == NULL) {
        call_free(call);
        return NULL;
    }
    p->retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = PAUSE_MS};
    p->first_ms = machine_now_ms();
    p->session_id = e->core->session_id;
    p->in_background = true;
    return p;
}

static void background_start(struct engine *e, struct plan *p, enum plan_stage stage)
{
    if (p != NULL && (e->closing || !plan_go(e, p, stage))) {
        call_free(p->call);
    }
}

void background_delete(struct engine *e, struct bytes path, int32_t version, int flags,
                       int64_t newest_zxid)
{
    struct request q = {.path = path, .version = version};
    struct plan *p = background_plan(e, PLAN_DELETE, OP_DELETE, &q);

    if (p != NULL) {
        p->flags = PAWL_OP_IDEMPOTENT | PAWL_OP_GUARANTEED | (flags & PAWL_OP_CHILDREN_TOO);
        p->newest_zxid = newest_zxid;
    }
    background_start(e, p, newest_zxid == INT64_MAX ? STAGE_MAIN : STAGE_SYNC);
}

void background_undo(struct engine *e, struct bytes path, const char *id)
{
    struct request q = {.path = path};
    struct plan *p = background_plan(e, PLAN_CLEANUP, OP_SYNC, &q);

    if (p != NULL) {
        snprintf(p->id, sizeof(p->id), "%s", id);
    }
    background_start(e, p, STAGE_SYNC);
}

/* ---- what is left to do ---- */

static enum chore_kind background_chore(const struct plan *p)
{
    if (p->kind == PLAN_DELETE && (p->flags & PAWL_OP_GUARANTEED) != 0) {
        return CHORE_DELETE;
    }
    if (p->kind == PLAN_CLEANUP ||
        (p->kind == PLAN_CREATE && (p->flags & PAWL_OP_PROTECTED) != 0)) {
        return CHORE_UNDO;
    }
    return CHORE_NONE;
}

void background_take_over(struct engine *e, const struct plan *p)
{
    enum chore_kind kind = background_chore(p);

    if (kind == CHORE_DELETE) {
        background_delete(e, p->main.path, p->main.version, p->flags, p->newest_zxid);
    } else if (kind == CHORE_UNDO && p->unsure) {
        background_undo(e, p->main.path, p->id);
    }
}

/* ---- across a hand-over ---- */

/* How many; `out` NULL: only counted. */
static int32_t background_write_one(const struct plan *p, struct strbuf *out)
{
    enum chore_kind kind = p == NULL ? CHORE_NONE : background_chore(p);

    if (kind == CHORE_NONE) {
        return 0;
    }
    if (out != NULL) {
        jute_write_int(out, (int32_t)kind);
        jute_write_buffer(out, p->main.path);
        jute_write_buffer(out, bytes_str(p->id));
        jute_write_int(out, p->main.version);
        jute_write_int(out, p->flags);
        jute_write_long(out, p->newest_zxid);
    }
    return 1;
}

static int32_t background_write_all(const struct engine *e, struct strbuf *out)
{
    const struct list *const calls[] = {&e->core->sent, &e->core->queued};
    const struct list *item;
    int32_t n = 0;

    for (int i = 0; i < 2; i++) {
        for (item = calls[i]->next; item != calls[i]; item = item->next) {
            n += background_write_one(container_of(item, struct call, item.link)->plan, out);
        }
    }
    for (item = e->delayed.next; item != &e->delayed; item = item->next) {
        n += background_write_one(container_of(item, struct plan, link), out);
    }
    return n;
}

void background_write(const struct engine *e, struct strbuf *out)
{
    jute_write_int(out, background_write_all(e, NULL));
    background_write_all(e, out);
}

static int background_read_one(struct engine *e, struct jute_reader *r)
{
    int32_t kind = jute_read_int(r);
    struct bytes path = jute_read_buffer(r), id = jute_read_buffer(r);
    int32_t version = jute_read_int(r), flags = jute_read_int(r);
    int64_t newest_zxid = jute_read_long(r);
    char id_text[PLAN_ID_BYTES] = "";

    if (r->failed || path.len == 0 || id.len >= sizeof(id_text)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    memcpy(id_text, id.data, id.len);
    if (kind == CHORE_DELETE) {
        background_delete(e, path, version, flags, newest_zxid);
    } else if (kind == CHORE_UNDO && id.len > 0) {
        background_undo(e, path, id_text);
    } else {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return 0;
}

int background_read(struct engine *e, struct jute_reader *r)
{
    int32_t n = jute_read_int(r);
    int rc = r->failed || n < 0 || n > MOST_CHORES ? PAWL_ERR_BAD_ARGUMENTS : 0;

    for (int32_t i = 0; rc == 0 && i < n; i++) {
        rc = background_read_one(e, r);
    }
    return rc;
}
