/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_sim.c - ensembles under one seed each: election and ZAB against everything that can
 * happen.
 *
 *   pawl-sim --seeds A..B [--members N] [--break RULE] [--trace] [--quiet]
 *   pawl-sim --seeds A..A --keep 3,17,21 --trace      the run of a seed with so much of its plan
 *   pawl-sim --every-effect [--members N]            one life, with every crash that it can have
 *   pawl-sim --scenario FILE [--write]                see sim_ensemble_scenario.c
 *
 * A seed whose run breaks a rule is made shorter by leaving out as much of its plan as possible,
 * and its replay line is printed; --quiet: it is not. With --break, a rule of the quorum does not
 * hold (quorum/broken.h), and the program fails when none of the seeds finds that. */
#include "quorum_sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "quorum/broken.h"
#include "sim_ensemble_scenario.h"

enum { MOST_RUNS_TO_SHRINK = 2000 };

struct options {
    uint64_t first, last;
    int members;
    const char *broken, *keep, *scenario;
    bool trace, write, quiet, every_effect;
};

/* ---- shorter ---- */

/* Which items of a plan are kept. */
struct selection {
    bool *kept;
    size_t n, n_kept;
};

static void select_items(struct trouble_plan *out, const struct trouble_plan *whole,
                         const struct selection *s)
{
    trouble_plan_copy(out, whole);
    for (size_t i = 0; i < whole->n; i++) {
        if (s->kept[i]) {
            trouble_plan_add(out, whole->items[i]);
        }
    }
}

/* The rule's name is what stands before the colon. */
static bool same_rule(const char *a, const char *b)
{
    size_t len = strcspn(a, ":");

    return len == strcspn(b, ":") && memcmp(a, b, len) == 0;
}

/* In the same way. */
static bool still_fails(const struct trouble_plan *whole, const struct selection *s,
                        char why[SIM_WHY_BYTES])
{
    struct totals ignored = {0};
    struct trouble_plan plan;
    char now[SIM_WHY_BYTES];
    bool failed;

    select_items(&plan, whole, s);
    failed = !sim_run(&plan, NULL, &ignored, now) && same_rule(now, why);
    trouble_plan_fini(&plan);
    if (failed) {
        memcpy(why, now, sizeof(now));
    }
    return failed;
}

/* Leaves out the `many` kept items from the `at`-th on; false: then nothing fails any more. */
static bool leave_out(const struct trouble_plan *whole, struct selection *s, size_t at, size_t many,
                      char why[SIM_WHY_BYTES])
{
    bool *before = must_alloc(s->n * sizeof(bool));
    size_t seen = 0, n_before = s->n_kept;
    bool fails;

    memcpy(before, s->kept, s->n * sizeof(bool));
    for (size_t i = 0; i < s->n; i++) {
        if (s->kept[i] && seen++ >= at && seen <= at + many) {
            s->kept[i] = false;
            s->n_kept--;
        }
    }
    fails = still_fails(whole, s, why);
    if (!fails) {
        memcpy(s->kept, before, s->n * sizeof(bool));
        s->n_kept = n_before;
    }
    free(before);
    return fails;
}

/* Half of it, a quarter of it, ... single items, as long as it goes on failing. */
static void shrink(const struct trouble_plan *whole, struct selection *s, char why[SIM_WHY_BYTES])
{
    size_t many = s->n_kept / 2, runs = 0;
    bool shorter;

    while (many > 0 && runs < MOST_RUNS_TO_SHRINK) {
        shorter = false;
        for (size_t at = 0; at < s->n_kept && runs < MOST_RUNS_TO_SHRINK; runs++) {
            if (leave_out(whole, s, at, many, why)) {
                shorter = true;
            } else {
                at += many;
            }
        }
        many = many > 1 ? many / 2 : shorter ? 1 : 0;
    }
}

static void print_replay(const struct trouble_plan *whole, const struct selection *s,
                         const struct options *o)
{
    const char *comma = "";
    struct strbuf line;

    strbuf_init(&line, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < whole->n; i++) {
        if (s->kept[i]) {
            strbuf_clear(&line);
            trouble_item_write(&whole->items[i], &line);
            printf("    %s\n", strbuf_cstr(&line));
        }
    }
    printf("replay: pawl-sim --seeds %" PRIu64 "..%" PRIu64, whole->seed, whole->seed);
    if (o->members > 0) {
        printf(" --members %d", o->members);
    }
    if (o->broken != NULL) {
        printf(" --break %s", o->broken);
    }
    printf(" --trace --keep ");
    for (size_t i = 0; i < whole->n; i++) {
        if (s->kept[i]) {
            printf("%s%zu", comma, i);
            comma = ",";
        }
    }
    printf("%s\n", s->n_kept == 0 ? "none" : "");
    strbuf_fini(&line);
}

static void select_all(struct selection *s, size_t n)
{
    s->kept = must_alloc((n + 1) * sizeof(bool));
    memset(s->kept, true, n);
    s->n = s->n_kept = n;
}

