/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_peer_elections.c - the verbs of latch, selector and barriers. */
#include "recipe_peer.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pawl/barrier.h>
#include <pawl/election.h>

static void free_latch(void *thing)
{
    pawl_latch_free(thing);
}

static void free_double(void *thing)
{
    pawl_double_barrier_free(thing);
}

/* The ids in the order of the queue, the leader's with a star. */
static int answer_participants(char *out, int rc, struct pawl_participants *found)
{
    for (size_t i = 0; rc == PAWL_OK && i < found->n; i++) {
        struct pawl_bytes id = found->items[i]->data;
        size_t len = strlen(out);

        snprintf(out + len, ANSWER_BYTES - len, "%s%.*s%s", i > 0 ? " " : "", (int)id.len,
                 (const char *)id.data, i == 0 ? "*" : "");
    }
    pawl_participants_free(found);
    return rc;
}

/* ---- latch ---- */

static int latch_start(struct actor *a, char **v, char *out)
{
    struct pawl_latch_options options = {.size = sizeof(options), .id = v[1]};
    struct pawl_latch *l = NULL;
    int rc = pawl_latch_new(actor_client(a), v[0], &options, &l);

    (void)out;
    actor_keep(a, "latch", v[0], l, free_latch);
    return rc != PAWL_OK ? rc : pawl_latch_start(l);
}

static int latch_await(struct actor *a, char **v, char *out)
{
    return answer_yes_no(out, pawl_latch_wait(actor_thing(a, "latch", v[0]), atoi(v[1])));
}

static int latch_leads(struct actor *a, char **v, char *out)
{
    bool leads = pawl_latch_is_leader(actor_thing(a, "latch", v[0]));

    snprintf(out, ANSWER_BYTES, "%s", leads ? "yes" : "no");
    return PAWL_OK;
}

static int latch_participants(struct actor *a, char **v, char *out)
{
    struct pawl_participants *found = NULL;
    int rc = pawl_latch_participants(actor_thing(a, "latch", v[0]), &found);

    return answer_participants(out, rc, found);
}

static int latch_close(struct actor *a, char **v, char *out)
{
    struct pawl_latch *l = actor_thing(a, "latch", v[0]);
    int rc = pawl_latch_close(l, PAWL_LATCH_CLOSE_SILENT);

    (void)out;
    pawl_latch_free(l);
    actor_keep(a, "latch", v[0], NULL, NULL);
    return rc;
}

/* ---- selector ---- */

struct leading {
    struct pawl_selector *selector;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool leads, yield;
};

/* Leads until it is told to yield, or to stop. */
static void lead(struct pawl_selector *s, uint64_t token, void *arg)
{
    struct leading *me = arg;
    struct pollfd stop = {.fd = pawl_grant_fd(pawl_selector_grant(s)), .events = POLLIN};

    (void)token;
    pthread_mutex_lock(&me->lock);
    me->leads = true;
    me->yield = false;
    pthread_cond_broadcast(&me->changed);
    while (!me->yield && !pawl_selector_should_stop(s)) {
        pthread_mutex_unlock(&me->lock);
        poll(&stop, 1, 5); /* there is no descriptor for the test's word */
        pthread_mutex_lock(&me->lock);
    }
    me->leads = false;
    pthread_mutex_unlock(&me->lock);
}

static void free_leading(void *thing)
{
    struct leading *me = thing;

    pawl_selector_free(me->selector);
    pthread_cond_destroy(&me->changed);
    pthread_mutex_destroy(&me->lock);
    free(me);
}

static int selector_start(struct actor *a, char **v, char *out)
{
    struct leading *me = calloc(1, sizeof(*me));
    struct pawl_selector_options options = {
        .size = sizeof(options), .lead = lead, .id = v[1], .auto_requeue = 1, .arg = me};
    int rc;

    (void)out;
    pthread_mutex_init(&me->lock, NULL);
    pthread_cond_init(&me->changed, NULL);
    actor_keep(a, "selector", v[0], me, free_leading);
    rc = pawl_selector_new(actor_client(a), v[0], &options, &me->selector);
    return rc != PAWL_OK ? rc : pawl_selector_start(me->selector);
}

