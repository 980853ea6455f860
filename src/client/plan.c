/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - calls that take more than one request.
 *
 * One call object goes through one request after the other; each answer is looked at here, under
 * the lock and on whatever thread read it, and either ends the call or leads to the next request or
 * to a pause. No callback takes part, so a blocking call inside a callback works.
 *
 *   create   MAIN --no parent--> PARENT (up until one can be made, then down) --> MAIN
 *            MAIN --link lost, protected--> FIND --there--> STAT --> done
 *                                            \--not there--> MAIN
 *            MAIN --exists--> OR_SET, or READ_BACK if idempotent
 *   set      MAIN --bad version after an unsure attempt--> READ_BACK
 *   delete   MAIN --not empty--> LIST <--> BELOW ... --> MAIN */
#include "client/plan.h"

#include <stdlib.h>

#include "base/assert.h"
#include "client/engine.h"
#include "client/prepare.h"
#include "wire/path.h"

enum { BACKGROUND_PAUSE_MS = 200 };

/* ---- life ---- */

static uint8_t *put(uint8_t **at, struct bytes b)
{
    uint8_t *start = *at;

    if (b.len > 0) {
        memcpy(start, b.data, b.len);
    }
    *at += b.len + 1;
    start[b.len] = '\0';
    return start;
}

static void keep(uint8_t **at, struct bytes *b)
{
    if (!bytes_is_null(*b)) {
        b->data = put(at, *b);
    }
}

struct plan *plan_new(struct call *call, enum plan_kind kind, const struct request *main)
{
    struct plan *p = calloc(1, sizeof(*p));
    uint8_t *at;

    if (p == NULL) {
        return NULL;
    }
    list_init(&p->link);
    p->call = call;
    p->kind = kind;
    p->main = *main;
    p->main.type = call->op;
    p->store =
        malloc(main->path.len + main->data.len + main->acl.elements.len + main->multi.len +
               main->scheme.len + main->joining.len + main->leaving.len + main->members.len + 8);
    if (p->store == NULL) {
        free(p);
        return NULL;
    }
    at = (uint8_t *)p->store;
    keep(&at, &p->main.path);
    keep(&at, &p->main.data);
    keep(&at, &p->main.acl.elements);
    keep(&at, &p->main.multi);
    keep(&at, &p->main.scheme);
    keep(&at, &p->main.joining);
    keep(&at, &p->main.leaving);
    keep(&at, &p->main.members);
    call->plan = p;
    return p;
}

void plan_free(struct plan *p)
{
    if (p == NULL) {
        return;
    }
    list_remove(&p->link);
    for (size_t i = 0; i < p->depth; i++) {
        free(p->stack[i]);
    }
    free(p->stack);
    free(p->result_path);
    free(p->store);
    free(p);
}

/* ---- requests ---- */

static struct bytes parent_of_main(const struct plan *p)
{
    return path_parent(p->main.path);
}

/* The request of the stage, and its operation. */
static int32_t request_of(const struct plan *p, struct request *q)
{
    *q = (struct request){.ttl_ms = -1};
    switch (p->stage) {
    case STAGE_MAIN:
        *q = p->main;
        return p->main.type;
    case STAGE_PARENT:
        q->path = bytes_of(p->main.path.data, p->parent_len);
        q->data = bytes_of("", 0);
        q->flags = (p->flags & PAWL_CONTAINER_PARENTS) != 0 ? CREATE_CONTAINER_FLAG : 0;
        return q->flags != 0 ? OP_CREATE_CONTAINER : OP_CREATE;
    case STAGE_SYNC:
        q->path = parent_of_main(p);
        return OP_SYNC;
    case STAGE_FIND:
        q->path = parent_of_main(p);
        return OP_GET_CHILDREN;
    case STAGE_STAT:
        q->path = bytes_str(p->result_path);
        return OP_EXISTS;
    case STAGE_READ_BACK:
        q->path = p->main.path;
        return OP_GET_DATA;
    case STAGE_OR_SET:
        q->path = p->main.path;
        q->data = p->main.data;
        q->version = -1;
        return OP_SET_DATA;
    case STAGE_LIST:
        q->path = bytes_str(p->stack[p->depth - 1]);
        return OP_GET_CHILDREN;
    case STAGE_BELOW:
        q->path = bytes_str(p->stack[p->depth - 1]);
        q->version = -1;
        return OP_DELETE;
    }
    return 0;
}

