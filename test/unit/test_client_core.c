/* SPDX-License-Identifier: Apache-2.0 */
/* The client's core, byte by byte: what it sends when, and when it gives up. */
#include "client/core.h"

#include <stdlib.h>

#include "client/gzip.h"
#include "client/step_watch.h"
#include "lib/test.h"
#include "pawl/client.h"

static struct core *new_core(const char *servers, struct core_options o)
{
    struct core *c;

    o.session_timeout_ms = o.session_timeout_ms == 0 ? 9000 : o.session_timeout_ms;
    o.lost_percent = o.lost_percent == 0 ? 100 : o.lost_percent;
    o.max_request_bytes = 1000;
    o.max_reply_bytes = 5000;
    o.seed = 5;
    assert_int_equal(core_new(&o, servers, 0, &c), 0);
    return c;
}

static void free_core(struct core *c)
{
    struct item *item;

    core_shut(c, PAWL_ERR_CLOSING);
    while ((item = core_next_item(c)) != NULL) {
        if (item->kind == ITEM_CALL) {
            chunk_unref(((struct call *)item)->chunk);
        }
        free(item);
    }
    core_free(c);
}

/* All that it wants to send, as hexadecimal. */
static const char *sent(struct core *c, int64_t now)
{
    static char text[8192];
    size_t at = 0;
    struct bytes b;

    text[0] = '\0';
    while ((b = requests_output(c)).len > 0) {
        for (size_t i = 0; i < b.len && at + 3 < sizeof(text); i++) {
            at += (size_t)sprintf(text + at, "%02x", b.data[i]);
        }
        requests_wrote(c, now, b.len);
    }
    return text;
}

static void receive(struct core *c, int64_t now, const void *data, size_t len)
{
    const uint8_t *from = data;

    while (len > 0) {
        uint8_t *at;
        size_t room = core_room(c, &at);

        room = room < len ? room : len;
        memcpy(at, from, room);
        core_received(c, now, room);
        from += room;
        len -= room;
    }
}

static void answer_hello(struct core *c, int64_t now, int64_t session, int timeout, bool read_only)
{
    struct connect_response r = {.timeout_ms = timeout,
                                 .session_id = session,
                                 .password = "0123456789abcde",
                                 .has_read_only = true,
                                 .read_only = read_only};
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    connect_response_write(&b, &r);
    receive(c, now, b.data, b.len);
    strbuf_fini(&b);
}

static void link_up(struct core *c, int64_t now)
{
    core_tick(c, now);
    assert_true(c->want_link);
    c->want_link = false;
    core_link_up(c, now);
    sent(c, now);
}

static void connect(struct core *c, int64_t now)
{
    link_up(c, now);
    answer_hello(c, now, 0x77, c->options.session_timeout_ms, false);
}

static void answer(struct core *c, int64_t now, int32_t xid, int64_t zxid, int32_t err)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    reply_end(&b, reply_begin(&b, xid, zxid, err));
    receive(c, now, b.data, b.len);
    strbuf_fini(&b);
}

static struct call *submit(struct core *c, int32_t op, int64_t deadline)
{
    struct call *call = call_new(op);
    struct request q = {.path = bytes_str("/a"), .version = -1};

    call->deadline_ms = deadline;
    assert_int_equal(requests_submit(c, call, &q), 0);
    return call;
}

static void expect_state(struct core *c, enum pawl_state state)
{
    struct item *item = core_next_item(c);

    assert_non_null(item);
    assert_int_equal(item->kind, ITEM_STATE);
    assert_int_equal(((struct state_item *)item)->state, state);
    free(item);
}

static void expect_call(struct core *c, struct call *call, int err, enum pawl_outcome outcome)
{
    struct item *item = core_next_item(c);

    assert_ptr_equal(item, &call->item);
    assert_int_equal(call->err, err);
    assert_int_equal(call->outcome, outcome);
    chunk_unref(call->chunk);
    free(call);
}

/* ---- tests ---- */

static void the_handshake_is_the_recorded_one(void **state)
{
    struct core *c = new_core("a", (struct core_options){.session_timeout_ms = 10000});

    (void)state;
    core_tick(c, 0);
    assert_true(c->want_link);
    core_link_up(c, 0);
    assert_string_equal(sent(c, 0), "0000002d000000000000000000000000000027100000000000000000"
                                    "000000100000000000000000000000000000000000");
    submit(c, OP_SYNC, 0);
    assert_string_equal(sent(c, 0), ""); /* nothing else before the answer */
    answer_hello(c, 5, 0x77, 10000, false);
    expect_state(c, PAWL_STATE_CONNECTED);
    assert_string_equal(sent(c, 5), "0000000e0000000100000009000000022f61");
    free_core(c);
}

static void pings_keep_an_idle_link(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});

    (void)state;
    connect(c, 100);
    assert_int_equal(core_next_ms(c), 3100);
    core_tick(c, 3099);
    assert_string_equal(sent(c, 3099), "");
    core_tick(c, 3100);
    assert_string_equal(sent(c, 3100), "00000008fffffffe0000000b");
    assert_int_equal(core_next_ms(c), 6100); /* nothing heard for 2T/3 */
    answer(c, 3150, XID_PING, 5, 0);
    assert_int_equal(core_certain_ms(c, 3150), 5950); /* by no more than the handshake */
    assert_int_equal(c->last_zxid, 0);                /* a ping tells nothing */
    assert_int_equal(core_next_ms(c), 6100);
    core_tick(c, 6100);
    assert_string_equal(sent(c, 6100), "00000008fffffffe0000000b");
    core_tick(c, 9149);
    assert_false(c->want_drop);
    core_tick(c, 9150);
    assert_true(c->want_drop);
    free_core(c);
}

static void a_silent_link_is_suspended_then_lost(void **state)
{
    struct core *c = new_core("a", (struct core_options){.lost_percent = 50});

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    core_tick(c, 6000);
    expect_state(c, PAWL_STATE_SUSPENDED);
    assert_int_equal(c->session_id, 0x77);
    core_tick(c, 10499);
    assert_null(core_next_item(c));
    core_tick(c, 10500);
    expect_state(c, PAWL_STATE_LOST);
    assert_int_equal(c->session_id, 0);
    assert_int_equal(core_certain_ms(c, 10500), 0);
    free_core(c);
}

