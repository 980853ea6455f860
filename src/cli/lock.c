/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - `pawl lock PATH -- COMMAND` and `pawl semaphore PATH NUMBER -- COMMAND`: a command that
 * runs only while a lock, or one of so many leases, is ours. */
#include <string.h>

#include "cli/commands.h"
#include "cli/hold.h"

/* ---- what both have ---- */

#define WAITING_OPTION_SPECS                                                     \
    {'n', "try", NULL, "do not wait: exit with 114 if it is not to be had now"}, \
        {'w', "timeout", "DURATION", "wait no longer than this"},                \
    {                                                                            \
        'E', "conflict-exit-code", "NUMBER", "exit with this instead of 114"     \
    }

static bool waiting_args(const struct args *args, struct cli *cli, struct hold_options *out)
{
    int64_t give_up = EXIT_TIMEOUT;

    if (!args_duration(args, cli, 'w', &out->timeout_ms) ||
        !args_number(args, cli, 'E', 0, 255, &give_up)) {
        return false;
    }
    if (args_has(args, 'n')) {
        out->timeout_ms = 0;
    }
    out->give_up_status = (int)give_up;
    return hold_args(args, cli, out);
}

static int hold_as_asked(struct cli *cli, const struct hold_options *options)
{
    struct hold_end end;

    hold_run(cli, options, &end);
    return end.status;
}

/* ---- lock ---- */

static const struct option_spec lock_options[] = {
    WAITING_OPTION_SPECS,
    {'S', "shared", NULL, "the read side of a read/write lock: excludes --write only"},
    {'W', "write", NULL, "the write side of a read/write lock: excludes --shared and --write"},
    {'P', "permits", "NUMBER", "a semaphore: so many may hold it at a time"},
    HOLD_OPTION_SPECS,
    {0, NULL, NULL, NULL}};

static bool are_different(const struct cli *cli, const struct args *args)
{
    for (int i = 1; i < args->n_words; i++) {
        for (int j = 0; j < i; j++) {
            if (strcmp(args->words[i], args->words[j]) == 0) {
                cli_error(cli, "%s is named twice", args->words[i]);
                return false;
            }
        }
    }
    if (args->n_words > HELD_PATHS_MAX) {
        cli_error(cli, "more than %d paths", HELD_PATHS_MAX);
        return false;
    }
    return true;
}

static bool kind_of(const struct cli *cli, const struct args *args, enum held_kind *out)
{
    bool shared = args_has(args, 'S'), write = args_has(args, 'W'), permits = args_has(args, 'P');

    if (shared + write + permits > 1) {
        cli_error(cli, "--shared, --write and --permits exclude each other");
        return false;
    }
    if (permits && args->n_words > 1) {
        cli_error(cli, "--permits takes one path");
        return false;
    }
    *out = shared ? HELD_READ : write ? HELD_WRITE : permits ? HELD_LEASE : HELD_LOCK;
    return true;
}

static int run_lock(struct cli *cli, const struct args *args)
{
    struct hold_options o = {
        .what = "lock", .paths = args->words, .n_paths = (size_t)args->n_words, .timeout_ms = -1};

    if (!kind_of(cli, args, &o.kind) || !are_different(cli, args) ||
        !args_number(args, cli, 'P', 1, INT32_MAX, &o.permits) || !waiting_args(args, cli, &o)) {
        return EXIT_USAGE;
    }
    return hold_as_asked(cli, &o);
}

const struct command command_lock = {.name = "lock",
                                     .synopsis = "[OPTIONS] PATH... -- COMMAND [ARGUMENT...]",
                                     .summary = "run a command while holding a lock",
                                     .options = lock_options,
                                     .min_words = 1,
                                     .max_words = -1,
                                     .runs_command = true,
                                     .opens_itself = true,
                                     .run = run_lock};

/* ---- semaphore ---- */

static const struct option_spec semaphore_options[] = {WAITING_OPTION_SPECS,
                                                       HOLD_OPTION_SPECS,
                                                       {0, NULL, NULL, NULL}};

static int run_semaphore(struct cli *cli, const struct args *args)
{
    struct hold_options o = {
        .what = "lease", .kind = HELD_LEASE, .paths = args->words, .n_paths = 1, .timeout_ms = -1};

    if (!number_parse(cli, "NUMBER", args->words[1], 1, INT32_MAX, &o.permits) ||
        !waiting_args(args, cli, &o)) {
        return EXIT_USAGE;
    }
    return hold_as_asked(cli, &o);
}

const struct command command_semaphore = {.name = "semaphore",
                                          .synopsis =
                                              "[OPTIONS] PATH NUMBER -- COMMAND [ARGUMENT...]",
                                          .summary = "run a command while no more than NUMBER do",
                                          .options = semaphore_options,
                                          .min_words = 2,
                                          .max_words = 2,
                                          .runs_command = true,
                                          .opens_itself = true,
                                          .run = run_semaphore};
