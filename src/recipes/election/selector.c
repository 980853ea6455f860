/* SPDX-License-Identifier: Apache-2.0 */
/* selector.c - a candidate, and a thread for the function that leads.
 *
 *       start          elected                       close
 *   NEW -----> QUEUED ---------> LEADING: `lead` runs -----> LEAVING: it is asked to stop
 *               ^ ^ |              | |                          |
 *               | | |              | |                          | it returned
 *               | +-+ (*)          | |                          v
 *               | +- again, auto --+ | it returned:           CLOSED
 *       requeue |                    | our node is deleted
 *               +------- RESTING <---+                 any but LEADING: close, free -> CLOSED
 *
 * (*) it failed, and is tried again; when that is of no use any more it is RESTING.
 *
 * The machine is steps like every recipe; the thread is a user that calls in when `lead` has
 * returned. LEADING and LEAVING end then and in no other way, so two can never run at once. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/prepare.h"
#include "client/take.h"
#include "pawl/election.h"
#include "recipes/core/participants.h"
#include "recipes/election/candidate.h"

enum selector_state {
    SELECTOR_NEW,
    SELECTOR_QUEUED,
    SELECTOR_LEADING,
    SELECTOR_LEAVING,
    SELECTOR_RESTING,
    SELECTOR_CLOSED,
};

static const uint8_t may_follow[] = {
    [SELECTOR_NEW] = 1 << SELECTOR_QUEUED | 1 << SELECTOR_CLOSED,
    [SELECTOR_QUEUED] =
        1 << SELECTOR_QUEUED | 1 << SELECTOR_LEADING | 1 << SELECTOR_RESTING | 1 << SELECTOR_CLOSED,
    [SELECTOR_LEADING] = 1 << SELECTOR_QUEUED | 1 << SELECTOR_RESTING | 1 << SELECTOR_LEAVING,
    [SELECTOR_LEAVING] = 1 << SELECTOR_CLOSED,
    [SELECTOR_RESTING] = 1 << SELECTOR_QUEUED | 1 << SELECTOR_CLOSED,
    [SELECTOR_CLOSED] = 0,
};

struct pawl_selector {
    struct recipe r;
    struct pawl_selector_options o;
    struct candidate candidate;
    char *base, *id;
    enum selector_state state;
    sigset_t signals;     /* blocked where it was started, and hence for `lead` */
    bool again;           /* to be queued when `lead` has returned */
    struct thread leader; /* the thread of `lead` ... */
    bool inside_lead;     /* ... while it runs */
    bool interrupted;     /* by the user */
    struct note note;
    int error; /* to be told, or 0 */
};

static struct pawl_grant *selector_grant(struct pawl_selector *s)
{
    return &s->candidate.contender.grant;
}

/* `lead` runs, or its thread is about to. */
static bool selector_leads(const struct pawl_selector *s)
{
    return s->state == SELECTOR_LEADING || s->state == SELECTOR_LEAVING;
}

static bool selector_is_closed(const struct pawl_selector *s)
{
    return s->state == SELECTOR_LEAVING || s->state == SELECTOR_CLOSED;
}

/* What is true of a selector between any two steps. */
static void selector_check(const struct pawl_selector *s)
{
    ASSERT(s->candidate.in == (s->state == SELECTOR_QUEUED || selector_leads(s)));
    ASSERT(!selector_leads(s) || s->candidate.contender.state == CONTENDER_HELD);
    ASSERT(!s->again || selector_leads(s));
}

static void selector_move(struct pawl_selector *s, enum selector_state next)
{
    ASSERT((may_follow[s->state] & 1 << next) != 0);
    s->state = next;
    selector_check(s);
}

/* ---- errors ---- */

static void selector_tell(void *selector)
{
    struct pawl_selector *s = selector;
    int err;

    recipe_note_begin(&s->r);
    err = s->error;
    s->error = 0;
    if (err != 0 && !s->r.freed && !selector_is_closed(s)) {
        recipe_calling(&s->r);
        s->o.on_error(s, err, s->o.arg);
        recipe_called(&s->r);
    }
    recipe_note_end(&s->r);
}

/* It is tried again, by the candidate, unless it is over. */
static void selector_failed(struct candidate *c, int err)
{
    struct pawl_selector *s = container_of(c, struct pawl_selector, candidate);

    selector_move(s, c->in ? SELECTOR_QUEUED : SELECTOR_RESTING);
    s->error = err;
    if (s->o.on_error != NULL) {
        recipe_post(&s->r, &s->note);
    }
}

/* ---- leading ---- */

