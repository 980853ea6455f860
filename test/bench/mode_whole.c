/* SPDX-License-Identifier: Apache-2.0 */
/* mode_whole.c - the two modes that are not a loop of requests: idle connections to weigh, and the
 * time from starting a server until it has answered. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

enum {
    IDLE_BUFFER_BYTES = 512,
    STOP_SECONDS_MAX = 20,
    PROBES_MAX = 64,
    PROBE_EVERY_NS = 10000000,
    PROBE_NAP_NS = 100000 /* often enough to measure milliseconds, seldom enough to cost nothing */
};

/* The attempts under way. A server may accept a connection before it serves and then never answer
 * on it, so another attempt is made every ten milliseconds, and at once after one was turned away.
 */
struct probes {
    struct conn_probe probes[PROBES_MAX];
    int n;
    uint64_t opened_ns;
};

/* Opens the connections, says so, and keeps them until its own input ends. */
static int run_idle(const struct options *o)
{
    struct conn *conns = must_calloc((size_t)o->connections, sizeof(*conns));
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;

    conn_open_all(conns, o->connections, &o->to, IDLE_BUFFER_BYTES, IDLE_BUFFER_BYTES);
    printf("mode=idle connections=%d ready=1\n", o->connections);
    fflush(stdout);
    if (poll(&input, 1, (int)(o->max_seconds * 1000)) > 0) {
        (void)!read(STDIN_FILENO, &byte, 1);
    }
    conn_close_all(conns, o->connections);
    free(conns);
    return 0;
}

static pid_t start_server(const struct options *o)
{
    pid_t pid = fork();
    int fd;

    if (pid != 0) {
        return pid;
    }
    fd = open(o->log != NULL ? o->log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0) {
        _exit(126);
    }
    execvp(o->command[0], o->command);
    _exit(127);
}

static void nap(long ns)
{
    struct timespec t = {.tv_nsec = ns};

    nanosleep(&t, NULL);
}

/* Time that passes until the server `pid` is gone after SIGTERM; it is killed if that is too long.
 */
static uint64_t stop_server(pid_t pid)
{
    uint64_t begin_ns = clock_ns();
    int status;

    kill(pid, SIGTERM);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (clock_ns() - begin_ns > STOP_SECONDS_MAX * 1000000000ULL) {
            kill(pid, SIGKILL);
        }
        nap(1000000);
    }
    return clock_ns() - begin_ns;
}

static void drop_probe(struct probes *all, int i)
{
    close(all->probes[i].fd);
    all->probes[i] = all->probes[--all->n];
}

/* Looks after all attempts once. 1 if one of them has been answered. */
static int try_probes(struct probes *all, const struct options *o)
{
    uint64_t now_ns = clock_ns();
    int i;

    if (all->n == 0 || (all->n < PROBES_MAX && now_ns - all->opened_ns > PROBE_EVERY_NS)) {
        all->opened_ns = now_ns;
        if (conn_probe_open(&all->probes[all->n], &o->to, o->path) == 0) {
            all->n++;
        }
    }
    for (i = all->n - 1; i >= 0; i--) {
        int rc = conn_probe_poll(&all->probes[i]);

        if (rc > 0) {
            return 1;
        }
        if (rc < 0) {
            drop_probe(all, i);
        }
    }
    return 0;
}

static void wait_for_answer(const struct options *o, pid_t pid, uint64_t begin_ns)
{
    struct probes all = {.n = 0};

    while (!try_probes(&all, o)) {
        if (waitpid(pid, NULL, WNOHANG) == pid) {
            die("%s ended before it answered", o->command[0]);
        }
        if (clock_ns() - begin_ns > (uint64_t)(o->max_seconds * 1e9)) {
            stop_server(pid);
            die("no answer within %.0f seconds", o->max_seconds);
        }
        nap(PROBE_NAP_NS);
    }
    /* The sockets are left to the end of the process: closing them is not part of the time. */
}

/* Starts the command itself, so that the clock runs from before the fork, and stops it afterwards.
 */
static int run_first_answer(const struct options *o)
{
    uint64_t begin_ns = clock_ns();
    uint64_t answered_ns, stop_ns;
    long rss_kb;
    pid_t pid;

    if (o->command == NULL) {
        die("first-answer needs: -- COMMAND ARGUMENTS");
    }
    pid = start_server(o);
    wait_for_answer(o, pid, begin_ns);
    answered_ns = clock_ns() - begin_ns;
    rss_kb = process_rss_kb(pid);
    stop_ns = stop_server(pid);
    printf("mode=first-answer ms=%.3f rss_kb=%ld stop_ms=%.3f\n", (double)answered_ns / 1e6, rss_kb,
           (double)stop_ns / 1e6);
    return 0;
}

const struct mode mode_idle = {
    .name = "idle",
    .does = "opens --connections sessions, keeps them until its input ends",
    .whole = run_idle,
};

const struct mode mode_first_answer = {
    .name = "first-answer",
    .does = "starts COMMAND, times its first answer, stops it",
    .whole = run_first_answer,
};