static void a_refused_session_is_lost_at_once(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *call;

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    core_link_down(c, 10);
    expect_state(c, PAWL_STATE_SUSPENDED);
    call = submit(c, OP_SYNC, 0);
    link_up(c, 10);
    answer_hello(c, 20, 0, 0, false);
    expect_state(c, PAWL_STATE_LOST);
    expect_call(c, call, PAWL_ERR_SESSION_EXPIRED, PAWL_OUTCOME_NOT_SENT);
    link_up(c, 60000);
    answer_hello(c, 60000, 0x78, 9000, false);
    expect_state(c, PAWL_STATE_RECONNECTED);
    free_core(c);
}

static void with_one_session_lost_is_final(void **state)
{
    struct core *c = new_core("a", (struct core_options){.one_session = true});
    struct call *call = call_new(OP_SYNC);
    struct request q = {.path = bytes_str("/a")};

    (void)state;
    connect(c, 0);
    core_link_down(c, 10);
    core_tick(c, 20000);
    assert_int_equal(c->state, PAWL_STATE_LOST);
    assert_int_equal(core_next_ms(c), INT64_MAX);
    assert_int_equal(requests_submit(c, call, &q), PAWL_ERR_SESSION_EXPIRED);
    free(call);
    free_core(c);
}

static void half_a_frame_was_not_sent(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *whole, *half, *behind;

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    whole = submit(c, OP_SYNC, 0);
    half = submit(c, OP_GET_ACL, 0);
    behind = submit(c, OP_GET_EPHEMERALS, 0);
    requests_wrote(c, 1, 18 + 5);
    core_link_down(c, 2);
    expect_call(c, whole, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
    expect_state(c, PAWL_STATE_SUSPENDED);
    connect(c, 2);
    expect_state(c, PAWL_STATE_RECONNECTED);
    assert_string_equal(sent(c, 3), "0000000e0000000200000006000000022f61"
                                    "0000000e0000000300000067000000022f61");
    answer(c, 4, 2, 9, PAWL_ERR_NO_NODE);
    expect_call(c, half, PAWL_ERR_NO_NODE, PAWL_OUTCOME_REFUSED);
    answer(c, 4, 3, 9, 0);
    expect_call(c, behind, 0, PAWL_OUTCOME_DONE);
    free_core(c);
}

static void what_is_out_of_time_is_not_sent_later(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *late, *kept;

    (void)state;
    late = submit(c, OP_SYNC, 500);
    kept = submit(c, OP_GET_ACL, 0);
    core_tick(c, 499);
    assert_null(core_next_item(c));
    core_tick(c, 500);
    expect_call(c, late, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_NOT_SENT);
    c->want_link = false;
    core_link_up(c, 500);
    sent(c, 500);
    answer_hello(c, 500, 1, 9000, false);
    expect_state(c, PAWL_STATE_CONNECTED);
    assert_string_equal(sent(c, 501), "0000000e0000000200000006000000022f61");
    answer(c, 502, 2, 1, PAWL_ERR_NO_NODE);
    expect_call(c, kept, PAWL_ERR_NO_NODE, PAWL_OUTCOME_REFUSED);
    free_core(c);
}

static void a_late_answer_finds_nobody_and_harms_nobody(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *late, *next;

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    late = submit(c, OP_SYNC, 100);
    next = submit(c, OP_GET_ACL, 0);
    sent(c, 1);
    core_tick(c, 100);
    expect_call(c, late, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_UNKNOWN);
    answer(c, 120, 1, 5, 0);
    assert_null(core_next_item(c));
    answer(c, 121, 2, 5, PAWL_ERR_NO_AUTH);
    expect_call(c, next, PAWL_ERR_NO_AUTH, PAWL_OUTCOME_REFUSED);
    assert_int_equal(c->last_zxid, 5);
    free_core(c);
}

static void an_answer_out_of_order_ends_the_link(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});

    (void)state;
    connect(c, 0);
    submit(c, OP_SYNC, 0);
    sent(c, 1);
    answer(c, 2, 5, 5, 0);
    assert_true(c->want_drop);
    assert_int_equal(c->link, LINK_NONE);
    free_core(c);
}

static void a_frame_too_large_is_skipped(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *large, *next;
    struct strbuf b;
    size_t start;

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    large = submit(c, OP_GET_DATA, 0);
    next = submit(c, OP_GET_ACL, 0);
    sent(c, 1);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    start = reply_begin(&b, 1, 4, 0);
    for (int i = 0; i < 20000; i++) {
        jute_write_int(&b, -1);
    }
    reply_end(&b, start);
    reply_end(&b, reply_begin(&b, 2, 4, PAWL_ERR_NO_NODE));
    for (size_t i = 0; i < b.len; i += 7) {
        receive(c, 2, b.data + i, b.len - i < 7 ? b.len - i : 7);
    }
    strbuf_fini(&b);
    expect_call(c, large, PAWL_ERR_TOO_LARGE, PAWL_OUTCOME_REFUSED);
    expect_call(c, next, PAWL_ERR_NO_NODE, PAWL_OUTCOME_REFUSED);
    assert_int_equal(c->link, LINK_READY);
    free_core(c);
}

static void a_negative_length_ends_the_link(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});

    (void)state;
    connect(c, 0);
    receive(c, 1, "\xff\xff\xff\xff", 4);
    assert_int_equal(c->link, LINK_NONE);
    free_core(c);
}

static void credentials_come_first_on_every_link(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});

    (void)state;
    assert_int_equal(requests_add_auth(c, bytes_str("digest"), bytes_str("bob:pw")), 0);
    for (int i = 0; i < 2; i++) {
        submit(c, OP_SYNC, 0);
        connect(c, i);
        assert_non_null(strstr(sent(c, i),
                               "00000020fffffffc0000006400000000000000066469676573740000"
                               "0006626f623a7077"
                               "0000000e"));
        core_link_down(c, i);
    }
    connect(c, 2);
    sent(c, 2);
    answer(c, 3, XID_AUTH, 0, PAWL_ERR_AUTH_FAILED);
    assert_int_equal(c->link, LINK_NONE); /* and they are forgotten */
    assert_true(list_empty(&c->auths));
    free_core(c);
}

