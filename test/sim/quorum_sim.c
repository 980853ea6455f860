/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_sim.c - ensembles under one seed each: election and ZAB against everything that can
 * happen.
 *
 *   pawl-sim --seeds A..B [--members N] [--ruin] [--break RULE] [--trace] [--quiet]
 *                             --ruin: a majority is damaged at once, and nobody may lead then
 *   pawl-sim --seeds A..A --keep 3,17,21 --trace      the run of a seed with so much of its plan
 *   pawl-sim --every-effect [--members N]            one life, with every crash that it can have
 *   pawl-sim --scenario FILE [--write]                see sim_ensemble_scenario.c
 *
 * A seed whose run breaks a rule is made shorter by leaving out as much of its plan as possible,
 * and its replay line is printed; --quiet: it is not. With --break, a rule of the quorum does not
 * hold (base/broken.h), and the program fails when none of the seeds finds that. */
#include "quorum_sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "sim_broken.h"
#include "sim_ensemble_scenario.h"
#include "sim_shrink.h"

enum { MOST_RUNS_TO_SHRINK = 2000 };

struct options {
    uint64_t first, last;
    int members;
    const char *broken, *keep, *scenario;
    bool trace, write, quiet, every_effect, ruin;
};

/* ---- shorter ---- */

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

struct failing {
    const struct trouble_plan *whole;
    char *why;
};

/* In the same way. */
static bool still_fails(void *arg, const struct selection *s)
{
    struct failing *f = arg;
    struct totals ignored = {0};
    struct trouble_plan plan;
    char now[SIM_WHY_BYTES];
    bool failed;

    select_items(&plan, f->whole, s);
    failed = !sim_run(&plan, NULL, &ignored, now) && same_rule(now, f->why);
    trouble_plan_fini(&plan);
    if (failed) {
        memcpy(f->why, now, sizeof(now));
    }
    return failed;
}

static void print_replay(const struct trouble_plan *whole, const struct selection *s,
                         const struct options *o)
{
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
    if (o->ruin) {
        printf(" --ruin");
    }
    if (o->broken != NULL) {
        printf(" --break %s", o->broken);
    }
    printf(" --trace --keep ");
    selection_print(s);
    printf("\n");
    strbuf_fini(&line);
}

static void report_failure(const struct trouble_plan *plan, const struct options *o,
                           char why[SIM_WHY_BYTES])
{
    struct failing f = {plan, why};
    struct selection s;

    printf("seed %" PRIu64 ", %d voters, %d observers: %s\n", plan->seed, plan->n_voters,
           plan->n_observers, why);
    selection_all(&s, plan->n);
    selection_shrink(&s, MOST_RUNS_TO_SHRINK, still_fails, &f);
    printf("with %zu of %zu items of its plan: %s\n", s.n_kept, s.n, why);
    print_replay(plan, &s, o);
    selection_fini(&s);
}

/* ---- seeds ---- */

/* A run of a part of a plan, as --keep lists it. */
static bool run_part(const struct trouble_plan *whole, const struct options *o, struct totals *t,
                     char why[SIM_WHY_BYTES])
{
    struct selection s;
    struct trouble_plan part;
    bool good;

    selection_listed(&s, whole->n, o->keep);
    select_items(&part, whole, &s);
    good = sim_run(&part, o->trace ? stdout : NULL, t, why);
    trouble_plan_fini(&part);
    selection_fini(&s);
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

    (o->ruin ? trouble_plan_make_ruined : trouble_plan_make)(&plan, seed, o->members);
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
        return sim_break(value);
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
        } else if (strcmp(argv[i], "--ruin") == 0) {
            o->ruin = true;
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
                "usage: pawl-sim [--seeds A..B] [--members N] [--ruin] [--break RULE] [--quiet]\n"
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
