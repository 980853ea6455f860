/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/txn.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/test.h"
#include "lib/vectors.h"

/* Prints a transaction the way txns.txt beside the recorded logs does. */

static void print_view(struct strbuf *out, const char *label, struct bytes b)
{
    strbuf_append_str(out, label);
    strbuf_append_bytes(out, b);
}

static void print_data(struct strbuf *out, struct bytes data)
{
    if (bytes_is_null(data)) {
        strbuf_append_str(out, " data=null");
        return;
    }
    strbuf_append_str(out, " data=hex:");
    for (size_t i = 0; i < data.len; i++) {
        strbuf_printf(out, "%02x", data.data[i]);
    }
}

static void print_acl(struct strbuf *out, const struct acl_list *acl)
{
    struct jute_reader r = jute_reader_of(acl->elements);

    strbuf_append_str(out, " acl=");
    for (int32_t i = 0; i < acl->count; i++) {
        struct acl_entry e = acl_entry_read(&r);

        strbuf_printf(out, "%s%d", i > 0 ? ";" : "", e.perms);
        print_view(out, ":", e.scheme);
        print_view(out, ":", e.id);
    }
}

static void print_op(struct strbuf *out, const struct txn_op *op)
{
    struct jute_reader r;

    if (!bytes_is_null(op->path)) {
        print_view(out, " path=", op->path);
    }
    switch (op->type) {
    case TXN_CREATE:
    case TXN_CREATE2:
    case TXN_CREATE_CONTAINER:
    case TXN_CREATE_TTL:
        print_data(out, op->data);
        print_acl(out, &op->acl);
        if (op->type == TXN_CREATE || op->type == TXN_CREATE2) {
            strbuf_printf(out, " ephemeral=%d", op->ephemeral);
        }
        strbuf_printf(out, " parentCVersion=%d", op->parent_cversion);
        if (op->type == TXN_CREATE_TTL) {
            strbuf_printf(out, " ttl=%" PRId64, op->ttl_ms);
        }
        break;
    case TXN_SET_DATA:
    case TXN_RECONFIG:
        print_data(out, op->data);
        strbuf_printf(out, " version=%d", op->version);
        break;
    case TXN_SET_ACL:
        print_acl(out, &op->acl);
        strbuf_printf(out, " version=%d", op->version);
        break;
    case TXN_CHECK:
        strbuf_printf(out, " version=%d", op->version);
        break;
    case TXN_CREATE_SESSION:
        strbuf_printf(out, " timeOut=%d", op->timeout_ms);
        break;
    case TXN_CLOSE_SESSION:
        r = jute_reader_of(op->deleted.elements);
        strbuf_append_str(out, " paths2Delete=[");
        for (int32_t i = 0; i < op->deleted.count; i++) {
            print_view(out, i > 0 ? "," : "", jute_read_buffer(&r));
        }
        strbuf_append_str(out, "]");
        break;
    case TXN_ERROR:
        strbuf_printf(out, " err=%d", op->err);
        break;
    default:
        break;
    }
}

static void print_multi(struct strbuf *out, const struct txn_op *multi)
{
    struct jute_reader r = jute_reader_of(multi->multi);
    struct txn_op op;
    struct strbuf one;

    strbuf_init(&one, STRBUF_NO_LIMIT);
    strbuf_append_str(out, " txns=[");
    for (int32_t i = 0; i < multi->n_multi; i++) {
        assert_int_equal(txn_multi_next(&r, &op), TXN_OK);
        strbuf_clear(&one);
        print_op(&one, &op);
        strbuf_printf(out, "%s%s{%s}", i > 0 ? " | " : "", txn_type_name(op.type),
                      strbuf_cstr(&one) + 1);
    }
    strbuf_append_str(out, "]");
    strbuf_fini(&one);
}

static void print_txn(struct strbuf *out, const struct txn *t)
{
    strbuf_printf(out, "zxid=0x%" PRIx64 " session=0x%" PRIx64 " cxid=%d time=%" PRId64 " type=%s",
                  t->header.zxid, t->header.client_id, t->header.cxid, t->header.time_ms,
                  txn_type_name(t->header.type));
    if (t->header.type == TXN_MULTI) {
        print_multi(out, &t->op);
    } else {
        print_op(out, &t->op);
    }
    if (t->has_digest) {
        strbuf_printf(out, " digest=2/0x%" PRIx64 "\n", t->digest);
    } else {
        strbuf_append_str(out, " digest=none\n");
    }
}

