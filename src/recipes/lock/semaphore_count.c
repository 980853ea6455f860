/* SPDX-License-Identifier: Apache-2.0 */
/* semaphore_count.c - how many leases there may be: a number, or a node that has it. */
#include "recipes/lock/semaphore.h"

#include <stdlib.h>

enum { COUNT_BYTES = 4 };

static int ask(struct pawl_semaphore *s);

/* Nothing is decided by an old number while a new one is on its way. */
bool count_is_sure(const struct pawl_semaphore *s)
{
    return s->count.known && !s->count.asking;
}

/* Those who wait for the number only. */
static void go_on_or_fail(struct pawl_semaphore *s, int err)
{
    struct list *item, *next;

    for (item = s->takings.next; item != &s->takings; item = next) {
        struct taking *t = container_of(container_of(item, struct ask, link), struct taking, ask);

        next = item->next;
        if (t->state != TAKING_COUNT) {
            continue;
        }
        if (err == 0) {
            taking_go_on(t);
        } else {
            taking_end(t, err);
        }
    }
}

/* `err` is why there is no (new) number; what we knew before stays. */
static void count_settle(struct pawl_semaphore *s, int err)
{
    s->count.asking = false;
    go_on_or_fail(s, s->count.known ? 0 : err);
    semaphore_poke(s);
}

static int take_number(struct pawl_semaphore *s, struct pawl_bytes data)
{
    const uint8_t *b = data.data;

    if (data.len != COUNT_BYTES) {
        return PAWL_ERR_DATA_INCONSISTENCY;
    }
    s->count.max = (int32_t)((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 |
                             (uint32_t)b[3]);
    s->count.known = true;
    return 0;
}

/* ---- watching ---- */

void count_changed(const struct pawl_event *event, void *semaphore)
{
    struct pawl_semaphore *s = semaphore;

    if (!s->r.freed && event->type != PAWL_EVENT_WATCH_REMOVED && !s->count.asking) {
        ask(s);
    }
}

void count_shut(struct pawl_semaphore *s)
{
    if (s->count.path != NULL) {
        recipe_unwatch(&s->r, &s->count.watch, s->count.path, PAWL_WATCHES_DATA);
    }
}

/* ---- reading ---- */

/* It was deleted: the number stays what it was, until the node is there again. */
static void count_looked(const struct pawl_reply *reply, void *semaphore)
{
    struct pawl_semaphore *s = semaphore;
    int err = reply->err;

    if (s->r.freed) {
        count_shut(s);
    } else if (err != 0 || ask(s) != 0) {
        count_settle(s, err);
    }
    recipe_unref(&s->r);
}

static void count_made(const struct pawl_reply *reply, void *semaphore)
{
    struct pawl_semaphore *s = semaphore;
    int err = reply->err == PAWL_ERR_NODE_EXISTS ? 0 : reply->err;

    err = err != 0 || s->r.freed ? err : ask(s);
    if (!s->r.freed && err != 0) {
        count_settle(s, err);
    }
    recipe_unref(&s->r);
}

/* As Curator's SharedCount does when it starts. */
static int count_make(struct pawl_semaphore *s)
{
    uint32_t n = (uint32_t)s->o.max_leases;
    const uint8_t data[COUNT_BYTES] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
                                       (uint8_t)n};
    int rc = pawl_create_async(s->r.client,
                               PAWL_CREATE(.path = s->count.path, .data = {data, sizeof(data)},
                                           .flags = PAWL_OP_CONTAINER_PARENTS | PAWL_OP_IDEMPOTENT),
                               count_made, s);

    if (rc == 0) {
        recipe_ref(&s->r);
    }
    return rc;
}

static int count_look(struct pawl_semaphore *s)
{
    int rc = pawl_exists_async(s->r.client, s->count.path, &s->count.watch.ask, count_looked, s);

    if (rc == 0) {
        recipe_ref(&s->r);
    }
    return rc;
}

static void count_was_read(const struct pawl_reply *reply, void *semaphore)
{
    struct pawl_semaphore *s = semaphore;
    int err = reply->err;

    if (s->r.freed) {
        count_shut(s);
    }
    if (err == 0) {
        err = take_number(s, reply->data);
    } else if (err == PAWL_ERR_NO_NODE && !s->r.freed) {
        err = s->count.known ? count_look(s) : count_make(s);
        if (err == 0) {
            recipe_unref(&s->r);
            return;
        }
    }
    if (!s->r.freed) {
        count_settle(s, err);
    }
    recipe_unref(&s->r);
}

static int ask(struct pawl_semaphore *s)
{
    int rc = pawl_get_async(s->r.client, s->count.path, &s->count.watch.ask, count_was_read, s);

    s->count.asking = rc == 0;
    if (rc == 0) {
        recipe_ref(&s->r);
    }
    return rc;
}

int count_want(struct pawl_semaphore *s)
{
    bool follows = s->count.path == NULL || step_watch_is_set(&s->count.watch) || s->count.asking;

    return follows ? 0 : ask(s);
}
