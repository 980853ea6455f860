/* SPDX-License-Identifier: Apache-2.0 */
/* election.c - three processes, one leader; who takes over when it is killed, and when it retires.
 *
 *   election [SERVERS]
 *
 * The parent kills the first leader with SIGKILL: nobody says goodbye, and the next one leads when
 * the dead one's session has run out (four seconds here). The second retires in good order, on
 * SIGTERM, and the third leads at once. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <signal.h>
#include <string.h>

enum { CANDIDATES = 3 };

/* ---- a candidate ---- */

static void on_leader(struct pawl_latch *latch, uint64_t token, void *arg)
{
    (void)latch;
    printf("leader %s %llu\n", (const char *)arg, (unsigned long long)token);
    fflush(stdout);
}

static int stand(const char *name, const char *servers)
{
    struct pawl_client *c;
    struct pawl_latch *latch;
    sigset_t retire;
    int signal;

    sigemptyset(&retire);
    sigaddset(&retire, SIGTERM);
    sigprocmask(SIG_BLOCK, &retire, NULL); /* before the library starts its threads */
    c = connect_to(servers);
    check(pawl_latch_new(c, "/example/leader",
                         PAWL_LATCH_OPTIONS(.id = name, .on_leader = on_leader,
                                            .arg = (void *)(uintptr_t)name),
                         &latch),
          "latch");
    check(pawl_latch_start(latch), "start");
    sigwait(&retire, &signal); /* a real one would work here while pawl_latch_is_leader() */
    pawl_latch_free(latch);
    pawl_client_close(c);
    return 0;
}

/* ---- the parent ---- */

static int next_leader(FILE *from, unsigned long long *token)
{
    int leader;

    if (fscanf(from, " leader %d %llu", &leader, token) != 2 || leader < 1 || leader > CANDIDATES) {
        fprintf(stderr, "no leader\n");
        exit(1);
    }
    return leader;
}

static int hold_elections(const char *self, const char *servers)
{
    struct pawl_client *c = connect_to(servers);
    pid_t pids[CANDIDATES + 1];
    unsigned long long token, before = 0;
    int ends[2], leader, faults = 0;
    double began = 0;
    FILE *news;

    if (pipe(ends) != 0) {
        perror("pipe");
        return 1;
    }
    news = fdopen(ends[0], "r");
    for (int i = 1; i <= CANDIDATES; i++) {
        pids[i] = start_worker(self, i, servers, "", ends[1]);
    }
    close(ends[1]);
    for (int round = 0; round < CANDIDATES; round++) {
        leader = next_leader(news, &token);
        printf("candidate %d leads, token 0x%llx", leader, token);
        printf(round == 0 ? "\n" : ", after %.1f s\n", seconds() - began);
        faults += token <= before;
        before = token;
        began = seconds();
        printf("  %s\n", round == 0 ? "killed with -9" : "retires");
        kill(pids[leader], round == 0 ? SIGKILL : SIGTERM);
    }
    wait_for_workers();
    fclose(news);
    printf("%s: %d leaders, one after the other\n", faults == 0 ? "CORRECT" : "WRONG", CANDIDATES);
    pawl_client_close(c);
    return faults == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/election-XXXXXX", local[64];
    int rc;

    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return stand(argv[2], argv[3]);
    }
    check_arguments(argc, argv, 1, "election" USAGE_SERVERS);
    make_directory(directory);
    snprintf(local, sizeof(local), "local:%s", directory);
    rc = hold_elections(argv[0], argc > 1 ? argv[1] : local);
    remove_directory(directory);
    return rc;
}
