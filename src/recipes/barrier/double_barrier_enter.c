/* SPDX-License-Identifier: Apache-2.0 */
/* double_barrier_enter.c - from IDLE to INSIDE. */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "recipes/barrier/double_barrier.h"

static void rejoin(struct stay *s);
static void stay_decide(struct stay *s);

/* ---- entering ---- */

static void enter(struct stay *s)
{
    ASSERT(stay_is_ours(s));
    stay_unwatch_all(s);
    stay_free_late(s);
    barrier_finish(s->b, ROOM_INSIDE, 0);
}

static bool is_entering(const struct stay *s)
{
    return !s->over && s->b->state < ROOM_INSIDE;
}

static void stay_created(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;
    struct pawl_double_barrier *b = s->b;

    if (reply->err == 0) {
        s->czxid = reply->stat.czxid;
        s->session_id = reply->stat.ephemeral_owner;
    } else if (reply->outcome == PAWL_OUTCOME_DONE || reply->outcome == PAWL_OUTCOME_UNKNOWN) {
        s->czxid = 1; /* it may be there, and is to be deleted */
    }
    if (s->over) {
        if (s->czxid != 0) {
            stay_delete_own(s);
        }
    } else if (reply->err == PAWL_ERR_NODE_EXISTS) {
        s->czxid = 1; /* of a session before; whatever it is, it has our name */
        rejoin(s);
    } else if (reply->err != 0) {
        barrier_finish(b, ROOM_IDLE, reply->err);
    } else {
        stay_decide(s);
    }
    barrier_settled(b); /* the answer itself was loose until now */
    stay_unref(s);
}

static void ready_seen(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    if (!is_entering(s)) {
        stay_unwatch_all(s);
    } else if (reply->err == 0 || reply->err == PAWL_ERR_NO_NODE) {
        s->ready_known = true;
        s->ready_czxid = reply->err == 0 ? reply->stat.czxid : 0;
        stay_decide(s);
    } else {
        barrier_finish(s->b, ROOM_IDLE, reply->err);
    }
    stay_unref(s);
}

static void look_for_ready(struct stay *s)
{
    int rc = pawl_exists_async(s->b->r.client, s->b->ready, &s->watch_ready.ask, ready_seen, s);

    s->ready_known = false;
    if (rc != 0) {
        barrier_finish(s->b, ROOM_IDLE, rc);
    } else {
        s->refs++;
    }
}

/* That it was made while our node is there is what we wait for. Anything else is a reason to look
 * again, and the end of the session a reason to begin again. */
void stay_ready_event(const struct pawl_event *event, void *stay)
{
    struct stay *s = stay;

    if (is_entering(s)) {
        if (event->type == PAWL_EVENT_CREATED && stay_is_ours(s)) {
            enter(s);
        } else if (event->type == PAWL_EVENT_SESSION && s->czxid != 0) {
            rejoin(s);
        } else {
            look_for_ready(s);
        }
    }
}

static int create_own(struct stay *s)
{
    struct pawl_double_barrier *b = s->b;
    int rc = pawl_create_async(b->r.client,
                               PAWL_CREATE(.path = b->own, .data = {b->data, strlen(b->data)},
                                           .mode = PAWL_MODE_EPHEMERAL,
                                           .flags = PAWL_OP_CONTAINER_PARENTS | PAWL_OP_IDEMPOTENT),
                               stay_created, s);

    if (rc == 0) {
        s->refs++;
        b->n_loose++;
    }
    return rc;
}

void barrier_join(struct pawl_double_barrier *b)
{
    struct stay *s;
    int rc;

    barrier_move(b, ROOM_JOINING);
    if (b->n_loose > 0) {
        return; /* barrier_settled() comes back */
    }
    s = stay_new(b);
    if (s == NULL) {
        barrier_finish(b, ROOM_IDLE, PAWL_ERR_NO_MEMORY);
        return;
    }
    s->refs++; /* the barrier's, and ours */
    b->stay = s;
    look_for_ready(s);
    if (!s->over) {
        rc = create_own(s);
        if (rc != 0) {
            barrier_finish(b, ROOM_IDLE, rc);
        }
    }
    stay_unref(s);
}

