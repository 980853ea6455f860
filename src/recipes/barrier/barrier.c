/* SPDX-License-Identifier: Apache-2.0 */
#include "pawl/barrier.h"

#include <stdlib.h>

#include "client/beacon.h"
#include "client/prepare.h"
#include "recipes/core/ask.h"

/*           one waits           it is up              all have gone
 *   IDLE ------------> ASKING -----------> WATCHING -----------------> UNWATCHING
 *    ^                   | ^                  |                             |
 *    +--- it is down ----+ +----- event ------+        (a new one waits: ASKING again, or IDLE)
 */
struct pawl_barrier {
    struct recipe r;
    char *path;
    char data[IDENTITY_BYTES];
    struct list waits; /* struct call_ask */
    uint64_t n_looks;  /* sent so far */
    struct step_watch watch;
    bool asking, unwatching;
};

struct call_ask {
    struct ask ask;
    uint64_t look; /* the first that counts for it: one that was sent before it came is too old */
    pawl_barrier_fn done;
    void *arg;
};

static struct pawl_barrier *barrier_of(const struct ask *a)
{
    return container_of(a->r, struct pawl_barrier, r);
}

static void barrier_tell(struct ask *ask)
{
    struct call_ask *a = container_of(ask, struct call_ask, ask);

    a->done(barrier_of(ask), ask->err, a->arg);
}

static struct ask *barrier_new_ask(int (*start)(struct ask *a), pawl_barrier_fn done, void *arg)
{
    struct call_ask *a = ask_new(sizeof(*a), start);

    if (a == NULL) {
        return NULL;
    }
    a->done = done;
    a->arg = arg;
    a->ask.tell = done == NULL ? NULL : barrier_tell;
    return &a->ask;
}

/* ---- waiting ---- */

static void barrier_unwatched(const struct pawl_reply *reply, void *barrier);

static void stop_watching(struct pawl_barrier *b)
{
    if (!step_watch_is_set(&b->watch) || b->unwatching || !list_empty(&b->waits)) {
        return;
    }
    if (pawl_unwatch_async(b->r.client, b->path, PAWL_WATCHES_DATA | PAWL_WATCHES_LOCAL,
                           &b->watch.ask, barrier_unwatched, b) == 0) {
        b->unwatching = true;
        recipe_ref(&b->r);
    }
}

static void barrier_looked(const struct pawl_reply *reply, void *barrier);

static uint64_t look_of(const struct ask *a)
{
    return container_of(a, struct call_ask, ask)->look;
}

/* Who only looks wants to know how it is now; who waits is told by the watch. */
static bool barrier_needs_look(const struct pawl_barrier *b)
{
    struct list *item;

    list_for_each (item, &b->waits) {
        if (!step_watch_is_set(&b->watch) || container_of(item, struct ask, link)->is_try) {
            return true;
        }
    }
    return false;
}

/* With get and not with exists: that would leave a watch behind when the node is gone. */
static void barrier_look(struct pawl_barrier *b)
{
    int rc;

    if (b->asking || b->unwatching || !barrier_needs_look(b)) {
        return;
    }
    rc = pawl_get_async(b->r.client, b->path, step_watch_is_set(&b->watch) ? NULL : &b->watch.ask,
                        barrier_looked, b);
    if (rc != 0) {
        ask_end_all(&b->waits, rc);
        return;
    }
    b->n_looks++;
    b->asking = true;
    recipe_ref(&b->r);
}

/* By the look that was just answered. */
static void end_waits(struct pawl_barrier *b, bool only_tries, int err)
{
    struct list *item, *next;

    for (item = b->waits.next; item != &b->waits; item = next) {
        struct ask *a = container_of(item, struct ask, link);

        next = item->next;
        if (look_of(a) <= b->n_looks && (a->is_try || !only_tries)) {
            ask_end(a, err);
        }
    }
}

static void barrier_looked(const struct pawl_reply *reply, void *barrier)
{
    struct pawl_barrier *b = barrier;

    b->asking = false;
    if (recipe_was_done(reply)) { /* whatever its data are */
        end_waits(b, true, PAWL_ERR_OPERATION_TIMEOUT);
    } else {
        end_waits(b, false, reply->err == PAWL_ERR_NO_NODE ? 0 : reply->err);
    }
    stop_watching(b);
    barrier_look(b);
    recipe_unref(&b->r);
}

/* Whatever it says, only a look tells whether it is up: also when the session has ended. */
static void event(const struct pawl_event *event, void *barrier)
{
    struct pawl_barrier *b = barrier;

    (void)event;
    barrier_look(b);
}

static void barrier_unwatched(const struct pawl_reply *reply, void *barrier)
{
    struct pawl_barrier *b = barrier;

    (void)reply;
    b->unwatching = false;
    barrier_look(b);
    recipe_unref(&b->r);
}

