/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/queue/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/beacon.h"
#include "client/prepare.h"
#include "client/take.h"
#include "client/uuid.h"
#include "recipes/core/link_trouble.h"

enum { LONGEST_NAP_MS = 30000 }; /* the wall clock may be set meanwhile */

/* ---- the folders ---- */

static void queue_make_folder(struct pawl_queue *q, const char *path, pawl_reply_fn done)
{
    int rc = pawl_create_async(q->r.client,
                               PAWL_CREATE(.path = path, .data = {q->owner, strlen(q->owner)},
                                           .flags = PAWL_OP_CONTAINER_PARENTS),
                               done, q);

    if (rc == 0) {
        recipe_ref(&q->r);
        q->making = true;
    } else {
        queue_failed(q, rc);
    }
}

/* True: it is there now. Otherwise it is asked for again, or given up. */
static bool is_made(struct pawl_queue *q, int err, const char *path, pawl_reply_fn done)
{
    q->making = false;
    if (q->r.freed) {
        return false;
    }
    if (is_link_trouble(err)) {
        queue_make_folder(q, path, done);
    } else if (err != 0 && err != PAWL_ERR_NODE_EXISTS) {
        log_warn("queue %s: %s cannot be made: %s", q->base, path, pawl_strerror(err));
        queue_failed(q, err);
    }
    return err == 0 || err == PAWL_ERR_NODE_EXISTS;
}

static void lock_folder_made(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;

    if (is_made(q, recipe_was_done(reply) ? 0 : reply->err, q->lock_base, lock_folder_made)) {
        q->ready = true;
        queue_next(q);
    }
    recipe_unref(&q->r);
}

static void folder_made(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;

    if (is_made(q, recipe_was_done(reply) ? 0 : reply->err, q->base, folder_made)) {
        if (q->lock_base != NULL) {
            queue_make_folder(q, q->lock_base, lock_folder_made);
        } else {
            q->ready = true;
            queue_next(q);
        }
    }
    recipe_unref(&q->r);
}

void queue_make(struct pawl_queue *q)
{
    q->ready = false;
    q->dirty = true;
    if (!q->making) {
        queue_make_folder(q, q->base, folder_made);
    }
}

/* ---- the listing ---- */

static void queue_folder_event(const struct pawl_event *event, void *queue)
{
    struct pawl_queue *q = queue;

    (void)event; /* a change, or the end of the session: in any case our list is old */
    q->dirty = true;
    queue_next(q);
}

static void unwatch_all(struct pawl_queue *q)
{
    recipe_unwatch(&q->r, &q->watch, q->base, PAWL_WATCHES_CHILDREN);
    recipe_unwatch(&q->r, &q->lock_watch, q->lock_base, PAWL_WATCHES_CHILDREN);
}

static int queue_take_list(struct pawl_queue *q, const struct pawl_reply *reply)
{
    struct queue_entry *entries = NULL;
    size_t n = 0;
    int rc = q->o.consumer == NULL
                 ? 0
                 : queue_entries_new(QUEUE_PREFIX, q->o.kind, &reply->children, &entries, &n);

    if (rc == 0) {
        queue_entries_free(q->entries, q->n_entries);
        q->entries = entries;
        q->n_entries = n;
        q->next = 0;
        q->n_taken = q->n_stuck = 0;
        q->rest_ms = 0;
        q->n_since_listing = 0;
        q->n_children = reply->children.n;
        q->listed = true;
    }
    return rc;
}

static void queue_listed(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;

    q->listing = false;
    if (q->r.freed) {
        unwatch_all(q);
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        queue_make(q);
    } else if (reply->err == 0 && queue_take_list(q, reply) == 0) {
        queue_next(q);
    } else {
        q->dirty = true;
        queue_failed(q, reply->err != 0 ? reply->err : PAWL_ERR_NO_MEMORY);
    }
    recipe_unref(&q->r);
}

static void ask_list(struct pawl_queue *q)
{
    int rc;

    if (q->listing) {
        return;
    }
    rc = pawl_children_async(q->r.client, q->base, &q->watch.ask, queue_listed, q);
    q->dirty = rc != 0;
    if (rc == 0) {
        q->listing = true;
        recipe_ref(&q->r);
    } else {
        queue_failed(q, rc);
    }
}

/* ---- who works on what we skipped ----
 *
 * When he is done the item goes and the folder's watch tells us; when he dies only his lock goes.
 * So the locks are watched while there is something that we may get. */

