/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_peer_groups.c - the verbs of group membership. */
#include "recipe_peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pawl/group.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void on_event(struct pawl_group *g, const struct pawl_cache_event *event, void *arg)
{
    (void)g;
    (void)event;
    (void)arg;
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void free_group(void *thing)
{
    pawl_group_leave(thing);
}

/* PATH ID DATA */
static int group_join(struct actor *a, char **v, char *out)
{
    struct pawl_group_options options = {
        .size = sizeof(options), .data = {v[2], strlen(v[2])}, .on_event = on_event};
    struct pawl_group *g = NULL;
    int rc = pawl_group_join(actor_client(a), v[0], v[1], &options, &g);

    (void)out;
    actor_keep(a, "group", v[0], g, free_group);
    return rc != PAWL_OK ? rc : pawl_group_wait(g, PATIENCE_MS);
}

/* "id=data,id=data", by id */
static void describe(struct pawl_group *g, char *out)
{
    struct pawl_nodes *members = NULL;
    size_t len = 0;

    out[0] = '\0';
    if (pawl_group_members(g, &members) == PAWL_OK) {
        for (size_t i = 0; i < members->n && len < ANSWER_BYTES; i++) {
            const struct pawl_node *m = members->items[i];

            len += (size_t)snprintf(out + len, ANSWER_BYTES - len, "%s%s=%.*s", i > 0 ? "," : "",
                                    m->name, (int)m->data.len, (const char *)m->data.data);
        }
    }
    pawl_nodes_free(members);
}

/* PATH MEMBERS MS: until they are these; answers who they are. */
static int group_await(struct actor *a, char **v, char *out)
{
    struct pawl_group *g = actor_thing(a, "group", v[0]);
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += atoi(v[2]) / 1000;
    pthread_mutex_lock(&lock);
    for (describe(g, out); strcmp(out, v[1]) != 0; describe(g, out)) {
        if (pthread_cond_timedwait(&changed, &lock, &end) != 0) {
            describe(g, out);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return PAWL_OK;
}

static int group_leave(struct actor *a, char **v, char *out)
{
    (void)out;
    pawl_group_leave(actor_thing(a, "group", v[0]));
    actor_keep(a, "group", v[0], NULL, NULL);
    return PAWL_OK;
}

const struct verb group_verbs[] = {{"group-join", group_join},
                                   {"group-await", group_await},
                                   {"group-leave", group_leave},
                                   {NULL, NULL}};
