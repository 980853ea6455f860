/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/request.h"

#include <stdlib.h>

#include "lib/test.h"
#include "lib/vectors.h"

/* Encodes a multi as a client does: header and record of each operation, then the end. */
static void write_multi(struct strbuf *b, const struct request *ops, size_t n)
{
    struct multi_header end = {-1, true, -1};

    for (size_t i = 0; i < n; i++) {
        struct multi_header h = {ops[i].type, false, -1};

        multi_header_write(b, &h);
        request_write(b, op_find(ops[i].type), &ops[i]);
    }
    multi_header_write(b, &end);
}

static enum multi_step read_multi(struct bytes body, bool reads, struct request *ops, size_t *n)
{
    struct jute_reader r = jute_reader_of(body);
    enum multi_step step;

    *n = 0;
    while ((step = multi_next(&r, reads, &ops[*n])) == MULTI_OP) {
        (*n)++;
    }
    return step;
}

static void check_multi(const char *case_name, const struct request *q)
{
    struct request ops[16];
    struct strbuf again;
    size_t n;
    enum multi_step step = read_multi(q->multi, q->type == OP_MULTI_READ, ops, &n);

    if (strcmp(case_name, "multi-undecodable") == 0 ||
        strcmp(case_name, "39-multi-bad-flags") == 0) {
        assert_int_equal(step, MULTI_BAD);
        return;
    }
    assert_int_equal(step, MULTI_END);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    write_multi(&again, ops, n);
    assert_bytes_equal(strbuf_bytes(&again), q->multi);
    strbuf_fini(&again);
}

static void check_connect(struct bytes frame)
{
    struct connect_request c;
    struct strbuf again;

    assert_true(connect_request_read(frame, &c));
    assert_int_equal(c.has_read_only, frame.len == 45);
    assert_int_equal(c.password.len, PASSWORD_BYTES);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    connect_request_write(&again, &c);
    assert_bytes_equal(strbuf_bytes(&again), frame);
    strbuf_fini(&again);
}

struct counts {
    int connects;
    int requests;
    bool seen[N_OPS];
};

static void check_request(const struct client_line *line, struct bytes frame, struct counts *counts)
{
    struct jute_reader r = jute_reader_of(frame);
    struct request q;
    const struct op *op;
    struct strbuf again;
    int32_t xid = jute_read_int(&r);
    int32_t type = jute_read_int(&r);

    op = op_find(type);
    if (op == NULL) {
        assert_string_equal(line->case_name, "unknown-opcode");
        return;
    }
    if (strcmp(line->case_name, "marshalling-error") == 0) {
        assert_false(request_read(op, &r, &q));
        return;
    }
    assert_true(request_read(op, &r, &q));
    assert_int_equal(q.type, type);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    jute_write_int(&again, xid);
    jute_write_int(&again, type);
    request_write(&again, op, &q);
    assert_bytes_equal(strbuf_bytes(&again), frame);
    strbuf_fini(&again);
    if (op->body == BODY_MULTI) {
        check_multi(line->case_name, &q);
    }
    counts->requests++;
    counts->seen[op_index(op)] = true;
}

static void check_line(const struct client_line *line, void *arg)
{
    struct counts *counts = arg;
    struct bytes frame = bytes_of(line->bytes.data + 4, line->bytes.len - 4);

    if (!line->from_client || load_u32(line->bytes.data) != frame.len) {
        return; /* a four-letter word, or a length without its frame */
    }
    if (line->first) {
        check_connect(frame);
        counts->connects++;
    } else {
        check_request(line, frame, counts);
    }
}

static void recorded_requests_survive_both_directions(void **state)
{
    struct counts counts = {0};

    (void)state;
    vectors_client(VECTORS "/client.txt", check_line, &counts);
    assert_int_equal(counts.connects, 11);
    assert_int_equal(counts.requests, 79);
    for (int i = 0; i < N_OPS; i++) {
        bool inside = op_at(i)->code == OP_DELETE_CONTAINER || op_at(i)->code == OP_CREATE_SESSION;

        if (!counts.seen[i] && !inside) {
            fail_msg("no recorded %s", op_at(i)->name);
        }
    }
}

struct wanted {
    const char *case_name;
    struct bytes copy;
};

static void keep_wanted(const struct client_line *line, void *arg)
{
    struct wanted *w = arg;

    if (line->from_client && strcmp(line->case_name, w->case_name) == 0 && w->copy.data == NULL) {
        uint8_t *copy = malloc(line->bytes.len);

        assert_non_null(copy);
        memcpy(copy, line->bytes.data, line->bytes.len);
        w->copy = bytes_of(copy, line->bytes.len);
    }
}

/* The first request of a recorded case; free() what `frame` gets. */
static struct request recorded(const char *case_name, struct bytes *frame)
{
    struct wanted w = {case_name, BYTES_NULL};
    struct jute_reader r;
    struct request q;

