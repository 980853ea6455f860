/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_seeds.c - the command line of the recipes' simulator.
 *
 *   pawl-recipe-sim [--seed N] [--seeds COUNT] [--recipe NAME] [--scenario NAME] [--verbose]
 *   pawl-recipe-sim --ensemble [--members N] [--keep 3,17,21] [--break RULE] ...
 *
 * Without --seed and --ensemble the scenarios run, too. A failure prints the line that replays it.
 * A seed that fails on an ensemble is made shorter before: runs are processes of their own, and
 * items of its plan and of its clients' trouble are left out as long as it fails in the same way.
 * With --break, a rule does not hold (base/broken.h), and the program fails when none of the seeds
 * finds that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "sim/recipe_sim.h"
#include "sim/scenarios_recipes.h"
#include "sim/sim_broken.h"
#include "sim/sim_shrink.h"

enum { MOST_TRIES = 400, MOST_ITEMS = 2000 };

struct command {
    uint64_t first, count;
    const struct kind *kind; /* NULL: all in turn */
    const char *scenario, *keep, *broken;
    bool has_count, has_first;
    struct run_options run;
};

/* What a process tells of its runs. */
struct outcome {
    uint64_t seed;
    char why[WORLD_WHY_BYTES];
    struct totals totals;
};

static const struct kind *kind_of(const struct command *c, uint64_t seed)
{
    return c->kind != NULL ? c->kind : kinds[seed % N_KINDS];
}

static void run_seeds(const struct command *c, struct outcome *out)
{
    for (uint64_t seed = c->first; seed < c->first + c->count; seed++) {
        out->seed = seed;
        sim_run(seed, kind_of(c, seed), &c->run, &out->totals);
    }
}

static void print_totals(const struct command *c, const struct totals *t)
{
    printf("%llu seeds from %llu: %.1f simulated hours, %llu events, %llu faults, %llu achieved; "
           "nothing violated\n",
           (unsigned long long)c->count, (unsigned long long)c->first,
           (double)t->simulated_ms / 3600000, (unsigned long long)t->events,
           (unsigned long long)t->faults, (unsigned long long)t->done);
    printf("at rest at the latest %lld ms after the trouble\n", (long long)t->longest_calm_ms);
}

/* ---- in a process of its own ---- */

/* Whether nothing was violated; `out` is shared with it. */
static bool run_apart(const struct command *c, struct outcome *out)
{
    int status = 0;
    pid_t pid;

    *out = (struct outcome){.why = "crash: it did not end by itself"};
    fflush(NULL);
    pid = fork();
    ASSERT(pid >= 0);
    if (pid == 0) {
        world_why = out->why;
        run_seeds(c, out);
        exit(0); /* leaks are told here */
    }
    ASSERT(waitpid(pid, &status, 0) == pid);
    return status == 0;
}

/* The rule's name is what stands before the colon. */
static bool same_rule(const char *a, const char *b)
{
    size_t len = strcspn(a, ":");

    return len == strcspn(b, ":") && memcmp(a, b, len) == 0;
}

struct failing {
    struct command command;
    struct outcome *out;
    char why[WORLD_WHY_BYTES];
};

static bool still_fails(void *arg, const struct selection *s)
{
    struct failing *f = arg;

    f->command.run.keep = s;
    return !run_apart(&f->command, f->out) && same_rule(f->out->why, f->why);
}

static void print_failure(struct failing *f, const struct selection *s)
{
    const struct command *c = &f->command;

    still_fails(f, s);
    printf("with %zu items left of its trouble: %s\n", s->n_kept, f->out->why);
    printf("replay: pawl-recipe-sim --ensemble --recipe %s --seed %llu", c->kind->name,
           (unsigned long long)c->first);
    if (c->run.n_voters > 0) {
        printf(" --members %d", c->run.n_voters);
    }
    if (c->broken != NULL) {
        printf(" --break %s", c->broken);
    }
    printf(" --verbose --keep ");
    selection_print(s);
    printf("\n");
}

