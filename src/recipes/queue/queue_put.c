/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/prepare.h"
#include "client/take.h"
#include "recipes/queue/queue.h"
#include "recipes/queue/queue_items.h"

/* Somebody who waits for puts, on his stack. */
struct blocked {
    struct waiter waiter;
    int err;
};

struct put {
    struct list link; /* in waiting or sent; in none while its note is to run */
    struct pawl_queue *q;
    uint64_t number;
    bool sent;
    char *path; /* without its number; then the new node's, or NULL */
    struct strbuf data;
    int err;
    struct blocked *blocked; /* NULL: nobody */
    pawl_put_fn done;
    void *arg;
    struct note note;
};

struct flush {
    struct list link;
    struct blocked blocked;
    uint64_t number; /* of the last put that it waits for */
    size_t left;
};

static void free_put(struct put *p)
{
    free(p->path);
    strbuf_fini(&p->data);
    free(p);
}

/* ---- the end of a put ---- */

static void tell(void *put)
{
    struct put *p = put;
    struct pawl_queue *q = p->q;
    const char *path = p->err == 0 ? p->path : NULL;

    recipe_note_begin(&q->r);
    if (p->err == 0 && q->o.on_put != NULL && !q->r.freed) {
        recipe_calling(&q->r);
        q->o.on_put(q, 0, path, q->o.on_put_arg);
        recipe_called(&q->r);
    }
    if (p->done != NULL) {
        recipe_calling(&q->r);
        p->done(q, p->err, path, p->arg);
        recipe_called(&q->r);
    }
    free_put(p);
    recipe_note_end(&q->r);
}

static void end_flushes(struct pawl_queue *q, uint64_t number)
{
    struct list *item, *next;

    for (item = q->flushes.next; item != &q->flushes; item = next) {
        struct flush *f = container_of(item, struct flush, link);

        next = item->next;
        if (number <= f->number && --f->left == 0) {
            list_remove(item);
            waiter_finish(q->r.e, &f->blocked.waiter);
        }
    }
}

static void unlist(struct put *p)
{
    size_t *n = p->sent ? &p->q->n_sent : &p->q->n_waiting;

    list_remove(&p->link);
    (*n)--;
}

/* `path` may be NULL: the put failed. */
static void end_put(struct put *p, int err, const char *path)
{
    struct pawl_queue *q = p->q;

    unlist(p);
    p->err = err;
    free(p->path);
    p->path = path == NULL ? NULL : recipe_copy(path);
    end_flushes(q, p->number);
    if (p->blocked != NULL) {
        p->blocked->err = err;
        waiter_finish(q->r.e, &p->blocked->waiter);
    }
    if (p->done != NULL || (err == 0 && q->o.on_put != NULL)) {
        recipe_post(&q->r, &p->note);
    }
    if (!p->note.posted) {
        free_put(p);
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
    int rc = pawl_create_async(
        q->r.client,
        PAWL_CREATE(.path = p->path, .mode = PAWL_SEQUENTIAL, .data = {p->data.data, p->data.len}),
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

void puts_send(struct pawl_queue *q)
{
    size_t room = (size_t)q->o.max_items;

    while (!list_empty(&q->waiting)) {
        if (room > 0 && (!q->listed || q->n_children + q->n_sent >= room)) {
            return;
        }
        send(container_of(q->waiting.next, struct put, link));
    }
}

/* ---- putting ---- */

static int fill(struct put *p, const struct pawl_put *given)
{
    struct pawl_put put;
    struct strbuf name;
    int rc;

    take_struct(&put, sizeof(put), given);
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

/* A step. */
static int start(struct pawl_queue *q, const struct pawl_put *given, struct put **out)
{
    struct put *p = given == NULL ? NULL : calloc(1, sizeof(*p));
    int rc;

    if (p == NULL) {
        return given == NULL ? PAWL_ERR_BAD_ARGUMENTS : PAWL_ERR_NO_MEMORY;
    }
    p->q = q;
    strbuf_init(&p->data, STRBUF_NO_LIMIT);
    note_init(&p->note, tell, p);
    rc = q->r.e->closing ? PAWL_ERR_CLOSING : fill(p, given);
    if (rc != 0) {
        free_put(p);
        return rc;
    }
    p->number = ++q->n_puts;
    list_push_back(&q->waiting, &p->link);
    q->n_waiting++;
    *out = p;
    return 0;
}

int pawl_queue_put_async(struct pawl_queue *q, const struct pawl_put *put, pawl_put_fn done,
                         void *arg)
{
    struct put *p;
    int rc = recipe_begin(q == NULL ? NULL : &q->r);

    if (rc != 0) {
        return rc;
    }
    rc = start(q, put, &p);
    if (rc == 0) {
        p->done = done;
        p->arg = arg;
        queue_next(q);
    }
    recipe_end(&q->r);
    return rc;
}

/* Who waits keeps the queue: somebody else may free it meanwhile. */
static int wait_for(struct pawl_queue *q, struct blocked *b, int timeout_ms)
{
    recipe_ref(&q->r);
    return recipe_wait(&q->r, &b->waiter, timeout_ms);
}

static void waited(struct pawl_queue *q)
{
    struct engine *e = q->r.e;

    recipe_unref(&q->r);
    step_end(e);
}

/* Waiting for room it has not been sent, and never will be. */
static void abandon(struct put *p)
{
    p->blocked = NULL;
    if (!p->sent) {
        unlist(p);
        end_flushes(p->q, p->number);
        free_put(p);
    }
}

int pawl_queue_put(struct pawl_queue *q, const struct pawl_put *put, int timeout_ms)
{
    struct blocked b = {.err = 0};
    struct put *p;
    int rc = recipe_begin(q == NULL ? NULL : &q->r);

    if (rc != 0) {
        return rc;
    }
    rc = dispatch_would_deadlock(q->r.e) ? PAWL_ERR_WOULD_DEADLOCK : start(q, put, &p);
    if (rc != 0) {
        recipe_end(&q->r);
        return rc;
    }
    waiter_init(&b.waiter);
    p->blocked = &b;
    queue_next(q);
    rc = wait_for(q, &b, timeout_ms);
    if (rc != 0) {
        abandon(p);
    } else {
        rc = b.err;
    }
    waiter_fini(&b.waiter);
    waited(q);
    return rc;
}

int pawl_queue_flush(struct pawl_queue *q, int timeout_ms)
{
    struct flush f = {.left = 0};
    int rc = recipe_begin(q == NULL ? NULL : &q->r);

    if (rc != 0) {
        return rc;
    }
    f.left = q->n_waiting + q->n_sent;
    f.number = q->n_puts;
    if (f.left == 0 || dispatch_would_deadlock(q->r.e)) {
        rc = f.left == 0 ? 0 : PAWL_ERR_WOULD_DEADLOCK;
        recipe_end(&q->r);
        return rc;
    }
    waiter_init(&f.blocked.waiter);
    list_push_back(&q->flushes, &f.link);
    rc = wait_for(q, &f.blocked, timeout_ms);
    list_remove(&f.link);
    waiter_fini(&f.blocked.waiter);
    waited(q);
    return rc;
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
            pawl_multi_create(m, PAWL_CREATE(.path = lock, .mode = PAWL_EPHEMERAL,
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
