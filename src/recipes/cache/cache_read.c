/* SPDX-License-Identifier: Apache-2.0 */
/* cache_read.c - reading: what is queued, what is under way, what came back.
 *
 * With a persistent watch a read sets none, and many go into one request: a few requests of up to
 * BATCH nodes are under way at a time. While they are, what changes meanwhile gathers in the queue:
 * a single change is read at once, a flood of them in large pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "recipes/cache/cache.h"

enum {
    MAX_OUT = 1000, /* nodes under way */
    MAX_BATCHES = 8,
    BATCH = 128,
    BATCH_BYTES = 64 * 1024, /* of paths */
    LARGE_BYTES = 1024, /* data larger than this are compared by their Stat before they are read */
};

/* One request, about one entry or several. */
struct query {
    struct pawl_cache *c;
    enum want want;
    bool watched; /* each sets a one-shot watch */
    bool counted; /* in n_batches */
    size_t n;
    struct entry *entries[];
};

/* ---- states ---- */

static const uint8_t question_may_follow[] = {
    [QUESTION_IDLE] = 1 << QUESTION_QUEUED,
    [QUESTION_QUEUED] = 1 << QUESTION_ASKED | 1 << QUESTION_IDLE,
    [QUESTION_ASKED] = 1 << QUESTION_IDLE | 1 << QUESTION_OUTDATED,
    [QUESTION_OUTDATED] = 1 << QUESTION_IDLE | 1 << QUESTION_ASKED | 1 << QUESTION_OUTDATED,
};

/* What is true of an entry after any move. */
static void entry_check(const struct entry *e)
{
    ASSERT(e->questions[WANT_LIST] != QUESTION_OUTDATED);
    ASSERT(e->questions[WANT_EXISTS] != QUESTION_OUTDATED);
    ASSERT(!e->hidden || (e->node == NULL && e->questions[WANT_READ] == QUESTION_IDLE));
    ASSERT(!e->barren || e->hidden || e->questions[WANT_LIST] == QUESTION_IDLE);
    ASSERT(!e->verify || e->node != NULL);
    ASSERT(!e->partial || !e->barren);
}

static void question_move(struct entry *e, enum want want, enum question_state next)
{
    ASSERT((question_may_follow[e->questions[want]] & 1 << next) != 0);
    e->questions[want] = (uint8_t)next;
    entry_check(e);
}

bool cache_read_is_asked(const struct entry *e, enum want want)
{
    return e->questions[want] == QUESTION_ASKED || e->questions[want] == QUESTION_OUTDATED;
}

bool cache_read_is_idle(const struct entry *e)
{
    return e->questions[WANT_READ] == QUESTION_IDLE && e->questions[WANT_LIST] == QUESTION_IDLE &&
           e->questions[WANT_EXISTS] == QUESTION_IDLE;
}

static bool is_queued(const struct entry *e, enum want want)
{
    return e->questions[want] == QUESTION_QUEUED;
}

static bool is_any_queued(const struct entry *e)
{
    return is_queued(e, WANT_READ) || is_queued(e, WANT_LIST) || is_queued(e, WANT_EXISTS);
}

/* ---- the queue ---- */

void cache_read_want(struct pawl_cache *c, struct entry *e, enum want want)
{
    if (c->r.freed || e->questions[want] != QUESTION_IDLE) {
        return;
    }
    if (!is_any_queued(e)) {
        list_push_back(&c->queue, &e->queue);
    }
    question_move(e, want, QUESTION_QUEUED);
}

void cache_read_cancel(struct entry *e)
{
    for (int want = 0; want < N_WANTS; want++) {
        if (e->questions[want] == QUESTION_QUEUED) {
            question_move(e, (enum want)want, QUESTION_IDLE);
        } else if (e->questions[want] == QUESTION_OUTDATED) {
            question_move(e, (enum want)want, QUESTION_ASKED);
        }
    }
    e->fetch = false;
    list_remove(&e->queue);
}

void cache_read_outdated(struct entry *e, int64_t zxid)
{
    question_move(e, WANT_READ, QUESTION_OUTDATED);
    e->changed_zxid = zxid;
}

/* ---- asking ---- */

