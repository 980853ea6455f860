/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

static uint8_t *put_string(uint8_t *p, const char *s)
{
    size_t len = strlen(s);

    p = put32(p, (int32_t)len);
    memcpy(p, s, len);
    return p + len;
}

static uint8_t *put_payload(uint8_t *p, size_t len)
{
    p = put32(p, (int32_t)len);
    memset(p, 'x', len);
    return p + len;
}

static uint8_t *put_header(uint8_t *frame, int32_t xid, enum wire_op op)
{
    return put32(put32(frame + 4, xid), op);
}

/* Fills in the length of the frame that starts at `frame` and ends before `end`. */
static size_t finish(uint8_t *frame, const uint8_t *end)
{
    put32(frame, (int32_t)(end - frame - 4));
    return (size_t)(end - frame);
}

size_t wire_connect(uint8_t *p, int32_t timeout_ms, const struct wire_session *session)
{
    uint8_t *at = put32(p + 4, 0); /* protocol version */

    at = put64(at, 0); /* last zxid seen */
    at = put32(at, timeout_ms);
    at = put64(at, session->id);
    at = put32(at, PASSWORD_BYTES);
    memcpy(at, session->password, PASSWORD_BYTES);
    at[PASSWORD_BYTES] = 0; /* read-only servers will not do */
    return finish(p, at + PASSWORD_BYTES + 1);
}

size_t wire_create(uint8_t *p, int32_t xid, const char *path, size_t data_len, int32_t flags)
{
    uint8_t *at = put_header(p, xid, OP_CREATE);

    at = put_string(at, path);
    at = put_payload(at, data_len);
    at = put32(at, 1);  /* one ACL entry: */
    at = put32(at, 31); /* all permissions */
    at = put_string(at, "world");
    at = put_string(at, "anyone");
    at = put32(at, flags);
    return finish(p, at);
}

size_t wire_read(uint8_t *p, int32_t xid, enum wire_op op, const char *path, int watch)
{
    uint8_t *at = put_string(put_header(p, xid, op), path);

    *at++ = watch != 0;
    return finish(p, at);
}

size_t wire_set_data(uint8_t *p, int32_t xid, const char *path, size_t data_len)
{
    uint8_t *at = put_string(put_header(p, xid, OP_SET_DATA), path);

    at = put_payload(at, data_len);
    return finish(p, put32(at, -1)); /* any version */
}

size_t wire_delete(uint8_t *p, int32_t xid, const char *path)
{
    uint8_t *at = put_string(put_header(p, xid, OP_DELETE), path);

    return finish(p, put32(at, -1));
}

size_t wire_sync(uint8_t *p, int32_t xid, const char *path)
{
    return finish(p, put_string(put_header(p, xid, OP_SYNC), path));
}

size_t wire_close(uint8_t *p, int32_t xid)
{
    return finish(p, put_header(p, xid, OP_CLOSE));
}
