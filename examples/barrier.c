/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - five processes wait at a gate until somebody opens it.
 *
 *   barrier [SERVERS] */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <string.h>

enum { RUNNERS = 5 };

static int run(const char *name, const char *servers)
{
    struct pawl_client *c = connect_to(servers);
    struct pawl_barrier *gate;

    check(pawl_barrier_new(c, "/example/gate", &gate), "barrier");
    printf("waits %s\n", name);
    fflush(stdout);
    check(pawl_barrier_wait(gate, PATIENCE_MS), "wait");
    printf("runs %s\n", name);
    pawl_barrier_free(gate);
    pawl_client_close(c);
    return 0;
}

static int hold_race(const char *self, const char *servers)
{
    struct pawl_client *c = connect_to(servers);
    struct pawl_barrier *gate;
    int ends[2], waiting = 0, running = 0, too_early = 0;
    char line[32];
    FILE *news;

    check(pawl_barrier_new(c, "/example/gate", &gate), "barrier");
    check(pawl_barrier_raise(gate), "raise");
    if (pipe(ends) != 0) {
        perror("pipe");
        return 1;
    }
    for (int i = 1; i <= RUNNERS; i++) {
        start_worker(self, i, servers, "", ends[1]);
    }
    close(ends[1]);
    news = fdopen(ends[0], "r");
    while (fgets(line, sizeof(line), news) != NULL) {
        fputs(line, stdout);
        if (line[0] == 'r') {
            running++;
            too_early += waiting < RUNNERS;
        } else if (++waiting == RUNNERS) {
            printf("the gate opens\n");
            check(pawl_barrier_lift(gate), "lift");
        }
    }
    too_early += wait_for_workers() + (running != RUNNERS);
    printf("%s: %d ran, none before the gate was open\n", too_early == 0 ? "CORRECT" : "WRONG",
           running);
    fclose(news);
    pawl_barrier_free(gate);
    pawl_client_close(c);
    return too_early == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/barrier-XXXXXX", local[64];
    int rc;

    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return run(argv[2], argv[3]);
    }
    check_arguments(argc, argv, 1, "barrier" USAGE_SERVERS);
    make_directory(directory);
    snprintf(local, sizeof(local), "local:%s", directory);
    rc = hold_race(argv[0], argc > 1 ? argv[1] : local);
    remove_directory(directory);
    return rc;
}
