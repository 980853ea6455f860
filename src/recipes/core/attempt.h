/* SPDX-License-Identifier: Apache-2.0 */
/* attempt.h - one node of a contender: that it is deleted, and that its watches end.
 *
 * It lives until the last answer and the last event about it have come, whatever has become of the
 * contender that made it. */
#ifndef PAWL_RECIPES_CORE_ATTEMPT_H
#define PAWL_RECIPES_CORE_ATTEMPT_H

#include "client/place.h"
#include "recipes/core/contender.h"

struct attempt {
    struct recipe *r;        /* a reference */
    struct contender *owner; /* NULL: given up, or released */
    int refs;                /* the owner's, and one for every answer to come and every watch */
    char *path;              /* NULL: not known yet */
    char *room;              /* for it: that it is known must not fail for want of memory */
    size_t room_size;
    const char *name; /* the last part of it */
    int64_t token, session_id;
    int64_t wanted_session; /* in which it was asked for */
    bool shares;            /* the place of another node */
    bool listing;           /* a listing is on its way ... */
    bool died;              /* the one ahead was not released */
    bool waited;            /* the delay is over */
    bool placed;            /* its number is known to be its own */
    char **ahead;           /* the nodes that are watched, or that we ask to watch ... */
    size_t n_ahead;
    bool ahead_is_list; /* ... or the folder whose list is */
    struct step_watch watch_ahead, watch_own;
    void (*released)(void *arg, int err);
    void *released_arg;
    struct place place;  /* while it has an owner: for the next handle of a detached session */
    struct timer again;  /* of the delete, when there was no memory for it ... */
    struct observer end; /* ... or the client closes first */
};

/* Of nothing yet, and nobody's, with one reference; NULL: no memory. The events are steps. */
struct attempt *attempt_new(struct recipe *r, pawl_event_fn ahead, pawl_event_fn own);
void attempt_ref(struct attempt *a);
void attempt_unref(struct attempt *a);

/* Whether the node belongs to the session that we have now. */
bool attempt_is_ours(const struct attempt *a);

/* It was made: what the answer says of it. False: no memory to remember it by. */
bool attempt_keep(struct attempt *a, const struct pawl_reply *reply);

/* Room for `n` others that are ahead, and none of them yet; or the list of all. NO_MEMORY. */
int attempt_forget_ahead(struct attempt *a, size_t n);
int attempt_watches_list(struct attempt *a, const char *folder);

/* Goes on until it is done or the client closed; in the background, if it must. `released` is told.
 * With notice: who waits for us to die sees that we have released. */
void attempt_delete(struct attempt *a);
void attempt_delete_with_notice(struct attempt *a);

#endif
