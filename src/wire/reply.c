/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/reply.h"

struct reply_header reply_header_read(struct jute_reader *r)
{
    struct reply_header h;

    h.xid = jute_read_int(r);
    h.zxid = jute_read_long(r);
    h.err = jute_read_int(r);
    return h;
}

size_t reply_begin(struct strbuf *b, int32_t xid, int64_t zxid, int32_t err)
{
    size_t start = b->len;
    uint8_t *p;

    if (strbuf_reserve(b, 4 + REPLY_HEADER_BYTES)) {
        p = b->data + b->len;
        store_u32(p, REPLY_HEADER_BYTES);
        store_u32(p + 4, (uint32_t)xid);
        store_u64(p + 8, (uint64_t)zxid);
        store_u32(p + 16, (uint32_t)err);
        b->len += 4 + REPLY_HEADER_BYTES;
    }
    return start;
}

void reply_end(struct strbuf *b, size_t start)
{
    jute_patch_int(b, start, (int32_t)(b->len - start - 4));
}

void event_write(struct strbuf *b, int32_t type, struct bytes path, int64_t zxid)
{
    size_t start = reply_begin(b, XID_EVENT, zxid, 0);

    jute_write_int(b, type);
    jute_write_int(b, STATE_SYNC_CONNECTED);
    jute_write_buffer(b, path);
    reply_end(b, start);
}

struct event event_read(struct jute_reader *r)
{
    struct event e;

    e.type = jute_read_int(r);
    e.state = jute_read_int(r);
    e.path = jute_read_buffer(r);
    return e;
}

bool reply_body_read(int32_t op, struct jute_reader *r, struct reply_body *out)
{
    *out = (struct reply_body){0};
    switch (op) {
    case OP_CREATE:
    case OP_SYNC:
        out->path = jute_read_buffer(r);
        break;
    case OP_CREATE2:
    case OP_CREATE_CONTAINER:
    case OP_CREATE_TTL:
        out->path = jute_read_buffer(r);
        out->stat = stat_read(r);
        break;
    case OP_EXISTS:
    case OP_SET_DATA:
    case OP_SET_ACL:
        out->stat = stat_read(r);
        break;
    case OP_GET_DATA:
    case OP_RECONFIG:
        out->data = jute_read_buffer(r);
        out->stat = stat_read(r);
        break;
    case OP_GET_ACL:
        out->acl = acl_list_read(r);
        out->stat = stat_read(r);
        break;
    case OP_GET_CHILDREN:
    case OP_GET_EPHEMERALS:
        out->names = string_list_read(r);
        break;
    case OP_GET_CHILDREN2:
        out->names = string_list_read(r);
        out->stat = stat_read(r);
        break;
    case OP_GET_ALL_CHILDREN_NUMBER:
    case OP_ADD_WATCH:
    case MULTI_RESULT_ERROR:
        out->number = jute_read_int(r);
        break;
    case OP_WHO_AM_I:
        out->ids = id_list_read(r);
        break;
    case OP_SASL:
        out->data = jute_read_buffer(r);
        break;
    case OP_MULTI:
    case OP_MULTI_READ:
        out->multi = bytes_of(r->at, jute_left(r));
        break;
    default:
        return op_find(op) != NULL && !r->failed;
    }
    return !r->failed;
}

void reply_body_write(struct strbuf *b, int32_t op, const struct reply_body *body)
{
    switch (op) {
    case OP_CREATE:
    case OP_SYNC:
        jute_write_buffer(b, body->path);
        break;
    case OP_CREATE2:
    case OP_CREATE_CONTAINER:
    case OP_CREATE_TTL:
        jute_write_buffer(b, body->path);
        stat_write(b, &body->stat);
        break;
    case OP_EXISTS:
    case OP_SET_DATA:
    case OP_SET_ACL:
        stat_write(b, &body->stat);
        break;
    case OP_GET_DATA:
    case OP_RECONFIG:
        jute_write_buffer(b, body->data);
        stat_write(b, &body->stat);
        break;
    case OP_GET_ACL:
        acl_list_write(b, &body->acl);
        stat_write(b, &body->stat);
        break;
    case OP_GET_CHILDREN:
    case OP_GET_EPHEMERALS:
        string_list_write(b, &body->names);
        break;
    case OP_GET_CHILDREN2:
        string_list_write(b, &body->names);
        stat_write(b, &body->stat);
        break;
    case OP_GET_ALL_CHILDREN_NUMBER:
    case OP_ADD_WATCH:
    case MULTI_RESULT_ERROR:
        jute_write_int(b, body->number);
        break;
    case OP_WHO_AM_I:
        id_list_write(b, &body->ids);
        break;
    case OP_SASL:
        jute_write_buffer(b, body->data);
        break;
    case OP_MULTI:
    case OP_MULTI_READ:
        strbuf_append_bytes(b, body->multi);
        break;
    default: /* a header says it all */
        break;
    }
}

static bool is_multi_result(int32_t type)
{
    switch (type) {
    case MULTI_RESULT_ERROR:
    case OP_CREATE:
    case OP_CREATE2:
    case OP_DELETE:
    case OP_SET_DATA:
    case OP_CHECK:
    case OP_GET_DATA:
    case OP_GET_CHILDREN:
        return true;
    default:
        return false;
    }
}

enum multi_step multi_result_next(struct jute_reader *r, struct multi_header *header,
                                  struct reply_body *body)
{
    *header = multi_header_read(r);
    if (r->failed) {
        return MULTI_BAD;
    }
    if (header->done) {
        return MULTI_END;
    }
    if (!is_multi_result(header->type) || !reply_body_read(header->type, r, body)) {
        return MULTI_BAD;
    }
    return MULTI_OP;
}
