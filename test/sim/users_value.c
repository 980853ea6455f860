/* SPDX-License-Identifier: Apache-2.0 */
/* users_value.c - those who share a value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pawl/counter.h"
#include "pawl/error.h"
#include "sim/recipe_sim.h"
#include "store/tree.h"

enum { MAX_NUMBERS = 20000 };

/* What the node has been, as the server knows: things[].own. Every number is written once at most,
 * but for those that are set whatever the value was. */
struct history {
    int64_t zxid[MAX_NUMBERS];     /* of the change that made it so, the last */
    int64_t previous[MAX_NUMBERS]; /* of the value before */
    int64_t last_zxid;
    int n;
};

struct sharer {
    struct pawl_shared_value *value;
    bool started;
    int n_asked;
    int64_t told_zxid;
};

static int64_t value_number(struct bytes data)
{
    char text[24];

    snprintf(text, sizeof(text), "%.*s", (int)(data.len < 20 ? data.len : 20),
             data.len == 0 ? "" : (const char *)data.data);
    return atoll(text);
}

/* What was not on disk at a crash has never been. */
static void value_forget_lost(struct sim *s, struct thing *t)
{
    struct history *h = t->own;

    if (t->n_restarts == s->w->n_restarts) {
        return;
    }
    t->n_restarts = s->w->n_restarts;
    for (int n = 0; n <= h->n; n++) {
        h->zxid[n] = h->zxid[n] > s->w->restart_zxid ? 0 : h->zxid[n];
        h->last_zxid = h->zxid[n] > h->last_zxid || n == 0 ? h->zxid[n] : h->last_zxid;
    }
}

/* After every transaction. */
static void value_changed(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        struct history *h = s->things[i].own;
        znode_id id = tree_find(world_truth(s->w), bytes_str(s->things[i].path));
        struct stat_record stat;
        int64_t n;

        if (h == NULL || id == 0) {
            continue;
        }
        value_forget_lost(s, &s->things[i]);
        tree_stat(world_truth(s->w), id, &stat);
        if (stat.mzxid == h->last_zxid) {
            continue;
        }
        n = value_number(sim_plain(s, tree_data(world_truth(s->w), id)));
        if (n >= 0 && n < MAX_NUMBERS) {
            h->previous[n] = h->last_zxid;
            h->zxid[n] = stat.mzxid;
        }
        h->last_zxid = stat.mzxid;
    }
}

static void value_told(struct pawl_shared_value *v, const struct pawl_versioned *value, void *user)
{
    struct user *u = user;
    struct sharer *x = u->own;

    (void)v;
    if (!user_lives(u)) {
        return;
    }
    if (value->zxid <= x->told_zxid) {
        world_violated("user %d was told %lld after %lld", u->id, (long long)value->zxid,
                       (long long)x->told_zxid);
    }
    x->told_zxid = value->zxid;
    u->sim->n_done++;
}

static void value_started(struct pawl_shared_value *v, int err, void *arg)
{
    struct asked *asked = arg;
    struct sharer *x = asked->user->own;

    if (asked_told(asked, err) && v == x->value) {
        x->n_asked--;
        x->started = err == 0;
    }
}

static void value_make(struct user *u)
{
    struct sharer *x = u->own;
    struct asked *asked;

    *x = (struct sharer){0};
    if (pawl_shared_value_new(user_client(u), u->sim->things[u->thing].path,
                              (struct pawl_bytes){"0", 1}, &x->value) != 0 ||
        pawl_shared_value_add_listener(x->value, value_told, u) != 0) {
        world_violated("user %d could not make a value", u->id);
    }
    asked = asked_new(u, "start", x->value, -1);
    if (pawl_shared_value_start_async(x->value, value_started, asked) != 0) {
        world_violated("user %d could not start a value", u->id);
    }
    x->n_asked++;
}

static void value_free(struct user *u)
{
    struct sharer *x = u->own;
    struct pawl_shared_value *v = x->value;

    *x = (struct sharer){0};
    pawl_shared_value_free(v);
}

