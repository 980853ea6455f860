/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_sim.c - ensembles under one seed each: election and ZAB against everything that can
 * happen.
 *
 *   pawl-sim --seeds A..B [--members N] [--break RULE] [--expect-within N] [--trace]
 *   pawl-sim --seeds A..A --keep 3,17,21 --trace      the run of a seed with so much of its plan
 *   pawl-sim --scenario FILE [--write]                see sim_ensemble_scenario.c
 *
 * A seed whose run breaks a rule is made shorter by leaving out as much of its plan as possible,
 * and its replay line is printed. With --break, a rule of the quorum does not hold
 * (quorum/broken.h) and it is good when that is found: within N seeds, or the program fails. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "quorum/broken.h"
#include "sim_ensemble.h"
#include "sim_ensemble_scenario.h"

enum {
    SECOND_US = 1000000,
    LOOK_US = 100000,    /* so often a quiet world is looked at */
    SETTLED_TICKS = 300, /* so long after the end of trouble at the latest everybody serves */
    CALLS_AT_THE_END = 2,
    MOST_RUNS_TO_SHRINK = 2000,
};

struct options {
    uint64_t first, last;
    int members;
    const char *broken, *keep, *scenario;
    uint64_t within;
    bool trace, write, quiet;
};

struct totals {
    uint64_t runs, events, steps, answered, failed, committed, epochs;
    int64_t simulated_us, longest_quiet_us;
};

/* ---- one run ---- */

static jmp_buf *end_of_run;
static struct world *current;

_Noreturn void __wrap_assert_failed(const char *expression, const char *file, int line);
_Noreturn void __real_assert_failed(const char *expression, const char *file, int line);

/* An assertion of the members ends the run like anything else. */
_Noreturn void __wrap_assert_failed(const char *expression, const char *file, int line)
{
    if (current == NULL) {
        __real_assert_failed(expression, file, line);
    }
    world_violated(current, "ASSERT(%s) at %s:%d", expression, file, line);
}

static void start_all(struct world *w)
{
    for (int i = 0; i < w->n_members; i++) {
        world_start(w, i);
    }
}

static void run_until(struct world *w, int64_t limit_us)
{
    while (world_step(w, limit_us)) {
    }
}

/* Everybody comes to serve the same again, soon, and every call has ended. */
static void settle(struct world *w)
{
    int64_t end = w->now_us + SETTLED_TICKS * w->plan->tick_ms * 1000;

    while (!world_all_run(w) || !world_is_settled(w)) {
        if (w->now_us > end) {
            world_violated(w, "liveness: not settled %d ticks after the trouble", SETTLED_TICKS);
        }
        run_until(w, w->now_us + LOOK_US);
    }
}

static void ask_everybody(struct world *w)
{
    uint64_t answered = w->judge.n_answered;

    for (int k = 0; k < CALLS_AT_THE_END; k++) {
        for (int i = 0; i < w->n_members; i++) {
            toy_ask(&w->members[i], ASK_WRITE);
            toy_ask(&w->members[i], ASK_SYNC);
        }
    }
    settle(w);
    if (w->plan->counter_limit == 0 &&
        w->judge.n_answered != answered + (uint64_t)(2 * CALLS_AT_THE_END * w->n_members)) {
        world_violated(w, "liveness: calls fail where everything is fair");
    }
}

static void live(struct world *w, struct totals *t)
{
    int64_t quiet;

    start_all(w);
    run_until(w, w->plan->trouble_us + 1);
    world_calm(w);
    quiet = w->now_us;
    run_until(w, w->now_us + SECOND_US); /* what is under way arrives */
    settle(w);
    quiet = w->now_us - quiet;
    ask_everybody(w);
    if (quiet > t->longest_quiet_us) {
        t->longest_quiet_us = quiet;
    }
}

static void add_up(struct totals *t, const struct world *w)
{
    t->runs++;
    t->events += w->n_events;
    t->steps += w->n_steps;
    t->answered += w->judge.n_answered;
    t->failed += w->judge.n_failed;
    t->committed += w->judge.committed.n;
    t->epochs += w->judge.n_leader_epochs;
    t->simulated_us += w->now_us;
}

static void print_line(void *arg, const char *text)
{
    fprintf(arg, "%s\n", text);
}

/* False: a rule was broken, `why` says which. What the run had is then left where it is: the
 * program ends soon, and not by returning from main. */