static void forget_answer(struct call *call)
{
    chunk_unref(call->chunk);
    call->chunk = NULL;
    call->body = BYTES_NULL;
}

/* A parent has the ACL that it would have if it were made by itself, as in Curator: that of the
 * node may not even allow what comes next. */
static int submit_parent(struct engine *e, struct call *call, struct request *q)
{
    const struct pawl_acls none = {0};
    struct strbuf path, acl;
    int rc;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    strbuf_init(&acl, STRBUF_NO_LIMIT);
    strbuf_append_bytes(&path, q->path);
    rc = prepare_choose_acl(e, &acl, &none, strbuf_cstr(&path), &q->acl);
    rc = path.failed ? PAWL_ERR_NO_MEMORY : rc;
    rc = rc != 0 ? rc : requests_submit(e->core, call, q);
    strbuf_fini(&path);
    strbuf_fini(&acl);
    return rc;
}

/* Sends the request of the stage; when that cannot be, the call ends with the reason. */
static bool go(struct engine *e, struct plan *p, enum plan_stage stage)
{
    struct call *call = p->call;
    struct request q;
    int rc;

    p->stage = stage;
    if (stage == STAGE_MAIN) { /* a node that was found is gone again: the new one has its name */
        free(p->result_path);
        p->result_path = NULL;
    }
    forget_answer(call);
    call->op = request_of(p, &q);
    call->attempts++;
    rc = stage == STAGE_PARENT ? submit_parent(e, call, &q) : requests_submit(e->core, call, &q);
    if (rc != 0) {
        call->err = rc;
        call->outcome = p->unsure ? PAWL_OUTCOME_UNKNOWN : PAWL_OUTCOME_NOT_SENT;
    }
    return rc == 0;
}

int plan_submit(struct engine *e, struct call *call)
{
    call->plan->first_ms = machine_now_ms();
    call->plan->session_id = e->core->session_id;
    return requests_submit(e->core, call, &call->plan->main);
}

/* ---- in the background ---- */

/* A delete that nobody waits for and that goes on until it is done or the client closed. */
static void delete_in_background(struct engine *e, struct bytes path, int32_t version, int flags)
{
    struct call *call = call_new(OP_DELETE);
    struct request q = {.path = path, .version = version};
    struct plan *p = call == NULL ? NULL : plan_new(call, PLAN_DELETE, &q);

    if (p == NULL) {
        free(call);
        return;
    }
    p->flags = PAWL_IDEMPOTENT | flags;
    p->retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = BACKGROUND_PAUSE_MS};
    if (engine_submit(e, call, &q) != 0) {
        call_free(call);
    }
}

/* After giving up on a protected create: should it have happened after all, undo it. */
static void cleanup_in_background(struct engine *e, const struct plan *failed)
{
    struct call *call = call_new(OP_SYNC);
    struct request q = {.path = failed->main.path};
    struct plan *p = call == NULL ? NULL : plan_new(call, PLAN_CLEANUP, &q);

    if (p == NULL) {
        free(call);
        return;
    }
    memcpy(p->id, failed->id, sizeof(p->id));
    p->retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = BACKGROUND_PAUSE_MS};
    p->first_ms = machine_now_ms();
    if (!go(e, p, STAGE_SYNC)) {
        call_free(call);
    }
}

/* ---- retry ---- */

static bool is_link_trouble(int err)
{
    return err == PAWL_ERR_CONNECTION_LOSS || err == PAWL_ERR_SESSION_EXPIRED ||
           err == PAWL_ERR_SESSION_MOVED || err == PAWL_ERR_THROTTLED_OP;
}

