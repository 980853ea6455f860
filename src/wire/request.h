/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - what clients send.
 *
 * Strings and vectors of a decoded request are views into its frame. */
#ifndef PAWL_WIRE_REQUEST_H
#define PAWL_WIRE_REQUEST_H

#include "wire/ops.h"
#include "wire/records.h"

enum {
    XID_EVENT = -1,
    XID_PING = -2,
    XID_AUTH = -4,
    XID_SET_WATCHES = -8,
};

enum { PASSWORD_BYTES = 16 };

/* A sync of the first path asks whether it was a sign of life of its session to whoever expires it:
 * one whose leader counts every request answers with the second. Others answer any path with
 * itself. Neither is a node. */
#define SIGN_OF_LIFE       "/zookeeper/pawl/sign-of-life"
#define SIGN_OF_LIFE_TAKEN "/zookeeper/pawl/sign-of-life-taken"

/* Among the persistent watches of a setWatches2: the client wants to know whether the events that
 * its persistent and recursive watches missed have all been sent. Who tells what was missed answers
 * with one of these, an int where other answers are empty; everybody else sets one more watch on a
 * node that will never be. */
#define MISSED_EVENTS "/zookeeper/pawl/missed-events"
enum { MISSED_EVENTS_GAP = 0, MISSED_EVENTS_TOLD = 1 };

/* The first frame of a connection; it has no header. */
struct connect_request {
    int32_t protocol_version;
    int64_t last_zxid_seen;
    int32_t timeout_ms;
    int64_t session_id;
    struct bytes password;
    bool has_read_only; /* absent in clients up to 3.3, whose reply must then lack it too */
    bool read_only;
};

bool connect_request_read(struct bytes frame, struct connect_request *out);
void connect_request_write(struct strbuf *b, const struct connect_request *c);

struct connect_response {
    int32_t timeout_ms; /* 0: the session is not valid */
    int64_t session_id;
    uint8_t password[PASSWORD_BYTES];
    bool has_read_only;
    bool read_only;
};

bool connect_response_read(struct bytes frame, struct connect_response *out);

/* With its frame length. */
void connect_response_write(struct strbuf *b, const struct connect_response *c);

enum create_flags {
    CREATE_PERSISTENT = 0,
    CREATE_EPHEMERAL = 1,
    CREATE_SEQUENTIAL = 2,
    CREATE_EPHEMERAL_SEQUENTIAL = 3,
    CREATE_CONTAINER_FLAG = 4,
    CREATE_TTL_FLAG = 5,
    CREATE_TTL_SEQUENTIAL = 6,
};

/* Any request. Which fields count depends on the shape of its body (ops.def). */
struct request {
    int32_t type;
    struct bytes path;
    bool watch;
    struct bytes data; /* setData and create; the auth bytes; the SASL token */
    struct acl_list acl;
    int32_t flags;
    int64_t ttl_ms; /* -1 where the record has none */
    int32_t version;
    int32_t watch_type; /* addWatch's mode, removeWatches' type */
    int32_t timeout_ms;
    int64_t relative_zxid;
    struct string_list watches[5]; /* data, exist, child, persistent, recursive */
    int n_watch_lists;
    struct bytes scheme;                    /* auth */
    struct bytes joining, leaving, members; /* reconfig */
    int64_t config_id;
    struct bytes multi; /* the operations with their headers, for multi_next() */
};

/* Reads the body of operation `op` from `r`. False when it does not fit its record; bytes left
 * over are ignored. For a multi the operations themselves are not looked at yet. */
bool request_read(const struct op *op, struct jute_reader *r, struct request *out);
void request_write(struct strbuf *b, const struct op *op, const struct request *q);

struct multi_header {
    int32_t type;
    bool done;
    int32_t err;
};
enum { MULTI_HEADER_BYTES = 9 };

struct multi_header multi_header_read(struct jute_reader *r);
void multi_header_write(struct strbuf *b, const struct multi_header *h);

enum multi_step { MULTI_OP, MULTI_END, MULTI_BAD };

/* The next operation of a multi (`reads` false) or a multiRead (`reads` true). MULTI_BAD: not
 * decodable, or an operation that has no place there. `type` is what the operation amounts to: the
 * flags of a create may make it a container's. */
enum multi_step multi_next(struct jute_reader *r, bool reads, struct request *out);

#endif
