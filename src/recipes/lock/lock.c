/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/lock/lock.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/beacon.h"
#include "client/prepare.h"
#include "client/take.h"

enum { WATCH_OWN_AFTER_MS = 50 };

/* ---- holders ---- */

static void revoked(struct contender *c);

/* Of threads that have ended since. */
static void drop_leftovers(struct pawl_lock *l)
{
    struct list *item, *next;

    for (item = l->holders.next; item != &l->holders; item = next) {
        next = item->next;
        lock_drop_if_unused(container_of(item, struct holder, link));
    }
}

struct holder *lock_new_holder(struct pawl_lock *l, uint64_t thread)
{
    struct holder *h = calloc(1, sizeof(*h));

    if (h == NULL) {
        return NULL;
    }
    drop_leftovers(l);
    h->lock = l;
    h->thread = thread;
    list_init(&h->acquires);
    contender_init(&h->contender, &l->r, &l->contender);
    h->contender.settled = lock_settled;
    h->contender.revoked = l->o.on_revoke == NULL ? NULL : revoked;
    h->contender.grant.doubt = l->o.doubt;
    h->contender.grant.fn = l->o.on_grant;
    h->contender.grant.arg = l->o.on_grant_arg;
    list_push_back(&l->holders, &h->link);
    return h;
}

static void free_holder(struct holder *h)
{
    list_remove(&h->link);
    contender_fini(&h->contender);
    free(h);
}

struct holder *lock_holder(const struct pawl_lock *l, uint64_t thread)
{
    struct list *item;

    list_for_each (item, &l->holders) {
        struct holder *h = container_of(item, struct holder, link);

        if (l->o.owner == PAWL_OWNER_HANDLE || h->thread == thread) {
            return h;
        }
    }
    return NULL;
}

void lock_drop_if_unused(struct holder *h)
{
    if (h->lock->o.owner == PAWL_OWNER_THREAD && h->depth == 0 && list_empty(&h->acquires) &&
        h->contender.state == CONTENDER_IDLE && h->n_ending == 0 &&
        h->contender.grant.n_notes == 0) {
        free_holder(h);
    }
}

/* ---- revocation ---- */

static void tell_revoked(void *lock)
{
    struct pawl_lock *l = lock;

    recipe_note_begin(&l->r);
    if (!l->r.freed) {
        recipe_calling(&l->r);
        l->o.on_revoke(l, l->o.on_revoke_arg);
        recipe_called(&l->r);
    }
    recipe_note_end(&l->r);
}

static void revoked(struct contender *c)
{
    struct pawl_lock *l = container_of(c, struct holder, contender)->lock;

    recipe_post(&l->r, &l->revoke_note);
}

int pawl_lock_revoke(struct pawl_client *c, const char *path)
{
    return pawl_set(c, PAWL_SET(.path = path, .data = {"__REVOKE__", 10}), NULL);
}

/* ---- life ---- */

static void lock_destroy(struct recipe *r)
{
    struct pawl_lock *l = container_of(r, struct pawl_lock, r);

    while (!list_empty(&l->holders)) {
        free_holder(container_of(l->holders.next, struct holder, link));
    }
    recipe_fini(r);
    free(l->base);
    free(l->marker);
    free(l->data);
    free(l);
}

static bool driver_holds(const struct contender *c, const struct pawl_strings *names, size_t own,
                         size_t *watch)
{
    const struct pawl_lock_driver *d = &((const struct pawl_lock *)c->o.rule_arg)->driver;

    return d->holds(names, own, watch, d->arg);
}

static const char *driver_key(const struct contender *c, const char *name)
{
    const struct pawl_lock_driver *d = &((const struct pawl_lock *)c->o.rule_arg)->driver;

    return d->order_key(name, c->o.marker, d->arg);
}