/* asked->detail: the number; asked->before: the zxid it was to follow, 0: any. */
static void value_set(struct pawl_shared_value *v, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct sharer *x = u->own;
    const struct history *h = u->sim->things[u->thing].own;
    int64_t n = asked->detail;

    if (!asked_told(asked, err)) {
        return;
    }
    x->n_asked -= v == x->value;
    if (h == NULL) {
        return;
    }
    value_forget_lost(u->sim, &u->sim->things[u->thing]);
    if (err == 0 && (h->zxid[n] == 0 || (asked->before != 0 && h->previous[n] != asked->before))) {
        world_violated("user %d: %lld was set, they say, after %llx; it came after %llx", u->id,
                       (long long)n, (long long)asked->before, (long long)h->previous[n]);
    }
    if (err != 0 && asked->before != 0 && err != PAWL_ERR_CONNECTION_LOSS &&
        err != PAWL_ERR_OPERATION_TIMEOUT && err != PAWL_ERR_CANCELLED && err != PAWL_ERR_CLOSING &&
        h->zxid[n] != 0) {
        world_violated("user %d: %lld was set, but they say %s", u->id, (long long)n,
                       pawl_error_name(err));
    }
}

static void value_change(struct user *u)
{
    struct sharer *x = u->own;
    struct history *h = u->sim->things[u->thing].own;
    struct asked *asked;
    struct pawl_versioned *now;
    char text[24];
    int rc;

    if (h->n + 1 >= MAX_NUMBERS || pawl_shared_value_get(x->value, &now) != 0) {
        return;
    }
    asked = asked_new(u, "set", x->value, -1);
    asked->detail = ++h->n;
    snprintf(text, sizeof(text), "%d", h->n);
    if (sim_chance(u->sim, 3)) {
        rc = pawl_shared_value_set_async(x->value, (struct pawl_bytes){text, strlen(text)},
                                         value_set, asked);
    } else {
        asked->before = now->zxid;
        rc = pawl_shared_value_try_set_async(x->value, now, (struct pawl_bytes){text, strlen(text)},
                                             value_set, asked);
    }
    pawl_versioned_free(now);
    if (rc != 0) {
        world_violated("user %d: set said %s", u->id, pawl_error_name(rc));
    }
    x->n_asked++;
}

static void value_act(struct user *u)
{
    struct sim *s = u->sim;
    struct sharer *x = u->own;

    if (x->value != NULL && x->n_asked == 0 && !x->started) {
        value_free(u); /* it could not be started: anew */
    }
    if (x->value == NULL) {
        value_make(u);
    } else if (!s->calm && sim_chance(s, 40)) {
        value_free(u);
    } else if (!s->calm && x->started && x->n_asked < 3) {
        value_change(u);
    }
}

/* The copy is the node. */
static bool value_is_idle(const struct user *u)
{
    const struct sharer *x = u->own;
    struct tree *t = world_tree(u->sim->w);
    znode_id id = tree_find(t, bytes_str(u->sim->things[u->thing].path));
    struct pawl_versioned *now;
    struct stat_record stat;
    bool same;

    if (x->value == NULL || x->n_asked != 0 || id == 0 ||
        pawl_shared_value_get(x->value, &now) != 0) {
        return false;
    }
    tree_stat(t, id, &stat);
    same = now->exists && now->zxid == stat.mzxid && now->version == stat.version;
    pawl_versioned_free(now);
    return same;
}

static void value_begin(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        s->things[i].own = must_zalloc(sizeof(struct history));
    }
}

static void value_finish(struct sim *s)
{
    for (int i = 0; i < s->n_things; i++) {
        free(s->things[i].own);
        s->things[i].own = NULL;
    }
}

const struct kind value_kind = {
    .name = "value",
    .user_bytes = sizeof(struct sharer),
    .begin = value_begin,
    .act = value_act,
    .is_idle = value_is_idle,
    .free = value_free,
    .changed = value_changed,
    .finish = value_finish,
    .no_robbers = true,
};
