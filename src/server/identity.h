/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - who asks: what an ACL is held against.
 *
 * A client's grows with its auth packets, and a request counts with those ids that were shown when
 * it came. A request that another server forwards brings its ids along; they are looked at only if
 * an ACL asks for them. What the server does by itself (a session expires, a container is reaped)
 * has an identity as well, which says so. There is no request without one. */
#ifndef PAWL_SERVER_IDENTITY_H
#define PAWL_SERVER_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "wire/records.h"

struct acl_memo;

/* One that was shown: "digest" "bob:hash". */
struct auth_id {
    struct list link;
    char *scheme;
    char *id;
    uint32_t rank;          /* so many were shown before it */
    struct map_entry by_id; /* in `digests`, if it is one */
};

struct identity {
    struct list ids; /* in the order in which they were shown */
    uint32_t n_ids;
    uint32_t n_in_force;           /* so many of them count for the request being executed */
    const struct auth_id *address; /* the first of scheme ip; NULL: none */
    struct map digests;            /* those of scheme digest; no buckets before the first */
    uint32_t super_from;           /* with so many of them it is the super user; 0: never */
    bool is_server;                /* the server itself, which may do everything */
    struct id_list brought;        /* of a forwarded request: not looked at yet */
    struct acl_memo *memo;         /* see auth.c; NULL: not needed yet */
    int64_t cost;                  /* of ACLs gone through, in the units of pipeline.c */
};

/* A client at this address. */
void identity_init(struct identity *i, const char *ip);

/* The ids that a forwarded request came with: lent as long as the identity is used. */
void identity_init_forwarded(struct identity *i, struct id_list brought);

void identity_init_server(struct identity *i);
void identity_fini(struct identity *i);

/* What is true of it between any two calls. */
void identity_check(const struct identity *i);

/* Shows an id; one that is there already stays where it is. PAWL_OK, or PAWL_ERR_AUTH_FAILED when
 * there are too many. */
int identity_add(struct identity *i, const char *scheme, const char *id);

/* Looks at what a forwarded request brought, if nobody has yet. To be called before `ids` is. */
void identity_open(struct identity *i);

/* Whether an id of scheme digest that is in force is `wanted`. */
bool identity_has_digest(const struct identity *i, struct bytes wanted);

/* The same of any scheme; for those of which a client has one or two. */
bool identity_has(const struct identity *i, const char *scheme, struct bytes wanted);
bool identity_has_scheme(const struct identity *i, const char *scheme);

/* Of everything that is asked for: nothing has to be looked up. */
bool identity_may_everything(struct identity *i);

/* All ids as a forwarded request takes them along: a vector<Id>. */
void identity_write(const struct identity *i, struct strbuf *out);

/* What ACLs have cost since this was last asked. */
static inline size_t identity_take_cost(struct identity *i)
{
    int64_t cost = i->cost;

    i->cost = 0;
    return (size_t)cost;
}

#endif
