/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/counter/shared_value.h"

#include <stdlib.h>
#include <string.h>

#include "client/prepare.h"
#include "client/take.h"

/* ---- listeners ---- */

static struct pawl_versioned *copy_value(const struct pawl_shared_value *v)
{
    struct pawl_versioned *copy = malloc(sizeof(*copy) + v->len);

    if (copy == NULL) {
        return NULL;
    }
    if (v->len > 0) {
        memcpy(copy + 1, v->data, v->len);
    }
    *copy = (struct pawl_versioned){
        .data = {copy + 1, v->len}, .exists = v->exists, .zxid = v->zxid, .version = v->version};
    return copy;
}

static struct value_listener *next_to_tell(struct pawl_shared_value *v)
{
    struct list *item;

    list_for_each (item, &v->listeners) {
        struct value_listener *l = container_of(item, struct value_listener, link);

        if (l->told != v->serial) {
            return l;
        }
    }
    return NULL;
}

static void tell_one(struct pawl_shared_value *v, struct value_listener *l)
{
    struct pawl_versioned *copy = copy_value(v);

    l->told = v->serial;
    if (copy == NULL) {
        return; /* it learns of the next change */
    }
    v->running = l;
    recipe_calling(&v->r);
    l->fn(v, copy, l->arg);
    recipe_called(&v->r);
    v->running = NULL;
    free(copy);
    if (l->removed) {
        free(l);
    }
}

static void value_tell_all(void *value)
{
    struct pawl_shared_value *v = value;
    struct value_listener *l;

    recipe_note_begin(&v->r);
    while (!v->r.freed && (l = next_to_tell(v)) != NULL) {
        tell_one(v, l);
    }
    recipe_note_end(&v->r);
}

void value_changed(struct pawl_shared_value *v)
{
    v->serial++;
    if (v->state == VALUE_STARTED && !list_empty(&v->listeners)) {
        recipe_post(&v->r, &v->note);
    }
}

int pawl_shared_value_add_listener(struct pawl_shared_value *v, pawl_shared_value_fn fn, void *arg)
{
    struct value_listener *l;
    int rc = v == NULL || fn == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_look(&v->r);

    if (rc != 0) {
        return rc;
    }
    l = calloc(1, sizeof(*l));
    if (l != NULL) {
        l->fn = fn;
        l->arg = arg;
        l->told = v->serial;
        list_push_back(&v->listeners, &l->link);
    }
    recipe_looked(&v->r);
    return l == NULL ? PAWL_ERR_NO_MEMORY : 0;
}

static void drop_listener(struct pawl_shared_value *v, struct value_listener *l)
{
    list_remove(&l->link);
    if (v->running != l) {
        free(l);
        return;
    }
    l->removed = true;
    while (v->running == l && !dispatch_is_current(v->r.e)) {
        condition_wait(&v->r.e->dispatch.callback_done, &v->r.e->lock, -1);
    }
}

void pawl_shared_value_remove_listener(struct pawl_shared_value *v, pawl_shared_value_fn fn,
                                       void *arg)
{
    struct list *item;

    if (v == NULL || recipe_look(&v->r) != 0) {
        return;
    }
    list_for_each (item, &v->listeners) {
        struct value_listener *l = container_of(item, struct value_listener, link);

        if (l->fn == fn && l->arg == arg) {
            drop_listener(v, l);
            break;
        }
    }
    recipe_looked(&v->r);
}

int pawl_shared_value_get(const struct pawl_shared_value *v, struct pawl_versioned **out)
{
    int rc = v == NULL || out == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_look(&v->r);

    if (out != NULL) {
        *out = NULL;
    }
    if (rc != 0) {
        return rc;
    }
    if (v->state != VALUE_STARTED) {
        rc = PAWL_ERR_INVALID_STATE;
    } else {
        *out = copy_value(v);
        rc = *out == NULL ? PAWL_ERR_NO_MEMORY : 0;
    }
    recipe_looked(&v->r);
    return rc;
}

void pawl_versioned_free(struct pawl_versioned *value)
{
    free(value);
}

/* ---- life ---- */

static void value_destroy(struct recipe *r)
{
    struct pawl_shared_value *v = container_of(r, struct pawl_shared_value, r);

    while (!list_empty(&v->listeners)) {
        struct list *item = list_pop_front(&v->listeners);

        free(container_of(item, struct value_listener, link));
    }
    recipe_fini(r);
    free(v->path);
    free(v->seed);
    free(v->data);
    free(v);
}

static int value_fill(struct pawl_shared_value *v, const char *path, struct pawl_bytes seed)
{
    list_init(&v->listeners);
    note_init(&v->note, value_tell_all, v);
    recipe_watch_init(&v->r, &v->watch, value_event, v);
    timer_init(&v->retry, value_read_again, v);
    v->path = recipe_copy(path);
    v->seed = malloc(seed.len + 1);
    if (v->path == NULL || v->seed == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    v->seed_len = seed.len;
    if (seed.len > 0) {
        memcpy(v->seed, seed.data, seed.len);
    }
    return 0;
}

int pawl_shared_value_new(struct pawl_client *c, const char *path, struct pawl_bytes seed,
                          struct pawl_shared_value **out)
{
    struct pawl_shared_value *v;
    struct recipe *r;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (c == NULL || out == NULL || !prepare_is_good_path(path, false) || !take_is_data(seed)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = recipe_new(sizeof(*v), c, value_destroy, &r);
    if (rc != 0) {
        return rc;
    }
    v = container_of(r, struct pawl_shared_value, r);
    rc = value_fill(v, path, seed);
    if (rc != 0) {
        value_destroy(r);
        return rc;
    }
    *out = v;
    return 0;
}

static void value_shut(struct recipe *r)
{
    struct pawl_shared_value *v = container_of(r, struct pawl_shared_value, r);

    timer_clear(r->e, &v->retry);
    if (v->state == VALUE_STARTING) {
        value_end_start(v, PAWL_ERR_CANCELLED);
    }
    value_unwatch(v);
}

void pawl_shared_value_free(struct pawl_shared_value *v)
{
    recipe_free(v == NULL ? NULL : &v->r, value_shut);
}
