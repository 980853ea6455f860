/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum_sim.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "sim_ensemble.h"

enum {
    SECOND_US = 1000000,
    MINUTE_US = 60 * SECOND_US, /* election messages are repeated that often at least */
    LOOK_US = 100000,           /* so often a quiet cluster is looked at */
    SETTLED_TICKS = 120, /* so long after the end of trouble at the latest everybody serves */
    CALLS_AT_THE_END = 2,
};

static jmp_buf *end_of_run;
static struct cluster *current;

_Noreturn void __wrap_assert_failed(const char *expression, const char *file, int line);
_Noreturn void __real_assert_failed(const char *expression, const char *file, int line);

/* An assertion of the members ends the run like anything else. */
_Noreturn void __wrap_assert_failed(const char *expression, const char *file, int line)
{
    if (current == NULL) {
        __real_assert_failed(expression, file, line);
    }
    cluster_violated(current, "ASSERT(%s) at %s:%d", expression, file, line);
}

static void start_all(struct cluster *w)
{
    for (int i = 0; i < w->n_members; i++) {
        cluster_start(w, i);
    }
}

static void run_until(struct cluster *w, int64_t limit_us)
{
    while (cluster_step(w, limit_us)) {
    }
}

/* Everybody comes to serve the same again, soon, and every call has ended. */
static void settle(struct cluster *w)
{
    int64_t ticks_us = SETTLED_TICKS * w->plan->tick_ms * 1000;
    int64_t end = w->now_us + (ticks_us < MINUTE_US ? MINUTE_US : ticks_us);

    while (!cluster_all_run(w) || !cluster_is_settled(w)) {
        if (w->now_us > end) {
            cluster_violated(w, "liveness: not settled long after the trouble");
        }
        run_until(w, w->now_us + LOOK_US);
    }
}

/* Who was slow may still owe an ack from before, and be dropped for it: not while it is asked. */
static void let_acks_come(struct cluster *w)
{
    run_until(w, w->now_us + (w->plan->sync_limit + 1) * w->plan->tick_ms * INT64_C(1000));
    settle(w);
}

static void ask_everybody(struct cluster *w)
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
        cluster_violated(w, "liveness: calls fail where everything is fair");
    }
}

/* Nothing is left that could be more than a guess: there is no leader, however long it takes. */
static void stay_stopped(struct cluster *w)
{
    run_until(w, w->now_us + MINUTE_US);
    for (int i = 0; i < w->n_members; i++) {
        if (!w->members[i].runs || w->members[i].carrier.serves) {
            cluster_violated(w, "damaged: m%d does not run, or serves without a quorum", i + 1);
        }
    }
}

static void live(struct cluster *w, struct totals *t)
{
    int64_t quiet;

    start_all(w);
    run_until(w, w->plan->trouble_us + 1);
    cluster_calm(w);
    quiet = w->now_us;
    run_until(w, w->now_us + SECOND_US); /* what is under way arrives */
    if (w->is_ruined) {
        stay_stopped(w);
        t->stopped++;
        return;
    }
    settle(w);
    quiet = w->now_us - quiet;
    let_acks_come(w);
    ask_everybody(w);
    if (quiet > t->longest_quiet_us) {
        t->longest_quiet_us = quiet;
    }
}

static void add_up(struct totals *t, const struct cluster *w)
{
    t->runs++;
    t->events += w->n_events;
    t->steps += w->n_steps;
    t->answered += w->judge.n_answered;
    t->failed += w->judge.n_failed;
    t->committed += w->judge.committed.n;
    t->epochs += w->judge.n_leader_epochs;
    t->turns += w->judge.n_turns;
    t->simulated_us += w->now_us;
    for (int i = 0; i < w->n_members; i++) {
        t->effects[i] = w->members[i].n_effects;
    }
}

static void print_line(void *arg, const char *text)
{
    fprintf(arg, "%s\n", text);
}

bool sim_run(const struct trouble_plan *plan, FILE *trace, struct totals *t,
             char why[SIM_WHY_BYTES])
{
    struct cluster *w = must_zalloc(sizeof(*w));
    jmp_buf end;

    end_of_run = &end;
    if (setjmp(end) != 0) {
        snprintf(why, SIM_WHY_BYTES, "%s", current->why);
        current = NULL;
        return false;
    }
    cluster_init(w, plan, &toy_body);
    w->end = &end;
    w->line = trace == NULL ? NULL : print_line;
    w->line_arg = trace;
    current = w;
    live(w, t);
    current = NULL;
    add_up(t, w);
    cluster_fini(w);
    free(w);
    return true;
}

void sim_print_totals(const struct totals *t, double seconds)
{
    printf("%" PRIu64 " runs, %.1f simulated hours, %" PRIu64 " events, %" PRIu64
           " steps of members in %.1f s; %" PRIu64 " epochs, %" PRIu64 " of them in place, %" PRIu64
           " transactions, %" PRIu64 " calls answered, %" PRIu64 " not; %" PRIu64
           " stayed without a leader, the others for at most %.1f s after the trouble\n",
           t->runs, (double)t->simulated_us / SECOND_US / 3600, t->events, t->steps, seconds,
           t->epochs, t->turns, t->committed, t->answered, t->failed, t->stopped,
           (double)t->longest_quiet_us / SECOND_US);
}

double sim_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
