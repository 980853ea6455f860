/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/election/candidate.h"

#include <stdlib.h>

#include "base/assert.h"
#include "client/beacon.h"

enum { AGAIN_MS = 1000, ID_BYTES = 256 };

static void candidate_failed(struct candidate *c, int err)
{
    if (recipe_is_over(c->contender.r, err)) {
        c->over = err;
        c->in = false;
    } else {
        timer_set(c->contender.r->e, &c->again, machine_now_ms() + AGAIN_MS);
    }
    c->failed(c, err);
}

static void settled(struct contender *contender, int err)
{
    struct candidate *c = container_of(contender, struct candidate, contender);

    if (err == 0) {
        c->elected(c);
    } else {
        candidate_failed(c, err);
    }
}

static void candidate_queue(void *candidate)
{
    struct candidate *c = candidate;
    int rc = contender_start(&c->contender, false);

    if (rc != 0) {
        candidate_failed(c, rc);
    }
}

void candidate_init(struct candidate *c, struct recipe *r, const struct contender_options *o,
                    enum pawl_doubt doubt)
{
    *c = (struct candidate){.in = false};
    timer_init(&c->again, candidate_queue, c);
    contender_init(&c->contender, r, o);
    c->contender.settled = settled;
    c->contender.grant.doubt = doubt;
}

void candidate_fini(struct candidate *c)
{
    ASSERT(!c->in);
    contender_fini(&c->contender);
}

int candidate_enter(struct candidate *c)
{
    int rc;

    ASSERT(!c->in);
    rc = contender_start(&c->contender, false);
    c->in = rc == 0;
    return rc;
}

void candidate_leave(struct candidate *c)
{
    c->in = false;
    timer_clear(c->contender.r->e, &c->again);
    contender_stop(&c->contender);
}

void candidate_begin_again(struct candidate *c)
{
    contender_release(&c->contender, NULL, NULL);
    candidate_queue(c);
}

void candidate_postpone(struct candidate *c, int err)
{
    contender_release(&c->contender, NULL, NULL);
    candidate_failed(c, err);
}

char *candidate_id(const char *id)
{
    char *text;

    if (id != NULL) {
        return recipe_copy(id);
    }
    text = malloc(ID_BYTES);
    if (text != NULL) {
        identity_text(text, ID_BYTES);
    }
    return text;
}
