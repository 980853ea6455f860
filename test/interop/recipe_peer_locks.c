/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_peer_locks.c - the verbs of mutex, read/write lock, semaphores and multi-lock. */
#include "recipe_peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/lock.h>
#include <pawl/multilock.h>
#include <pawl/rwlock.h>
#include <pawl/semaphore.h>

static void free_mutex(void *thing)
{
    pawl_lock_free(thing);
}

static void free_rwlock(void *thing)
{
    pawl_rwlock_free(thing);
}

static void free_semaphore(void *thing)
{
    pawl_semaphore_free(thing);
}

/* ---- mutex ---- */

/* `marker` NULL: Curator's. */
static int mutex_of(struct actor *a, const char *path, const char *marker, struct pawl_lock **out)
{
    struct pawl_lock_options options = {.size = sizeof(options), .marker = marker};
    int rc = PAWL_OK;

    *out = actor_thing(a, "mutex", path);
    if (*out == NULL) {
        rc = pawl_lock_new(actor_client(a), path, &options, out);
        actor_keep(a, "mutex", path, *out, free_mutex);
    }
    return rc;
}

/* PATH N [MARKER] */
static int mutex_rounds(struct actor *a, char **v, char *out)
{
    struct pawl_lock *l;
    int rc = mutex_of(a, v[0], v[2], &l);

    for (int i = 0; rc == PAWL_OK && i < atoi(v[1]); i++) {
        rc = pawl_lock_acquire(l, PATIENCE_MS);
        if (rc == PAWL_OK) {
            rc = actor_alone(a, v[0], out);
        }
        if (rc == PAWL_OK) {
            rc = pawl_lock_release(l);
        }
    }
    return rc;
}

/* PATH MS [MARKER] */
static int mutex_acquire(struct actor *a, char **v, char *out)
{
    struct pawl_lock *l;
    int rc = mutex_of(a, v[0], v[2], &l);

    return rc != PAWL_OK ? rc : answer_yes_no(out, pawl_lock_acquire(l, atoi(v[1])));
}

static int mutex_release(struct actor *a, char **v, char *out)
{
    struct pawl_lock *l;
    int rc = mutex_of(a, v[0], NULL, &l);

    (void)out;
    return rc != PAWL_OK ? rc : pawl_lock_release(l);
}

static int mutex_participants(struct actor *a, char **v, char *out)
{
    struct pawl_participants *found = NULL;
    int rc = pawl_participants(actor_client(a), v[0], &found);

    for (size_t i = 0; rc == PAWL_OK && i < found->n; i++) {
        size_t len = strlen(out);

        snprintf(out + len, ANSWER_BYTES - len, "%s%s", i > 0 ? " " : "", found->items[i]->path);
    }
    pawl_participants_free(found);
    return rc;
}

/* ---- giving up when asked ---- */

struct asked {
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool yes;
};

static void on_revoke(struct pawl_lock *l, void *arg)
{
    struct asked *asked = arg;

    (void)l;
    pthread_mutex_lock(&asked->lock);
    asked->yes = true;
    pthread_cond_signal(&asked->told);
    pthread_mutex_unlock(&asked->lock);
}

static bool wait_asked(struct asked *asked, int ms)
{
    struct timespec end;
    bool yes;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += ms / 1000;
    pthread_mutex_lock(&asked->lock);
    while (!asked->yes && pthread_cond_timedwait(&asked->told, &asked->lock, &end) == 0) {
    }
    yes = asked->yes;
    pthread_mutex_unlock(&asked->lock);
    return yes;
}

static int mutex_revocable(struct actor *a, char **v, char *out)
{
    struct asked asked = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    struct pawl_lock_options options = {
        .size = sizeof(options), .on_revoke = on_revoke, .on_revoke_arg = &asked};
    struct pawl_lock *l = NULL;
    int rc = pawl_lock_new(actor_client(a), v[0], &options, &l);

    if (rc == PAWL_OK) {
        rc = pawl_lock_acquire(l, atoi(v[1]));
    }
    if (rc == PAWL_OK) {
        snprintf(out, ANSWER_BYTES, "%s", wait_asked(&asked, atoi(v[1])) ? "yes" : "no");
        rc = pawl_lock_release(l);
    }
    pawl_lock_free(l);
    return rc;
}