/* The next server may take what a read-only one does not: who never gives up waits for it. */
static bool is_refused_for_now(const struct plan *p, int err)
{
    return err == PAWL_ERR_NOT_READ_ONLY && p->retry.kind == PAWL_RETRY_FOREVER;
}

/* Whether it may have been executed although we have no answer. */
static bool is_unsure(const struct plan *p, const struct call *call)
{
    return call->outcome == PAWL_OUTCOME_UNKNOWN && p->stage == STAGE_MAIN &&
           op_find(p->main.type)->kind == OP_KIND_WRITE;
}

/* Whether doing it twice is as good as once. */
static bool may_repeat(const struct plan *p, const struct call *call)
{
    const struct op *op = op_find(call->op);

    if (call->outcome != PAWL_OUTCOME_UNKNOWN || op->kind != OP_KIND_WRITE) {
        return true;
    }
    return p->stage != STAGE_MAIN || (p->flags & (PAWL_PROTECTED | PAWL_IDEMPOTENT)) != 0;
}

static void give_up(struct engine *e, struct plan *p)
{
    if (p->kind == PLAN_DELETE && (p->flags & PAWL_GUARANTEED) != 0 && !e->closing) {
        delete_in_background(e, p->main.path, p->main.version, p->flags & PAWL_CHILDREN_TOO);
    }
    if (p->kind == PLAN_CREATE && (p->flags & PAWL_PROTECTED) != 0 && p->unsure && !e->closing) {
        cleanup_in_background(e, p);
    }
    if (p->unsure) {
        p->call->outcome = PAWL_OUTCOME_UNKNOWN;
    }
}

/* True: it will be tried again. */
static bool retry_later(struct engine *e, struct plan *p, int64_t now_ms)
{
    struct call *call = p->call;
    bool lost_for_good;
    int64_t pause;

    if (is_unsure(p, call)) {
        p->unsure = true;
        p->session_id = e->core->session_id; /* in which it was sent: that stands until LOST */
    }
    lost_for_good = e->core->options.one_session && e->core->state == PAWL_STATE_LOST;
    pause = !may_repeat(p, call) || e->closing || lost_for_good
                ? -1
                : pawl_retry_pause(&p->retry, p->n_retries, now_ms - p->first_ms,
                                   prng_next(&e->random));
    if (pause < 0 || (call->deadline_ms != 0 && now_ms >= call->deadline_ms)) {
        give_up(e, p);
        return false;
    }
    p->n_retries++;
    p->due_ms = now_ms + pause;
    if (e->core->link == LINK_READY && call->err == PAWL_ERR_SESSION_EXPIRED) {
        p->due_ms = now_ms;
    }
    list_push_back(&e->delayed, &p->link);
    return true;
}

/* The next server may not have seen yet what the last one did: "not there" counts only behind a
 * sync. */
static enum plan_stage stage_after_pause(const struct plan *p)
{
    bool find = p->kind == PLAN_CREATE && (p->flags & PAWL_PROTECTED) != 0 && p->unsure &&
                p->stage == STAGE_MAIN;

    return find || p->stage == STAGE_FIND || p->stage == STAGE_STAT ? STAGE_SYNC : p->stage;
}

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

static bool found_or_not(struct engine *e, struct plan *p)
{
    struct call *call = p->call;
    char *path = call->err == 0 ? find_protected(p, call, parent_of_main(p)) : NULL;

    if (call->err == PAWL_ERR_NO_MEMORY) {
        return false;
    }
    if (path != NULL && is_ephemeral(p) && p->session_id != e->core->session_id) {
        delete_in_background(e, bytes_str(path), -1, 0); /* of a session that is dying */
        free(path);
        path = NULL;
    }
    p->session_id = e->core->session_id;
    if (path == NULL) {
        return go(e, p, STAGE_MAIN);
    }
    free(p->result_path);
    p->result_path = path;
    return go(e, p, STAGE_STAT);
}

/* The next longer prefix of the path behind `len`. */
static size_t one_longer(struct bytes path, size_t len)
{
    const uint8_t *slash = memchr(path.data + len + 1, '/', path.len - len - 1);

    return slash == NULL ? path.len : (size_t)(slash - path.data);
}

