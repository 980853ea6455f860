/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/txn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool txn_is_known(int32_t type)
{
    switch (type) {
    case TXN_ERROR:
    case TXN_CREATE:
    case TXN_DELETE:
    case TXN_SET_DATA:
    case TXN_SET_ACL:
    case TXN_CHECK:
    case TXN_MULTI:
    case TXN_CREATE2:
    case TXN_RECONFIG:
    case TXN_CREATE_CONTAINER:
    case TXN_DELETE_CONTAINER:
    case TXN_CREATE_TTL:
    case TXN_CREATE_SESSION:
    case TXN_CLOSE_SESSION:
        return true;
    default:
        return false;
    }
}

static void txn_read_create(struct jute_reader *r, struct txn_op *op)
{
    op->path = jute_read_buffer(r);
    op->data = jute_read_buffer(r);
    op->acl = acl_list_read(r);
    if (op->type == TXN_CREATE || op->type == TXN_CREATE2) {
        op->ephemeral = jute_read_bool(r);
    }
    /* Before 3.3 the body ended here: the parent's version is then computed. */
    if (op->type == TXN_CREATE && !r->failed && jute_left(r) < 4) {
        op->parent_cversion = -1;
        r->at = r->end;
        return;
    }
    op->parent_cversion = jute_read_int(r);
    if (op->type == TXN_CREATE_TTL) {
        op->ttl_ms = jute_read_long(r);
    }
}

/* Before 3.6 there is no body, nor with closeSessionTxn.enabled=false; in the second case a digest
 * may stand where the list would be, and with it the count of a list: no session owns two nodes
 * without a name. */
static void read_close_session(struct jute_reader *r, struct txn_op *op)
{
    struct jute_reader start = *r;
    bool is_digest = jute_left(r) == TXN_DIGEST_BYTES && load_u32(r->at) == TXN_DIGEST_VERSION;

    if (!is_digest) {
        op->deleted = string_list_read(r);
    }
    if (is_digest || r->failed) {
        *r = start;
        op->deleted = (struct string_list){.count = -1};
    }
}

static void read_multi(struct jute_reader *r, struct txn_op *op)
{
    const uint8_t *start;

    op->n_multi = jute_read_count(r);
    if (op->n_multi < 0) {
        op->n_multi = 0;
    }
    start = r->at;
    for (int32_t i = 0; i < op->n_multi && !r->failed; i++) {
        jute_read_int(r);
        jute_read_buffer(r);
    }
    op->multi = bytes_of(start, (size_t)(r->at - start));
}

static void read_body(struct jute_reader *r, struct txn_op *op)
{
    switch (op->type) {
    case TXN_CREATE:
    case TXN_CREATE2:
    case TXN_CREATE_CONTAINER:
    case TXN_CREATE_TTL:
        txn_read_create(r, op);
        break;
    case TXN_DELETE:
    case TXN_DELETE_CONTAINER:
        op->path = jute_read_buffer(r);
        break;
    case TXN_SET_DATA:
    case TXN_RECONFIG:
        op->path = jute_read_buffer(r);
        op->data = jute_read_buffer(r);
        op->version = jute_read_int(r);
        break;
    case TXN_SET_ACL:
        op->path = jute_read_buffer(r);
        op->acl = acl_list_read(r);
        op->version = jute_read_int(r);
        break;
    case TXN_CHECK:
        op->path = jute_read_buffer(r);
        op->version = jute_read_int(r);
        break;
    case TXN_CREATE_SESSION:
        op->timeout_ms = jute_read_int(r);
        break;
    case TXN_CLOSE_SESSION:
        read_close_session(r, op);
        break;
    case TXN_ERROR:
        op->err = jute_read_int(r);
        break;
    default:
        read_multi(r, op);
        break;
    }
}

enum txn_decoded txn_read(struct bytes payload, struct txn *out)
{
    struct jute_reader r = jute_reader_of(payload);

    *out = (struct txn){0};
    out->header.client_id = jute_read_long(&r);
    out->header.cxid = jute_read_int(&r);
    out->header.zxid = jute_read_long(&r);
    out->header.time_ms = jute_read_long(&r);
    out->header.type = jute_read_int(&r);
    out->op.type = out->header.type;
    if (r.failed) {
        return TXN_SHORT;
    }
    if (!txn_is_known(out->op.type)) {
        return TXN_UNKNOWN;
    }
    read_body(&r, &out->op);
    if (r.failed) {
        return TXN_SHORT;
    }
    if (jute_left(&r) >= TXN_DIGEST_BYTES && jute_read_int(&r) == TXN_DIGEST_VERSION) {
        out->has_digest = true;
        out->digest = jute_read_long(&r);
    }
    return TXN_OK;
}

enum txn_decoded txn_multi_next(struct jute_reader *r, struct txn_op *out)
{
    struct jute_reader body;
    int32_t type = jute_read_int(r);
    struct bytes data = jute_read_buffer(r);

    *out = (struct txn_op){.type = type};
    if (r->failed || bytes_is_null(data)) {
        return TXN_SHORT;
    }
    if (!txn_is_known(type) || type == TXN_MULTI) {
        return TXN_UNKNOWN;
    }
    body = jute_reader_of(data);
    read_body(&body, out);
    return body.failed ? TXN_SHORT : TXN_OK;
}