    vectors_client(VECTORS "/client.txt", keep_wanted, &w);
    assert_non_null(w.copy.data);
    *frame = w.copy;
    r = jute_reader_of(w.copy);
    jute_take(&r, 8); /* length, xid */
    assert_true(request_read(op_find(jute_read_int(&r)), &r, &q));
    return q;
}

static void a_create_has_its_fields(void **state)
{
    struct bytes frame;
    struct request q = recorded("create", &frame);
    struct jute_reader r = jute_reader_of(q.acl.elements);
    struct acl_entry e = acl_entry_read(&r);

    (void)state;
    assert_str_view(q.path, "/gv");
    assert_str_view(q.data, "hello");
    assert_int_equal(q.acl.count, 1);
    assert_int_equal(e.perms, PERM_ALL);
    assert_str_view(e.scheme, "world");
    assert_str_view(e.id, "anyone");
    assert_int_equal(q.flags, CREATE_PERSISTENT);
    assert_int_equal(q.ttl_ms, -1);
    free((void *)(uintptr_t)frame.data);
}

static void a_create_with_ttl_has_it(void **state)
{
    struct bytes frame;
    struct request q = recorded("39-create-ttl", &frame);

    (void)state;
    assert_str_view(q.path, "/nt");
    assert_int_equal(q.flags, CREATE_TTL_FLAG);
    assert_int_equal(q.ttl_ms, 3600000);
    free((void *)(uintptr_t)frame.data);
}

static void set_watches_has_its_lists(void **state)
{
    struct bytes frame;
    struct request q = recorded("setWatches-catch-up", &frame);
    struct jute_reader r = jute_reader_of(q.watches[0].elements);

    (void)state;
    assert_int_equal(q.relative_zxid, 13);
    assert_int_equal(q.n_watch_lists, 3);
    assert_int_equal(q.watches[0].count, 2);
    assert_str_view(jute_read_buffer(&r), "/gv");
    assert_str_view(jute_read_buffer(&r), "/gone");
    assert_int_equal(q.watches[1].count, 1);
    assert_int_equal(q.watches[2].count, 1);
    free((void *)(uintptr_t)frame.data);
}

static void a_reconfig_has_nulls_and_its_id(void **state)
{
    struct bytes frame;
    struct request q = recorded("reconfig-disabled", &frame);

    (void)state;
    assert_true(bytes_is_null(q.joining));
    assert_str_view(q.leaving, "3");
    assert_true(bytes_is_null(q.members));
    assert_int_equal(q.config_id, -1);
    free((void *)(uintptr_t)frame.data);
}

static void a_multi_has_its_operations_in_order(void **state)
{
    struct bytes frame;
    struct request q = recorded("multi-success", &frame), ops[8];
    size_t n;

    (void)state;
    assert_int_equal(read_multi(q.multi, false, ops, &n), MULTI_END);
    assert_int_equal(n, 4);
    assert_int_equal(ops[0].type, OP_CREATE);
    assert_int_equal(ops[1].type, OP_SET_DATA);
    assert_str_view(ops[1].data, "bc");
    assert_int_equal(ops[2].type, OP_CHECK);
    assert_int_equal(ops[2].version, 1);
    assert_int_equal(ops[3].type, OP_DELETE);
    free((void *)(uintptr_t)frame.data);
}

/* One operation with these flags, through a multi; what it amounts to, or 0 when undecodable. */
static int32_t in_multi(int32_t type, int32_t flags)
{
    struct request q = {.type = type, .path = bytes_str("/a"), .flags = flags, .ttl_ms = 5}, out[2];
    struct strbuf b;
    size_t n;
    enum multi_step step;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    write_multi(&b, &q, 1);
    step = read_multi(strbuf_bytes(&b), false, out, &n);
    strbuf_fini(&b);
    return step == MULTI_END ? out[0].type : 0;
}

static void flags_decide_what_a_create_in_a_multi_is(void **state)
{
    (void)state;
    assert_int_equal(in_multi(OP_CREATE, 0), OP_CREATE);
    assert_int_equal(in_multi(OP_CREATE2, 3), OP_CREATE2);
    assert_int_equal(in_multi(OP_CREATE, CREATE_CONTAINER_FLAG), OP_CREATE_CONTAINER);
    assert_int_equal(in_multi(OP_CREATE_CONTAINER, 0), OP_CREATE_CONTAINER);
    assert_int_equal(in_multi(OP_CREATE_TTL, CREATE_TTL_FLAG), OP_CREATE_TTL);
    assert_int_equal(in_multi(OP_CREATE_TTL, 0), OP_CREATE);
    assert_int_equal(in_multi(OP_CREATE, CREATE_TTL_FLAG), OP_CREATE); /* to fail by itself */
    assert_int_equal(in_multi(OP_CREATE, 7), 0);
    assert_int_equal(in_multi(OP_CREATE2, -1), 0);
}

