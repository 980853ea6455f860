/* SPDX-License-Identifier: Apache-2.0 */
/* client_blocking.c - a first program: connect, create, read, watch, change two nodes as one,
 * close.
 *
 *   cc -std=c99 client_blocking.c $(pkg-config --cflags --libs pawl)
 *   ./a.out 127.0.0.1:2181              any ZooKeeper or pawld
 *   ./a.out local:/tmp/coordination     no server at all: the processes that open the directory
 * share it
 *   ./a.out                             a server in memory, inside this program
 *
 * Every call here waits for its answer. That is the easiest way to use the library, and not a slow
 * one; client_async.c shows the other. */
#define _POSIX_C_SOURCE 200809L
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include <pawl/pawl.h>

#include "usage.h"

/* Every call returns PAWL_OK or a negative number, for which there is a sentence. */
static void must(int rc, const char *what)
{
    if (rc != PAWL_OK) {
        fprintf(stderr, "%s: %s\n", what, pawl_strerror(rc));
        exit(1);
    }
}

/* ---- connecting ---- */

static struct pawl_server *start_server(void)
{
    struct pawl_server_options options;
    struct pawl_server *server = NULL;
    char why[256] = "";

    pawl_server_options_init(&options);
    options.in_memory = 1;
    if (pawl_server_start(&options, &server, why, sizeof(why)) != PAWL_OK) {
        fprintf(stderr, "no server: %s\n", why);
        exit(1);
    }
    return server;
}

static struct pawl_client *connect_to(const char *servers)
{
    struct pawl_client_options options;
    struct pawl_client *client = NULL;

    pawl_client_options_init(&options);
    options.servers = servers;        /* several, with commas, for an ensemble */
    options.name_space = "/examples"; /* in front of every path below; made on demand */
    options.timeout_ms = 10000;       /* no call below takes longer than that */

    /* Opening returns at once and connects in the background. Waiting is not needed, since every
     * call waits for the link itself, but it tells early when there is nobody. */
    if (pawl_client_open(&options, &client) != PAWL_OK) {
        fprintf(stderr, "%s\n", pawl_open_error());
        exit(1);
    }
    must(pawl_client_wait_connected(client, 10000), servers);
    return client;
}

/* ---- nodes ---- */

static void create_and_read(struct pawl_client *client)
{
    struct pawl_reply *reply = NULL;

    /* Data are bytes with a length: pawl_str() has those of a text. What is not mentioned is zero,
     * and zero means the usual: a persistent node that everybody may use. PAWL_OP_OR_SET makes the
     * program work a second time as well. */
    must(pawl_create(
             client,
             PAWL_CREATE(.path = "/greeting", .data = pawl_str("hello"), .flags = PAWL_OP_OR_SET),
             NULL),
         "create");

    /* A reply is yours, and freed with everything in it. */
    must(pawl_get(client, "/greeting", NULL, &reply), "get");
    printf("/greeting: \"%.*s\", version %d\n", (int)reply->data.len,
           (const char *)reply->data.data, (int)reply->stat.version);
    pawl_reply_free(reply);

    /* An ephemeral node lives as long as our session: others see by it that we are there. The
     * server appends a number, and tells the whole name. */
    must(pawl_create(client,
                     PAWL_CREATE(.path = "/members/m-", .mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                 .flags = PAWL_OP_PARENTS),
                     &reply),
         "create");
    printf("we are %s\n", reply->path);
    pawl_reply_free(reply);
}

/* ---- a watch ---- */

struct change {
    struct pawl_client *client;
    sem_t seen;
};

/* Runs on a thread that the library keeps for callbacks; calls that wait are fine here. */
static void on_change(const struct pawl_event *event, void *arg)
{
    struct change *change = arg;
    struct pawl_reply *reply = NULL;

    if (event->type == PAWL_EVENT_DATA_CHANGED &&
        pawl_get(change->client, event->path, NULL, &reply) == PAWL_OK) {
        printf("%s has changed: \"%.*s\"\n", event->path, (int)reply->data.len,
               (const char *)reply->data.data);
    }
    pawl_reply_free(reply);
    sem_post(&change->seen);
}

/* Two changes, both or none; the first says "only if nobody was faster". */
static void change_both(struct pawl_client *client, int32_t version)
{
    struct pawl_multi *both = pawl_multi_new(client);
    struct pawl_reply *reply = NULL;

    pawl_multi_set(both, PAWL_SET(.path = "/greeting", .data = pawl_str("good morning"),
                                  .only_if = pawl_version(version)));
    pawl_multi_create(both, PAWL_CREATE(.path = "/greeting/from", .data = pawl_str("us")));
    must(pawl_multi_run(client, both, &reply), "multi");
    printf("multi: %d results, all good\n", (int)reply->n_results);
    pawl_reply_free(reply);
    pawl_multi_free(both);
}

static void watch_and_change(struct pawl_client *client)
{
    struct change change;
    struct pawl_watch watch;
    struct pawl_reply *reply = NULL;
    int32_t version;

    change.client = client;
    sem_init(&change.seen, 0, 0);
    watch.fn = on_change;
    watch.arg = &change;

    /* Reads, and asks to be told of the next change, once. No change can fall between the two. */
    must(pawl_get(client, "/greeting", &watch, &reply), "get");
    version = reply->stat.version;
    pawl_reply_free(reply);
    change_both(client, version);
    sem_wait(&change.seen);
    sem_destroy(&change.seen);

    /* The version has moved on, so this is refused, and nothing changes. */
    if (pawl_set(client,
                 PAWL_SET(.path = "/greeting", .data = pawl_str("too late"),
                          .only_if = pawl_version(version)),
                 NULL) == PAWL_ERR_BAD_VERSION) {
        printf("somebody was faster\n");
    }
}

int main(int argc, char **argv)
{
    struct pawl_server *server;
    struct pawl_client *client;

    check_arguments(argc, argv, 1, "client_blocking" USAGE_SERVERS);
    server = argc > 1 ? NULL : start_server();
    client = connect_to(argc > 1 ? argv[1] : pawl_server_address(server));
    create_and_read(client);
    watch_and_change(client);
    must(pawl_delete(client, PAWL_DELETE(.path = "/greeting", .flags = PAWL_OP_CHILDREN_TOO), NULL),
         "delete");

    /* Ends the session: our ephemeral node is gone when this returns. Callbacks still to come run
     * before. */
    pawl_client_close(client);
    printf("closed\n");
    pawl_server_stop(server);
    return 0;
}
