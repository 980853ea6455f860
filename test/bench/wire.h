/* SPDX-License-Identifier: Apache-2.0 */
/* wire.h - the few ZooKeeper frames the bench needs, written by hand.
 *
 * Deliberately apart from src/wire: the thing that measures the server shares no code with it, so a
 * mistake in the codec cannot hide by being made on both sides. */
#ifndef PAWL_BENCH_WIRE_H
#define PAWL_BENCH_WIRE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum wire_op {
    OP_NOTIFICATION = 0,
    OP_CREATE = 1,
    OP_DELETE = 2,
    OP_EXISTS = 3,
    OP_GET_DATA = 4,
    OP_SET_DATA = 5,
    OP_GET_CHILDREN = 8,
    OP_SYNC = 9,
    OP_PING = 11,
    OP_CLOSE = -11
};

enum wire_error { ERR_OK = 0, ERR_NO_NODE = -101, ERR_NODE_EXISTS = -110 };

enum {
    XID_EVENT = -1,
    CREATE_PERSISTENT = 0,
    CREATE_EPHEMERAL_SEQUENTIAL = 3,
    REPLY_HEADER_BYTES = 16,
    STAT_BYTES = 68,
    PASSWORD_BYTES = 16,
    CONNECT_RESPONSE_BYTES = 37,
    PATH_BYTES_MAX = 128,
    FRAME_OVERHEAD_MAX = 256 /* all of a request frame but its data */
};

/* Who has a session: id 0 asks for a new one. */
struct wire_session {
    int64_t id;
    uint8_t password[PASSWORD_BYTES];
};

static inline uint8_t *put32(uint8_t *p, int32_t value)
{
    uint32_t be = htobe32((uint32_t)value);

    memcpy(p, &be, sizeof(be));
    return p + sizeof(be);
}

static inline uint8_t *put64(uint8_t *p, int64_t value)
{
    uint64_t be = htobe64((uint64_t)value);

    memcpy(p, &be, sizeof(be));
    return p + sizeof(be);
}

static inline int32_t get32(const uint8_t *p)
{
    uint32_t be;

    memcpy(&be, p, sizeof(be));
    return (int32_t)be32toh(be);
}

static inline int64_t get64(const uint8_t *p)
{
    uint64_t be;

    memcpy(&be, p, sizeof(be));
    return (int64_t)be64toh(be);
}

/* Each writes one whole frame, length included, at `p` and returns its size. The caller has room
 * for FRAME_OVERHEAD_MAX bytes and the data. */
size_t wire_connect(uint8_t *p, int32_t timeout_ms, const struct wire_session *session);
size_t wire_create(uint8_t *p, int32_t xid, const char *path, size_t data_len, int32_t flags);
size_t wire_read(uint8_t *p, int32_t xid, enum wire_op op, const char *path, int watch);
size_t wire_set_data(uint8_t *p, int32_t xid, const char *path, size_t data_len);
size_t wire_delete(uint8_t *p, int32_t xid, const char *path);
size_t wire_sync(uint8_t *p, int32_t xid, const char *path);
size_t wire_close(uint8_t *p, int32_t xid);

#endif
