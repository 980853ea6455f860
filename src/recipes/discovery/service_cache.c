/* SPDX-License-Identifier: Apache-2.0 */
/* service_cache.c - one service, followed: a watch on the list of its nodes, and one on each.
 *
 * An entry whose watch is gone is read again at the next listing; after the loss of a session that
 * is all of them. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "recipes/core/ask.h"
#include "recipes/discovery/discovery.h"

enum { PAUSE_MS = 1000 };

static void services_list(struct pawl_service_cache *s);

/* ---- telling ---- */

static void services_tell(void *cache)
{
    struct pawl_service_cache *s = cache;

    recipe_note_begin(&s->r);
    if (!s->r.freed) {
        recipe_calling(&s->r);
        s->changed(s, s->arg);
        recipe_called(&s->r);
    }
    recipe_note_end(&s->r);
}

/* Something has changed, or has been read for the first time. */
static void news(struct pawl_service_cache *s, bool changed)
{
    bool first = !s->complete && s->listed && s->n_reading == 0 && !s->dirty;

    if (first) {
        s->complete = true;
        ask_end_all(&s->asks, 0);
    }
    if (s->changed != NULL && s->complete && (changed || first)) {
        recipe_post(&s->r, &s->note);
    }
}

/* ---- entries ---- */

static void entry_unref(struct service_entry *e)
{
    ASSERT(e->refs > 0);
    if (--e->refs == 0) {
        pawl_instance_free(e->instance);
        free(e->path);
        free(e);
    }
}

static void entry_watch_ref(void *entry)
{
    struct service_entry *e = entry;

    e->refs++;
    recipe_ref(&e->s->r);
}

static void entry_watch_unref(void *entry)
{
    struct service_entry *e = entry;
    struct recipe *r = &e->s->r;

    entry_unref(e);
    recipe_unref(r);
}

static void entry_event(const struct pawl_event *event, void *entry);

static struct service_entry *services_find(struct pawl_service_cache *s, const char *name,
                                           struct list **behind)
{
    struct list *item;

    list_for_each (item, &s->entries) {
        struct service_entry *e = container_of(item, struct service_entry, link);
        int order = strcmp(e->name, name);

        if (order >= 0) {
            *behind = item;
            return order == 0 ? e : NULL;
        }
    }
    *behind = &s->entries;
    return NULL;
}

static struct service_entry *services_add(struct pawl_service_cache *s, const char *name,
                                          struct list *behind)
{
    struct service_entry *e = calloc(1, sizeof(*e));

    if (e == NULL) {
        return NULL;
    }
    e->s = s;
    e->refs = 1;
    step_watch_init(&e->watch, entry_event, e, entry_watch_ref, entry_watch_unref, e);
    e->path = recipe_join(s->folder, name);
    if (e->path == NULL) {
        free(e);
        return NULL;
    }
    e->name = strrchr(e->path, '/') + 1;
    list_push_back(behind, &e->link);
    return e;
}

static void remove_entry(struct service_entry *e)
{
    list_remove(&e->link);
    e->gone = true;
    entry_unref(e);
}

static void read_entry(struct service_entry *e);

static void entry_event(const struct pawl_event *event, void *entry)
{
    struct service_entry *e = entry;

    if (!e->gone && !e->s->r.freed && event->type != PAWL_EVENT_DELETED &&
        event->type != PAWL_EVENT_SESSION) { /* of those the folder's watch tells, too */
        read_entry(e);
    }
}

static void pause_it(struct pawl_service_cache *s, int err);

static void services_take_instance(struct service_entry *e, const struct pawl_reply *reply)
{
    struct pawl_instance *instance = NULL;
    int rc = reply->err == 0 ? pawl_instance_from_json(reply->data, &instance) : reply->err;

    if (rc == PAWL_ERR_NO_MEMORY) { /* what we have is better than nothing, until we can read it */
        e->unread = true;
        pause_it(e->s, rc);
        return;
    }
    e->unread = false;
    if (rc != 0 && rc != PAWL_ERR_NO_NODE && rc != PAWL_ERR_CLOSING) {
        log_warn("service node %s: %s", e->path, pawl_strerror(rc));
    }
    pawl_instance_free(e->instance);
    e->instance = instance;
}

