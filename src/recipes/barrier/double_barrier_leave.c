/* SPDX-License-Identifier: Apache-2.0 */
/* double_barrier_leave.c - from INSIDE to IDLE. */
#include <stdlib.h>
#include <string.h>

#include "recipes/barrier/double_barrier.h"

/* ---- leaving ---- */

static bool is_leaving(const struct stay *s)
{
    return !s->over && s->b->state == ROOM_LEAVING;
}

static void leave_done(struct stay *s)
{
    barrier_finish(s->b, ROOM_IDLE, s->lost ? PAWL_ERR_LOST : 0);
}

void stay_other_event(const struct pawl_event *event, void *stay)
{
    struct stay *s = stay;

    (void)event;
    if (is_leaving(s)) {
        barrier_leave(s);
    }
}

static void other_seen(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    if (!is_leaving(s)) {
        stay_unwatch_all(s);
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        barrier_leave(s);
    } else if (reply->err == 0 && reply->stat.czxid > s->listed_zxid) {
        /* Not the node that was listed: he has left, and come again for the next round, in which he
         * waits for us. The event has us list again. */
        stay_unwatch_all(s);
    } else if (!recipe_was_done(reply)) {
        barrier_finish(s->b, ROOM_IDLE, reply->err);
    }
    stay_unref(s);
}

static void watch_other(struct stay *s, const char *name)
{
    struct pawl_double_barrier *b = s->b;
    int rc;

    if (b->ask->is_try) {
        barrier_finish(b, ROOM_IDLE, PAWL_ERR_OPERATION_TIMEOUT);
        return;
    }
    free(s->other);
    s->other = recipe_join(b->base, name);
    rc = s->other == NULL
             ? PAWL_ERR_NO_MEMORY
             : pawl_get_async(b->r.client, s->other, &s->watch_other.ask, other_seen, s);
    if (rc != 0) {
        barrier_finish(b, ROOM_IDLE, rc);
    } else {
        s->refs++;
    }
}

static void all_gone(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;
    bool look_again = reply->err == PAWL_ERR_NO_NODE || reply->outcome == PAWL_OUTCOME_UNKNOWN;

    barrier_settled(s->b);
    s->left = reply->err == 0;
    if (s->over) {
        if (!s->left) {
            stay_delete_own(s);
        }
    } else if (look_again) {
        barrier_leave(s);
    } else {
        barrier_finish(s->b, ROOM_IDLE, s->left && s->lost ? PAWL_ERR_LOST : reply->err);
    }
    stay_unref(s);
}

/* The last one out. Both at once, so that nobody finds a `ready` without members. Our node proves
 * that it is the one of our round. */
static void close_it(struct stay *s)
{
    struct pawl_double_barrier *b = s->b;
    struct pawl_multi *m = pawl_multi_new(b->r.client);
    int rc = PAWL_ERR_NO_MEMORY;

    if (m != NULL) {
        pawl_multi_delete(m, PAWL_DELETE(.path = b->own));
        pawl_multi_delete(m, PAWL_DELETE(.path = b->ready));
        rc = pawl_multi_run_async(b->r.client, m, all_gone, s);
    }
    pawl_multi_free(m);
    if (rc != 0) {
        barrier_finish(b, ROOM_IDLE, rc);
        return;
    }
    s->left = s->closing = true;
    s->refs++;
    b->n_loose++;
}

/* ---- what nobody has closed ---- */

static void close_leftover(struct stay *s);

static void asked_to_close(struct stay *s, int rc)
{
    if (rc != 0) {
        barrier_finish(s->b, ROOM_IDLE, rc);
    } else {
        s->refs++;
    }
}

static void leftover_gone(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    if (is_leaving(s)) {
        if (recipe_was_done(reply) || reply->err == PAWL_ERR_NO_NODE ||
            reply->err == PAWL_ERR_BAD_VERSION) {
            leave_done(s);
        } else if (reply->outcome == PAWL_OUTCOME_UNKNOWN) {
            close_leftover(s);
        } else {
            barrier_finish(s->b, ROOM_IDLE, reply->err);
        }
    }
    stay_unref(s);
}

/* One that was made after we had seen that nobody is there is the next round's. */
static void leftover_marked(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    if (is_leaving(s)) {
        if (reply->err == 0 && reply->stat.czxid <= s->listed_zxid) {
            asked_to_close(s, stay_delete_ready(s, reply->stat.version, leftover_gone));
        } else if (reply->err == 0 || reply->err == PAWL_ERR_NO_NODE) {
            leave_done(s);
        } else if (recipe_was_done(reply) || reply->outcome == PAWL_OUTCOME_UNKNOWN) {
            close_leftover(s);
        } else {
            barrier_finish(s->b, ROOM_IDLE, reply->err);
        }
    }
    stay_unref(s);
}

/* We have left, and the last one died before he could close it. Who comes from now on belongs to
 * the next round, and is not waited for. */
static void close_leftover(struct stay *s)
{
    asked_to_close(s, stay_mark_ready(s, leftover_marked));
}

/* The others in string order: the lowest and the highest of them. */
static void find_others(const struct pawl_strings *names, const char *own, const char **lowest,
                        const char **highest)
{
    *lowest = *highest = NULL;
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->items[i];

        if (barrier_is_member(name) && strcmp(name, own) != 0) {
            *lowest = *lowest == NULL || strcmp(name, *lowest) < 0 ? name : *lowest;
            *highest = *highest == NULL || strcmp(name, *highest) > 0 ? name : *highest;
        }
    }
}

/* The lowest stays until it is alone; the others go, and wait for the lowest. Without `ready` the
 * last one has closed the barrier behind himself: who is there now belongs to the next round. */
static void leave_judge(struct stay *s, const struct pawl_strings *names)
{
    struct pawl_double_barrier *b = s->b;
    const char *lowest, *highest;
    bool own_is_there, ready_is_there;

    barrier_count(names, b->name, &own_is_there, &ready_is_there);
    s->lost |= !s->left && !s->closing && (!own_is_there || !stay_is_ours(s));
    find_others(names, b->name, &lowest, &highest);
    if (!ready_is_there) {
        leave_done(s);
    } else if (lowest == NULL && own_is_there) {
        close_it(s);
    } else if (lowest == NULL) {
        close_leftover(s);
    } else if (s->closing && !own_is_there) {
        leave_done(s); /* we were alone when we closed it; they are of the next round */
    } else if (own_is_there && !s->lost && strcmp(b->name, lowest) < 0) {
        watch_other(s, highest);
    } else {
        watch_other(s, lowest);
        if (own_is_there && !s->over && !s->left) {
            stay_delete_own(s);
        }
    }
}

static void leave_listed(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    if (is_leaving(s)) {
        s->listed_zxid = reply->zxid;
        if (reply->err == 0) {
            leave_judge(s, &reply->children);
        } else if (reply->err == PAWL_ERR_NO_NODE) {
            s->lost |= !s->left;
            s->left = true;
            leave_done(s);
        } else {
            barrier_finish(s->b, ROOM_IDLE, reply->err);
        }
    }
    stay_unref(s);
}

void barrier_leave(struct stay *s)
{
    int rc = pawl_children_async(s->b->r.client, s->b->base, NULL, leave_listed, s);

    if (rc != 0) {
        barrier_finish(s->b, ROOM_IDLE, rc);
    } else {
        s->refs++;
    }
}