void txn_header_write(struct strbuf *b, const struct txn_header *h)
{
    jute_write_long(b, h->client_id);
    jute_write_int(b, h->cxid);
    jute_write_long(b, h->zxid);
    jute_write_long(b, h->time_ms);
    jute_write_int(b, h->type);
}

static void txn_write_create(struct strbuf *b, const struct txn_op *op)
{
    jute_write_buffer(b, op->path);
    jute_write_buffer(b, op->data);
    acl_list_write(b, &op->acl);
    if (op->type == TXN_CREATE || op->type == TXN_CREATE2) {
        jute_write_bool(b, op->ephemeral);
    }
    jute_write_int(b, op->parent_cversion);
    if (op->type == TXN_CREATE_TTL) {
        jute_write_long(b, op->ttl_ms);
    }
}

void txn_op_write(struct strbuf *b, const struct txn_op *op)
{
    switch (op->type) {
    case TXN_CREATE:
    case TXN_CREATE2:
    case TXN_CREATE_CONTAINER:
    case TXN_CREATE_TTL:
        txn_write_create(b, op);
        break;
    case TXN_DELETE:
    case TXN_DELETE_CONTAINER:
        jute_write_buffer(b, op->path);
        break;
    case TXN_SET_DATA:
    case TXN_RECONFIG:
        jute_write_buffer(b, op->path);
        jute_write_buffer(b, op->data);
        jute_write_int(b, op->version);
        break;
    case TXN_SET_ACL:
        jute_write_buffer(b, op->path);
        acl_list_write(b, &op->acl);
        jute_write_int(b, op->version);
        break;
    case TXN_CHECK:
        jute_write_buffer(b, op->path);
        jute_write_int(b, op->version);
        break;
    case TXN_CREATE_SESSION:
        jute_write_int(b, op->timeout_ms);
        break;
    case TXN_CLOSE_SESSION:
        if (op->deleted.count >= 0) {
            string_list_write(b, &op->deleted);
        }
        break;
    case TXN_ERROR:
        jute_write_int(b, op->err);
        break;
    default:
        b->failed = true;
        break;
    }
}

void txn_digest_write(struct strbuf *b, int64_t digest)
{
    jute_write_int(b, TXN_DIGEST_VERSION);
    jute_write_long(b, digest);
}

const char *txn_type_name(int32_t type)
{
    switch (type) {
    case TXN_ERROR:
        return "error";
    case TXN_CREATE:
        return "create";
    case TXN_DELETE:
        return "delete";
    case TXN_SET_DATA:
        return "setData";
    case TXN_SET_ACL:
        return "setACL";
    case TXN_CHECK:
        return "check";
    case TXN_MULTI:
        return "multi";
    case TXN_CREATE2:
        return "create2";
    case TXN_RECONFIG:
        return "reconfig";
    case TXN_CREATE_CONTAINER:
        return "createContainer";
    case TXN_DELETE_CONTAINER:
        return "deleteContainer";
    case TXN_CREATE_TTL:
        return "createTTL";
    case TXN_CREATE_SESSION:
        return "createSession";
    case TXN_CLOSE_SESSION:
        return "closeSession";
    default:
        return "unknown";
    }
}

/* ---- in words ---- */

enum { PATH_SHOWN_BYTES = 120 };

/* The first and the last path by name. */
struct path_range {
    struct bytes first, last;
    int32_t n;
};

static bool is_before(struct bytes a, struct bytes b)
{
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

    return order != 0 ? order < 0 : a.len < b.len;
}

static void range_add(struct path_range *r, struct bytes path)
{
    if (path.len == 0) {
        return;
    }
    if (r->n == 0 || is_before(path, r->first)) {
        r->first = path;
    }
    if (r->n == 0 || is_before(r->last, path)) {
        r->last = path;
    }
    r->n++;
}

static void range_of_multi(struct path_range *r, const struct txn_op *op)
{
    struct jute_reader reader = jute_reader_of(op->multi);
    struct txn_op part;

    for (int32_t i = 0; i < op->n_multi && txn_multi_next(&reader, &part) == TXN_OK; i++) {
        range_add(r, part.path);
    }
}

static void range_of_deleted(struct path_range *r, const struct string_list *deleted)
{
    struct jute_reader reader = jute_reader_of(deleted->elements);

    for (int32_t i = 0; i < deleted->count; i++) {
        range_add(r, jute_read_buffer(&reader));
    }
}

static void append_path(struct strbuf *b, struct bytes path)
{
    bool is_long = path.len > PATH_SHOWN_BYTES;

    strbuf_append(b, path.data, is_long ? PATH_SHOWN_BYTES : path.len);
    strbuf_append_str(b, is_long ? "..." : "");
}

void txn_describe(struct strbuf *b, const struct txn *txn)
{
    struct path_range range = {0};
    char text[64];

    strbuf_append_str(b, txn_type_name(txn->op.type));
    range_add(&range, txn->op.path);
    if (txn->op.type == TXN_MULTI) {
        snprintf(text, sizeof(text), " of %" PRId32 " operations", txn->op.n_multi);
        strbuf_append_str(b, text);
        range_of_multi(&range, &txn->op);
    } else if (txn->op.type == TXN_CLOSE_SESSION) {
        range_of_deleted(&range, &txn->op.deleted);
    }
    if (range.n == 0) {
        return;
    }
    strbuf_append_str(b, " on ");
    append_path(b, range.first);
    if (range.n > 1) {
        strbuf_append_str(b, " to ");
        append_path(b, range.last);
    }
}
