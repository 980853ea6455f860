/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - waiting together: a barrier that one lifts for all, and a meeting of so many. */
#include <pawl/barrier.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "os/clock.h"

static int report_too_late(const struct cli *cli, const char *path, const char *what)
{
    cli_error(cli, "%s: %s", path, what);
    return EXIT_TIMEOUT;
}

/* ---- raise, lift, wait ---- */

static int change(struct cli *cli, const char *path, int (*how)(struct pawl_barrier *b))
{
    struct pawl_barrier *b = NULL;
    int err = pawl_barrier_new(cli->client, path, &b);

    if (err == PAWL_OK) {
        err = how(b);
    }
    pawl_barrier_free(b);
    return err == PAWL_OK
               ? EXIT_OK
               : cli_report_change(cli, path, err,
                                   err == PAWL_ERR_OPERATION_TIMEOUT ? PAWL_OUTCOME_UNKNOWN
                                                                     : PAWL_OUTCOME_REFUSED);
}

static int run_raise(struct cli *cli, const struct args *args)
{
    return change(cli, args->words[0], pawl_barrier_raise);
}

static int run_lift(struct cli *cli, const struct args *args)
{
    return change(cli, args->words[0], pawl_barrier_lift);
}

static int run_wait(struct cli *cli, const struct args *args)
{
    const char *path = args->words[0];
    struct pawl_barrier *b = NULL;
    int timeout_ms = -1, err;

    if (!args_duration(args, cli, 'w', &timeout_ms)) {
        return EXIT_USAGE;
    }
    err = pawl_barrier_new(cli->client, path, &b);
    if (err == PAWL_OK) {
        err = pawl_barrier_wait(b, timeout_ms);
    }
    pawl_barrier_free(b);
    if (err == PAWL_ERR_OPERATION_TIMEOUT) {
        return report_too_late(cli, path, "still up");
    }
    return err == PAWL_OK ? EXIT_OK : cli_report(cli, path, err);
}

static bool is_good_wait(struct cli *cli, const struct args *args)
{
    int timeout_ms;

    return args_duration(args, cli, 'w', &timeout_ms);
}

static const struct option_spec no_options[] = {{0, NULL, NULL, NULL}};
static const struct option_spec waiting_options[] = {
    {'w', "timeout", "DURATION", "wait no longer than this; 0: just look"},
    {0, NULL, NULL, NULL}};

const struct command command_barrier_raise = {.name = "barrier raise",
                                              .synopsis = "PATH",
                                              .summary = "raise a barrier; it may be up already",
                                              .options = no_options,
                                              .min_words = 1,
                                              .max_words = 1,
                                              .run = run_raise};

const struct command command_barrier_lift = {.name = "barrier lift",
                                             .synopsis = "PATH",
                                             .summary = "let all go on who wait at a barrier",
                                             .options = no_options,
                                             .min_words = 1,
                                             .max_words = 1,
                                             .run = run_lift};

const struct command command_barrier_wait = {
    .name = "barrier wait",
    .synopsis = "[-w DURATION] PATH",
    .summary = "wait until a barrier is lifted, or go on at once if it is not up",
    .options = waiting_options,
    .min_words = 1,
    .max_words = 1,
    .is_good = is_good_wait,
    .run = run_wait};

/* ---- meet ---- */

static int left_of(int timeout_ms, int64_t began_ms)
{
    int64_t left = timeout_ms - (clock_boot_ms() - began_ms);

    return timeout_ms < 0 ? -1 : left > 0 ? (int)left : 0;
}

/* All leave together, too: who left alone could meet the others of this time when it comes again.
 */
static int meet(struct cli *cli, const char *path, struct pawl_double_barrier *b, int timeout_ms)
{
    int64_t began_ms = clock_boot_ms();
    int err = pawl_double_barrier_enter(b, timeout_ms);

    if (err == PAWL_ERR_OPERATION_TIMEOUT) {
        return report_too_late(cli, path, "the others have not come in time");
    }
    if (err == PAWL_OK) {
        err = pawl_double_barrier_leave(b, left_of(timeout_ms, began_ms));
        if (err == PAWL_ERR_OPERATION_TIMEOUT) {
            return report_too_late(cli, path, "all have come, but not all have left in time");
        }
    }
    return err == PAWL_OK ? EXIT_OK : cli_report(cli, path, err);
}

static int run_meet(struct cli *cli, const struct args *args)
{
    const char *path = args->words[0];
    struct pawl_double_barrier *b = NULL;
    int timeout_ms = -1, err, status;
    int64_t members;

    if (!args_duration(args, cli, 'w', &timeout_ms) ||
        !number_parse(cli, "NUMBER", args->words[1], 1, INT32_MAX, &members)) {
        return EXIT_USAGE;
    }
    err = pawl_double_barrier_new(cli->client, path, (int)members, &b);
    status = err == PAWL_OK ? meet(cli, path, b, timeout_ms) : cli_report(cli, path, err);
    pawl_double_barrier_free(b);
    return status;
}

static bool is_good_meet(struct cli *cli, const struct args *args)
{
    int64_t members;

    return is_good_wait(cli, args) &&
           number_parse(cli, "NUMBER", args->words[1], 1, INT32_MAX, &members);
}

static const struct option_spec meet_options[] = {
    {'w', "timeout", "DURATION", "wait no longer than this"},
    {0, NULL, NULL, NULL}};

const struct command command_barrier_meet = {.name = "barrier meet",
                                             .synopsis = "[-w DURATION] PATH NUMBER",
                                             .summary = "wait until NUMBER of us are there",
                                             .options = meet_options,
                                             .min_words = 2,
                                             .max_words = 2,
                                             .is_good = is_good_meet,
                                             .run = run_meet};
