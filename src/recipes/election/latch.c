/* SPDX-License-Identifier: Apache-2.0 */
/* latch.c - a candidate, and what its user is told of it.
 *
 *            start            close
 *   LATENT ----------> STARTED -----> CLOSED
 *
 * The grant says whether we lead. The listener is told by one note, which compares what it told
 * last with how things stand: so it may come late, but never wrong or twice. */
#include <stdlib.h>
#include <string.h>

#include "client/prepare.h"
#include "client/take.h"
#include "pawl/election.h"
#include "recipes/core/ask.h"
#include "recipes/core/participants.h"
#include "recipes/election/candidate.h"

enum latch_state { LATCH_LATENT, LATCH_STARTED, LATCH_CLOSED };

struct pawl_latch {
    struct recipe r;
    struct pawl_latch_options o;
    struct candidate candidate;
    char *base, *id;
    enum latch_state state;
    bool silent;
    struct list waits; /* struct ask: of those who wait for leadership */
    struct note note;
    bool told_leader; /* what the listener believes */
    bool in_lost;     /* on_lost runs */
    uint64_t told_token;
    int error;                /* to be told, or 0 */
    struct waiter *in_notify; /* of close: waits for on_lost */
};

static const struct pawl_grant *latch_grant(const struct pawl_latch *l)
{
    return &l->candidate.contender.grant;
}

static bool leads(const struct pawl_latch *l)
{
    return latch_grant(l)->state == PAWL_GRANT_CERTAIN;
}

/* ---- telling ---- */

static bool is_heard(const struct pawl_latch *l)
{
    return !l->r.freed && !l->silent;
}

static void tell_lost(struct pawl_latch *l)
{
    if (!l->told_leader || (leads(l) && latch_grant(l)->token == l->told_token)) {
        return;
    }
    l->told_leader = false;
    if (is_heard(l) && l->o.on_lost != NULL) {
        l->in_lost = true;
        recipe_calling(&l->r);
        l->o.on_lost(l, l->o.arg);
        recipe_called(&l->r);
        l->in_lost = false;
    }
}

static void tell_error(struct pawl_latch *l)
{
    int err = l->error;

    l->error = 0;
    if (err != 0 && is_heard(l) && l->o.on_error != NULL) {
        recipe_calling(&l->r);
        l->o.on_error(l, err, l->o.arg);
        recipe_called(&l->r);
    }
}

static void tell_leader(struct pawl_latch *l)
{
    if (l->told_leader || !leads(l) || !is_heard(l)) {
        return;
    }
    l->told_leader = true;
    l->told_token = latch_grant(l)->token;
    if (l->o.on_leader != NULL) {
        recipe_calling(&l->r);
        l->o.on_leader(l, l->told_token, l->o.arg);
        recipe_called(&l->r);
    }
}

/* Each looks anew: much may happen while a callback runs. */
static void latch_tell(void *latch)
{
    struct pawl_latch *l = latch;

    recipe_note_begin(&l->r);
    tell_lost(l);
    tell_error(l);
    tell_leader(l);
    if (l->in_notify != NULL && !l->told_leader) {
        waiter_finish(l->r.e, l->in_notify);
        l->in_notify = NULL;
    }
    recipe_note_end(&l->r);
}

/* ---- what happens to it ---- */

static struct pawl_latch *latch_of(struct pawl_grant *g)
{
    return container_of(g, struct pawl_latch, candidate.contender.grant);
}

static void latch_changed(struct pawl_grant *g)
{
    struct pawl_latch *l = latch_of(g);

    recipe_post(&l->r, &l->note);
    if (leads(l)) {
        ask_end_all(&l->waits, 0);
    }
}

/* Our node is gone: a new place, at the end. */
static void lost(struct pawl_grant *g)
{
    candidate_begin_again(&latch_of(g)->candidate);
}

static void elected(struct candidate *c)
{
    (void)c; /* the grant has told */
}

static void latch_failed(struct candidate *c, int err)
{
    struct pawl_latch *l = container_of(c, struct pawl_latch, candidate);

    l->error = err;
    recipe_post(&l->r, &l->note);
    ask_end_all(&l->waits, err);
}

/* ---- life ---- */

static void latch_destroy(struct recipe *r)
{
    struct pawl_latch *l = container_of(r, struct pawl_latch, r);

    candidate_fini(&l->candidate);
    recipe_fini(r);
    free(l->base);
    free(l->id);
    free(l);
}

