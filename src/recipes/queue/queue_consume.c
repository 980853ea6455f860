/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "recipes/core/link_trouble.h"
#include "recipes/queue/queue.h"
#include "recipes/queue/queue_items.h"

static void consume(void *queue);

void job_init(struct pawl_queue *q)
{
    strbuf_init(&q->job.data, STRBUF_NO_LIMIT);
    note_init(&q->job.note, consume, q);
}

void job_fini(struct pawl_queue *q)
{
    free(q->job.path);
    free(q->job.lock);
    strbuf_fini(&q->job.data);
}

/* ---- states ---- */

static const uint8_t may_follow[N_JOB_STATES] = {
    [JOB_NONE] = 1 << JOB_LOCKING | 1 << JOB_READING,
    [JOB_LOCKING] = 1 << JOB_LOCKING | 1 << JOB_READING | 1 << JOB_UNLOCKING | 1 << JOB_NONE,
    [JOB_READING] =
        1 << JOB_TAKING | 1 << JOB_CONSUMING | 1 << JOB_ENDING | 1 << JOB_UNLOCKING | 1 << JOB_NONE,
    [JOB_TAKING] = 1 << JOB_CONSUMING | 1 << JOB_NONE,
    [JOB_CONSUMING] = 1 << JOB_ENDING,
    [JOB_ENDING] = 1 << JOB_UNLOCKING | 1 << JOB_NONE,
    [JOB_UNLOCKING] = 1 << JOB_NONE,
};

static void job_check(const struct pawl_queue *q)
{
    const struct job *j = &q->job;

    ASSERT((j->state == JOB_NONE) == (j->path == NULL));
    ASSERT(j->state != JOB_NONE || j->lock == NULL);
    ASSERT(j->state != JOB_TAKING || j->lock == NULL);
    ASSERT((j->state != JOB_LOCKING && j->state != JOB_UNLOCKING) || j->lock != NULL);
}

static void job_move(struct pawl_queue *q, enum job_state next)
{
    ASSERT((may_follow[q->job.state] & 1 << next) != 0);
    q->job.state = next;
    job_check(q);
}

/* ---- the end of it ---- */

static void job_drop(struct pawl_queue *q)
{
    struct job *j = &q->job;

    free(j->lock);
    free(j->path);
    j->lock = j->path = NULL;
    if (j->state != JOB_NONE) { /* else there was no memory to begin it */
        job_move(q, JOB_NONE);
    }
}

/* One of a session that has ended goes by itself, and what is there may be somebody else's. Before
 * it is made it belongs to no session; a client whose session was lost has none either. */
static bool lock_is_ours(const struct pawl_queue *q)
{
    return q->job.lock != NULL && q->job.session_id != 0 &&
           q->job.session_id == q->r.e->core->session_id;
}

/* The item is gone: nobody locks it any more, so it does not matter when the lock goes. */
static void end_gone(struct pawl_queue *q)
{
    if (lock_is_ours(q)) {
        pawl_delete_async(
            q->r.client,
            PAWL_DELETE(.path = q->job.lock, .flags = PAWL_OP_IDEMPOTENT | PAWL_OP_GUARANTEED),
            NULL, NULL);
    }
    job_drop(q);
    queue_next(q);
}

static void job_unlocked(struct pawl_queue *q)
{
    bool goes_on = q->job.then_goes_on;

    job_drop(q);
    if (goes_on) {
        queue_next(q);
    }
}

static void delete_lock(struct pawl_queue *q);

static void lock_seen(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;
    size_t len = strlen(q->owner);
    bool ours = reply->err == 0 && reply->stat.ephemeral_owner == q->r.e->core->session_id &&
                reply->data.len == len && memcmp(reply->data.data, q->owner, len) == 0;

    if (ours) {
        delete_lock(q);
    } else {
        job_unlocked(q);
    }
    recipe_unref(&q->r);
}

/* Whether it happened is not known. Deleted once more it might be another's by now: the item is
 * still there, and others want it. */
static void lock_deleted(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;
    bool unknown = reply->outcome == PAWL_OUTCOME_UNKNOWN && reply->err != PAWL_ERR_CLOSING;

    if (unknown && lock_is_ours(q) &&
        pawl_get_async(q->r.client, q->job.lock, NULL, lock_seen, q) == 0) {
        return; /* with our reference */
    }
    job_unlocked(q);
    recipe_unref(&q->r);
}