static struct query *new_query(struct pawl_cache *c, enum want want, size_t room)
{
    struct query *a = malloc(sizeof(*a) + room * sizeof(struct entry *));

    if (a != NULL) {
        *a = (struct query){.c = c, .want = want, .watched = c->one_shot};
    }
    return a;
}

static void add_to(struct query *a, struct entry *e)
{
    a->entries[a->n++] = e;
    question_move(e, a->want, QUESTION_ASKED);
    a->c->n_out++;
}

/* The answer has come, or the question could not be asked. True: it was OUTDATED. */
static bool query_take_out(struct query *a, struct entry *e)
{
    bool outdated = e->questions[a->want] == QUESTION_OUTDATED;

    question_move(e, a->want, QUESTION_IDLE);
    a->c->n_out--;
    return outdated;
}

static void answered_node(const struct pawl_reply *reply, void *query);
static void answered_stat(const struct pawl_reply *reply, void *query);
static void answered_list(const struct pawl_reply *reply, void *query);
static void answered_batch(const struct pawl_reply *reply, void *query);

static bool may_compare(const struct entry *e)
{
    return e->verify && !e->fetch && e->node != NULL && e->node->pub.stat.data_length > LARGE_BYTES;
}

static int send_one(struct query *a)
{
    struct pawl_cache *c = a->c;
    struct entry *e = a->entries[0];
    const char *path = cache_tree_path(c, e);
    const struct pawl_watch *w = a->watched ? &c->watcher.ask : NULL;

    if (path == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    switch (a->want) {
    case WANT_LIST:
        return pawl_children_async(c->r.client, path, w, answered_list, a);
    case WANT_EXISTS:
        return pawl_exists_async(c->r.client, path, w, answered_stat, a);
    default:
        break;
    }
    return may_compare(e) ? pawl_exists_async(c->r.client, path, w, answered_stat, a)
                          : pawl_get_async(c->r.client, path, w, answered_node, a);
}

static int send_many(struct query *a)
{
    struct pawl_multi *m = pawl_multi_new(a->c->r.client);
    int rc = m == NULL ? PAWL_ERR_NO_MEMORY : 0;

    for (size_t i = 0; i < a->n && rc == 0; i++) {
        const char *path = cache_tree_path(a->c, a->entries[i]);

        if (path == NULL) {
            rc = PAWL_ERR_NO_MEMORY;
        } else {
            pawl_multi_get(m, path);
        }
    }
    rc = rc != 0 ? rc : pawl_multi_run_async(a->c->r.client, m, answered_batch, a);
    pawl_multi_free(m);
    return rc;
}

/* All of them are asked once more, later than any event that has been told by now. */
static void query_put_back(struct query *a)
{
    for (size_t i = 0; i < a->n; i++) {
        (void)query_take_out(a, a->entries[i]);
        cache_read_want(a->c, a->entries[i], a->want);
    }
}

/* Not to be had now, for lack of memory or link: later. */
static void query_failed(struct query *a, int err)
{
    query_put_back(a);
    if (!cache_is_over(a->c, err)) {
        cache_watch_pause(a->c);
    }
}

static void send_query(struct pawl_cache *c, struct query *a)
{
    int rc = a->n == 1 ? send_one(a) : send_many(a);

    if (rc != 0) {
        query_failed(a, rc);
        free(a);
        return;
    }
    recipe_ref(&c->r);
    a->counted = a->want == WANT_READ && !a->watched;
    c->n_batches += a->counted ? 1 : 0;
}

static void ask_one(struct pawl_cache *c, struct entry *e, enum want want)
{
    struct query *a = new_query(c, want, 1);

    if (a == NULL) {
        cache_watch_pause(c);
        return;
    }
    add_to(a, e);
    send_query(c, a);
}

/* Everything about the entry but a read that can go with others: true if that is left. */
static bool ask_alone(struct pawl_cache *c, struct entry *e)
{
    if (is_queued(e, WANT_EXISTS)) {
        ask_one(c, e, WANT_EXISTS);
    }
    if (is_queued(e, WANT_LIST)) {
        ask_one(c, e, WANT_LIST);
    }
    if (is_queued(e, WANT_READ) && (c->one_shot || may_compare(e))) {
        ask_one(c, e, WANT_READ);
    }
    return is_queued(e, WANT_READ) && !c->paused && !c->closed; /* else it is queued again */
}

/* Takes the next out of the queue and sends it, with as many others as may go along. */
static void ask_next(struct pawl_cache *c)
{
    struct query *a = new_query(c, WANT_READ, c->batch_limit);
    size_t bytes = 0;

    if (a == NULL) {
        cache_watch_pause(c);
        return;
    }
    while (!list_empty(&c->queue) && c->n_out < MAX_OUT && !c->paused && !c->closed &&
           a->n < c->batch_limit && bytes < BATCH_BYTES) {
        struct entry *e = container_of(list_pop_front(&c->queue), struct entry, queue);

        if (ask_alone(c, e)) {
            add_to(a, e);
            bytes += c->base_len + e->name_len;
        }
        if (is_any_queued(e) && list_empty(&e->queue)) {
            list_push_back(&c->queue, &e->queue);
        }
        ASSERT(is_any_queued(e) == !list_empty(&e->queue));
    }
    if (a->n > 0) {
        send_query(c, a);
    } else {
        free(a);
    }
}

static bool can_ask(const struct pawl_cache *c)
{
    return !c->r.freed && !c->closed && !c->paused && !c->throttled &&
           (c->one_shot || c->watched) && c->n_out < MAX_OUT && c->n_batches < MAX_BATCHES;
}

static void tell_if_idle(struct pawl_cache *c)
{
    if (c->r.freed || c->closed || c->paused || c->n_out > 0 || !list_empty(&c->queue) ||
        (!c->one_shot && !c->watched)) {
        return;
    }
    if (!c->initialised) {
        c->initialised = true;
        c->resyncing = c->caught_up = false;
        cache_tell_cache(c, &c->initialised_tell, PAWL_CACHE_EVENT_INITIALISED);
        ask_end_all(&c->waiting, 0);
    } else if (c->resyncing || c->caught_up) {
        c->resyncing = c->caught_up = false;
        cache_tell_cache(c, &c->resynced_tell, PAWL_CACHE_EVENT_RESYNCED);
    }
}

/* Room again after there was none: what was left out can come in. */
static void look_again_if_roomy(struct pawl_cache *c)
{
    if (c->incomplete && c->entries.count <= c->o.max_nodes - (c->o.max_nodes + 7) / 8) {
        c->incomplete = false;
        cache_watch_resync(c);
    }
}

void cache_read_pump(struct pawl_cache *c)
{
    look_again_if_roomy(c);
    while (can_ask(c) && !list_empty(&c->queue)) {
        ask_next(c);
    }
    tell_if_idle(c);
}

/* ---- answers ---- */

static void not_there(struct pawl_cache *c, struct entry *e)
{
    cache_apply_gone(c, e);
    if (e == c->root && c->one_shot && !e->data_watch) {
        cache_read_want(c, e, WANT_EXISTS);
    }
}

/* True: the answer says something about the node. */
static bool is_answer(struct pawl_cache *c, struct entry *e, enum want want, int err)
{
    if (err == 0 || err == PAWL_ERR_NO_NODE) {
        return true;
    }
    if (cache_is_over(c, err)) {
        return false;
    }
    if (err == PAWL_ERR_NO_MEMORY || err == PAWL_ERR_OPERATION_TIMEOUT ||
        err == PAWL_ERR_CONNECTION_LOSS || err == PAWL_ERR_SESSION_EXPIRED) {
        cache_read_want(c, e, want);
        cache_watch_pause(c);
    } else {
        cache_tell_error(c, cache_tree_path(c, e), err); /* no permission, too large */
    }
    return false;
}

static void query_take_node(struct pawl_cache *c, struct entry *e, const struct pawl_reply *reply,
                            bool outdated)
{
    e->fetch = false;
    if (reply->err == PAWL_ERR_DATA_INCONSISTENCY && reply->stat.czxid != 0) {
        cache_tell_error(c, cache_tree_path(c, e),
                         reply->err); /* not compressed, for a client that is */
        cache_apply_node(c, e, &reply->stat, NULL);
    } else if (!is_answer(c, e, WANT_READ, reply->err)) {
        e->verify = e->verify && is_queued(e, WANT_READ);
    } else if (reply->err == 0) {
        cache_apply_node(c, e, &reply->stat, &reply->data);
    } else {
        not_there(c, e);
    }
    if (outdated) {
        cache_read_want(c, e, WANT_READ);
    }
}

/* One that shows another node than ours, or is outdated itself, says that ours has to be read. */
static void query_take_stat(struct pawl_cache *c, struct entry *e, const struct pawl_reply *reply,
                            bool outdated)
{
    const struct pawl_stat *old = e->node == NULL ? NULL : &e->node->pub.stat;

    if (!is_answer(c, e, WANT_EXISTS, reply->err)) {
        return;
    }
    if (reply->err != 0) {
        not_there(c, e);
    } else if (old != NULL && old->czxid == reply->stat.czxid && old->mzxid == reply->stat.mzxid) {
        cache_apply_node(c, e, &reply->stat, NULL);
    } else {
        outdated = true;
    }
    if (outdated) {
        e->fetch = true;
        cache_read_want(c, e, e->hidden ? WANT_LIST : WANT_READ);
    }
}

static void query_take_list(struct pawl_cache *c, struct entry *e, const struct pawl_reply *reply,
                            bool outdated)
{
    ASSERT(!outdated);
    if (!is_answer(c, e, WANT_LIST, reply->err)) {
        return;
    }
    if (reply->err == 0) {
        cache_apply_children(c, e, reply);
    } else {
        not_there(c, e);
    }
}

/* `outdated`: an event has told of a later change than the answer may show. */
typedef void (*take_fn)(struct pawl_cache *c, struct entry *e, const struct pawl_reply *reply,
                        bool outdated);

static void query_take_one(struct query *a, struct entry *e, const struct pawl_reply *reply,
                           take_fn take)
{
    struct pawl_cache *c = a->c;
    bool outdated = query_take_out(a, e);

    outdated = outdated && (e->changed_zxid < 0 || e->changed_zxid > reply->zxid);
    e->pinned = true;
    if (a->watched &&
        (recipe_was_done(reply) || (take == query_take_stat && reply->err == PAWL_ERR_NO_NODE))) {
        cache_watch_gained(c, e, a->want);
    }
    if (!c->r.freed) {
        take(c, e, reply, outdated);
        e->pinned = false;
        cache_tree_settle(c, e);
    }
}

static void query_finish(struct query *a)
{
    struct pawl_cache *c = a->c;

    c->n_batches -= a->counted ? 1 : 0;
    free(a);
    if (!c->r.freed) {
        cache_read_pump(c);
    }
    recipe_unref(&c->r);
}

static void answered_node(const struct pawl_reply *reply, void *query)
{
    struct query *a = query;

    query_take_one(a, a->entries[0], reply, query_take_node);
    query_finish(a);
}

static void answered_stat(const struct pawl_reply *reply, void *query)
{
    struct query *a = query;

    query_take_one(a, a->entries[0], reply, query_take_stat);
    query_finish(a);
}

static void answered_list(const struct pawl_reply *reply, void *query)
{
    struct query *a = query;

    query_take_one(a, a->entries[0], reply, query_take_list);
    query_finish(a);
}

/* A request of several that failed as a whole: they go one by one when it was for being so many. */
static void batch_failed(struct query *a, int err)
{
    bool too_many = err == PAWL_ERR_UNIMPLEMENTED || err == PAWL_ERR_TOO_LARGE;

    if (too_many) {
        a->c->batch_limit = err == PAWL_ERR_TOO_LARGE && a->n > 2 ? a->n / 2 : 1;
        query_put_back(a);
    } else {
        query_failed(a, err);
    }
}

static void answered_batch(const struct pawl_reply *reply, void *query)
{
    struct query *a = query;

    if (reply->err == 0 && reply->n_results != a->n) {
        batch_failed(a, PAWL_ERR_UNIMPLEMENTED);
    } else if (reply->err != 0) {
        batch_failed(a, reply->err);
    } else {
        for (size_t i = 0; i < a->n; i++) {
            query_take_one(a, a->entries[i], reply->results[i], query_take_node);
        }
    }
    query_finish(a);
}
