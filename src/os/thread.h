/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads, locks and conditions.
 *
 * Waiting is for so many milliseconds, not until a time: which clock a deadline belongs to is the
 * caller's business. */
#ifndef PAWL_OS_THREAD_H
#define PAWL_OS_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who has it may take it again. */
struct lock {
    pthread_mutex_t mutex;
};

void lock_init(struct lock *l);
void lock_fini(struct lock *l);
void lock_take(struct lock *l);
void lock_give(struct lock *l);

struct condition {
    pthread_cond_t cond;
};

void condition_init(struct condition *c);
void condition_fini(struct condition *c);
void condition_signal(struct condition *c);
void condition_broadcast(struct condition *c);

/* For at most `ms` (negative: for ever); may return early. The lock is taken once. */
void condition_wait(struct condition *c, struct lock *l, int64_t ms);

struct thread {
    pthread_t id;
};

enum { THREAD_SMALL_STACK = 256 * 1024 };

/* Starts one that leaves the application's signals to the application's threads. `name` is what
 * ps and debuggers show, up to 15 characters. `stack` 0: as usual. SYSTEM or 0. */
int thread_start(struct thread *t, const char *name, size_t stack, void *(*main)(void *),
                 void *arg);
void thread_set_name(const char *name); /* of the calling one, which was started otherwise */
void thread_join(struct thread t);
void thread_detach(struct thread t);
struct thread thread_current(void);
bool thread_is_current(struct thread t);

/* How many forks lie between this process and the one that first asked. */
unsigned thread_forks(void);

#endif
