/* SPDX-License-Identifier: Apache-2.0 */
/* plan_create.c - creates with parents, protected names or second thoughts; idempotent sets. */
#include <stdlib.h>

#include "client/background.h"
#include "client/engine.h"
#include "client/plan_internal.h"
#include "wire/path.h"

/* ---- create ---- */

static bool is_ephemeral(const struct plan *p)
{
    return p->main.flags == CREATE_EPHEMERAL || p->main.flags == CREATE_EPHEMERAL_SEQUENTIAL;
}

/* The child that carries our id, as a whole path; NULL: none. */
static char *find_protected(const struct plan *p, struct call *call, struct bytes parent)
{
    struct jute_reader r = jute_reader_of(call->body);
    struct string_list names = string_list_read(&r);
    struct jute_reader each = jute_reader_of(names.elements);
    size_t id_len = strlen(p->id);

    for (int32_t i = 0; i < names.count; i++) {
        struct bytes name = jute_read_buffer(&each);
        size_t base = parent.len == 1 ? 0 : parent.len;
        char *path;

        if (name.len <= id_len || memcmp(name.data, p->id, id_len) != 0 ||
            name.data[id_len] != '-') {
            continue;
        }
        path = malloc(base + name.len + 2);
        if (path == NULL) {
            call->err = PAWL_ERR_NO_MEMORY; /* which is not the same as "not there" */
            return NULL;
        }
        memcpy(path, parent.data, base);
        path[base] = '/';
        memcpy(path + base + 1, name.data, name.len);
        path[base + 1 + name.len] = '\0';
        return path;
    }
    return NULL;
}

/* Whether it is there cannot be told now, and perhaps not soon: the caller hears so, and the node
 * is not left behind. */
static bool search_failed(struct engine *e, struct plan *p)
{
    background_take_over(e, p);
    return false;
}

static bool found_or_not(struct engine *e, struct plan *p)
{
    struct call *call = p->call;
    char *path = call->err == 0 ? find_protected(p, call, plan_parent(p)) : NULL;

    if (call->err == PAWL_ERR_NO_MEMORY) {
        return search_failed(e, p);
    }
    if (path != NULL && is_ephemeral(p) && p->session_id != e->core->session_id) {
        background_delete(e, bytes_str(path), -1, 0, INT64_MAX); /* of a session that is dying */
        free(path);
        path = NULL;
    }
    p->session_id = e->core->session_id;
    if (path == NULL) {
        return plan_go(e, p, STAGE_MAIN);
    }
    free(p->result_path);
    p->result_path = path;
    return plan_go(e, p, STAGE_STAT);
}

/* The next longer prefix of the path behind `len`. */
static size_t one_longer(struct bytes path, size_t len)
{
    const uint8_t *slash = memchr(path.data + len + 1, '/', path.len - len - 1);

    return slash == NULL ? path.len : (size_t)(slash - path.data);
}

/* The chroot is not ours to make: it is missing by somebody's mistake, or not there yet. */
static bool may_make(const struct plan *p, size_t parent_len)
{
    return parent_len > 1 && parent_len > p->chroot_len;
}

static bool parent_made_or_not(struct engine *e, struct plan *p)
{
    int err = p->call->err;

    if (err == PAWL_ERR_NO_NODE) {
        p->parent_len = path_parent(bytes_of(p->main.path.data, p->parent_len)).len;
        return may_make(p, p->parent_len) && plan_go(e, p, STAGE_PARENT);
    }
    if (err != 0 && err != PAWL_ERR_NODE_EXISTS) {
        return false;
    }
    if (p->parent_len >= plan_parent(p).len) {
        return plan_go(e, p, STAGE_MAIN);
    }
    p->parent_len = one_longer(p->main.path, p->parent_len);
    return plan_go(e, p, STAGE_PARENT);
}

