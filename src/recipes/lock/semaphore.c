/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/lock/semaphore.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/beacon.h"
#include "client/prepare.h"
#include "client/take.h"
#include "recipes/core/participants.h"

enum { WATCH_OWN_AFTER_MS = 50 };

static struct taking *taking_of(struct list *ask_link)
{
    return container_of(container_of(ask_link, struct ask, link), struct taking, ask);
}

/* ---- leases ---- */

/* Whoever asks holds the lock: nobody else adds a node meanwhile. */
static bool are_enough(const struct contender *c, const struct pawl_strings *names, size_t own,
                       size_t *watch)
{
    const struct pawl_semaphore *s = c->o.rule_arg;

    (void)own;
    (void)watch;
    return count_is_sure(s) && s->count.max > 0 && names->n <= (size_t)s->count.max;
}

static bool is_one_left(const struct contender *c, const struct pawl_strings *names)
{
    const struct pawl_semaphore *s = c->o.rule_arg;

    return count_is_sure(s) && s->count.max > 0 && names->n < (size_t)s->count.max;
}

static const struct contender_rule lease_rule = {.holds = are_enough, .is_free = is_one_left};

static void lease_settled(struct contender *c, int err);
static void lease_lost(struct pawl_grant *g);

static struct pawl_lease *new_lease(struct taking *t)
{
    struct pawl_semaphore *s = t->s;
    struct pawl_lease *lease = calloc(1, sizeof(*lease) + s->data_len + 1);
    struct contender_options o = {.base = s->leases,
                                  .marker = "lease-",
                                  .permits = 1,
                                  .watch_own_after_ms = WATCH_OWN_AFTER_MS,
                                  .watch_list = true,
                                  .once = true,
                                  .rule = &lease_rule,
                                  .rule_arg = s};

    if (lease == NULL) {
        return NULL;
    }
    lease->s = s;
    lease->taking = t;
    if (s->data_len > 0) {
        memcpy(lease->data, s->data, s->data_len);
    }
    o.data = (struct pawl_bytes){lease->data, s->data_len};
    contender_init(&lease->contender, &s->r, &o);
    lease->contender.settled = lease_settled;
    lease->contender.grant.doubt = s->o.doubt;
    lease->contender.grant.lost = lease_lost;
    list_push_back(&s->out, &lease->link);
    return lease;
}

static void free_lease(struct pawl_lease *lease)
{
    list_remove(&lease->link);
    contender_fini(&lease->contender);
    free(lease);
}

/* Somebody may just be told about its grant: then it stays until the next one is dropped. */
void lease_drop(struct pawl_lease *lease)
{
    struct pawl_semaphore *s = lease->s;
    struct list *item, *next;

    list_remove(&lease->link);
    list_push_back(&s->dead, &lease->link);
    for (item = s->dead.next; item != &s->dead; item = next) {
        struct pawl_lease *dead = container_of(item, struct pawl_lease, link);

        next = item->next;
        if (dead->contender.grant.n_notes == 0) {
            free_lease(dead);
        }
    }
}

/* ---- acquiring ---- */

static const uint8_t taking_may_follow[] = {
    [TAKING_COUNT] = 1 << TAKING_LOCK | 1 << TAKING_ENDED,
    [TAKING_LOCK] = 1 << TAKING_LOCK | 1 << TAKING_LEASE | 1 << TAKING_ENDED,
    [TAKING_LEASE] = 1 << TAKING_LEASE | 1 << TAKING_LOCK | 1 << TAKING_ENDED,
    [TAKING_ENDED] = 0,
};

/* What is true of an acquire between any two moves: who adds leases holds the lock. */
static void taking_check(const struct taking *t)
{
    ASSERT(t->n_held <= t->n);
    ASSERT(t->state != TAKING_LEASE || t->lock.state == CONTENDER_HELD);
    ASSERT(t->state == TAKING_LEASE || t->state == TAKING_ENDED || t->n_held == 0);
    for (size_t i = 0; i < t->n_held; i++) {
        ASSERT(t->leases[i]->contender.state == CONTENDER_HELD);
    }
}

static void taking_move(struct taking *t, enum taking_state next)
{
    ASSERT((taking_may_follow[t->state] & 1 << next) != 0);
    t->state = next;
    taking_check(t);
}

static void drop_leases(struct taking *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct pawl_lease *lease = t->leases[i];

        t->leases[i] = NULL;
        if (lease != NULL) {
            contender_stop(&lease->contender);
            lease_drop(lease);
        }
    }
    t->n_held = 0;
}

