/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_drive.c - how it is made again whenever it is gone.
 *
 *           made, or it exists: our data set          deleted, session ended
 *   CREATE ------------------------------> WATCHING --------------------------> CREATE
 *      |  \                                    ^  exists says: not there
 *      |   \ refused -> FAILED                 |
 *      +----- link trouble: a pause -----------+
 *
 * One request is under way at a time. New data only mark the node as unwritten; whoever finishes
 * looks what is to be done next. */
#include <stdlib.h>

#include "recipes/node/persistent_node.h"

enum { PAUSE_MS = 200 };

/* ---- telling ---- */

enum pawl_persistent_state persistent_state(const struct pawl_persistent_node *n)
{
    return n->failed != 0 ? PAWL_PERSISTENT_FAILED
           : n->there     ? PAWL_PERSISTENT_THERE
                          : PAWL_PERSISTENT_ABSENT;
}

void persistent_tell(struct pawl_persistent_node *n)
{
    if (persistent_state(n) != PAWL_PERSISTENT_ABSENT) {
        ask_end_all(&n->waiting, n->failed);
    }
    if (n->o.on_change != NULL && !n->r.freed) {
        recipe_post(&n->r, &n->note);
    }
}

void persistent_run_note(void *node)
{
    struct pawl_persistent_node *n = node;
    enum pawl_persistent_state state;

    recipe_note_begin(&n->r);
    state = persistent_state(n);
    if (!n->r.freed && (state != n->told || n->failed != n->told_err)) {
        n->told = state;
        n->told_err = n->failed;
        recipe_calling(&n->r);
        n->o.on_change(n, state, n->failed, n->o.on_change_arg);
        recipe_called(&n->r);
    }
    recipe_note_end(&n->r);
}

/* ---- trouble ---- */

static void pause_then_go_on(struct pawl_persistent_node *n)
{
    if (!n->r.freed && !n->closed) {
        timer_set(n->r.e, &n->again, machine_now_ms() + PAUSE_MS);
    }
}

/* What trying again does not change. A parent that we make can be gone again for a moment. */
static bool is_final(const struct pawl_persistent_node *n, int err)
{
    switch (err) {
    case PAWL_ERR_NO_NODE:
        return n->o.no_parents;
    case PAWL_ERR_NO_AUTH:
    case PAWL_ERR_INVALID_ACL:
    case PAWL_ERR_BAD_ARGUMENTS:
    case PAWL_ERR_UNIMPLEMENTED:
    case PAWL_ERR_NO_CHILDREN_FOR_EPHEMERALS:
    case PAWL_ERR_QUOTA_EXCEEDED:
    case PAWL_ERR_TOO_LARGE:
    case PAWL_ERR_EPHEMERAL_ON_LOCAL_SESSION:
        return true;
    default:
        return false;
    }
}

static void is_over(struct pawl_persistent_node *n, int err)
{
    n->closed = err;
    ask_end_all(&n->waiting, err);
}

static void stumbled(struct pawl_persistent_node *n, int err)
{
    if (recipe_is_over(&n->r, err)) {
        is_over(n, err);
    } else if (is_final(n, err)) {
        n->failed = err;
        persistent_tell(n);
    } else {
        pause_then_go_on(n);
    }
}

/* ---- watching ---- */

void persistent_event(const struct pawl_event *event, void *node)
{
    struct pawl_persistent_node *n = node;

    if (event->type == PAWL_EVENT_DELETED) {
        n->there = false;
        persistent_tell(n);
    }
    if (!n->r.freed && event->state != PAWL_STATE_CLOSED) {
        persistent_go_on(n); /* foreign data: only watched again */
    }
}

static void persistent_unwatch(struct pawl_persistent_node *n)
{
    recipe_unwatch(&n->r, &n->watch, n->path, PAWL_WATCHES_DATA);
}

/* Not there: the watch waits for a creation that will be ours. */
static void exists_done(const struct pawl_reply *reply, void *node)
{
    struct pawl_persistent_node *n = node;

    n->busy = false;
    if (n->r.freed) {
        persistent_unwatch(n);
    } else if (recipe_was_done(reply) || reply->err == PAWL_ERR_NO_NODE) {
        n->there = reply->err != PAWL_ERR_NO_NODE;
        persistent_go_on(n);
    } else {
        stumbled(n, reply->err);
    }
    recipe_unref(&n->r);
}

static int send_exists(struct pawl_persistent_node *n)
{
    return pawl_exists_async(n->r.client, n->path, &n->watch.ask, exists_done, n);
}

/* ---- making ---- */

static void persistent_delete(struct pawl_persistent_node *n, const char *path)
{
    if (!persistent_is_ttl(n->o.mode) && path != NULL) {
        (void)pawl_delete_async(
            n->r.client,
            PAWL_DELETE(.path = path, .flags = PAWL_OP_GUARANTEED | PAWL_OP_IDEMPOTENT), NULL,
            NULL);
    }
}

static void persistent_created(struct pawl_persistent_node *n, const char *path)
{
    if (n->path == NULL) {
        n->path = recipe_copy(path);
        n->touch = n->path == NULL ? NULL : recipe_join(n->path, "touch");
        if (n->touch == NULL) {
            free(n->path);
            n->path = NULL;
            persistent_delete(n, path);
            pause_then_go_on(n);
            return;
        }
    }
    n->there = true;
    n->uncertain = false;
    n->failed = 0;
    persistent_tell(n);
    persistent_go_on(n);
}

