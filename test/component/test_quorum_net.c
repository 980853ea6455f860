/* SPDX-License-Identifier: Apache-2.0 */
/* Links of the quorum port: several ends in one process, on one loop, and peers that misbehave. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/logging.h"
#include "base/memory.h"
#include "daemon/member_auth.h"
#include "daemon/quorum_net.h"
#include "daemon/quorum_port.h"
#include "lib/patience.h"
#include "lib/peer_certificates.h"
#include "lib/test.h"
#include "quorum/config.h"
#include "sasl/login.h"

enum { PACKET_BYTES = 1 << 20, OUTPUT_BYTES = 4 << 20, MAX_LINKS = 128 };

/* One end: what it was told. */
struct end {
    uv_loop_t *loop;
    struct quorum_net *net;
    struct quorum_port *port;
    link_id up[MAX_LINKS];
    int64_t sids[MAX_LINKS];
    int n_up;
    link_id down[MAX_LINKS];
    int n_down;
    int n_failed;
    int64_t failed_sid;
    struct strbuf told; /* a word per packet */
    int64_t n_packets;
    struct strbuf diverted;
    size_t divert_len; /* how long the stream is */
    int64_t divert_at; /* a packet of this zxid is followed by it; 0: none */
    int64_t hold_at;
    int64_t answer_at; /* a packet of this zxid is acked at once; 0: none */
    int n_room;
    stream_id sent[MAX_LINKS];
    int n_sent;
    link_id flood; /* who is sent more than it may be behind when a stream ends; 0: nobody */
};

static uv_loop_t loop;
static struct end leader, learner;

/* Both have the same one, take what comes in the clear as well, and dial with TLS. NULL: without.
 */
static struct peer_identity *identity;
static const struct member_sasl *sasl; /* NULL: none */

/* ---- events ---- */

static void on_up(void *arg, link_id link, int64_t sid)
{
    struct end *e = arg;

    e->sids[e->n_up] = sid;
    e->up[e->n_up++] = link;
}

static void on_down(void *arg, link_id link)
{
    struct end *e = arg;

    e->down[e->n_down++] = link;
}

static void on_dial_failed(void *arg, int64_t sid)
{
    struct end *e = arg;

    e->failed_sid = sid;
    e->n_failed++;
}

static void on_packet(void *arg, link_id link, const struct packet *p)
{
    struct end *e = arg;

    e->n_packets++;
    strbuf_printf(&e->told, "%s:%" PRIx64 " ", packet_type_name(p->type), (uint64_t)p->zxid);
    if (e->divert_at != 0 && p->zxid == e->divert_at) {
        quorum_net_divert(e->net, link);
    }
    if (e->hold_at != 0 && p->zxid == e->hold_at) {
        quorum_net_hold(e->net, link);
    }
    if (e->answer_at != 0 && p->zxid == e->answer_at) {
        quorum_net_send(e->net, link,
                        &(struct packet){.type = PACKET_ACK, .zxid = p->zxid, .auth.count = -1});
    }
}

static enum stream_read on_diverted(void *arg, link_id link, struct bytes bytes, size_t *used,
                                    const char **reason)
{
    struct end *e = arg;
    size_t left = e->divert_len - e->diverted.len;

    (void)link;
    *reason = "the test says so";
    *used = bytes.len < left ? bytes.len : left;
    strbuf_append(&e->diverted, bytes.data, *used);
    if (e->diverted.len > 0 && e->diverted.data[0] == '!') {
        return STREAM_BAD;
    }
    return e->diverted.len == e->divert_len ? STREAM_WHOLE : STREAM_SHORT;
}

static void on_room(void *arg, stream_id stream)
{
    struct end *e = arg;

    (void)stream;
    e->n_room++;
}

/* Far more than a link may be behind, in packets that are allowed. */
static void flood_link(struct end *e)
{
    static const uint8_t data[10000];
    struct packet p = {.type = PACKET_PROPOSAL, .data = bytes_of(data, sizeof(data))};

    p.auth.count = -1;
    for (size_t sent = 0; sent <= OUTPUT_BYTES; sent += sizeof(data)) {
        quorum_net_send(e->net, e->flood, &p);
    }
}

