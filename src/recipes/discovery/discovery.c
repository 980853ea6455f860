/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/discovery/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "client/prepare.h"
#include "client/uuid.h"
#include "recipes/core/ask.h"
#include "recipes/discovery/registration.h"

/* ---- the connection ---- */

/* The session may be another one, or somebody may have deleted a node while we were away. */
static void discovery_state_changed(enum pawl_state state, void *discovery)
{
    struct pawl_discovery *d = discovery;
    struct list *item, *next;

    if (state != PAWL_STATE_CONNECTED && state != PAWL_STATE_RECONNECTED) {
        return;
    }
    for (item = d->registrations.next; item != &d->registrations; item = next) {
        struct registration *g = container_of(item, struct registration, link);

        next = item->next;
        registration_check(g);
    }
}

/* ---- asking for it ---- */

struct service_ask {
    struct ask a;
    struct shared_instance *instance;
    bool only_update;
    char *path;
    pawl_discovery_fn done;
    void *arg;
};

static void service_ask_drop(struct ask *a)
{
    struct service_ask *s = container_of(a, struct service_ask, a);

    pawl_instance_free(s->instance == NULL ? NULL : &s->instance->i);
    free(s->path);
}

static void service_ask_tell(struct ask *a)
{
    struct service_ask *s = container_of(a, struct service_ask, a);

    s->done(container_of(a->r, struct pawl_discovery, r), a->err, s->arg);
}

static struct registration *discovery_find(const struct pawl_discovery *d, const char *path)
{
    struct list *item;

    list_for_each (item, &d->registrations) {
        struct registration *g = container_of(item, struct registration, link);

        if (strcmp(g->path, path) == 0) {
            return g;
        }
    }
    return NULL;
}

static int start_register(struct ask *a)
{
    struct service_ask *s = container_of(a, struct service_ask, a);
    struct pawl_discovery *d = container_of(a->r, struct pawl_discovery, r);
    struct registration *g = discovery_find(d, s->path);
    int rc;

    if (g == NULL && s->only_update) {
        return PAWL_ERR_NO_NODE;
    }
    if (g != NULL && g->instance->i.type != s->instance->i.type) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (g != NULL && !g->wanted) {
        ask_end_all(&g->asks, PAWL_ERR_CANCELLED); /* of those who unregister it just now */
    }
    g = g != NULL ? g : registration_new(d, s->path);
    rc = g == NULL ? PAWL_ERR_NO_MEMORY : registration_want(g, &s->instance);
    if (rc != 0) {
        if (g != NULL && g->instance == NULL) {
            registration_free(g);
        }
        return rc;
    }
    list_push_back(&g->asks, &a->link);
    registration_start(g);
    return 0;
}

static int start_unregister(struct ask *a)
{
    struct service_ask *s = container_of(a, struct service_ask, a);
    struct registration *g = discovery_find(container_of(a->r, struct pawl_discovery, r), s->path);

    if (g == NULL || !g->wanted) {
        return PAWL_ERR_NO_NODE;
    }
    registration_end(g);
    list_push_back(&g->asks, &a->link);
    registration_start(g);
    return 0;
}

/* ---- calls ---- */

static struct service_ask *new_ask(int (*start)(struct ask *), pawl_discovery_fn done, void *arg)
{
    struct service_ask *s = ask_new(sizeof(*s), start);

    if (s != NULL) {
        s->a.drop = service_ask_drop;
        s->a.tell = done == NULL ? NULL : service_ask_tell;
        s->done = done;
        s->arg = arg;
    }
    return s;
}

/* An id, and a time, are chosen when there is none. */
static int service_ask_take_instance(struct pawl_discovery *d, const struct pawl_instance *given,
                                     struct service_ask *s)
{
    struct pawl_instance i = instance_taken(given);
    char id[37];
    int rc = 0;

