/* SPDX-License-Identifier: Apache-2.0 */
/* ensemble.c - a test of a program that is to survive the loss of a server: three servers inside
 * this process, a lock held by a client of theirs, the leader killed. The lock stays where it is,
 * and work goes on.
 *
 *   cc -std=c99 ensemble.c $(pkg-config --cflags --libs pawl)
 */
#include <pawl/pawl.h>

#include <stdio.h>
#include <stdlib.h>

#include "usage.h"

enum { STEPS = 20, PATIENCE_MS = 60000 };

static void check(int rc, const char *what)
{
    if (rc != PAWL_OK) {
        fprintf(stderr, "%s: %s\n", what, pawl_strerror(rc));
        exit(1);
    }
}

/* ---- the program under test: a counter that only the holder of a lock may change ---- */

static struct pawl_client *open_client(const char *servers)
{
    const struct pawl_client_options *options =
        PAWL_CLIENT_OPTIONS(.servers = servers, .session_timeout_ms = 20000,
                            .timeout_ms = PATIENCE_MS,
                            .retry = {.kind = PAWL_RETRY_FOREVER, .pause_ms = 20});
    struct pawl_client *client;

    if (pawl_client_open(options, &client) != PAWL_OK) {
        fprintf(stderr, "%s\n", pawl_open_error());
        exit(1);
    }
    check(pawl_client_wait_connected(client, PATIENCE_MS), "connect");
    return client;
}

/* A write whose connection breaks off may have been done or not. The client asks again, and as the
 * version that is to be replaced is named, it is done once. */
static void count_to(struct pawl_client *client, int number)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", number);
    check(pawl_set(client,
                   PAWL_SET(.path = "/counter", .data = pawl_str(text),
                            .only_if = pawl_version(number - 1), .flags = PAWL_OP_IDEMPOTENT),
                   NULL),
          "set");
}

static int counter(struct pawl_client *client)
{
    struct pawl_reply *reply;
    int value;

    check(pawl_get(client, "/counter", NULL, &reply), "get");
    value = atoi((const char *)reply->data.data);
    pawl_reply_free(reply);
    return value;
}

/* ---- the ensemble ---- */

static struct pawl_ensemble *start_three(void)
{
    struct pawl_ensemble_options options;
    struct pawl_ensemble *ensemble;
    char why[512];

    pawl_ensemble_options_init(&options);
    if (pawl_ensemble_start(&options, &ensemble, why, sizeof(why)) != PAWL_OK) {
        fprintf(stderr, "no ensemble: %s\n", why);
        exit(1);
    }
    printf("three servers at %s; server %d leads\n", pawl_ensemble_hosts(ensemble),
           pawl_ensemble_leader(ensemble));
    return ensemble;
}

static void replace_leader(struct pawl_ensemble *ensemble)
{
    int old = pawl_ensemble_leader(ensemble);

    check(pawl_ensemble_kill_member(ensemble, old), "kill");
    check(pawl_ensemble_wait(ensemble, PATIENCE_MS), "a new leader");
    printf("server %d was killed, server %d leads\n", old, pawl_ensemble_leader(ensemble));
    check(pawl_ensemble_start_member(ensemble, old), "start");
}

int main(int argc, char **argv)
{
    struct pawl_ensemble *ensemble;
    struct pawl_client *client;
    struct pawl_lock *lock;

    check_arguments(argc, argv, 0, "ensemble");
    ensemble = start_three();
    client = open_client(pawl_ensemble_hosts(ensemble));
    check(pawl_create(client, PAWL_CREATE(.path = "/counter", .data = pawl_str("0")), NULL),
          "create");
    check(pawl_lock_new(client, "/lock", NULL, &lock), "lock");
    check(pawl_lock_acquire(lock, PATIENCE_MS), "acquire");
    for (int i = 1; i <= STEPS; i++) {
        if (i == STEPS / 2) {
            replace_leader(ensemble);
        }
        count_to(client, i);
    }
    check(pawl_ensemble_wait(ensemble, PATIENCE_MS), "all three");
    printf("CORRECT: counted to %d, %s the lock all the time\n", counter(client),
           pawl_lock_release(lock) == PAWL_OK ? "held" : "lost");
    pawl_lock_free(lock);
    pawl_client_close(client);
    check(pawl_ensemble_stop(ensemble), "stop");
    return 0;
}