/* The leadership has ended: a step of the thread's. The delete goes out before the new create. */
static void selector_returned(struct pawl_selector *s)
{
    bool again = (s->again || s->o.auto_requeue != 0) && s->state == SELECTOR_LEADING;

    ASSERT(selector_leads(s));
    s->again = s->interrupted = false;
    if (again) {
        selector_move(s, SELECTOR_QUEUED);
        candidate_begin_again(&s->candidate);
    } else {
        candidate_leave(&s->candidate);
        selector_move(s, s->state == SELECTOR_LEAVING ? SELECTOR_CLOSED : SELECTOR_RESTING);
    }
    condition_broadcast(&s->r.e->dispatch.callback_done);
}

/* The hand-over takes a moment: what was taken back meanwhile is not led any more, and who has not
 * had his turn for that reason alone is not forgotten. */
static void run_lead(struct pawl_selector *s)
{
    bool stop;
    uint64_t token;

    engine_lock(s->r.e);
    stop = selector_grant(s)->stop;
    token = selector_grant(s)->token;
    s->leader = thread_current();
    s->inside_lead = true;
    s->again = s->again || (stop && !s->interrupted);
    engine_unlock(s->r.e);
    if (!stop) {
        s->o.lead(s, token, s->o.arg);
    }
}

/* It holds a reference. The process may have forked, but this thread is not in the child. Threads
 * of the library block all signals: what `lead` starts would inherit that. */
static void *lead_main(void *selector)
{
    struct pawl_selector *s = selector;
    struct engine *e = s->r.e;

    pthread_sigmask(SIG_SETMASK, &s->signals, NULL);
    pthread_setname_np(pthread_self(), "pawl-lead");
    run_lead(s);
    if (recipe_begin(&s->r) == 0) {
        s->inside_lead = false;
        selector_returned(s);
        recipe_unref(&s->r);
        step_end(e);
    }
    return NULL;
}

static int selector_start_thread(struct pawl_selector *s)
{
    struct thread thread;
    int rc = thread_start(&thread, "pawl-lead", 0, lead_main, s);

    if (rc == 0) {
        thread_detach(thread);
    }
    return rc;
}

static void selector_elected(struct candidate *c)
{
    struct pawl_selector *s = container_of(c, struct pawl_selector, candidate);
    int rc = selector_start_thread(s);

    if (rc == 0) {
        selector_move(s, SELECTOR_LEADING);
        recipe_ref(&s->r);
    } else {
        candidate_postpone(c, rc);
    }
}

static void selector_grant_changed(struct pawl_grant *g)
{
    if (g->state == PAWL_GRANT_IN_DOUBT || g->state == PAWL_GRANT_LOST) {
        grant_ask_stop(g);
    }
}

/* ---- life ---- */

static void selector_destroy(struct recipe *r)
{
    struct pawl_selector *s = container_of(r, struct pawl_selector, r);

    candidate_fini(&s->candidate);
    recipe_fini(r);
    free(s->base);
    free(s->id);
    free(s);
}

/* An empty id is none, as in Curator: an empty node would say that it can be revoked. */
static int selector_fill(struct pawl_selector *s, const char *path)
{
    struct contender_options o = {.marker = "lock-", .permits = 1};
    bool has_id = s->o.id != NULL && *s->o.id != '\0';

    s->base = recipe_copy(path);
    s->id = candidate_id(has_id ? s->o.id : NULL);
    o.base = s->base;
    o.data = (struct pawl_bytes){s->id, s->id == NULL ? 0 : strlen(s->id)};
    note_init(&s->note, selector_tell, s);
    candidate_init(&s->candidate, &s->r, &o, s->o.doubt);
    s->candidate.elected = selector_elected;
    s->candidate.failed = selector_failed;
    selector_grant(s)->changed = selector_grant_changed;
    return s->base == NULL || s->id == NULL ? PAWL_ERR_NO_MEMORY : 0;
}

