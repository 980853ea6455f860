/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/record_text.h"

#include <inttypes.h>
#include <stdio.h>

#include <pawl/error.h>

#include "cli/json.h"
#include "cli/text.h"

/* ---- ACLs and data ---- */

void acl_list_print(const struct acl_list *list)
{
    struct jute_reader r = jute_reader_of(list->elements);
    char perms[TEXT_PERMS_BYTES];

    for (int32_t i = 0; i < list->count; i++) {
        struct acl_entry e = acl_entry_read(&r);

        if (r.failed) {
            return;
        }
        text_perms(e.perms, perms);
        printf("%s", i > 0 ? "," : "");
        text_escaped(shown(e.scheme));
        putchar(':');
        text_escaped(shown(e.id));
        printf(":%s", perms);
    }
}

void acl_list_json(const char *name, const struct acl_list *list)
{
    struct jute_reader r = jute_reader_of(list->elements);
    char perms[TEXT_PERMS_BYTES];

    json_open(name, '[');
    for (int32_t i = 0; i < list->count; i++) {
        struct acl_entry e = acl_entry_read(&r);

        if (r.failed) {
            break;
        }
        text_perms(e.perms, perms);
        json_open(NULL, '{');
        json_data("scheme", shown(e.scheme));
        json_data("id", shown(e.id));
        json_text("perms", perms);
        json_close('{');
    }
    json_close('[');
}

void data_print(struct bytes data)
{
    if (bytes_is_null(data)) {
        fputs("no data", stdout);
        return;
    }
    putchar('\'');
    text_escaped(shown(data));
    putchar('\'');
}

/* ---- one operation ---- */

static bool is_create(int32_t type)
{
    return type == TXN_CREATE || type == TXN_CREATE2 || type == TXN_CREATE_CONTAINER ||
           type == TXN_CREATE_TTL;
}

static bool has_data(int32_t type)
{
    return is_create(type) || type == TXN_SET_DATA || type == TXN_RECONFIG;
}

static bool has_version(int32_t type)
{
    return type == TXN_SET_DATA || type == TXN_SET_ACL || type == TXN_CHECK || type == TXN_RECONFIG;
}

static void print_length(struct bytes data, bool with_data)
{
    fputs(", ", stdout);
    if (with_data || bytes_is_null(data)) {
        data_print(data);
    } else {
        printf("%zu byte%s", data.len, data.len == 1 ? "" : "s");
    }
}

static void print_deleted(const struct string_list *deleted)
{
    struct jute_reader r = jute_reader_of(deleted->elements);

    for (int32_t i = 0; i < deleted->count; i++) {
        struct bytes path = jute_read_buffer(&r);

        if (r.failed) {
            return;
        }
        fputs(i == 0 ? ", deletes " : ", ", stdout);
        text_escaped(shown(path));
    }
}

/* What an operation has beside path, data and version. */
static void print_rest(const struct txn_op *op)
{
    if (op->ephemeral) {
        fputs(", ephemeral", stdout);
    }
    if (op->type == TXN_CREATE_TTL) {
        printf(", TTL %" PRId64 "ms", op->ttl_ms);
    }
    if (is_create(op->type) || op->type == TXN_SET_ACL) {
        fputs(", ", stdout);
        acl_list_print(&op->acl);
    }
    if (op->type == TXN_CREATE_SESSION) {
        printf(" timeout %" PRId32 "ms", op->timeout_ms);
    }
    if (op->type == TXN_ERROR) {
        printf(" %" PRId32 " (%s)", op->err, pawl_strerror(op->err));
    }
    if (op->type == TXN_CLOSE_SESSION) {
        print_deleted(&op->deleted);
    }
}

static void print_op(const struct txn_op *op, bool with_data)
{
    fputs(txn_type_name(op->type), stdout);
    if (!bytes_is_null(op->path)) {
        putchar(' ');
        text_escaped(shown(op->path));
    }
    if (has_data(op->type)) {
        print_length(op->data, with_data);
    }
    if (has_version(op->type)) {
        printf(", version %" PRId32, op->version);
    }
    print_rest(op);
}

