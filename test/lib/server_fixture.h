/* SPDX-License-Identifier: Apache-2.0 */
/* server_fixture.h - a real server that stands alone, with all it writes agreed upon at once.
 *
 * No log, no sockets: bytes go in by fixture_send(), what the server has for a client is taken out
 * by fixture_take(). Time stands still until fixture_advance(). */
#ifndef PAWL_TEST_SERVER_FIXTURE_H
#define PAWL_TEST_SERVER_FIXTURE_H

#include "member/journal.h"
#include "server/server.h"
#include "store/txn_batch.h"
#include "wire/reply.h"
#include "wire/request.h"

struct server_fixture {
    struct role role; /* first: the role's callbacks find the fixture by it */
    struct server *server;
    struct journal journal; /* what is in flight */
    struct txn_batch batch;
    int64_t now_us, wall_ms;
    uint16_t next_port;
    int32_t next_xid;
    bool hold; /* writes stay in flight until fixture_commit_all() */
    struct strbuf taken;
    struct strbuf trace;
};

/* Usual options of a standalone server: tick 2 s, all words listed, no limits in the way. */
struct server_options fixture_options(void);

/* `options` NULL: the usual ones. A fresh tree with its system nodes; the clock says
 * 2026-11-15 02:24:00 UTC. */
void fixture_init(struct server_fixture *f, const struct server_options *options);
void fixture_fini(struct server_fixture *f);

/* Time passes, with ticks of the server on the way. */
void fixture_advance(struct server_fixture *f, int64_t ms);

/* Commits what is in flight, in order; or the first of it. */
void fixture_commit_all(struct server_fixture *f);
void fixture_commit_one(struct server_fixture *f);

/* How many transactions are in flight, and the n-th of them. */
size_t fixture_in_flight(const struct server_fixture *f);
struct txn fixture_txn(const struct server_fixture *f, size_t n);

/* A new link from 127.0.0.1; ports count up from 40001. Nothing has been said yet. */
struct connection *fixture_connect(struct server_fixture *f);
void fixture_send(struct server_fixture *f, struct connection *c, struct bytes bytes);

/* What waits to be sent to `c`, taken out; good until the next call that takes something. */
struct bytes fixture_take(struct server_fixture *f, struct connection *c);

/* A link with a new session. */
struct connection *fixture_client(struct server_fixture *f, int32_t timeout_ms);

/* Sends a request and takes the frames it brought: events first, then the reply. The reply's header
 * is given back, `body` set to what follows it (NULL: not wanted). Fails the test without one. */
struct reply_header fixture_request(struct server_fixture *f, struct connection *c,
                                    const struct request *q, struct jute_reader *body);

/* The usual requests; each returns the error of the reply. */
int fixture_create(struct server_fixture *f, struct connection *c, const char *path,
                   const char *data, int32_t flags);
int fixture_set(struct server_fixture *f, struct connection *c, const char *path, const char *data);
int fixture_delete(struct server_fixture *f, struct connection *c, const char *path);
int fixture_get(struct server_fixture *f, struct connection *c, const char *path, bool watch);
int fixture_exists(struct server_fixture *f, struct connection *c, const char *path, bool watch);
int fixture_children(struct server_fixture *f, struct connection *c, const char *path, bool watch);
int fixture_ping(struct server_fixture *f, struct connection *c);

/* For what takes more than one request at a time: appends a whole frame to `out`. */
void fixture_frame(struct strbuf *out, int32_t xid, const struct request *q);
void fixture_connect_frame(struct strbuf *out, const struct connect_request *r);

/* Requests with these fields, world:anyone:all where an ACL is wanted. */
struct request fixture_create_request(const char *path, const char *data, int32_t flags);
struct request fixture_set_request(const char *path, const char *data, int32_t version);
struct request fixture_path_request(int32_t type, const char *path); /* version -1, no watch */
extern const struct acl_list fixture_open_acl;

/* What waits to be sent to `c` behind its handshake, taken out, a line for each frame:
 * "7 OK @12" for a reply (xid, error, zxid), "created /a @12" for an event. Good until the next
 * call that takes something. */
const char *fixture_trace(struct server_fixture *f, struct connection *c);

/* A turn of the host's loop: who has had its share of the last one goes on. */
void fixture_turn(struct server_fixture *f);

/* A link that asks for the session of another; what it was answered. */
struct connection *fixture_resume(struct server_fixture *f, int64_t session_id, int32_t timeout_ms,
                                  struct connect_response *out);

/* The same, without a look at the answer. */
struct connection *fixture_ask_to_resume(struct server_fixture *f, int64_t session_id,
                                         int32_t timeout_ms);

/* The answer to a four-letter word on a link of its own, which must be closed by it. Good until the
 * next call that takes something. */
const char *fixture_word(struct server_fixture *f, const char *word);

#endif