static void taking_hand_over(struct taking *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct pawl_lease *lease = t->leases[i];

        lease->taking = NULL;
        grant_listen(&lease->contender.grant, t->s->o.on_grant, t->s->o.on_grant_arg);
    }
    if (t->granted != NULL) {
        t->granted(t);
    }
}

void taking_end(struct taking *t, int err)
{
    ASSERT(err != 0 || t->n_held == t->n);
    taking_move(t, TAKING_ENDED);
    if (err == 0) {
        contender_release(&t->lock, NULL, NULL);
        taking_hand_over(t);
    } else {
        drop_leases(t);
        contender_stop(&t->lock);
    }
    ask_end(&t->ask, err);
}

static void want_lease(struct taking *t)
{
    struct pawl_lease *lease = new_lease(t);
    int rc = PAWL_ERR_NO_MEMORY;

    taking_move(t, TAKING_LEASE);
    t->leases[t->n_held] = lease;
    if (lease != NULL) {
        rc = contender_start(&lease->contender, t->ask.is_try);
    }
    if (rc != 0) {
        taking_end(t, rc);
    }
}

void taking_go_on(struct taking *t)
{
    int rc;

    taking_move(t, TAKING_LOCK);
    rc = contender_start(&t->lock, t->ask.is_try);
    if (rc != 0) {
        taking_end(t, rc);
    }
}

/* The session is a new one, or somebody has deleted what was ours. */
static void begin_again(struct taking *t)
{
    drop_leases(t);
    contender_stop(&t->lock);
    taking_go_on(t);
}

static void lease_settled(struct contender *c, int err)
{
    struct taking *t = container_of(c, struct pawl_lease, contender)->taking;

    if (err == PAWL_ERR_LOST) {
        begin_again(t);
    } else if (err != 0) {
        taking_end(t, err);
    } else if (++t->n_held < t->n) {
        want_lease(t);
    } else {
        taking_end(t, 0);
    }
}

/* One that we have got already, but not yet all that are wanted. */
static void lease_lost(struct pawl_grant *g)
{
    struct contender *c = container_of(g, struct contender, grant);
    struct pawl_lease *lease = container_of(c, struct pawl_lease, contender);

    if (lease->taking != NULL) {
        begin_again(lease->taking);
    }
}

static void lock_lost(struct pawl_grant *g)
{
    begin_again(container_of(container_of(g, struct contender, grant), struct taking, lock));
}

static void taking_lock_settled(struct contender *c, int err)
{
    struct taking *t = container_of(c, struct taking, lock);

    if (err == 0) {
        want_lease(t);
    } else {
        taking_end(t, err);
    }
}

static int start_taking(struct ask *a)
{
    struct taking *t = container_of(a, struct taking, ask);
    int rc = t->leases == NULL ? PAWL_ERR_NO_MEMORY : count_want(t->s);

    if (rc != 0) {
        return rc;
    }
    list_push_back(&t->s->takings, &a->link);
    if (count_is_sure(t->s)) {
        taking_go_on(t);
    }
    return 0;
}

static void give_up_taking(struct ask *a, int err)
{
    taking_end(container_of(a, struct taking, ask), err);
}

static void drop_taking(struct ask *a)
{
    struct taking *t = container_of(a, struct taking, ask);

    contender_fini(&t->lock);
    free(t->leases);
}

/* Not a step. What needs the lock is done when it starts. */
struct taking *taking_new(struct pawl_semaphore *s, size_t n)
{
    struct contender_options o = {
        .marker = "lock-", .permits = 1, .watch_own_after_ms = WATCH_OWN_AFTER_MS};
    struct taking *t = ask_new(sizeof(*t), start_taking);

    if (t == NULL || s == NULL) {
        free(t);
        return NULL;
    }
    o.base = s->locks;
    o.data = (struct pawl_bytes){s->identity, strlen(s->identity)};
    contender_init(&t->lock, &s->r, &o);
    t->lock.settled = taking_lock_settled;
    t->lock.grant.lost = lock_lost;
    t->s = s;
    t->n = n;
    t->leases = calloc(n, sizeof(struct pawl_lease *));
    t->ask.give_up = give_up_taking;
    t->ask.drop = drop_taking;
    return t;
}

static bool are_possible(const struct pawl_semaphore *s, size_t n)
{
    return s != NULL && n > 0 && n <= INT32_MAX &&
           (s->count.path != NULL || n <= (size_t)s->count.max);
}

