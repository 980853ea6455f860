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
#include "recipes/core/ask.h"
#include "recipes/core/link_trouble.h"
#include "recipes/queue/queue_names.h"

#define SIMPLE_PREFIX "qn-"

struct pawl_simple_queue {
    struct recipe r;
    char *base, *stem;
    struct list takes; /* struct ask: that have not ended */
};

/* One call of take or peek. */
struct take {
    struct ask ask; /* holds a reference for each answer to come, and for the watch */
    struct pawl_simple_queue *q;
    bool peeks, waits, taking;
    bool emptied; /* nothing was found at first: now with a watch */
    bool idle;    /* nothing to do until the watch fires */
    struct step_watch watch;
    struct queue_entry *entries;
    size_t n_entries, next;
    char *path;
    struct strbuf data;
    pawl_take_fn done;
    void *arg;
};

static void take_list_names(struct take *t);
static void read_next(struct take *t);

/* ---- life of a take ---- */

static struct take *take_of(struct ask *a)
{
    return container_of(a, struct take, ask);
}

static void drop_take(struct ask *a)
{
    struct take *t = take_of(a);

    queue_entries_free(t->entries, t->n_entries);
    strbuf_fini(&t->data);
    free(t->path);
}

static void tell_take(struct ask *a)
{
    struct take *t = take_of(a);
    struct pawl_bytes data = {a->err == 0 ? t->data.data : NULL, a->err == 0 ? t->data.len : 0};

    t->done(t->q, a->err, data, t->arg);
}

static void take_unwatch(struct take *t)
{
    recipe_unwatch(&t->q->r, &t->watch, t->q->base, PAWL_WATCHES_CHILDREN);
}

static void take_end(struct take *t, int err)
{
    take_unwatch(t);
    ask_end(&t->ask, err);
}

static void take_deleted(const struct pawl_reply *reply, void *take);

/* Nobody is kept waiting for long for the answer to a delete. Whether the item is gone is not known
 * then, and that is what is reported; should the answer come and tell that it is, it is put back.
 */
static void give_up_take(struct ask *a, int err)
{
    struct take *t = take_of(a);
    bool in_doubt = t->taking && step_withdraw(a->r->e, take_deleted, t);

    if (!in_doubt) {
        take_end(t, err);
    } else if (!ask_grace(a, err)) {
        take_end(t, err == PAWL_ERR_OPERATION_TIMEOUT ? PAWL_ERR_CONNECTION_LOSS : err);
    }
}

/* ---- taking ---- */

static void nobody_wants_it(struct take *t)
{
    pawl_create_async(t->q->r.client,
                      PAWL_CREATE(.path = t->q->stem, .mode = PAWL_MODE_SEQUENTIAL,
                                  .data = {t->data.data, t->data.len},
                                  .flags = PAWL_OP_CONTAINER_PARENTS),
                      NULL, NULL);
}

static void somebody_else_took_it(struct take *t)
{
    if (t->ask.graced) {
        take_end(t, PAWL_ERR_OPERATION_TIMEOUT);
    } else {
        read_next(t);
    }
}

static void take_deleted(const struct pawl_reply *reply, void *take)
{
    struct take *t = take;

    t->taking = false;
    if (recipe_was_done(reply) && t->ask.ended) {
        nobody_wants_it(t);
    } else if (!t->ask.ended && reply->err == PAWL_ERR_NO_NODE) {
        ASSERT(reply->outcome == PAWL_OUTCOME_REFUSED); /* it is never repeated in doubt */
        somebody_else_took_it(t);
    } else {
        take_end(t, recipe_was_done(reply) ? 0 : reply->err);
    }
    ask_unref(&t->ask);
}

static void read_done(const struct pawl_reply *reply, void *take)
{
    struct take *t = take;
    int rc = reply->err;

    if (!t->ask.ended && rc == PAWL_ERR_NO_NODE) {
        read_next(t);
    } else if (!t->ask.ended) {
        strbuf_clear(&t->data);
        strbuf_append(&t->data, reply->data.data, reply->data.len);
        strbuf_cstr(&t->data);
        rc = rc == 0 && (t->data.failed || t->data.data == NULL) ? PAWL_ERR_NO_MEMORY : rc;
        if (rc == 0 && !t->peeks) {
            rc = pawl_delete_async(t->q->r.client, PAWL_DELETE(.path = t->path), take_deleted, t);
            t->taking = rc == 0;
        }
        if (t->taking) {
            ask_ref(&t->ask);
        } else {
            take_end(t, rc);
        }
    }
    ask_unref(&t->ask);
}

static void none_left(struct take *t)
{
    if (!t->waits) {
        take_end(t, PAWL_ERR_OPERATION_TIMEOUT);
    } else if (step_watch_is_set(&t->watch)) {
        t->idle = true;
    } else {
        t->emptied = true;
        take_list_names(t);
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
        take_end(t, rc);
    } else {
        ask_ref(&t->ask);
    }
}

/* ---- the listing ---- */

static void take_folder_made(const struct pawl_reply *reply, void *take)
{
    struct take *t = take;
    int err = reply->err;

    if (!t->ask.ended) {
        if (err == 0 || err == PAWL_ERR_NODE_EXISTS || is_link_trouble(err)) {
            take_list_names(t);
        } else {
            take_end(t, err);
        }
    }
    ask_unref(&t->ask);
}

/* The server removes a container that has become empty: who waits makes it again. */
static void take_make_folder(struct take *t)
{
    int rc = pawl_create_async(t->q->r.client,
                               PAWL_CREATE(.path = t->q->base, .data = {"", 0},
                                           .mode = PAWL_MODE_CONTAINER,
                                           .flags = PAWL_OP_CONTAINER_PARENTS),
                               take_folder_made, t);

    if (rc != 0) {
        take_end(t, rc);
    } else {
        ask_ref(&t->ask);
    }
}

