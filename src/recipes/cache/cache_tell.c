/* SPDX-License-Identifier: Apache-2.0 */
/* cache_tell.c - events on their way to the listeners. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "recipes/cache/cache.h"

/* Beyond MANY waiting events nothing more is read until FEW are left. */
enum { AT_ONCE = 256, MANY = 16384, FEW = 4096 };

struct error_tell {
    struct tell tell;
    int err;
    char path[];
};

/* ---- posting ---- */

static bool nobody_listens(const struct pawl_cache *c)
{
    return c->r.freed || list_empty(&c->listeners);
}

static void tell_push(struct pawl_cache *c, struct tell *t, enum pawl_cache_event_type type)
{
    t->type = (uint8_t)type;
    list_push_back(&c->tells, &t->link);
    c->n_tells++;
    c->throttled = c->throttled || c->n_tells >= MANY;
    recipe_post(&c->r, &c->note);
}

void cache_tell_born(struct pawl_cache *c, struct node *n, struct node *old)
{
    if (!nobody_listens(c)) {
        n->born.other = cache_node_ref(old);
        cache_node_ref(n);
        tell_push(c, &n->born, old == NULL ? PAWL_CACHE_EVENT_CREATED : PAWL_CACHE_EVENT_CHANGED);
    }
}

void cache_tell_died(struct pawl_cache *c, struct node *n)
{
    if (!nobody_listens(c)) {
        cache_node_ref(n);
        tell_push(c, &n->died, PAWL_CACHE_EVENT_DELETED);
    }
}

/* One that still waits is told later instead: what is heard last is how things stand. */
void cache_tell_cache(struct pawl_cache *c, struct tell *t, enum pawl_cache_event_type type)
{
    if (nobody_listens(c)) {
        return;
    }
    if (t->type != 0) {
        list_remove(&t->link);
        c->n_tells--;
    }
    tell_push(c, t, type);
}

/* Without memory it is not told; the cache goes on. */
void cache_tell_error(struct pawl_cache *c, const char *path, int err)
{
    size_t size = path == NULL ? 0 : strlen(path) + 1;
    struct error_tell *t = size == 0 || nobody_listens(c) ? NULL : calloc(1, sizeof(*t) + size);

    if (t != NULL) {
        t->err = err;
        memcpy(t->path, path, size);
        tell_push(c, &t->tell, PAWL_CACHE_EVENT_ERROR);
    }
}

/* ---- telling ---- */

static void tell_describe(struct tell *t, struct pawl_cache_event *event)
{
    struct node *n;

    *event = (struct pawl_cache_event){.type = (enum pawl_cache_event_type)t->type};
    switch (event->type) {
    case PAWL_CACHE_EVENT_CREATED:
    case PAWL_CACHE_EVENT_CHANGED:
        n = container_of(t, struct node, born);
        event->new_node = &n->pub;
        event->old_node = t->other == NULL ? NULL : &t->other->pub;
        event->path = n->pub.path;
        break;
    case PAWL_CACHE_EVENT_DELETED:
        n = container_of(t, struct node, died);
        event->old_node = &n->pub;
        event->path = n->pub.path;
        break;
    case PAWL_CACHE_EVENT_ERROR:
        event->err = container_of(t, struct error_tell, tell)->err;
        event->path = container_of(t, struct error_tell, tell)->path;
        break;
    default:
        break;
    }
}

/* It has been told, or nobody is left to hear it. */
static void tell_drop(struct tell *t)
{
    enum pawl_cache_event_type type = (enum pawl_cache_event_type)t->type;
    struct node *other = t->other;

    t->type = 0;
    t->other = NULL;
    if (type == PAWL_CACHE_EVENT_ERROR) {
        free(container_of(t, struct error_tell, tell));
    } else if (type == PAWL_CACHE_EVENT_DELETED) {
        cache_node_unref(container_of(t, struct node, died));
    } else if (type == PAWL_CACHE_EVENT_CREATED || type == PAWL_CACHE_EVENT_CHANGED) {
        cache_node_unref(other);
        cache_node_unref(container_of(t, struct node, born));
    }
}

static void forget_removed(struct pawl_cache *c)
{
    struct list *item, *next;

    for (item = c->listeners.next; item != &c->listeners; item = next) {
        struct listener_of_cache *l = container_of(item, struct listener_of_cache, link);

        next = item->next;
        if (l->removed) {
            list_remove(item);
            free(l);
        }
    }
}