static void delete_lock(struct pawl_queue *q)
{
    if (pawl_delete_async(q->r.client, PAWL_DELETE(.path = q->job.lock), lock_deleted, q) == 0) {
        recipe_ref(&q->r);
    } else {
        job_unlocked(q);
    }
}

/* The item may still be there for others. */
static void end_there(struct pawl_queue *q, bool goes_on)
{
    q->job.then_goes_on = goes_on;
    if (lock_is_ours(q)) {
        job_move(q, JOB_UNLOCKING);
        delete_lock(q);
    } else {
        job_unlocked(q);
    }
}

/* It is still there and shall be looked at again, but not at once; meanwhile the others, if it is
 * this one alone that cannot be had. */
static void end_badly(struct pawl_queue *q, int err)
{
    bool stuck = err == PAWL_ERR_NO_AUTH || err == PAWL_ERR_NOT_EMPTY ||
                 err == PAWL_ERR_TOO_LARGE || err == PAWL_ERR_DATA_INCONSISTENCY;

    if (err != PAWL_ERR_CLOSING) {
        log_warn("queue %s: %s: %s", q->base, q->job.name, pawl_strerror(err));
    }
    if (stuck) {
        q->n_stuck++;
    } else {
        q->next = q->n_entries;
        q->dirty = true;
        queue_failed(q, err);
    }
    end_there(q, stuck);
}

static char *stem_path(const struct pawl_queue *q)
{
    char *path = recipe_copy(q->job.path);

    if (path != NULL) {
        path[(size_t)(q->job.name - q->job.path) + queue_name_stem(QUEUE_PREFIX, q->job.name)] =
            '\0';
    }
    return path;
}

/* What was not consumed, under the name that it had: with its priority, its time, its id. */
static int put_again(struct pawl_queue *q, struct pawl_multi *m, pawl_reply_fn done)
{
    struct job *j = &q->job;
    char *stem = stem_path(q);
    struct strbuf rest;
    int rc = PAWL_ERR_NO_MEMORY;

    strbuf_init(&rest, STRBUF_NO_LIMIT);
    queue_items_rest(strbuf_bytes(&j->data), j->done, &rest);
    if (stem != NULL && !rest.failed) {
        struct pawl_create create = {.size = sizeof(create),
                                     .path = stem,
                                     .data = {rest.data, rest.len},
                                     .mode = PAWL_MODE_SEQUENTIAL};

        if (m != NULL) {
            pawl_multi_create(m, &create);
            rc = pawl_multi_run_async(q->r.client, m, done, q);
        } else {
            rc = pawl_create_async(q->r.client, &create, done, q);
        }
    }
    strbuf_fini(&rest);
    free(stem);
    return rc;
}

static void requeue(struct pawl_queue *q);

/* The third of what requeue() asks for. */
static void remember_refusal(struct pawl_queue *q, const struct pawl_reply *reply)
{
    const char *path = reply->n_results == 3 ? reply->results[2]->path : NULL;

    if (path != NULL) {
        refused_put_again(&q->refused, q->job.name, strrchr(path, '/') + 1, machine_now_ms());
    }
}

/* NO_NODE: the answer to an earlier try was lost, or the lock, and with it our right to do it. */
static void requeued(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;

    if (is_link_trouble(reply->err)) {
        requeue(q);
    } else if (recipe_was_done(reply)) {
        remember_refusal(q, reply);
        q->dirty = true;
        end_gone(q);
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        q->dirty = true;
        end_there(q, true);
    } else {
        end_badly(q, reply->err);
    }
    recipe_unref(&q->r);
}

static void requeue(struct pawl_queue *q)
{
    struct pawl_multi *m;
    int rc;

    if (q->job.session_id != q->r.e->core->session_id) {
        q->dirty = true; /* the lock is gone: it is anybody's, just where it is */
        end_there(q, true);
        return;
    }
    m = pawl_multi_new(q->r.client);
    if (m == NULL) {
        end_badly(q, PAWL_ERR_NO_MEMORY);
        return;
    }
    pawl_multi_check(m, q->job.lock, -1);
    pawl_multi_delete(m, PAWL_DELETE(.path = q->job.path));
    rc = put_again(q, m, requeued);
    pawl_multi_free(m);
    if (rc == 0) {
        recipe_ref(&q->r);
    } else {
        end_badly(q, rc);
    }
}