/* It may have been made. Only a name that we chose ourselves tells which one it is; one with an id
 * in it the client looks for. */
static void delete_uncertain(struct pawl_persistent_node *n)
{
    if (n->path != NULL || (!persistent_is_sequential(n->o.mode) && !n->o.is_protected)) {
        persistent_delete(n, n->path != NULL ? n->path : n->base);
    }
}

static bool may_be_made(const struct pawl_reply *reply)
{
    return recipe_was_done(reply) || reply->outcome == PAWL_OUTCOME_UNKNOWN;
}

static void create_done(const struct pawl_reply *reply, void *node)
{
    struct pawl_persistent_node *n = node;

    n->busy = false;
    if (n->r.freed) {
        if (reply->err == 0) {
            persistent_delete(n, reply->path);
        } else if (may_be_made(reply)) {
            delete_uncertain(n);
        }
    } else if (reply->err == 0) {
        persistent_created(n, reply->path);
    } else if (reply->err == PAWL_ERR_NODE_EXISTS) {
        n->unwritten = true;
        persistent_created(n, n->path != NULL ? n->path : n->base);
    } else {
        n->unwritten = true;
        n->uncertain = n->uncertain || may_be_made(reply);
        stumbled(n, reply->err);
    }
    recipe_unref(&n->r);
}

/* The first time the server may choose the name; after that it is the same for ever. */
static int persistent_send_create(struct pawl_persistent_node *n)
{
    bool first = n->path == NULL;
    int parents = n->o.no_parents ? 0 : PAWL_OP_CONTAINER_PARENTS;

    n->unwritten = false; /* as soon as it is there */
    return pawl_create_async(
        n->r.client,
        PAWL_CREATE(.path = first ? n->base : n->path, .data = {n->data, n->data_len},
                    .mode = first ? n->o.mode : persistent_without_sequence(n->o.mode),
                    .ttl_ms = n->o.ttl_ms, .acls = n->o.acls,
                    .flags = parents | (first && n->o.is_protected ? PAWL_OP_PROTECTED : 0)),
        create_done, n);
}

/* ---- writing ---- */

static void set_done(const struct pawl_reply *reply, void *node)
{
    struct pawl_persistent_node *n = node;

    n->busy = false;
    if (reply->err == PAWL_ERR_NO_NODE) {
        n->there = false;
    } else if (reply->err != 0) {
        n->unwritten = true;
    }
    if (!n->r.freed) {
        if (reply->err == 0 || reply->err == PAWL_ERR_NO_NODE) {
            persistent_go_on(n);
        } else {
            stumbled(n, reply->err);
        }
    }
    recipe_unref(&n->r);
}

static int persistent_send_set(struct pawl_persistent_node *n)
{
    n->unwritten = false;
    return pawl_set_async(
        n->r.client,
        PAWL_SET(.path = n->path, .data = {n->data, n->data_len}, .flags = PAWL_OP_IDEMPOTENT),
        set_done, n);
}

/* ---- what is to be done next ---- */

void persistent_go_on(void *node)
{
    struct pawl_persistent_node *n = node;
    int rc;

    if (n->busy || n->closed || n->r.freed || n->failed != 0) {
        return;
    }
    timer_clear(n->r.e, &n->again);
    if (!n->there) {
        rc = persistent_send_create(n);
    } else if (!step_watch_is_set(&n->watch)) {
        rc = send_exists(n);
    } else if (n->unwritten) {
        rc = persistent_send_set(n);
    } else {
        return;
    }
    if (rc == 0) {
        n->busy = true;
        recipe_ref(&n->r);
    } else {
        n->unwritten = true;
        stumbled(n, rc);
    }
}

/* A refusal may have been of the old session only: its credentials, its local kind. */
void persistent_state_changed(enum pawl_state state, void *node)
{
    struct pawl_persistent_node *n = node;

    if (state == PAWL_STATE_CLOSED) {
        is_over(n, PAWL_ERR_CLOSING);
    } else if (state == PAWL_STATE_LOST) {
        n->failed = 0;
        n->there = n->there && !persistent_is_ephemeral(n->o.mode);
        n->uncertain = n->uncertain && !persistent_is_ephemeral(n->o.mode);
        persistent_tell(n);
        if (recipe_is_over(&n->r, PAWL_ERR_SESSION_EXPIRED)) {
            is_over(n, PAWL_ERR_SESSION_EXPIRED);
        }
    } else if (state == PAWL_STATE_CONNECTED || state == PAWL_STATE_RECONNECTED) {
        persistent_go_on(n);
    }
}

/* Repeated later, on another link, it would hit the node of whoever comes after us. */
static void make_no_other_attempt(struct pawl_persistent_node *n)
{
    if (n->busy) {
        step_withdraw(n->r.e, set_done, n);
        step_withdraw(n->r.e, create_done, n);
    }
}

void persistent_let_go(struct pawl_persistent_node *n)
{
    make_no_other_attempt(n);
    persistent_unwatch(n);
    if (n->there) {
        persistent_delete(n, n->path);
    } else if (n->uncertain) {
        delete_uncertain(n);
    }
}
