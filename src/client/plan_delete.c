/* SPDX-License-Identifier: Apache-2.0 */
/* plan_delete.c - deletes with everything below, and those that go on in the background. */
#include <stdlib.h>

#include "client/engine.h"
#include "client/plan_internal.h"

static bool push(struct plan *p, struct bytes parent, struct bytes name)
{
    size_t base = parent.len == 1 && parent.data[0] == '/' && name.len > 0 ? 0 : parent.len;
    char *path = malloc(base + name.len + 2);

    if (path != NULL && p->depth == p->room) {
        size_t room = p->room == 0 ? 16 : p->room * 2;
        char **stack = realloc(p->stack, room * sizeof(*stack));

        if (stack == NULL) {
            free(path);
            path = NULL;
        } else {
            p->stack = stack;
            p->room = room;
        }
    }
    if (path == NULL) {
        return false;
    }
    memcpy(path, parent.data, base);
    if (name.len > 0) {
        path[base] = '/';
        memcpy(path + base + 1, name.data, name.len);
        base += name.len + 1;
    }
    path[base] = '\0';
    p->stack[p->depth++] = path;
    return true;
}

static bool push_children(struct plan *p)
{
    struct jute_reader r = jute_reader_of(p->call->body);
    struct string_list names = string_list_read(&r);
    struct jute_reader each = jute_reader_of(names.elements);
    struct bytes parent = bytes_str(p->stack[p->depth - 1]);

    for (int32_t i = 0; i < names.count; i++) {
        if (!push(p, parent, jute_read_buffer(&each))) {
            p->call->err = PAWL_ERR_NO_MEMORY;
            return false;
        }
    }
    return true;
}

static bool delete_top(struct engine *e, struct plan *p)
{
    return plan_go(e, p, p->depth <= 1 ? STAGE_MAIN : STAGE_BELOW);
}

/* Whether the node that is there now was there when the delete was asked for. */
static bool is_meant(struct plan *p)
{
    struct jute_reader r = jute_reader_of(p->call->body);
    struct reply_body body;

    if (!reply_body_read(OP_EXISTS, &r, &body)) {
        return false;
    }
    if (body.stat.czxid > p->newest_zxid) {
        log_info("%.*s was made after its deletion was asked for: it stays", (int)p->main.path.len,
                 (const char *)p->main.path.data);
        return false;
    }
    p->looked = true;
    p->looked_version = p->main.version == -1 ? body.stat.version : p->main.version;
    return true;
}

bool plan_delete_step(struct engine *e, struct plan *p)
{
    struct call *call = p->call;

    switch (p->stage) {
    case STAGE_SYNC:
        return call->err == 0 && plan_go(e, p, STAGE_LOOK);
    case STAGE_LOOK:
        return call->err == 0 && is_meant(p) && plan_go(e, p, STAGE_MAIN);
    case STAGE_MAIN:
        if (call->err == PAWL_ERR_BAD_VERSION && p->looked && p->main.version == -1) {
            return plan_go(e, p, STAGE_SYNC); /* it has changed since we looked */
        }
        if (call->err == PAWL_ERR_NOT_EMPTY && (p->flags & PAWL_OP_CHILDREN_TOO) != 0) {
            if (p->depth == 0 && !push(p, p->main.path, bytes_of("", 0))) {
                call->err = PAWL_ERR_NO_MEMORY;
                return false;
            }
            return plan_go(e, p, STAGE_LIST);
        }
        if (call->err == PAWL_ERR_NO_NODE &&
            ((p->flags & PAWL_OP_IDEMPOTENT) != 0 || p->depth > 0)) {
            call->err = 0;
            call->outcome = PAWL_OUTCOME_DONE;
        }
        return false;
    case STAGE_LIST:
        if (call->err == PAWL_ERR_NO_NODE) {
            return delete_top(e, p);
        }
        return call->err == 0 && push_children(p) && delete_top(e, p);
    case STAGE_BELOW:
        if (call->err == PAWL_ERR_NOT_EMPTY) {
            return plan_go(e, p, STAGE_LIST);
        }
        if (call->err != 0 && call->err != PAWL_ERR_NO_NODE) {
            return false;
        }
        free(p->stack[--p->depth]);
        return delete_top(e, p);
    default:
        return false;
    }
}
