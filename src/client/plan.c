/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - calls that take more than one request.
 *
 * One call object goes through one request after the other; each answer is looked at here, under
 * the lock and on whatever thread read it, and either ends the call or leads to the next request or
 * to a pause. No callback takes part, so a blocking call inside a callback works.
 *
 *   create   MAIN --no parent--> PARENT (up until one can be made, then down) --> MAIN
 *            MAIN --link lost, protected--> FIND --there--> STAT --> done
 *                                            |--not there--> MAIN
 *                                            \--no telling--> undone in the background
 *            MAIN --exists--> OR_SET, or READ_BACK if idempotent
 *   set      MAIN --bad version after an unsure attempt--> READ_BACK
 *   delete   MAIN --not empty--> LIST <--> BELOW ... --> MAIN
 *            in the background: SYNC --> LOOK --the node that was meant--> MAIN
 *   undoing  in the background: SYNC --> FIND --there--> a delete in the background */
#include "client/plan.h"

#include <stdlib.h>

#include "base/assert.h"
#include "client/background.h"
#include "client/engine.h"
#include "client/plan_internal.h"
#include "client/prepare.h"
#include "wire/path.h"

enum { PERMISSION_PAUSE_MOST_MS = 60000 };

/* ---- life ---- */

static uint8_t *plan_put(uint8_t **at, struct bytes b)
{
    uint8_t *start = *at;

    if (b.len > 0) {
        memcpy(start, b.data, b.len);
    }
    *at += b.len + 1;
    start[b.len] = '\0';
    return start;
}

