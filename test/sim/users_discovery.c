/* SPDX-License-Identifier: Apache-2.0 */
/* users_discovery.c - those who offer a service, and those who look for one. */
#include <stdio.h>
#include <string.h>

#include "pawl/discovery.h"
#include "pawl/error.h"
#include "sim/recipe_sim.h"
#include "store/tree.h"

/* Ids are few, so that processes take each other's place. */
enum { N_IDS = 6 };
enum { IS_OUT, IS_IN, IS_BUSY };

struct provider {
    struct pawl_discovery *discovery;
    struct pawl_service_cache *cache;
    int state, id, n_asked;
};

static void service_make(struct user *u)
{
    const char *base = u->sim->things[u->thing].path;
    struct provider *x = u->own;

    *x = (struct provider){.id = (int)sim_below(u->sim, N_IDS)};
    if (pawl_discovery_new(user_client(u), base, &x->discovery) != 0 ||
        pawl_service_cache_new(user_client(u), base, "web", NULL, NULL, &x->cache) != 0) {
        world_violated("user %d could not make a discovery", u->id);
    }
}

static void service_done(struct pawl_discovery *d, int err, void *arg)
{
    struct asked *asked = arg;
    struct user *u = asked->user;
    struct provider *x = u->own;

    if (!asked_told(asked, err) || d != x->discovery) {
        return;
    }
    x->n_asked--;
    if (err != 0 && err != PAWL_ERR_CANCELLED && err != PAWL_ERR_OPERATION_TIMEOUT &&
        !sim_may_be_refused(u->sim, err)) {
        world_violated("user %d: %s ended with %s", u->id, asked->what, pawl_error_name(err));
    }
    if (x->n_asked == 0) {
        x->state = asked->detail != 0 && err == 0 ? IS_IN : asked->detail == 0 ? IS_OUT : IS_BUSY;
        if (x->state == IS_BUSY) {
            x->state = err == PAWL_ERR_OPERATION_TIMEOUT ? IS_IN : IS_OUT;
        }
    }
    u->sim->n_done += err == 0;
}

static void service_ask(struct user *u, bool in)
{
    struct provider *x = u->own;
    struct asked *asked = asked_new(u, in ? "register" : "unregister", x->discovery, -1);
    char id[16];
    int rc;

    asked->detail = in;
    snprintf(id, sizeof(id), "i%d", x->id);
    rc = in ? pawl_discovery_register_async(
                  x->discovery,
                  PAWL_INSTANCE(.name = "web", .id = id, .address = "a", .port = 1 + u->id),
                  service_done, asked)
            : pawl_discovery_unregister_async(x->discovery, "web", id, service_done, asked);
    if (rc != 0) {
        asked_drop(asked);
        if (in || rc != PAWL_ERR_NO_NODE) {
            world_violated("user %d: register said %s", u->id, pawl_error_name(rc));
        }
        return;
    }
    x->n_asked++;
    x->state = IS_BUSY;
}

static void service_free(struct user *u)
{
    struct provider old = *(struct provider *)u->own;

    *(struct provider *)u->own = (struct provider){0};
    pawl_service_cache_free(old.cache);
    pawl_discovery_free(old.discovery);
}

static void service_act(struct user *u)
{
    struct sim *s = u->sim;
    struct provider *x = u->own;

    if (x->discovery == NULL) {
        service_make(u);
    } else if (!s->calm && sim_chance(s, 40)) {
        service_free(u);
    } else if (x->n_asked == 0 && s->calm ? x->state == IS_OUT : sim_chance(s, 4)) {
        service_ask(u, s->calm || x->state == IS_OUT);
    }
}

static znode_id service_node(const struct user *u)
{
    const struct provider *x = u->own;
    char path[64];

    snprintf(path, sizeof(path), "%s/web/i%d", u->sim->things[u->thing].path, x->id);
    return tree_find(world_tree(u->sim->w), bytes_str(path));
}

static int service_children(const struct user *u)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/web", u->sim->things[u->thing].path);
    return world_n_children(u->sim->w, path);
}

/* Whether the node is that of a live one who registered the id. */
static bool service_is_of(const struct user *u, znode_id id)
{
    const struct provider *x = u->own;
    struct user *other;

    for (int at = 0; (other = sim_next_user(u->sim, &at)) != NULL;) {
        const struct provider *y = other->own;

        if (other->thing == u->thing && y->discovery != NULL && y->id == x->id &&
            tree_owner(world_tree(u->sim->w), id) == world_session(other->process->machine)) {
            return true;
        }
    }
    return false;
}

/* What was registered is there, and everybody sees as many as there are. */
static bool service_is_idle(const struct user *u)
{
    const struct provider *x = u->own;
    struct pawl_instances *list;
    znode_id id;
    bool same;

    if (x->discovery == NULL || x->n_asked != 0 || x->state != IS_IN) {
        return false;
    }
    id = service_node(u);
    if (id == 0 || !service_is_of(u, id) || pawl_service_cache_instances(x->cache, &list) != 0) {
        return false;
    }
    same = (int)list->n == service_children(u);
    pawl_instances_free(list);
    return same;
}

static void service_explain(struct user *u)
{
    const struct provider *x = u->own;

    printf("user %d: id %d, state %d, %d asked, %s\n", u->id, x->id, x->state, x->n_asked,
           x->discovery == NULL || service_node(u) == 0 ? "not there" : "there");
}

const struct kind discovery_kind = {
    .name = "discovery",
    .user_bytes = sizeof(struct provider),
    .act = service_act,
    .is_idle = service_is_idle,
    .explain = service_explain,
    .free = service_free,
};
