/* SPDX-License-Identifier: Apache-2.0 */
/* lead.c - `pawl lead PATH -- COMMAND`: the command runs where leadership is, again and again.
 *
 *            fork                    the turn has ended
 *   (begin) -----> (turn in a child) ------------------> (pause) -----> (begin)
 *                                             |
 *                                             +--> asked to end, --once, or no use: exit
 *
 * A turn is one hold (hold.h) of the lock that Curator's LeaderSelector has, in a process of its
 * own: a hold forks its watchdog before it has threads, so that a second one cannot follow in the
 * same process. Here is neither a thread nor a session. If this process is killed the turn is, too,
 * and the watchdog of the turn ends the command. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/hold.h"
#include "os/clock.h"

enum { PAUSE_MS = 1000 };

struct leading {
    struct cli *cli;
    struct hold_options hold;
    bool only_once;
    int pause_ms;
    int signals_fd;
    int ending_signal; /* we were asked to end by; 0: not yet */
    bool had_session;  /* in one of the turns: the servers are those that are meant */
    pid_t turn_pid;
    int end_fd; /* from the turn: a struct hold_end */
};

/* ---- one turn ---- */

static _Noreturn void become_turn(struct leading *l, pid_t parent_pid, int end_fd)
{
    struct hold_end end;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent_pid) {
        _exit(EXIT_LOST);
    }
    close(l->signals_fd); /* the signals stay blocked: those that come now are found later */
    hold_run(l->cli, &l->hold, &end);
    if (write(end_fd, &end, sizeof(end)) < 0) {
        _exit(EXIT_SYSTEM);
    }
    exit(end.status);
}

static bool turn_begin(struct leading *l)
{
    pid_t parent_pid = getpid();
    int fds[2];

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    l->turn_pid = fork();
    if (l->turn_pid == 0) {
        close(fds[0]);
        become_turn(l, parent_pid, fds[1]);
    }
    close(fds[1]);
    l->end_fd = fds[0];
    if (l->turn_pid < 0) {
        close(fds[0]);
    }
    return l->turn_pid > 0;
}

/* A signal from the terminal has reached the turn as well. */
static void lead_on_signals(struct leading *l)
{
    struct signalfd_siginfo info;

    while (read(l->signals_fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD) {
            continue;
        }
        l->ending_signal = (int)info.ssi_signo;
        if (info.ssi_code <= 0 && l->turn_pid > 0) {
            kill(l->turn_pid, l->ending_signal);
        }
    }
}

/* What the turn has left to say. It may have been killed, and its watchdog still have the other end
 * of the pipe: there is nothing to wait for. */
static void turn_end(struct leading *l, struct hold_end *end)
{
    l->turn_pid = 0;
    if (read(l->end_fd, end, sizeof(*end)) != (ssize_t)sizeof(*end)) {
        cli_error(l->cli, "the process that holds the leadership was killed");
        *end = (struct hold_end){.status = EXIT_LOST, .had_session = true};
    }
    close(l->end_fd);
    l->had_session = l->had_session || end->had_session;
}

static void turn_wait(struct leading *l, struct hold_end *end)
{
    struct pollfd fds = {.fd = l->signals_fd, .events = POLLIN};

    do {
        poll(&fds, 1, -1);
        lead_on_signals(l);
    } while (waitpid(l->turn_pid, NULL, WNOHANG) == 0);
    lead_on_signals(l); /* one that has ended the turn is here, too */
    turn_end(l, end);
}

/* ---- one after another ---- */

/* Whether another turn may go better. */
static bool is_worth_another(const struct leading *l, const struct hold_end *end)
{
    switch (end->status) {
    case EXIT_LOST:
    case EXIT_TIMEOUT:
    case EXIT_UNREACHABLE:
        return l->had_session;
    default:
        return end->is_of_command || end->status > EXIT_SIGNAL;
    }
}

static void lead_pause(struct leading *l)
{
    struct pollfd fds = {.fd = l->signals_fd, .events = POLLIN};
    int64_t until_ms = clock_boot_ms() + l->pause_ms, left_ms;

    while (l->ending_signal == 0 && (left_ms = until_ms - clock_boot_ms()) > 0) {
        poll(&fds, 1, (int)left_ms);
        lead_on_signals(l);
    }
}

static int lead_turns(struct leading *l)
{
    for (;;) {
        struct hold_end end;

        if (!turn_begin(l)) {
            cli_error(l->cli, "no process for the command: %s", strerror(errno));
            return EXIT_SYSTEM;
        }
        turn_wait(l, &end);
        if (l->ending_signal != 0 && end.is_of_command && !end.was_signalled && !l->only_once) {
            return EXIT_SIGNAL + l->ending_signal; /* the command had ended before */
        }
        if (l->ending_signal != 0 || l->only_once || !is_worth_another(l, &end)) {
            return end.status;
        }
        lead_pause(l);
        if (l->ending_signal != 0) {
            return EXIT_SIGNAL + l->ending_signal;
        }
    }
}

static int run_lead(struct cli *cli, const struct args *args)
{
    static const int more[] = {SIGCHLD};
    struct leading l = {.cli = cli,
                        .hold = {.what = "leadership",
                                 .kind = HELD_LOCK,
                                 .paths = args->words,
                                 .n_paths = 1,
                                 .timeout_ms = -1},
                        .only_once = args_has(args, '1'),
                        .pause_ms = PAUSE_MS};

    if (!args_duration(args, cli, 'p', &l.pause_ms) || !hold_args(args, cli, &l.hold)) {
        return EXIT_USAGE;
    }
    l.signals_fd = hold_signals(more, 1);
    if (l.signals_fd < 0) {
        cli_error(cli, "signals: %s", strerror(errno));
        return EXIT_SYSTEM;
    }
    return lead_turns(&l);
}

static const struct option_spec lead_options[] = {
    {'1', "once", NULL, "lead once, and exit with the status of the command"},
    {'p', "pause", "DURATION", "between two turns of ours; 1s by default"},
    HOLD_OPTION_SPECS,
    {0, NULL, NULL, NULL}};

const struct command command_lead = {.name = "lead",
                                     .synopsis = "[OPTIONS] PATH -- COMMAND [ARGUMENT...]",
                                     .summary = "run a command whenever we are the leader",
                                     .options = lead_options,
                                     .min_words = 1,
                                     .max_words = 1,
                                     .runs_command = true,
                                     .opens_itself = true,
                                     .run = run_lead};
