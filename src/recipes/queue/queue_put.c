/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/prepare.h"
#include "client/take.h"
#include "recipes/core/ask.h"
#include "recipes/queue/queue.h"
#include "recipes/queue/queue_items.h"

/* It is in `waiting` or `sent` until the server has answered, also if nobody waits for it any more,
 * with a reference for that. */
struct put {
    struct ask ask;
    struct list link;
    struct pawl_queue *q;
    uint64_t number;
    bool sent;
    char *path; /* without its number; then the new node's, or NULL */
    struct strbuf data;
    pawl_put_fn done;
    void *arg;
    struct note on_put; /* holds a reference */
};

struct flush {
    struct ask ask;  /* in pawl_queue.flushes */
    uint64_t number; /* of the last put that it waits for */
    size_t left;
};

static struct put *put_of(struct ask *a)
{
    return container_of(a, struct put, ask);
}

static void drop_put(struct ask *a)
{
    struct put *p = put_of(a);

    free(p->path);
    strbuf_fini(&p->data);
}

/* ---- the end of a put ---- */

static void tell_put(struct ask *a)
{
    struct put *p = put_of(a);

    p->done(p->q, a->err, a->err == 0 ? p->path : NULL, p->arg);
}

static void run_on_put(void *put)
{
    struct put *p = put;
    struct pawl_queue *q = p->q;

    recipe_note_begin(&q->r);
    if (!q->r.freed) {
        recipe_calling(&q->r);
        q->o.on_put(q, 0, p->path, q->o.on_put_arg);
        recipe_called(&q->r);
    }
    ask_unref(&p->ask);
    recipe_note_end(&q->r);
}

static void end_flushes(struct pawl_queue *q, uint64_t number)
{
    struct list *item, *next;

    for (item = q->flushes.next; item != &q->flushes; item = next) {
        struct flush *f = container_of(container_of(item, struct ask, link), struct flush, ask);

        next = item->next;
        if (number <= f->number && --f->left == 0) {
            ask_end(&f->ask, 0);
        }
    }
}

static void unlist(struct put *p)
{
    size_t *n = p->sent ? &p->q->n_sent : &p->q->n_waiting;

    list_remove(&p->link);
    (*n)--;
}

/* `path` may be NULL: the put failed. The listener is told before `done` is. */
static void end_put(struct put *p, int err, const char *path)
{
    struct pawl_queue *q = p->q;

    unlist(p);
    free(p->path);
    p->path = path == NULL ? NULL : recipe_copy(path);
    end_flushes(q, p->number);
    if (err == 0 && q->o.on_put != NULL && !q->r.e->stop) {
        ask_ref(&p->ask);
        recipe_post(&q->r, &p->on_put);
    }
    ask_end(&p->ask, err);
    ask_unref(&p->ask);
}

/* Waiting for room it has not been sent, and never will be. */
static void give_up_put(struct ask *a, int err)
{
    struct put *p = put_of(a);

    if (p->sent) {
        ask_end(a, err);
    } else {
        end_put(p, err, NULL);
    }
}

void puts_cancel(struct pawl_queue *q, int err)
{
    while (!list_empty(&q->waiting)) {
        end_put(container_of(q->waiting.next, struct put, link), err, NULL);
    }
}

/* ---- sending ---- */

static void wait_again(struct put *p)
{
    struct pawl_queue *q = p->q;

    struct list *behind;

    unlist(p);
    p->sent = false;
    list_for_each (behind, &q->waiting) {
        if (container_of(behind, struct put, link)->number > p->number) {
            break;
        }
    }
    list_push_back(behind, &p->link); /* before it: they stay in order */
    q->n_waiting++;
}

static void answered(const struct pawl_reply *reply, void *put)
{
    struct put *p = put;
    struct pawl_queue *q = p->q;

    if (reply->err == PAWL_ERR_NO_NODE && !q->r.freed) {
        wait_again(p); /* somebody has deleted the folder */
        queue_make(q);
    } else {
        q->n_children += recipe_was_done(reply);
        end_put(p, recipe_was_done(reply) ? 0 : reply->err, reply->path);
        queue_next(q);
    }
    recipe_unref(&q->r);
}