static int mutex_revoke(struct actor *a, char **v, char *out)
{
    (void)out;
    return pawl_lock_revoke(actor_client(a), v[0]);
}

/* ---- read/write lock ---- */

static int half_of(struct actor *a, const char *path, const char *which, struct pawl_lock **out)
{
    struct pawl_rwlock *rw = actor_thing(a, "rw", path);
    int rc = PAWL_OK;

    if (rw == NULL) {
        rc = pawl_rwlock_new(actor_client(a), path, NULL, &rw);
        actor_keep(a, "rw", path, rw, free_rwlock);
    }
    if (rc == PAWL_OK) {
        *out = strcmp(which, "read") == 0 ? pawl_rwlock_reader(rw) : pawl_rwlock_writer(rw);
    }
    return rc;
}

static int rw_acquire(struct actor *a, char **v, char *out)
{
    struct pawl_lock *l;
    int rc = half_of(a, v[0], v[1], &l);

    return rc != PAWL_OK ? rc : answer_yes_no(out, pawl_lock_acquire(l, atoi(v[2])));
}

static int rw_release(struct actor *a, char **v, char *out)
{
    struct pawl_lock *l;
    int rc = half_of(a, v[0], v[1], &l);

    (void)out;
    return rc != PAWL_OK ? rc : pawl_lock_release(l);
}

static int read_once(struct actor *a, const char *path, char *out)
{
    char name[512];
    int rc = actor_referee(a, out, "enter", path, "read");

    snprintf(name, sizeof(name), "%s-count", path);
    if (rc == PAWL_OK) {
        rc = pawl_get(actor_client(a), name, NULL, NULL);
    }
    return rc != PAWL_OK ? rc : actor_referee(a, out, "leave", path, "read");
}

/* Two reads to one write. */
static int rw_rounds(struct actor *a, char **v, char *out)
{
    int rc = PAWL_OK;

    for (int i = 0; rc == PAWL_OK && i < atoi(v[1]); i++) {
        bool write = i % 3 == 2;
        struct pawl_lock *l;

        rc = half_of(a, v[0], write ? "write" : "read", &l);
        if (rc == PAWL_OK) {
            rc = pawl_lock_acquire(l, PATIENCE_MS);
        }
        if (rc == PAWL_OK) {
            rc = write ? actor_alone(a, v[0], out) : read_once(a, v[0], out);
        }
        if (rc == PAWL_OK) {
            rc = pawl_lock_release(l);
        }
    }
    return rc;
}

/* ---- several locks as one ---- */

enum { MOST_LOCKS = 8 };

/* PATH,PATH... N; the referee watches the first. */
static int multi_rounds(struct actor *a, char **v, char *out)
{
    struct pawl_lock *locks[MOST_LOCKS];
    struct pawl_multilock *m = NULL;
    char *save = NULL, *path, *first = NULL;
    size_t n = 0;
    int rc = PAWL_OK;

    for (path = strtok_r(v[0], ",", &save); rc == PAWL_OK && path != NULL && n < MOST_LOCKS;
         path = strtok_r(NULL, ",", &save)) {
        first = first == NULL ? path : first;
        rc = mutex_of(a, path, NULL, &locks[n++]);
    }
    if (rc == PAWL_OK) {
        rc = pawl_multilock_new(locks, n, &m);
    }
    for (int i = 0; rc == PAWL_OK && i < atoi(v[1]); i++) {
        rc = pawl_multilock_acquire(m, PATIENCE_MS);
        if (rc == PAWL_OK) {
            rc = actor_alone(a, first, out);
        }
        if (rc == PAWL_OK) {
            rc = pawl_multilock_release(m);
        }
    }
    pawl_multilock_free(m);
    return rc;
}

/* ---- semaphore ---- */

