/* SPDX-License-Identifier: Apache-2.0 */
/* live_config.c - a program that sees its configuration change while it runs.
 *
 *   live_config [SERVERS]
 *
 * The cache holds a copy of everything below /example/config and is told of every change. Another
 * process, started by this one, plays the operator. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <semaphore.h>
#include <string.h>

enum { N_CHANGES = 5 }; /* two nodes found, one changed, one made, one deleted */

static sem_t changes;

static void changed(struct pawl_cache *cache, const struct pawl_cache_event *event, void *arg)
{
    const struct pawl_node *n = event->new_node != NULL ? event->new_node : event->old_node;

    (void)cache;
    (void)arg;
    switch (event->type) {
    case PAWL_CACHE_EVENT_INITIALISED:
        printf("the configuration has been read\n");
        break;
    case PAWL_CACHE_EVENT_CREATED:
    case PAWL_CACHE_EVENT_CHANGED:
        printf("  %s = %.*s\n", n->name, (int)n->data.len, (const char *)n->data.data);
        sem_post(&changes);
        break;
    case PAWL_CACHE_EVENT_DELETED:
        printf("  %s is gone\n", n->name);
        sem_post(&changes);
        break;
    default:
        break;
    }
}

static void put(struct pawl_client *c, const char *path, const char *value)
{
    check(pawl_create(c,
                      PAWL_CREATE(.path = path, .data = {value, strlen(value)},
                                  .flags = PAWL_OP_PARENTS | PAWL_OP_OR_SET),
                      NULL),
          path);
}

static int operate(const char *servers)
{
    struct pawl_client *c = connect_to(servers);

    put(c, "/example/config/limit", "200");
    put(c, "/example/config/colour", "green");
    check(pawl_delete(c, PAWL_DELETE(.path = "/example/config/old-setting"), NULL), "delete");
    pawl_client_close(c);
    return 0;
}

static int run(const char *self, const char *servers)
{
    struct pawl_client *c = connect_to(servers);
    struct pawl_cache_options options = {
        .size = sizeof(options), .flags = PAWL_CACHE_NO_ROOT, .on_event = changed};
    const struct pawl_node *limit;
    struct pawl_cache *cache;
    int good;

    sem_init(&changes, 0, 0);
    put(c, "/example/config/limit", "100");
    put(c, "/example/config/old-setting", "on");
    check(pawl_cache_new(c, "/example/config", PAWL_DEPTH_CHILDREN, &options, &cache), "cache");
    check(pawl_cache_wait(cache, PATIENCE_MS), "read the configuration");
    start_worker(self, 1, servers, "", STDOUT_FILENO);
    for (int i = 0; i < N_CHANGES; i++) {
        sem_wait(&changes);
    }
    good = wait_for_workers() == 0;
    limit = pawl_cache_get(cache, "/example/config/limit");
    good = good && limit != NULL && strcmp(limit->data.data, "200") == 0;
    printf("%s: %d changes, the limit is %s now\n", good ? "CORRECT" : "WRONG", N_CHANGES,
           limit == NULL ? "gone" : (const char *)limit->data.data);
    pawl_node_unref(limit);
    pawl_cache_free(cache);
    pawl_client_close(c);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/live-config-XXXXXX", local[64];
    int rc;

    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return operate(argv[3]);
    }
    check_arguments(argc, argv, 1, "live_config" USAGE_SERVERS);
    make_directory(directory);
    snprintf(local, sizeof(local), "local:%s", directory);
    rc = run(argv[0], argc > 1 ? argv[1] : local);
    remove_directory(directory);
    return rc;
}
