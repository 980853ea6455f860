/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/barrier/double_barrier.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/beacon.h"
#include "client/prepare.h"
#include "client/uuid.h"

struct call_ask {
    struct ask ask;
    pawl_double_barrier_fn done;
    void *arg;
};

/* ---- states ---- */

static const uint8_t room_may_follow[] = {
    [ROOM_IDLE] = 1 << ROOM_JOINING,
    [ROOM_JOINING] = 1 << ROOM_JOINING | 1 << ROOM_DECIDING | 1 << ROOM_INSIDE | 1 << ROOM_IDLE,
    [ROOM_DECIDING] = 1 << ROOM_DECIDING | 1 << ROOM_WAITING | 1 << ROOM_JOINING |
                      1 << ROOM_INSIDE | 1 << ROOM_IDLE,
    [ROOM_WAITING] = 1 << ROOM_DECIDING | 1 << ROOM_JOINING | 1 << ROOM_INSIDE | 1 << ROOM_IDLE,
    [ROOM_INSIDE] = 1 << ROOM_LEAVING | 1 << ROOM_IDLE,
    [ROOM_LEAVING] = 1 << ROOM_IDLE,
};

/* What is true of a member between any two moves. */
static void barrier_check(const struct pawl_double_barrier *b)
{
    bool somebody_waits = b->state != ROOM_IDLE && b->state != ROOM_INSIDE;

    ASSERT((b->ask != NULL) == somebody_waits);
    ASSERT(b->state != ROOM_IDLE || b->stay == NULL);
    if (b->state > ROOM_JOINING) {
        ASSERT(b->stay != NULL && !b->stay->over && b->stay->czxid != 0);
    }
}

void barrier_move(struct pawl_double_barrier *b, enum room_state next)
{
    ASSERT((room_may_follow[b->state] & 1 << next) != 0);
    b->state = next;
    barrier_check(b);
}

/* ---- stays ---- */

void stay_free_late(struct stay *s)
{
    for (size_t i = 0; i < s->n_late; i++) {
        free(s->late[i]);
    }
    free(s->late);
    s->late = NULL;
    s->n_late = s->next_late = 0;
}

void stay_unref(struct stay *s)
{
    struct recipe *r = &s->b->r;

    if (--s->refs > 0) {
        return;
    }
    stay_free_late(s);
    free(s->other);
    free(s);
    recipe_unref(r);
}

static void stay_ref(void *stay)
{
    ((struct stay *)stay)->refs++;
}

static void stay_unref_watch(void *stay)
{
    stay_unref(stay);
}

struct stay *stay_new(struct pawl_double_barrier *b)
{
    struct stay *s = calloc(1, sizeof(*s));

    if (s != NULL) {
        s->b = b;
        s->refs = 1;
        step_watch_init(&s->watch_ready, stay_ready_event, s, stay_ref, stay_unref_watch, s);
        step_watch_init(&s->watch_own, stay_own_event, s, stay_ref, stay_unref_watch, s);
        step_watch_init(&s->watch_other, stay_other_event, s, stay_ref, stay_unref_watch, s);
        recipe_ref(&b->r);
    }
    return s;
}

bool stay_is_ours(const struct stay *s)
{
    return s->czxid != 0 && s->session_id == s->b->r.e->core->session_id;
}

void barrier_settled(struct pawl_double_barrier *b)
{
    b->n_loose--;
    if (b->state == ROOM_JOINING && b->stay == NULL) {
        barrier_join(b);
    }
}

static void own_gone(const struct pawl_reply *reply, void *stay)
{
    struct stay *s = stay;

    (void)reply;
    barrier_settled(s->b);
    stay_unref(s);
}

void stay_delete_own(struct stay *s)
{
    int rc = pawl_delete_async(
        s->b->r.client,
        PAWL_DELETE(.path = s->b->own, .flags = PAWL_OP_IDEMPOTENT | PAWL_OP_GUARANTEED), own_gone,
        s);

    s->left = true;
    if (rc == 0) {
        s->refs++;
        s->b->n_loose++;
    }
}

/* Neither is tried again when it is not known whether it happened: by then it may be another's. */
int stay_mark_ready(struct stay *s, pawl_reply_fn done)
{
    struct pawl_double_barrier *b = s->b;

    return pawl_set_async(b->r.client,
                          PAWL_SET(.path = b->ready, .data = {b->data, strlen(b->data)}), done, s);
}

int stay_delete_ready(struct stay *s, int32_t version, pawl_reply_fn done)
{
    return pawl_delete_async(s->b->r.client,
                             PAWL_DELETE(.path = s->b->ready, .only_if = pawl_version(version)),
                             done, s);
}

void stay_unwatch_all(struct stay *s)
{
    struct recipe *r = &s->b->r;

    recipe_unwatch(r, &s->watch_ready, s->b->ready, PAWL_WATCHES_DATA);
    recipe_unwatch(r, &s->watch_own, s->b->own, PAWL_WATCHES_DATA);
    recipe_unwatch(r, &s->watch_other, s->other, PAWL_WATCHES_DATA);
}

/* The stay is over; a create that has no answer yet will see to its node itself. */
void barrier_let_go(struct pawl_double_barrier *b)
{
    struct stay *s = b->stay;

    if (s == NULL) {
        return;
    }
    b->stay = NULL;
    s->over = true;
    stay_unwatch_all(s);
    if (s->czxid != 0 && !s->left) {
        stay_delete_own(s);
    }
    stay_unref(s);
}

void barrier_finish(struct pawl_double_barrier *b, enum room_state next, int err)
{
    struct ask *a = b->ask;

    b->ask = NULL;
    if (next == ROOM_IDLE) {
        barrier_let_go(b);
    }
    barrier_move(b, next);
    ask_end(a, err);
}

