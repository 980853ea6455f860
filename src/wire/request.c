/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/request.h"

bool connect_request_read(struct bytes frame, struct connect_request *out)
{
    struct jute_reader r = jute_reader_of(frame);

    *out = (struct connect_request){0};
    out->protocol_version = jute_read_int(&r);
    out->last_zxid_seen = jute_read_long(&r);
    out->timeout_ms = jute_read_int(&r);
    out->session_id = jute_read_long(&r);
    out->password = jute_read_buffer(&r);
    if (r.failed) {
        return false;
    }
    out->has_read_only = jute_left(&r) > 0;
    out->read_only = out->has_read_only && jute_read_bool(&r);
    return true;
}

void connect_request_write(struct strbuf *b, const struct connect_request *c)
{
    jute_write_int(b, c->protocol_version);
    jute_write_long(b, c->last_zxid_seen);
    jute_write_int(b, c->timeout_ms);
    jute_write_long(b, c->session_id);
    jute_write_buffer(b, c->password);
    if (c->has_read_only) {
        jute_write_bool(b, c->read_only);
    }
}

bool connect_response_read(struct bytes frame, struct connect_response *out)
{
    struct jute_reader r = jute_reader_of(frame);
    struct bytes password;

    *out = (struct connect_response){0};
    jute_read_int(&r);
    out->timeout_ms = jute_read_int(&r);
    out->session_id = jute_read_long(&r);
    password = jute_read_buffer(&r);
    if (r.failed || password.len != PASSWORD_BYTES) {
        return false;
    }
    memcpy(out->password, password.data, PASSWORD_BYTES);
    out->has_read_only = jute_left(&r) > 0;
    out->read_only = out->has_read_only && jute_read_bool(&r);
    return true;
}

void connect_response_write(struct strbuf *b, const struct connect_response *c)
{
    jute_write_int(b, 4 + 4 + 8 + 4 + PASSWORD_BYTES + (c->has_read_only ? 1 : 0));
    jute_write_int(b, 0);
    jute_write_int(b, c->timeout_ms);
    jute_write_long(b, c->session_id);
    jute_write_buffer(b, bytes_of(c->password, PASSWORD_BYTES));
    if (c->has_read_only) {
        jute_write_bool(b, c->read_only);
    }
}

static void request_read_create(struct jute_reader *r, struct request *q)
{
    q->path = jute_read_buffer(r);
    q->data = jute_read_buffer(r);
    q->acl = acl_list_read(r);
    q->flags = jute_read_int(r);
}

static void read_watch_lists(struct jute_reader *r, struct request *q, int n)
{
    q->relative_zxid = jute_read_long(r);
    q->n_watch_lists = n;
    for (int i = 0; i < n; i++) {
        q->watches[i] = string_list_read(r);
    }
}

bool request_read(const struct op *op, struct jute_reader *r, struct request *q)
{
    *q = (struct request){.type = op->code, .ttl_ms = -1};
    switch (op->body) {
    case BODY_NOTHING:
        break;
    case BODY_PATH:
        q->path = jute_read_buffer(r);
        break;
    case BODY_PATH_WATCH:
        q->path = jute_read_buffer(r);
        q->watch = jute_read_bool(r);
        break;
    case BODY_PATH_VERSION:
        q->path = jute_read_buffer(r);
        q->version = jute_read_int(r);
        break;
    case BODY_PATH_TYPE:
        q->path = jute_read_buffer(r);
        q->watch_type = jute_read_int(r);
        break;
    case BODY_CREATE:
        request_read_create(r, q);
        break;
    case BODY_CREATE_TTL:
        request_read_create(r, q);
        q->ttl_ms = jute_read_long(r);
        break;
    case BODY_SET_DATA:
        q->path = jute_read_buffer(r);
        q->data = jute_read_buffer(r);
        q->version = jute_read_int(r);
        break;
    case BODY_SET_ACL:
        q->path = jute_read_buffer(r);
        q->acl = acl_list_read(r);
        q->version = jute_read_int(r);
        break;
    case BODY_MULTI:
        q->multi = bytes_of(r->at, jute_left(r));
        break;
    case BODY_RECONFIG:
        q->joining = jute_read_buffer(r);
        q->leaving = jute_read_buffer(r);
        q->members = jute_read_buffer(r);
        q->config_id = jute_read_long(r);
        break;
    case BODY_AUTH:
        jute_read_int(r);
        q->scheme = jute_read_buffer(r);
        q->data = jute_read_buffer(r);
        break;
    case BODY_TOKEN:
        q->data = jute_read_buffer(r);
        break;
    case BODY_SET_WATCHES:
        read_watch_lists(r, q, 3);
        break;
    case BODY_SET_WATCHES2:
        read_watch_lists(r, q, 5);
        break;
    case BODY_TIMEOUT:
        q->timeout_ms = jute_read_int(r);
        break;
    }
    return !r->failed;
}