static void back_off_grows_until_a_session_stands(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    int64_t now = 0, longest = 0;

    (void)state;
    for (int i = 0; i < 12; i++) {
        link_up(c, now); /* accepted, and then closed without a word */
        core_link_down(c, now);
        longest = c->connect_at_ms - now;
        assert_true(longest <= 900);
        now = c->connect_at_ms;
    }
    assert_true(longest >= 450);
    connect(c, now);
    core_link_down(c, now);
    assert_int_equal(c->connect_at_ms, now); /* the first attempt after a session is at once */
    free_core(c);
}

/* It answers, but does not know whether the session lives: certain is what was before. */
static void a_read_only_server_makes_nothing_certain(void **state)
{
    struct core *c = new_core("a", (struct core_options){.read_only = true});

    (void)state;
    link_up(c, 50);
    answer_hello(c, 50, 0x66, 9000, true);
    assert_int_equal(core_certain_ms(c, 50), 0);
    expect_state(c, PAWL_STATE_READ_ONLY);
    core_link_down(c, 100);
    expect_state(c, PAWL_STATE_SUSPENDED);
    connect(c, 100);
    expect_state(c, PAWL_STATE_CONNECTED);
    assert_int_equal(core_certain_ms(c, 100), 9000);
    core_link_down(c, 5000);
    expect_state(c, PAWL_STATE_SUSPENDED);
    link_up(c, 5000);
    answer_hello(c, 5000, 0x77, 20000, true);
    expect_state(c, PAWL_STATE_READ_ONLY);
    assert_int_equal(core_certain_ms(c, 5000), 4100);
    core_tick(c, 5000 + 20000 / 3);
    sent(c, 5000 + 20000 / 3);
    answer(c, 5000 + 20000 / 3, XID_PING, 5, 0);
    assert_int_equal(core_certain_ms(c, 9000), 100);
    assert_int_equal(core_certain_ms(c, 5000 + 20000 / 3), 0);
    free_core(c);
}

/* The answer to a sync; to a multi of one check. */
static void answer_path(struct core *c, int64_t now, int32_t xid, const char *path)
{
    struct strbuf b;
    size_t start;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    start = reply_begin(&b, xid, 5, 0);
    jute_write_buffer(&b, bytes_str(path));
    reply_end(&b, start);
    receive(c, now, b.data, b.len);
    strbuf_fini(&b);
}

static void answer_check(struct core *c, int64_t now, int32_t xid, int32_t err)
{
    const struct multi_header result = {.type = err == 0 ? OP_CHECK : MULTI_RESULT_ERROR,
                                        .err = err};
    struct strbuf b;
    size_t start;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    start = reply_begin(&b, xid, 5, 0);
    multi_header_write(&b, &result);
    reply_end(&b, start);
    receive(c, now, b.data, b.len);
    strbuf_fini(&b);
}

/* "/zookeeper/pawl/sign-of-life" */
#define SIGN_FRAME(xid) \
    "0000002800000" xid "000000090000001c2f7a6f6f6b65657065722f7061776c2f7369676e2d6f662d6c696665"

/* multi { check / -1 } */
#define NOTHING_FRAME(xid) \
    "0000002300000" xid "0000000e0000000d00ffffffff000000012fffffffffffffffff01ffffffff"

static void a_kept_session_asks_for_more_than_pings(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});

    (void)state;
    connect(c, 100);
    core_keep_certain(c, true);
    assert_int_equal(core_next_ms(c), 3100);
    core_tick(c, 3100);
    assert_string_equal(sent(c, 3100), SIGN_FRAME("001"));
    assert_int_equal(core_certain_ms(c, 3150), 5950);
    answer_path(c, 3150, 1, SIGN_OF_LIFE_TAKEN);
    assert_int_equal(core_certain_ms(c, 3150), 8950);
    assert_int_equal(core_next_ms(c), 6100);
    core_tick(c, 6100);
    assert_string_equal(sent(c, 6100), SIGN_FRAME("002"));
    answer_path(c, 6150, 2, SIGN_OF_LIFE_TAKEN);
    core_keep_certain(c, false);
    core_tick(c, 9100);
    assert_string_equal(sent(c, 9100), "00000008fffffffe0000000b"); /* nobody wants it any more */
    free_core(c);
}

/* exists / */
#define LOOK_FRAME(xid) "0000000e00000" xid "00000003000000012f00"

/* A leader that does not count requests, known as such at 3150; two reads make it one that has
 * heard us between 3150 and 3160. */
static struct core *kept_by_pings(void)
{
    struct core *c = new_core("a", (struct core_options){0});

    connect(c, 100);
    core_keep_certain(c, true);
    core_tick(c, 3100);
    sent(c, 3100);
    answer_path(c, 3150, 1, SIGN_OF_LIFE);
    assert_int_equal(core_next_ms(c), 0);
    core_tick(c, 3150);
    assert_string_equal(sent(c, 3150), LOOK_FRAME("002") LOOK_FRAME("003"));
    answer(c, 3160, 2, 5, 0);
    answer(c, 3160, 3, 5, 0);
    assert_int_equal(core_certain_ms(c, 3160), 5940);
    assert_int_equal(core_next_ms(c), 3150 + 3000); /* a ping; then a heartbeat */
    return c;
}

static void where_requests_do_not_count_it_writes_nothing(void **state)
{
    struct core *c = kept_by_pings();

    (void)state;
    core_tick(c, 6161);
    assert_string_equal(sent(c, 6161), NOTHING_FRAME("004")); /* behind which the leader knew us */
    answer_check(c, 6200, 4, 0);
    assert_int_equal(core_certain_ms(c, 6200), 2900);
    assert_int_equal(core_next_ms(c), 0);
    core_tick(c, 6200);
    assert_string_equal(sent(c, 6200), /* the next two, and the write when nobody else led */
                        LOOK_FRAME("005") LOOK_FRAME("006") NOTHING_FRAME("007"));
    answer(c, 6240, 5, 5, 0);
    answer(c, 6240, 6, 5, 0);
    answer_check(c, 6250, 7, PAWL_ERR_NO_AUTH);       /* the session was looked at before */
    assert_int_equal(core_certain_ms(c, 6250), 5900); /* from the first two on */
    core_keep_certain(c, false);
    free_core(c);
}

