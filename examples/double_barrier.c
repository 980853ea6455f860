/* SPDX-License-Identifier: Apache-2.0 */
/* double_barrier.c - three processes that begin and end each step of a computation together.
 *
 *   double_barrier [SERVERS] */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <string.h>

enum { MEMBERS = 3, STEPS = 4 };

static int compute(const char *name, const char *servers)
{
    struct pawl_client *c = connect_to(servers);
    struct pawl_double_barrier *barrier;
    char path[64];

    for (int step = 1; step <= STEPS; step++) {
        snprintf(path, sizeof(path), "/example/step-%d", step);
        check(pawl_double_barrier_new(c, path, MEMBERS, &barrier), "barrier");
        check(pawl_double_barrier_enter(barrier, PATIENCE_MS), "enter");
        printf("%d %s\n", step, name); /* the computation */
        fflush(stdout);
        check(pawl_double_barrier_leave(barrier, PATIENCE_MS), "leave");
        pawl_double_barrier_free(barrier);
    }
    pawl_client_close(c);
    return 0;
}

static int supervise(const char *self, const char *servers)
{
    struct pawl_client *c = connect_to(servers);
    int ends[2], n = 0, step, member, faults = 0;
    FILE *news;

    if (pipe(ends) != 0) {
        perror("pipe");
        return 1;
    }
    for (int i = 1; i <= MEMBERS; i++) {
        start_worker(self, i, servers, "", ends[1]);
    }
    close(ends[1]);
    news = fdopen(ends[0], "r");
    while (fscanf(news, "%d %d\n", &step, &member) == 2) {
        printf("step %d: member %d\n", step, member);
        faults += step != n++ / MEMBERS + 1; /* nobody is a step ahead */
    }
    faults += wait_for_workers() + (n != MEMBERS * STEPS);
    printf("%s: %d steps of %d members, none ahead of the others\n",
           faults == 0 ? "CORRECT" : "WRONG", STEPS, MEMBERS);
    fclose(news);
    pawl_client_close(c);
    return faults == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/double-barrier-XXXXXX", local[64];
    int rc;

    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return compute(argv[2], argv[3]);
    }
    check_arguments(argc, argv, 1, "double_barrier" USAGE_SERVERS);
    make_directory(directory);
    snprintf(local, sizeof(local), "local:%s", directory);
    rc = supervise(argv[0], argc > 1 ? argv[1] : local);
    remove_directory(directory);
    return rc;
}
