/* SPDX-License-Identifier: Apache-2.0 */
/* simple_queue.c - Curator's SimpleDistributedQueue.
 *
 *   LISTING --names--> READING <--gone--> (next name) ... --> none left: WAITING for the watch
 *      ^                  |                                         |
 *      |                  v                                         |
 *      +-- MAKING      TAKING --> ended                             |
 *      +------------------------------------------------------------+ */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/prepare.h"
#include "recipes/core/link_trouble.h"
#include "recipes/core/recipe.h"
#include "recipes/queue/queue_names.h"

#define SIMPLE_PREFIX "qn-"

struct pawl_simple_queue {
    struct recipe r;
    char *base, *stem;
    struct list takes; /* struct take: that have not ended */
};

/* One call of take or peek. */
struct take {
    struct list link;
    struct pawl_simple_queue *q; /* a reference */
    int refs;                    /* the list's, and one for each answer and event to come */
    bool peeks, waits, taking, ended;
    bool emptied;    /* nothing was found at first: now with a watch */
    bool with_watch; /* the listing on its way sets one */
    bool watching;
    bool idle; /* nothing to do until the watch fires */
    struct queue_entry *entries;
    size_t n_entries, next;
    char *path;
    struct strbuf data;
    int err;
    struct timer timer;
    struct waiter *waiter; /* NULL: nobody */
    pawl_take_fn done;
    void *arg;
    struct note note;
};

static void list_it(struct take *t);
static void read_next(struct take *t);

/* ---- life of a take ---- */

/* Not inlined: gcc 12 then warns of a use after free() where a reference is left. */
__attribute__((noinline)) static void take_unref(struct take *t)
{
    struct pawl_simple_queue *q = t->q;

    if (--t->refs > 0) {
        return;
    }
    queue_entries_free(t->entries, t->n_entries);
    strbuf_fini(&t->data);
    free(t->path);
    free(t);
    recipe_unref(&q->r);
}

static void tell(void *take)
{
    struct take *t = take;
    struct recipe *r = &t->q->r;
    struct pawl_bytes data = {t->err == 0 ? t->data.data : NULL, t->err == 0 ? t->data.len : 0};

    recipe_note_begin(r);
    recipe_ref(r);
    recipe_calling(r);
    t->done(t->q, t->err, data, t->arg);
    recipe_called(r);
    take_unref(t);
    recipe_note_end(r);
}

static void folder_event(const struct pawl_event *event, void *take);

static void unwatch(struct take *t)
{
    struct pawl_watch watch = {.fn = folder_event, .arg = t};

    pawl_unwatch_async(t->q->r.client, t->q->base, PAWL_WATCHES_CHILDREN | PAWL_WATCHES_LOCAL,
                       &watch, NULL, NULL);
}

/* The list's reference goes to the note, or to the caller who is blocked. */
static void end(struct take *t, int err)
{
    if (t->ended) {
        return;
    }
    t->ended = true;
    t->err = err;
    list_remove(&t->link);
    timer_clear(t->q->r.e, &t->timer);
    if (t->watching) {
        unwatch(t);
    }
    if (t->waiter != NULL) {
        waiter_finish(t->q->r.e, t->waiter);
    } else if (t->q->r.e->stop) {
        take_unref(t); /* nobody is left to be told */
    } else {
        note_post(t->q->r.e, &t->note);
    }
}

/* While an item is being deleted its answer is waited for, so that it is not lost. */
static void too_late(void *take)
{
    struct take *t = take;

    t->waits = false;
    if (!t->taking) {
        end(t, PAWL_ERR_OPERATION_TIMEOUT);
    }
}

/* ---- taking ---- */

static void nobody_wants_it(struct take *t)
{
    pawl_create_async(t->q->r.client,
                      PAWL_CREATE(.path = t->q->stem, .mode = PAWL_SEQUENTIAL,
                                  .data = {t->data.data, t->data.len},
                                  .flags = PAWL_CONTAINER_PARENTS),
                      NULL, NULL);
}

static void taken(const struct pawl_reply *reply, void *take)
{
    struct take *t = take;

    t->taking = false;
    if (recipe_was_done(reply) && t->ended) {
        nobody_wants_it(t);
    } else if (!t->ended && reply->err == PAWL_ERR_NO_NODE) {
        read_next(t);
    } else {
        end(t, recipe_was_done(reply) ? 0 : reply->err);
    }
    take_unref(t);
}

