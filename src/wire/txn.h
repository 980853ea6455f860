/* SPDX-License-Identifier: Apache-2.0 */
/* txn.h - transactions: what is agreed upon, logged and applied.
 *
 * The payload of a log record is header, body and, from 3.6 on, a digest of the tree after it:
 *
 *   long clientId | int cxid | long zxid | long time | int type         32 bytes
 *   body by type, may be empty
 *   int digestVersion (2) | long treeDigest                             12 bytes, optional
 *
 * Decoding gives views into the payload. */
#ifndef PAWL_WIRE_TXN_H
#define PAWL_WIRE_TXN_H

#include "wire/records.h"

enum txn_type {
    TXN_ERROR = -1,
    TXN_CREATE = 1,
    TXN_DELETE = 2,
    TXN_SET_DATA = 5,
    TXN_SET_ACL = 7,
    TXN_CHECK = 13,
    TXN_MULTI = 14,
    TXN_CREATE2 = 15,
    TXN_RECONFIG = 16,
    TXN_CREATE_CONTAINER = 19,
    TXN_DELETE_CONTAINER = 20,
    TXN_CREATE_TTL = 21,
    TXN_CREATE_SESSION = -10,
    TXN_CLOSE_SESSION = -11,
};

enum { TXN_HEADER_BYTES = 32, TXN_DIGEST_BYTES = 12, TXN_DIGEST_VERSION = 2 };

struct txn_header {
    int64_t client_id;
    int32_t cxid;
    int64_t zxid;
    int64_t time_ms;
    int32_t type;
};

/* One operation. Which fields count depends on the type; `txn_op_read` names them. */
struct txn_op {
    int32_t type;
    struct bytes path;
    struct bytes data;          /* create*, set_data, reconfig */
    struct acl_list acl;        /* create*, set_acl */
    bool ephemeral;             /* create, create2 */
    int32_t parent_cversion;    /* create*; -1: compute it */
    int64_t ttl_ms;             /* create_ttl */
    int32_t version;            /* set_data, set_acl, check: the resulting one */
    int32_t err;                /* error */
    int32_t timeout_ms;         /* create_session */
    struct string_list deleted; /* close_session; count -1: body absent */
    struct bytes multi;         /* multi: the vector's elements, for multi_next() */
    int32_t n_multi;
};

struct txn {
    struct txn_header header;
    struct txn_op op;
    bool has_digest;
    int64_t digest;
};

enum txn_decoded {
    TXN_OK,
    TXN_SHORT,   /* ends before its body does */
    TXN_UNKNOWN, /* no such type */
};

enum txn_decoded txn_read(struct bytes payload, struct txn *out);

/* Walks the operations of a multi. `r` starts over op.multi; call op.n_multi times. */
enum txn_decoded txn_multi_next(struct jute_reader *r, struct txn_op *out);

void txn_header_write(struct strbuf *b, const struct txn_header *h);

/* The body alone; not for TXN_MULTI, whose operations the caller frames one by one:
 * int type, int length, body. */
void txn_op_write(struct strbuf *b, const struct txn_op *op);
void txn_digest_write(struct strbuf *b, int64_t digest);

/* "setData on /a", "multi of 3 operations on /a to /z": what it is and which nodes it concerns, the
 * first and the last path by name, each cut short where it is long. For logs. */
void txn_describe(struct strbuf *b, const struct txn *txn);

/* "create", "setData": for logs and traces; "unknown" for others. */
const char *txn_type_name(int32_t type);

#endif
