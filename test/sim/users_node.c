/* SPDX-License-Identifier: Apache-2.0 */
/* users_node.c - those whose node is to be there, and groups of them. */
#include <stdio.h>
#include <string.h>

#include "pawl/cache.h"
#include "pawl/error.h"
#include "pawl/group.h"
#include "sim/recipe_sim.h"
#include "store/tree.h"

/* ---- a node that stays ---- */

struct resident {
    struct pawl_persistent_node *node;
    bool is_ephemeral, is_protected;
    enum pawl_persistent_state told;
    char name[24];            /* of this handle's node, unless the server adds to it */
    char data[16], path[128]; /* what it should be; the name that it got */
};

static void node_told(struct pawl_persistent_node *n, enum pawl_persistent_state state, int err,
                      void *user)
{
    struct user *u = user;
    struct resident *x = u->own;

    (void)n;
    if (!user_lives(u)) {
        return;
    }
    world_note(u->id, "node", (int64_t)state);
    if (state == PAWL_PERSISTENT_FAILED && !sim_may_be_refused(u->sim, err)) {
        world_violated("user %d: its node cannot be made: %s", u->id, pawl_error_name(err));
    }
    if (state == x->told) {
        world_violated("user %d was told %d again", u->id, (int)state);
    }
    x->told = state;
    u->sim->n_done++;
}

static void node_new_data(struct user *u)
{
    struct resident *x = u->own;

    snprintf(x->data, sizeof(x->data), "%lld", (long long)sim_below(u->sim, 1000000));
}

static void node_make(struct user *u)
{
    struct resident *x = u->own;
    struct pawl_persistent_options o = {
        .size = sizeof(o), .on_change = node_told, .on_change_arg = u};
    char path[64];

    *x = (struct resident){.is_protected = sim_chance(u->sim, 2), .is_ephemeral = true};
    node_new_data(u);
    o.is_protected = x->is_protected;
    o.mode = x->is_protected && sim_chance(u->sim, 2) ? PAWL_MODE_EPHEMERAL_SEQUENTIAL
                                                      : PAWL_MODE_EPHEMERAL;
    o.data = (struct pawl_bytes){x->data, strlen(x->data)};
    snprintf(x->name, sizeof(x->name), "u%dx%d", u->id, (int)sim_below(u->sim, 1000000));
    snprintf(path, sizeof(path), "%s/%s", u->sim->things[u->thing].path, x->name);
    if (pawl_persistent_node_new(user_client(u), path, &o, &x->node) != 0) {
        world_violated("user %d could not make a node", u->id);
    }
}

static void node_free(struct user *u)
{
    struct resident *x = u->own;
    struct pawl_persistent_node *n = x->node;

    x->node = NULL;
    pawl_persistent_node_free(n);
}

/* Its name never changes. */
static void node_look(struct user *u)
{
    struct resident *x = u->own;
    char path[128];

    pawl_persistent_node_path(x->node, path, sizeof(path));
    if (x->path[0] != '\0' && strcmp(path, x->path) != 0) {
        world_violated("user %d: its node was %s, and is %s", u->id, x->path, path);
    }
    memcpy(x->path, path, sizeof(path));
}

static void node_act(struct user *u)
{
    struct sim *s = u->sim;
    struct resident *x = u->own;

    if (x->node == NULL) {
        node_make(u);
        return;
    }
    node_look(u);
    if (!s->calm && sim_chance(s, 40)) {
        node_free(u);
    } else if (sim_chance(s, 10) && (!s->calm || x->told == PAWL_PERSISTENT_FAILED)) {
        node_new_data(u);
        if (pawl_persistent_node_set(x->node, (struct pawl_bytes){x->data, strlen(x->data)}) != 0) {
            world_violated("user %d could not set its node", u->id);
        }
    }
}

/* How many nodes below the thing carry its name. */
static int node_count(const struct user *u)
{
    const struct resident *x = u->own;
    struct tree *t = world_tree(u->sim->w);
    znode_id folder = tree_find(t, bytes_str(u->sim->things[u->thing].path));
    int n = 0;

    for (znode_id at = folder == 0 ? 0 : tree_first_child(t, folder); at != 0;
         at = tree_next_sibling(t, at)) {
        struct bytes name = tree_name(t, at);
        char text[128];
        const char *own;

        snprintf(text, sizeof(text), "%.*s", (int)name.len, (const char *)name.data);
        own = strrchr(text, '-') == NULL ? text : strrchr(text, '-') + 1;
        n += strncmp(own, x->name, strlen(x->name)) == 0 &&
             (own[strlen(x->name)] == '\0' || strlen(own) == strlen(x->name) + 10);
    }
    return n;
}

