/* SPDX-License-Identifier: Apache-2.0 */
/* users_queue.c - those who put, and those who consume. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "pawl/error.h"
#include "pawl/queue.h"
#include "sim/recipe_sim.h"
#include "store/tree.h"

enum { MAX_ITEMS = 20000, MOST_IN_QUEUE = 30 };

enum fate { NOT_PUT, PUT_PERHAPS, PUT };

struct items {
    uint8_t fate[MAX_ITEMS];
    uint8_t thing[MAX_ITEMS];
    int n_consumed[MAX_ITEMS];
    int n;
};

struct worker {
    struct pawl_queue *queue;
    bool consumes;
    int n_asked;
};

/* things[].number: with locks, at least once. */
static int consume(struct pawl_queue *q, const struct pawl_item *item, void *user)
{
    struct user *u = user;
    struct items *all = u->sim->own;
    char text[16];
    int i;

    (void)q;
    if (!user_lives(u)) {
        return -1;
    }
    snprintf(text, sizeof(text), "%.*s", (int)item->data.len, (const char *)item->data.data);
    i = atoi(text);
    if (i < 0 || i >= all->n || all->thing[i] != u->thing) {
        world_violated("user %d was given what nobody put: %s", u->id, text);
    }
    world_note(u->id, "consume", i);
    if (u->sim->things[u->thing].number != 0 && !u->sim->calm && sim_chance(u->sim, 10)) {
        return -1; /* put it again */
    }
    if (all->n_consumed[i]++ > 0 && u->sim->things[u->thing].number == 0) {
        world_violated("item %d was consumed twice", i);
    }
    u->sim->n_done++;
    return 0;
}

static void put_done(struct pawl_queue *q, int err, const char *path, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct items *all = u->sim->own;
    struct worker *x = u->own;
    bool lives = asked_told(asked, err);

    (void)path;
    if (all == NULL) {
        return;
    }
    if (lives) {
        x->n_asked -= q == x->queue;
    }
    if (err == 0) {
        all->fate[asked->detail] = PUT;
    }
}

static void make(struct user *u)
{
    static const char *const lock_paths[] = {"/sim/locks-0", "/sim/locks-1"};
    struct sim *s = u->sim;
    struct worker *x = u->own;
    struct pawl_queue_options o = {.size = sizeof(o)};

    *x = (struct worker){.consumes = s->calm || sim_chance(s, 2)};
    if (x->consumes) {
        o.consumer = consume;
        o.consumer_arg = u;
    }
    if (s->things[u->thing].number != 0) {
        o.lock_path = lock_paths[u->thing];
    }
    if (pawl_queue_new(user_client(u), s->things[u->thing].path, &o, &x->queue) != 0) {
        world_violated("user %d could not make a queue", u->id);
    }
}

static void put(struct user *u)
{
    struct items *all = u->sim->own;
    struct worker *x = u->own;
    struct asked *asked;
    char text[16];
    int rc;

    if (all->n == MAX_ITEMS) {
        return;
    }
    asked = asked_new(u, "put", x->queue, -1);
    asked->detail = all->n++;
    all->fate[asked->detail] = PUT_PERHAPS;
    all->thing[asked->detail] = (uint8_t)u->thing;
    snprintf(text, sizeof(text), "%d", (int)asked->detail);
    rc = pawl_queue_put_async(x->queue, PAWL_PUT(.item = {text, strlen(text)}), put_done, asked);
    if (rc != 0) {
        world_violated("user %d: put said %s", u->id, pawl_error_name(rc));
    }
    x->n_asked++;
}

static void free_queue(struct user *u)
{
    struct worker *x = u->own;
    struct pawl_queue *q = x->queue;

    world_note(u->id, "free", 0);
    *x = (struct worker){0};
    pawl_queue_free(q);
}

static void act(struct user *u)
{
    struct sim *s = u->sim;
    struct worker *x = u->own;

    if (x->queue == NULL) {
        make(u);
    } else if (s->calm ? !x->consumes && x->n_asked == 0 : sim_chance(s, 60)) {
        free_queue(u); /* calm: everybody consumes */
    } else if (!s->calm && x->n_asked < 4 &&
               world_n_children(s->w, s->things[u->thing].path) < MOST_IN_QUEUE) {
        put(u);
    }
}

/* Without a consumer of this thing nobody can empty it. */
static bool thing_is_done(const struct user *u)
{
    const struct thing *t = &u->sim->things[u->thing];

    return world_n_children(u->sim->w, t->path) <= 0;
}

static bool is_idle(const struct user *u)
{
    const struct worker *x = u->own;

    return x->n_asked == 0 && x->queue != NULL && x->consumes && thing_is_done(u);
}

static void calm(struct sim *s)
{
    struct items *all = s->own;
    bool has_consumer[MAX_THINGS] = {false};
    struct user *u;

    world_run(s->w, 5000); /* what was taken is consumed */
    for (int at = 0; (u = sim_next_user(s, &at)) != NULL;) {
        has_consumer[u->thing] = true;
    }
    for (int i = 0; i < all->n; i++) {
        if (all->fate[i] == PUT && all->n_consumed[i] == 0 && has_consumer[all->thing[i]] &&
            s->things[all->thing[i]].number != 0) {
            world_violated("item %d was put and never consumed", i);
        }
    }
}

static void begin(struct sim *s)
{
    s->own = must_zalloc(sizeof(struct items));
    for (int i = 0; i < s->n_things; i++) {
        s->things[i].number = sim_chance(s, 2);
    }
}

const struct kind queue_kind = {
    .name = "queue",
    .user_bytes = sizeof(struct worker),
    .begin = begin,
    .act = act,
    .is_idle = is_idle,
    .free = free_queue,
    .calm = calm,
    .no_robbers = true,
};