static void send(struct put *p)
{
    struct pawl_queue *q = p->q;
    int rc = pawl_create_async(q->r.client,
                               PAWL_CREATE(.path = p->path, .mode = PAWL_MODE_SEQUENTIAL,
                                           .data = {p->data.data, p->data.len}),
                               answered, p);

    if (rc != 0) {
        end_put(p, rc, NULL);
        return;
    }
    unlist(p);
    p->sent = true;
    list_push_back(&q->sent, &p->link);
    q->n_sent++;
    recipe_ref(&q->r);
}

/* There is no room: those who do not wait for it. */
static void end_tries(struct pawl_queue *q)
{
    struct list *item, *next;

    for (item = q->waiting.next; item != &q->waiting; item = next) {
        struct put *p = container_of(item, struct put, link);

        next = item->next;
        if (p->ask.is_try) {
            end_put(p, PAWL_ERR_OPERATION_TIMEOUT, NULL);
        }
    }
}

void puts_send(struct pawl_queue *q)
{
    size_t room = (size_t)q->o.max_items;

    while (!list_empty(&q->waiting)) {
        if (room > 0 && !q->listed) {
            return;
        }
        if (room > 0 && q->n_children + q->n_sent >= room) {
            end_tries(q);
            return;
        }
        send(container_of(q->waiting.next, struct put, link));
    }
}

/* ---- putting ---- */

static bool queue_is_put(const struct pawl_put *put)
{
    bool good = take_is_data(put->item) && (put->items != NULL || put->n_items == 0);

    for (size_t i = 0; good && i < put->n_items; i++) {
        good = take_is_data(put->items[i]);
    }
    return good;
}