static void reads_and_writes_do_not_mix(void **state)
{
    static const int32_t strangers[] = {OP_SET_ACL, OP_EXISTS, OP_DELETE_CONTAINER, OP_MULTI,
                                        OP_CLOSE_SESSION};
    struct request q = {.path = bytes_str("/a")}, out[2];
    struct strbuf b;
    size_t n;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    q.type = OP_GET_DATA;
    write_multi(&b, &q, 1);
    assert_int_equal(read_multi(strbuf_bytes(&b), true, out, &n), MULTI_END);
    assert_int_equal(read_multi(strbuf_bytes(&b), false, out, &n), MULTI_BAD);
    strbuf_clear(&b);
    q.type = OP_DELETE;
    write_multi(&b, &q, 1);
    assert_int_equal(read_multi(strbuf_bytes(&b), false, out, &n), MULTI_END);
    assert_int_equal(read_multi(strbuf_bytes(&b), true, out, &n), MULTI_BAD);
    for (size_t i = 0; i < TEST_COUNT(strangers); i++) {
        strbuf_clear(&b);
        q.type = strangers[i];
        write_multi(&b, &q, 1);
        assert_int_equal(read_multi(strbuf_bytes(&b), false, out, &n), MULTI_BAD);
        assert_int_equal(read_multi(strbuf_bytes(&b), true, out, &n), MULTI_BAD);
    }
    strbuf_fini(&b);
}

static void a_multi_without_its_end_is_bad(void **state)
{
    struct request q = {.type = OP_DELETE, .path = bytes_str("/a")}, out[2];
    struct strbuf b;
    size_t n;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    write_multi(&b, &q, 1);
    for (size_t len = 0; len < b.len; len++) {
        assert_int_equal(read_multi(bytes_of(b.data, len), false, out, &n), MULTI_BAD);
    }
    strbuf_fini(&b);
}

/* Every shape of body, cut at every byte: refused, except where the rest was nothing. */
static void cut_bodies_are_refused(void **state)
{
    struct request q = {.path = bytes_str("/a"), .data = bytes_str("d"), .n_watch_lists = 0};
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (int i = 0; i < N_OPS; i++) {
        const struct op *op = op_at(i);
        struct request out;

        strbuf_clear(&b);
        q.type = op->code;
        q.n_watch_lists = op->body == BODY_SET_WATCHES ? 3 : op->body == BODY_SET_WATCHES2 ? 5 : 0;
        request_write(&b, op, &q);
        for (size_t len = 0; len < b.len; len++) {
            struct jute_reader r = jute_reader_of(bytes_of(b.data, len));

            assert_false(request_read(op, &r, &out));
        }
    }
    strbuf_fini(&b);
}

static void bytes_left_over_are_ignored(void **state)
{
    struct request q = {.type = OP_DELETE, .path = bytes_str("/a"), .version = 3}, out;
    struct jute_reader r;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    request_write(&b, op_find(OP_DELETE), &q);
    strbuf_append_str(&b, "of a later version of the record");
    r = jute_reader_of(strbuf_bytes(&b));
    assert_true(request_read(op_find(OP_DELETE), &r, &out));
    assert_int_equal(out.version, 3);
    strbuf_fini(&b);
}

/* The server refuses them, but only after it has set the watches of the lists before. */
static void null_watch_lists_stay_null(void **state)
{
    struct request q = {.n_watch_lists = 3, .watches = {{0}, {.count = -1}, {0}}}, out;
    struct jute_reader r;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    request_write(&b, op_find(OP_SET_WATCHES), &q);
    r = jute_reader_of(strbuf_bytes(&b));
    assert_true(request_read(op_find(OP_SET_WATCHES), &r, &out));
    assert_int_equal(out.watches[0].count, 0);
    assert_int_equal(out.watches[1].count, -1);
    assert_int_equal(out.watches[2].count, 0);
    strbuf_fini(&b);
}

static void a_connect_request_may_lack_its_password(void **state)
{
    struct connect_request c = {.timeout_ms = 4000, .has_read_only = true, .read_only = true}, out;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    connect_request_write(&b, &c);
    assert_true(connect_request_read(strbuf_bytes(&b), &out));
    assert_true(bytes_is_null(out.password));
    assert_true(out.read_only);
    for (size_t len = 0; len + 1 < b.len; len++) {
        assert_false(connect_request_read(bytes_of(b.data, len), &out));
    }
    strbuf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_requests_survive_both_directions),
        cmocka_unit_test(a_create_has_its_fields),
        cmocka_unit_test(a_create_with_ttl_has_it),
        cmocka_unit_test(set_watches_has_its_lists),
        cmocka_unit_test(a_reconfig_has_nulls_and_its_id),
        cmocka_unit_test(a_multi_has_its_operations_in_order),
        cmocka_unit_test(flags_decide_what_a_create_in_a_multi_is),
        cmocka_unit_test(reads_and_writes_do_not_mix),
        cmocka_unit_test(a_multi_without_its_end_is_bad),
        cmocka_unit_test(cut_bodies_are_refused),
        cmocka_unit_test(bytes_left_over_are_ignored),
        cmocka_unit_test(null_watch_lists_stay_null),
        cmocka_unit_test(a_connect_request_may_lack_its_password),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