/* Those added while it runs are not told of this one: they came after it. */
static void tell_all(struct pawl_cache *c, const struct pawl_cache_event *event)
{
    struct list *last = c->listeners.prev, *item = &c->listeners;

    while (item != last) {
        struct listener_of_cache *l = container_of(item->next, struct listener_of_cache, link);

        item = item->next;
        if (!l->removed && !c->r.freed) {
            recipe_calling(&c->r);
            l->fn(c, event, l->arg);
            recipe_called(&c->r);
        }
    }
}

static bool is_about_a_node(const struct tell *t)
{
    return t->type <= PAWL_CACHE_EVENT_DELETED || t->type == PAWL_CACHE_EVENT_ERROR;
}

static void tell_run(struct pawl_cache *c)
{
    struct pawl_cache_event event;
    struct list *link;

    c->telling = true;
    for (int i = 0; i < AT_ONCE && !c->r.freed && (link = list_pop_front(&c->tells)) != NULL; i++) {
        struct tell *t = container_of(link, struct tell, link);

        c->n_tells--;
        tell_describe(t, &event);
        if (is_about_a_node(t)) {
            tell_all(c, &event);
            tell_drop(t);
        } else {
            tell_drop(t); /* first: it may be posted anew while it is told */
            tell_all(c, &event);
        }
    }
    c->telling = false;
    forget_removed(c);
}

/* A step of its own: reading had stopped because of us. */
static void resume(struct pawl_cache *c)
{
    struct engine *e = c->r.e;

    if (recipe_begin(&c->r) == 0) {
        c->throttled = false;
        if (!c->r.freed) {
            cache_read_pump(c);
        }
        recipe_unref(&c->r);
        step_end(e);
    }
}

static void run_note(void *cache)
{
    struct pawl_cache *c = cache;
    bool more;

    recipe_note_begin(&c->r);
    tell_run(c);
    if (!list_empty(&c->tells) && !c->r.freed) {
        recipe_post(&c->r, &c->note);
    }
    more = c->throttled && c->n_tells <= FEW && !c->r.freed;
    if (more) {
        recipe_ref(&c->r);
    }
    recipe_note_end(&c->r);
    if (more) {
        resume(c);
    }
}

/* ---- listeners ---- */

int cache_tell_add(struct pawl_cache *c, pawl_cache_fn fn, void *arg)
{
    struct listener_of_cache *l = calloc(1, sizeof(*l));

    if (l == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    l->fn = fn;
    l->arg = arg;
    list_push_back(&c->listeners, &l->link);
    return 0;
}

int pawl_cache_add_listener(struct pawl_cache *c, pawl_cache_fn fn, void *arg)
{
    int rc = fn == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_begin(c == NULL ? NULL : &c->r);

    if (rc == 0) {
        rc = cache_tell_add(c, fn, arg);
        recipe_end(&c->r);
    }
    return rc;
}

void pawl_cache_remove_listener(struct pawl_cache *c, pawl_cache_fn fn, void *arg)
{
    struct list *item;

    if (c == NULL || recipe_look(&c->r) != 0) {
        return;
    }
    list_for_each (item, &c->listeners) {
        struct listener_of_cache *l = container_of(item, struct listener_of_cache, link);

        l->removed = l->removed || (l->fn == fn && l->arg == arg);
    }
    while (c->r.n_calling > 0 && !dispatch_is_current(c->r.e)) {
        condition_wait(&c->r.e->dispatch.callback_done, &c->r.e->lock, -1);
    }
    if (!c->telling) {
        forget_removed(c);
    }
    recipe_looked(&c->r);
}

/* ---- life ---- */

void cache_tell_init(struct pawl_cache *c)
{
    list_init(&c->tells);
    list_init(&c->listeners);
    note_init(&c->note, run_note, c);
}

void cache_tell_fini(struct pawl_cache *c)
{
    struct list *link;

    while ((link = list_pop_front(&c->tells)) != NULL) {
        tell_drop(container_of(link, struct tell, link));
    }
    while ((link = list_pop_front(&c->listeners)) != NULL) {
        free(container_of(link, struct listener_of_cache, link));
    }
}