static void locks_event(const struct pawl_event *event, void *queue)
{
    struct pawl_queue *q = queue;

    (void)event;
    if (q->n_taken > 0) {
        q->dirty = true;
        queue_next(q);
    }
}

/* A lock that went before we looked has no event. */
static bool is_free_now(const struct pawl_queue *q, const struct pawl_strings *locks)
{
    size_t n_locked = 0;

    for (size_t i = 0; i < q->n_entries; i++) {
        for (size_t j = 0; j < locks->n; j++) {
            if (strcmp(q->entries[i].name, locks->items[j]) == 0) {
                n_locked++;
                break;
            }
        }
    }
    return n_locked < q->n_taken;
}

static void locks_listed(const struct pawl_reply *reply, void *queue)
{
    struct pawl_queue *q = queue;

    q->asking_locks = false;
    if (q->r.freed) {
        unwatch_all(q);
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        queue_make(q);
    } else if (reply->err != 0) {
        queue_failed(q, reply->err);
    } else if (reply->err == 0 && is_free_now(q, &reply->children)) {
        q->dirty = true;
        queue_next(q);
    }
    recipe_unref(&q->r);
}

static void watch_locks(struct pawl_queue *q)
{
    int rc;

    if (q->asking_locks || step_watch_is_set(&q->lock_watch)) {
        return;
    }
    rc = pawl_children_async(q->r.client, q->lock_base, &q->lock_watch.ask, locks_listed, q);
    if (rc == 0) {
        q->asking_locks = true;
        recipe_ref(&q->r);
    } else {
        queue_failed(q, rc);
    }
}

/* ---- what comes next ---- */

void queue_failed(struct pawl_queue *q, int err)
{
    if (recipe_is_over(&q->r, err)) {
        puts_cancel(q, err);
    } else if (!q->r.freed) {
        timer_set(q->r.e, &q->timer,
                  machine_now_ms() + (err == PAWL_ERR_NO_MEMORY ? 50 : QUEUE_PAUSE_MS));
    }
}

static void wake(void *queue)
{
    struct pawl_queue *q = queue;

    q->dirty = q->dirty || q->n_stuck > 0 || q->rest_ms != 0;
    if (!q->ready && !q->making) {
        queue_make(q);
    } else {
        queue_next(q);
    }
}

/* A batch is worked off before the next listing: otherwise each item would cost one. Where a late
 * one can come first that is asked for sooner. */
static bool must_list(const struct pawl_queue *q)
{
    bool at_end = q->next == q->n_entries;

    if (!q->listed) {
        return true;
    }
    return q->dirty &&
           (at_end || q->o.kind == PAWL_QUEUE_DELAY ||
            (q->o.kind == PAWL_QUEUE_PRIORITY && q->n_since_listing >= q->o.items_before_refresh));
}

/* Or earlier, if something was passed over. */
static void wake_at(struct pawl_queue *q, int64_t at_ms)
{
    timer_set(q->r.e, &q->timer, q->rest_ms != 0 && q->rest_ms < at_ms ? q->rest_ms : at_ms);
}

static bool is_due(struct pawl_queue *q, const struct queue_entry *entry)
{
    int64_t wait;

    if (q->o.kind != PAWL_QUEUE_DELAY) {
        return true;
    }
    wait = (int64_t)entry->rank - machine_wall_ms();
    if (wait > 0) {
        wait = wait < LONGEST_NAP_MS ? wait : LONGEST_NAP_MS;
        wake_at(q, machine_now_ms() + wait);
    }
    return wait <= 0;
}

/* What we have refused not long ago is left to others. */
static void pass_over_refused(struct pawl_queue *q)
{
    int64_t now = machine_now_ms(), until;

    while (q->next < q->n_entries &&
           (until = refused_until_ms(&q->refused, q->entries[q->next].name)) > now) {
        q->rest_ms = q->rest_ms == 0 || until < q->rest_ms ? until : q->rest_ms;
        q->next++;
    }
}

static void consume_next(struct pawl_queue *q)
{
    if (q->job.state != JOB_NONE || q->listing) {
        return;
    }
    pass_over_refused(q);
    if (must_list(q)) {
        ask_list(q);
    } else if (q->next < q->n_entries) {
        if (is_due(q, &q->entries[q->next])) {
            q->n_since_listing++;
            job_begin(q, q->entries[q->next++].name);
        }
    } else {
        if (q->n_stuck > 0 || q->rest_ms != 0) {
            wake_at(q, q->n_stuck > 0 ? machine_now_ms() + QUEUE_PAUSE_MS : q->rest_ms);
        }
        if (q->n_taken > 0) {
            watch_locks(q);
        }
    }
}