static bool parent_made_or_not(struct engine *e, struct plan *p)
{
    int err = p->call->err;

    if (err == PAWL_ERR_NO_NODE) {
        p->parent_len = path_parent(bytes_of(p->main.path.data, p->parent_len)).len;
        return p->parent_len > 1 && go(e, p, STAGE_PARENT);
    }
    if (err != 0 && err != PAWL_ERR_NODE_EXISTS) {
        return false;
    }
    if (p->parent_len >= parent_of_main(p).len) {
        return go(e, p, STAGE_MAIN);
    }
    p->parent_len = one_longer(p->main.path, p->parent_len);
    return go(e, p, STAGE_PARENT);
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

static bool create_step(struct engine *e, struct plan *p)
{
    struct call *call = p->call;
    struct stat_record stat;
    bool parents = (p->flags & (PAWL_PARENTS | PAWL_CONTAINER_PARENTS)) != 0;

    switch (p->stage) {
    case STAGE_MAIN:
        if (call->err == PAWL_ERR_NO_NODE && parents && parent_of_main(p).len > 1) {
            p->parent_len = parent_of_main(p).len;
            return go(e, p, STAGE_PARENT);
        }
        if (call->err == PAWL_ERR_NODE_EXISTS && (p->flags & PAWL_OR_SET) != 0) {
            return go(e, p, STAGE_OR_SET);
        }
        if (call->err == PAWL_ERR_NODE_EXISTS && (p->flags & PAWL_IDEMPOTENT) != 0) {
            return go(e, p, STAGE_READ_BACK);
        }
        return false;
    case STAGE_PARENT:
        return parent_made_or_not(e, p);
    case STAGE_SYNC:
        return call->err == 0 ? go(e, p, STAGE_FIND) : false;
    case STAGE_FIND:
        return call->err == 0 || call->err == PAWL_ERR_NO_NODE ? found_or_not(e, p) : false;
    case STAGE_STAT:
        return call->err == PAWL_ERR_NO_NODE ? go(e, p, STAGE_MAIN) : false;
    case STAGE_OR_SET:
        if (call->err == PAWL_ERR_NO_NODE) {
            return go(e, p, STAGE_MAIN);
        }
        set_result_path(p);
        return false;
    case STAGE_READ_BACK:
        if (call->err == PAWL_ERR_NO_NODE) {
            return go(e, p, STAGE_MAIN);
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

static bool set_step(struct engine *e, struct plan *p)
{
    struct call *call = p->call;
    struct stat_record stat;

    if (p->stage == STAGE_MAIN) {
        return call->err == PAWL_ERR_BAD_VERSION && (p->flags & PAWL_IDEMPOTENT) != 0 &&
               go(e, p, STAGE_READ_BACK);
    }
    if (call->err == 0 &&
        (!same_data(call, p->main.data, &stat) || stat.version != p->main.version + 1)) {
        call->err = PAWL_ERR_BAD_VERSION;
        call->outcome = PAWL_OUTCOME_REFUSED;
    }
    return false;
}

/* ---- delete ---- */

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
    return go(e, p, p->depth <= 1 ? STAGE_MAIN : STAGE_BELOW);
}

static bool delete_step(struct engine *e, struct plan *p)
{
    struct call *call = p->call;

    switch (p->stage) {
    case STAGE_MAIN:
        if (call->err == PAWL_ERR_NOT_EMPTY && (p->flags & PAWL_CHILDREN_TOO) != 0) {
            if (p->depth == 0 && !push(p, p->main.path, bytes_of("", 0))) {
                call->err = PAWL_ERR_NO_MEMORY;
                return false;
            }
            return go(e, p, STAGE_LIST);
        }
        if (call->err == PAWL_ERR_NO_NODE && ((p->flags & PAWL_IDEMPOTENT) != 0 || p->depth > 0)) {
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
            return go(e, p, STAGE_LIST);
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

/* ---- all of them ---- */

static bool cleanup_step(struct engine *e, struct plan *p)
{
    char *path;

    if (p->stage == STAGE_SYNC) {
        return p->call->err == 0 && go(e, p, STAGE_FIND);
    }
    path = p->call->err == 0 ? find_protected(p, p->call, parent_of_main(p)) : NULL;
    if (path != NULL) {
        delete_in_background(e, bytes_str(path), -1, 0);
        free(path);
    }
    return false;
}

static bool step(struct engine *e, struct call *call, int64_t now_ms)
{
    struct plan *p = call->plan;

    if (is_link_trouble(call->err) || is_refused_for_now(p, call->err)) {
        return retry_later(e, p, now_ms);
    }
    if (call->err == PAWL_ERR_OPERATION_TIMEOUT) {
        p->unsure = p->unsure || call->outcome == PAWL_OUTCOME_UNKNOWN;
        give_up(e, p);
        return false;
    }
    if (call->err == PAWL_ERR_CLOSING) {
        return false;
    }
    switch (p->kind) {
    case PLAN_CREATE:
        return create_step(e, p);
    case PLAN_SET:
        return set_step(e, p);
    case PLAN_DELETE:
        return delete_step(e, p);
    case PLAN_CLEANUP:
        return cleanup_step(e, p);
    case PLAN_SIMPLE:
        break;
    }
    return false;
}

/* Whatever a later attempt was told: the earlier one may have been executed. */
bool plan_step(struct engine *e, struct call *call, int64_t now_ms)
{
    bool goes_on = step(e, call, now_ms);

    if (!goes_on && call->err != 0 && call->plan->unsure) {
        call->outcome = PAWL_OUTCOME_UNKNOWN;
    }
    return goes_on;
}

/* ---- pauses ---- */

int64_t plan_next_ms(const struct engine *e)
{
    int64_t t = INT64_MAX;
    struct list *item;

    list_for_each (item, &e->delayed) {
        const struct plan *p = container_of(item, struct plan, link);

        t = p->due_ms < t ? p->due_ms : t;
        if (p->call->deadline_ms != 0 && p->call->deadline_ms < t) {
            t = p->call->deadline_ms;
        }
    }
    return t;
}

static void end_paused(struct engine *e, struct plan *p, int err)
{
    struct call *call = p->call;

    list_remove(&p->link);
    give_up(e, p);
    call->err = err;
    call->outcome = p->unsure ? PAWL_OUTCOME_UNKNOWN : PAWL_OUTCOME_NOT_SENT;
    call->plan->flags = 0; /* all has been done that it asks for at its end */
    call->plan->kind = PLAN_SIMPLE;
    call->plan->retry.kind = PAWL_RETRY_NONE;
    list_push_back(&e->core->items, &call->item.link);
}

void plan_run_due(struct engine *e, int64_t now_ms)
{
    struct list *item, *next;

    for (item = e->delayed.next; item != &e->delayed; item = next) {
        struct plan *p = container_of(item, struct plan, link);

        next = item->next;
        if (p->call->deadline_ms != 0 && now_ms >= p->call->deadline_ms) {
            end_paused(e, p, PAWL_ERR_OPERATION_TIMEOUT);
        } else if (now_ms >= p->due_ms) {
            list_remove(item);
            if (!go(e, p, stage_after_pause(p))) {
                list_push_back(&e->core->items, &p->call->item.link);
            }
        }
    }
}

void plan_hurry(struct engine *e, int64_t now_ms)
{
    struct list *item;

    list_for_each (item, &e->delayed) {
        container_of(item, struct plan, link)->due_ms = now_ms;
    }
}

void plan_fail_all(struct engine *e, int err)
{
    while (!list_empty(&e->delayed)) {
        end_paused(e, container_of(e->delayed.next, struct plan, link), err);
    }
}

bool plan_abandon(struct engine *e, struct call *call, bool *unsure)
{
    struct plan *p = call->plan;

    p->unsure = p->unsure || (call->place == CALL_SENT && p->stage == STAGE_MAIN);
    *unsure = p->unsure;
    give_up(e, p);
    return !list_empty(&p->link);
}