static bool run(const struct plan *plan, FILE *trace, struct totals *t, char why[256])
{
    struct world *w = must_zalloc(sizeof(*w));
    jmp_buf end;

    end_of_run = &end;
    if (setjmp(end) != 0) {
        snprintf(why, 256, "%s", current->why);
        current = NULL;
        return false;
    }
    world_init(w, plan);
    w->end = &end;
    w->line = trace == NULL ? NULL : print_line;
    w->line_arg = trace;
    current = w;
    live(w, t);
    current = NULL;
    add_up(t, w);
    world_fini(w);
    free(w);
    return true;
}

/* ---- shorter ---- */

/* Which items of a plan are kept. */
struct selection {
    bool *kept;
    size_t n, n_kept;
};

static void select_items(struct plan *out, const struct plan *whole, const struct selection *s)
{
    plan_copy(out, whole);
    for (size_t i = 0; i < whole->n; i++) {
        if (s->kept[i]) {
            plan_add(out, whole->items[i]);
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
static bool still_fails(const struct plan *whole, const struct selection *s, char why[256])
{
    struct totals ignored = {0};
    struct plan plan;
    char now[256];
    bool failed;

    select_items(&plan, whole, s);
    failed = !run(&plan, NULL, &ignored, now) && same_rule(now, why);
    plan_fini(&plan);
    if (failed) {
        memcpy(why, now, sizeof(now));
    }
    return failed;
}

/* Leaves out the `many` kept items from the `at`-th on; false: then nothing fails any more. */
static bool leave_out(const struct plan *whole, struct selection *s, size_t at, size_t many,
                      char why[256])
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
static void shrink(const struct plan *whole, struct selection *s, char why[256])
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

static void print_replay(const struct plan *whole, const struct selection *s,
                         const struct options *o)
{
    const char *comma = "";
    struct strbuf line;

    strbuf_init(&line, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < whole->n; i++) {
        if (s->kept[i]) {
            strbuf_clear(&line);
            plan_item_write(&whole->items[i], &line);
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

static void report_failure(const struct plan *plan, const struct options *o, char why[256])
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
static bool run_part(const struct plan *whole, const struct options *o, struct totals *t,
                     char why[256])
{
    struct selection s;
    struct plan part;
    bool good;

    select_all(&s, whole->n);
    select_listed(&s, o->keep);
    select_items(&part, whole, &s);
    good = run(&part, o->trace ? stdout : NULL, t, why);
    plan_fini(&part);
    free(s.kept);
    if (!good) {
        printf("seed %" PRIu64 ": %s\n", whole->seed, why);
    }
    return good;
}

static bool run_seed(uint64_t seed, const struct options *o, struct totals *t, char why[256])
{
    struct plan plan;
    bool good;

    plan_make(&plan, seed, o->members);
    if (o->keep != NULL) {
        good = run_part(&plan, o, t, why);
    } else {
        good = run(&plan, o->trace ? stdout : NULL, t, why);
        if (!good && o->broken == NULL) {
            report_failure(&plan, o, why);
        } else if (!good && !o->quiet) {
            report_failure(&plan, o, why);
        }
    }
    plan_fini(&plan);
    return good;
}

static void print_totals(const struct totals *t, double seconds)
{
    printf("%" PRIu64 " seeds, %.1f simulated hours, %" PRIu64 " events, %" PRIu64
           " steps of members in %.1f s; %" PRIu64 " epochs, %" PRIu64 " transactions, %" PRIu64
           " calls answered, %" PRIu64 " not; at most %.1f s until all served again\n",
           t->runs, (double)t->simulated_us / SECOND_US / 3600, t->events, t->steps, seconds,
           t->epochs, t->committed, t->answered, t->failed,
           (double)t->longest_quiet_us / SECOND_US);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_seeds(const struct options *o)
{
    struct totals t = {0};
    double begun = now_s();
    char why[256] = "";
    uint64_t seed;

    for (seed = o->first; seed <= o->last; seed++) {
        if (!run_seed(seed, o, &t, why)) {
            break;
        }
    }
    print_totals(&t, now_s() - begun);
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
        fprintf(stderr, "usage: pawl-sim [--seeds A..B] [--members N] [--break RULE] [--quiet]\n"
                        "                [--keep I,J,...] [--trace] | --scenario FILE [--write]\n");
        return 2;
    }
    rc = o.scenario != NULL ? scenario_run(o.scenario, o.write) : run_seeds(&o);
    fflush(stdout);
    if (o.broken != NULL || rc != 0) {
        _exit(rc); /* what failed runs have left is not looked at */
    }
    return rc;
}