static int fill_put(struct put *p, const struct pawl_put *given)
{
    struct pawl_put put;
    struct strbuf name;
    int rc;

    if (given == NULL || !take_is_good(given)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    take_struct(&put, sizeof(put), given);
    if (!queue_is_put(&put)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (put.due_ms == 0) {
        put.due_ms = machine_wall_ms();
    }
    strbuf_init(&name, STRBUF_NO_LIMIT);
    rc = queue_name_write(&name, p->q->o.kind, &put);
    if (rc == 0 && !name.failed) {
        p->path = recipe_join(p->q->base, strbuf_cstr(&name));
    }
    strbuf_fini(&name);
    queue_items_write(&p->data, put.items != NULL ? put.items : &put.item,
                      put.items != NULL ? put.n_items : 1);
    if (rc == 0 && (p->path == NULL || p->data.failed)) {
        rc = PAWL_ERR_NO_MEMORY;
    }
    return rc != 0 || prepare_is_good_path(p->path, true) ? rc : PAWL_ERR_BAD_ARGUMENTS;
}

static int start_put(struct ask *a)
{
    struct put *p = put_of(a);

    p->number = ++p->q->n_puts;
    list_push_back(&p->q->waiting, &p->link);
    p->q->n_waiting++;
    ask_ref(a);
    queue_next(p->q);
    return 0;
}

static int new_put(struct pawl_queue *q, const struct pawl_put *given, pawl_put_fn done, void *arg,
                   struct ask **out)
{
    struct put *p;
    int rc;

    if (q == NULL || given == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    p = ask_new(sizeof(*p), start_put);
    if (p == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    p->q = q;
    p->done = done;
    p->arg = arg;
    p->ask.tell = done == NULL ? NULL : tell_put;
    p->ask.is_change = true;
    p->ask.give_up = give_up_put;
    p->ask.drop = drop_put;
    list_init(&p->link);
    strbuf_init(&p->data, STRBUF_NO_LIMIT);
    note_init(&p->on_put, run_on_put, p);
    rc = fill_put(p, given);
    if (rc != 0) {
        ask_unref(&p->ask);
        return rc;
    }
    *out = &p->ask;
    return 0;
}

int pawl_queue_put_async(struct pawl_queue *q, const struct pawl_put *put, pawl_put_fn done,
                         void *arg)
{
    struct ask *a;
    int rc = new_put(q, put, done, arg, &a);

    return rc != 0 ? rc : ask_post(&q->r, a, -1);
}

int pawl_queue_put(struct pawl_queue *q, const struct pawl_put *put, int timeout_ms)
{
    struct ask *a;
    int rc = new_put(q, put, NULL, NULL, &a);

    return rc != 0 ? rc : ask_block(&q->r, a, timeout_ms, NULL, NULL);
}

static int start_flush(struct ask *a)
{
    struct flush *f = container_of(a, struct flush, ask);
    struct pawl_queue *q = container_of(a->r, struct pawl_queue, r);

    f->left = q->n_waiting + q->n_sent;
    f->number = q->n_puts;
    if (f->left == 0) {
        ask_end(a, 0);
    } else if (a->is_try) {
        ask_end(a, PAWL_ERR_OPERATION_TIMEOUT);
    } else {
        list_push_back(&q->flushes, &a->link);
    }
    return 0;
}

int pawl_queue_flush(struct pawl_queue *q, int timeout_ms)
{
    struct flush f;

    return ask_only_wait(q == NULL ? NULL : &q->r, &f.ask, start_flush, timeout_ms);
}

/* ---- removing ---- */

/* Under a lock, in one piece: whatever becomes of the answer, no lock is left that would keep
 * consumers away. */
static int remove_node(struct pawl_client *c, const struct pawl_queue *q, const char *name)
{
    char *path = recipe_join(q->base, name);
    char *lock = q->lock_base == NULL ? NULL : recipe_join(q->lock_base, name);
    struct pawl_multi *m;
    int rc = path == NULL || (q->lock_base != NULL && lock == NULL) ? PAWL_ERR_NO_MEMORY : 0;

    m = rc == 0 ? pawl_multi_new(c) : NULL;
    if (m == NULL) {
        rc = PAWL_ERR_NO_MEMORY;
    } else {
        if (lock != NULL) {
            pawl_multi_create(m, PAWL_CREATE(.path = lock, .mode = PAWL_MODE_EPHEMERAL,
                                             .data = {q->owner, strlen(q->owner)}));
        }
        pawl_multi_delete(m, PAWL_DELETE(.path = path));
        if (lock != NULL) {
            pawl_multi_delete(m, PAWL_DELETE(.path = lock));
        }
        rc = pawl_multi_run(c, m, NULL);
        pawl_multi_free(m);
    }
    free(path);
    free(lock);
    return rc;
}

static int remove_all(struct pawl_client *c, const struct pawl_queue *q, const char *id,
                      int *n_removed)
{
    struct pawl_reply *reply = NULL;
    int rc = pawl_children(c, q->base, NULL, &reply);

    for (size_t i = 0; rc == 0 && i < reply->children.n; i++) {
        if (queue_name_has_id(reply->children.items[i], id)) {
            rc = remove_node(c, q, reply->children.items[i]);
            *n_removed += rc == 0;
            /* consumed, or about to be */
            rc = rc == PAWL_ERR_NO_NODE || rc == PAWL_ERR_NODE_EXISTS ? 0 : rc;
        }
    }
    pawl_reply_free(reply);
    return rc == PAWL_ERR_NO_NODE ? 0 : rc;
}

int pawl_queue_remove(struct pawl_queue *q, const char *id, int timeout_ms, int *n_removed)
{
    struct pawl_view_options o = {.size = sizeof(o), .timeout_ms = timeout_ms};
    struct pawl_client *view;
    int n = 0, rc;

    if (q == NULL || id == NULL || q->o.kind != PAWL_QUEUE_ID) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (timeout_ms == 0) {
        o.timeout_ms = q->r.timeout_ms;
    }
    rc = pawl_client_view(q->r.client, &o, &view);
    if (rc != 0) {
        return rc;
    }
    rc = remove_all(view, q, id, &n);
    pawl_client_close(view);
    if (n_removed != NULL) {
        *n_removed = n;
    }
    return rc;
}
