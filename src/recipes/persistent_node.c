/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_node.c - a node that is made again whenever it is gone.
 *
 *           made, or it exists: our data set          deleted, session ended
 *   CREATE ------------------------------> WATCHING --------------------------> CREATE
 *      |  \                                    ^  exists says: not there
 *      |   \ refused -> FAILED                 |
 *      +----- link trouble: a pause -----------+
 *
 * One request is under way at a time. New data only mark the node as unwritten; whoever finishes
 * looks what is to be done next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/beacon.h"
#include "client/prepare.h"
#include "pawl/group.h"
#include "recipes/recipe.h"

enum { PAUSE_MS = 200, IDENTITY_BYTES = 256 };

struct persistent_wait {
    struct list link;
    struct waiter waiter;
    int err;
};

struct pawl_persistent_node {
    struct recipe r;
    struct pawl_persistent_options o;
    char *base, *data;
    size_t data_len;
    char *acl_store;
    char *path;     /* as the server named it; NULL: never made */
    char *touch;    /* of PAWL_TTL */
    bool there;     /* made or found, and nothing to the contrary heard since */
    bool watched;   /* our one-shot watch is set */
    bool unwritten; /* the node does not have our data yet */
    bool busy;      /* a request is under way */
    bool touching, closed;
    int failed; /* why it cannot be made */
    enum pawl_persistent_state told;
    int told_err;
    struct note note;
    struct timer again, touch_timer;
    struct observer observer;
    struct list waiting; /* struct persistent_wait */
};

static void go_on(struct pawl_persistent_node *n);

/* ---- modes ---- */

static enum pawl_mode without_sequence(enum pawl_mode mode)
{
    return mode == PAWL_SEQUENTIAL             ? PAWL_PERSISTENT
           : mode == PAWL_EPHEMERAL_SEQUENTIAL ? PAWL_EPHEMERAL
           : mode == PAWL_TTL_SEQUENTIAL       ? PAWL_TTL
                                               : mode;
}

static bool is_sequential(enum pawl_mode mode)
{
    return without_sequence(mode) != mode;
}

static bool is_ephemeral(enum pawl_mode mode)
{
    return without_sequence(mode) == PAWL_EPHEMERAL;
}

static bool is_ttl(enum pawl_mode mode)
{
    return without_sequence(mode) == PAWL_TTL;
}

/* ---- telling ---- */

static enum pawl_persistent_state state_of(const struct pawl_persistent_node *n)
{
    return n->failed != 0 ? PAWL_PERSISTENT_FAILED
           : n->there     ? PAWL_PERSISTENT_THERE
                          : PAWL_PERSISTENT_ABSENT;
}

static void wake_waiting(struct pawl_persistent_node *n, int err)
{
    struct list *link;

    while ((link = list_pop_front(&n->waiting)) != NULL) {
        struct persistent_wait *w = container_of(link, struct persistent_wait, link);

        w->err = err;
        waiter_finish(n->r.e, &w->waiter);
    }
}

static void tell(struct pawl_persistent_node *n)
{
    if (state_of(n) != PAWL_PERSISTENT_ABSENT) {
        wake_waiting(n, n->failed);
    }
    if (n->o.on_change != NULL && !n->r.freed) {
        recipe_post(&n->r, &n->note);
    }
}

