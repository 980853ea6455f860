/* SPDX-License-Identifier: Apache-2.0 */
/* grant.h - the inside of <pawl/grant.h>: given and taken back by contenders. */
#ifndef PAWL_RECIPES_CORE_GRANT_H
#define PAWL_RECIPES_CORE_GRANT_H

#include "pawl/grant.h"
#include "recipes/core/recipe.h"

struct pawl_grant {
    struct recipe *r;
    enum pawl_doubt doubt;
    enum pawl_grant_state state, told;
    int64_t session_id; /* that our node belongs to */
    uint64_t token;
    bool stop; /* the holder is asked to give it back; until he has */
    char *path;
    int fd; /* a beacon, or -1 */
    pawl_grant_fn fn;
    void *arg;
    void (*changed)(struct pawl_grant *g); /* a step for the owner of the grant; NULL: none */
    void (*lost)(struct pawl_grant *g);    /* the same, and he may give the grant again */
    struct note note;
    int n_notes; /* to come, or running: so long the grant must not go */
    struct timer deadline;
    struct observer observer;
    bool observing;
};

void grant_init(struct pawl_grant *g, struct recipe *r, enum pawl_doubt doubt, pawl_grant_fn fn,
                void *arg);
void grant_fini(struct pawl_grant *g);

/* Whom to tell from now on: what he would have been told already he is told now. */
void grant_listen(struct pawl_grant *g, pawl_grant_fn fn, void *arg);

/* From NONE to CERTAIN; our node is at `path`, which the grant owns from now on. */
void grant_give(struct pawl_grant *g, char *path, int64_t czxid, int64_t session_id);

void grant_lose(struct pawl_grant *g);      /* our node is gone */
void grant_take_back(struct pawl_grant *g); /* to NONE; the token stays until the next is given */
void grant_ask_stop(struct pawl_grant *g);  /* lights its descriptor */

#endif
