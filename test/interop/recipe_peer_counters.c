/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_peer_counters.c - the verbs of shared count and value, and of the atomics. */
#include "recipe_peer.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pawl/counter.h>

static void free_count(void *thing)
{
    pawl_shared_count_free(thing);
}

static void free_value(void *thing)
{
    pawl_shared_value_free(thing);
}

/* Copies change on threads of the library; whoever waits for one is told here. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void tell_all(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void on_count(struct pawl_shared_count *s, const struct pawl_versioned_count *value,
                     void *arg)
{
    (void)s;
    (void)value;
    (void)arg;
    tell_all();
}

static void on_value(struct pawl_shared_value *v, const struct pawl_versioned *value, void *arg)
{
    (void)v;
    (void)value;
    (void)arg;
    tell_all();
}

typedef bool (*fact_fn)(void *thing, const char *wanted);

static int wait_for(fact_fn fact, void *thing, const char *wanted, const char *ms, char *out)
{
    struct timespec end;
    bool yes, in_time = true;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += atoi(ms) / 1000;
    pthread_mutex_lock(&lock);
    while (!(yes = fact(thing, wanted)) && in_time) {
        in_time = pthread_cond_timedwait(&changed, &lock, &end) == 0;
    }
    pthread_mutex_unlock(&lock);
    return answer_yes_no(out, yes ? PAWL_OK : PAWL_ERR_OPERATION_TIMEOUT);
}

/* ---- shared count ---- */

static int count_of(struct actor *a, const char *path, struct pawl_shared_count **out)
{
    int rc = PAWL_OK;

    *out = actor_thing(a, "count", path);
    if (*out == NULL) {
        rc = pawl_shared_count_new(actor_client(a), path, 0, on_count, NULL, out);
        if (rc == PAWL_OK) {
            rc = pawl_shared_count_start(*out);
        }
        actor_keep(a, "count", path, *out, free_count);
    }
    return rc;
}

/* So many steps of one, each by compare-and-set. */
static int count_add(struct actor *a, char **v, char *out)
{
    struct pawl_shared_count *s;
    struct pawl_versioned_count now;
    int rc = count_of(a, v[0], &s), done = 0;

    (void)out;
    while (rc == PAWL_OK && done < atoi(v[1])) {
        rc = pawl_shared_count_get(s, &now);
        if (rc == PAWL_OK) {
            rc = pawl_shared_count_try_set(s, &now, now.count + 1);
        }
        done += rc == PAWL_OK;
        rc = rc == PAWL_ERR_BAD_VERSION ? PAWL_OK : rc;
    }
    return rc;
}

static bool count_is(void *thing, const char *wanted)
{
    struct pawl_versioned_count now;

    return pawl_shared_count_get(thing, &now) == PAWL_OK && now.count == atoi(wanted);
}

static int count_await(struct actor *a, char **v, char *out)
{
    struct pawl_shared_count *s;
    int rc = count_of(a, v[0], &s);

    return rc != PAWL_OK ? rc : wait_for(count_is, s, v[1], v[2], out);
}

static int count_set(struct actor *a, char **v, char *out)
{
    struct pawl_shared_count *s;
    int rc = count_of(a, v[0], &s);

    (void)out;
    return rc != PAWL_OK ? rc : pawl_shared_count_set(s, atoi(v[1]));
}

/* ---- shared value ---- */

static int value_of(struct actor *a, const char *path, struct pawl_shared_value **out)
{
    int rc = PAWL_OK;

    *out = actor_thing(a, "value", path);
    if (*out == NULL) {
        rc = pawl_shared_value_new(actor_client(a), path, (struct pawl_bytes){"seed", 4}, out);
        if (rc == PAWL_OK) {
            rc = pawl_shared_value_add_listener(*out, on_value, NULL);
        }
        if (rc == PAWL_OK) {
            rc = pawl_shared_value_start(*out);
        }
        actor_keep(a, "value", path, *out, free_value);
    }
    return rc;
}

static int value_set(struct actor *a, char **v, char *out)
{
    struct pawl_shared_value *s;
    int rc = value_of(a, v[0], &s);

    (void)out;
    return rc != PAWL_OK ? rc : pawl_shared_value_set(s, (struct pawl_bytes){v[1], strlen(v[1])});
}

static bool value_is(void *thing, const char *wanted)
{
    struct pawl_versioned *now = NULL;
    bool yes = false;

    if (pawl_shared_value_get(thing, &now) == PAWL_OK) {
        yes = now->data.len == strlen(wanted) && memcmp(now->data.data, wanted, now->data.len) == 0;
    }
    pawl_versioned_free(now);
    return yes;
}

static int value_await(struct actor *a, char **v, char *out)
{
    struct pawl_shared_value *s;
    int rc = value_of(a, v[0], &s);

    return rc != PAWL_OK ? rc : wait_for(value_is, s, v[1], v[2], out);
}

/* ---- atomics ---- */

static int atomic_steps(struct actor *a, char **v, int bits)
{
    struct pawl_atomic_options options = {.size = sizeof(options), .bits = bits};
    struct pawl_atomic_result result;
    struct pawl_atomic *n = NULL;
    int rc = pawl_atomic_new(actor_client(a), v[0], &options, &n);

    for (int done = 0; rc == PAWL_OK && done < atoi(v[1]);) {
        rc = pawl_atomic_increment(n, &result);
        done += rc == PAWL_OK && result.succeeded;
    }
    pawl_atomic_free(n);
    return rc;
}

static int atomic_number(struct actor *a, char **v, int bits, char *out)
{
    struct pawl_atomic_options options = {.size = sizeof(options), .bits = bits};
    struct pawl_atomic_result result;
    struct pawl_atomic *n = NULL;
    int rc = pawl_atomic_new(actor_client(a), v[0], &options, &n);

    if (rc == PAWL_OK) {
        rc = v[1] == NULL ? pawl_atomic_get(n, &result)
                          : pawl_atomic_force_set(n, strtoll(v[1], NULL, 10), &result);
    }
    if (rc == PAWL_OK && v[1] == NULL) {
        snprintf(out, ANSWER_BYTES, "%" PRId64, result.after);
    }
    pawl_atomic_free(n);
    return rc;
}

static int atomic_add(struct actor *a, char **v, char *out)
{
    (void)out;
    return atomic_steps(a, v, 64);
}

static int int_add(struct actor *a, char **v, char *out)
{
    (void)out;
    return atomic_steps(a, v, 32);
}

/* Both: PATH [NEW VALUE] */
static int atomic_get(struct actor *a, char **v, char *out)
{
    return atomic_number(a, v, 64, out);
}

static int int_get(struct actor *a, char **v, char *out)
{
    return atomic_number(a, v, 32, out);
}

const struct verb counter_verbs[] = {{"count-add", count_add},
                                     {"count-await", count_await},
                                     {"count-set", count_set},
                                     {"value-set", value_set},
                                     {"value-await", value_await},
                                     {"atomic-add", atomic_add},
                                     {"atomic-get", atomic_get},
                                     {"atomic-set", atomic_get},
                                     {"int-add", int_add},
                                     {"int-get", int_get},
                                     {NULL, NULL}};
