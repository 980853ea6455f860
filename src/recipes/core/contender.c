/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/core/contender.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/gzip.h"
#include "recipes/core/attempt.h"

enum {
    AGAIN_MS = 100,        /* what there was no memory for */
    PROTECTION_BYTES = 64, /* the random id before a name, the number behind it */
};

static void contender_requeue(struct contender *c);
static void contender_fail(struct contender *c, int err);
static void contender_ask_list(struct attempt *a);

/* ---- states ---- */

static const uint8_t contender_may_follow[] = {
    [CONTENDER_IDLE] = 1 << CONTENDER_PROBING | 1 << CONTENDER_QUEUEING,
    [CONTENDER_PROBING] = 1 << CONTENDER_QUEUEING | 1 << CONTENDER_IDLE,
    [CONTENDER_QUEUEING] = 1 << CONTENDER_QUEUEING | 1 << CONTENDER_WAITING |
                           1 << CONTENDER_DELAYED | 1 << CONTENDER_UNSURE | 1 << CONTENDER_HELD |
                           1 << CONTENDER_IDLE,
    [CONTENDER_WAITING] = 1 << CONTENDER_WAITING | 1 << CONTENDER_QUEUEING |
                          1 << CONTENDER_DELAYED | 1 << CONTENDER_UNSURE | 1 << CONTENDER_HELD |
                          1 << CONTENDER_IDLE,
    [CONTENDER_DELAYED] = 1 << CONTENDER_WAITING | 1 << CONTENDER_QUEUEING | 1 << CONTENDER_UNSURE |
                          1 << CONTENDER_HELD | 1 << CONTENDER_IDLE,
    [CONTENDER_UNSURE] = 1 << CONTENDER_UNSURE | 1 << CONTENDER_WAITING | 1 << CONTENDER_QUEUEING |
                         1 << CONTENDER_HELD | 1 << CONTENDER_IDLE,
    [CONTENDER_HELD] = 1 << CONTENDER_IDLE,
};

/* What is true of a contender between any two moves. */
static void contender_check(const struct contender *c)
{
    const struct attempt *a = c->attempt;

    ASSERT((c->state == CONTENDER_IDLE) == (a == NULL));
    ASSERT(a == NULL || a->owner == c);
    if (c->state > CONTENDER_QUEUEING) {
        ASSERT(a->path != NULL && a->token > 0 && a->session_id != 0);
    }
    ASSERT(c->state == CONTENDER_HELD || c->grant.state == PAWL_GRANT_NONE);
}

static void contender_move(struct contender *c, enum contender_state next)
{
    bool was_idle = c->state == CONTENDER_IDLE, is_idle = next == CONTENDER_IDLE;

    ASSERT((contender_may_follow[c->state] & 1 << next) != 0);
    if (was_idle != is_idle) {
        core_keep_certain(c->r->e->core, was_idle);
    }
    c->state = next;
    contender_check(c);
}

/* ---- parting ---- */

static void unwatch_ahead(struct attempt *a)
{
    for (size_t i = 0; i < a->n_ahead; i++) {
        recipe_unwatch(a->r, &a->watch_ahead, a->ahead[i],
                       a->ahead_is_list ? PAWL_WATCHES_CHILDREN : PAWL_WATCHES_DATA);
    }
}

/* The contender and its attempt part. What is on its way finds no owner and cleans up. */
static struct attempt *contender_let_go(struct contender *c)
{
    struct attempt *a = c->attempt;

    timer_clear(c->r->e, &c->delay);
    timer_clear(c->r->e, &c->own);
    place_drop(&a->place);
    c->attempt = NULL;
    a->owner = NULL;
    unwatch_ahead(a);
    return a;
}

static void contender_give_up(struct contender *c)
{
    struct attempt *a;

    if (c->attempt == NULL) {
        return;
    }
    a = contender_let_go(c);
    if (a->path != NULL) {
        attempt_delete(a);
    }
    attempt_unref(a);
}

/* ---- our own node ---- */

static const char revoke_text[] = "__REVOKE__";

