/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/core/grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "client/beacon.h"
#include "client/multi.h"

/* Which states may follow each other; the picture is in the public header. */
static const uint8_t may_follow[] = {
    [PAWL_GRANT_NONE] = 1 << PAWL_GRANT_CERTAIN,
    [PAWL_GRANT_CERTAIN] = 1 << PAWL_GRANT_IN_DOUBT | 1 << PAWL_GRANT_LOST | 1 << PAWL_GRANT_NONE,
    [PAWL_GRANT_IN_DOUBT] = 1 << PAWL_GRANT_CERTAIN | 1 << PAWL_GRANT_LOST | 1 << PAWL_GRANT_NONE,
    [PAWL_GRANT_LOST] = 1 << PAWL_GRANT_NONE,
};

static void grant_tell(void *grant);

static bool is_lit(const struct pawl_grant *g)
{
    return g->stop || g->state == PAWL_GRANT_IN_DOUBT || g->state == PAWL_GRANT_LOST;
}

static void post(struct pawl_grant *g)
{
    if (g->fn != NULL && !g->note.posted && !g->r->e->stop) {
        g->n_notes++;
        recipe_post(g->r, &g->note);
    }
}

static void grant_move(struct pawl_grant *g, enum pawl_grant_state next)
{
    bool was_lit = is_lit(g);

    ASSERT((may_follow[g->state] & 1 << next) != 0);
    g->state = next;
    g->stop = g->stop && next != PAWL_GRANT_NONE;
    if (is_lit(g) != was_lit) {
        beacon_set(g->fd, !was_lit);
    }
    if (next == PAWL_GRANT_NONE || (next == PAWL_GRANT_CERTAIN && !was_lit)) {
        g->told = next; /* who acquires or releases knows */
    } else {
        post(g);
    }
    if (g->changed != NULL) {
        g->changed(g);
    }
}

static void grant_tell(void *grant)
{
    struct pawl_grant *g = grant;
    struct recipe *r = g->r;
    enum pawl_grant_state state;

    recipe_note_begin(r);
    state = g->state;
    if (!r->freed && state != g->told) {
        g->told = state;
        recipe_calling(r);
        g->fn(g, state, g->arg);
        recipe_called(r);
    }
    g->n_notes--;
    recipe_note_end(r);
}

/* ---- doubt ---- */

static int64_t certain_ms(const struct pawl_grant *g)
{
    const struct core *core = g->r->e->core;
    bool alive = g->state == PAWL_GRANT_CERTAIN || g->state == PAWL_GRANT_IN_DOUBT;

    return alive && g->session_id == core->session_id ? engine_certain_ms(g->r->e) : 0;
}

static bool has_link(const struct pawl_grant *g)
{
    enum pawl_state state = g->r->e->core->state;

    return state == PAWL_STATE_CONNECTED || state == PAWL_STATE_RECONNECTED;
}

/* 0: in doubt. */
static int64_t good_for_ms(const struct pawl_grant *g)
{
    return has_link(g) || g->doubt == PAWL_DOUBT_GO_ON ? certain_ms(g) : 0;
}

/* CERTAIN for so long, unless more becomes known until then. */
static void grant_judge(void *grant)
{
    struct pawl_grant *g = grant;
    int64_t ms = good_for_ms(g);

    ASSERT(g->state == PAWL_GRANT_CERTAIN || g->state == PAWL_GRANT_IN_DOUBT);
    if (ms > 0) {
        timer_set(g->r->e, &g->deadline, machine_now_ms() + ms);
    } else {
        timer_clear(g->r->e, &g->deadline);
    }
    if ((g->state == PAWL_GRANT_CERTAIN) != (ms > 0)) {
        grant_move(g, ms > 0 ? PAWL_GRANT_CERTAIN : PAWL_GRANT_IN_DOUBT);
    }
}

static void grant_link_back(struct pawl_grant *g)
{
    if (g->session_id != g->r->e->core->session_id) {
        grant_lose(g);
    } else {
        grant_judge(g);
    }
}

/* A read-only server does not know whether our session lives. */
static void grant_state_changed(enum pawl_state state, void *grant)
{
    struct pawl_grant *g = grant;

    switch (state) {
    case PAWL_STATE_SUSPENDED:
    case PAWL_STATE_READ_ONLY:
        grant_judge(g);
        break;
    case PAWL_STATE_CONNECTED:
    case PAWL_STATE_RECONNECTED:
        grant_link_back(g);
        break;
    case PAWL_STATE_LOST:
    case PAWL_STATE_CLOSED:
        grant_lose(g);
        break;
    case PAWL_STATE_CONNECTING:
        break;
    }
}