static void read_done(const struct pawl_reply *reply, void *take)
{
    struct take *t = take;
    int rc = reply->err;

    if (!t->ended && rc == PAWL_ERR_NO_NODE) {
        read_next(t);
    } else if (!t->ended) {
        strbuf_clear(&t->data);
        strbuf_append(&t->data, reply->data.data, reply->data.len);
        strbuf_cstr(&t->data);
        rc = rc == 0 && (t->data.failed || t->data.data == NULL) ? PAWL_ERR_NO_MEMORY : rc;
        if (rc == 0 && !t->peeks) {
            rc = pawl_delete_async(t->q->r.client, PAWL_DELETE(.path = t->path), taken, t);
            t->taking = rc == 0;
            t->refs += rc == 0;
        }
        if (!t->taking) {
            end(t, rc);
        }
    }
    take_unref(t);
}

static void none_left(struct take *t)
{
    if (!t->waits) {
        end(t, PAWL_ERR_OPERATION_TIMEOUT);
    } else if (t->watching) {
        t->idle = true;
    } else {
        t->emptied = true;
        list_it(t);
    }
}

static void read_next(struct take *t)
{
    int rc = PAWL_ERR_NO_MEMORY;

    if (t->next == t->n_entries) {
        none_left(t);
        return;
    }
    free(t->path);
    t->path = recipe_join(t->q->base, t->entries[t->next++].name);
    if (t->path != NULL) {
        rc = pawl_get_async(t->q->r.client, t->path, NULL, read_done, t);
    }
    if (rc != 0) {
        end(t, rc);
    } else {
        t->refs++;
    }
}

/* ---- the listing ---- */

static void made(const struct pawl_reply *reply, void *take)
{
    struct take *t = take;
    int err = reply->err;

    if (!t->ended) {
        if (err == 0 || err == PAWL_ERR_NODE_EXISTS || is_link_trouble(err)) {
            list_it(t);
        } else {
            end(t, err);
        }
    }
    take_unref(t);
}

/* The server removes a container that has become empty: who waits makes it again. */
static void make_folder(struct take *t)
{
    int rc = pawl_create_async(t->q->r.client,
                               PAWL_CREATE(.path = t->q->base, .data = {"", 0},
                                           .mode = PAWL_CONTAINER, .flags = PAWL_CONTAINER_PARENTS),
                               made, t);

    if (rc != 0) {
        end(t, rc);
    } else {
        t->refs++;
    }
}

static void folder_event(const struct pawl_event *event, void *take)
{
    struct take *t = take;

    (void)event;
    t->watching = false;
    if (!t->ended && t->idle) {
        t->idle = false;
        list_it(t);
    }
    take_unref(t);
}

static void take_list(struct take *t, const struct pawl_strings *names)
{
    int rc;

    queue_entries_free(t->entries, t->n_entries);
    t->entries = NULL;
    t->n_entries = t->next = 0;
    rc = queue_entries_new(SIMPLE_PREFIX, PAWL_QUEUE_PLAIN, names, &t->entries, &t->n_entries);
    if (rc == 0) {
        read_next(t);
    } else {
        end(t, rc);
    }
}

static void listed(const struct pawl_reply *reply, void *take)
{
    struct take *t = take;

    if (recipe_was_done(reply) && t->with_watch && !t->watching) {
        t->watching = true;
        t->refs++;
    }
    if (t->ended) {
        if (t->watching) {
            unwatch(t);
        }
    } else if (reply->err == 0) {
        take_list(t, &reply->children);
    } else if (reply->err == PAWL_ERR_NO_NODE && t->waits) {
        make_folder(t);
    } else {
        end(t, reply->err == PAWL_ERR_NO_NODE ? PAWL_ERR_OPERATION_TIMEOUT : reply->err);
    }
    take_unref(t);
}

static void list_it(struct take *t)
{
    struct pawl_watch watch = {.fn = folder_event, .arg = t};
    int rc;

    t->with_watch = t->waits && t->emptied;
    rc = pawl_children_async(t->q->r.client, t->q->base, t->with_watch ? &watch : NULL, listed, t);
    if (rc != 0) {
        end(t, rc);
    } else {
        t->refs++;
    }
}

/* ---- calls ---- */

static struct take *new_take(struct pawl_simple_queue *q, bool peeks, int timeout_ms)
{
    struct take *t = calloc(1, sizeof(*t));