static void entry_read(const struct pawl_reply *reply, void *entry)
{
    struct service_entry *e = entry;
    struct pawl_service_cache *s = e->s;

    e->reading = false;
    s->n_reading--;
    if (s->r.freed || e->gone) {
        recipe_unwatch(&s->r, &e->watch, e->path, PAWL_WATCHES_DATA);
    }
    if (!s->r.freed) {
        if (!e->gone) {
            services_take_instance(e, reply);
        }
        news(s, !e->gone);
    }
    entry_unref(e);
    recipe_unref(&s->r);
}

static void pause_it(struct pawl_service_cache *s, int err)
{
    s->dirty = true;
    if (recipe_is_over(&s->r, err)) {
        ask_end_all(&s->asks, err);
    } else {
        timer_set(s->r.e, &s->again,
                  machine_now_ms() + (err == PAWL_ERR_NO_MEMORY ? 50 : PAUSE_MS));
    }
}

static void read_entry(struct service_entry *e)
{
    int rc;

    if (e->reading) {
        return;
    }
    rc = pawl_get_async(e->s->r.client, e->path, &e->watch.ask, entry_read, e);
    if (rc == 0) {
        e->reading = true;
        e->refs++;
        e->s->n_reading++;
        recipe_ref(&e->s->r);
    } else {
        pause_it(e->s, rc);
    }
}

/* ---- the list ---- */

static bool remove_unseen(struct pawl_service_cache *s)
{
    struct list *item, *next;
    bool some = false;

    for (item = s->entries.next; item != &s->entries; item = next) {
        struct service_entry *e = container_of(item, struct service_entry, link);

        next = item->next;
        if (!e->seen) {
            some = some || e->instance != NULL;
            remove_entry(e);
        } else if (!step_watch_is_set(&e->watch) || e->unread) {
            read_entry(e);
        }
    }
    return some;
}

static int services_take_list(struct pawl_service_cache *s, const struct pawl_strings *names)
{
    struct list *item, *behind;

    list_for_each (item, &s->entries) {
        container_of(item, struct service_entry, link)->seen = false;
    }
    for (size_t i = 0; i < names->n; i++) {
        struct service_entry *e = services_find(s, names->items[i], &behind);

        e = e != NULL ? e : services_add(s, names->items[i], behind);
        if (e == NULL) {
            return PAWL_ERR_NO_MEMORY;
        }
        e->seen = true;
    }
    return 0;
}

static void services_folder_event(const struct pawl_event *event, void *cache)
{
    struct pawl_service_cache *s = cache;

    (void)event;
    s->dirty = s->dirty || !s->listing; /* what is on its way comes behind this */
    if (!s->r.freed) {
        services_list(s);
    }
}

static void services_folder_made(const struct pawl_reply *reply, void *cache)
{
    struct pawl_service_cache *s = cache;
    int err = reply->err;

    s->listing = false;
    if (!s->r.freed) {
        if (err == 0 || err == PAWL_ERR_NODE_EXISTS || err == PAWL_ERR_CONNECTION_LOSS) {
            services_list(s);
        } else {
            pause_it(s, err);
        }
    }
    recipe_unref(&s->r);
}

/* A service that is not there is an empty folder, as Curator makes it: something to watch. */
static void services_make_folder(struct pawl_service_cache *s)
{
    int rc = pawl_create_async(s->r.client,
                               PAWL_CREATE(.path = s->folder, .data = {"", 0},
                                           .mode = PAWL_MODE_CONTAINER,
                                           .flags = PAWL_OP_CONTAINER_PARENTS),
                               services_folder_made, s);

    if (rc == 0) {
        s->listing = true;
        recipe_ref(&s->r);
    } else {
        pause_it(s, rc);
    }
}

static void services_listed(const struct pawl_reply *reply, void *cache)
{
    struct pawl_service_cache *s = cache;
    int rc = reply->err;

    s->listing = false;
    if (s->r.freed) {
        recipe_unwatch(&s->r, &s->watch, s->folder, PAWL_WATCHES_CHILDREN);
    } else if (rc == PAWL_ERR_NO_NODE) {
        struct pawl_strings none = {NULL, 0};

        services_take_list(s, &none);
        s->listed = true;
        news(s, remove_unseen(s));
        services_make_folder(s);
    } else if (rc == 0 && (rc = services_take_list(s, &reply->children)) == 0) {
        s->listed = true;
        news(s, remove_unseen(s));
    } else {
        pause_it(s, rc);
    }
    recipe_unref(&s->r);
}

