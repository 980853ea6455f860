/* SPDX-License-Identifier: Apache-2.0 */
/* registration.h - an instance that is registered, and stays so. */
#ifndef PAWL_RECIPES_DISCOVERY_REGISTRATION_H
#define PAWL_RECIPES_DISCOVERY_REGISTRATION_H

#include "recipes/discovery/discovery.h"

struct queue_entry;

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

    char *made;     /* the node's path, which may have a number behind it; NULL: as `path` */
    bool there;     /* the node is, and is ours */
    bool look;      /* it may be: read before creating */
    bool foreign;   /* one is there that is not ours, and shall be */
    bool yields;    /* ours was deleted: who is there now may stay, until he goes */
    bool displaced; /* and there is one */
    struct step_watch watch;
    char *watched;    /* its path, or that of the last one */
    bool gone;        /* freed, but for its watch */
    unsigned written; /* the revision of its data; 0: not known */

    /* The answer to the create of a numbered node was lost: it is looked for among these. */
    bool searching, listed;
    struct queue_entry *candidates;
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