static void observe(struct pawl_grant *g, bool on)
{
    if (on && !g->observing) {
        observer_add(g->r->e, &g->observer, grant_state_changed, g);
        g->observer.certain = grant_judge;
    } else if (!on && g->observing) {
        observer_remove(&g->observer);
        timer_clear(g->r->e, &g->deadline);
    }
    g->observing = on;
}

/* ---- life ---- */

void grant_init(struct pawl_grant *g, struct recipe *r, enum pawl_doubt doubt, pawl_grant_fn fn,
                void *arg)
{
    *g = (struct pawl_grant){.r = r, .doubt = doubt, .fd = -1, .fn = fn, .arg = arg};
    note_init(&g->note, grant_tell, g);
    timer_init(&g->deadline, grant_judge, g);
}

void grant_listen(struct pawl_grant *g, pawl_grant_fn fn, void *arg)
{
    g->fn = fn;
    g->arg = arg;
    if (g->state != g->told) {
        post(g);
    }
}

void grant_fini(struct pawl_grant *g)
{
    observe(g, false);
    beacon_close(g->fd);
    free(g->path);
}

/* The link may have gone between the server's answer and this step. That is told in a step of its
 * own, behind the news that it was granted. */
void grant_give(struct pawl_grant *g, char *path, int64_t czxid, int64_t session_id)
{
    ASSERT(path != NULL && czxid > 0);
    ASSERT(session_id != 0 && session_id == g->r->e->core->session_id);
    free(g->path);
    g->path = path;
    g->token = (uint64_t)czxid;
    g->session_id = session_id;
    grant_move(g, PAWL_GRANT_CERTAIN);
    observe(g, true);
    timer_set(g->r->e, &g->deadline, machine_now_ms() + good_for_ms(g));
}

void grant_lose(struct pawl_grant *g)
{
    if (g->state == PAWL_GRANT_NONE || g->state == PAWL_GRANT_LOST) {
        return;
    }
    observe(g, false);
    grant_move(g, PAWL_GRANT_LOST);
    if (g->lost != NULL) {
        g->lost(g);
    }
}

void grant_take_back(struct pawl_grant *g)
{
    observe(g, false);
    if (g->state != PAWL_GRANT_NONE) {
        grant_move(g, PAWL_GRANT_NONE);
    }
    free(g->path);
    g->path = NULL;
}

void grant_ask_stop(struct pawl_grant *g)
{
    if (g->state != PAWL_GRANT_NONE && !g->stop) {
        g->stop = true;
        beacon_set(g->fd, true);
    }
}

/* ---- questions ---- */

static int grant_look(const struct pawl_grant *g)
{
    return g == NULL ? PAWL_ERR_BAD_ARGUMENTS : recipe_look(g->r);
}

int64_t pawl_grant_certain_ms(const struct pawl_grant *g)
{
    int64_t ms;

    if (grant_look(g) != 0) {
        return 0;
    }
    ms = certain_ms(g);
    recipe_looked(g->r);
    return ms;
}

enum pawl_grant_state pawl_grant_state(const struct pawl_grant *g)
{
    enum pawl_grant_state state;

    if (grant_look(g) != 0) {
        return PAWL_GRANT_NONE;
    }
    state = g->state;
    recipe_looked(g->r);
    return state;
}

bool pawl_grant_held(const struct pawl_grant *g)
{
    bool held;

    if (grant_look(g) != 0) {
        return false;
    }
    held = g->state == PAWL_GRANT_CERTAIN && certain_ms(g) > 0;
    recipe_looked(g->r);
    return held;
}

uint64_t pawl_grant_token(const struct pawl_grant *g)
{
    uint64_t token;

    if (grant_look(g) != 0) {
        return 0;
    }
    token = g->token;
    recipe_looked(g->r);
    return token;
}

void pawl_grant_path(const struct pawl_grant *g, char *out, size_t size)
{
    if (size > 0) {
        out[0] = '\0';
    }
    if (grant_look(g) != 0) {
        return;
    }
    if (g->path != NULL) {
        snprintf(out, size, "%s", g->path);
    }
    recipe_looked(g->r);
}

/* The name is nobody else's for ever, since it has a random id in it: that it exists is enough. */
int pawl_grant_guard(const struct pawl_grant *g, struct pawl_multi *m)
{
    int rc = grant_look(g);

    if (rc != 0) {
        return rc;
    }
    if (g->path == NULL || g->state == PAWL_GRANT_LOST) {
        rc = PAWL_ERR_NOT_HELD;
    } else {
        multi_check_of(m, g->r->client, g->path);
    }
    recipe_looked(g->r);
    return rc;
}

int pawl_grant_fd(struct pawl_grant *g)
{
    int rc = grant_look(g);

    if (rc != 0) {
        return rc;
    }
    if (g->fd < 0) {
        g->fd = beacon_open();
        if (is_lit(g)) {
            beacon_set(g->fd, true);
        }
    }
    rc = g->fd;
    recipe_looked(g->r);
    return rc;
}