static void services_list(struct pawl_service_cache *s)
{
    int rc;

    if (s->listing) {
        return; /* its answer sets a watch: whatever happened before is in it */
    }
    rc = pawl_children_async(s->r.client, s->folder, &s->watch.ask, services_listed, s);
    if (rc == 0) {
        s->dirty = false;
        s->listing = true;
        recipe_ref(&s->r);
    } else {
        pause_it(s, rc);
    }
}

static void again(void *cache)
{
    services_list(cache);
}

/* ---- life ---- */

static void services_destroy(struct recipe *r)
{
    struct pawl_service_cache *s = container_of(r, struct pawl_service_cache, r);
    struct list *item;

    while ((item = list_pop_front(&s->entries)) != NULL) {
        entry_unref(container_of(item, struct service_entry, link));
    }
    recipe_fini(r);
    free(s->folder);
    free(s);
}

int pawl_service_cache_new(struct pawl_client *c, const char *base, const char *name,
                           pawl_service_fn changed, void *arg, struct pawl_service_cache **out)
{
    struct pawl_service_cache *s;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (c == NULL || base == NULL || out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    s = calloc(1, sizeof(*s));
    rc = s == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&s->r, c, services_destroy);
    if (rc != 0) {
        free(s);
        return rc;
    }
    list_init(&s->entries);
    list_init(&s->asks);
    note_init(&s->note, services_tell, s);
    recipe_watch_init(&s->r, &s->watch, services_folder_event, s);
    timer_init(&s->again, again, s);
    s->changed = changed;
    s->arg = arg;
    rc = service_path(base, name, NULL, &s->folder);
    rc = rc != 0 ? rc : recipe_begin(&s->r);
    if (rc != 0) {
        services_destroy(&s->r);
        return rc;
    }
    services_list(s);
    recipe_end(&s->r);
    *out = s;
    return 0;
}

static void services_shut(struct recipe *r)
{
    struct pawl_service_cache *s = container_of(r, struct pawl_service_cache, r);
    struct list *item;

    timer_clear(r->e, &s->again);
    ask_end_all(&s->asks, PAWL_ERR_CANCELLED);
    recipe_unwatch(r, &s->watch, s->folder, PAWL_WATCHES_CHILDREN);
    list_for_each (item, &s->entries) {
        struct service_entry *e = container_of(item, struct service_entry, link);

        recipe_unwatch(r, &e->watch, e->path, PAWL_WATCHES_DATA);
    }
}

void pawl_service_cache_free(struct pawl_service_cache *s)
{
    recipe_free(s == NULL ? NULL : &s->r, services_shut);
}

/* ---- questions ---- */

static int services_start_wait(struct ask *a)
{
    struct pawl_service_cache *s = container_of(a->r, struct pawl_service_cache, r);

    if (s->complete) {
        ask_end(a, 0);
    } else {
        list_push_back(&s->asks, &a->link);
    }
    return 0;
}

int pawl_service_cache_wait(struct pawl_service_cache *s, int timeout_ms)
{
    struct ask a;

    return ask_only_wait(s == NULL ? NULL : &s->r, &a, services_start_wait, timeout_ms);
}

int pawl_service_cache_instances(struct pawl_service_cache *s, struct pawl_instances **out)
{
    struct pawl_instance **items;
    struct list *item;
    size_t n = 0;
    int rc = s == NULL || out == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_look(&s->r);

    if (out != NULL) {
        *out = NULL;
    }
    if (rc != 0) {
        return rc;
    }
    list_for_each (item, &s->entries) {
        n++;
    }
    items = calloc(n + 1, sizeof(*items));
    n = 0;
    list_for_each (item, &s->entries) {
        struct service_entry *e = container_of(item, struct service_entry, link);

        if (items != NULL && e->instance != NULL) {
            items[n++] = instance_ref(e->instance);
        }
    }
    recipe_looked(&s->r);
    rc = items == NULL ? PAWL_ERR_NO_MEMORY : instances_new(items, n, out);
    free(items);
    return rc;
}
