/* SPDX-License-Identifier: Apache-2.0 */
/* registration.h - an instance that is registered, and stays so.
 *
 * What is known of its node:
 *
 *   ABSENT ---- created ---> OURS
 *           |           +--> UNSURE       there is one already, or the answer was lost
 *           |           +--> LISTING      the same of a numbered one, whose name is not known
 *   LISTING --- names -----> SEARCHING    one after the other is read
 *   SEARCHING - found -----> OURS
 *           |           +--> ABSENT       none of them is ours
 *   UNSURE ---- read ------> OURS
 *           |           +--> ABSENT       there is none
 *           |           +--> FOREIGN      somebody else's
 *           |           +--> DISPLACED    somebody else's, and ours had been deleted
 *   FOREIGN --- replaced --> UNSURE
 *           |           +--> ABSENT       deleted: a numbered one of an older session
 *   OURS, DISPLACED -------> ABSENT       it went
 *                       +--> UNSURE       the link is new
 *
 * FREED follows any of them. Whether it is wanted at all is another matter: if it is not, what is
 * OURS or UNSURE is deleted, and with the answer, or where nothing is ours, it ends. */
#ifndef PAWL_RECIPES_DISCOVERY_REGISTRATION_H
#define PAWL_RECIPES_DISCOVERY_REGISTRATION_H

#include "recipes/discovery/discovery.h"

struct queue_entry;

enum registration_state {
    REGISTRATION_ABSENT,    /* no node of ours: created next */
    REGISTRATION_UNSURE,    /* there may be: read before creating */
    REGISTRATION_LISTING,   /* numbered, and the answer to its create was lost: the names ... */
    REGISTRATION_SEARCHING, /* ... among which it is looked for */
    REGISTRATION_OURS,
    REGISTRATION_FOREIGN,   /* somebody else's: ours shall replace it */
    REGISTRATION_DISPLACED, /* somebody else's, who may stay until he goes */
    REGISTRATION_FREED,     /* but for its watch */
};

struct registration {
    struct list link;
    int refs; /* the list's, and the watch's */
    struct pawl_discovery *d;
    struct shared_instance *instance;
    char *path; /* as it is asked for */
    struct strbuf data;
    unsigned revision; /* of the data that are wanted */
    bool wanted;
    bool confirmed; /* has been there, with the data that were wanted then */

    char *made; /* the node's path, which may have a number behind it; NULL: as `path` */
    enum registration_state state;
    bool yields; /* ours was deleted: who is there now may stay, until he goes */
    struct step_watch watch;
    char *watched;    /* its path, or that of the last one */
    unsigned written; /* the revision of its data; 0: not known */

    struct queue_entry *candidates; /* SEARCHING: the first n_left are still to be looked at */
    size_t n_candidates, n_left;

    bool busy; /* a request is on its way */
    unsigned sent;
    struct timer again;
    struct list asks; /* struct ask: of register, update, unregister */
};

/* Of nothing yet, in the list of `d`; NULL: no memory. */
struct registration *registration_new(struct pawl_discovery *d, const char *path);
void registration_free(struct registration *g); /* only when it is not busy and nobody asks */

/* It shall be registered with these data. Takes `*instance` over (and leaves NULL there) the first
 * time: its type stays. */
int registration_want(struct registration *g, struct shared_instance **instance);

/* It shall not be registered; asks that wait are CANCELLED. */
void registration_end(struct registration *g);

/* Whoever asked is in `asks`. May free it, then or later. */
void registration_start(struct registration *g);

/* The link is new: is it still there, and ours? */
void registration_check(struct registration *g);

#endif