static void give_up_wait(struct ask *a, int err)
{
    struct pawl_barrier *b = barrier_of(a);

    ask_end(a, err);
    stop_watching(b);
}

static int barrier_start_wait(struct ask *a)
{
    struct pawl_barrier *b = barrier_of(a);

    a->give_up = give_up_wait;
    container_of(a, struct call_ask, ask)->look = b->n_looks + 1;
    list_push_back(&b->waits, &a->link);
    barrier_look(b);
    return 0;
}

int pawl_barrier_wait(struct pawl_barrier *b, int timeout_ms)
{
    return ask_block(b == NULL ? NULL : &b->r, barrier_new_ask(barrier_start_wait, NULL, NULL),
                     timeout_ms, NULL, NULL);
}

int pawl_barrier_wait_async(struct pawl_barrier *b, int timeout_ms, pawl_barrier_fn done, void *arg)
{
    if (b == NULL || done == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return ask_post(&b->r, barrier_new_ask(barrier_start_wait, done, arg), timeout_ms);
}

/* ---- raising and lifting ---- */

static void done(const struct pawl_reply *reply, void *ask)
{
    struct ask *a = ask;

    ask_end(a, reply->err == PAWL_ERR_NODE_EXISTS || reply->outcome == PAWL_OUTCOME_DONE
                   ? 0
                   : reply->err);
    ask_unref(a);
}

static int start_raise(struct ask *a)
{
    struct pawl_barrier *b = barrier_of(a);
    int rc = pawl_create_async(b->r.client,
                               PAWL_CREATE(.path = b->path, .data = {b->data, strlen(b->data)},
                                           .flags = PAWL_OP_CONTAINER_PARENTS | PAWL_OP_IDEMPOTENT,
                                           .timeout_ms = ask_left_ms(a)),
                               done, a);

    if (rc == 0) {
        ask_ref(a);
    }
    return rc;
}

static int start_lift(struct ask *a)
{
    struct pawl_barrier *b = barrier_of(a);
    int rc = pawl_delete_async(
        b->r.client,
        PAWL_DELETE(.path = b->path, .flags = PAWL_OP_IDEMPOTENT, .timeout_ms = ask_left_ms(a)),
        done, a);

    if (rc == 0) {
        ask_ref(a);
    }
    return rc;
}

static int barrier_run_now(struct pawl_barrier *b, int (*start)(struct ask *a))
{
    if (b == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return ask_block(&b->r, barrier_new_ask(start, NULL, NULL), b->r.timeout_ms, NULL, NULL);
}

static int barrier_run_later(struct pawl_barrier *b, int (*start)(struct ask *a),
                             pawl_barrier_fn fn, void *arg)
{
    if (b == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return ask_post(&b->r, barrier_new_ask(start, fn, arg), b->r.timeout_ms);
}

int pawl_barrier_raise(struct pawl_barrier *b)
{
    return barrier_run_now(b, start_raise);
}

int pawl_barrier_raise_async(struct pawl_barrier *b, pawl_barrier_fn fn, void *arg)
{
    return barrier_run_later(b, start_raise, fn, arg);
}

int pawl_barrier_lift(struct pawl_barrier *b)
{
    return barrier_run_now(b, start_lift);
}

int pawl_barrier_lift_async(struct pawl_barrier *b, pawl_barrier_fn fn, void *arg)
{
    return barrier_run_later(b, start_lift, fn, arg);
}

/* ---- life ---- */

static void barrier_destroy(struct recipe *r)
{
    struct pawl_barrier *b = container_of(r, struct pawl_barrier, r);

    recipe_fini(r);
    free(b->path);
    free(b);
}

int pawl_barrier_new(struct pawl_client *c, const char *path, struct pawl_barrier **out)
{
    struct pawl_barrier *b;
    struct recipe *r;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (c == NULL || out == NULL || !prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = recipe_new(sizeof(*b), c, barrier_destroy, &r);
    if (rc != 0) {
        return rc;
    }
    b = container_of(r, struct pawl_barrier, r);
    list_init(&b->waits);
    recipe_watch_init(&b->r, &b->watch, event, b);
    identity_text(b->data, sizeof(b->data));
    b->path = recipe_copy(path);
    if (b->path == NULL) {
        barrier_destroy(r);
        return PAWL_ERR_NO_MEMORY;
    }
    *out = b;
    return 0;
}

static void barrier_shut(struct recipe *r)
{
    struct pawl_barrier *b = container_of(r, struct pawl_barrier, r);

    ask_end_all(&b->waits, PAWL_ERR_CANCELLED);
    stop_watching(b);
}

void pawl_barrier_free(struct pawl_barrier *b)
{
    recipe_free(b == NULL ? NULL : &b->r, barrier_shut);
}