static void plan_keep(uint8_t **at, struct bytes *b)
{
    if (!bytes_is_null(*b)) {
        b->data = plan_put(at, *b);
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
    plan_keep(&at, &p->main.path);
    plan_keep(&at, &p->main.data);
    plan_keep(&at, &p->main.acl.elements);
    plan_keep(&at, &p->main.multi);
    plan_keep(&at, &p->main.scheme);
    plan_keep(&at, &p->main.joining);
    plan_keep(&at, &p->main.leaving);
    plan_keep(&at, &p->main.members);
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

struct bytes plan_parent(const struct plan *p)
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
        q->version = p->looked ? p->looked_version : p->main.version;
        return p->main.type;
    case STAGE_PARENT:
        q->path = bytes_of(p->main.path.data, p->parent_len);
        q->data = bytes_of("", 0);
        q->flags = (p->flags & PAWL_OP_CONTAINER_PARENTS) != 0 ? CREATE_CONTAINER_FLAG : 0;
        return q->flags != 0 ? OP_CREATE_CONTAINER : OP_CREATE;
    case STAGE_SYNC:
        q->path = plan_parent(p);
        return OP_SYNC;
    case STAGE_FIND:
        q->path = plan_parent(p);
        return OP_GET_CHILDREN;
    case STAGE_STAT:
        q->path = bytes_str(p->result_path);
        return OP_EXISTS;
    case STAGE_READ_BACK:
        q->path = p->main.path;
        return OP_GET_DATA;
    case STAGE_LOOK:
        q->path = p->main.path;
        return OP_EXISTS;
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

/* Nothing of its own has left us now. */
static enum pawl_outcome plan_failed_unsent(const struct plan *p)
{
    return p->touched ? PAWL_OUTCOME_UNKNOWN : PAWL_OUTCOME_NOT_SENT;
}

bool plan_go(struct engine *e, struct plan *p, enum plan_stage stage)
{
    struct call *call = p->call;
    struct request q;
    int rc;

    p->stage = stage;
    p->looked = p->looked && stage != STAGE_SYNC;
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
        call->outcome = plan_failed_unsent(p);
    }
    return rc == 0;
}

int plan_submit(struct engine *e, struct call *call)
{
    call->plan->first_ms = machine_now_ms();
    call->plan->session_id = e->core->session_id;
    call->plan->newest_zxid = e->core->newest_zxid;
    return requests_submit(e->core, call, &call->plan->main);
}

static bool plan_is_link_trouble(int err)
{
    return err == PAWL_ERR_CONNECTION_LOSS || err == PAWL_ERR_SESSION_EXPIRED ||
           err == PAWL_ERR_SESSION_MOVED || err == PAWL_ERR_THROTTLED_OP;
}

/* The next server may take what a read-only one does not: who never gives up waits for it. */
static bool is_refused_for_now(const struct plan *p, int err)
{
    return err == PAWL_ERR_NOT_READ_ONLY && p->retry.kind == PAWL_RETRY_FOREVER;
}

/* What the request that has just ended, or that nobody waits for any more, may have done. */
static void plan_note_effect(struct engine *e, struct plan *p, bool executed, bool unsure)
{
    if (op_find(p->call->op)->kind != OP_KIND_WRITE) {
        return;
    }
    p->touched = p->touched || executed || unsure;
    if (unsure && p->stage == STAGE_MAIN) {
        p->unsure = true;
        p->session_id = e->core->session_id; /* in which it was sent: that stands until LOST */
    }
}

/* Whether doing it twice is as good as once. */
static bool may_repeat(const struct plan *p, const struct call *call)
{
    const struct op *op = op_find(call->op);

    if (call->outcome != PAWL_OUTCOME_UNKNOWN || op->kind != OP_KIND_WRITE) {
        return true;
    }
    return (p->stage != STAGE_MAIN && p->stage != STAGE_OR_SET) ||
           (p->flags & (PAWL_OP_PROTECTED | PAWL_OP_IDEMPOTENT)) != 0;
}

static void give_up(struct engine *e, struct plan *p)
{
    if (!p->in_background) {
        background_take_over(e, p);
    }
}

/* True: it will be tried again. */
static bool retry_later(struct engine *e, struct plan *p, int64_t now_ms)
{
    struct call *call = p->call;
    bool lost_for_good;
    int64_t pause;

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

/* Nobody waits for it, so it can wait for a permission that somebody may give back; but not longer
 * than the session lives, with which its ephemeral nodes go. */
static bool waits_for_permission(const struct engine *e, const struct plan *p)
{
    return p->in_background && p->call->err == PAWL_ERR_NO_AUTH &&
           p->session_id == e->core->session_id;
}

static bool ask_permission_later(struct engine *e, struct plan *p, int64_t now_ms)
{
    bool goes_on = retry_later(e, p, now_ms);
    bool far = p->retry.pause_ms > PERMISSION_PAUSE_MOST_MS / 2;

    p->retry.pause_ms = far ? PERMISSION_PAUSE_MOST_MS : 2 * p->retry.pause_ms;
    return goes_on;
}

/* The next server may not have seen yet what the last one did: "not there" counts only behind a
 * sync. */
static enum plan_stage stage_after_pause(const struct plan *p)
{
    bool find = p->kind == PLAN_CREATE && (p->flags & PAWL_OP_PROTECTED) != 0 && p->unsure &&
                p->stage == STAGE_MAIN;

    bool look = p->in_background && p->newest_zxid != INT64_MAX && p->stage == STAGE_MAIN;

    return find || look || p->stage == STAGE_FIND || p->stage == STAGE_STAT ||
                   p->stage == STAGE_LOOK
               ? STAGE_SYNC
               : p->stage;
}

/* ---- all of them ---- */

static bool plan_look_at_answer(struct engine *e, struct call *call, int64_t now_ms)
{
    struct plan *p = call->plan;

    if (plan_is_link_trouble(call->err) || is_refused_for_now(p, call->err)) {
        return retry_later(e, p, now_ms);
    }
    if (waits_for_permission(e, p)) {
        return ask_permission_later(e, p, now_ms);
    }
    if (call->err == PAWL_ERR_OPERATION_TIMEOUT) {
        give_up(e, p);
        return false;
    }
    if (call->err == PAWL_ERR_CLOSING) {
        return false;
    }
    switch (p->kind) {
    case PLAN_CREATE:
        return plan_create_step(e, p);
    case PLAN_SET:
        return plan_set_step(e, p);
    case PLAN_DELETE:
        return plan_delete_step(e, p);
    case PLAN_CLEANUP:
        return plan_undo_step(e, p);
    case PLAN_SIMPLE:
        break;
    }
    return false;
}

/* REFUSED and NOT_SENT mean that nothing has changed: they are not for a call that has done part of
 * what it was to do, or may have, be it in an earlier attempt. */
bool plan_step(struct engine *e, struct call *call, int64_t now_ms)
{
    bool goes_on;

    plan_note_effect(e, call->plan, call->err == 0, call->outcome == PAWL_OUTCOME_UNKNOWN);
    goes_on = plan_look_at_answer(e, call, now_ms);
    if (!goes_on && call->err != 0 && call->plan->touched) {
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

void plan_is_last_attempt(struct plan *p)
{
    p->retry.kind = PAWL_RETRY_NONE;
}

static void end_paused(struct engine *e, struct plan *p, int err)
{
    struct call *call = p->call;

    list_remove(&p->link);
    give_up(e, p);
    call->err = err;
    call->outcome = plan_failed_unsent(p);
    call->plan->flags = 0; /* all has been done that it asks for at its end */
    call->plan->kind = PLAN_SIMPLE;
    plan_is_last_attempt(p);
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
            if (!plan_go(e, p, stage_after_pause(p))) {
                list_push_back(&e->core->items, &p->call->item.link);
            }
        }
    }
}

bool plan_withdraw_paused(struct engine *e, pawl_reply_fn done, const void *arg)
{
    struct list *item;

    list_for_each (item, &e->delayed) {
        struct plan *p = container_of(item, struct plan, link);

        if (p->call->done == done && p->call->arg == arg) {
            end_paused(e, p, PAWL_ERR_OPERATION_TIMEOUT);
            return p->touched;
        }
    }
    return true;
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

bool plan_abandon(struct engine *e, struct call *call, bool *touched)
{
    struct plan *p = call->plan;

    plan_note_effect(e, p, false, requests_is_underway(e->core, call));
    *touched = p->touched;
    give_up(e, p);
    return !list_empty(&p->link);
}
