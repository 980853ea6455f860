/* SPDX-License-Identifier: Apache-2.0 */
/* sim_threads.c - threads that the library starts for its users' functions, one at a time.
 *
 * They are real, but each waits for its turn, and the world waits meanwhile: so one seed is still
 * one run. The linker gives us the library's pthread_create (--wrap). */
#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "sim/sim_world.h"

struct sim_thread {
    struct list link;
    struct machine *machine; /* whose it is */
    void *(*fn)(void *);
    void *arg;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static struct sim_thread *whose_turn; /* NULL: the world's; guarded by `lock` */
static struct list threads = {&threads, &threads};
static __thread struct sim_thread *self;

struct sim_thread *sim_thread_self(void)
{
    return self;
}

static void pass_to(struct sim_thread *next)
{
    pthread_mutex_lock(&lock);
    whose_turn = next;
    pthread_cond_broadcast(&passed);
    while (whose_turn != self) {
        pthread_cond_wait(&passed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

void sim_thread_yield(void)
{
    ASSERT(self != NULL);
    pass_to(NULL);
}

/* Its last turn ends with it. */
static void *sim_thread_main(void *thread)
{
    self = thread;
    pthread_mutex_lock(&lock);
    while (whose_turn != self) {
        pthread_cond_wait(&passed, &lock);
    }
    pthread_mutex_unlock(&lock);
    self->fn(self->arg);
    pthread_mutex_lock(&lock);
    list_remove(&self->link);
    free(self);
    whose_turn = NULL;
    pthread_cond_broadcast(&passed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg)
{
    struct sim_thread *t;

    ASSERT(the_world->running != NULL);
    if (the_world->trouble && world_chance(the_world, 50)) {
        return EAGAIN; /* there is none to be had */
    }
    t = must_zalloc(sizeof(*t));
    *t = (struct sim_thread){.machine = the_world->running, .fn = fn, .arg = arg};
    list_push_back(&threads, &t->link);
    world_note(t->machine->id, "thread", 0);
    return __real_pthread_create(thread, attr, sim_thread_main, t);
}

void sim_threads_run(const struct machine *m)
{
    struct list *item, *next;

    ASSERT(self == NULL);
    for (item = threads.next; item != &threads; item = next) {
        struct sim_thread *t = container_of(item, struct sim_thread, link);

        next = item->next;
        if (t->machine == m) {
            pass_to(t);
        }
    }
}