static void taking_take(struct ask *a, void *out)
{
    struct taking *t = container_of(a, struct taking, ask);

    if (a->err == 0) {
        memcpy(out, t->leases, t->n * sizeof(struct pawl_lease *));
    }
}

int pawl_semaphore_acquire_n(struct pawl_semaphore *s, size_t n, int timeout_ms,
                             struct pawl_lease **out)
{
    struct taking *t;

    if (!are_possible(s, n) || out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    t = taking_new(s, n);
    return ask_block(&s->r, t == NULL ? NULL : &t->ask, timeout_ms, taking_take, out);
}

int pawl_semaphore_acquire(struct pawl_semaphore *s, int timeout_ms, struct pawl_lease **out)
{
    if (out != NULL) {
        *out = NULL;
    }
    return pawl_semaphore_acquire_n(s, 1, timeout_ms, out);
}

/* Who has freed the semaphore has no leases, even if they had been got before. */
static void taking_tell(struct ask *a)
{
    struct taking *t = container_of(a, struct taking, ask);

    t->done(t->s, a->err, t->leases, a->err == 0 ? t->n : 0, t->arg);
}

int pawl_semaphore_acquire_async(struct pawl_semaphore *s, size_t n, int timeout_ms,
                                 pawl_semaphore_fn done, void *arg)
{
    struct taking *t;

    if (!are_possible(s, n) || done == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    t = taking_new(s, n);
    if (t != NULL) {
        t->done = done;
        t->arg = arg;
        t->ask.tell = taking_tell;
    }
    return ask_post(&s->r, t == NULL ? NULL : &t->ask, timeout_ms);
}

static void semaphore_cancel_all(struct pawl_semaphore *s)
{
    while (!list_empty(&s->takings)) {
        taking_end(taking_of(s->takings.next), PAWL_ERR_CANCELLED);
    }
}

void pawl_semaphore_cancel(struct pawl_semaphore *s)
{
    if (s != NULL && recipe_begin(&s->r) == 0) {
        semaphore_cancel_all(s);
        recipe_end(&s->r);
    }
}

void semaphore_poke(struct pawl_semaphore *s)
{
    struct list *item, *next;

    for (item = s->takings.next; item != &s->takings; item = next) {
        struct taking *t = taking_of(item);

        next = item->next;
        if (t->state == TAKING_LEASE) {
            contender_poke(&t->leases[t->n_held]->contender);
        }
    }
}

/* ---- giving back ---- */

struct giving {
    struct ask ask;
    struct pawl_lease *lease;
    pawl_release_fn done;
    void *arg;
};

static void given_back(void *ask, int err)
{
    ask_end(ask, err);
    ask_unref(ask);
}

void lease_give_back(struct pawl_lease *lease, struct ask *a)
{
    bool lost = lease->contender.grant.state == PAWL_GRANT_LOST;

    ask_ref(a);
    contender_release(&lease->contender, lost ? NULL : given_back, a);
    lease_drop(lease);
    if (lost) {
        given_back(a, PAWL_ERR_LOST);
    }
}

static int start_giving(struct ask *a)
{
    lease_give_back(container_of(a, struct giving, ask)->lease, a);
    return 0;
}

static void tell_given(struct ask *a)
{
    struct giving *g = container_of(a, struct giving, ask);

    g->done(a->err, g->arg);
}

static struct giving *new_giving(struct pawl_lease *lease, pawl_release_fn done, void *arg)
{
    struct giving *g = ask_new(sizeof(*g), start_giving);

    if (g != NULL) {
        g->lease = lease;
        g->done = done;
        g->arg = arg;
        g->ask.tell = done == NULL ? NULL : tell_given;
    }
    return g;
}

int pawl_lease_release(struct pawl_lease *lease)
{
    struct pawl_semaphore *s;
    struct giving *g;

    if (lease == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    s = lease->s;
    g = new_giving(lease, NULL, NULL);
    return ask_block(&s->r, g == NULL ? NULL : &g->ask, s->r.timeout_ms, NULL, NULL);
}

int pawl_lease_release_async(struct pawl_lease *lease, pawl_release_fn done, void *arg)
{
    struct giving *g;

    if (lease == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    g = new_giving(lease, done, arg);
    return ask_post(&lease->s->r, g == NULL ? NULL : &g->ask, -1);
}

struct pawl_grant *pawl_lease_grant(struct pawl_lease *lease)
{
    return lease == NULL ? NULL : &lease->contender.grant;
}

/* ---- life ---- */

static void semaphore_destroy(struct recipe *r)
{
    struct pawl_semaphore *s = container_of(r, struct pawl_semaphore, r);

    while (!list_empty(&s->out)) {
        free_lease(container_of(s->out.next, struct pawl_lease, link));
    }
    while (!list_empty(&s->dead)) {
        free_lease(container_of(s->dead.next, struct pawl_lease, link));
    }
    recipe_fini(r);
    free(s->locks);
    free(s->leases);
    free(s->count.path);
    free(s->data);
    free(s);
}

static int semaphore_take_data(struct pawl_semaphore *s, struct pawl_bytes data)
{
    void *copy;

    if (data.data == NULL) {
        data = (struct pawl_bytes){s->identity, strlen(s->identity)};
    }
    copy = malloc(data.len + 1);
    if (copy == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    memcpy(copy, data.data, data.len);
    free(s->data);
    s->data = copy;
    s->data_len = data.len;
    return 0;
}

int pawl_semaphore_set_data(struct pawl_semaphore *s, struct pawl_bytes data)
{
    int rc = recipe_begin(s == NULL ? NULL : &s->r);

    if (rc == 0) {
        rc = take_is_data(data) ? semaphore_take_data(s, data) : PAWL_ERR_BAD_ARGUMENTS;
        recipe_end(&s->r);
    }
    return rc;
}

static int semaphore_fill(struct pawl_semaphore *s, const char *path)
{
    list_init(&s->takings);
    list_init(&s->out);
    list_init(&s->dead);
    identity_text(s->identity, sizeof(s->identity));
    s->locks = recipe_join(path, "locks");
    s->leases = recipe_join(path, "leases");
    s->count.path = s->o.count == NULL ? NULL : recipe_copy(s->o.count);
    s->count.max = s->o.max_leases;
    recipe_watch_init(&s->r, &s->count.watch, count_changed, s);
    s->count.known = s->o.count == NULL;
    if (s->locks == NULL || s->leases == NULL || (s->o.count != NULL && s->count.path == NULL)) {
        return PAWL_ERR_NO_MEMORY;
    }
    return semaphore_take_data(s, s->o.data);
}

static bool semaphore_are_good(const struct pawl_semaphore_options *o)
{
    bool leases = o->count == NULL ? o->max_leases > 0
                                   : o->max_leases >= 0 && prepare_is_good_path(o->count, false);

    return leases && (unsigned)o->doubt <= PAWL_DOUBT_GO_ON && take_is_data(o->data);
}

int semaphore_make(size_t size, struct pawl_client *c, const char *path,
                   const struct pawl_semaphore_options *o, struct pawl_semaphore **out)
{
    struct pawl_semaphore *s;
    int rc;

    if (c == NULL || !prepare_is_good_path(path, false) || !semaphore_are_good(o)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    s = calloc(1, size);
    rc = s == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&s->r, c, semaphore_destroy);
    if (rc != 0) {
        free(s);
        return rc;
    }
    s->o = *o;
    rc = semaphore_fill(s, path);
    if (rc != 0) {
        semaphore_destroy(&s->r);
        return rc;
    }
    *out = s;
    return 0;
}

int pawl_semaphore_new(struct pawl_client *c, const char *path,
                       const struct pawl_semaphore_options *options, struct pawl_semaphore **out)
{
    struct pawl_semaphore_options o;

    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    take_struct(&o, sizeof(o), options);
    return out == NULL ? PAWL_ERR_BAD_ARGUMENTS
                       : semaphore_make(sizeof(struct pawl_semaphore), c, path, &o, out);
}

static void semaphore_shut(struct recipe *r)
{
    struct pawl_semaphore *s = container_of(r, struct pawl_semaphore, r);
    struct list *item;

    semaphore_cancel_all(s);
    count_shut(s);
    list_for_each (item, &s->out) {
        contender_stop(&container_of(item, struct pawl_lease, link)->contender);
    }
}

void pawl_semaphore_free(struct pawl_semaphore *s)
{
    recipe_free(s == NULL ? NULL : &s->r, semaphore_shut);
}

int pawl_semaphore_participants(struct pawl_semaphore *s, struct pawl_participants **out)
{
    if (out != NULL) {
        *out = NULL;
    }
    if (s == NULL || out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return participants_read(s->r.client, s->leases, s->r.timeout_ms, out);
}