/* ---- names ---- */

bool barrier_is_member(const char *name)
{
    return strcmp(name, "ready") != 0;
}

size_t barrier_count(const struct pawl_strings *names, const char *own, bool *own_is_there,
                     bool *ready_is_there)
{
    size_t n = 0;

    *own_is_there = *ready_is_there = false;
    for (size_t i = 0; i < names->n; i++) {
        n += barrier_is_member(names->items[i]);
        *own_is_there |= strcmp(names->items[i], own) == 0;
        *ready_is_there |= !barrier_is_member(names->items[i]);
    }
    return n;
}

/* ---- from outside ---- */

static struct pawl_double_barrier *double_barrier_of(const struct ask *a)
{
    return container_of(a->r, struct pawl_double_barrier, r);
}

static void give_up_passage(struct ask *a, int err)
{
    barrier_finish(double_barrier_of(a), ROOM_IDLE, err);
}

static int start_enter(struct ask *a)
{
    struct pawl_double_barrier *b = double_barrier_of(a);

    if (b->state != ROOM_IDLE) {
        return PAWL_ERR_INVALID_STATE;
    }
    b->ask = a;
    a->give_up = give_up_passage;
    barrier_join(b);
    return 0;
}

static int start_leave(struct ask *a)
{
    struct pawl_double_barrier *b = double_barrier_of(a);

    if (b->state != ROOM_INSIDE) {
        return PAWL_ERR_INVALID_STATE;
    }
    b->ask = a;
    a->give_up = give_up_passage;
    barrier_move(b, ROOM_LEAVING);
    barrier_leave(b->stay);
    return 0;
}

static void double_barrier_tell(struct ask *ask)
{
    struct call_ask *a = container_of(ask, struct call_ask, ask);

    a->done(double_barrier_of(ask), ask->err, a->arg);
}

static int double_barrier_run_now(struct pawl_double_barrier *b, int (*start)(struct ask *a),
                                  int timeout_ms)
{
    struct ask *a = ask_new(sizeof(struct call_ask), start);

    return ask_block(b == NULL ? NULL : &b->r, a, timeout_ms, NULL, NULL);
}

static int double_barrier_run_later(struct pawl_double_barrier *b, int (*start)(struct ask *a),
                                    int timeout_ms, pawl_double_barrier_fn done, void *arg)
{
    struct call_ask *a;

    if (b == NULL || done == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    a = ask_new(sizeof(*a), start);
    if (a != NULL) {
        a->ask.tell = double_barrier_tell;
        a->done = done;
        a->arg = arg;
    }
    return ask_post(&b->r, a == NULL ? NULL : &a->ask, timeout_ms);
}

int pawl_double_barrier_enter(struct pawl_double_barrier *b, int timeout_ms)
{
    return double_barrier_run_now(b, start_enter, timeout_ms);
}

int pawl_double_barrier_enter_async(struct pawl_double_barrier *b, int timeout_ms,
                                    pawl_double_barrier_fn done, void *arg)
{
    return double_barrier_run_later(b, start_enter, timeout_ms, done, arg);
}

int pawl_double_barrier_leave(struct pawl_double_barrier *b, int timeout_ms)
{
    return double_barrier_run_now(b, start_leave, timeout_ms);
}

int pawl_double_barrier_leave_async(struct pawl_double_barrier *b, int timeout_ms,
                                    pawl_double_barrier_fn done, void *arg)
{
    return double_barrier_run_later(b, start_leave, timeout_ms, done, arg);
}

/* ---- life ---- */

static void double_barrier_destroy(struct recipe *r)
{
    struct pawl_double_barrier *b = container_of(r, struct pawl_double_barrier, r);

    recipe_fini(r);
    free(b->base);
    free(b->ready);
    free(b->own);
    free(b);
}

static int double_barrier_fill(struct pawl_double_barrier *b, const char *path)
{
    int rc = recipe_begin(&b->r);

    if (rc != 0) {
        return rc;
    }
    rc = uuid_text(b->r.e, b->name);
    recipe_end(&b->r);
    identity_text(b->data, sizeof(b->data));
    b->base = recipe_copy(path);
    b->ready = recipe_join(path, "ready");
    b->own = recipe_join(path, b->name);
    return b->base == NULL || b->ready == NULL || b->own == NULL ? PAWL_ERR_NO_MEMORY : rc;
}

int pawl_double_barrier_new(struct pawl_client *c, const char *path, int members,
                            struct pawl_double_barrier **out)
{
    struct pawl_double_barrier *b;
    struct recipe *r;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (c == NULL || out == NULL || members < 1 || !prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = recipe_new(sizeof(*b), c, double_barrier_destroy, &r);
    if (rc != 0) {
        return rc;
    }
    b = container_of(r, struct pawl_double_barrier, r);
    b->members = (size_t)members;
    rc = double_barrier_fill(b, path);
    if (rc != 0) {
        double_barrier_destroy(r);
        return rc;
    }
    *out = b;
    return 0;
}

static void double_barrier_shut(struct recipe *r)
{
    struct pawl_double_barrier *b = container_of(r, struct pawl_double_barrier, r);

    if (b->ask != NULL) {
        barrier_finish(b, ROOM_IDLE, PAWL_ERR_CANCELLED);
    } else if (b->state == ROOM_INSIDE) {
        barrier_let_go(b);
        barrier_move(b, ROOM_IDLE);
    }
}

void pawl_double_barrier_free(struct pawl_double_barrier *b)
{
    recipe_free(b == NULL ? NULL : &b->r, double_barrier_shut);
}
