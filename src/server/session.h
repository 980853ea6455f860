/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - sessions: who they are, when they expire, where their client is.
 *
 *            createSession committed       closeSession prepared        committed
 *  (being created) ------------> LIVE ---------------------> CLOSING ----------> gone
 *
 * The transactions live in the tree; here is what the serving side adds to them. */
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
    struct expiry_item expiry;
    int64_t id;
    int32_t timeout_ms;
    bool closing;                  /* from here on every request of it is dropped */
    int64_t ephemeral_zxid;        /* of the newest transaction that makes an ephemeral node */
    struct waiting *newest;        /* of its writes that are on their way from here; NULL: none */
    struct connection *connection; /* NULL: the client is away */
};

struct session_table {
    struct map sessions;
    struct expiry expiry;
    int64_t next_id;
};

/* `wall_ms` seeds the ids: the server's id, 40 bits of the clock, 16 bits of counter. */
void session_table_init(struct session_table *t, int64_t tick_ms, int64_t now_ms, int64_t wall_ms,
                        int64_t server_id);
void session_table_fini(struct session_table *t);

int64_t session_new_id(struct session_table *t);

/* `id` has been given out before: the next ones come after it, if it was this server's. */
void session_skip_to(struct session_table *t, int64_t id);

/* A live session, heard from now. */
struct session *session_add(struct session_table *t, int64_t id, int32_t timeout_ms,
                            int64_t now_ms);
struct session *session_find(const struct session_table *t, int64_t id);
void session_remove(struct session_table *t, struct session *s);

/* Heard from it. False when it is closing. */
bool session_touch(struct session_table *t, struct session *s, int64_t now_ms);

/* So much of its time is left unless it is heard from. */
void session_set_left(struct session_table *t, struct session *s, int64_t now_ms, int64_t left_ms);

/* Takes out of the queue one session that is due: to be closed, or touched after all. */
struct session *session_pop_due(struct session_table *t, int64_t now_ms);
void session_set_closing(struct session_table *t, struct session *s);

/* 16 bytes that follow from the id alone, the same on every member of an ensemble. */
void session_password(int64_t id, uint8_t out[PASSWORD_BYTES]);
bool session_password_matches(int64_t id, struct bytes password);

#endif