static void rejoin(struct stay *s)
{
    struct pawl_double_barrier *b = s->b;

    barrier_let_go(b);
    barrier_join(b);
}

/* ---- our own node, while we wait ---- */

void stay_own_event(const struct pawl_event *event, void *stay)
{
    struct stay *s = stay;

    if (is_entering(s) && event->type == PAWL_EVENT_DELETED) {
        rejoin(s);
    }
}

static void own_seen(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    if (!is_entering(s)) {
        stay_unwatch_all(s);
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        rejoin(s);
    }
    stay_unref(s);
}

static void wait_for_ready(struct stay *s)
{
    struct pawl_double_barrier *b = s->b;

    if (b->ask->is_try) {
        barrier_finish(b, ROOM_IDLE, PAWL_ERR_OPERATION_TIMEOUT);
        return;
    }
    barrier_move(b, ROOM_WAITING);
    if (!step_watch_is_set(&s->watch_own) &&
        pawl_get_async(b->r.client, b->own, &s->watch_own.ask, own_seen, s) == 0) {
        s->refs++;
    }
}

/* ---- opening ---- */

static void opened(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;
    bool try_again = reply->err == PAWL_ERR_NO_NODE || reply->err == PAWL_ERR_NODE_EXISTS ||
                     reply->outcome == PAWL_OUTCOME_UNKNOWN;

    s->busy = false;
    if (is_entering(s)) {
        if (reply->err == 0 && stay_is_ours(s)) {
            enter(s);
        } else if (reply->err == 0 || try_again) {
            stay_decide(s); /* if it is there we have been told by its event */
        } else {
            barrier_finish(s->b, ROOM_IDLE, reply->err);
        }
    }
    stay_unref(s);
}

/* All that were counted must be there when it opens. */
static int build_opening(struct stay *s, const struct pawl_strings *names, struct pawl_multi *m)
{
    struct pawl_double_barrier *b = s->b;
    size_t n = 1;

    pawl_multi_check(m, b->own, -1);
    for (size_t i = 0; i < names->n && n < b->members; i++) {
        if (barrier_is_member(names->items[i]) && strcmp(names->items[i], b->name) != 0) {
            char *path = recipe_join(b->base, names->items[i]);

            if (path == NULL) {
                return PAWL_ERR_NO_MEMORY;
            }
            pawl_multi_check(m, path, -1);
            free(path);
            n++;
        }
    }
    pawl_multi_create(m, PAWL_CREATE(.path = b->ready, .data = {b->data, strlen(b->data)}));
    return 0;
}

static void open_it(struct stay *s, const struct pawl_strings *names)
{
    struct pawl_double_barrier *b = s->b;
    struct pawl_multi *m = pawl_multi_new(b->r.client);
    int rc = m == NULL ? PAWL_ERR_NO_MEMORY : build_opening(s, names, m);

    if (rc == 0) {
        rc = pawl_multi_run_async(b->r.client, m, opened, s);
    }
    pawl_multi_free(m);
    if (rc != 0) {
        barrier_finish(b, ROOM_IDLE, rc);
        return;
    }
    s->busy = true;
    s->refs++;
}

/* ---- coming late ---- */

static void ask_late(struct stay *s);

static void stale_gone(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    s->busy = false;
    if (is_entering(s)) {
        if (reply->outcome == PAWL_OUTCOME_UNKNOWN || reply->err == PAWL_ERR_BAD_VERSION) {
            look_for_ready(s);
        } else if (recipe_was_done(reply) || reply->err == PAWL_ERR_NO_NODE) {
            stay_decide(s);
        } else {
            barrier_finish(s->b, ROOM_IDLE, reply->err);
        }
    }
    stay_unref(s);
}

/* The events of what we do to it come before the answers, and have us look again. */
static void stale_asked(struct stay *s, int rc)
{
    s->ready_known = false;
    if (rc != 0) {
        barrier_finish(s->b, ROOM_IDLE, rc);
        return;
    }
    s->busy = true;
    s->refs++;
}

