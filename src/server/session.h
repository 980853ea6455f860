/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - sessions: who they are, where their client is.
 *
 *            createSession committed       closeSession prepared        committed
 *  (being created) ------------> LIVE ---------------------> CLOSING ----------> gone
 *                                  ^ createSession submitted
 *                                LOCAL --------------------> gone
 *                                        closed, expired
 *
 * The transactions live in the tree; here is what the serving side adds to them. The table follows
 * committed transactions; only who decides which sessions live (tracker.h) has a new one earlier.
 *
 * A local session is known to this server only: no transaction makes or ends it. It can have no
 * ephemeral nodes, and ends with the role in which it was made. */
#ifndef PAWL_SERVER_SESSION_H
#define PAWL_SERVER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "server/expiry.h"
#include "wire/request.h"

struct connection;
struct waiting;

struct session {
    struct map_entry entry;
    int64_t id;
    int32_t timeout_ms;
    struct expiry_item expiry; /* this, */
    struct list heard;         /* this, */
    uint64_t owner;            /* this and */
    bool closing;              /* this are the tracker's; every request is dropped from here on */
    bool local;                /* see above; session_set_local() */
    int64_t ephemeral_zxid;    /* of the newest transaction that makes an ephemeral node */
    struct waiting *newest;    /* of its writes that are on their way from here; NULL: none */
    struct connection *connection; /* NULL: the client is away */
};

struct session_table {
    struct map sessions;
    size_t n_local; /* of them */
    int64_t next_id;
};

/* `wall_ms` seeds the ids: the server's id, 40 bits of the clock, 16 bits of counter. */
void session_table_init(struct session_table *t, int64_t wall_ms, int64_t server_id);
void session_table_fini(struct session_table *t);

/* All sessions are forgotten; ids go on from where they were. */
void session_table_clear(struct session_table *t);

int64_t session_new_id(struct session_table *t);

/* `id` has been given out before: the next ones come after it, if it was this server's. */
void session_skip_to(struct session_table *t, int64_t id);

struct session *session_add(struct session_table *t, int64_t id, int32_t timeout_ms);
struct session *session_find(const struct session_table *t, int64_t id);
void session_remove(struct session_table *t, struct session *s);

/* Before it is tracked: local or not decides how. */
void session_set_local(struct session_table *t, struct session *s, bool local);

/* 16 bytes that follow from the id alone, the same on every member of an ensemble. */
void session_password(int64_t id, uint8_t out[PASSWORD_BYTES]);
bool session_password_matches(int64_t id, struct bytes password);

#endif