static void consume_deleted(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;

    if (recipe_was_done(reply)) {
        refused_forget(&q->refused, q->job.name);
        end_gone(q);
    } else {
        end_badly(q, reply->err);
    }
    recipe_unref(&q->r);
}

static void delete_item(struct pawl_queue *q)
{
    int rc = pawl_delete_async(q->r.client,
                               PAWL_DELETE(.path = q->job.path, .flags = PAWL_OP_IDEMPOTENT),
                               consume_deleted, q);

    if (rc == 0) {
        recipe_ref(&q->r);
    } else {
        end_badly(q, rc);
    }
}

/* A step. Some or all of the items were consumed, or none if the queue was freed before. */
static void consumed(struct pawl_queue *q, bool finished)
{
    struct job *j = &q->job;

    job_move(q, JOB_ENDING);
    if (j->lock == NULL) {
        if (!finished) {
            put_again(q, NULL, NULL); /* taken, but not worked on */
        }
        end_gone(q);
    } else if (finished) {
        delete_item(q);
    } else {
        requeue(q);
    }
}

/* ---- the consumer ---- */

/* True: it is done. */
static bool call_consumer(struct pawl_queue *q, struct pawl_bytes data)
{
    struct job *j = &q->job;
    struct pawl_item item = {
        .data = data, .name = j->name, .attempt = refused_times(&q->refused, j->name) + 1};
    char id[1024] = "";
    size_t len;
    const char *has = queue_name_id(j->name, &len);
    bool done;

    if (q->o.kind == PAWL_QUEUE_ID && has != NULL && len < sizeof(id)) {
        memcpy(id, has, len);
        item.id = id;
    } else if (q->o.kind == PAWL_QUEUE_PRIORITY) {
        item.priority = queue_name_priority(j->name);
    } else if (q->o.kind == PAWL_QUEUE_DELAY) {
        item.due_ms = queue_name_due_ms(j->name);
    }
    recipe_calling(&q->r);
    done = q->o.consumer(q, &item, q->o.consumer_arg) == 0;
    recipe_called(&q->r);
    return done;
}

/* True: nothing of it is left to do. Refused items are left out and lost where they cannot be put
 * again. */
static bool consume_all(struct pawl_queue *q)
{
    struct job *j = &q->job;
    struct bytes node = strbuf_bytes(&j->data);
    bool requeues = j->lock != NULL && q->o.on_failure == PAWL_ON_FAILURE_REQUEUE;
    size_t at = j->done;
    struct pawl_bytes item;

    while (queue_items_next(node, &at, &item)) {
        if (q->r.freed || (!call_consumer(q, item) && requeues)) {
            return false;
        }
        j->done = at;
    }
    return true;
}

/* The lock is held all the way from the last callback to what follows from it: who frees the queue
 * and closes the client finds that sent. */
static void consume(void *queue)
{
    struct pawl_queue *q = queue;
    struct engine *e = q->r.e;
    bool finished;

    recipe_note_begin(&q->r);
    finished = consume_all(q);
    e->inside = true;
    consumed(q, finished);
    e->inside = false;
    engine_settle(e, machine_now_ms());
    recipe_note_end(&q->r);
}

/* ---- taking it ---- */

static void hand_over(struct pawl_queue *q)
{
    struct job *j = &q->job;
    size_t n;

    if (queue_items_check(strbuf_bytes(&j->data), &n) != 0) {
        log_warn("queue %s: %s is damaged and dropped", q->base, j->name);
        if (j->lock == NULL) {
            end_gone(q);
        } else {
            job_move(q, JOB_ENDING);
            delete_item(q);
        }
        return;
    }
    job_move(q, JOB_CONSUMING);
    j->done = QUEUE_ITEMS_FIRST;
    if (q->r.freed) {
        consumed(q, false);
        return;
    }
    recipe_post(&q->r, &j->note);
}

/* Gone: somebody else has it. When the answer was lost it may have been us: then it is lost, which
 * at most once allows; if it is still there it comes with the next listing. */