/* Curator's revocable lock has a node without data. */
static int lock_take_data(struct pawl_lock *l)
{
    size_t len = l->o.data.len;

    l->data = calloc(1, len > IDENTITY_BYTES ? len : IDENTITY_BYTES);
    if (l->data == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    if (l->o.on_revoke != NULL) {
        len = 0;
    } else if (l->o.data.data != NULL) {
        memcpy(l->data, l->o.data.data, len);
    } else {
        identity_text(l->data, IDENTITY_BYTES);
        len = strlen(l->data);
    }
    l->contender.data = (struct pawl_bytes){l->data, len};
    return 0;
}

static int lock_fill(struct pawl_lock *l, const char *path)
{
    l->base = recipe_copy(path);
    l->marker = recipe_copy(l->o.marker == NULL ? "lock-" : l->o.marker);
    if (l->base == NULL || l->marker == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    l->contender = (struct contender_options){
        .base = l->base,
        .marker = l->marker,
        .revocable = l->o.on_revoke != NULL,
        .permits = l->o.permits > 0 ? l->o.permits : 1,
        .delay_ms = l->o.delay_ms,
        .watch_own_after_ms = WATCH_OWN_AFTER_MS,
        .rule_arg = l,
    };
    if (l->o.driver != NULL) {
        l->driver = *l->o.driver;
        l->rule = (struct contender_rule){
            .holds = l->driver.holds == NULL ? NULL : driver_holds,
            .order_key = l->driver.order_key == NULL ? NULL : driver_key,
        };
        l->contender.rule = &l->rule;
    }
    return lock_take_data(l);
}

static bool lock_are_good(const struct pawl_lock_options *o)
{
    return (unsigned)o->owner <= PAWL_OWNER_THREAD && (unsigned)o->doubt <= PAWL_DOUBT_GO_ON &&
           o->delay_ms >= 0 && o->permits >= 0 && take_is_data(o->data) &&
           (o->marker == NULL || (*o->marker != '\0' && strchr(o->marker, '/') == NULL));
}

int lock_new(struct pawl_client *c, const char *path, const struct pawl_lock_options *options,
             struct pawl_lock **out)
{
    struct pawl_lock *l = calloc(1, sizeof(*l));
    int rc = l == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&l->r, c, lock_destroy);

    if (rc != 0) {
        free(l);
        return rc;
    }
    take_struct(&l->o, sizeof(l->o), options);
    list_init(&l->holders);
    note_init(&l->revoke_note, tell_revoked, l);
    rc = lock_are_good(&l->o) ? lock_fill(l, path) : PAWL_ERR_BAD_ARGUMENTS;
    if (rc == 0 && l->o.owner == PAWL_OWNER_HANDLE && lock_new_holder(l, recipe_thread()) == NULL) {
        rc = PAWL_ERR_NO_MEMORY;
    }
    if (rc != 0) {
        lock_destroy(&l->r);
        return rc;
    }
    *out = l;
    return 0;
}

void lock_set_rule(struct pawl_lock *l, const char *also, const struct contender_rule *rule)
{
    struct list *item;

    l->contender.also = also;
    l->contender.rule = rule;
    list_for_each (item, &l->holders) {
        container_of(item, struct holder, link)->contender.o = l->contender;
    }
}

int pawl_lock_new(struct pawl_client *c, const char *path, const struct pawl_lock_options *options,
                  struct pawl_lock **out)
{
    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (c == NULL || out == NULL || !prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return lock_new(c, path, options, out);
}

static void lock_shut(struct recipe *r)
{
    struct pawl_lock *l = container_of(r, struct pawl_lock, r);
    struct list *item;

    lock_cancel_all(l);
    list_for_each (item, &l->holders) {
        struct holder *h = container_of(item, struct holder, link);

        h->depth = 0;
        contender_stop(&h->contender);
    }
}

void lock_free(struct pawl_lock *l)
{
    recipe_free(l == NULL ? NULL : &l->r, lock_shut);
}

void pawl_lock_free(struct pawl_lock *l)
{
    if (l != NULL && l->owner == NULL) {
        lock_free(l);
    }
}

/* ---- questions ---- */

/* Of the calling owner; the lock is held. */
static struct pawl_grant *lock_grant_of(const struct pawl_lock *l)
{
    struct holder *h = lock_holder(l, recipe_thread());

    return h == NULL ? NULL : &h->contender.grant;
}

struct pawl_grant *pawl_lock_grant(const struct pawl_lock *l)
{
    struct pawl_grant *g;

    if (l == NULL || recipe_look(&l->r) != 0) {
        return NULL;
    }
    g = lock_grant_of(l);
    recipe_looked(&l->r);
    return g;
}

/* Both in one look: a holder of another thread may free a thread's grant between two. The lock of
 * the engine may be taken twice by one thread. */
bool pawl_lock_held(const struct pawl_lock *l)
{
    bool held;

    if (l == NULL || recipe_look(&l->r) != 0) {
        return false;
    }
    held = pawl_grant_held(lock_grant_of(l));
    recipe_looked(&l->r);
    return held;
}

uint64_t pawl_lock_token(const struct pawl_lock *l)
{
    uint64_t token;

    if (l == NULL || recipe_look(&l->r) != 0) {
        return 0;
    }
    token = pawl_grant_token(lock_grant_of(l));
    recipe_looked(&l->r);
    return token;
}

int pawl_lock_depth(const struct pawl_lock *l)
{
    struct holder *h;
    int depth;

    if (l == NULL || recipe_look(&l->r) != 0) {
        return 0;
    }
    h = lock_holder(l, recipe_thread());
    depth = h == NULL ? 0 : h->depth;
    recipe_looked(&l->r);
    return depth;
}
