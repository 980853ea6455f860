/* SPDX-License-Identifier: Apache-2.0 */
/* example.h - what the examples with several processes share. Nothing of it is about Pawl but
 * connect_to(). */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <pawl/pawl.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "usage.h"

enum { PATIENCE_MS = 60000, SOON_MS = 3000 };

static inline void check(int rc, const char *what)
{
    if (rc != PAWL_OK) {
        fprintf(stderr, "%s: %s\n", what, pawl_strerror(rc));
        exit(1);
    }
}

static inline struct pawl_client *connect_to(const char *servers)
{
    struct pawl_client *c;
    char why[256];

    if (pawl_client_open(PAWL_CLIENT_OPTIONS(.servers = servers, .session_timeout_ms = 10000),
                         &c) != PAWL_OK) {
        fprintf(stderr, "%s\n", pawl_open_error());
        exit(1);
    }
    if (pawl_client_wait_connected(c, SOON_MS) != PAWL_OK) {
        pawl_client_last_error(c, why, sizeof(why));
        fprintf(stderr, "%s; still trying\n", why);
        check(pawl_client_wait_connected(c, PATIENCE_MS - SOON_MS), servers);
    }
    return c;
}

/* This program once more: `PROGRAM --worker NUMBER SERVERS EXTRA`, its output going to `out`. */
static inline pid_t start_worker(const char *program, int number, const char *servers,
                                 const char *extra, int out)
{
    char text[16];
    pid_t pid;

    snprintf(text, sizeof(text), "%d", number);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        dup2(out, STDOUT_FILENO);
        execl(program, program, "--worker", text, servers, extra, (char *)NULL);
        perror(program);
        _exit(127);
    }
    return pid;
}

/* How many of the workers failed. */
static inline int wait_for_workers(void)
{
    int status, failed = 0;

    while (wait(&status) > 0) {
        failed += status != 0;
    }
    return failed;
}

/* A new directory, and its removal. */
static inline void make_directory(char *directory)
{
    if (mkdtemp(directory) == NULL) {
        perror(directory);
        exit(1);
    }
}

static inline void remove_directory(const char *directory)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    if (system(command) != 0) {
        fprintf(stderr, "%s is still there\n", directory);
    }
}

static inline double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
