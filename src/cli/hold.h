/* SPDX-License-Identifier: Apache-2.0 */
/* hold.h - a command that runs only while something is held: what `pawl lock`, `pawl semaphore` and
 * each turn of `pawl lead` do.
 *
 * The watchdog (watchdog.h) runs the command. A hold gets what is to be held, tells the watchdog
 * until when that is certainly ours, and passes on signals and the exit status. */
#ifndef PAWL_CLI_HOLD_H
#define PAWL_CLI_HOLD_H

#include "cli/args.h"
#include "cli/held.h"

struct hold_options {
    const char *what; /* "lock", for messages */
    enum held_kind kind;
    const char *const *paths;
    size_t n_paths;
    int64_t permits;    /* HELD_LEASE */
    int timeout_ms;     /* of the acquire; -1: none */
    int give_up_status; /* when it is not acquired in time */
    int warning_signal; /* for the command, when the link is lost; 0: none */
    bool waits_for_all; /* not only for the command, also for what it leaves behind */
    char **command;
};

struct hold_end {
    int status;
    bool is_of_command; /* it has ended by itself, and the status is its own */
    bool had_session;
    bool was_signalled; /* while there was a command, which had the signal, too */
};

/* From connecting to giving back. Forks and then makes threads: once in a process. */
void hold_run(struct cli *cli, const struct hold_options *options, struct hold_end *end);

/* Blocks the signals that are passed on to a command, and gives a descriptor to read them from.
 * Those that we were started to ignore are left alone. -1: errno. */
int hold_signals(const int *more, size_t n_more);

/* The options that all of them have. False: the failure was reported. */
#define HOLD_OPTION_SPECS                                                                        \
    {'d', "on-doubt", "SIGNAL", "send this to the command when the link to the server is lost"}, \
    {                                                                                            \
        'l', "leave", NULL, "do not wait for what the command has left running when it ends"     \
    }
bool hold_args(const struct args *args, struct cli *cli, struct hold_options *out);

#endif