/* Another one by now is that of the next round. */
static void stale_marked(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    s->busy = false;
    if (is_entering(s)) {
        if (reply->err == 0 && reply->stat.czxid == s->ready_czxid) {
            stale_asked(s, stay_delete_ready(s, reply->stat.version, stale_gone));
        } else if (reply->err == 0 || reply->outcome == PAWL_OUTCOME_UNKNOWN) {
            look_for_ready(s);
        } else if (recipe_was_done(reply) || reply->err == PAWL_ERR_NO_NODE) {
            stay_decide(s);
        } else {
            barrier_finish(s->b, ROOM_IDLE, reply->err);
        }
    }
    stay_unref(s);
}

static void stay_remove_stale(struct stay *s)
{
    stale_asked(s, stay_mark_ready(s, stale_marked));
}

static void late_seen(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    s->busy = false;
    if (is_entering(s)) {
        if (s->again || !s->ready_known || !stay_is_ours(s)) {
            stay_decide(s);
        } else if (reply->err == 0 && reply->stat.czxid < s->ready_czxid) {
            enter(s);
        } else if (reply->err == 0 || reply->err == PAWL_ERR_NO_NODE) {
            ask_late(s);
        } else {
            barrier_finish(s->b, ROOM_IDLE, reply->err);
        }
    }
    stay_unref(s);
}

static void ask_late(struct stay *s)
{
    int rc;

    if (s->next_late == s->n_late) {
        stay_remove_stale(s);
        return;
    }
    rc = pawl_exists_async(s->b->r.client, s->late[s->next_late++], NULL, late_seen, s);
    if (rc != 0) {
        barrier_finish(s->b, ROOM_IDLE, rc);
        return;
    }
    s->busy = true;
    s->refs++;
}

static void come_late(struct stay *s, const struct pawl_strings *names)
{
    stay_free_late(s);
    s->late = calloc(names->n + 1, sizeof(*s->late));
    for (size_t i = 0; s->late != NULL && i < names->n; i++) {
        if (barrier_is_member(names->items[i]) && strcmp(names->items[i], s->b->name) != 0) {
            s->late[s->n_late] = recipe_join(s->b->base, names->items[i]);
            if (s->late[s->n_late++] == NULL) {
                barrier_finish(s->b, ROOM_IDLE, PAWL_ERR_NO_MEMORY);
                return;
            }
        }
    }
    if (s->late == NULL) {
        barrier_finish(s->b, ROOM_IDLE, PAWL_ERR_NO_MEMORY);
        return;
    }
    ask_late(s);
}

/* ---- deciding ---- */

static void stay_judge(struct stay *s, const struct pawl_strings *names)
{
    bool own_is_there, ready_is_there;
    size_t n = barrier_count(names, s->b->name, &own_is_there, &ready_is_there);

    if (!own_is_there) {
        rejoin(s);
    } else if (s->ready_czxid != 0) {
        come_late(s, names);
    } else if (n >= s->b->members) {
        open_it(s, names);
    } else {
        wait_for_ready(s);
    }
}

static void stay_listed(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    s->busy = false;
    if (is_entering(s)) {
        if (s->again || !s->ready_known || !stay_is_ours(s)) {
            stay_decide(s);
        } else if (reply->err == 0) {
            stay_judge(s, &reply->children);
        } else if (reply->err == PAWL_ERR_NO_NODE) {
            rejoin(s);
        } else {
            barrier_finish(s->b, ROOM_IDLE, reply->err);
        }
    }
    stay_unref(s);
}

/* Our node has been made and `ready` looked for, or something has changed since. */
static void stay_decide(struct stay *s)
{
    struct pawl_double_barrier *b = s->b;
    int rc;

    if (s->busy) {
        s->again = true;
        return;
    }
    s->again = false;
    if (s->czxid == 0 || !s->ready_known) {
        return;
    }
    if (!stay_is_ours(s)) {
        rejoin(s);
        return;
    }
    if (s->ready_czxid > s->czxid) {
        enter(s);
        return;
    }
    barrier_move(b, ROOM_DECIDING);
    rc = pawl_children_async(b->r.client, b->base, NULL, stay_listed, s);
    if (rc != 0) {
        barrier_finish(b, ROOM_IDLE, rc);
        return;
    }
    s->busy = true;
    s->refs++;
}