static bool is_revoke_text(struct bytes b)
{
    return b.len == sizeof(revoke_text) - 1 && memcmp(b.data, revoke_text, b.len) == 0;
}

/* Who asks may compress what it writes although we do not, or the other way round. */
static bool is_revocation(const struct pawl_reply *reply)
{
    struct bytes data = bytes_of(reply->data.data, reply->data.len);
    uint8_t *unpacked;
    size_t len;
    bool is;

    if (is_revoke_text(data) || gzip_unpack(data, sizeof(revoke_text), &unpacked, &len) != 0) {
        return is_revoke_text(data);
    }
    is = is_revoke_text(bytes_of(unpacked, len));
    free(unpacked);
    return is;
}

static void watch_own_later(struct attempt *a)
{
    if (a->owner != NULL && a->owner->state == CONTENDER_HELD) {
        timer_set(a->r->e, &a->owner->own, machine_now_ms() + AGAIN_MS);
    }
}

static void own_read(const struct pawl_reply *reply, void *attempt)
{
    struct attempt *a = attempt;
    struct contender *c = a->owner;

    if (recipe_was_done(reply)) {
        if (c != NULL && c->revoked != NULL && is_revocation(reply)) {
            c->revoked(c);
        }
    } else if (reply->err == PAWL_ERR_NO_NODE && c != NULL && c->state == CONTENDER_HELD) {
        grant_lose(&c->grant);
    } else if (reply->err == PAWL_ERR_NO_MEMORY) {
        watch_own_later(a);
    }
    if (c == NULL) {
        recipe_unwatch(a->r, &a->watch_own, a->path, PAWL_WATCHES_DATA);
    }
    attempt_unref(a);
}

static void watch_own(struct attempt *a)
{
    if (pawl_get_async(a->r->client, a->path, &a->watch_own.ask, own_read, a) == 0) {
        attempt_ref(a);
    } else {
        watch_own_later(a);
    }
}

static void own_event(const struct pawl_event *event, void *attempt)
{
    struct attempt *a = attempt;
    struct contender *c = a->owner;

    if (c != NULL && event->type == PAWL_EVENT_DATA_CHANGED) {
        watch_own(a);
    } else if (c != NULL && event->type == PAWL_EVENT_DELETED) {
        if (c->state == CONTENDER_HELD) {
            grant_lose(&c->grant);
        } else {
            contender_requeue(c);
        }
    }
}

static void held_long(void *contender)
{
    struct contender *c = contender;

    if (c->state == CONTENDER_HELD && !step_watch_is_set(&c->attempt->watch_own)) {
        watch_own(c->attempt);
    }
}

/* ---- who is ahead ---- */

/* A listing that is on its way shows what the event tells of: it was asked for before, but is
 * answered after it. */
static void ahead_event(const struct pawl_event *event, void *attempt)
{
    struct attempt *a = attempt;
    bool died = event->type == PAWL_EVENT_DELETED;

    if (a->owner == NULL || a->owner->state != CONTENDER_WAITING ||
        event->type == PAWL_EVENT_SESSION) {
        return;
    }
    a->died = died || (a->listing && a->died);
    if (!a->listing) {
        contender_ask_list(a);
    }
}

static void ahead_read(const struct pawl_reply *reply, void *attempt)
{
    struct attempt *a = attempt;
    struct contender *c = a->owner;

    if (c == NULL) {
        unwatch_ahead(a);
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        a->died = true; /* nobody saw how it went: the delay is on the safe side */
        if (!a->listing) {
            contender_ask_list(a);
        }
    } else if (!recipe_was_done(reply)) { /* what its data are does not matter */
        contender_fail(c, reply->err);
    }
    attempt_unref(a);
}

/* With get and not with exists: that would leave a watch behind when the node is gone already. */
static int watch_one(struct attempt *a, char *path)
{
    int rc = path == NULL ? PAWL_ERR_NO_MEMORY
                          : pawl_get_async(a->r->client, path, &a->watch_ahead.ask, ahead_read, a);

    if (rc == 0) {
        a->ahead[a->n_ahead++] = path;
        attempt_ref(a);
    } else {
        free(path);
    }
    return rc;
}

