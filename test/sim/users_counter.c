/* SPDX-License-Identifier: Apache-2.0 */
/* users_counter.c - those who count. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "pawl/counter.h"
#include "pawl/error.h"
#include "sim/recipe_sim.h"
#include "store/tree.h"

enum { MAX_COUNT = 1 << 16 };

struct counter {
    struct pawl_atomic *atomic;
    int n_asked;
};

/* things[].number is what was added for certain, .maybe what may have been added as well. */
struct numbers {
    bool given[MAX_COUNT]; /* who incremented to this */
};

static int64_t number_of(const uint8_t *eight_bytes)
{
    return (int64_t)((uint64_t)load_u32(eight_bytes) << 32 | load_u32(eight_bytes + 4));
}

static void done(struct pawl_atomic *a, int err, const struct pawl_atomic_result *r, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct thing *t = &u->sim->things[u->thing];
    struct numbers *n = t->own;
    struct counter *c = u->own;
    bool lives = asked_told(asked, err);

    if (lives && a == c->atomic) {
        c->n_asked--;
    }
    if (n == NULL) {
        return; /* of a dead one, at the end of the world */
    }
    if (err == 0 && r != NULL && r->succeeded) {
        if (r->after != r->before + 1 || r->after <= 0 || r->after >= MAX_COUNT ||
            n->given[r->after]) {
            world_violated("user %d: %lld follows %lld, or was given before", u->id,
                           (long long)r->after, (long long)r->before);
        }
        n->given[r->after] = true;
        t->number++;
        u->sim->n_done++;
    } else if (r == NULL || r->outcome == PAWL_OUTCOME_UNKNOWN || !lives) {
        t->maybe++;
    }
}

static void ask(struct user *u)
{
    struct counter *c = u->own;
    struct asked *asked = asked_new(u, "increment", c->atomic, -1);
    int rc = pawl_atomic_add_async(c->atomic, 1, done, asked);

    if (rc != 0) {
        world_violated("user %d: increment said %s", u->id, pawl_error_name(rc));
    }
    c->n_asked++;
}

static void free_counter(struct user *u)
{
    struct counter *c = u->own;
    struct pawl_atomic *a = c->atomic;

    *c = (struct counter){0};
    pawl_atomic_free(a);
}

static void make(struct user *u)
{
    struct counter *c = u->own;
    struct pawl_atomic_options o = {.size = sizeof(o), .mark = u->sim->things[u->thing].last_token};

    if (sim_chance(u->sim, 2)) {
        o.lock_path = u->thing == 0 ? "/sim/lock-0" : "/sim/lock-1";
    }
    if (pawl_atomic_new(user_client(u), u->sim->things[u->thing].path, &o, &c->atomic) != 0) {
        world_violated("user %d could not make a number", u->id);
    }
}

static void act(struct user *u)
{
    struct sim *s = u->sim;
    struct counter *c = u->own;

    if (c->atomic == NULL) {
        make(u);
    }
    if (!s->calm && sim_chance(s, 60)) {
        free_counter(u);
    } else if (!s->calm && c->n_asked < 3) {
        ask(u);
    }
}

static bool is_idle(const struct user *u)
{
    return ((const struct counter *)u->own)->n_asked == 0;
}

static void begin(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        s->things[i].own = must_zalloc(sizeof(struct numbers));
        s->things[i].last_token = sim_chance(s, 2); /* with marks */
    }
}

/* Exact, or uncertain and said so. Requests of the dead may be counted as well. */
static void finish(struct sim *s)
{
    struct list *item;

    list_for_each (item, &s->asked) {
        const struct asked *asked = container_of(item, struct asked, link);

        s->things[asked->user->thing].maybe += !asked->told;
    }
    for (int i = 0; i < s->n_things; i++) {
        struct thing *t = &s->things[i];
        znode_id id = tree_find(world_tree(s->w), bytes_str(t->path));
        struct bytes data =
            id == 0 ? bytes_of("", 0) : sim_plain(s, tree_data(world_tree(s->w), id));
        int64_t value = data.len < 8 ? 0 : number_of(data.data);

        if (value < t->number || value > t->number + t->maybe) {
            world_violated("%s is %lld, %lld were added, and perhaps %lld", t->path,
                           (long long)value, (long long)t->number, (long long)t->maybe);
        }
        free(t->own);
        t->own = NULL;
    }
}

const struct kind counter_kind = {
    .name = "counter",
    .user_bytes = sizeof(struct counter),
    .begin = begin,
    .act = act,
    .is_idle = is_idle,
    .free = free_counter,
    .finish = finish,
    .no_robbers = true,
};