/* Exactly one, of our session, with our data. */
static bool node_is_idle(const struct user *u)
{
    const struct resident *x = u->own;
    struct tree *t = world_tree(u->sim->w);
    char path[128];
    znode_id id;

    if (x->node == NULL || x->told != PAWL_PERSISTENT_THERE) {
        return false;
    }
    pawl_persistent_node_path(x->node, path, sizeof(path));
    id = tree_find(t, bytes_str(path));
    return id != 0 && tree_owner(t, id) == world_session(u->process->machine) &&
           node_count(u) == 1 &&
           bytes_equal(sim_plain(u->sim, tree_data(t, id)), bytes_str(x->data));
}

static void node_explain(struct user *u)
{
    const struct resident *x = u->own;

    printf("user %d: %d nodes at %s, told %d, should be %s, session %llx\n", u->id, node_count(u),
           x->path, (int)x->told, x->data, (unsigned long long)world_session(u->process->machine));
}

const struct kind node_kind = {
    .name = "node",
    .user_bytes = sizeof(struct resident),
    .act = node_act,
    .is_idle = node_is_idle,
    .explain = node_explain,
    .free = node_free,
    .bears_refusals = true,
};

/* ---- a group ---- */

struct member_of_group {
    struct pawl_group *group;
    bool looks_on; /* is no member */
    int n_seen;    /* by events */
};

static void group_told(struct pawl_group *g, const struct pawl_cache_event *e, void *user)
{
    struct user *u = user;
    struct member_of_group *x = u->own;

    (void)g;
    if (user_lives(u)) {
        x->n_seen += (e->type == PAWL_CACHE_EVENT_CREATED) - (e->type == PAWL_CACHE_EVENT_DELETED);
        u->sim->n_done++;
    }
}

static void group_join(struct user *u)
{
    struct member_of_group *x = u->own;
    struct pawl_group_options o = {
        .size = sizeof(o), .data = {"x", 1}, .on_event = group_told, .on_event_arg = u};
    char id[16];

    *x = (struct member_of_group){.looks_on = sim_chance(u->sim, 4)};
    snprintf(id, sizeof(id), "m%d", u->id);
    if (pawl_group_join(user_client(u), u->sim->things[u->thing].path, x->looks_on ? NULL : id, &o,
                        &x->group) != 0) {
        world_violated("user %d could not join", u->id);
    }
}

static void group_leave(struct user *u)
{
    struct member_of_group *x = u->own;
    struct pawl_group *g = x->group;

    x->group = NULL;
    pawl_group_leave(g);
}

static void group_act(struct user *u)
{
    struct member_of_group *x = u->own;

    if (x->group == NULL) {
        group_join(u);
    } else if (!u->sim->calm && sim_chance(u->sim, 20)) {
        group_leave(u);
    }
}

/* Each is in, and each sees all who are. */
static bool group_is_idle(const struct user *u)
{
    const struct member_of_group *x = u->own;
    struct sim *s = u->sim;
    struct pawl_nodes *nodes;
    struct user *other;
    int n = 0;
    bool same;

    if (x->group == NULL || pawl_group_members(x->group, &nodes) != 0) {
        return false;
    }
    for (int at = 0; (other = sim_next_user(s, &at)) != NULL;) {
        const struct member_of_group *y = other->own;

        n += other->thing == u->thing && y->group != NULL && !y->looks_on;
    }
    same = (int)nodes->n == n && (world_n_children(s->w, s->things[u->thing].path) == n || n == 0);
    for (size_t i = 0; same && i < nodes->n; i++) {
        same = tree_find(world_tree(s->w), bytes_str(nodes->items[i]->path)) != 0;
    }
    pawl_nodes_free(nodes);
    return same;
}

const struct kind group_kind = {
    .name = "group",
    .user_bytes = sizeof(struct member_of_group),
    .act = group_act,
    .is_idle = group_is_idle,
    .free = group_leave,
};
