/* SPDX-License-Identifier: Apache-2.0 */
/* users_simple_queue.c - those who offer, and those who take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pawl/error.h"
#include "pawl/queue.h"
#include "sim/recipe_sim.h"
#include "store/tree.h"

enum { MAX_OFFERS = 20000, MOST_AT_ONCE = 20 };

struct offers {
    bool offered[MAX_OFFERS], taken[MAX_OFFERS];
    uint8_t thing[MAX_OFFERS];
    int n, n_lost; /* takes that may have taken, and do not know what */
};

struct taker {
    struct pawl_simple_queue *queue;
    int n_takes;
    bool is_offering;
};

static void taken(struct pawl_simple_queue *q, int err, struct pawl_bytes data, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct taker *x = u->own;
    struct offers *all = u->sim->own;
    char text[16];
    int i;

    if (!asked_told(asked, err)) {
        if (all != NULL) {
            all->n_lost++;
        }
        return;
    }
    x->n_takes -= q == x->queue;
    if (err != 0) {
        all->n_lost += err != PAWL_ERR_OPERATION_TIMEOUT;
        if (err == PAWL_ERR_OPERATION_TIMEOUT &&
            (asked->timeout_ms < 0 || sim_now_ms(u->sim) < asked->since_ms + asked->timeout_ms)) {
            world_violated("user %d: take ended too early", u->id);
        }
        return;
    }
    snprintf(text, sizeof(text), "%.*s", (int)data.len, (const char *)data.data);
    i = atoi(text);
    if (i < 0 || i >= all->n || all->thing[i] != u->thing || all->taken[i]) {
        world_violated("user %d took %s, which nobody offered or somebody has", u->id, text);
    }
    all->taken[i] = true;
    u->sim->n_done++;
}

static void simple_take(struct user *u)
{
    static const int timeouts[] = {0, 300, 3000};
    struct taker *x = u->own;
    struct asked *asked = asked_new(u, "take", x->queue, timeouts[sim_below(u->sim, 3)]);
    int rc = pawl_simple_queue_take_async(x->queue, asked->timeout_ms, taken, asked);

    if (rc != 0) {
        world_violated("user %d: take said %s", u->id, pawl_error_name(rc));
    }
    x->n_takes++;
}

/* Blocks, while the world goes on. */
static void simple_offer(struct user *u)
{
    struct offers *all = u->sim->own;
    struct taker *x = u->own;
    char text[16];
    int i = all->n;

    if (i == MAX_OFFERS) {
        return;
    }
    all->n++;
    all->thing[i] = (uint8_t)u->thing;
    snprintf(text, sizeof(text), "%d", i);
    x->is_offering = true;
    if (pawl_simple_queue_offer(x->queue, (struct pawl_bytes){text, strlen(text)}) == 0) {
        all->offered[i] = true;
    }
    x->is_offering = false;
}

static void simple_free(struct user *u)
{
    struct taker *x = u->own;
    struct pawl_simple_queue *q = x->queue;

    *x = (struct taker){0};
    pawl_simple_queue_free(q);
}

static void simple_act(struct user *u)
{
    struct sim *s = u->sim;
    struct taker *x = u->own;
    const char *path = s->things[u->thing].path;

    if (x->queue == NULL) {
        if (pawl_simple_queue_new(user_client(u), path, &x->queue) != 0) {
            world_violated("user %d could not make a queue", u->id);
        }
    } else if (!s->calm && sim_chance(s, 60)) {
        simple_free(u);
    } else if (!s->calm && sim_chance(s, 2) && world_n_children(s->w, path) < MOST_AT_ONCE) {
        simple_offer(u);
    } else if (x->n_takes < 2 && (!s->calm || world_n_children(s->w, path) > 0)) {
        simple_take(u);
    }
}

static bool simple_is_idle(const struct user *u)
{
    const struct taker *x = u->own;

    return x->n_takes == 0 && world_n_children(u->sim->w, u->sim->things[u->thing].path) <= 0;
}

/* Nothing is lost without a take that says so. */
static void simple_calm(struct sim *s)
{
    const struct offers *all = s->own;
    int n_missing = 0;

    for (int i = 0; i < all->n; i++) {
        n_missing += all->offered[i] && !all->taken[i] &&
                     world_n_children(s->w, s->things[all->thing[i]].path) <= 0;
    }
    for (struct list *item = s->asked.next; item != &s->asked; item = item->next) {
        n_missing -= !container_of(item, struct asked, link)->told; /* of the dead */
    }
    if (n_missing > all->n_lost) {
        world_violated("%d items are gone, and %d takes may have lost one", n_missing, all->n_lost);
    }
}

static void simple_begin(struct sim *s)
{
    s->own = must_zalloc(sizeof(struct offers));
}

const struct kind simple_queue_kind = {
    .name = "simple-queue",
    .user_bytes = sizeof(struct taker),
    .begin = simple_begin,
    .act = simple_act,
    .is_idle = simple_is_idle,
    .free = simple_free,
    .calm = simple_calm,
    .no_robbers = true,
};
