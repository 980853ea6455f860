/* SPDX-License-Identifier: Apache-2.0 */
/* service_provider.c - choosing an instance. Its state is under the lock of its cache. */
#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "client/take.h"
#include "recipes/discovery/discovery.h"

/* An instance that made trouble. */
struct trouble {
    struct list link;
    struct pawl_instance *instance; /* a reference */
    int n;
    int64_t first_ms;
};

struct pawl_provider {
    struct pawl_service_cache *s;
    struct pawl_provider_options o;
    uint64_t turn;
    struct pawl_instance *kept; /* to which we stick; a reference, or NULL */
    struct list troubles;
};

/* The same registration, whatever became of its payload. */
static bool same(const struct pawl_instance *a, const struct pawl_instance *b)
{
    return strcmp(a->id, b->id) == 0 && a->registered_ms == b->registered_ms;
}

/* ---- trouble ---- */

static void forget(struct trouble *t)
{
    list_remove(&t->link);
    pawl_instance_free(t->instance);
    free(t);
}

static void forget_old(struct pawl_provider *p)
{
    struct list *item, *next;
    int64_t now = machine_now_ms();

    for (item = p->troubles.next; item != &p->troubles; item = next) {
        struct trouble *t = container_of(item, struct trouble, link);

        next = item->next;
        if (now - t->first_ms >= p->o.down_ms) {
            forget(t);
        }
    }
}

static struct trouble *find_trouble(const struct pawl_provider *p, const struct pawl_instance *i)
{
    struct list *item;

    list_for_each (item, &p->troubles) {
        struct trouble *t = container_of(item, struct trouble, link);

        if (same(t->instance, i)) {
            return t;
        }
    }
    return NULL;
}

static void provider_note_error(struct pawl_provider *p, const struct pawl_instance *i)
{
    struct trouble *t = find_trouble(p, i);
    struct shared_instance *copy;

    if (t == NULL) {
        t = calloc(1, sizeof(*t));
        copy = t == NULL ? NULL : instance_copy(i);
        if (copy == NULL) {
            free(t);
            return;
        }
        t->instance = &copy->i;
        t->first_ms = machine_now_ms();
        list_push_back(&p->troubles, &t->link);
    }
    t->n++;
}

void pawl_provider_note_error(struct pawl_provider *p, const struct pawl_instance *given)
{
    struct pawl_instance i;

    if (p == NULL || given == NULL || recipe_look(&p->s->r) != 0) {
        return;
    }
    i = instance_taken(given);
    forget_old(p);
    if (i.id != NULL) {
        provider_note_error(p, &i);
    }
    recipe_looked(&p->s->r);
}

/* ---- choosing ---- */

static bool is_usable(const struct pawl_provider *p, const struct pawl_instance *i)
{
    const struct trouble *t;

    if (i == NULL || i->disabled || (p->o.filter != NULL && !p->o.filter(i, p->o.filter_arg))) {
        return false;
    }
    t = find_trouble(p, i);
    return t == NULL || t->n < p->o.down_errors;
}

/* References to those that may be used, in order; `*items` is to be freed. */
static int usable(struct pawl_provider *p, struct pawl_instance ***items, size_t *n)
{
    struct list *item;
    size_t room = 1;

    *n = 0;
    list_for_each (item, &p->s->entries) {
        room++;
    }
    *items = calloc(room, sizeof(**items));
    if (*items == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    forget_old(p);
    list_for_each (item, &p->s->entries) {
        struct pawl_instance *i = container_of(item, struct service_entry, link)->instance;

        if (is_usable(p, i)) {
            (*items)[(*n)++] = instance_ref(i);
        }
    }
    return 0;
}

static size_t choose(struct pawl_provider *p, struct pawl_instance *const *items, size_t n)
{
    size_t k;

    for (k = 0; p->kept != NULL && k < n; k++) {
        if (same(p->kept, items[k])) {
            return k;
        }
    }
    k = (size_t)(p->o.strategy == PAWL_STRATEGY_RANDOM ? prng_below(&p->s->r.e->random, n)
                                                       : p->turn++ % n);
    if (p->o.sticky) {
        pawl_instance_free(p->kept);
        p->kept = instance_ref(items[k]);
    }
    return k;
}

int pawl_provider_get(struct pawl_provider *p, struct pawl_instance **out)
{
    struct pawl_instance **items;
    size_t n = 0;
    int rc = p == NULL || out == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_look(&p->s->r);

    if (out != NULL) {
        *out = NULL;
    }
    if (rc != 0) {
        return rc;
    }
    rc = usable(p, &items, &n);
    if (rc == 0 && n == 0) {
        rc = PAWL_ERR_NO_NODE;
    } else if (rc == 0) {
        *out = instance_ref(items[choose(p, items, n)]);
    }
    recipe_looked(&p->s->r);
    while (n > 0) {
        pawl_instance_free(items[--n]);
    }
    free(items);
    return rc;
}

int pawl_provider_all(struct pawl_provider *p, struct pawl_instances **out)
{
    struct pawl_instance **items;
    size_t n = 0;
    int rc = p == NULL || out == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_look(&p->s->r);

    if (out != NULL) {
        *out = NULL;
    }
    if (rc != 0) {
        return rc;
    }
    rc = usable(p, &items, &n);
    recipe_looked(&p->s->r);
    rc = rc != 0 ? rc : instances_new(items, n, out);
    free(items);
    return rc;
}

int pawl_provider_wait(struct pawl_provider *p, int timeout_ms)
{
    return pawl_service_cache_wait(p == NULL ? NULL : p->s, timeout_ms);
}

/* ---- life ---- */

int pawl_provider_new(struct pawl_client *c, const char *base, const char *name,
                      const struct pawl_provider_options *options, struct pawl_provider **out)
{
    struct pawl_provider *p;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    p = calloc(1, sizeof(*p));
    rc = p == NULL ? PAWL_ERR_NO_MEMORY : pawl_service_cache_new(c, base, name, NULL, NULL, &p->s);
    if (rc != 0) {
        free(p);
        return rc;
    }
    take_struct(&p->o, sizeof(p->o), options);
    p->o.down_errors = p->o.down_errors > 0 ? p->o.down_errors : 2;
    p->o.down_ms = p->o.down_ms > 0 ? p->o.down_ms : 30000;
    list_init(&p->troubles);
    *out = p;
    return 0;
}

void pawl_provider_free(struct pawl_provider *p)
{
    if (p == NULL) {
        return;
    }
    pawl_service_cache_free(p->s);
    while (!list_empty(&p->troubles)) {
        forget(container_of(p->troubles.next, struct trouble, link));
    }
    pawl_instance_free(p->kept);
    free(p);
}