/* The multi itself succeeds; what is in it does not. */
static void a_closing_session_is_not_kept_by_a_refusal(void **state)
{
    struct core *c = kept_by_pings();

    (void)state;
    core_tick(c, 6161);
    sent(c, 6161);
    answer_check(c, 6200, 4, 0);
    core_tick(c, 6200);
    sent(c, 6200);
    answer(c, 6240, 5, 5, 0);
    answer(c, 6240, 6, 5, 0);
    answer_check(c, 6250, 7, PAWL_ERR_SESSION_EXPIRED);
    assert_int_equal(core_certain_ms(c, 6250), 2850);
    assert_int_equal(core_next_ms(c), 6250 + 9000 / 12); /* not at once again */
    core_keep_certain(c, false);
    free_core(c);
}

static void a_heartbeat_goes_with_its_link(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});

    (void)state;
    connect(c, 100);
    core_keep_certain(c, true);
    core_tick(c, 3100);
    sent(c, 3100);
    core_link_down(c, 3200);
    assert_null(c->heartbeat);
    connect(c, 4000);
    assert_int_equal(core_certain_ms(c, 4000), 5100); /* a resumed session proves nothing yet */
    core_tick(c, 4000);
    assert_string_equal(sent(c, 4000), SIGN_FRAME("002"));
    answer_path(c, 4010, 2, SIGN_OF_LIFE_TAKEN);
    assert_int_equal(core_certain_ms(c, 4010), 8990);
    assert_false(c->certain_again); /* it was all the time */
    core_link_down(c, 12000);
    connect(c, 12500);
    core_tick(c, 13000);
    sent(c, 13000);
    answer_path(c, 13010, 3, SIGN_OF_LIFE_TAKEN);
    assert_true(c->certain_again);
    core_keep_certain(c, false);
    free_core(c);
}

static void a_read_only_server_is_left_for_a_better_one(void **state)
{
    struct core *c = new_core("a,b", (struct core_options){.read_only = true});
    size_t other;

    (void)state;
    link_up(c, 0);
    answer_hello(c, 0, 0x55, 9000, true);
    expect_state(c, PAWL_STATE_READ_ONLY);
    core_tick(c, 100);
    assert_true(c->want_probe);
    c->want_probe = false;
    core_probed(c, 110, false);
    assert_int_equal(c->link, LINK_READY);
    core_tick(c, 300);
    assert_true(c->want_probe);
    other = c->probe_host;
    core_probed(c, 310, true);
    expect_state(c, PAWL_STATE_SUSPENDED);
    core_tick(c, 310);
    assert_int_equal(c->host, other);
    c->want_link = c->want_drop = false;
    core_link_up(c, 310);
    /* A session of a read-only server is worth nothing elsewhere: a new one is asked for. */
    assert_non_null(strstr(sent(c, 310), "000023280000000000000000"));
    answer_hello(c, 311, 0x56, 9000, false);
    expect_state(c, PAWL_STATE_CONNECTED);
    free_core(c);
}

static void requests_too_large_stay_here(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *call = call_new(OP_SET_DATA);
    char data[1100] = "";
    struct request q = {.path = bytes_str("/a"), .data = bytes_of(data, sizeof(data))};

    (void)state;
    connect(c, 0);
    assert_int_equal(requests_submit(c, call, &q), PAWL_ERR_TOO_LARGE);
    assert_string_equal(sent(c, 0), "");
    free(call);
    free_core(c);
}

static void retry_policies_are_curators(void **state)
{
    struct pawl_retry n = {.kind = PAWL_RETRY_N_TIMES, .n = 2, .pause_ms = 7};
    struct pawl_retry e = {.kind = PAWL_RETRY_EXPONENTIAL, .n = 50, .pause_ms = 10};
    struct pawl_retry b = {.kind = PAWL_RETRY_BOUNDED, .n = 9, .pause_ms = 10, .max_pause_ms = 30};
    struct pawl_retry u = {.kind = PAWL_RETRY_UNTIL, .elapsed_ms = 100, .pause_ms = 5};
    struct pawl_retry f = {.kind = PAWL_RETRY_FOREVER, .pause_ms = 3};

    (void)state;
    assert_int_equal(pawl_retry_pause(&n, 1, 0, 0), 7);
    assert_int_equal(pawl_retry_pause(&n, 2, 0, 0), -1);
    assert_int_equal(pawl_retry_pause(&e, 0, 0, 0), 10);
    assert_int_equal(pawl_retry_pause(&e, 3, 0, 15), 150);
    assert_int_equal(pawl_retry_pause(&e, 3, 0, 16),
                     10); /* 16 mod 2^4 is 0, and that counts as 1 */
    assert_int_equal(pawl_retry_pause(&e, 28, 0, UINT64_MAX), 10 * ((INT64_C(1) << 29) - 1));
    assert_int_equal(pawl_retry_pause(&e, 29, 0, 0), -1);
    assert_int_equal(pawl_retry_pause(&b, 3, 0, 15), 30);
    assert_int_equal(pawl_retry_pause(&u, 1000, 99, 0), 5);
    assert_int_equal(pawl_retry_pause(&u, 0, 100, 0), -1);
    assert_int_equal(pawl_retry_pause(&f, 1 << 20, 1 << 30, 0), 3);
    assert_int_equal(pawl_retry_pause(&(struct pawl_retry){0}, 0, 0, 0), -1);
}

static void unpack_hex(const char *hex, uint8_t *out, size_t *len)
{
    unsigned byte;

    for (*len = 0; sscanf(hex + 2 * *len, "%2x", &byte) == 1; (*len)++) {
        out[*len] = (uint8_t)byte;
    }
}