static void take_folder_event(const struct pawl_event *event, void *take)
{
    struct take *t = take;

    (void)event;
    if (!t->ask.ended && t->idle) {
        t->idle = false;
        take_list_names(t);
    }
}

static void take_names(struct take *t, const struct pawl_strings *names)
{
    int rc;

    queue_entries_free(t->entries, t->n_entries);
    t->entries = NULL;
    t->n_entries = t->next = 0;
    rc = queue_entries_new(SIMPLE_PREFIX, PAWL_QUEUE_PLAIN, names, &t->entries, &t->n_entries);
    if (rc == 0) {
        read_next(t);
    } else {
        take_end(t, rc);
    }
}

static void take_listed(const struct pawl_reply *reply, void *take)
{
    struct take *t = take;

    if (t->ask.ended) {
        take_unwatch(t);
    } else if (reply->err == 0) {
        take_names(t, &reply->children);
    } else if (reply->err == PAWL_ERR_NO_NODE && t->waits) {
        take_make_folder(t);
    } else {
        take_end(t, reply->err == PAWL_ERR_NO_NODE ? PAWL_ERR_OPERATION_TIMEOUT : reply->err);
    }
    ask_unref(&t->ask);
}

static void take_list_names(struct take *t)
{
    bool with_watch = t->waits && t->emptied;
    int rc = pawl_children_async(t->q->r.client, t->q->base, with_watch ? &t->watch.ask : NULL,
                                 take_listed, t);

    if (rc != 0) {
        take_end(t, rc);
    } else {
        ask_ref(&t->ask);
    }
}

/* ---- calls ---- */

static void take_watch_ref(void *take)
{
    ask_ref(&((struct take *)take)->ask);
}

static void take_watch_unref(void *take)
{
    ask_unref(&((struct take *)take)->ask);
}

/* As many as are asked for at the same time: each looks for itself. */
static int start_take(struct ask *a)
{
    struct take *t = take_of(a);

    t->waits = !a->is_try;
    list_push_back(&t->q->takes, &a->link);
    take_list_names(t);
    return 0;
}

static struct ask *new_take(struct pawl_simple_queue *q, bool peeks, pawl_take_fn done, void *arg)
{
    struct take *t = ask_new(sizeof(*t), start_take);

    if (t == NULL) {
        return NULL;
    }
    t->q = q;
    t->peeks = peeks;
    t->done = done;
    t->arg = arg;
    t->ask.tell = done == NULL ? NULL : tell_take;
    t->ask.is_change = true; /* an item that was taken has nobody else */
    t->ask.give_up = give_up_take;
    t->ask.drop = drop_take;
    strbuf_init(&t->data, STRBUF_NO_LIMIT);
    step_watch_init(&t->watch, take_folder_event, t, take_watch_ref, take_watch_unref, t);
    return &t->ask;
}

struct taken_data {
    void **data;
    size_t *len;
};

/* It is the caller's now. */
static void hand_data_over(struct ask *a, void *out)
{
    struct taken_data *x = out;
    struct take *t = take_of(a);

    if (a->err == 0) {
        *x->len = t->data.len;
        *x->data = t->data.data;
        strbuf_init(&t->data, 0);
    }
}

static int take_blocking(struct pawl_simple_queue *q, bool peeks, int timeout_ms, void **data,
                         size_t *len)
{
    struct taken_data out = {data, len};

    if (q == NULL || data == NULL || len == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *data = NULL;
    *len = 0;
    return ask_block(&q->r, new_take(q, peeks, NULL, NULL), timeout_ms, hand_data_over, &out);
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
    return q == NULL || done == NULL ? PAWL_ERR_BAD_ARGUMENTS
                                     : ask_post(&q->r, new_take(q, false, done, arg), timeout_ms);
}

int pawl_simple_queue_offer(struct pawl_simple_queue *q, struct pawl_bytes data)
{
    if (q == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return pawl_create(q->r.client,
                       PAWL_CREATE(.path = q->stem, .mode = PAWL_MODE_SEQUENTIAL, .data = data,
                                   .flags = PAWL_OP_CONTAINER_PARENTS,
                                   .timeout_ms = q->r.timeout_ms),
                       NULL);
}

/* ---- life ---- */

static void simple_queue_destroy(struct recipe *r)
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

    if (out != NULL) {
        *out = NULL;
    }
    if (c == NULL || out == NULL || !prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    q = calloc(1, sizeof(*q));
    rc = q == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&q->r, c, simple_queue_destroy);
    if (rc != 0) {
        free(q);
        return rc;
    }
    list_init(&q->takes);
    q->base = recipe_copy(path);
    q->stem = recipe_join(path, SIMPLE_PREFIX);
    if (q->base == NULL || q->stem == NULL) {
        simple_queue_destroy(&q->r);
        return PAWL_ERR_NO_MEMORY;
    }
    *out = q;
    return 0;
}

static void simple_queue_shut(struct recipe *r)
{
    struct pawl_simple_queue *q = container_of(r, struct pawl_simple_queue, r);

    while (!list_empty(&q->takes)) {
        take_end(take_of(container_of(q->takes.next, struct ask, link)), PAWL_ERR_CANCELLED);
    }
}

void pawl_simple_queue_free(struct pawl_simple_queue *q)
{
    recipe_free(q == NULL ? NULL : &q->r, simple_queue_shut);
}