/* Curator's nodes have the id and nothing else, be it empty. */
static int latch_fill(struct pawl_latch *l, const char *path)
{
    struct contender_options o = {.marker = "latch-", .permits = 1};

    l->base = recipe_copy(path);
    l->id = candidate_id(l->o.id);
    o.base = l->base;
    o.data = (struct pawl_bytes){l->id, l->id == NULL ? 0 : strlen(l->id)};
    list_init(&l->waits);
    note_init(&l->note, latch_tell, l);
    candidate_init(&l->candidate, &l->r, &o, l->o.doubt);
    l->candidate.elected = elected;
    l->candidate.failed = latch_failed;
    l->candidate.contender.grant.changed = latch_changed;
    l->candidate.contender.grant.lost = lost;
    return l->base == NULL || l->id == NULL ? PAWL_ERR_NO_MEMORY : 0;
}

int pawl_latch_new(struct pawl_client *c, const char *path,
                   const struct pawl_latch_options *options, struct pawl_latch **out)
{
    struct pawl_latch *l;
    struct recipe *r;
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
    rc = recipe_new(sizeof(*l), c, latch_destroy, &r);
    if (rc != 0) {
        return rc;
    }
    l = container_of(r, struct pawl_latch, r);
    take_struct(&l->o, sizeof(l->o), options);
    rc = latch_fill(l, path);
    if (rc != 0) {
        latch_destroy(r);
        return rc;
    }
    *out = l;
    return 0;
}

static void leave(struct pawl_latch *l)
{
    l->state = LATCH_CLOSED;
    candidate_leave(&l->candidate);
    ask_end_all(&l->waits, PAWL_ERR_CANCELLED);
}

static void latch_shut(struct recipe *r)
{
    leave(container_of(r, struct pawl_latch, r));
}

void pawl_latch_free(struct pawl_latch *l)
{
    recipe_free(l == NULL ? NULL : &l->r, latch_shut);
}

int pawl_latch_start(struct pawl_latch *l)
{
    int rc = recipe_begin(l == NULL ? NULL : &l->r);

    if (rc != 0) {
        return rc;
    }
    rc = l->state != LATCH_LATENT ? PAWL_ERR_INVALID_STATE : candidate_enter(&l->candidate);
    if (rc == 0) {
        l->state = LATCH_STARTED;
    }
    recipe_end(&l->r);
    return rc;
}

/* Not where the callback would have to run on the thread that waits for it. */
static int wait_for_notice(struct pawl_latch *l)
{
    struct waiter w;
    int rc;

    if (!(l->told_leader && l->note.posted) && !l->in_lost) {
        return 0;
    }
    if (l->r.e->settings.mode != PAWL_DISPATCH_THREAD || dispatch_is_current(l->r.e)) {
        return 0;
    }
    waiter_init(&w);
    l->in_notify = &w;
    rc = recipe_wait(&l->r, &w, l->r.timeout_ms);
    l->in_notify = NULL;
    waiter_fini(&w);
    return rc;
}

int pawl_latch_close(struct pawl_latch *l, enum pawl_latch_close mode)
{
    int rc = mode != PAWL_LATCH_CLOSE_SILENT && mode != PAWL_LATCH_CLOSE_NOTIFY
                 ? PAWL_ERR_BAD_ARGUMENTS
                 : recipe_begin(l == NULL ? NULL : &l->r);
    struct engine *e;

    if (rc != 0) {
        return rc;
    }
    e = l->r.e;
    if (l->state != LATCH_STARTED) {
        rc = PAWL_ERR_INVALID_STATE;
    } else {
        l->silent = mode == PAWL_LATCH_CLOSE_SILENT;
        leave(l);
        recipe_ref(&l->r); /* on_lost may free it */
        rc = l->silent ? 0 : wait_for_notice(l);
        recipe_unref(&l->r);
    }
    step_end(e);
    return rc;
}

/* ---- questions ---- */

static int start_await(struct ask *a)
{
    struct pawl_latch *l = container_of(a->r, struct pawl_latch, r);

    if (leads(l)) {
        ask_end(a, 0);
    } else if (l->state == LATCH_CLOSED) {
        ask_end(a, PAWL_ERR_CANCELLED);
    } else if (l->candidate.over != 0) {
        ask_end(a, l->candidate.over);
    } else if (a->is_try) {
        ask_end(a, PAWL_ERR_OPERATION_TIMEOUT);
    } else {
        list_push_back(&l->waits, &a->link);
    }
    return 0;
}

int pawl_latch_wait(struct pawl_latch *l, int timeout_ms)
{
    struct ask a;

    return ask_only_wait(l == NULL ? NULL : &l->r, &a, start_await, timeout_ms);
}

bool pawl_latch_is_leader(const struct pawl_latch *l)
{
    return l != NULL && pawl_grant_held(latch_grant(l));
}

struct pawl_grant *pawl_latch_grant(struct pawl_latch *l)
{
    return l == NULL ? NULL : &l->candidate.contender.grant;
}

int pawl_latch_participants(struct pawl_latch *l, struct pawl_participants **out)
{
    if (out != NULL) {
        *out = NULL;
    }
    if (l == NULL || out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return participants_read(l->r.client, l->base, l->r.timeout_ms, out);
}
