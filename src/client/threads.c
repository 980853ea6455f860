/* SPDX-License-Identifier: Apache-2.0 */
#include "client/threads.h"

#include "base/assert.h"
#include "client/engine.h"

void threads_init(struct threads *t)
{
    *t = (struct threads){0};
    condition_init(&t->ended);
}

void threads_fini(struct threads *t)
{
    ASSERT(t->n_running == 0);
    condition_fini(&t->ended);
}

static int threads_start_one(struct engine *e, const char *name, void *(*main)(void *),
                             size_t stack)
{
    struct threads *t = &e->threads;
    int rc;

    engine_ref(e);
    t->n_running++;
    rc = thread_start(&t->started[t->n_started], name, stack, main, e);
    if (rc != 0) {
        t->n_running--;
        engine_unref(e);
        return rc;
    }
    t->n_started++;
    return 0;
}

/* Callbacks are the application's and may need a usual stack. */
int threads_start(struct engine *e)
{
    int rc = 0;

    if (e->settings.mode != PAWL_DISPATCH_EXTERNAL) {
        rc = threads_start_one(e, "pawl-io", engine_thread_main, THREAD_SMALL_STACK);
    }
    if (rc == 0 && e->settings.mode == PAWL_DISPATCH_THREAD) {
        rc = threads_start_one(e, "pawl-callbacks", dispatch_thread_main, 0);
    }
    return rc;
}

void threads_end(struct engine *e)
{
    e->threads.n_running--;
    condition_broadcast(&e->threads.ended);
    engine_unlock(e);
    engine_unref(e);
}

void threads_leave(struct engine *e, bool have_ended)
{
    for (int i = 0; i < e->threads.n_started; i++) {
        if (have_ended) {
            thread_join(e->threads.started[i]);
        } else {
            thread_detach(e->threads.started[i]);
        }
    }
}