static bool set_result_path(struct plan *p)
{
    free(p->result_path);
    p->result_path = malloc(p->main.path.len + 1);
    if (p->result_path == NULL) {
        p->call->err = PAWL_ERR_NO_MEMORY;
        return false;
    }
    memcpy(p->result_path, p->main.path.data, p->main.path.len + 1);
    return true;
}

static bool same_data(const struct call *call, struct bytes expected, struct stat_record *stat)
{
    struct jute_reader r = jute_reader_of(call->body);
    struct reply_body body;

    if (!reply_body_read(OP_GET_DATA, &r, &body)) {
        return false;
    }
    *stat = body.stat;
    return bytes_equal(body.data, expected);
}

bool plan_create_step(struct engine *e, struct plan *p)
{
    struct call *call = p->call;
    struct stat_record stat;
    bool parents = (p->flags & (PAWL_OP_PARENTS | PAWL_OP_CONTAINER_PARENTS)) != 0;

    switch (p->stage) {
    case STAGE_MAIN:
        if (call->err == PAWL_ERR_NO_NODE && parents && may_make(p, plan_parent(p).len)) {
            p->parent_len = plan_parent(p).len;
            return plan_go(e, p, STAGE_PARENT);
        }
        if (call->err == PAWL_ERR_NODE_EXISTS && (p->flags & PAWL_OP_OR_SET) != 0) {
            return plan_go(e, p, STAGE_OR_SET);
        }
        if (call->err == PAWL_ERR_NODE_EXISTS && (p->flags & PAWL_OP_IDEMPOTENT) != 0) {
            return plan_go(e, p, STAGE_READ_BACK);
        }
        return false;
    case STAGE_PARENT:
        return parent_made_or_not(e, p);
    case STAGE_SYNC:
        return (call->err == 0 && plan_go(e, p, STAGE_FIND)) || search_failed(e, p);
    case STAGE_FIND:
        return call->err == 0 || call->err == PAWL_ERR_NO_NODE ? found_or_not(e, p)
                                                               : search_failed(e, p);
    case STAGE_STAT:
        return call->err == PAWL_ERR_NO_NODE ? plan_go(e, p, STAGE_MAIN) : false;
    case STAGE_OR_SET:
        if (call->err == PAWL_ERR_NO_NODE) {
            return plan_go(e, p, STAGE_MAIN);
        }
        set_result_path(p);
        return false;
    case STAGE_READ_BACK:
        if (call->err == PAWL_ERR_NO_NODE) {
            return plan_go(e, p, STAGE_MAIN);
        }
        if (call->err == 0 && (!same_data(call, p->main.data, &stat) || stat.version != 0)) {
            call->err = PAWL_ERR_NODE_EXISTS;
            call->outcome = PAWL_OUTCOME_REFUSED;
        } else {
            set_result_path(p);
        }
        return false;
    default:
        return false;
    }
}

/* ---- set ---- */

bool plan_set_step(struct engine *e, struct plan *p)
{
    struct call *call = p->call;
    struct stat_record stat;

    if (p->stage == STAGE_MAIN) {
        return call->err == PAWL_ERR_BAD_VERSION && (p->flags & PAWL_OP_IDEMPOTENT) != 0 &&
               plan_go(e, p, STAGE_READ_BACK);
    }
    if (call->err == 0 &&
        (!same_data(call, p->main.data, &stat) || stat.version != p->main.version + 1)) {
        call->err = PAWL_ERR_BAD_VERSION;
        call->outcome = PAWL_OUTCOME_REFUSED;
    }
    return false;
}

/* ---- undoing ---- */

bool plan_undo_step(struct engine *e, struct plan *p)
{
    char *path;

    if (p->stage == STAGE_SYNC) {
        return p->call->err == 0 && plan_go(e, p, STAGE_FIND);
    }
    path = p->call->err == 0 ? find_protected(p, p->call, plan_parent(p)) : NULL;
    if (path != NULL) {
        background_delete(e, bytes_str(path), -1, 0, INT64_MAX);
        free(path);
    }
    return false;
}