/* Those that were watched before and are not named any more have gone, and their watches with them:
 * nobody comes in ahead of us. */
static void watch_ahead(struct contender *c, const char *const *names, size_t n)
{
    struct attempt *a = c->attempt;
    int rc = attempt_forget_ahead(a, n);

    contender_move(c, CONTENDER_WAITING);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = watch_one(a, recipe_join(c->o.base, names[i]));
    }
    if (rc != 0) {
        contender_fail(c, rc);
    }
}

/* The listing that shows that it is not our turn is the one that sets the watch. */
static void watch_list(struct contender *c)
{
    struct attempt *a = c->attempt;

    contender_move(c, CONTENDER_WAITING);
    if (!step_watch_is_set(&a->watch_ahead)) {
        contender_ask_list(a);
    }
}

/* ---- whose turn it is ---- */

static void claim(struct contender *c)
{
    struct attempt *a = c->attempt;
    char *path = recipe_copy(a->path);

    if (path == NULL) {
        contender_fail(c, PAWL_ERR_NO_MEMORY);
        return;
    }
    contender_move(c, CONTENDER_HELD);
    unwatch_ahead(a);
    observer_remove(&c->observer);
    grant_give(&c->grant, path, a->token, a->session_id);
    ASSERT(c->grant.state == PAWL_GRANT_CERTAIN);
    if (!c->o.revocable) {
        timer_set(c->r->e, &c->own, machine_now_ms() + c->o.watch_own_after_ms);
    }
    c->settled(c, 0);
}

static void sure(void *contender)
{
    struct contender *c = contender;

    if (c->state == CONTENDER_UNSURE && !c->attempt->listing) {
        contender_ask_list(c->attempt);
    }
}

/* A node that is the first is no more than that: its session may be dead where that is decided. */
static void our_turn(struct contender *c)
{
    struct attempt *a = c->attempt;

    if (c->o.delay_ms > 0 && a->died && !a->waited) {
        a->waited = true;
        contender_move(c, CONTENDER_DELAYED);
        timer_set(c->r->e, &c->delay, machine_now_ms() + c->o.delay_ms);
    } else if (engine_certain_ms(c->r->e) == 0) {
        contender_move(c, CONTENDER_UNSURE);
    } else {
        claim(c);
    }
}

static void delay_over(void *contender)
{
    struct contender *c = contender;

    if (c->state == CONTENDER_DELAYED) {
        contender_ask_list(c->attempt);
    }
}

static void decide_sorted(struct contender *c, const struct pawl_strings *names)
{
    const char **copy = malloc(2 * names->n * sizeof(*copy));
    struct pawl_strings sorted = {.items = copy, .n = names->n};
    size_t own = 0, watch = 0, n_watch = 1;

    if (copy == NULL) {
        contender_fail(c, PAWL_ERR_NO_MEMORY);
        return;
    }
    memcpy(copy, names->items, names->n * sizeof(*copy));
    contender_sort(c, copy, copy + names->n, names->n);
    contender_find(&sorted, c->attempt->name, &own);
    if (contender_may_hold(c, &sorted, own, &watch, &n_watch)) {
        our_turn(c);
    } else if (c->is_try) {
        contender_fail(c, PAWL_ERR_OPERATION_TIMEOUT);
    } else if (c->o.watch_list) {
        watch_list(c);
    } else {
        watch_ahead(c, &sorted.items[watch], n_watch);
    }
    free(copy);
}

/* From 3.6 on a server stops counting at 2147483647: all later nodes of the folder get the same
 * number, and have no order. The first to have it sees no other, and keeps its place; the others
 * must not have any. It is over when the folder was empty and has been made again. */
static bool has_no_place(const struct contender *c, const struct pawl_strings *names, size_t own)
{
    struct attempt *a = c->attempt;

    if (!a->placed && !a->shares && contender_number_is_shared(c, names, own)) {
        return true;
    }
    a->placed = true;
    return false;
}

