/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/core/attempt.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum { AGAIN_MS = 100 }; /* what there was no memory for */

static void attempt_watch_ref(void *attempt)
{
    attempt_ref(attempt);
}

static void attempt_watch_unref(void *attempt)
{
    attempt_unref(attempt);
}

struct attempt *attempt_new(struct recipe *r, pawl_event_fn ahead, pawl_event_fn own)
{
    struct attempt *a = calloc(1, sizeof(*a));

    if (a != NULL) {
        a->r = r;
        a->refs = 1;
        step_watch_init(&a->watch_ahead, ahead, a, attempt_watch_ref, attempt_watch_unref, a);
        step_watch_init(&a->watch_own, own, a, attempt_watch_ref, attempt_watch_unref, a);
        recipe_ref(r);
    }
    return a;
}

void attempt_ref(struct attempt *a)
{
    a->refs++;
}

static void free_ahead(struct attempt *a)
{
    for (size_t i = 0; i < a->n_ahead; i++) {
        free(a->ahead[i]);
    }
    free(a->ahead);
    a->ahead = NULL;
    a->n_ahead = 0;
}

void attempt_unref(struct attempt *a)
{
    struct recipe *r = a->r;

    ASSERT(a->refs > 0);
    if (--a->refs > 0) {
        return;
    }
    free(a->path);
    free(a->room);
    free_ahead(a);
    free(a);
    recipe_unref(r);
}

int attempt_forget_ahead(struct attempt *a, size_t n)
{
    free_ahead(a);
    a->ahead = calloc(n, sizeof(*a->ahead));
    return a->ahead == NULL ? PAWL_ERR_NO_MEMORY : 0;
}

int attempt_watches_list(struct attempt *a, const char *folder)
{
    int rc = attempt_forget_ahead(a, 1);

    a->ahead_is_list = true;
    if (rc == 0) {
        a->ahead[0] = recipe_copy(folder);
        a->n_ahead = a->ahead[0] != NULL;
        rc = a->ahead[0] == NULL ? PAWL_ERR_NO_MEMORY : 0;
    }
    return rc;
}

bool attempt_is_ours(const struct attempt *a)
{
    return a->session_id != 0 && a->session_id == a->r->e->core->session_id;
}

bool attempt_keep(struct attempt *a, const struct pawl_reply *reply)
{
    size_t size = strlen(reply->path) + 1;

    if (a->room != NULL && size <= a->room_size) {
        a->path = memcpy(a->room, reply->path, size);
        a->room = NULL;
    } else {
        a->path = recipe_copy(reply->path);
    }
    a->name = a->path == NULL ? NULL : strrchr(a->path, '/') + 1;
    a->token = a->shares ? a->token : reply->stat.czxid;
    a->session_id = reply->stat.ephemeral_owner;
    return a->path != NULL;
}

/* ---- deleting ---- */

static void delete_again(void *attempt)
{
    struct attempt *a = attempt;

    observer_remove(&a->end);
    attempt_delete(a);
    attempt_unref(a);
}

/* Then the node goes with the session, and the delete is told why it does not. */
static void hurry_at_end(enum pawl_state state, void *attempt)
{
    struct attempt *a = attempt;

    if (state == PAWL_STATE_CLOSED) {
        timer_clear(a->r->e, &a->again);
        delete_again(a);
    }
}

/* The node would block the queue as long as our session lives: whatever it takes. */
static void delete_ended(struct attempt *a, int err)
{
    if (err == PAWL_ERR_NO_MEMORY && a->r->e->core->state != PAWL_STATE_CLOSED) {
        timer_init(&a->again, delete_again, a);
        timer_set(a->r->e, &a->again, machine_now_ms() + AGAIN_MS);
        observer_add(a->r->e, &a->end, hurry_at_end, a);
        attempt_ref(a);
    } else if (a->released != NULL) {
        a->released(a->released_arg, err);
        a->released = NULL;
    }
}

static void node_gone(const struct pawl_reply *reply, void *attempt)
{
    delete_ended(attempt, reply->err);
    attempt_unref(attempt);
}

void attempt_delete(struct attempt *a)
{
    int rc = pawl_delete_async(
        a->r->client,
        PAWL_DELETE(.path = a->path, .flags = PAWL_OP_IDEMPOTENT | PAWL_OP_GUARANTEED), node_gone,
        a);

    if (rc == 0) {
        attempt_ref(a);
    } else {
        delete_ended(a, rc);
    }
}

/* Who waits for us to die sees a change of our data instead of the deletion: released, not dead.
 * Behind it, in the same packet, goes the delete that does not give up: it finds nothing to do
 * unless the notice was lost, and is known to those who hand the session over meanwhile. */
void attempt_delete_with_notice(struct attempt *a)
{
    struct pawl_multi *m = pawl_multi_new(a->r->client);

    if (m != NULL) {
        pawl_multi_set(m, PAWL_SET(.path = a->path));
        pawl_multi_delete(m, PAWL_DELETE(.path = a->path));
        pawl_multi_run_async(a->r->client, m, NULL, NULL); /* politeness, and no more */
        pawl_multi_free(m);
    }
    attempt_delete(a);
}
