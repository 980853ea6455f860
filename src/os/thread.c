/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "base/assert.h"
#include "pawl/error.h"

/* ---- locks ---- */

void lock_init(struct lock *l)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&l->mutex, &attr);
    pthread_mutexattr_destroy(&attr);
}

void lock_fini(struct lock *l)
{
    int rc = pthread_mutex_destroy(&l->mutex);

    ASSERT(rc == 0); /* else somebody has it */
}

void lock_take(struct lock *l)
{
    pthread_mutex_lock(&l->mutex);
}

void lock_give(struct lock *l)
{
    int rc = pthread_mutex_unlock(&l->mutex);

    ASSERT(rc == 0); /* else it was not ours */
}

/* ---- conditions ---- */

void condition_init(struct condition *c)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->cond, &attr);
    pthread_condattr_destroy(&attr);
}

void condition_fini(struct condition *c)
{
    pthread_cond_destroy(&c->cond);
}

void condition_signal(struct condition *c)
{
    pthread_cond_signal(&c->cond);
}

void condition_broadcast(struct condition *c)
{
    pthread_cond_broadcast(&c->cond);
}

/* The clock that conditions know stands still while the machine sleeps; whoever waits long looks at
 * his own clock now and then. */
void condition_wait(struct condition *c, struct lock *l, int64_t ms)
{
    struct timespec t;

    if (ms < 0) {
        pthread_cond_wait(&c->cond, &l->mutex);
        return;
    }
    ms = ms > INT32_MAX ? INT32_MAX : ms;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    pthread_cond_timedwait(&c->cond, &l->mutex, &t);
}

/* ---- threads ---- */

static int start_masked(struct thread *t, const pthread_attr_t *attr, void *(*main)(void *),
                        void *arg)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&t->id, attr, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int thread_start(struct thread *t, const char *name, size_t stack, void *(*main)(void *), void *arg)
{
    pthread_attr_t attr;
    int rc;

    pthread_attr_init(&attr);
    if (stack != 0) {
        pthread_attr_setstacksize(&attr, stack);
    }
    rc = start_masked(t, &attr, main, arg);
    pthread_attr_destroy(&attr);
    if (rc != 0) {
        errno = rc;
        return PAWL_ERR_SYSTEM;
    }
    pthread_setname_np(t->id, name);
    return 0;
}

void thread_set_name(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

void thread_join(struct thread t)
{
    pthread_join(t.id, NULL);
}

void thread_detach(struct thread t)
{
    pthread_detach(t.id);
}

struct thread thread_current(void)
{
    return (struct thread){pthread_self()};
}

bool thread_is_current(struct thread t)
{
    return pthread_equal(t.id, pthread_self()) != 0;
}

/* ---- forks ---- */

static _Atomic unsigned forks;
static pthread_once_t forks_once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    atomic_fetch_add(&forks, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* Counting them is cheaper than asking for the process id at every call. */
unsigned thread_forks(void)
{
    pthread_once(&forks_once, watch_forks);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