static void contender_decide(struct contender *c, const struct pawl_strings *names)
{
    size_t own, watch = 0;

    if (!contender_find(names, c->attempt->name, &own) || !attempt_is_ours(c->attempt) ||
        (c->attempt->shares && !c->o.rule->place_is_ours(c, names))) {
        contender_requeue(c);
    } else if (c->r->e->core->state == PAWL_STATE_READ_ONLY) {
        contender_move(c, CONTENDER_QUEUEING); /* it may be behind: asked again later */
    } else if (has_no_place(c, names, own)) {
        contender_fail(c, PAWL_ERR_NODE_EXISTS);
    } else if (c->o.rule != NULL || c->o.permits > 1) {
        decide_sorted(c, names);
    } else if (contender_is_first(c, names, own, &watch)) {
        our_turn(c);
    } else if (c->is_try) {
        contender_fail(c, PAWL_ERR_OPERATION_TIMEOUT);
    } else {
        watch_ahead(c, &names->items[watch], 1);
    }
}

static void contender_listed(const struct pawl_reply *reply, void *attempt)
{
    struct attempt *a = attempt;
    struct contender *c = a->owner;

    a->listing = false;
    if (c == NULL) {
        unwatch_ahead(a);
    }
    if (c == NULL || a->path == NULL || c->state == CONTENDER_HELD) {
        /* given up; or the create is not through: its answer asks again */
    } else if (reply->err == 0) {
        contender_decide(c, &reply->children);
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        contender_requeue(c);
    } else {
        contender_fail(c, reply->err);
    }
    attempt_unref(a);
}

static void contender_ask_list(struct attempt *a)
{
    struct contender *c = a->owner;
    bool watched =
        c->o.watch_list && c->state == CONTENDER_WAITING && !step_watch_is_set(&a->watch_ahead);
    int rc = 0;

    if (watched && a->n_ahead == 0) {
        rc = attempt_watches_list(a, c->o.base);
    }
    rc = rc != 0 ? rc
                 : pawl_children_async(c->r->client, c->o.base,
                                       watched ? &a->watch_ahead.ask : NULL, contender_listed, a);
    if (rc != 0) {
        contender_fail(c, rc);
        return;
    }
    a->listing = true;
    attempt_ref(a);
}

/* ---- queueing ---- */

/* A create that was repeated in a later session than it was meant for: what it relied on has gone
 * with the session. */
static bool is_stale(const struct contender *c, const struct attempt *a)
{
    return (a->shares || c->o.once) && a->session_id != a->wanted_session;
}

/* A node that shares another's place is nothing without the other one. */
static void keep_place(struct attempt *a)
{
    const struct contender *c = a->owner;

    if (!a->shares) {
        a->place = (struct place){.view = c->r->client,
                                  .folder = c->o.base,
                                  .marker = c->o.marker,
                                  .path = a->path,
                                  .token = a->token};
        place_keep(c->r->e, &a->place);
    }
}

static void contender_created(const struct pawl_reply *reply, void *attempt)
{
    struct attempt *a = attempt;
    struct contender *c = a->owner;

    if (reply->err != 0) {
        if (reply->path != NULL) {
            attempt_keep(a, reply); /* it was made, but there is no memory to say more of it */
        }
        if (c != NULL) {
            contender_fail(c, reply->err);
        } else if (a->path != NULL) {
            attempt_delete(a);
        }
    } else if (!attempt_keep(a, reply)) {
        pawl_delete_async(a->r->client,
                          PAWL_DELETE(.path = reply->path, .flags = PAWL_OP_GUARANTEED), NULL,
                          NULL);
        if (c != NULL) {
            contender_fail(c, PAWL_ERR_NO_MEMORY);
        }
    } else if (c == NULL) {
        attempt_delete(a);
    } else if (!attempt_is_ours(a) || is_stale(c, a)) {
        contender_requeue(c);
    } else {
        keep_place(a);
        if (c->o.revocable) {
            watch_own(a);
        }
        if (!a->listing) {
            contender_ask_list(a); /* the one sent with the create was answered too early */
        }
    }
    attempt_unref(a);
}