int pawl_selector_new(struct pawl_client *c, const char *path,
                      const struct pawl_selector_options *options, struct pawl_selector **out)
{
    struct pawl_selector *s;
    struct recipe *r;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (!take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (c == NULL || out == NULL || options == NULL || !prepare_is_good_path(path, false)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = recipe_new(sizeof(*s), c, selector_destroy, &r);
    if (rc != 0) {
        return rc;
    }
    s = container_of(r, struct pawl_selector, r);
    take_struct(&s->o, sizeof(s->o), options);
    rc = selector_fill(s, path);
    if (rc == 0 && s->o.lead == NULL) {
        rc = PAWL_ERR_BAD_ARGUMENTS;
    }
    if (rc != 0) {
        selector_destroy(r);
        return rc;
    }
    *out = s;
    return 0;
}

static void selector_leave(struct pawl_selector *s)
{
    if (selector_is_closed(s)) {
        return;
    }
    if (s->state == SELECTOR_LEADING) {
        grant_ask_stop(selector_grant(s));
        selector_move(s, SELECTOR_LEAVING);
    } else {
        candidate_leave(&s->candidate);
        selector_move(s, SELECTOR_CLOSED);
    }
}

static void selector_shut(struct recipe *r)
{
    selector_leave(container_of(r, struct pawl_selector, r));
}

static bool must_not_wait(const struct pawl_selector *s)
{
    return dispatch_is_current(s->r.e) || (s->inside_lead && thread_is_current(s->leader));
}

/* `lead` may make calls meanwhile, which work without us. */
void pawl_selector_free(struct pawl_selector *s)
{
    struct engine *e;

    if (s == NULL || recipe_begin(&s->r) != 0) {
        return;
    }
    e = s->r.e;
    selector_leave(s);
    recipe_end(&s->r);
    engine_lock(e);
    while (selector_leads(s) && !must_not_wait(s)) {
        condition_wait(&e->dispatch.callback_done, &e->lock, -1);
    }
    engine_unlock(e);
    recipe_free(&s->r, selector_shut);
}

/* ---- orders ---- */

int pawl_selector_start(struct pawl_selector *s)
{
    int rc = recipe_begin(s == NULL ? NULL : &s->r);

    if (rc != 0) {
        return rc;
    }
    rc = s->state != SELECTOR_NEW ? PAWL_ERR_INVALID_STATE : candidate_enter(&s->candidate);
    if (rc == 0) {
        pthread_sigmask(SIG_BLOCK, NULL, &s->signals);
        selector_move(s, SELECTOR_QUEUED);
    }
    recipe_end(&s->r);
    return rc;
}

static int selector_requeue(struct pawl_selector *s)
{
    int rc;

    if (s->state == SELECTOR_LEADING && !s->again) {
        s->again = true;
        return 0;
    }
    rc = s->state != SELECTOR_RESTING ? PAWL_ERR_INVALID_STATE : candidate_enter(&s->candidate);
    if (rc == 0) {
        selector_move(s, SELECTOR_QUEUED);
    }
    return rc;
}

int pawl_selector_requeue(struct pawl_selector *s)
{
    int rc = recipe_begin(s == NULL ? NULL : &s->r);

    if (rc != 0) {
        return rc;
    }
    rc = selector_requeue(s);
    recipe_end(&s->r);
    return rc;
}

int pawl_selector_interrupt(struct pawl_selector *s)
{
    int rc = recipe_begin(s == NULL ? NULL : &s->r);

    if (rc != 0) {
        return rc;
    }
    if (selector_leads(s)) {
        s->interrupted = true;
        grant_ask_stop(selector_grant(s));
    } else {
        rc = PAWL_ERR_NOT_HELD;
    }
    recipe_end(&s->r);
    return rc;
}

int pawl_selector_close(struct pawl_selector *s)
{
    int rc = recipe_begin(s == NULL ? NULL : &s->r);

    if (rc != 0) {
        return rc;
    }
    if (s->state == SELECTOR_NEW || selector_is_closed(s)) {
        rc = PAWL_ERR_INVALID_STATE;
    } else {
        selector_leave(s);
    }
    recipe_end(&s->r);
    return rc;
}

/* ---- questions ---- */

/* A process that was stopped may find its time over before the client has noticed. */
bool pawl_selector_should_stop(struct pawl_selector *s)
{
    bool held = s != NULL && pawl_grant_held(selector_grant(s));
    bool stop;

    if (s == NULL || recipe_look(&s->r) != 0) {
        return true;
    }
    if (!held) {
        grant_ask_stop(selector_grant(s));
    }
    stop = !selector_leads(s) || selector_grant(s)->stop;
    recipe_looked(&s->r);
    return stop;
}

bool pawl_selector_is_leader(const struct pawl_selector *s)
{
    bool leading;

    if (s == NULL || recipe_look(&s->r) != 0) {
        return false;
    }
    leading = selector_leads(s);
    recipe_looked(&s->r);
    return leading && pawl_grant_held(&s->candidate.contender.grant);
}

bool pawl_selector_is_queued(const struct pawl_selector *s)
{
    bool queued;

    if (s == NULL || recipe_look(&s->r) != 0) {
        return false;
    }
    queued = s->state == SELECTOR_QUEUED;
    recipe_looked(&s->r);
    return queued;
}

struct pawl_grant *pawl_selector_grant(struct pawl_selector *s)
{
    return s == NULL ? NULL : selector_grant(s);
}

int pawl_selector_participants(struct pawl_selector *s, struct pawl_participants **out)
{
    if (out != NULL) {
        *out = NULL;
    }
    if (s == NULL || out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return participants_read(s->r.client, s->base, s->r.timeout_ms, out);
}