static void consume_taken(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;
    int err = reply->err;

    if (recipe_was_done(reply)) {
        hand_over(q);
    } else if (err == PAWL_ERR_NO_NODE || err == PAWL_ERR_BAD_VERSION || is_link_trouble(err)) {
        q->dirty = q->dirty || err != PAWL_ERR_NO_NODE;
        end_gone(q);
    } else {
        end_badly(q, err);
    }
    recipe_unref(&q->r);
}

static void consume_take(struct pawl_queue *q, int32_t version)
{
    int rc = pawl_delete_async(q->r.client,
                               PAWL_DELETE(.path = q->job.path, .only_if = pawl_version(version)),
                               consume_taken, q);

    if (rc == 0) {
        job_move(q, JOB_TAKING);
        recipe_ref(&q->r);
    } else {
        end_badly(q, rc);
    }
}

static void read_item(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;
    struct job *j = &q->job;

    strbuf_clear(&j->data);
    strbuf_append(&j->data, reply->data.data, reply->data.len);
    if (q->r.freed || reply->err == PAWL_ERR_NO_NODE) {
        end_there(q, true);
    } else if (reply->err != 0 || j->data.failed) {
        end_badly(q, reply->err != 0 ? reply->err : PAWL_ERR_NO_MEMORY);
    } else if (j->lock == NULL) {
        consume_take(q, reply->stat.version);
    } else {
        hand_over(q);
    }
    recipe_unref(&q->r);
}

static void read_it(struct pawl_queue *q)
{
    int rc = pawl_get_async(q->r.client, q->job.path, NULL, read_item, q);

    if (rc == 0) {
        job_move(q, JOB_READING);
        recipe_ref(&q->r);
    } else {
        end_badly(q, rc);
    }
}

/* ---- the lock ---- */

static void lock_it(struct pawl_queue *q);

/* Ours, of a session that is dying: it would go while we work. */
static void old_lock_gone(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;

    if (recipe_was_done(reply)) {
        lock_it(q);
    } else {
        end_badly(q, reply->err);
    }
    recipe_unref(&q->r);
}

static void delete_old_lock(struct pawl_queue *q)
{
    int rc = pawl_delete_async(q->r.client,
                               PAWL_DELETE(.path = q->job.lock, .flags = PAWL_OP_IDEMPOTENT),
                               old_lock_gone, q);

    if (rc == 0) {
        recipe_ref(&q->r);
    } else {
        end_badly(q, rc);
    }
}

static void locked(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;
    struct job *j = &q->job;

    j->session_id = reply->err == 0 ? reply->stat.ephemeral_owner : 0;
    if (reply->err != 0 && recipe_was_done(reply)) {
        j->session_id = q->r.e->core->session_id; /* to be unlocked */
    }
    if (reply->err == PAWL_ERR_NODE_EXISTS) {
        q->n_taken++;
        end_there(q, true);
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        end_there(q, false);
        queue_make(q);
    } else if (reply->err != 0) {
        end_badly(q, reply->err);
    } else if (q->r.freed) {
        end_there(q, true);
    } else if (j->session_id != q->r.e->core->session_id) {
        delete_old_lock(q);
    } else {
        read_it(q);
    }
    recipe_unref(&q->r);
}

static void lock_it(struct pawl_queue *q)
{
    int rc = pawl_create_async(q->r.client,
                               PAWL_CREATE(.path = q->job.lock, .mode = PAWL_MODE_EPHEMERAL,
                                           .data = {q->owner, strlen(q->owner)},
                                           .flags = PAWL_OP_IDEMPOTENT),
                               locked, q);

    if (rc == 0) {
        job_move(q, JOB_LOCKING);
        recipe_ref(&q->r);
    } else {
        end_badly(q, rc);
    }
}

void job_begin(struct pawl_queue *q, const char *name)
{
    struct job *j = &q->job;

    ASSERT(j->state == JOB_NONE && j->lock == NULL);
    j->path = recipe_join(q->base, name);
    j->name = j->path == NULL ? NULL : strrchr(j->path, '/') + 1;
    j->session_id = 0;
    if (q->lock_base != NULL) {
        j->lock = recipe_join(q->lock_base, name);
    }
    if (j->path == NULL || (q->lock_base != NULL && j->lock == NULL)) {
        j->name = name;
        end_badly(q, PAWL_ERR_NO_MEMORY);
    } else if (j->lock != NULL) {
        lock_it(q);
    } else {
        read_it(q);
    }
}
