/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - one request on its way, and the bytes that its answer lies in. */
#ifndef PAWL_CLIENT_CALL_H
#define PAWL_CLIENT_CALL_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "client/item.h"

/* What was received, shared by the calls whose answers lie in it. */
struct chunk {
    _Atomic uint32_t refs;
    uint32_t capacity;
    uint8_t data[];
};

struct chunk *chunk_new(size_t capacity); /* NULL: no memory */
void chunk_unref(struct chunk *c);        /* NULL is allowed; from any thread */

enum call_place {
    CALL_NOWHERE, /* the owner has it */
    CALL_QUEUED,  /* not sent, or not whole */
    CALL_SENT,
    CALL_DONE, /* in `items`, or taken from there */
};

struct plan;
struct waiter;
struct auth_entry;

/* The core holds it from requests_submit() until it appears among the items. */
struct call {
    struct item item;
    int32_t op;
    int32_t xid;
    uint8_t place;
    bool abandoned;      /* nobody waits any more: the core frees it when its answer has come */
    uint8_t watch_table; /* WATCHER_NONE, or where to register `target` */
    bool spared;         /* ... of which the server is not asked: one that stays tells */
    uint8_t unwatch_mask;
    bool unwatch_all, unwatch_local;
    struct event_target target;
    char *path;              /* the server's name of it; only for watches. Owned */
    struct auth_entry *auth; /* OP_AUTH: its credentials, while they are among `auths` */
    uint64_t end;            /* of its frame in the stream of bytes */
    uint32_t len;            /* of its frame */
    int64_t sent_ms;
    int64_t deadline_ms; /* 0: none */

    /* the answer */
    int err;
    enum pawl_outcome outcome;
    int64_t zxid;
    struct chunk *chunk;
    struct bytes body; /* in the chunk */

    /* the owner's */
    pawl_reply_fn done;
    void *arg;
    struct plan *plan; /* freed with it */
    struct waiter *waiter;
    uint32_t strip; /* so much of every path is our chroot and namespace */
    bool inflate;
    bool inside; /* a recipe's: answered inside the engine */
    int attempts;
    int64_t began_us;
};

struct call *call_new(int32_t op); /* NULL: no memory */
void call_free(struct call *call); /* NULL is allowed */

#endif
