/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/core/recipe.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/handle.h"

enum { RETRY_PAUSE_MS = 200 };

int recipe_init(struct recipe *r, struct pawl_client *c, void (*destroy)(struct recipe *r))
{
    struct pawl_retry retry = {.kind = PAWL_RETRY_FOREVER, .pause_ms = RETRY_PAUSE_MS};
    struct pawl_view_options options = {.size = sizeof(options), .timeout_ms = -1, .retry = &retry};
    struct pawl_client *view;
    int rc = pawl_client_view(c, &options, &view);

    if (rc != 0) {
        return rc;
    }
    *r = (struct recipe){
        .client = view, .e = view->e, .timeout_ms = c->timeout_ms, .refs = 1, .destroy = destroy};
    return 0;
}

int recipe_new(size_t size, struct pawl_client *c, void (*destroy)(struct recipe *r),
               struct recipe **out)
{
    struct recipe *r = calloc(1, size);
    int rc = r == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(r, c, destroy);

    if (rc != 0) {
        free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void recipe_fini(struct recipe *r)
{
    pawl_client_close(r->client);
}

void recipe_ref(struct recipe *r)
{
    r->refs++;
}

void recipe_unref(struct recipe *r)
{
    ASSERT(r->refs > 0);
    if (--r->refs == 0) {
        r->destroy(r);
    }
}

int recipe_begin(struct recipe *r)
{
    return r == NULL ? PAWL_ERR_BAD_ARGUMENTS : step_begin(r->client);
}

void recipe_end(struct recipe *r)
{
    step_end(r->e);
}

/* The lock is given back while we wait: what the last step asked for is sent before. */
void recipe_free(struct recipe *r, void (*shut)(struct recipe *r))
{
    struct engine *e;

    if (r == NULL || step_begin(r->client) != 0) {
        return;
    }
    e = r->e;
    r->freed = true;
    if (shut != NULL) {
        shut(r);
    }
    e->inside = false;
    engine_settle(e, machine_now_ms());
    while (r->n_calling > 0 && !dispatch_is_current(e)) {
        condition_wait(&e->dispatch.callback_done, &e->lock, -1);
    }
    e->inside = true;
    recipe_unref(r);
    step_end(e);
}

int recipe_look(const struct recipe *r)
{
    int rc = handle_check(r->client);

    if (rc == 0) {
        engine_lock(r->e);
    }
    return rc;
}

void recipe_looked(const struct recipe *r)
{
    engine_unlock(r->e);
}

void recipe_note_begin(struct recipe *r)
{
    engine_lock(r->e);
}

void recipe_calling(struct recipe *r)
{
    r->n_calling++;
    engine_unlock(r->e);
}

void recipe_called(struct recipe *r)
{
    engine_lock(r->e);
    r->n_calling--;
    condition_broadcast(&r->e->dispatch.callback_done);
}

void recipe_note_end(struct recipe *r)
{
    struct engine *e = r->e;

    recipe_unref(r);
    engine_unlock(e);
}

void recipe_post(struct recipe *r, struct note *n)
{
    if (!n->posted && !r->e->stop) {
        recipe_ref(r);
        note_post(r->e, n);
    }
}

static void recipe_watch_ref(void *recipe)
{
    recipe_ref(recipe);
}

static void recipe_watch_unref(void *recipe)
{
    recipe_unref(recipe);
}

void recipe_watch_init(struct recipe *r, struct step_watch *w, pawl_event_fn fn, void *arg)
{
    step_watch_init(w, fn, arg, recipe_watch_ref, recipe_watch_unref, r);
}

void recipe_unwatch(struct recipe *r, struct step_watch *w, const char *path, int kinds)
{
    if (step_watch_is_set(w)) {
        (void)pawl_unwatch_async(r->client, path, kinds | PAWL_WATCHES_LOCAL, &w->ask, NULL, NULL);
    }
}

int recipe_wait(struct recipe *r, struct waiter *w, int64_t timeout_ms)
{
    int64_t deadline = timeout_ms < 0 ? 0 : machine_now_ms() + timeout_ms;

    if (dispatch_would_deadlock(r->e)) {
        return PAWL_ERR_WOULD_DEADLOCK;
    }
    if (step_wait(r->e, w, deadline)) {
        return 0;
    }
    return w->cancelled ? PAWL_ERR_CANCELLED : PAWL_ERR_OPERATION_TIMEOUT;
}

int recipe_left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - machine_now_ms();

    if (deadline_ms == 0) {
        return -1;
    }
    return left < 1 ? 1 : left > INT32_MAX ? INT32_MAX : (int)left;
}

bool recipe_is_over(const struct recipe *r, int err)
{
    return err == PAWL_ERR_CLOSING ||
           (err == PAWL_ERR_SESSION_EXPIRED && r->e->core->options.one_session);
}

uint64_t recipe_thread(void)
{
    static _Atomic uint64_t last;
    static _Thread_local uint64_t own;

    if (own == 0) {
        own = atomic_fetch_add(&last, 1) + 1;
    }
    return own;
}

char *recipe_join(const char *parent, const char *name)
{
    size_t len = strcmp(parent, "/") == 0 ? 0 : strlen(parent), more = strlen(name);
    char *path = malloc(len + more + 2);

    if (path != NULL) {
        memcpy(path, parent, len);
        path[len] = '/';
        memcpy(path + len + 1, name, more + 1);
    }
    return path;
}

char *recipe_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);

    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}