static void report_failure(const struct command *c, struct outcome *out)
{
    struct failing f = {.command = *c, .out = out};
    struct selection s;

    memcpy(f.why, out->why, sizeof(f.why));
    f.command.first = out->seed;
    f.command.count = 1;
    f.command.kind = kind_of(c, out->seed);
    printf("seed %llu, %s: %s\n", (unsigned long long)out->seed, f.command.kind->name, f.why);
    selection_all(&s, MOST_ITEMS);
    selection_shrink(&s, MOST_TRIES, still_fails, &f);
    print_failure(&f, &s);
    selection_fini(&s);
}

static int run_ensembles(const struct command *c)
{
    struct outcome *out =
        mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool good;

    ASSERT(out != MAP_FAILED);
    good = run_apart(c, out);
    if (c->broken != NULL) {
        printf(good ? "%s was broken, and nobody has noticed\n" : "%s was broken, found by seed ",
               c->broken);
        if (!good) {
            printf("%llu: %s\n", (unsigned long long)out->seed, out->why);
        }
        return good;
    }
    if (good) {
        print_totals(c, &out->totals);
    } else {
        report_failure(c, out);
    }
    return !good;
}

/* ---- the command line ---- */

static bool read_value(const char *option, const char *value, struct command *c)
{
    if (strcmp(option, "--seed") == 0) {
        c->first = strtoull(value, NULL, 10);
        c->has_first = true;
    } else if (strcmp(option, "--seeds") == 0) {
        c->count = strtoull(value, NULL, 10);
        c->has_count = true;
    } else if (strcmp(option, "--recipe") == 0) {
        for (int i = 0; i < N_KINDS; i++) {
            c->kind = strcmp(kinds[i]->name, value) == 0 ? kinds[i] : c->kind;
        }
        return c->kind != NULL;
    } else if (strcmp(option, "--scenario") == 0) {
        c->scenario = value;
    } else if (strcmp(option, "--members") == 0) {
        c->run.n_voters = atoi(value);
    } else if (strcmp(option, "--keep") == 0) {
        c->keep = value;
    } else if (strcmp(option, "--break") == 0) {
        c->broken = value;
        return sim_break(value);
    } else {
        return false;
    }
    return true;
}

static bool read_command(int argc, char **argv, struct command *c)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0) {
            c->run.verbose = true;
        } else if (strcmp(argv[i], "--ensemble") == 0) {
            c->run.ensemble = true;
        } else if (i + 1 == argc || !read_value(argv[i], argv[i + 1], c)) {
            return false;
        } else {
            i++;
        }
    }
    c->count = c->has_first && !c->has_count ? 1 : c->count;
    return true;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: pawl-recipe-sim [--seed N] [--seeds COUNT] [--recipe NAME] [--verbose]\n"
            "                       [--scenario NAME] | [--ensemble] [--members N]\n"
            "                       [--keep I,J,...] [--break RULE]\n"
            "recipes:");
    for (int i = 0; i < N_KINDS; i++) {
        fprintf(stderr, " %s", kinds[i]->name);
    }
    fprintf(stderr, "\n");
    return 2;
}

static int run_here(struct command *c)
{
    struct outcome out = {0};
    struct selection s = {0};

    if (c->keep != NULL) {
        selection_listed(&s, MOST_ITEMS, c->keep);
        c->run.keep = &s;
    }
    run_seeds(c, &out);
    print_totals(c, &out.totals);
    selection_fini(&s);
    return 0;
}

int main(int argc, char **argv)
{
    struct command c = {.first = 1, .count = 100};

    if (!read_command(argc, argv, &c)) {
        return usage();
    }
    if (c.scenario != NULL) {
        return scenarios_run(c.scenario, c.run.verbose) ? 0 : 2;
    }
    if (c.run.ensemble && !c.run.verbose && c.keep == NULL) {
        return run_ensembles(&c);
    }
    if (!c.has_first && !c.run.ensemble && !scenarios_run(NULL, c.run.verbose)) {
        return 2;
    }
    return run_here(&c);
}