static void write_multi(struct strbuf *b, const struct txn_op *multi)
{
    struct jute_reader r = jute_reader_of(multi->multi);
    struct txn_op op;
    size_t start;

    jute_write_int(b, multi->n_multi);
    for (int32_t i = 0; i < multi->n_multi; i++) {
        assert_int_equal(txn_multi_next(&r, &op), TXN_OK);
        jute_write_int(b, op.type);
        start = b->len;
        jute_write_int(b, 0);
        txn_op_write(b, &op);
        jute_patch_int(b, start, (int32_t)(b->len - start - 4));
    }
}

static void write_txn(struct strbuf *b, const struct txn *t)
{
    txn_header_write(b, &t->header);
    if (t->header.type == TXN_MULTI) {
        write_multi(b, &t->op);
    } else {
        txn_op_write(b, &t->op);
    }
    if (t->has_digest) {
        txn_digest_write(b, t->digest);
    }
}

/* Decodes one record of a log into the text, and encodes it again to the same bytes. */
static void check_payload(struct bytes payload, void *arg)
{
    struct strbuf again;
    struct txn t;

    assert_int_equal(txn_read(payload, &t), TXN_OK);
    print_txn(arg, &t);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    write_txn(&again, &t);
    assert_bytes_equal(strbuf_bytes(&again), payload);
    strbuf_fini(&again);
}

static void check_folder(const char *folder, const char *const *logs, size_t n_txns)
{
    struct strbuf printed;
    struct bytes expected;
    char path[512];
    size_t n = 0;

    strbuf_init(&printed, STRBUF_NO_LIMIT);
    for (; *logs != NULL; logs++) {
        strbuf_printf(&printed, "# %s\n", *logs);
        snprintf(path, sizeof(path), VECTORS "/datadir/%s/version-2/%s", folder, *logs);
        n += vectors_log(path, check_payload, &printed);
    }
    snprintf(path, sizeof(path), VECTORS "/datadir/%s/txns.txt", folder);
    expected = vectors_file(path);
    assert_string_equal(strbuf_cstr(&printed), (const char *)expected.data);
    assert_int_equal(n, n_txns);
    free((void *)(uintptr_t)expected.data);
    strbuf_fini(&printed);
}

static void recorded_logs_survive_both_directions(void **state)
{
    (void)state;
    check_folder("standalone", (const char *const[]){"log.1", NULL}, 42);
    check_folder("ensemble-member", (const char *const[]){"log.100000001", NULL}, 17);
    check_folder("snap-sync-stale-log",
                 (const char *const[]){"log.100000001", "log.200000004", NULL}, 7);
    check_folder("trunc-before", (const char *const[]){"log.100000001", NULL}, 7);
    check_folder("trunc-after", (const char *const[]){"log.100000001", NULL}, 4);
}

static void begin(struct strbuf *b, int32_t type)
{
    struct txn_header h = {.client_id = 1, .cxid = 2, .zxid = 3, .time_ms = 4, .type = type};

    strbuf_init(b, STRBUF_NO_LIMIT);
    txn_header_write(b, &h);
    assert_int_equal(b->len, TXN_HEADER_BYTES);
}

static void a_create_from_before_3_3_computes_its_parent_version(void **state)
{
    struct txn_op op = {.type = TXN_CREATE, .path = bytes_str("/old"), .parent_cversion = 9};
    struct strbuf b;
    struct txn t;

    (void)state;
    begin(&b, TXN_CREATE);
    txn_op_write(&b, &op);
    assert_int_equal(txn_read(strbuf_bytes(&b), &t), TXN_OK);
    assert_int_equal(t.op.parent_cversion, 9);
    assert_int_equal(txn_read(bytes_of(b.data, b.len - 4), &t), TXN_OK);
    assert_int_equal(t.op.parent_cversion, -1);
    assert_str_view(t.op.path, "/old");
    strbuf_fini(&b);
}

static void a_close_session_may_lack_its_list(void **state)
{
    struct strbuf b;
    struct txn t;

    (void)state;
    begin(&b, TXN_CLOSE_SESSION);
    assert_int_equal(txn_read(strbuf_bytes(&b), &t), TXN_OK);
    assert_int_equal(t.op.deleted.count, -1);
    assert_false(t.has_digest);

    /* closeSessionTxn.enabled=false with digests on: the digest stands where the list would. */
    txn_digest_write(&b, 0x1ad222920);
    assert_int_equal(txn_read(strbuf_bytes(&b), &t), TXN_OK);
    assert_int_equal(t.op.deleted.count, -1);
    assert_true(t.has_digest);
    assert_int_equal(t.digest, 0x1ad222920);
    strbuf_fini(&b);
}

