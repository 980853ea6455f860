/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/reply.h"

#include "lib/test.h"
#include "lib/vectors.h"
#include "wire/ops.h"

/* Requests without an answer yet: a reply says what it answers only by its xid. */
struct play {
    struct {
        char connection[8];
        int32_t xid;
        int32_t op;
    } asked[256];
    size_t n_asked;
    int connects, replies, events;
};

static void note_request(struct play *p, const struct client_line *line, struct bytes frame)
{
    struct jute_reader r = jute_reader_of(frame);

    if (line->first) {
        return;
    }
    assert_true(p->n_asked < TEST_COUNT(p->asked));
    snprintf(p->asked[p->n_asked].connection, 8, "%s", line->connection);
    p->asked[p->n_asked].xid = jute_read_int(&r);
    p->asked[p->n_asked].op = jute_read_int(&r);
    p->n_asked++;
}

static int32_t asked_op(const struct play *p, const char *connection, int32_t xid)
{
    for (size_t i = p->n_asked; i > 0; i--) {
        if (p->asked[i - 1].xid == xid && strcmp(p->asked[i - 1].connection, connection) == 0) {
            return p->asked[i - 1].op;
        }
    }
    fail_msg("reply %d on %s answers nothing", xid, connection);
    return 0;
}

static void check_connect(struct bytes frame, struct bytes line)
{
    struct connect_response c;
    struct strbuf again;

    assert_true(connect_response_read(frame, &c));
    assert_int_equal(c.has_read_only, frame.len == 37);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    connect_response_write(&again, &c);
    assert_bytes_equal(strbuf_bytes(&again), line);
    strbuf_fini(&again);
}

static void check_event(const struct reply_header *h, struct jute_reader *r, struct bytes line)
{
    struct event e = event_read(r);
    struct strbuf again;

    assert_false(r->failed);
    assert_int_equal(e.state, STATE_SYNC_CONNECTED);
    strbuf_init(&again, STRBUF_NO_LIMIT);
    event_write(&again, e.type, e.path, h->zxid);
    assert_bytes_equal(strbuf_bytes(&again), line);
    strbuf_fini(&again);
}

static void check_multi(struct bytes results)
{
    struct jute_reader r = jute_reader_of(results);
    struct multi_header h;
    struct reply_body body;
    struct strbuf again;
    enum multi_step step;

    strbuf_init(&again, STRBUF_NO_LIMIT);
    while ((step = multi_result_next(&r, &h, &body)) == MULTI_OP) {
        multi_header_write(&again, &h);
        reply_body_write(&again, h.type, &body);
        if (h.type == MULTI_RESULT_ERROR) {
            assert_int_equal(body.number, h.err);
        }
    }
    assert_int_equal(step, MULTI_END);
    multi_header_write(&again, &h);
    assert_bytes_equal(strbuf_bytes(&again), results);
    strbuf_fini(&again);
}

static void check_reply(int32_t op, const struct reply_header *h, struct jute_reader *r,
                        struct bytes line)
{
    struct reply_body body = {0};
    struct strbuf again;
    size_t start;

    strbuf_init(&again, STRBUF_NO_LIMIT);
    start = reply_begin(&again, h->xid, h->zxid, h->err);
    if (h->err == 0) {
        assert_true(reply_body_read(op, r, &body));
        reply_body_write(&again, op, &body);
    }
    reply_end(&again, start);
    assert_bytes_equal(strbuf_bytes(&again), line);
    strbuf_fini(&again);
    if (h->err == 0 && (op == OP_MULTI || op == OP_MULTI_READ)) {
        check_multi(body.multi);
    }
}

static void check_line(const struct client_line *line, void *arg)
{
    struct play *p = arg;
    struct bytes frame = bytes_of(line->bytes.data + 4, line->bytes.len - 4);
    struct jute_reader r = jute_reader_of(frame);
    struct reply_header h;

    if (load_u32(line->bytes.data) != frame.len) {
        return; /* a four-letter word, or a length without its frame */
    }
    if (line->from_client) {
        note_request(p, line, frame);
        return;
    }
    if (line->first) {
        check_connect(frame, line->bytes);
        p->connects++;
        return;
    }
    h = reply_header_read(&r);
    if (h.xid == XID_EVENT) {
        check_event(&h, &r, line->bytes);
        p->events++;
    } else {
        check_reply(asked_op(p, line->connection, h.xid), &h, &r, line->bytes);
        p->replies++;
    }
}

static void recorded_replies_survive_both_directions(void **state)
{
    static struct play play;

    (void)state;
    vectors_client(VECTORS "/client.txt", check_line, &play);
    assert_int_equal(play.connects, 10);
    assert_int_equal(play.replies, 81);
    assert_int_equal(play.events, 19);
}

static void a_reply_has_its_length_in_front(void **state)
{
    struct strbuf b;
    size_t start;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_append_str(&b, "before");
    start = reply_begin(&b, 7, 0x1122, -101);
    jute_write_int(&b, 1);
    reply_end(&b, start);
    assert_int_equal(start, 6);
    assert_int_equal(load_u32(b.data + 6), REPLY_HEADER_BYTES + 4);
    assert_int_equal(b.len, 6 + 4 + REPLY_HEADER_BYTES + 4);
    strbuf_fini(&b);
}

static void a_reply_past_its_limit_is_said_and_harmless(void **state)
{
    struct strbuf b;
    size_t start;

    (void)state;
    strbuf_init(&b, 4 + REPLY_HEADER_BYTES + 2);
    start = reply_begin(&b, 7, 1, 0);
    jute_write_str(&b, "longer than that");
    reply_end(&b, start);
    assert_true(b.failed);
    strbuf_fini(&b);
}

static void cut_bodies_are_refused(void **state)
{
    struct reply_body body = {.path = bytes_str("/a"), .data = bytes_str("d")}, out;
    struct strbuf b;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (int i = 0; i < N_OPS; i++) {
        int32_t op = op_at(i)->code;

        strbuf_clear(&b);
        reply_body_write(&b, op, &body);
        for (size_t len = 0; len < b.len; len++) {
            struct jute_reader r = jute_reader_of(bytes_of(b.data, len));

            assert_false(reply_body_read(op, &r, &out));
        }
    }
    strbuf_fini(&b);
}

static void an_unknown_operation_has_no_reply(void **state)
{
    struct jute_reader r = jute_reader_of(bytes_str("x"));
    struct reply_body out;

    (void)state;
    assert_false(reply_body_read(999, &r, &out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_replies_survive_both_directions),
        cmocka_unit_test(a_reply_has_its_length_in_front),
        cmocka_unit_test(a_reply_past_its_limit_is_said_and_harmless),
        cmocka_unit_test(cut_bodies_are_refused),
        cmocka_unit_test(an_unknown_operation_has_no_reply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