static int selector_await(struct actor *a, char **v, char *out)
{
    struct leading *me = actor_thing(a, "selector", v[0]);
    struct timespec end;
    bool leads;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += atoi(v[1]) / 1000;
    pthread_mutex_lock(&me->lock);
    while (!me->leads && pthread_cond_timedwait(&me->changed, &me->lock, &end) == 0) {
    }
    leads = me->leads;
    pthread_mutex_unlock(&me->lock);
    return answer_yes_no(out, leads ? PAWL_OK : PAWL_ERR_OPERATION_TIMEOUT);
}

static int selector_leads(struct actor *a, char **v, char *out)
{
    struct leading *me = actor_thing(a, "selector", v[0]);

    snprintf(out, ANSWER_BYTES, "%s", pawl_selector_is_leader(me->selector) ? "yes" : "no");
    return PAWL_OK;
}

static int selector_yield(struct actor *a, char **v, char *out)
{
    struct leading *me = actor_thing(a, "selector", v[0]);

    (void)out;
    pthread_mutex_lock(&me->lock);
    me->yield = true;
    pthread_mutex_unlock(&me->lock);
    return PAWL_OK;
}

static int selector_participants(struct actor *a, char **v, char *out)
{
    struct leading *me = actor_thing(a, "selector", v[0]);
    struct pawl_participants *found = NULL;
    int rc = pawl_selector_participants(me->selector, &found);

    return answer_participants(out, rc, found);
}

static int selector_close(struct actor *a, char **v, char *out)
{
    struct leading *me = actor_thing(a, "selector", v[0]);
    int rc = pawl_selector_close(me->selector);

    (void)out;
    free_leading(me);
    actor_keep(a, "selector", v[0], NULL, NULL);
    return rc;
}

const struct verb election_verbs[] = {
    {"latch-start", latch_start},       {"latch-await", latch_await},
    {"latch-leads", latch_leads},       {"latch-participants", latch_participants},
    {"latch-close", latch_close},       {"selector-start", selector_start},
    {"selector-await", selector_await}, {"selector-leads", selector_leads},
    {"selector-yield", selector_yield}, {"selector-participants", selector_participants},
    {"selector-close", selector_close}, {NULL, NULL}};

/* ---- barriers ---- */

typedef int (*barrier_call)(struct pawl_barrier *b, int timeout_ms);

static int raise_it(struct pawl_barrier *b, int timeout_ms)
{
    (void)timeout_ms;
    return pawl_barrier_raise(b);
}

static int lift_it(struct pawl_barrier *b, int timeout_ms)
{
    (void)timeout_ms;
    return pawl_barrier_lift(b);
}

static int with_barrier(struct actor *a, char **v, barrier_call call)
{
    struct pawl_barrier *b = NULL;
    int rc = pawl_barrier_new(actor_client(a), v[0], &b);

    if (rc == PAWL_OK) {
        rc = call(b, v[1] == NULL ? 0 : atoi(v[1]));
    }
    pawl_barrier_free(b);
    return rc;
}

static int barrier_set(struct actor *a, char **v, char *out)
{
    (void)out;
    return with_barrier(a, v, raise_it);
}

static int barrier_remove(struct actor *a, char **v, char *out)
{
    (void)out;
    return with_barrier(a, v, lift_it);
}

static int barrier_wait(struct actor *a, char **v, char *out)
{
    return answer_yes_no(out, with_barrier(a, v, pawl_barrier_wait));
}

/* PATH MEMBERS MS */
static int double_enter(struct actor *a, char **v, char *out)
{
    struct pawl_double_barrier *b = actor_thing(a, "double", v[0]);
    int rc = PAWL_OK;

    if (b == NULL) {
        rc = pawl_double_barrier_new(actor_client(a), v[0], atoi(v[1]), &b);
        actor_keep(a, "double", v[0], b, free_double);
    }
    return rc != PAWL_OK ? rc : answer_yes_no(out, pawl_double_barrier_enter(b, atoi(v[2])));
}

static int double_leave(struct actor *a, char **v, char *out)
{
    struct pawl_double_barrier *b = actor_thing(a, "double", v[0]);

    return answer_yes_no(out, pawl_double_barrier_leave(b, atoi(v[2])));
}

const struct verb barrier_verbs[] = {
    {"barrier-set", barrier_set},   {"barrier-remove", barrier_remove},
    {"barrier-wait", barrier_wait}, {"double-enter", double_enter},
    {"double-leave", double_leave}, {NULL, NULL}};