    if (i.name == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (i.id == NULL) {
        rc = recipe_look(&d->r);
        if (rc != 0) {
            return rc;
        }
        rc = uuid_text(d->r.e, id);
        recipe_looked(&d->r);
        i.id = id;
    }
    i.size = sizeof(i);
    i.registered_ms = i.registered_ms != 0 ? i.registered_ms : machine_wall_ms();
    s->instance = rc != 0 ? NULL : instance_copy(&i);
    if (s->instance == NULL) {
        return rc != 0 ? rc : PAWL_ERR_NO_MEMORY;
    }
    return service_path(d->base, i.name, i.id, &s->path);
}

static int registering(struct pawl_discovery *d, const struct pawl_instance *i, bool only_update,
                       pawl_discovery_fn done, void *arg, struct service_ask **out)
{
    struct service_ask *s;
    int rc;

    if (d == NULL || i == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    s = new_ask(start_register, done, arg);
    rc = s == NULL ? PAWL_ERR_NO_MEMORY : service_ask_take_instance(d, i, s);
    if (rc != 0) {
        if (s != NULL) {
            ask_unref(&s->a);
        }
        return rc;
    }
    s->only_update = only_update;
    *out = s;
    return 0;
}

int pawl_discovery_register(struct pawl_discovery *d, const struct pawl_instance *i, int timeout_ms)
{
    struct service_ask *s;
    int rc = registering(d, i, false, NULL, NULL, &s);

    return rc != 0 ? rc : ask_block(&d->r, &s->a, timeout_ms, NULL, NULL);
}

int pawl_discovery_update(struct pawl_discovery *d, const struct pawl_instance *i, int timeout_ms)
{
    struct service_ask *s;
    int rc = registering(d, i, true, NULL, NULL, &s);

    return rc != 0 ? rc : ask_block(&d->r, &s->a, timeout_ms, NULL, NULL);
}

int pawl_discovery_register_async(struct pawl_discovery *d, const struct pawl_instance *i,
                                  pawl_discovery_fn done, void *arg)
{
    struct service_ask *s;
    int rc = registering(d, i, false, done, arg, &s);

    return rc != 0 ? rc : ask_post(&d->r, &s->a, -1);
}

static int unregistering(struct pawl_discovery *d, const char *name, const char *id,
                         pawl_discovery_fn done, void *arg, struct service_ask **out)
{
    struct service_ask *s;
    int rc;

    if (d == NULL || name == NULL || id == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    s = new_ask(start_unregister, done, arg);
    rc = s == NULL ? PAWL_ERR_NO_MEMORY : service_path(d->base, name, id, &s->path);
    if (rc != 0) {
        if (s != NULL) {
            ask_unref(&s->a);
        }
        return rc;
    }
    *out = s;
    return 0;
}

int pawl_discovery_unregister(struct pawl_discovery *d, const char *name, const char *id,
                              int timeout_ms)
{
    struct service_ask *s;
    int rc = unregistering(d, name, id, NULL, NULL, &s);

    return rc != 0 ? rc : ask_block(&d->r, &s->a, timeout_ms, NULL, NULL);
}

int pawl_discovery_unregister_async(struct pawl_discovery *d, const char *name, const char *id,
                                    pawl_discovery_fn done, void *arg)
{
    struct service_ask *s;
    int rc = unregistering(d, name, id, done, arg, &s);

    return rc != 0 ? rc : ask_post(&d->r, &s->a, -1);
}

/* ---- life ---- */

static void discovery_destroy(struct recipe *r)
{
    struct pawl_discovery *d = container_of(r, struct pawl_discovery, r);

    while (!list_empty(&d->registrations)) {
        registration_free(container_of(d->registrations.next, struct registration, link));
    }
    recipe_fini(r);
    free(d->base);
    free(d);
}

int pawl_discovery_new(struct pawl_client *c, const char *base, struct pawl_discovery **out)
{
    struct pawl_discovery *d;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (c == NULL || out == NULL || !prepare_is_good_path(base, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    d = calloc(1, sizeof(*d));
    rc = d == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&d->r, c, discovery_destroy);
    if (rc != 0) {
        free(d);
        return rc;
    }
    list_init(&d->registrations);
    d->base = recipe_copy(base);
    rc = d->base == NULL ? PAWL_ERR_NO_MEMORY : recipe_begin(&d->r);
    if (rc != 0) {
        discovery_destroy(&d->r);
        return rc;
    }
    observer_add(d->r.e, &d->observer, discovery_state_changed, d);
    recipe_end(&d->r);
    *out = d;
    return 0;
}

static void discovery_shut(struct recipe *r)
{
    struct pawl_discovery *d = container_of(r, struct pawl_discovery, r);
    struct list *item, *next;

    observer_remove(&d->observer);
    for (item = d->registrations.next; item != &d->registrations; item = next) {
        struct registration *g = container_of(item, struct registration, link);

        next = item->next;
        registration_end(g);
        registration_start(g);
    }
}

void pawl_discovery_free(struct pawl_discovery *d)
{
    recipe_free(d == NULL ? NULL : &d->r, discovery_shut);
}
