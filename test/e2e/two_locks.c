/* SPDX-License-Identifier: Apache-2.0 */
/* two_locks.c - a program that takes two locks one after the other, and so can wait in a circle
 * with another that takes them the other way round.
 *
 *   two_locks SERVERS FIRST SECOND
 *
 * Prints "first" when it holds the first, waits for a line, and then for the second lock; ends with
 * its input. */
#include <stdio.h>
#include <stdlib.h>

#include <pawl/lock.h>
#include <pawl/pawl.h>

enum { SESSION_MS = 60000 };

static void check(int err, const char *what)
{
    if (err != PAWL_OK) {
        fprintf(stderr, "%s: %s\n", what, pawl_error_name(err));
        exit(1);
    }
}

static void got_second(struct pawl_lock *l, int err, void *arg)
{
    (void)l;
    (void)arg;
    printf("second %s\n", err == PAWL_OK ? "held" : pawl_error_name(err));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct pawl_client *client;
    struct pawl_lock *first, *second;

    if (argc != 4) {
        return 2;
    }
    check(pawl_client_open(
              PAWL_CLIENT_OPTIONS(.servers = argv[1], .session_timeout_ms = SESSION_MS), &client),
          "open");
    check(pawl_client_wait_connected(client, SESSION_MS), "connect");
    check(pawl_lock_new(client, argv[2], NULL, &first), "new");
    check(pawl_lock_new(client, argv[3], NULL, &second), "new");
    check(pawl_lock_acquire(first, SESSION_MS), "acquire");
    puts("first");
    fflush(stdout);
    if (getchar() != EOF) {
        check(pawl_lock_acquire_async(second, -1, got_second, NULL), "acquire");
    }
    while (getchar() != EOF) {
    }
    pawl_lock_free(second);
    pawl_lock_free(first);
    pawl_client_close(client);
    return 0;
}