static struct attempt *new_attempt(struct contender *c)
{
    struct attempt *a = attempt_new(c->r, ahead_event, own_event);

    if (a != NULL) {
        a->owner = c;
    }
    return a;
}

/* The session has brought a node of ours along: we go on with it, whether it held or waited.
 * NOTHING: it has not. */
static int inherit(struct contender *c)
{
    struct attempt *a = new_attempt(c);
    int rc;

    if (a == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    if (!place_inherit(c->r->client, c->o.base, c->o.marker, &a->path, &a->token)) {
        attempt_unref(a);
        return PAWL_ERR_NOTHING;
    }
    a->name = strrchr(a->path, '/') + 1;
    a->session_id = c->r->e->core->session_id;
    a->placed = true;
    rc = pawl_children_async(c->r->client, c->o.base, NULL, contender_listed, a);
    if (rc != 0) {
        attempt_unref(a);
        return rc;
    }
    attempt_ref(a);
    a->listing = true;
    c->attempt = a;
    contender_move(c, CONTENDER_QUEUEING);
    keep_place(a);
    if (c->o.revocable) {
        watch_own(a);
    }
    return 0;
}

static int contender_queue(struct contender *c)
{
    bool may_share = c->o.rule != NULL && c->o.rule->place != NULL;
    int64_t token = 0;
    const char *place = may_share ? c->o.rule->place(c, &token) : NULL;
    struct attempt *a = new_attempt(c);
    char *path = contender_own_path(c, place);
    int rc = PAWL_ERR_NO_MEMORY;

    if (a == NULL || path == NULL) {
        goto fail;
    }
    a->room_size = strlen(path) + PROTECTION_BYTES;
    a->room = malloc(a->room_size);
    a->wanted_session = c->r->e->core->session_id;
    a->shares = place != NULL;
    a->token = token;
    if (a->room != NULL) {
        rc = pawl_create_async(c->r->client,
                               PAWL_CREATE(.path = path, .data = c->o.data,
                                           .mode = place != NULL ? PAWL_MODE_EPHEMERAL
                                                                 : PAWL_MODE_EPHEMERAL_SEQUENTIAL,
                                           .flags = PAWL_OP_PROTECTED | PAWL_OP_CONTAINER_PARENTS),
                               contender_created, a);
    }
    if (rc != 0) {
        goto fail;
    }
    free(path);
    attempt_ref(a);
    c->attempt = a;
    contender_move(c, CONTENDER_QUEUEING);
    if (pawl_children_async(c->r->client, c->o.base, NULL, contender_listed, a) == 0) {
        a->listing = true;
        attempt_ref(a);
    }
    return 0;

fail:
    free(path);
    if (a != NULL) {
        attempt_unref(a);
    }
    return rc;
}

static void queue_anew(struct contender *c)
{
    int rc;

    contender_give_up(c);
    rc = contender_queue(c);
    if (rc != 0) {
        contender_fail(c, rc);
    }
}

/* The session is new or our node was taken away: a new place, at the end. */
static void contender_requeue(struct contender *c)
{
    if (c->o.once) {
        contender_fail(c, PAWL_ERR_LOST);
    } else {
        queue_anew(c);
    }
}

static void to_idle(struct contender *c)
{
    if (c->state != CONTENDER_HELD) {
        observer_remove(&c->observer);
    }
    contender_move(c, CONTENDER_IDLE);
}

static void contender_fail(struct contender *c, int err)
{
    contender_give_up(c);
    to_idle(c);
    c->settled(c, err);
}

/* While we queue; as a holder the grant looks after itself. */
static void contender_state_changed(enum pawl_state state, void *contender)
{
    struct contender *c = contender;
    bool one_session = c->r->e->core->options.one_session;

    if (state == PAWL_STATE_CLOSED) {
        contender_fail(c,
                       PAWL_ERR_CLOSING); /* who waits has no call under way that would tell him */
    } else if (state == PAWL_STATE_LOST && one_session) {
        contender_fail(c, PAWL_ERR_SESSION_EXPIRED);
    } else if (state == PAWL_STATE_LOST && c->attempt != NULL && c->attempt->path != NULL) {
        contender_requeue(
            c); /* a create that is on its way finds its own way into the new session */
    } else if ((state == PAWL_STATE_RECONNECTED || state == PAWL_STATE_CONNECTED) &&
               c->state == CONTENDER_QUEUEING && c->attempt->path != NULL && !c->attempt->listing) {
        contender_ask_list(c->attempt);
    }
}

/* ---- a try ---- */

static void probed(const struct pawl_reply *reply, void *attempt)
{
    struct attempt *a = attempt;
    struct contender *c = a->owner;
    bool is_free;

    if (c == NULL) {
        attempt_unref(a);
        return;
    }
    if (reply->err != 0 && reply->err != PAWL_ERR_NO_NODE) {
        contender_fail(c, reply->err);
    } else {
        is_free = c->o.rule != NULL ? c->o.rule->is_free(c, &reply->children)
                                    : reply->children.n < (size_t)c->o.permits;
        if (is_free) {
            queue_anew(c);
        } else {
            contender_fail(c, PAWL_ERR_OPERATION_TIMEOUT);
        }
    }
    attempt_unref(a);
}

/* Looks first: on a lock that is held a try costs one read and nobody a write. */
static int contender_probe(struct contender *c)
{
    struct attempt *a = new_attempt(c);
    int rc;

    if (a == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    rc = pawl_children_async(c->r->client, c->o.base, NULL, probed, a);
    if (rc != 0) {
        attempt_unref(a);
        return rc;
    }
    attempt_ref(a);
    c->attempt = a;
    contender_move(c, CONTENDER_PROBING);
    return 0;
}

/* ---- from outside ---- */

void contender_init(struct contender *c, struct recipe *r, const struct contender_options *o)
{
    *c = (struct contender){.r = r, .o = *o};
    list_init(&c->observer.link);
    timer_init(&c->delay, delay_over, c);
    timer_init(&c->own, held_long, c);
    grant_init(&c->grant, r, PAWL_DOUBT_STOP, NULL, NULL);
}

void contender_fini(struct contender *c)
{
    ASSERT(c->state == CONTENDER_IDLE && c->attempt == NULL);
    grant_fini(&c->grant);
}

int contender_start(struct contender *c, bool is_try)
{
    bool look_first = is_try && (c->o.rule == NULL || c->o.rule->is_free != NULL);
    int rc;

    ASSERT(c->state == CONTENDER_IDLE);
    c->is_try = is_try;
    rc = list_empty(&c->r->e->places.inherited) ? PAWL_ERR_NOTHING : inherit(c);
    if (rc == PAWL_ERR_NOTHING) {
        rc = look_first ? contender_probe(c) : contender_queue(c);
    }
    if (rc == 0) {
        observer_add(c->r->e, &c->observer, contender_state_changed, c);
        c->observer.certain = sure;
    }
    return rc;
}

void contender_stop(struct contender *c)
{
    if (c->state == CONTENDER_HELD) {
        grant_take_back(&c->grant);
    }
    if (c->state != CONTENDER_IDLE) {
        contender_give_up(c);
        to_idle(c);
    }
}

void contender_release(struct contender *c, void (*done)(void *arg, int err), void *arg)
{
    struct attempt *a;

    ASSERT(c->state == CONTENDER_HELD);
    grant_take_back(&c->grant);
    a = contender_let_go(c);
    contender_move(c, CONTENDER_IDLE);
    a->released = done;
    a->released_arg = arg;
    if (c->o.delay_ms > 0) {
        attempt_delete_with_notice(a);
    } else {
        attempt_delete(a);
    }
    attempt_unref(a);
}

void contender_poke(struct contender *c)
{
    if (c->state == CONTENDER_WAITING && !c->attempt->listing) {
        contender_ask_list(c->attempt);
    }
}
