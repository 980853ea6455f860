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
    int64_t bits;
    struct pawl_atomic *atomic;
};

/* What the words and options say; looked at before anything is opened. */
struct numbers {
    int64_t bits, min, max;
    int64_t given; /* the second word */
    int64_t expected;
};

static bool numbers_of(struct cli *cli, const struct args *args, bool may_expect,
                       struct numbers *out)
{
    *out = (struct numbers){.bits = 64, .given = 1};
    if (!args_number(args, cli, 'b', 32, 64, &out->bits)) {
        return false;
    }
    if (out->bits != 32 && out->bits != 64) {
        cli_error(cli, "--bits: 32 or 64");
        return false;
    }
    out->min = out->bits == 32 ? INT32_MIN : INT64_MIN;
    out->max = out->bits == 32 ? INT32_MAX : INT64_MAX;
    return (args->n_words < 2 ||
            number_parse(cli, "NUMBER", args->words[1], out->min, out->max, &out->given)) &&
           (!may_expect || args_number(args, cli, 'i', out->min, out->max, &out->expected));
}

static bool is_good(struct cli *cli, const struct args *args)
{
    struct numbers numbers;

    return numbers_of(cli, args, false, &numbers);
}

static bool is_good_set(struct cli *cli, const struct args *args)
{
    struct numbers numbers;

    return numbers_of(cli, args, true, &numbers);
}

static bool counting_open(struct counting *c, struct cli *cli, const struct args *args, int *status)
{
    struct numbers numbers;
    int err;

    *status = EXIT_USAGE;
    if (!numbers_of(cli, args, false, &numbers)) {
        return false;
    }
    *c = (struct counting){.cli = cli, .path = args->words[0], .bits = numbers.bits};
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
    struct numbers numbers;
    struct counting c;
    int status;

    numbers_of(cli, args, false, &numbers);
    if (!counting_open(&c, cli, args, &status)) {
        return status;
    }
    return counting_end(&c, pawl_atomic_add(c.atomic, numbers.given, &result), &result,
                        "others were faster again and again; nothing was added");
}

static int run_set(struct cli *cli, const struct args *args)
{
    struct pawl_atomic_result result = {0};
    struct numbers numbers;
    struct counting c;
    int status, err;

    numbers_of(cli, args, true, &numbers);
    if (!counting_open(&c, cli, args, &status)) {
        return status;
    }
    err = args_has(args, 'i')
              ? pawl_atomic_compare_and_set(c.atomic, numbers.expected, numbers.given, &result)
              : pawl_atomic_force_set(c.atomic, numbers.given, &result);
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
                                            .is_good = is_good,
                                            .run = run_get};

const struct command command_counter_add = {.name = "counter add",
                                            .synopsis = "[-b BITS] PATH [NUMBER]",
                                            .summary =
                                                "add 1, or NUMBER, and print what has become of it",
                                            .options = counter_options,
                                            .min_words = 1,
                                            .max_words = 2,
                                            .is_good = is_good,
                                            .run = run_add};

const struct command command_counter_set = {.name = "counter set",
                                            .synopsis = "[-b BITS] [-i NUMBER] PATH NUMBER",
                                            .summary = "set a number, and print it",
                                            .options = counter_set_options,
                                            .min_words = 2,
                                            .max_words = 2,
                                            .is_good = is_good_set,
                                            .run = run_set};