static void request_write_create(struct strbuf *b, const struct request *q)
{
    jute_write_buffer(b, q->path);
    jute_write_buffer(b, q->data);
    acl_list_write(b, &q->acl);
    jute_write_int(b, q->flags);
}

static void write_watch_lists(struct strbuf *b, const struct request *q)
{
    jute_write_long(b, q->relative_zxid);
    for (int i = 0; i < q->n_watch_lists; i++) {
        string_list_write(b, &q->watches[i]);
    }
}

void request_write(struct strbuf *b, const struct op *op, const struct request *q)
{
    switch (op->body) {
    case BODY_NOTHING:
        break;
    case BODY_PATH:
        jute_write_buffer(b, q->path);
        break;
    case BODY_PATH_WATCH:
        jute_write_buffer(b, q->path);
        jute_write_bool(b, q->watch);
        break;
    case BODY_PATH_VERSION:
        jute_write_buffer(b, q->path);
        jute_write_int(b, q->version);
        break;
    case BODY_PATH_TYPE:
        jute_write_buffer(b, q->path);
        jute_write_int(b, q->watch_type);
        break;
    case BODY_CREATE:
        request_write_create(b, q);
        break;
    case BODY_CREATE_TTL:
        request_write_create(b, q);
        jute_write_long(b, q->ttl_ms);
        break;
    case BODY_SET_DATA:
        jute_write_buffer(b, q->path);
        jute_write_buffer(b, q->data);
        jute_write_int(b, q->version);
        break;
    case BODY_SET_ACL:
        jute_write_buffer(b, q->path);
        acl_list_write(b, &q->acl);
        jute_write_int(b, q->version);
        break;
    case BODY_MULTI:
        strbuf_append_bytes(b, q->multi);
        break;
    case BODY_RECONFIG:
        jute_write_buffer(b, q->joining);
        jute_write_buffer(b, q->leaving);
        jute_write_buffer(b, q->members);
        jute_write_long(b, q->config_id);
        break;
    case BODY_AUTH:
        jute_write_int(b, 0);
        jute_write_buffer(b, q->scheme);
        jute_write_buffer(b, q->data);
        break;
    case BODY_TOKEN:
        jute_write_buffer(b, q->data);
        break;
    case BODY_SET_WATCHES:
    case BODY_SET_WATCHES2:
        write_watch_lists(b, q);
        break;
    case BODY_TIMEOUT:
        jute_write_int(b, q->timeout_ms);
        break;
    }
}

struct multi_header multi_header_read(struct jute_reader *r)
{
    struct multi_header h;

    h.type = jute_read_int(r);
    h.done = jute_read_bool(r);
    h.err = jute_read_int(r);
    return h;
}

void multi_header_write(struct strbuf *b, const struct multi_header *h)
{
    jute_write_int(b, h->type);
    jute_write_bool(b, h->done);
    jute_write_int(b, h->err);
}

static bool belongs_in_multi(int32_t type, bool reads)
{
    switch (type) {
    case OP_CREATE:
    case OP_CREATE2:
    case OP_CREATE_CONTAINER:
    case OP_CREATE_TTL:
    case OP_DELETE:
    case OP_SET_DATA:
    case OP_CHECK:
        return !reads;
    case OP_GET_DATA:
    case OP_GET_CHILDREN:
        return reads;
    default:
        return false;
    }
}

/* Inside a multi the flags of a create have their say in what it is, which they have not outside:
 * the container flag makes any create a container's, a createTTL without a TTL flag is a plain
 * create, and a flag that is none makes the whole multi undecodable. */
static bool settle_create(struct request *q)
{
    switch (q->type) {
    case OP_CREATE:
    case OP_CREATE2:
    case OP_CREATE_CONTAINER:
        if (q->flags < CREATE_PERSISTENT || q->flags > CREATE_TTL_SEQUENTIAL) {
            return false;
        }
        break;
    case OP_CREATE_TTL:
        if (q->flags == CREATE_TTL_FLAG || q->flags == CREATE_TTL_SEQUENTIAL) {
            return true;
        }
        q->type = OP_CREATE;
        q->ttl_ms = -1;
        break;
    default:
        return true;
    }
    if (q->flags == CREATE_CONTAINER_FLAG) {
        q->type = OP_CREATE_CONTAINER;
    }
    return true;
}

enum multi_step multi_next(struct jute_reader *r, bool reads, struct request *out)
{
    struct multi_header h = multi_header_read(r);

    if (r->failed) {
        return MULTI_BAD;
    }
    if (h.done) {
        return MULTI_END;
    }
    if (!belongs_in_multi(h.type, reads) || !request_read(op_find(h.type), r, out)) {
        return MULTI_BAD;
    }
    return settle_create(out) ? MULTI_OP : MULTI_BAD;
}