static void on_sent(void *arg, stream_id stream)
{
    struct end *e = arg;

    e->sent[e->n_sent++] = stream;
    if (e->flood != 0) {
        flood_link(e);
    }
}

/* ---- the loop ---- */

static void open_end(struct end *e, const struct quorum_net_options *changes)
{
    struct quorum_net_options options = {.packet_bytes = PACKET_BYTES,
                                         .output_bytes = OUTPUT_BYTES,
                                         .greeting_ms = 60000,
                                         .dial_ms = 60000,
                                         .stall_ms = 60000};

    if (changes != NULL) {
        options = *changes;
    }
    *e = (struct end){.loop = &loop};
    strbuf_init(&e->told, STRBUF_NO_LIMIT);
    strbuf_init(&e->diverted, STRBUF_NO_LIMIT);
    options.loop = &loop;
    options.tls = identity == NULL ? NULL : &identity->tls;
    options.sasl = sasl;
    options.events = (struct quorum_net_events){.arg = e,
                                                .up = on_up,
                                                .down = on_down,
                                                .dial_failed = on_dial_failed,
                                                .packet = on_packet,
                                                .diverted = on_diverted,
                                                .room = on_room,
                                                .sent = on_sent};
    e->net = quorum_net_new(&options);
}

static void close_end(struct end *e)
{
    quorum_net_free(e->net);
    quorum_port_free(e->port);
    strbuf_fini(&e->told);
    strbuf_fini(&e->diverted);
}

/* False: there is no such address here. */
static bool listen_at(struct end *e, const char *host)
{
    struct net_address any = {.host = host, .port = 0};
    int fds[QUORUM_PORT_ADDRESSES];
    size_t n;

    e->port = quorum_port_new(&loop, &any, 1, NULL, NULL);
    n = quorum_port_listen(e->port, fds);
    quorum_net_listen(e->net, fds, n);
    return n > 0;
}

static int port_of(const struct end *e)
{
    return quorum_port_number(e->port);
}

static void unlisten(struct end *e)
{
    quorum_net_unlisten(e->net);
    quorum_port_unlisten(e->port);
}

static void begin(const struct quorum_net_options *of_leader)
{
    uv_loop_init(&loop);
    open_end(&leader, of_leader);
    open_end(&learner, NULL);
    assert_true(listen_at(&leader, "127.0.0.1"));
}

