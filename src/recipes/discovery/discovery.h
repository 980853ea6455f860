/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.h - the inside of <pawl/discovery.h>.
 *
 * discovery_json.c    instances and their JSON
 * discovery_uri.c     "{scheme}://{address}": text, parts, and the URI
 * discovery.c         registering and unregistering
 * registration.c      one registration: what is wanted, and what is known of its node
 * discovery_query.c   asking once
 * service_cache.c     following one service
 * service_provider.c  choosing an instance */
#ifndef PAWL_RECIPES_DISCOVERY_DISCOVERY_H
#define PAWL_RECIPES_DISCOVERY_DISCOVERY_H

#include <stdatomic.h>

#include "base/strbuf.h"
#include "pawl/discovery.h"
#include "recipes/core/recipe.h"

struct pawl_discovery {
    struct recipe r;
    char *base;
    struct list registrations;
    struct observer observer;
};

/* An instance of ours: never changes, and is shared. */
struct shared_instance {
    struct pawl_instance i; /* first: the user's pointer to it is one to this */
    _Atomic int refs;
    char text[]; /* its strings */
};

/* A copy with all defaults filled in but the id and the time, or NULL. */
struct shared_instance *instance_copy(const struct pawl_instance *i);
struct pawl_instance *instance_ref(struct pawl_instance *i);

/* The user's struct may be that of an older header. */
struct pawl_instance instance_taken(const struct pawl_instance *given);

/* A list of `n` references, which it takes over; on NO_MEMORY they are given back. */
int instances_new(struct pawl_instance **items, size_t n, struct pawl_instances **out);

int instance_write(struct strbuf *out, const struct pawl_instance *i);

/* ---- service_cache.c ---- */

/* One node of a service. */
struct service_entry {
    struct list link; /* in pawl_service_cache.entries, in the order of their names */
    struct pawl_service_cache *s;
    char *path;
    const char *name;               /* the last part of it */
    struct pawl_instance *instance; /* NULL: not read yet, or not to be read */
    struct step_watch watch;
    int refs; /* the list's, that of a read under way, the watch's */
    bool reading, seen, gone;
    bool unread; /* memory was short */
};

struct pawl_service_cache {
    struct recipe r;
    char *folder;
    struct list entries;
    struct step_watch watch; /* of the list */
    bool listing, dirty;
    bool listed, complete;
    int n_reading;
    struct timer again;
    struct list asks;
    struct note note;
    pawl_service_fn changed;
    void *arg;
};

/* ---- discovery_uri.c ---- */

/* The next part of a spec. 1: there is one, 0: no more, BAD_ARGUMENTS: braces that do not match. */
int uri_spec_next(const char **spec, struct bytes *value, bool *variable);

/* ---- paths ---- */

/* "base/name" or, with an id, "base/name/id". BAD_ARGUMENTS, NO_MEMORY. */
int service_path(const char *base, const char *name, const char *id, char **out);

#endif