static void print_header(const struct txn_header *h)
{
    char time[40];

    text_time(h->time_ms, time, sizeof(time));
    printf("%s 0x%" PRIx64 " session 0x%" PRIx64 " cxid 0x%" PRIx32 " ", time, (uint64_t)h->zxid,
           (uint64_t)h->client_id, (uint32_t)h->cxid);
}

void txn_op_print(const struct txn_header *h, const struct txn_op *op, bool with_data)
{
    print_header(h);
    print_op(op, with_data);
    putchar('\n');
}

void txn_print(const struct txn *txn, bool with_data)
{
    struct jute_reader r = jute_reader_of(txn->op.multi);
    struct txn_op op;

    if (txn->op.type != TXN_MULTI) {
        txn_op_print(&txn->header, &txn->op, with_data);
        return;
    }
    print_header(&txn->header);
    printf("multi of %" PRId32 "\n", txn->op.n_multi);
    for (int32_t i = 0; i < txn->op.n_multi; i++) {
        if (txn_multi_next(&r, &op) != TXN_OK) {
            puts("    an operation that cannot be read");
            return;
        }
        fputs("    ", stdout);
        print_op(&op, with_data);
        putchar('\n');
    }
}

/* ---- JSON ---- */

static void json_deleted(const struct string_list *deleted)
{
    struct jute_reader r = jute_reader_of(deleted->elements);

    json_open("deletes", '[');
    for (int32_t i = 0; i < deleted->count; i++) {
        struct bytes path = jute_read_buffer(&r);

        if (r.failed) {
            break;
        }
        json_data(NULL, shown(path));
    }
    json_close('[');
}

static void json_create(const struct txn_op *op)
{
    json_bool("ephemeral", op->ephemeral);
    json_number("parent_cversion", op->parent_cversion);
    if (op->type == TXN_CREATE_TTL) {
        json_number("ttl", op->ttl_ms);
    }
}

static void json_op(const struct txn_op *op)
{
    json_text("type", txn_type_name(op->type));
    if (!bytes_is_null(op->path)) {
        json_data("path", shown(op->path));
    }
    if (has_data(op->type)) {
        json_data("data", shown(op->data));
    }
    if (has_version(op->type)) {
        json_number("version", op->version);
    }
    if (is_create(op->type)) {
        json_create(op);
    }
    if (is_create(op->type) || op->type == TXN_SET_ACL) {
        acl_list_json("acl", &op->acl);
    }
    if (op->type == TXN_CREATE_SESSION) {
        json_number("timeout", op->timeout_ms);
    }
    if (op->type == TXN_ERROR) {
        json_number("error", op->err);
    }
    if (op->type == TXN_CLOSE_SESSION && op->deleted.count >= 0) {
        json_deleted(&op->deleted);
    }
}

static void json_multi(const struct txn_op *multi)
{
    struct jute_reader r = jute_reader_of(multi->multi);
    struct txn_op op;

    json_text("type", "multi");
    json_open("operations", '[');
    for (int32_t i = 0; i < multi->n_multi && txn_multi_next(&r, &op) == TXN_OK; i++) {
        json_open(NULL, '{');
        json_op(&op);
        json_close('{');
    }
    json_close('[');
}

static void json_header(const struct txn_header *h)
{
    json_hex("zxid", (uint64_t)h->zxid);
    json_number("time", h->time_ms);
    json_hex("session", (uint64_t)h->client_id);
    json_number("cxid", h->cxid);
}

void txn_op_json(const struct txn_header *h, const struct txn_op *op)
{
    json_header(h);
    json_op(op);
}

void txn_json(const struct txn *txn)
{
    json_header(&txn->header);
    if (txn->op.type == TXN_MULTI) {
        json_multi(&txn->op);
    } else {
        json_op(&txn->op);
    }
    if (txn->has_digest) {
        json_hex("digest", (uint64_t)txn->digest);
    }
}