/* How many there are is asked also while a node is being consumed: its consumer may be the one who
 * waits for room. */
static void count_room(struct pawl_queue *q)
{
    if (q->o.max_items > 0 && (q->o.consumer == NULL || !list_empty(&q->waiting)) &&
        (q->dirty || !q->listed)) {
        ask_list(q);
    }
}

void queue_next(struct pawl_queue *q)
{
    if (q->r.freed || !q->ready) {
        return;
    }
    puts_send(q);
    count_room(q);
    if (q->o.consumer != NULL) {
        consume_next(q);
    }
}

/* ---- life ---- */

static void queue_destroy(struct recipe *r)
{
    struct pawl_queue *q = container_of(r, struct pawl_queue, r);

    job_fini(q);
    refused_fini(&q->refused);
    queue_entries_free(q->entries, q->n_entries);
    recipe_fini(r);
    free(q->base);
    free(q->lock_base);
    free(q);
}

/* Our lock must be told from that of another queue of this process: hence the id. */
static int queue_fill(struct pawl_queue *q, const char *path)
{
    size_t len;

    identity_text(q->owner, sizeof(q->owner) - 42);
    len = strlen(q->owner);
    memcpy(q->owner + len, " id=", 4);
    if (uuid_text(q->r.e, q->owner + len + 4) != 0) {
        return PAWL_ERR_SYSTEM;
    }
    q->base = recipe_copy(path);
    q->lock_base = q->o.lock_path == NULL ? NULL : recipe_copy(q->o.lock_path);
    q->o.lock_path = NULL; /* the caller's */
    if (q->base == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    return 0;
}

static int queue_begin(struct pawl_queue *q, const char *path)
{
    bool locks = q->o.lock_path != NULL;
    int rc = recipe_begin(&q->r);

    if (rc != 0) {
        return rc;
    }
    rc = queue_fill(q, path);
    if (rc == 0 && locks && q->lock_base == NULL) {
        rc = PAWL_ERR_NO_MEMORY;
    }
    if (rc == 0) {
        queue_make(q);
    }
    recipe_end(&q->r);
    return rc;
}

static bool queue_options_are_good(const struct pawl_queue_options *o)
{
    return (unsigned)o->kind <= PAWL_QUEUE_DELAY &&
           (unsigned)o->on_failure <= PAWL_ON_FAILURE_DROP && o->max_items >= 0 &&
           o->items_before_refresh >= 0 &&
           (o->lock_path == NULL || prepare_is_good_path(o->lock_path, false));
}

int pawl_queue_new(struct pawl_client *c, const char *path,
                   const struct pawl_queue_options *options, struct pawl_queue **out)
{
    struct pawl_queue *q;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (c == NULL || out == NULL || !prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    q = calloc(1, sizeof(*q));
    rc = q == NULL ? PAWL_ERR_NO_MEMORY : recipe_init(&q->r, c, queue_destroy);
    if (rc != 0) {
        free(q);
        return rc;
    }
    take_struct(&q->o, sizeof(q->o), options);
    list_init(&q->waiting);
    list_init(&q->sent);
    list_init(&q->flushes);
    timer_init(&q->timer, wake, q);
    recipe_watch_init(&q->r, &q->watch, queue_folder_event, q);
    recipe_watch_init(&q->r, &q->lock_watch, locks_event, q);
    job_init(q);
    refused_init(&q->refused);
    rc = queue_options_are_good(&q->o) ? queue_begin(q, path) : PAWL_ERR_BAD_ARGUMENTS;
    if (rc != 0) {
        queue_destroy(&q->r);
        return rc;
    }
    *out = q;
    return 0;
}

/* The node that is being consumed looks after itself: its answers find that we are freed. */
static void queue_shut(struct recipe *r)
{
    struct pawl_queue *q = container_of(r, struct pawl_queue, r);

    timer_clear(r->e, &q->timer);
    puts_cancel(q, PAWL_ERR_CANCELLED);
    unwatch_all(q);
}

void pawl_queue_free(struct pawl_queue *q)
{
    recipe_free(q == NULL ? NULL : &q->r, queue_shut);
}
