/* SPDX-License-Identifier: Apache-2.0 */
/* persistent_node.c - a node that stays: its life, and what the user calls. */
#include "recipes/node/persistent_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/beacon.h"
#include "client/prepare.h"
#include "client/take.h"

/* ---- life ---- */

static void persistent_destroy(struct recipe *r)
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

static bool persistent_options_are_good(const char *path, const struct pawl_persistent_options *o)
{
    return prepare_is_good_path(path, persistent_is_sequential(o->mode)) &&
           strcmp(path, "/") != 0 && (!persistent_is_ttl(o->mode) || o->ttl_ms > 0) &&
           take_is_data(o->data) && take_is_acls(o->acls);
}

static int node_new(struct pawl_client *c, const char *path,
                    const struct pawl_persistent_options *o, struct pawl_persistent_node **out)
{
    struct pawl_persistent_node *n = calloc(1, sizeof(*n));
    int rc = n == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&n->r, c, persistent_destroy);

    if (rc != 0) {
        free(n);
        return rc;
    }
    n->o = *o;
    list_init(&n->waiting);
    recipe_watch_init(&n->r, &n->watch, persistent_event, n);
    note_init(&n->note, persistent_run_note, n);
    timer_init(&n->again, persistent_go_on, n);
    timer_init(&n->touch_timer, persistent_touch, n);
    n->base = recipe_copy(path);
    rc = n->base == NULL ? PAWL_ERR_NO_MEMORY : take_acls(n);
    rc = rc != 0 ? rc : take_data(n, o->data);
    if (rc != 0) {
        persistent_destroy(&n->r);
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
    struct pawl_persistent_node *n = NULL;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    TAKE(o, options);
    rc = c == NULL || out == NULL || path == NULL || !persistent_options_are_good(path, &o)
             ? PAWL_ERR_BAD_ARGUMENTS
             : node_new(c, path, &o, &n);
    rc = rc != 0 ? rc : recipe_begin(&n->r);
    if (rc != 0) {
        return rc;
    }
    observer_add(n->r.e, &n->observer, persistent_state_changed, n);
    persistent_go_on(n);
    if (persistent_is_ttl(n->o.mode)) {
        persistent_touch_later(n);
    }
    recipe_end(&n->r);
    *out = n;
    return 0;
}

static void persistent_shut(struct recipe *r)
{
    struct pawl_persistent_node *n = container_of(r, struct pawl_persistent_node, r);

    observer_remove(&n->observer);
    timer_clear(r->e, &n->again);
    timer_clear(r->e, &n->touch_timer);
    ask_end_all(&n->waiting, PAWL_ERR_CANCELLED);
    persistent_let_go(n);
}

void pawl_persistent_node_free(struct pawl_persistent_node *n)
{
    recipe_free(n == NULL ? NULL : &n->r, persistent_shut);
}

/* ---- calls ---- */

static int persistent_start_wait(struct ask *a)
{
    struct pawl_persistent_node *n = container_of(a->r, struct pawl_persistent_node, r);
    int rc = n->closed != 0 ? n->closed : n->failed;

    if (rc != 0 || n->there) {
        ask_end(a, rc);
    } else if (a->is_try) {
        ask_end(a, PAWL_ERR_OPERATION_TIMEOUT);
    } else {
        list_push_back(&n->waiting, &a->link);
    }
    return 0;
}

int pawl_persistent_node_wait(struct pawl_persistent_node *n, int timeout_ms)
{
    struct ask a;

    return ask_only_wait(n == NULL ? NULL : &n->r, &a, persistent_start_wait, timeout_ms);
}

int pawl_persistent_node_set(struct pawl_persistent_node *n, struct pawl_bytes data)
{
    int rc = recipe_begin(n == NULL ? NULL : &n->r);

    if (rc != 0) {
        return rc;
    }
    rc = take_is_data(data) ? take_data(n, data) : PAWL_ERR_BAD_ARGUMENTS;
    if (rc == 0) {
        n->unwritten = true;
        n->failed = 0;
        persistent_tell(n);
        persistent_go_on(n);
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
    state = persistent_state(n);
    if (err != NULL) {
        *err = n->failed;
    }
    recipe_looked(&n->r);
    return state;
}