static void an_unknown_type_is_said(void **state)
{
    struct strbuf b;
    struct txn t;

    (void)state;
    begin(&b, 99);
    assert_int_equal(txn_read(strbuf_bytes(&b), &t), TXN_UNKNOWN);
    assert_int_equal(t.header.zxid, 3); /* so that the message can name it */
    assert_string_equal(txn_type_name(99), "unknown");
    strbuf_fini(&b);
}

static void a_multi_takes_no_multi_and_no_null(void **state)
{
    struct txn_op op;
    struct jute_reader r;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    jute_write_int(&b, TXN_MULTI);
    jute_write_str(&b, "");
    r = jute_reader_of(strbuf_bytes(&b));
    assert_int_equal(txn_multi_next(&r, &op), TXN_UNKNOWN);
    strbuf_clear(&b);
    jute_write_int(&b, TXN_DELETE);
    jute_write_int(&b, -1);
    r = jute_reader_of(strbuf_bytes(&b));
    assert_int_equal(txn_multi_next(&r, &op), TXN_SHORT);
    strbuf_fini(&b);
}

/* Every type, cut anywhere in its body: short, or one of the two that may be absent. */
static void cut_payloads_are_short(void **state)
{
    static const int32_t types[] = {TXN_ERROR,      TXN_CREATE,           TXN_DELETE,
                                    TXN_SET_DATA,   TXN_SET_ACL,          TXN_CREATE2,
                                    TXN_RECONFIG,   TXN_CREATE_CONTAINER, TXN_CHECK,
                                    TXN_CREATE_TTL, TXN_CREATE_SESSION};
    struct txn_op op = {.path = bytes_str("/a"), .data = bytes_str("d")};
    struct strbuf b;
    struct txn t;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(types); i++) {
        begin(&b, types[i]);
        op.type = types[i];
        txn_op_write(&b, &op);
        assert_int_equal(txn_read(strbuf_bytes(&b), &t), TXN_OK);
        for (size_t len = 0; len < b.len - (types[i] == TXN_CREATE ? 4 : 0); len++) {
            assert_int_equal(txn_read(bytes_of(b.data, len), &t), TXN_SHORT);
        }
        strbuf_fini(&b);
    }
}

static void multi_add(struct strbuf *b, int32_t type, const char *path)
{
    struct txn_op op = {.type = type, .path = bytes_str(path), .version = 1};
    size_t at;

    jute_write_int(b, type);
    at = b->len;
    jute_write_int(b, 0);
    txn_op_write(b, &op);
    store_u32(b->data + at, (uint32_t)(b->len - at - 4));
}

static void expect_words(const struct txn *txn, const char *words)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    txn_describe(&b, txn);
    assert_string_equal(strbuf_cstr(&b), words);
    strbuf_fini(&b);
}

static void a_transaction_in_words_names_its_nodes(void **state)
{
    struct txn set = {.op = {.type = TXN_SET_DATA, .path = bytes_str("/a")}};
    struct txn multi = {.op = {.type = TXN_MULTI, .n_multi = 3}};
    struct txn close = {.op = {.type = TXN_CLOSE_SESSION, .deleted.count = 2}};
    struct strbuf parts, paths;

    (void)state;
    expect_words(&set, "setData on /a");
    strbuf_init(&parts, STRBUF_NO_LIMIT);
    multi_add(&parts, TXN_SET_DATA, "/b/c");
    multi_add(&parts, TXN_DELETE, "/b/a");
    multi_add(&parts, TXN_DELETE, "/b");
    multi.op.multi = strbuf_bytes(&parts);
    expect_words(&multi, "multi of 3 operations on /b to /b/c");
    strbuf_init(&paths, STRBUF_NO_LIMIT);
    jute_write_str(&paths, "/y");
    jute_write_str(&paths, "/x");
    close.op.deleted.elements = strbuf_bytes(&paths);
    expect_words(&close, "closeSession on /x to /y");
    close.op.deleted.count = -1;
    expect_words(&close, "closeSession");
    strbuf_fini(&parts);
    strbuf_fini(&paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_logs_survive_both_directions),
        cmocka_unit_test(a_create_from_before_3_3_computes_its_parent_version),
        cmocka_unit_test(a_close_session_may_lack_its_list),
        cmocka_unit_test(an_unknown_type_is_said),
        cmocka_unit_test(a_multi_takes_no_multi_and_no_null),
        cmocka_unit_test(cut_payloads_are_short),
        cmocka_unit_test(a_transaction_in_words_names_its_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