static void finish(void)
{
    close_end(&leader);
    close_end(&learner);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* One turn that does not sleep for long. */
static void turn(void)
{
    quorum_net_flush(leader.net);
    quorum_net_flush(learner.net);
    uv_run(&loop, UV_RUN_NOWAIT);
}

#define UNTIL(condition) wait_until((turn(), (condition)))

static void dial(void)
{
    struct net_address to = {.host = "127.0.0.1", .port = port_of(&leader)};

    quorum_net_dial(learner.net, 3, &to, 1);
}

static void send_packet(struct end *e, link_id link, int32_t type, int64_t zxid, size_t len)
{
    uint8_t *data = must_zalloc(len + 1);
    struct packet p = {.type = type, .zxid = zxid, .auth.count = -1};

    p.data = len == 0 ? BYTES_NULL : bytes_of(data, len);
    quorum_net_send(e->net, link, &p);
    free(data);
}

/* Dialled, greeted: `*to_learner` is the leader's name of the link, `*to_leader` the learner's. */
static void join(link_id *to_learner, link_id *to_leader)
{
    int n_up = leader.n_up;

    dial();
    UNTIL(learner.n_up == 1);
    *to_leader = learner.up[0];
    send_packet(&learner, *to_leader, PACKET_FOLLOWER_INFO, 0, 20);
    UNTIL(leader.n_up == n_up + 1 && leader.n_packets > 0);
    *to_learner = leader.up[n_up];
}

/* ---- a peer that is no server ---- */

static int connect_raw(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port_of(&leader)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void write_raw(int fd, const void *data, size_t len)
{
    assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

/* Whether the other side has closed it; what comes is thrown away. */
static bool is_closed(int fd)
{
    char data[4096];
    ssize_t n = recv(fd, data, sizeof(data), 0);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

/* ---- fair weather ---- */

static void packets_go_both_ways_in_order(void **state)
{
    link_id to_learner, to_leader;

    (void)state;
    begin(NULL);
    join(&to_learner, &to_leader);
    assert_int_equal(learner.sids[0], 3);
    assert_true(leader.sids[0] == SID_NOBODY);
    for (int64_t zxid = 1; zxid <= 200; zxid++) {
        send_packet(&leader, to_learner, PACKET_PROPOSAL, zxid, (size_t)zxid * 97 % 30000);
        send_packet(&learner, to_leader, PACKET_PING, zxid, 0);
    }
    UNTIL(learner.n_packets == 200 && leader.n_packets == 201);
    assert_non_null(strstr(strbuf_cstr(&learner.told), "PROPOSAL:1 PROPOSAL:2 PROPOSAL:3 "));
    assert_non_null(strstr(strbuf_cstr(&learner.told), "PROPOSAL:c7 PROPOSAL:c8 "));
    assert_non_null(strstr(strbuf_cstr(&leader.told), "FOLLOWERINFO:0 PING:1 PING:2 "));
    finish();
}

/* Only what was received together; NEWLEADER's has a meaning of its own, and so has another
 * epoch's.
 */
static void of_acks_in_a_row_the_last_one_is_told(void **state)
{
    static const struct {
        int32_t type;
        int64_t zxid;
    } sent[] = {{PACKET_ACK, 0x100000000}, {PACKET_ACK, 0x100000001}, {PACKET_ACK, 0x100000002},
                {PACKET_ACK, 0x100000003}, {PACKET_PING, 9},          {PACKET_ACK, 0x100000004},
                {PACKET_ACK, 0x100000005}, {PACKET_ACK, 0x200000001}, {PACKET_ACK, 0x100000006},
                {PACKET_ACK, 0x100000006}};
    struct packet greeting = {.type = PACKET_FOLLOWER_INFO, .auth.count = -1};
    struct strbuf bytes;
    int fd;

    (void)state;
    begin(NULL);
    strbuf_init(&bytes, STRBUF_NO_LIMIT);
    packet_write(&bytes, &greeting);
    for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++) {
        packet_write(
            &bytes, &(struct packet){.type = sent[i].type, .zxid = sent[i].zxid, .auth.count = -1});
    }
    fd = connect_raw();
    write_raw(fd, bytes.data, bytes.len);
    close(fd);
    UNTIL(leader.n_down == 1);
    assert_string_equal(strbuf_cstr(&leader.told),
                        "FOLLOWERINFO:0 ACK:100000000 ACK:100000003 PING:9 ACK:100000005 "
                        "ACK:200000001 ACK:100000006 ACK:100000006 ");
    strbuf_fini(&bytes);
    finish();
}

static void a_closed_link_delivers_what_was_sent_before(void **state)
{
    link_id to_learner, to_leader;

    (void)state;
    begin(NULL);
    join(&to_learner, &to_leader);
    for (int64_t zxid = 1; zxid <= 20; zxid++) {
        send_packet(&leader, to_learner, PACKET_PROPOSAL, zxid, 100000);
    }
    quorum_net_close(leader.net, to_learner);
    send_packet(&leader, to_learner, PACKET_PROPOSAL, 99, 10); /* not any more */
    UNTIL(learner.n_down == 1);
    assert_int_equal(learner.n_packets, 20);
    assert_int_equal(leader.n_down, 0); /* it knows */
    assert_true(learner.down[0] == to_leader);
    finish();
}

/* One write, in the turn in which it was asked for: not when the loop has found that there is room.
 */
static void an_answer_leaves_at_the_end_of_its_turn(void **state)
{
    struct packet greeting = {.type = PACKET_FOLLOWER_INFO, .zxid = 5, .auth.count = -1};
    struct strbuf bytes;
    char data[64];
    int fd;

    (void)state;
    begin(NULL);
    leader.answer_at = 5;
    strbuf_init(&bytes, STRBUF_NO_LIMIT);
    packet_write(&bytes, &greeting);
    fd = connect_raw();
    write_raw(fd, bytes.data, bytes.len);
    wait_until((uv_run(&loop, UV_RUN_NOWAIT), leader.n_packets == 1));
    assert_int_equal(recv(fd, data, sizeof(data), 0), -1);
    quorum_net_flush(leader.net);
    assert_int_equal(recv(fd, data, sizeof(data), 0), 20);
    close(fd);
    strbuf_fini(&bytes);
    finish();
}

static void nobody_listening_is_told_later(void **state)
{
    struct net_address to = {.host = "127.0.0.1"};

    (void)state;
    begin(NULL);
    to.port = port_of(&leader);
    unlisten(&leader);
    quorum_net_dial(learner.net, 7, &to, 1);
    assert_int_equal(learner.n_failed, 0);
    UNTIL(learner.n_failed == 1);
    assert_int_equal(learner.failed_sid, 7);
    assert_int_equal(learner.n_up, 0);
    finish();
}

static void of_several_addresses_the_first_that_answers_wins(void **state)
{
    struct net_address to[3] = {{.host = "127.0.0.1"}, {.host = "localhost"}, {.host = "::1"}};
    struct end nobody;

    (void)state;
    begin(NULL);
    open_end(&nobody, NULL);
    assert_true(listen_at(&nobody, "127.0.0.1"));
    to[0].port = port_of(&nobody); /* closed in a moment */
    to[1].port = port_of(&leader);
    to[2].port = port_of(&nobody);
    unlisten(&nobody);
    quorum_net_dial(learner.net, 3, to, 3);
    UNTIL(learner.n_up == 1);
    assert_int_equal(learner.n_failed, 0);
    send_packet(&learner, learner.up[0], PACKET_OBSERVER_INFO, 0, 20);
    UNTIL(leader.n_up == 1);
    for (int i = 0; i < 50; i++) {
        turn();
    }
    assert_int_equal(learner.n_up, 1);
    close_end(&nobody);
    finish();
}

static void a_name_that_does_not_exist_fails(void **state)
{
    struct net_address to = {.host = "no-such-host.invalid", .port = 2888};

    (void)state;
    begin(NULL);
    quorum_net_dial(learner.net, 4, &to, 1);
    UNTIL(learner.n_failed == 1);
    quorum_net_dial(learner.net, 5, &to, 1); /* and one that nobody waits for is no trouble */
    finish();
}

static void a_later_dial_replaces_the_one_under_way(void **state)
{
    struct net_address nowhere = {.host = "no-such-host.invalid", .port = 2888};

    (void)state;
    begin(NULL);
    quorum_net_dial(learner.net, 4, &nowhere, 1);
    dial();
    UNTIL(learner.n_up == 1);
    assert_int_equal(learner.sids[0], 3);
    assert_int_equal(learner.n_failed, 0);
    finish();
}

static void ipv6_is_an_address_like_any(void **state)
{
    struct net_address to = {.host = "::1"};

    (void)state;
    uv_loop_init(&loop);
    open_end(&leader, NULL);
    open_end(&learner, NULL);
    if (listen_at(&leader, "::1")) { /* else there is no IPv6 here */
        to.port = port_of(&leader);
        quorum_net_dial(learner.net, 3, &to, 1);
        UNTIL(learner.n_up == 1);
    }
    finish();
}

/* ---- holding and diverting ---- */

static void a_held_link_keeps_what_comes_until_it_goes_on(void **state)
{
    link_id to_learner, to_leader;

    (void)state;
    begin(NULL);
    join(&to_learner, &to_leader);
    learner.hold_at = 3;
    for (int64_t zxid = 1; zxid <= 10; zxid++) {
        send_packet(&leader, to_learner, PACKET_PROPOSAL, zxid, 50000);
    }
    UNTIL(learner.n_packets == 3);
    for (int i = 0; i < 100; i++) {
        turn();
    }
    assert_int_equal(learner.n_packets, 3);
    quorum_net_resume(learner.net, to_leader);
    assert_int_equal(learner.n_packets, 3); /* not from within the call */
    UNTIL(learner.n_packets == 10);
    finish();
}

/* A snapshot behind its packet, and packets behind the snapshot. */
static void a_stream_is_diverted_and_packets_follow(void **state)
{
    enum { LEN = 3 << 20 };
    link_id to_learner, to_leader;
    uint8_t *bytes = must_alloc(LEN);
    stream_id stream;

    (void)state;
    for (size_t i = 0; i < LEN; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    }
    begin(NULL);
    join(&to_learner, &to_leader);
    learner.divert_at = 0x55;
    learner.divert_len = LEN;
    send_packet(&leader, to_learner, PACKET_SNAP, 0x55, 0);
    stream = quorum_net_stream(leader.net, to_learner);
    send_packet(&leader, to_learner, PACKET_NEW_LEADER, 0x56, 100); /* waits behind it */
    for (size_t at = 0; at < LEN; at += LEN / 3) {
        quorum_net_stream_write(leader.net, stream, bytes_of(bytes + at, LEN / 3));
        UNTIL(quorum_net_stream_pending(leader.net, stream) < STREAM_ROOM_BYTES);
        assert_int_equal(learner.n_packets, 1);
        assert_int_equal(leader.n_sent, 0);
    }
    assert_true(leader.n_room > 0);
    quorum_net_stream_end(leader.net, stream);
    UNTIL(learner.n_packets == 2 && leader.n_sent == 1);
    assert_true(leader.sent[0] == stream);
    assert_bytes_equal(strbuf_bytes(&learner.diverted), bytes_of(bytes, LEN));
    assert_string_equal(strbuf_cstr(&learner.told), "SNAP:55 NEWLEADER:56 ");
    finish();
    free(bytes);
}

static void a_bad_stream_ends_the_link(void **state)
{
    link_id to_learner, to_leader;
    stream_id stream;

    (void)state;
    begin(NULL);
    join(&to_learner, &to_leader);
    learner.divert_at = 0x55;
    learner.divert_len = 100;
    send_packet(&leader, to_learner, PACKET_SNAP, 0x55, 0);
    stream = quorum_net_stream(leader.net, to_learner);
    quorum_net_stream_write(leader.net, stream, bytes_str("!bad"));
    UNTIL(learner.n_down == 1 && leader.n_down == 1);
    quorum_net_stream_write(leader.net, stream, bytes_str("more")); /* passed over */
    quorum_net_stream_end(leader.net, stream);
    assert_int_equal(quorum_net_stream(leader.net, to_learner), 0);
    assert_int_equal(leader.n_sent, 0);
    finish();
}

/* ---- peers that misbehave ---- */

static void what_does_not_begin_as_a_learner_does_is_closed(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } nonsense[] = {
        {"GET / HTTP/1.0\r\n\r\nand so on", 28},
        {"\0\0\0\3\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 20}, /* an ACK */
        {"\0\0\0\x0b\0\0\0\0\0\0\0\0\x7f\xff\xff\xff", 16},               /* a long greeting */
        {"\0\0\0\x0b\0\0\0\0\0\0\0\0\0\0\x10\1", 16},                     /* a byte too long */
        {"\0\0\0\x0b\0\0\0\0\0\0\0\0\xff\xff\xff\xff\x7f\xff\xff\xff", 20},
    };

    (void)state;
    begin(NULL);
    for (size_t i = 0; i < TEST_COUNT(nonsense); i++) {
        int fd = connect_raw();

        write_raw(fd, nonsense[i].bytes, nonsense[i].len);
        if (i == 4) { /* a list of ids that does not end: bounded as a whole */
            for (int k = 0; k < 400; k++) {
                send(fd, "\0\0\0\4name\0\0\0\4name", 16, MSG_NOSIGNAL);
            }
        }
        UNTIL(is_closed(fd));
        close(fd);
    }
    assert_int_equal(leader.n_up, 0);
    assert_int_equal(leader.n_packets, 0);
    finish();
}

static void who_says_nothing_is_closed_in_time(void **state)
{
    struct quorum_net_options quick = {.packet_bytes = PACKET_BYTES,
                                       .output_bytes = OUTPUT_BYTES,
                                       .greeting_ms = 200,
                                       .dial_ms = 60000,
                                       .stall_ms = 60000};
    int silent, slow;

    (void)state;
    begin(&quick);
    silent = connect_raw();
    slow = connect_raw();
    write_raw(slow, "\0\0\0\x0b\0\0", 6);
    UNTIL(is_closed(silent));
    UNTIL(is_closed(slow));
    assert_int_equal(leader.n_up, 0);
    close(silent);
    close(slow);
    finish();
}

/* Whoever comes next is still heard. */
static void many_silent_ones_do_not_keep_others_out(void **state)
{
    link_id to_learner, to_leader;
    int fds[100];

    (void)state;
    begin(NULL);
    for (int i = 0; i < 100; i++) {
        fds[i] = connect_raw();
        turn();
    }
    join(&to_learner, &to_leader);
    UNTIL(is_closed(fds[0])); /* the oldest made room */
    for (int i = 0; i < 100; i++) {
        close(fds[i]);
    }
    finish();
}

static void a_packet_above_the_limit_ends_the_link(void **state)
{
    link_id to_learner, to_leader;

    (void)state;
    begin(NULL);
    join(&to_learner, &to_leader);
    send_packet(&learner, to_leader, PACKET_REQUEST, 0, PACKET_BYTES + 1);
    UNTIL(leader.n_down == 1 && learner.n_down == 1);
    assert_int_equal(leader.n_packets, 1);
    finish();
}

/* A learner that does not read costs a bounded amount, and then its link. */
static void who_does_not_read_is_dropped_at_the_limit(void **state)
{
    link_id to_learner, to_leader;
    int64_t zxid = 0;

    (void)state;
    begin(NULL);
    join(&to_learner, &to_leader);
    quorum_net_hold(learner.net, to_leader);
    while (leader.n_down == 0) {
        send_packet(&leader, to_learner, PACKET_PROPOSAL, ++zxid, 100000);
        turn();
        assert_true(zxid < 2000); /* 200 MB: no socket takes that */
    }
    assert_true(zxid * 100000 > OUTPUT_BYTES);
    finish();
}

static void who_takes_nothing_for_too_long_is_dropped(void **state)
{
    struct quorum_net_options quick = {.packet_bytes = PACKET_BYTES,
                                       .output_bytes = SIZE_MAX,
                                       .greeting_ms = 60000,
                                       .dial_ms = 60000,
                                       .stall_ms = 300};
    link_id to_learner, to_leader;
    stream_id stream;

    (void)state;
    begin(&quick);
    join(&to_learner, &to_leader);
    quorum_net_hold(learner.net, to_leader);
    stream = quorum_net_stream(leader.net, to_learner);
    for (int i = 0; i < 200; i++) {
        uint8_t *bytes = must_zalloc(100000);

        quorum_net_stream_write(leader.net, stream, bytes_of(bytes, 100000));
        free(bytes);
    }
    UNTIL(leader.n_down == 1);
    finish();
}

/* What is sent when a stream has ended can be too much at once: the link goes, and nothing else. */
static void too_much_behind_a_stream_ends_the_link_only(void **state)
{
    link_id to_learner, to_leader;
    stream_id stream;

    (void)state;
    begin(NULL);
    join(&to_learner, &to_leader);
    leader.flood = to_learner;
    stream = quorum_net_stream(leader.net, to_learner);
    quorum_net_stream_write(leader.net, stream, bytes_str("all of it"));
    send_packet(&leader, to_learner, PACKET_NEW_LEADER, 1, 0);
    quorum_net_stream_end(leader.net, stream);
    UNTIL(leader.n_down == 1);
    assert_int_equal(leader.n_sent, 1);
    finish();
}

/* A snapshot of which nothing more comes. While it is held back by its own side it may be silent.
 */
static void a_stream_that_does_not_go_on_ends_the_link(void **state)
{
    struct quorum_net_options quick = {.packet_bytes = PACKET_BYTES,
                                       .output_bytes = OUTPUT_BYTES,
                                       .greeting_ms = 60000,
                                       .dial_ms = 60000,
                                       .stall_ms = 300};
    link_id to_learner, to_leader;
    int64_t held_ms;
    stream_id stream;

    (void)state;
    begin(NULL);
    close_end(&learner);
    open_end(&learner, &quick);
    join(&to_learner, &to_leader);
    learner.divert_at = 0x55;
    learner.divert_len = 100;
    learner.hold_at = 0x55;
    send_packet(&leader, to_learner, PACKET_SNAP, 0x55, 0);
    stream = quorum_net_stream(leader.net, to_learner);
    quorum_net_stream_write(leader.net, stream, bytes_str("half of it"));
    UNTIL(learner.n_packets == 1);
    held_ms = now_ms();
    UNTIL(now_ms() - held_ms > 3 * quick.stall_ms);
    assert_int_equal(learner.n_down, 0);
    quorum_net_resume(learner.net, to_leader);
    UNTIL(learner.n_down == 1 && leader.n_down == 1);
    finish();
}

static void a_peer_that_goes_is_noticed_after_its_last_packet(void **state)
{
    uint8_t greeting[40] = "\0\0\0\x0b\0\0\0\0\0\0\0\0\0\0\0\x14";
    int fd;

    (void)state;
    begin(NULL);
    fd = connect_raw();
    memset(greeting + 36, 0xff, 4);
    write_raw(fd, greeting, 40);
    write_raw(fd, "\0\0\0\3\0\0\0\0\0\0\0\5\xff\xff\xff\xff\xff\xff\xff\xff", 20);
    close(fd);
    UNTIL(leader.n_down == 1);
    assert_string_equal(strbuf_cstr(&leader.told), "FOLLOWERINFO:0 ACK:5 ");
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_go_both_ways_in_order),
        cmocka_unit_test(of_acks_in_a_row_the_last_one_is_told),
        cmocka_unit_test(a_closed_link_delivers_what_was_sent_before),
        cmocka_unit_test(an_answer_leaves_at_the_end_of_its_turn),
        cmocka_unit_test(nobody_listening_is_told_later),
        cmocka_unit_test(of_several_addresses_the_first_that_answers_wins),
        cmocka_unit_test(a_name_that_does_not_exist_fails),
        cmocka_unit_test(a_later_dial_replaces_the_one_under_way),
        cmocka_unit_test(ipv6_is_an_address_like_any),
        cmocka_unit_test(a_held_link_keeps_what_comes_until_it_goes_on),
        cmocka_unit_test(a_stream_is_diverted_and_packets_follow),
        cmocka_unit_test(a_bad_stream_ends_the_link),
        cmocka_unit_test(what_does_not_begin_as_a_learner_does_is_closed),
        cmocka_unit_test(who_says_nothing_is_closed_in_time),
        cmocka_unit_test(many_silent_ones_do_not_keep_others_out),
        cmocka_unit_test(a_packet_above_the_limit_ends_the_link),
        cmocka_unit_test(who_does_not_read_is_dropped_at_the_limit),
        cmocka_unit_test(who_takes_nothing_for_too_long_is_dropped),
        cmocka_unit_test(too_much_behind_a_stream_ends_the_link_only),
        cmocka_unit_test(a_stream_that_does_not_go_on_ends_the_link),
        cmocka_unit_test(a_peer_that_goes_is_noticed_after_its_last_packet),
    };

    static struct peer_identity with_tls;
    static struct member_sasl with_sasl;
    char why[SASL_WHY_BYTES];
    static struct quorum_config config;
    struct certificate authority;
    int failed = cmocka_run_group_tests_name("plain", tests, NULL, NULL);

    certificate_make(&authority, NULL, "authority", NULL);
    peer_identity_make(&with_tls, &authority, "IP:127.0.0.1,IP:::1,DNS:localhost", &loop, &config);
    with_tls.tls.takes_plain = true;
    identity = &with_tls;
    failed += cmocka_run_group_tests_name("TLS", tests, NULL, NULL);
    peer_identity_unmake(&with_tls);
    certificate_unmake(&authority);
    identity = NULL;
    sasl = &with_sasl;
    with_sasl.dials = with_sasl.accepts = sasl_login_new();
    assert_int_equal(sasl_login_set_self(with_sasl.dials, "zk", "secret"), 0);
    assert_int_equal(
        sasl_login_read_users(with_sasl.accepts, bytes_str("zk:secret"), why, sizeof(why)), 0);
    with_sasl.is_required = false;
    failed += cmocka_run_group_tests_name("SASL", tests, NULL, NULL);
    sasl_login_unref(with_sasl.dials);
    return failed;
}