static void report_failure(const struct trouble_plan *plan, const struct options *o,
                           char why[SIM_WHY_BYTES])
{
    struct selection s;

    printf("seed %" PRIu64 ", %d voters, %d observers: %s\n", plan->seed, plan->n_voters,
           plan->n_observers, why);
    select_all(&s, plan->n);
    shrink(plan, &s, why);
    printf("with %zu of %zu items of its plan: %s\n", s.n_kept, s.n, why);
    print_replay(plan, &s, o);
    free(s.kept);
}

/* ---- seeds ---- */

static void select_listed(struct selection *s, const char *list)
{
    char *end;

    memset(s->kept, false, s->n);
    for (; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
        unsigned long i = strtoul(list, &end, 10);

        if (i < s->n) {
            s->kept[i] = true;
        }
    }
}

/* A run of a part of a plan, as --keep lists it. */
static bool run_part(const struct trouble_plan *whole, const struct options *o, struct totals *t,
                     char why[SIM_WHY_BYTES])
{
    struct selection s;
    struct trouble_plan part;
    bool good;

    select_all(&s, whole->n);
    select_listed(&s, o->keep);
    select_items(&part, whole, &s);
    good = sim_run(&part, o->trace ? stdout : NULL, t, why);
    trouble_plan_fini(&part);
    free(s.kept);
    if (!good) {
        printf("seed %" PRIu64 ": %s\n", whole->seed, why);
    }
    return good;
}

static bool run_seed(uint64_t seed, const struct options *o, struct totals *t,
                     char why[SIM_WHY_BYTES])
{
    struct trouble_plan plan;
    bool good;

    trouble_plan_make(&plan, seed, o->members);
    if (o->keep != NULL) {
        good = run_part(&plan, o, t, why);
    } else {
        good = sim_run(&plan, o->trace ? stdout : NULL, t, why);
        if (!good && !o->quiet) {
            report_failure(&plan, o, why);
        }
    }
    trouble_plan_fini(&plan);
    return good;
}

static int run_seeds(const struct options *o)
{
    struct totals t = {0};
    double begun = sim_now_s();
    char why[SIM_WHY_BYTES] = "";
    uint64_t seed;

    for (seed = o->first; seed <= o->last; seed++) {
        if (!run_seed(seed, o, &t, why)) {
            break;
        }
    }
    sim_print_totals(&t, sim_now_s() - begun);
    if (o->broken == NULL) {
        return seed <= o->last;
    }
    if (seed > o->last) {
        printf("%s was broken, and nobody has noticed\n", o->broken);
        return 1;
    }
    printf("%s was broken, found by seed %" PRIu64 ": %s\n", o->broken, seed, why);
    return 0;
}

/* ---- the command line ---- */

static const char *const rules[N_BROKEN_RULES] = {[BROKEN_NONE] = "NONE",
#define RULE(name) [BROKEN_##name] = #name,
                                                  BROKEN_RULES(RULE)
#undef RULE
};

static bool break_rule(const char *name)
{
    for (int i = 0; i < N_BROKEN_RULES; i++) {
        if (strcmp(rules[i], name) == 0) {
            broken_rule = (enum broken_rule)i;
            return true;
        }
    }
    return false;
}

static bool read_seeds(const char *text, struct options *o)
{
    char *end;

    o->first = strtoull(text, &end, 10);
    o->last = o->first;
    if (strncmp(end, "..", 2) == 0) {
        o->last = strtoull(end + 2, &end, 10);
    }
    return *end == '\0' && o->last >= o->first;
}

static bool read_option(const char *option, const char *value, struct options *o)
{
    if (strcmp(option, "--seeds") == 0) {
        return read_seeds(value, o);
    }
    if (strcmp(option, "--members") == 0) {
        o->members = atoi(value);
        return o->members > 0 && o->members <= 9;
    }
    if (strcmp(option, "--break") == 0) {
        o->broken = value;
        return break_rule(value);
    }
    if (strcmp(option, "--keep") == 0) {
        o->keep = value;
        return true;
    }
    o->scenario = value;
    return strcmp(option, "--scenario") == 0;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0) {
            o->trace = true;
        } else if (strcmp(argv[i], "--write") == 0) {
            o->write = true;
        } else if (strcmp(argv[i], "--quiet") == 0) {
            o->quiet = true;
        } else if (strcmp(argv[i], "--every-effect") == 0) {
            o->every_effect = true;
        } else if (i + 1 == argc || !read_option(argv[i], argv[i + 1], o)) {
            return false;
        } else {
            i++;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options o = {.first = 1, .last = 100};
    int rc;

    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: pawl-sim [--seeds A..B] [--members N] [--break RULE] [--quiet]\n"
                "                [--keep I,J,...] [--trace] | --every-effect [--members N] |\n"
                "                --scenario FILE [--write]\n");
        return 2;
    }
    rc = o.scenario != NULL ? scenario_run(o.scenario, o.write)
         : o.every_effect   ? sim_every_effect(o.members == 0 ? 3 : o.members)
                            : run_seeds(&o);
    fflush(stdout);
    if (o.broken != NULL || rc != 0) {
        _exit(rc); /* what failed runs have left is not looked at */
    }
    return rc;
}
