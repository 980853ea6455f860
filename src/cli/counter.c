/* SPDX-License-Identifier: Apache-2.0 */
/* counter.c - a number that everybody counts with: Curator's DistributedAtomicLong or -Integer. */
#include <inttypes.h>
#include <stdio.h>

#include <pawl/counter.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"

struct counting {
    struct cli *cli;
    const char *path;
    int64_t bits, min, max;
    struct pawl_atomic *atomic;
};

static bool counting_open(struct counting *c, struct cli *cli, const struct args *args, int *status)
{
    int err;

    *c = (struct counting){.cli = cli, .path = args->words[0], .bits = 64};
    *status = EXIT_USAGE;
    if (!args_number(args, cli, 'b', 32, 64, &c->bits)) {
        return false;
    }
    if (c->bits != 32 && c->bits != 64) {
        cli_error(cli, "--bits: 32 or 64");
        return false;
    }
    c->min = c->bits == 32 ? INT32_MIN : INT64_MIN;
    c->max = c->bits == 32 ? INT32_MAX : INT64_MAX;
    err = pawl_atomic_new(cli->client, c->path, PAWL_ATOMIC_OPTIONS(.bits = (int)c->bits),
                          &c->atomic);
    if (err != PAWL_OK) {
        *status = cli_report(cli, c->path, err);
    }
    return err == PAWL_OK;
}

static void print_value(const struct counting *c, int64_t value)
{
    if (c->cli->json) {
        json_open(NULL, '{');
        json_text("path", c->path);
        json_number("value", value);
        json_close('{');
    } else {
        printf("%" PRId64 "\n", value);
    }
}

/* Of a change, or a look. `busy` is what it means that it did not succeed. */
static int counting_end(struct counting *c, int err, const struct pawl_atomic_result *result,
                        const char *busy)
{
    int status = EXIT_OK;

    if (err == PAWL_ERR_DATA_INCONSISTENCY) {
        cli_error(c->cli, "%s: is no counter of %d bits", c->path, (int)c->bits);
        status = EXIT_REFUSED;
    } else if (err != PAWL_OK) {
        status = cli_report_change(c->cli, c->path, err, result->outcome);
    } else if (!result->succeeded) {
        cli_error(c->cli, "%s: %s", c->path, busy);
        status = EXIT_CONFLICT;
    } else {
        print_value(c, result->after);
    }
    pawl_atomic_free(c->atomic);
    return status;
}

static int run_get(struct cli *cli, const struct args *args)
{
    struct pawl_atomic_result result = {0};
    struct counting c;
    int status;

    if (!counting_open(&c, cli, args, &status)) {
        return status;
    }
    return counting_end(&c, pawl_atomic_get(c.atomic, &result), &result, "cannot be read");
}

static int run_add(struct cli *cli, const struct args *args)
{
    struct pawl_atomic_result result = {0};
    struct counting c;
    int64_t delta = 1;
    int status;

    if (!counting_open(&c, cli, args, &status)) {
        return status;
    }
    if (args->n_words > 1 && !number_parse(cli, "NUMBER", args->words[1], c.min, c.max, &delta)) {
        pawl_atomic_free(c.atomic);
        return EXIT_USAGE;
    }
    return counting_end(&c, pawl_atomic_add(c.atomic, delta, &result), &result,
                        "others were faster again and again; nothing was added");
}

static int run_set(struct cli *cli, const struct args *args)
{
    struct pawl_atomic_result result = {0};
    struct counting c;
    int64_t value = 0, expected = 0;
    int status, err;

    if (!counting_open(&c, cli, args, &status)) {
        return status;
    }
    if (!number_parse(cli, "NUMBER", args->words[1], c.min, c.max, &value) ||
        !args_number(args, cli, 'i', c.min, c.max, &expected)) {
        pawl_atomic_free(c.atomic);
        return EXIT_USAGE;
    }
    err = args_has(args, 'i') ? pawl_atomic_compare_and_set(c.atomic, expected, value, &result)
                              : pawl_atomic_force_set(c.atomic, value, &result);
    return counting_end(&c, err, &result, "it is another number, or none; nothing was changed");
}

#define BITS_OPTION_SPEC                                                                    \
    {                                                                                       \
        'b', "bits", "32|64", "the size of the number: 32 is Curator's Integer; default 64" \
    }

static const struct option_spec counter_options[] = {BITS_OPTION_SPEC, {0, NULL, NULL, NULL}};
static const struct option_spec counter_set_options[] = {
    BITS_OPTION_SPEC,
    {'i', "if", "NUMBER", "only if it is this number now, else exit with 111"},
    {0, NULL, NULL, NULL}};

const struct command command_counter_get = {.name = "counter get",
                                            .synopsis = "[-b BITS] PATH",
                                            .summary = "print a number; 0 if it was never counted",
                                            .options = counter_options,
                                            .min_words = 1,
                                            .max_words = 1,
                                            .run = run_get};

const struct command command_counter_add = {.name = "counter add",
                                            .synopsis = "[-b BITS] PATH [NUMBER]",
                                            .summary =
                                                "add 1, or NUMBER, and print what has become of it",
                                            .options = counter_options,
                                            .min_words = 1,
                                            .max_words = 2,
                                            .run = run_add};

const struct command command_counter_set = {.name = "counter set",
                                            .synopsis = "[-b BITS] [-i NUMBER] PATH NUMBER",
                                            .summary = "set a number, and print it",
                                            .options = counter_set_options,
                                            .min_words = 2,
                                            .max_words = 2,
                                            .run = run_set};
