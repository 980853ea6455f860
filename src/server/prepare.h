/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.h - a request becomes a transaction.
 *
 * Checks the request against the tree plus what is in flight, in ZooKeeper's order, and resolves
 * what must be the same everywhere: sequence suffix, time, versions, the ephemeral nodes of a
 * closing session. From here on nothing depends on anything but the transaction. A request that is
 * refused becomes an error transaction, which takes a zxid as well. */
#ifndef PAWL_SERVER_PREPARE_H
#define PAWL_SERVER_PREPARE_H

#include "server/auth.h"
#include "server/limits.h"
#include "server/pending.h"
#include "server/session.h"
#include "wire/request.h"
#include "wire/txn.h"

struct namespaces;
struct quota;
struct role;

struct prepare {
    struct pending_table pending;
    struct tree *tree;
    const struct quota *quota;
    struct namespaces *namespaces; /* where refusals are counted */
    const struct auth_options *auth;
    const struct limit_options *limits;
    struct session_table *sessions;
    bool extended_types;
    bool enforce_quota;
    struct role *role; /* knows the members */
    bool reconfig_enabled;
    int64_t reconfig_zxid;  /* the last one that was prepared */
    bool close_session_txn; /* closeSession lists the nodes it deletes */
    int64_t reap_never_used_ms;
    struct strbuf path;    /* scratch: a name with its sequence number */
    struct strbuf acl;     /* scratch: a list as it will be stored */
    struct strbuf members; /* scratch: a list of members */
};

void prepare_init(struct prepare *p, struct tree *tree);
void prepare_fini(struct prepare *p);

/* Who writes, and which transaction it becomes. */
struct author {
    struct identity *identity;
    int64_t session_id;
    int32_t xid;
    int64_t zxid;
    int32_t n_ephemerals;   /* that it creates */
    int ephemerals_refused; /* PAWL_OK; or why it can have none */
};

/* Appends to `out` the payload for `q`: header, body, digest. What it changes is pending from here
 * on. */
void prepare_txn(struct prepare *p, struct author *who, const struct request *q, int64_t wall_ms,
                 struct strbuf *out);

/* The same for a request that is refused before it is looked at. */
void prepare_error(const struct author *who, int err, int64_t wall_ms, struct strbuf *out);

#endif