static void run_note(void *node)
{
    struct pawl_persistent_node *n = node;
    enum pawl_persistent_state state;

    recipe_note_begin(&n->r);
    state = state_of(n);
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

static void pause_over(void *node)
{
    go_on(node);
}

static void pause_then_go_on(struct pawl_persistent_node *n)
{
    if (!n->r.freed && !n->closed) {
        timer_set(n->r.e, &n->again, recipe_now_ms() + PAUSE_MS);
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

static void stumbled(struct pawl_persistent_node *n, int err)
{
    if (err == PAWL_ERR_CLOSING) {
        n->closed = true;
    } else if (is_final(n, err)) {
        n->failed = err;
        tell(n);
    } else {
        pause_then_go_on(n);
    }
}

/* ---- watching ---- */

static void watch_event(const struct pawl_event *event, void *node)
{
    struct pawl_persistent_node *n = node;

    n->watched = false;
    if (event->type == PAWL_EVENT_DELETED) {
        n->there = false;
        tell(n);
    }
    if (!n->r.freed && event->state != PAWL_STATE_CLOSED) {
        go_on(n); /* foreign data: only watched again */
    }
    recipe_unref(&n->r);
}

static void unwatch(struct pawl_persistent_node *n)
{
    struct pawl_watch watch = {watch_event, n};

    if (n->watched) {
        (void)pawl_unwatch_async(n->r.client, n->path, PAWL_WATCHES_DATA | PAWL_WATCHES_LOCAL,
                                 &watch, NULL, NULL);
    }
}

/* Not there: the watch waits for a creation that will be ours. */
static void exists_done(const struct pawl_reply *reply, void *node)
{
    struct pawl_persistent_node *n = node;

    n->busy = false;
    if (recipe_was_done(reply) || reply->err == PAWL_ERR_NO_NODE) {
        n->watched = true;
        n->there = reply->err != PAWL_ERR_NO_NODE;
        recipe_ref(&n->r);
    }
    if (n->r.freed) {
        unwatch(n);
    } else if (!n->watched) {
        stumbled(n, reply->err);
    } else {
        go_on(n);
    }
    recipe_unref(&n->r);
}

static int send_exists(struct pawl_persistent_node *n)
{
    struct pawl_watch watch = {watch_event, n};

    return pawl_exists_async(n->r.client, n->path, &watch, exists_done, n);
}

/* ---- making ---- */

/* It is not ours any more when it comes to be after _free(). */
static void delete_node(struct pawl_persistent_node *n, const char *path)
{
    if (!is_ttl(n->o.mode) && path != NULL) {
        (void)pawl_delete_async(
            n->r.client, PAWL_DELETE(.path = path, .flags = PAWL_GUARANTEED | PAWL_IDEMPOTENT),
            NULL, NULL);
    }
}

static void created(struct pawl_persistent_node *n, const char *path)
{
    if (n->path == NULL) {
        n->path = recipe_copy(path);
        n->touch = n->path == NULL ? NULL : recipe_join(n->path, "touch");
        if (n->touch == NULL) {
            free(n->path);
            n->path = NULL;
            delete_node(n, path);
            pause_then_go_on(n);
            return;
        }
    }
    n->there = true;
    n->failed = 0;
    tell(n);
    go_on(n);
}

static void create_done(const struct pawl_reply *reply, void *node)
{
    struct pawl_persistent_node *n = node;

    n->busy = false;
    if (n->r.freed) {
        if (reply->err == 0) {
            delete_node(n, reply->path);
        } else if (reply->outcome == PAWL_OUTCOME_UNKNOWN && !n->o.is_protected) {
            delete_node(n, n->path != NULL ? n->path : n->base);
        }
    } else if (reply->err == 0) {
        created(n, reply->path);
    } else if (reply->err == PAWL_ERR_NODE_EXISTS) {
        n->unwritten = true;
        created(n, n->path != NULL ? n->path : n->base);
    } else {
        n->unwritten = true;
        stumbled(n, reply->err);
    }
    recipe_unref(&n->r);
}

/* The first time the server may choose the name; after that it is the same for ever. */
static int send_create(struct pawl_persistent_node *n)
{
    bool first = n->path == NULL;
    int parents = n->o.no_parents ? 0 : PAWL_CONTAINER_PARENTS;

    n->unwritten = false; /* as soon as it is there */
    return pawl_create_async(
        n->r.client,
        PAWL_CREATE(.path = first ? n->base : n->path, .data = {n->data, n->data_len},
                    .mode = first ? n->o.mode : without_sequence(n->o.mode), .ttl_ms = n->o.ttl_ms,
                    .acls = n->o.acls,
                    .flags = parents | (first && n->o.is_protected ? PAWL_PROTECTED : 0)),
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
            go_on(n);
        } else {
            stumbled(n, reply->err);
        }
    }
    recipe_unref(&n->r);
}

static int send_set(struct pawl_persistent_node *n)
{
    n->unwritten = false;
    return pawl_set_async(
        n->r.client,
        PAWL_SET(.path = n->path, .data = {n->data, n->data_len}, .flags = PAWL_IDEMPOTENT),
        set_done, n);
}

/* ---- what is to be done next ---- */

static void go_on(struct pawl_persistent_node *n)
{
    int rc;

    if (n->busy || n->closed || n->r.freed || n->failed != 0) {
        return;
    }
    timer_clear(n->r.e, &n->again);
    if (!n->there) {
        rc = send_create(n);
    } else if (!n->watched) {
        rc = send_exists(n);
    } else if (n->unwritten) {
        rc = send_set(n);
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
static void state_changed(enum pawl_state state, void *node)
{
    struct pawl_persistent_node *n = node;

    if (state == PAWL_STATE_CLOSED) {
        n->closed = true;
        wake_waiting(n, PAWL_ERR_CLOSING);
    } else if (state == PAWL_STATE_LOST) {
        n->failed = 0;
        n->there = n->there && !is_ephemeral(n->o.mode);
        tell(n);
    } else if (state == PAWL_STATE_CONNECTED || state == PAWL_STATE_RECONNECTED) {
        go_on(n);
    }
}

/* ---- the touch of a TTL node ---- */

static void touch_later(struct pawl_persistent_node *n)
{
    if (!n->r.freed && !n->closed) {
        timer_set(n->r.e, &n->touch_timer, recipe_now_ms() + n->o.ttl_ms / 2);
    }
}

static void touch_made(const struct pawl_reply *reply, void *node)
{
    struct pawl_persistent_node *n = node;

    (void)reply; /* at the next tick, then */
    n->touching = false;
    touch_later(n);
    recipe_unref(&n->r);
}

static void touched(const struct pawl_reply *reply, void *node)
{
    struct pawl_persistent_node *n = node;
    char text[IDENTITY_BYTES];
    int rc = -1;

    if (reply->err == PAWL_ERR_NO_NODE && n->there && !n->r.freed) {
        identity_text(text, sizeof(text));
        rc = pawl_create_async(n->r.client,
                               PAWL_CREATE(.path = n->touch, .data = {text, strlen(text)},
                                           .mode = PAWL_TTL, .ttl_ms = n->o.ttl_ms,
                                           .acls = n->o.acls, .flags = PAWL_OR_SET),
                               touch_made, n);
    }
    if (rc != 0) {
        n->touching = false;
        touch_later(n);
        recipe_unref(&n->r);
    }
}

static void touch(void *node)
{
    struct pawl_persistent_node *n = node;
    char text[IDENTITY_BYTES];

    identity_text(text, sizeof(text));
    if (n->there && !n->touching &&
        pawl_set_async(
            n->r.client,
            PAWL_SET(.path = n->touch, .data = {text, strlen(text)}, .flags = PAWL_IDEMPOTENT),
            touched, n) == 0) {
        n->touching = true;
        recipe_ref(&n->r);
    } else {
        touch_later(n);
    }
}

/* ---- life ---- */

static void destroy(struct recipe *r)
{
    struct pawl_persistent_node *n = container_of(r, struct pawl_persistent_node, r);

    recipe_fini(r);
    free(n->base);
    free(n->data);
    free(n->acl_store);
    free(n->path);
    free(n->touch);
    free(n);
}

static int take_data(struct pawl_persistent_node *n, struct pawl_bytes data)
{
    size_t size = data.data == NULL ? IDENTITY_BYTES : data.len + 1;
    char *copy = calloc(1, size);

    if (copy == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    if (data.data == NULL) {
        identity_text(copy, size);
        n->data_len = strlen(copy);
    } else {
        memcpy(copy, data.data, data.len);
        n->data_len = data.len;
    }
    free(n->data);
    n->data = copy;
    return 0;
}

/* One block: the entries, then their texts. */
static int take_acls(struct pawl_persistent_node *n)
{
    struct pawl_acls given = n->o.acls;
    size_t size = given.n * sizeof(struct pawl_acl);
    struct pawl_acl *items;
    char *at;

    if (given.n == 0) {
        return 0;
    }
    for (size_t i = 0; i < given.n; i++) {
        size += strlen(given.items[i].scheme) + strlen(given.items[i].id) + 2;
    }
    n->acl_store = malloc(size);
    if (n->acl_store == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    items = (struct pawl_acl *)(void *)n->acl_store;
    at = (char *)&items[given.n];
    for (size_t i = 0; i < given.n; i++) {
        items[i].perms = given.items[i].perms;
        items[i].scheme = strcpy(at, given.items[i].scheme);
        at += strlen(at) + 1;
        items[i].id = strcpy(at, given.items[i].id);
        at += strlen(at) + 1;
    }
    n->o.acls.items = items;
    return 0;
}

static bool are_good(const char *path, const struct pawl_persistent_options *o)
{
    return prepare_is_good_path(path, is_sequential(o->mode)) && strcmp(path, "/") != 0 &&
           (!is_ttl(o->mode) || o->ttl_ms > 0);
}

static int node_new(struct pawl_client *c, const char *path,
                    const struct pawl_persistent_options *o, struct pawl_persistent_node **out)
{
    struct pawl_persistent_node *n = calloc(1, sizeof(*n));
    int rc = n == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&n->r, c, destroy);

    if (rc != 0) {
        free(n);
        return rc;
    }
    n->o = *o;
    list_init(&n->waiting);
    note_init(&n->note, run_note, n);
    timer_init(&n->again, pause_over, n);
    timer_init(&n->touch_timer, touch, n);
    n->base = recipe_copy(path);
    rc = n->base == NULL ? PAWL_ERR_NO_MEMORY : take_acls(n);
    rc = rc != 0 ? rc : take_data(n, o->data);
    if (rc != 0) {
        destroy(&n->r);
        return rc;
    }
    *out = n;
    return 0;
}

int pawl_persistent_node_new(struct pawl_client *c, const char *path,
                             const struct pawl_persistent_options *options,
                             struct pawl_persistent_node **out)
{
    struct pawl_persistent_options o;
    struct pawl_persistent_node *n;
    int rc;

    TAKE(o, options);
    rc = c == NULL || out == NULL || path == NULL || !are_good(path, &o)
             ? PAWL_ERR_BAD_ARGUMENTS
             : node_new(c, path, &o, &n);
    rc = rc != 0 ? rc : recipe_begin(&n->r);
    if (rc != 0) {
        return rc;
    }
    observer_add(n->r.e, &n->observer, state_changed, n);
    go_on(n);
    if (is_ttl(n->o.mode)) {
        touch_later(n);
    }
    recipe_end(&n->r);
    *out = n;
    return 0;
}

static void shut(struct recipe *r)
{
    struct pawl_persistent_node *n = container_of(r, struct pawl_persistent_node, r);

    observer_remove(&n->observer);
    timer_clear(r->e, &n->again);
    timer_clear(r->e, &n->touch_timer);
    wake_waiting(n, PAWL_ERR_CANCELLED);
    unwatch(n);
    if (n->there) {
        delete_node(n, n->path);
    }
}

void pawl_persistent_node_free(struct pawl_persistent_node *n)
{
    recipe_free(n == NULL ? NULL : &n->r, shut);
}

/* ---- calls ---- */

int pawl_persistent_node_wait(struct pawl_persistent_node *n, int timeout_ms)
{
    struct persistent_wait w = {.err = 0};
    int rc = recipe_begin(n == NULL ? NULL : &n->r);

    if (rc != 0) {
        return rc;
    }
    rc = n->closed ? PAWL_ERR_CLOSING : n->failed;
    if (rc == 0 && !n->there) {
        waiter_init(&w.waiter);
        list_push_back(&n->waiting, &w.link);
        rc = recipe_wait(&n->r, &w.waiter, timeout_ms);
        rc = rc == 0 ? w.err : rc;
        list_remove(&w.link);
        waiter_fini(&w.waiter);
    }
    recipe_end(&n->r);
    return rc;
}

int pawl_persistent_node_set(struct pawl_persistent_node *n, struct pawl_bytes data)
{
    int rc = recipe_begin(n == NULL ? NULL : &n->r);

    if (rc != 0) {
        return rc;
    }
    rc = take_data(n, data);
    if (rc == 0) {
        n->unwritten = true;
        n->failed = 0;
        go_on(n);
    }
    recipe_end(&n->r);
    return rc;
}

void pawl_persistent_node_path(const struct pawl_persistent_node *n, char *out, size_t size)
{
    if (size > 0) {
        out[0] = '\0';
    }
    if (n == NULL || recipe_look(&n->r) != 0) {
        return;
    }
    if (n->path != NULL) {
        snprintf(out, size, "%s", n->path);
    }
    recipe_looked(&n->r);
}

enum pawl_persistent_state pawl_persistent_node_state(const struct pawl_persistent_node *n,
                                                      int *err)
{
    enum pawl_persistent_state state = PAWL_PERSISTENT_ABSENT;

    if (n == NULL || recipe_look(&n->r) != 0) {
        return state;
    }
    state = state_of(n);
    if (err != NULL) {
        *err = n->failed;
    }
    recipe_looked(&n->r);
    return state;
}
