/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - what the server sends: replies and watch events, with their frame length.
 *
 * Strings and vectors of a decoded reply are views into its frame. */
#ifndef PAWL_WIRE_REPLY_H
#define PAWL_WIRE_REPLY_H

#include "wire/records.h"
#include "wire/request.h"

enum { REPLY_HEADER_BYTES = 16 };

struct reply_header {
    int32_t xid;
    int64_t zxid;
    int32_t err;
};

struct reply_header reply_header_read(struct jute_reader *r);

/* Appends length and header; the body follows, then reply_end() with what this returned. */
size_t reply_begin(struct strbuf *b, int32_t xid, int64_t zxid, int32_t err);
void reply_end(struct strbuf *b, size_t start);

/* The body of any reply without an error. Which fields count depends on the operation. */
struct reply_body {
    struct bytes path; /* create*, sync */
    struct bytes data; /* getData, reconfig; the SASL token */
    struct stat_record stat;
    struct acl_list acl;
    struct string_list names; /* getChildren*, getEphemerals */
    struct id_list ids;       /* whoAmI */
    int32_t number;           /* getAllChildrenNumber; addWatch's and a failed multi's error */
    struct bytes multi;       /* multi, multiRead: the results, for multi_result_next() */
};

/* Of the reply to operation `op`. False when it does not fit its record, or no such operation. */
bool reply_body_read(int32_t op, struct jute_reader *r, struct reply_body *out);
void reply_body_write(struct strbuf *b, int32_t op, const struct reply_body *body);

/* The next result of a multi. An operation that failed, or was not attempted, has type -1 and its
 * error in `err`. */
enum { MULTI_RESULT_ERROR = -1 };
enum multi_step multi_result_next(struct jute_reader *r, struct multi_header *header,
                                  struct reply_body *body);

enum event_type {
    EVENT_CREATED = 1,
    EVENT_DELETED = 2,
    EVENT_DATA_CHANGED = 3,
    EVENT_CHILDREN_CHANGED = 4,
};
enum { STATE_SYNC_CONNECTED = 3 };

struct event {
    int32_t type;
    int32_t state;
    struct bytes path;
};

/* A whole frame. `zxid` is the transaction's, or -1 for the catch-up events of setWatches. */
void event_write(struct strbuf *b, int32_t type, struct bytes path, int64_t zxid);
struct event event_read(struct jute_reader *r);

#endif
