/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_stream.h - finds the end of a snapshot that another server sends.
 *
 *   body        sessions, ACLs, nodes and the end, as in a file (snapshot_format.h)
 *   signature   string "BenWasHere"
 *
 * There is no length in front, so the lengths inside have to be followed. The scanner does that and
 * no more: it holds a few bytes whatever comes, and refuses a length that no node can have. Whether
 * the body makes a tree is seen when it is loaded.
 *
 *   SESSIONS -> ACLS <-> ACL <-> SCHEME -> ID     n sessions; n ACLs of n entries each
 *                 |
 *               PATH <-> DATA                     a node each
 *                 |
 *               SLASH -> SIGNATURE -> WHOLE       any of them: -> BAD
 */
#ifndef PAWL_STORE_SNAPSHOT_STREAM_H
#define PAWL_STORE_SNAPSHOT_STREAM_H

#include <stdint.h>

#include "base/bytes.h"
#include "wire/jute.h"
#include "wire/records.h"

#define SNAPSHOT_SIGNATURE "BenWasHere"

struct snapshot_stream {
    size_t limit_bytes;       /* of one string or buffer */
    uint64_t limit_all_bytes; /* of the body; 0: none */
    uint64_t body_bytes;      /* seen so far */
    const char *reason;       /* once it is bad: why */
    /* the rest is the scanner's own */
    int state;
    uint64_t skip;     /* bytes to pass over before the next field */
    uint8_t field[16]; /* the field being put together */
    size_t have;
    int64_t n_left;       /* ACLs */
    int64_t entries_left; /* of the ACL */
    size_t acl_bytes;
};

/* `limit_bytes` 0: ZooKeeper's default. */
void snapshot_stream_init(struct snapshot_stream *s, size_t limit_bytes, uint64_t limit_all_bytes);

/* Takes the next bytes. SHORT: all of them belong to the stream, and more is to come. WHOLE: it
 * ends after `*used` of them. In both cases the first `*body` of them belong to the body. BAD: it
 * is no such stream, see `reason`. After WHOLE and BAD it takes nothing more. */
enum stream_read snapshot_stream_feed(struct snapshot_stream *s, struct bytes bytes, size_t *used,
                                      size_t *body);

#endif