static void gzip_reads_what_curator_writes(void **state)
{
    static const char *const hello = "1f8b0800000000000000cb48cdc9c957c8402701e3513d8d17000000";
    uint8_t in[128], *out;
    size_t len, n;

    (void)state;
    unpack_hex(hello, in, &len);
    assert_int_equal(gzip_unpack(bytes_of(in, len), 1 << 20, &out, &n), 0);
    assert_bytes_equal(bytes_of(out, n), bytes_str("hello hello hello hello"));
    free(out);
    assert_int_equal(gzip_unpack(bytes_of(in, len), 3, &out, &n), 0); /* one block may exceed it */
    free(out);
    for (size_t k = 0; k < len; k++) { /* cut off anywhere it is damaged */
        assert_int_equal(gzip_unpack(bytes_of(in, k), 1 << 20, &out, &n),
                         PAWL_ERR_DATA_INCONSISTENCY);
    }
    in[len] = 0; /* something behind it */
    assert_int_equal(gzip_unpack(bytes_of(in, len + 1), 1 << 20, &out, &n),
                     PAWL_ERR_DATA_INCONSISTENCY);
    in[20] ^= 1;
    assert_int_equal(gzip_unpack(bytes_of(in, len), 1 << 20, &out, &n),
                     PAWL_ERR_DATA_INCONSISTENCY);
    assert_int_equal(gzip_pack(bytes_of("", 0), &out, &len), 0);
    assert_int_equal(len, 20);
    memcpy(in, out, len);
    free(out);
    assert_int_equal(gzip_unpack(bytes_of(in, len), 1 << 20, &out, &n), 0);
    assert_int_equal(n, 0);
    free(out);
}

static size_t n_auths(const struct core *c)
{
    struct list *item;
    size_t n = 0;

    list_for_each (item, &c->auths) {
        n++;
    }
    return n;
}

static bool first_auth_is(const struct core *c, const char *text)
{
    const struct auth_entry *e = container_of(c->auths.next, struct auth_entry, link);

    return e->len == strlen(text) && memcmp(e->bytes + e->scheme_len, text, e->len) == 0;
}

static struct call *submit_auth(struct core *c, const char *text, int64_t deadline)
{
    struct call *call = call_new(OP_AUTH);
    struct request q = {.scheme = bytes_str("digest"), .data = bytes_str(text)};

    call->deadline_ms = deadline;
    assert_int_equal(requests_submit(c, call, &q), 0);
    return call;
}

