/* SPDX-License-Identifier: Apache-2.0 */
/* vote.h - what servers say to each other on the election port.
 *
 * A connection begins with the dialler's hello, which is not framed; after it both sides send
 * frames (int length, payload), each of them one notification. Decoding gives views into the
 * input. */
#ifndef PAWL_WIRE_VOTE_H
#define PAWL_WIRE_VOTE_H

#include "wire/jute.h"

enum hello_version {
    HELLO_3_4 = 0,                 /* nothing but the server's id */
    HELLO_ONE_ADDRESS = -65536,    /* since 3.5 */
    HELLO_MANY_ADDRESSES = -65535, /* 3.6 and later, with multiAddress.enabled only */
};

#define SERVER_ID_ANONYMOUS INT64_MAX /* an observer that is in no configuration */

enum { HELLO_ADDRESS_BYTES = 2048 };

struct hello {
    enum hello_version version;
    int64_t server_id;
    struct bytes addresses; /* "host:port|host:port"; null in the form of 3.4 */
};

/* Bad: an unknown version, or an address text of unreasonable length. */
enum stream_read hello_read(struct bytes input, struct hello *out, size_t *used);

/* To be sent in one piece: Java refuses a hello whose address text arrives in two. */
void hello_write(struct strbuf *b, const struct hello *h);

struct hello_address {
    struct bytes host; /* without the brackets of an IPv6 address */
    uint16_t port;
};

/* Takes the first address off `*rest`. False when there is none left or it is malformed, in which
 * case `rest` still has it. */
bool hello_next_address(struct bytes *rest, struct hello_address *out);

enum { NOTIFICATION_BYTES_MAX = 524288 };

/* The payload of the frame at the beginning of `input`. */
enum stream_read notification_frame(struct bytes input, struct bytes *payload, size_t *used);

enum member_state {
    MEMBER_LOOKING = 0,
    MEMBER_FOLLOWING = 1,
    MEMBER_LEADING = 2,
    MEMBER_OBSERVING = 3,
};

/* The version that we send, the first with a configuration. */
enum { NOTIFICATION_VERSION = 2 };

struct notification {
    enum member_state state; /* the sender's; the rest is its vote */
    int64_t leader;
    int64_t zxid;
    int64_t election_epoch;
    int64_t peer_epoch;
    int32_t version;     /* 0 for everything before a configuration was sent along */
    struct bytes config; /* the sender's current configuration; null in version 0 */
};

/* False: shorter than it says, or of no known state. To be dropped, the connection stays. */
bool notification_read(struct bytes payload, struct notification *out);

/* With its frame length; version 0 in the form of 3.4.6. */
void notification_write(struct strbuf *b, const struct notification *n);

#endif
