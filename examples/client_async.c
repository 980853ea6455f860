/* SPDX-License-Identifier: Apache-2.0 */
/* client_async.c - many calls at once: answers come to functions, in the order of the calls.
 *
 *   cc -std=c99 client_async.c $(pkg-config --cflags --libs pawl)
 *   ./a.out [127.0.0.1:2181]        without an address: a server in memory, inside this program
 *
 * A thousand nodes are created without waiting for any of them, and each answer's callback reads
 * its node back. All callbacks run one at a time on one thread of the library, so what only they
 * touch needs no lock. */
#define _POSIX_C_SOURCE 200809L
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/pawl.h>

#include "usage.h"

enum { N_NODES = 1000 };

struct job {
    struct pawl_client *client;
    int n_created, n_read, n_failed;
    sem_t finished;
};

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

/* Told of the link and of the session, on the thread of callbacks. */
static void on_state(struct pawl_client *client, enum pawl_state state, void *arg)
{
    static const char *const names[] = {"CONNECTING", "CONNECTED", "SUSPENDED", "RECONNECTED",
                                        "LOST",       "READ_ONLY", "CLOSED"};

    (void)client;
    (void)arg;
    printf("state: %s\n", names[state]);
}

static void one_is_done(struct job *job, int failed)
{
    job->n_failed += failed;
    job->n_read++;
    if (job->n_read == N_NODES) {
        sem_post(&job->finished);
    }
}

/* What a reply points to is lent until the callback returns. */
static void on_read(const struct pawl_reply *reply, void *arg)
{
    struct job *job = arg;

    one_is_done(job, reply->err != PAWL_OK || reply->data.len != strlen("some data"));
}

static void on_created(const struct pawl_reply *reply, void *arg)
{
    struct job *job = arg;

    if (reply->err != PAWL_OK) {
        /* `outcome` tells whether the node may be there all the same. */
        fprintf(stderr, "create: %s%s\n", pawl_strerror(reply->err),
                reply->outcome == PAWL_OUTCOME_UNKNOWN ? ", or not: no answer came" : "");
        one_is_done(job, 1);
        return;
    }
    job->n_created++;
    if (pawl_get_async(job->client, reply->path, NULL, on_read, job) != PAWL_OK) {
        one_is_done(job, 1); /* an error here means that on_read will not be called */
    }
}

static struct pawl_client *open_client(const char *servers)
{
    struct pawl_client_options options;
    struct pawl_client *client = NULL;

    pawl_client_options_init(&options);
    options.servers = servers;
    options.name_space = "/async";
    options.on_state = on_state;
    if (pawl_client_open(&options, &client) != PAWL_OK) {
        fprintf(stderr, "%s\n", pawl_open_error());
        exit(1);
    }
    return client;
}

static void start(struct job *job)
{
    struct pawl_create create;
    int i;

    memset(&create, 0, sizeof(create));
    create.size = sizeof(create);
    create.path = "/n-";
    create.mode = PAWL_MODE_EPHEMERAL_SEQUENTIAL;
    create.flags = PAWL_OP_PARENTS;
    create.data.data = "some data";
    create.data.len = strlen("some data");
    for (i = 0; i < N_NODES; i++) {
        /* Everything has been copied when this returns. There need be no link yet: what is called
         * waits for one, within its timeout. */
        if (pawl_create_async(job->client, &create, on_created, job) != PAWL_OK) {
            fprintf(stderr, "out of memory\n");
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    struct pawl_server *server;
    struct job job;

    check_arguments(argc, argv, 1, "client_async" USAGE_SERVERS);
    server = argc > 1 ? NULL : start_server();
    memset(&job, 0, sizeof(job));
    sem_init(&job.finished, 0, 0);
    job.client = open_client(argc > 1 ? argv[1] : pawl_server_address(server));
    start(&job);
    sem_wait(&job.finished);
    printf("%d created, %d read, %d failed\n", job.n_created, job.n_read, job.n_failed);
    pawl_client_close(job.client); /* the nodes were ephemeral: they go with the session */
    pawl_server_stop(server);
    sem_destroy(&job.finished);
    return job.n_failed == 0 ? 0 : 1;
}