    if (t == NULL) {
        return NULL;
    }
    t->q = q;
    t->refs = 1;
    t->peeks = peeks;
    t->waits = timeout_ms != 0;
    strbuf_init(&t->data, STRBUF_NO_LIMIT);
    note_init(&t->note, tell, t);
    timer_init(&t->timer, too_late, t);
    recipe_ref(&q->r);
    list_push_back(&q->takes, &t->link);
    if (timeout_ms > 0) {
        timer_set(q->r.e, &t->timer, machine_now_ms() + timeout_ms);
    }
    return t;
}

/* What is blocked has the list's reference. */
static int take_blocking(struct pawl_simple_queue *q, bool peeks, int timeout_ms, void **data,
                         size_t *len)
{
    struct engine *e;
    struct waiter w;
    struct take *t;
    int rc = data == NULL || len == NULL ? PAWL_ERR_BAD_ARGUMENTS
                                         : recipe_begin(q == NULL ? NULL : &q->r);

    if (rc != 0) {
        return rc;
    }
    e = q->r.e;
    t = dispatch_would_deadlock(e) ? NULL : new_take(q, peeks, timeout_ms);
    if (t == NULL) {
        rc = dispatch_would_deadlock(e) ? PAWL_ERR_WOULD_DEADLOCK : PAWL_ERR_NO_MEMORY;
        step_end(e);
        return rc;
    }
    waiter_init(&w);
    t->waiter = &w;
    list_it(t);
    if (!t->ended && recipe_wait(&q->r, &w, timeout_ms == 0 ? q->r.timeout_ms : -1) != 0) {
        end(t, PAWL_ERR_OPERATION_TIMEOUT); /* no answer from the server; else its timer ends it */
    }
    waiter_fini(&w);
    rc = t->err;
    if (rc == 0) {
        *len = t->data.len;
        *data = t->data.data;
        strbuf_init(&t->data, 0); /* it is the caller's now */
    }
    take_unref(t);
    step_end(e);
    return rc;
}

int pawl_simple_queue_take(struct pawl_simple_queue *q, int timeout_ms, void **data, size_t *len)
{
    return take_blocking(q, false, timeout_ms, data, len);
}

int pawl_simple_queue_peek(struct pawl_simple_queue *q, void **data, size_t *len)
{
    return take_blocking(q, true, 0, data, len);
}

int pawl_simple_queue_take_async(struct pawl_simple_queue *q, int timeout_ms, pawl_take_fn done,
                                 void *arg)
{
    struct take *t;
    int rc = done == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_begin(q == NULL ? NULL : &q->r);

    if (rc != 0) {
        return rc;
    }
    t = new_take(q, false, timeout_ms);
    if (t == NULL) {
        rc = PAWL_ERR_NO_MEMORY;
    } else {
        t->done = done;
        t->arg = arg;
        list_it(t);
    }
    recipe_end(&q->r);
    return rc;
}

int pawl_simple_queue_offer(struct pawl_simple_queue *q, struct pawl_bytes data)
{
    if (q == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return pawl_create(q->r.client,
                       PAWL_CREATE(.path = q->stem, .mode = PAWL_SEQUENTIAL, .data = data,
                                   .flags = PAWL_CONTAINER_PARENTS, .timeout_ms = q->r.timeout_ms),
                       NULL);
}

/* ---- life ---- */

static void destroy(struct recipe *r)
{
    struct pawl_simple_queue *q = container_of(r, struct pawl_simple_queue, r);

    ASSERT(list_empty(&q->takes));
    recipe_fini(r);
    free(q->base);
    free(q->stem);
    free(q);
}

int pawl_simple_queue_new(struct pawl_client *c, const char *path, struct pawl_simple_queue **out)
{
    struct pawl_simple_queue *q;
    int rc;

    if (c == NULL || out == NULL || !prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    q = calloc(1, sizeof(*q));
    rc = q == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&q->r, c, destroy);
    if (rc != 0) {
        free(q);
        return rc;
    }
    list_init(&q->takes);
    q->base = recipe_copy(path);
    q->stem = recipe_join(path, SIMPLE_PREFIX);
    if (q->base == NULL || q->stem == NULL) {
        destroy(&q->r);
        return PAWL_ERR_NO_MEMORY;
    }
    *out = q;
    return 0;
}

static void shut(struct recipe *r)
{
    struct pawl_simple_queue *q = container_of(r, struct pawl_simple_queue, r);

    while (!list_empty(&q->takes)) {
        end(container_of(q->takes.next, struct take, link), PAWL_ERR_CANCELLED);
    }
}

void pawl_simple_queue_free(struct pawl_simple_queue *q)
{
    recipe_free(q == NULL ? NULL : &q->r, shut);
}