/* Each refusal forgets those that were refused, whatever has been added since. */
static void refused_credentials_are_the_ones_forgotten(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *good, *bad;

    (void)state;
    requests_add_auth(c, bytes_str("digest"), bytes_str("bad"));
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    sent(c, 0);
    good = submit_auth(c, "good", 0);
    sent(c, 1);
    answer(c, 2, XID_AUTH, 0, PAWL_ERR_AUTH_FAILED); /* of the first, which the core sent itself */
    assert_int_equal(n_auths(c), 1);
    assert_true(first_auth_is(c, "good"));
    expect_call(c, good, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
    expect_state(c, PAWL_STATE_SUSPENDED);
    c->want_drop = false;
    connect(c, 100);
    expect_state(c, PAWL_STATE_RECONNECTED);
    sent(c, 100);
    answer(c, 100, XID_AUTH, 0, 0);
    bad = submit_auth(c, "bad too", 0);
    good = submit_auth(c, "good too", 0);
    sent(c, 101);
    answer(c, 102, XID_AUTH, 0, PAWL_ERR_AUTH_FAILED); /* of the first call */
    assert_int_equal(n_auths(c), 2);
    assert_true(first_auth_is(c, "good"));
    expect_call(c, bad, PAWL_ERR_AUTH_FAILED, PAWL_OUTCOME_REFUSED);
    expect_call(c, good, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
    free_core(c);
}

/* Apache's servers answer them without a look at the session. */
static void credentials_are_no_sign_of_life(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *call;

    (void)state;
    connect(c, 100);
    expect_state(c, PAWL_STATE_CONNECTED);
    call = submit_auth(c, "good", 0);
    sent(c, 2000);
    answer(c, 2010, XID_AUTH, 0, 0);
    expect_call(c, call, 0, PAWL_OUTCOME_DONE);
    assert_int_equal(c->certain.likely.items[0].sent_ms, 100);
    assert_int_equal(c->answered_ms, 100);
    free_core(c);
}

static void credentials_not_sent_are_not_kept(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *call = submit_auth(c, "late", 50);
    struct call *large = call_new(OP_AUTH);
    char text[2000];
    struct request q = {.scheme = bytes_str("digest"), .data = bytes_of(text, sizeof(text))};

    (void)state;
    memset(text, 'x', sizeof(text));
    core_tick(c, 60);
    expect_call(c, call, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_NOT_SENT);
    assert_int_equal(requests_submit(c, large, &q), PAWL_ERR_TOO_LARGE);
    free(large);
    assert_true(list_empty(&c->auths));
    free_core(c);
}

/* Nobody waits for it any more, and the link goes with half of its frame: the next link does not
 * get the whole. */
static void half_a_frame_given_up_is_not_sent_again(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *call, *late;

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    call = submit(c, OP_SYNC, 0);
    requests_wrote(c, 1, 5);
    assert_int_equal(requests_abandon(c, call), PAWL_OUTCOME_UNKNOWN);
    core_link_down(c, 2);
    expect_state(c, PAWL_STATE_SUSPENDED);
    connect(c, 100);
    expect_state(c, PAWL_STATE_RECONNECTED);
    assert_string_equal(sent(c, 100), "");
    late = submit(c, OP_SYNC, 150);
    requests_wrote(c, 101, 5);
    core_tick(c, 200);
    expect_call(c, late, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_UNKNOWN);
    core_link_down(c, 201);
    connect(c, 300);
    assert_string_equal(sent(c, 300), "");
    assert_int_equal(c->n_calls, 0);
    free_core(c);
}

/* A server was asked whether it writes, and the answer comes when the list is another one. */
static void a_late_probe_means_nothing_to_another_list(void **state)
{
    struct core *c = new_core("a,b,c,d", (struct core_options){.read_only = true});
    char here[8];

    (void)state;
    link_up(c, 0);
    answer_hello(c, 0, 0x55, 9000, true);
    for (int64_t now = 100; c->probe_host < 2; now += 100) {
        core_tick(c, now);
    }
    snprintf(here, sizeof(here), "%s", c->hosts.items[c->host].name);
    assert_int_equal(core_set_servers(c, here, 5000), 0);
    assert_int_equal(c->link, LINK_READY);
    core_probed(c, 5001, true);
    assert_true(c->hosts.next < c->hosts.n);
    assert_int_equal(c->link, LINK_READY);
    free_core(c);
}

/* Whoever trusts TLS to be there must not be led around it by a list. */
static void another_list_keeps_tls(void **state)
{
    struct core *c = new_core("zks://a", (struct core_options){0});

    (void)state;
    assert_int_equal(c->hosts.items[0].port, 2281);
    assert_int_equal(core_set_servers(c, "unix:/run/pawl/socket", 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(core_set_servers(c, "zks://unix:/socket", 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_string_equal(c->hosts.items[0].name, "a");
    assert_int_equal(core_set_servers(c, "b", 0), 0);
    assert_int_equal(c->hosts.items[0].port, 2281);
    assert_true(c->hosts.is_secure);
    assert_int_equal(core_set_servers(c, "zks://c", 0), 0);
    assert_int_equal(c->hosts.items[0].port, 2281);
    assert_int_equal(core_set_servers(c, "d:7", 0), 0);
    assert_int_equal(c->hosts.items[0].port, 7);
    free_core(c);
    c = new_core("a", (struct core_options){0});
    assert_int_equal(core_set_servers(c, "zks://a", 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(core_set_servers(c, "b", 0), 0);
    assert_int_equal(c->hosts.items[0].port, 2181);
    assert_false(c->hosts.is_secure);
    free_core(c);
}

static void ignore_event(const struct pawl_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

static struct call *submit_unwatch(struct core *c, bool local)
{
    struct call *call = call_new(OP_REMOVE_WATCHES);
    struct request q = {.path = bytes_str("/a"), .watch_type = PAWL_WATCHES_ANY};

    call->path = malloc(3);
    strcpy(call->path, "/a");
    call->target.fn = ignore_event;
    call->unwatch_mask = (1 << N_WATCHER_KINDS) - 1;
    call->unwatch_local = local;
    assert_int_equal(requests_submit(c, call, &q), 0);
    return call;
}

static void expect_removed(struct core *c)
{
    struct item *item = core_next_item(c);

    assert_non_null(item);
    assert_int_equal(item->kind, ITEM_EVENT);
    assert_int_equal(((struct event_item *)item)->type, PAWL_EVENT_WATCH_REMOVED);
    free(item);
}

static void expect_unwatch(struct core *c, struct call *call, int err, enum pawl_outcome outcome)
{
    free(call->path);
    expect_call(c, call, err, outcome);
}

/* Locally a watch is forgotten also when the server cannot be asked. */
static void a_watch_can_be_forgotten_without_a_server(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct event_target target = {.fn = ignore_event};
    struct call *call;

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    assert_int_equal(watches_add(&c->watches, WATCHER_DATA, bytes_str("/a"), &target), 0);
    call = submit_unwatch(c, false);
    sent(c, 1);
    core_link_down(c, 2);
    expect_unwatch(c, call, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
    expect_state(c, PAWL_STATE_SUSPENDED);
    assert_int_equal(c->watches.n_watchers, 1);
    connect(c, 100);
    expect_state(c, PAWL_STATE_RECONNECTED);
    call = submit_unwatch(c, true);
    sent(c, 101);
    core_link_down(c, 102);
    expect_removed(c);
    expect_unwatch(c, call, 0, PAWL_OUTCOME_DONE);
    assert_int_equal(c->watches.n_watchers, 0);
    free_core(c);
}

static void ignore_reply(const struct pawl_reply *reply, void *arg)
{
    (void)reply;
    (void)arg;
}

static struct call *submit_marked(struct core *c, void *mark)
{
    struct call *call = submit(c, OP_DELETE, 0);

    call->done = ignore_reply;
    call->arg = mark;
    return call;
}

/* What was not sent never will be. */
static void what_was_not_sent_can_be_withdrawn(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *first, *second;
    int marks[3];

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    first = submit_marked(c, &marks[0]);
    assert_false(requests_is_underway(c, first));
    sent(c, 1);
    assert_true(requests_is_underway(c, first));
    second = submit_marked(c, &marks[1]);
    assert_false(requests_is_underway(c, second));
    assert_ptr_equal(requests_find(c, ignore_reply, &marks[0]), first);
    assert_ptr_equal(requests_find(c, ignore_reply, &marks[1]), second);
    assert_null(requests_find(c, ignore_reply, &marks[2]));
    requests_withdraw(c, second);
    expect_call(c, second, PAWL_ERR_OPERATION_TIMEOUT, PAWL_OUTCOME_NOT_SENT);
    assert_int_equal(requests_output(c).len, 0);
    core_link_down(c, 2);
    expect_call(c, first, PAWL_ERR_CONNECTION_LOSS, PAWL_OUTCOME_UNKNOWN);
    free_core(c);
}

/* A write whose answer is too large to be kept has happened. */
static void an_answer_too_large_refuses_no_write(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct call *write, *read;
    struct strbuf b;

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    write = submit(c, OP_MULTI, 0);
    read = submit(c, OP_GET_CHILDREN2, 0);
    sent(c, 1);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (int32_t xid = 1; xid <= 2; xid++) {
        size_t start = reply_begin(&b, xid, 7, 0);

        for (int i = 0; i < 2000; i++) {
            jute_write_int(&b, 0);
        }
        reply_end(&b, start);
    }
    receive(c, 2, b.data, b.len);
    strbuf_fini(&b);
    expect_call(c, write, PAWL_ERR_TOO_LARGE, PAWL_OUTCOME_UNKNOWN);
    expect_call(c, read, PAWL_ERR_TOO_LARGE, PAWL_OUTCOME_REFUSED);
    free_core(c);
}

/* ---- watches that stay, over a new link ---- */

static void tell_event(struct core *c, int64_t now, int64_t zxid)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    event_write(&b, PAWL_EVENT_DATA_CHANGED, bytes_str("/a"), zxid);
    receive(c, now, b.data, b.len);
    strbuf_fini(&b);
}

static void answer_set_watches(struct core *c, int64_t now, int32_t word)
{
    struct strbuf b;
    size_t start;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    start = reply_begin(&b, XID_SET_WATCHES, 90, 0);
    if (word >= 0) {
        jute_write_int(&b, word);
    }
    reply_end(&b, start);
    receive(c, now, b.data, b.len);
    strbuf_fini(&b);
}

static void expect_event(struct core *c, int type)
{
    struct item *item = core_next_item(c);

    assert_non_null(item);
    assert_int_equal(item->kind, ITEM_EVENT);
    assert_int_equal(((struct event_item *)item)->type, type);
    assert_int_equal(((struct event_item *)item)->n_targets, 1);
    free(item);
}

/* The link is cut and back: what it sends then must begin its setWatches2 with this zxid. */
static void expect_relative(struct core *c, int64_t now, int64_t zxid)
{
    char head[64];

    core_link_down(c, now);
    expect_state(c, PAWL_STATE_SUSPENDED);
    connect(c, now + 100);
    expect_state(c, PAWL_STATE_RECONNECTED);
    snprintf(head, sizeof(head), "fffffff800000069%016llx", (unsigned long long)zxid);
    assert_memory_equal(sent(c, now + 100) + 8, head, strlen(head));
}

static void what_was_told_is_not_asked_for_again(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct event_target target = {.fn = ignore_event};
    struct call *call;

    (void)state;
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    assert_int_equal(watches_add(&c->watches, WATCHER_PERSISTENT, bytes_str("/a"), &target), 0);
    call = submit(c, OP_EXISTS, 0);
    sent(c, 1);
    answer(c, 2, 1, 10, PAWL_ERR_NO_NODE);
    expect_call(c, call, PAWL_ERR_NO_NODE, PAWL_OUTCOME_REFUSED);
    expect_relative(c, 10, 10); /* an answer shows all before it */
    answer_set_watches(c, 111, MISSED_EVENTS_TOLD);
    tell_event(c, 112, 20);
    expect_event(c, PAWL_EVENT_DATA_CHANGED);
    expect_relative(c, 200, 19); /* there may be more of that transaction */
    answer_set_watches(c, 301, MISSED_EVENTS_TOLD);
    answer(c, 302, XID_PING, 30, 0);
    expect_relative(c, 400, 30);
    tell_event(c, 501, 40); /* other watches may not be set yet */
    expect_event(c, PAWL_EVENT_DATA_CHANGED);
    answer(c, 502, XID_PING, 41, 0);
    expect_relative(c, 600, 30);
    answer_set_watches(c, 701, MISSED_EVENTS_TOLD);
    tell_event(c, 702, -1); /* a server before 3.9 */
    expect_event(c, PAWL_EVENT_DATA_CHANGED);
    expect_relative(c, 800, 30);
    free_core(c);
}

static void ignore_holder(void *holder)
{
    (void)holder;
}

static void who_watches_is_told_of_a_gap_and_a_recipe_that_there_is_none(void **state)
{
    struct core *c = new_core("a", (struct core_options){0});
    struct step_watch step;
    struct event_target user = {.fn = ignore_event};
    struct event_target recipe = {.fn = ignore_event, .arg = c, .step = &step};
    int words[] = {-1, MISSED_EVENTS_GAP, 77, MISSED_EVENTS_TOLD};

    (void)state;
    step_watch_init(&step, ignore_event, c, ignore_holder, ignore_holder, c);
    connect(c, 0);
    expect_state(c, PAWL_STATE_CONNECTED);
    assert_int_equal(watches_add(&c->watches, WATCHER_RECURSIVE, bytes_str("/a"), &user), 0);
    assert_int_equal(watches_add(&c->watches, WATCHER_PERSISTENT, bytes_str("/b"), &recipe), 0);
    assert_int_equal(watches_add(&c->watches, WATCHER_DATA, bytes_str("/c"), &user), 0);
    for (int i = 0; i < 4; i++) {
        expect_relative(c, 1000 * (i + 1), 0);
        assert_null(core_next_item(c));
        answer_set_watches(c, 1000 * (i + 1) + 101, words[i]);
        if (words[i] == MISSED_EVENTS_TOLD) {
            expect_event(c, EVENT_CAUGHT_UP);
        } else {
            expect_event(c, PAWL_EVENT_GAP);
            expect_event(c, PAWL_EVENT_GAP);
        }
        assert_null(core_next_item(c));
    }
    answer_set_watches(c, 9000, 1); /* nobody asked */
    assert_int_equal(c->link, LINK_NONE);
    free_core(c);
}

/* ---- SASL ---- */

static void answer_sasl(struct core *c, int64_t now, int32_t err, const char *token)
{
    struct strbuf b;
    size_t start;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    start = reply_begin(&b, c->sasl_xid, 0, err);
    jute_write_buffer(&b, token == NULL ? BYTES_NULL : bytes_str(token));
    reply_end(&b, start);
    receive(c, now, b.data, b.len);
    strbuf_fini(&b);
}

static struct core *new_sasl_core(void)
{
    struct core *c = new_core("a", (struct core_options){.sasl = true});

    link_up(c, 0);
    answer_hello(c, 0, 0x77, 9000, false);
    assert_true(c->want_sasl);
    c->want_sasl = false;
    assert_int_equal(c->link, LINK_SASL);
    return c;
}

static void nothing_is_sent_before_both_have_authenticated(void **state)
{
    struct core *c = new_sasl_core();

    (void)state;
    submit(c, OP_GET_DATA, 0);
    assert_string_equal(sent(c, 1), "");
    core_sasl(c, 1, 0, bytes_str(""), "");
    assert_string_equal(sent(c, 1), "0000000c000000020000006600000000");
    answer_sasl(c, 2, 0, "who?");
    assert_true(c->want_sasl);
    c->want_sasl = false;
    assert_int_equal(c->sasl_token.len, 4);
    core_sasl(c, 3, 0, bytes_str("me"), "");
    assert_string_equal(sent(c, 3), "0000000e0000000300000066000000026d65");
    assert_int_equal(c->state, PAWL_STATE_CONNECTING);
    answer_sasl(c, 4, 0, "and I am who you mean");
    c->want_sasl = false;
    core_sasl(c, 5, 1, bytes_str(""), "");
    expect_state(c, PAWL_STATE_CONNECTED);
    assert_string_not_equal(sent(c, 5), "");
    free_core(c);
}

/* With Kerberos we have the last word, which the server confirms. */
static void our_last_token_is_confirmed(void **state)
{
    struct core *c = new_sasl_core();

    (void)state;
    core_sasl(c, 1, 1, bytes_str("last"), "");
    assert_string_not_equal(sent(c, 1), "");
    assert_int_equal(c->link, LINK_SASL);
    answer_sasl(c, 2, 0, NULL);
    expect_state(c, PAWL_STATE_CONNECTED);
    free_core(c);
}

static void whoever_is_refused_is_told_why(void **state)
{
    static const struct {
        int32_t err;
        bool begun;
        const char *token, *says;
    } cases[] = {
        {PAWL_ERR_AUTH_FAILED, true, NULL, "does not accept our name and password"},
        {PAWL_ERR_SESSION_CLOSED_REQUIRE_AUTH, true, NULL, "does not accept our name"},
        {0, true, NULL, "does not accept our name and password"}, /* would be let in as nobody */
        {0, false, NULL, "the server is not configured for it"},
        {PAWL_ERR_UNIMPLEMENTED, false, NULL, "the server refuses it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct core *c = new_sasl_core();

        core_sasl(c, 1, 0, bytes_str(""), "");
        if (cases[i].begun) {
            answer_sasl(c, 1, 0, "who?");
            c->want_sasl = false;
            core_sasl(c, 1, 0, bytes_str("me"), "");
        }
        answer_sasl(c, 1, cases[i].err, cases[i].token);
        assert_true(c->want_drop);
        assert_int_equal(c->state, PAWL_STATE_CONNECTING);
        assert_non_null(strstr(c->trouble, cases[i].says));
        free_core(c);
    }
}

static void an_exchange_that_fails_ends_the_link(void **state)
{
    struct core *c = new_sasl_core();

    (void)state;
    core_sasl(c, 1, -1, bytes_str(""), "it does not know the password");
    assert_true(c->want_drop);
    assert_string_equal(c->trouble, "a:2181: SASL: it does not know the password");
    core_sasl(c, 1, 1, bytes_str(""), ""); /* too late */
    assert_int_equal(c->link, LINK_NONE);
    free_core(c);
}

/* Or each attempt would leave a session behind. */
static void the_session_that_was_granted_is_asked_for_again(void **state)
{
    struct core *c = new_sasl_core();

    (void)state;
    core_sasl(c, 1, -1, bytes_str(""), "no");
    c->want_drop = false;
    core_tick(c, 5000);
    c->want_link = false;
    core_link_up(c, 5000);
    assert_non_null(strstr(sent(c, 5000), "0000000000000077"));
    answer_hello(c, 5000, 0, 0, false); /* it has expired: another one */
    c->want_drop = false;
    core_tick(c, 10000);
    c->want_link = false;
    core_link_up(c, 10000);
    assert_null(strstr(sent(c, 10000), "0000000000000077"));
    assert_int_equal(c->state, PAWL_STATE_CONNECTING);
    free_core(c);
}

static void an_exchange_has_the_time_of_a_link(void **state)
{
    struct core *c = new_sasl_core();

    (void)state;
    core_sasl(c, 1, 0, bytes_str(""), "");
    core_tick(c, core_next_ms(c));
    assert_true(c->want_drop);
    assert_non_null(strstr(c->trouble, "no session in time"));
    free_core(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_handshake_is_the_recorded_one),
        cmocka_unit_test(pings_keep_an_idle_link),
        cmocka_unit_test(a_silent_link_is_suspended_then_lost),
        cmocka_unit_test(a_refused_session_is_lost_at_once),
        cmocka_unit_test(with_one_session_lost_is_final),
        cmocka_unit_test(half_a_frame_was_not_sent),
        cmocka_unit_test(what_is_out_of_time_is_not_sent_later),
        cmocka_unit_test(a_late_answer_finds_nobody_and_harms_nobody),
        cmocka_unit_test(an_answer_out_of_order_ends_the_link),
        cmocka_unit_test(a_frame_too_large_is_skipped),
        cmocka_unit_test(a_negative_length_ends_the_link),
        cmocka_unit_test(credentials_come_first_on_every_link),
        cmocka_unit_test(back_off_grows_until_a_session_stands),
        cmocka_unit_test(a_read_only_server_makes_nothing_certain),
        cmocka_unit_test(a_kept_session_asks_for_more_than_pings),
        cmocka_unit_test(where_requests_do_not_count_it_writes_nothing),
        cmocka_unit_test(a_closing_session_is_not_kept_by_a_refusal),
        cmocka_unit_test(credentials_are_no_sign_of_life),
        cmocka_unit_test(a_heartbeat_goes_with_its_link),
        cmocka_unit_test(a_read_only_server_is_left_for_a_better_one),
        cmocka_unit_test(requests_too_large_stay_here),
        cmocka_unit_test(retry_policies_are_curators),
        cmocka_unit_test(gzip_reads_what_curator_writes),
        cmocka_unit_test(refused_credentials_are_the_ones_forgotten),
        cmocka_unit_test(credentials_not_sent_are_not_kept),
        cmocka_unit_test(half_a_frame_given_up_is_not_sent_again),
        cmocka_unit_test(a_late_probe_means_nothing_to_another_list),
        cmocka_unit_test(another_list_keeps_tls),
        cmocka_unit_test(a_watch_can_be_forgotten_without_a_server),
        cmocka_unit_test(what_was_not_sent_can_be_withdrawn),
        cmocka_unit_test(an_answer_too_large_refuses_no_write),
        cmocka_unit_test(what_was_told_is_not_asked_for_again),
        cmocka_unit_test(who_watches_is_told_of_a_gap_and_a_recipe_that_there_is_none),
        cmocka_unit_test(nothing_is_sent_before_both_have_authenticated),
        cmocka_unit_test(our_last_token_is_confirmed),
        cmocka_unit_test(whoever_is_refused_is_told_why),
        cmocka_unit_test(an_exchange_that_fails_ends_the_link),
        cmocka_unit_test(the_session_that_was_granted_is_asked_for_again),
        cmocka_unit_test(an_exchange_has_the_time_of_a_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