/* `count` is the path of a shared count, or NULL. */
static int semaphore_of(struct actor *a, const char *path, const char *leases, const char *count,
                        struct pawl_semaphore **out)
{
    struct pawl_semaphore_options options = {
        .size = sizeof(options), .max_leases = atoi(leases), .count = count};
    int rc = PAWL_OK;

    *out = actor_thing(a, "semaphore", path);
    if (*out == NULL) {
        rc = pawl_semaphore_new(actor_client(a), path, &options, out);
        actor_keep(a, "semaphore", path, *out, free_semaphore);
    }
    return rc;
}

/* PATH N LEASES */
static int sem_rounds(struct actor *a, char **v, char *out)
{
    struct pawl_semaphore *s;
    struct pawl_lease *lease;
    char mode[32];
    int rc = semaphore_of(a, v[0], v[2], NULL, &s);

    snprintf(mode, sizeof(mode), "lease:%s", v[2]);
    for (int i = 0; rc == PAWL_OK && i < atoi(v[1]); i++) {
        rc = pawl_semaphore_acquire(s, PATIENCE_MS, &lease);
        if (rc == PAWL_OK) {
            rc = actor_referee(a, out, "enter", v[0], mode);
        }
        if (rc == PAWL_OK) {
            rc = actor_referee(a, out, "leave", v[0], mode);
        }
        if (rc == PAWL_OK) {
            rc = pawl_lease_release(lease);
        }
    }
    return rc;
}

/* One at a time is kept. */
static int take_lease(struct actor *a, struct pawl_semaphore *s, char **v, char *out)
{
    struct pawl_lease *lease = NULL;
    int rc = answer_yes_no(out, pawl_semaphore_acquire(s, atoi(v[2]), &lease));

    if (lease != NULL) {
        actor_keep(a, "lease", v[0], lease, NULL);
    }
    return rc;
}

/* PATH LEASES MS */
static int sem_acquire(struct actor *a, char **v, char *out)
{
    struct pawl_semaphore *s;
    int rc = semaphore_of(a, v[0], v[1], NULL, &s);

    return rc != PAWL_OK ? rc : take_lease(a, s, v, out);
}

/* PATH COUNT-PATH MS: the number of leases is a shared count. */
static int sem_shared(struct actor *a, char **v, char *out)
{
    struct pawl_semaphore *s;
    int rc = semaphore_of(a, v[0], "1", v[1], &s);

    return rc != PAWL_OK ? rc : take_lease(a, s, v, out);
}

static int sem_return(struct actor *a, char **v, char *out)
{
    struct pawl_lease *lease = actor_thing(a, "lease", v[0]);

    (void)out;
    actor_keep(a, "lease", v[0], NULL, NULL);
    return pawl_lease_release(lease);
}

static int semaphore_mutex_rounds(struct actor *a, char **v, char *out)
{
    struct pawl_mutex *m = NULL;
    int rc = pawl_mutex_new(actor_client(a), v[0], NULL, &m);

    for (int i = 0; rc == PAWL_OK && i < atoi(v[1]); i++) {
        rc = pawl_mutex_acquire(m, PATIENCE_MS);
        if (rc == PAWL_OK) {
            rc = actor_alone(a, v[0], out);
        }
        if (rc == PAWL_OK) {
            rc = pawl_mutex_release(m);
        }
    }
    pawl_mutex_free(m);
    return rc;
}

const struct verb lock_verbs[] = {{"mutex-rounds", mutex_rounds},
                                  {"mutex-acquire", mutex_acquire},
                                  {"mutex-release", mutex_release},
                                  {"mutex-participants", mutex_participants},
                                  {"mutex-revocable", mutex_revocable},
                                  {"mutex-revoke", mutex_revoke},
                                  {"rw-acquire", rw_acquire},
                                  {"rw-release", rw_release},
                                  {"rw-rounds", rw_rounds},
                                  {"multi-rounds", multi_rounds},
                                  {"sem-rounds", sem_rounds},
                                  {"sem-acquire", sem_acquire},
                                  {"sem-shared", sem_shared},
                                  {"sem-return", sem_return},
                                  {"semaphore-mutex-rounds", semaphore_mutex_rounds},
                                  {NULL, NULL}};
