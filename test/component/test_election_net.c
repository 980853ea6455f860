/* SPDX-License-Identifier: Apache-2.0 */
/* The election port: servers in this process that elect over loopback, and one server alone with
 * this test at the other end of its connections. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/logging.h"
#include "base/strbuf.h"
#include "daemon/election_net.h"
#include "daemon/member_auth.h"
#include "lib/patience.h"
#include "lib/peer_certificates.h"
#include "lib/test.h"
#include "os/clock.h"
#include "os/socket.h"
#include "quorum/election.h"
#include "sasl/login.h"

enum { SERVERS_MAX = 8 };

struct node {
    struct world *world;
    int64_t id;
    struct election_net *net; /* NULL: down */
    struct election *election;
    struct election_effects effects;
    uv_timer_t timer;
    struct strbuf heard; /* payloads, one after the other, with their senders' ids */
    int n_heard, n_refused;
    int64_t refused; /* the last one */
};

/* All have the same one, and talk with TLS only. NULL: without. */
static struct peer_identity *identity;
static const struct member_sasl *sasl; /* NULL: none */

struct world {
    uv_loop_t loop;
    struct quorum_config config;
    int n;
    int port[SERVERS_MAX];
    int listener[SERVERS_MAX];
    struct node node[SERVERS_MAX];
};

/* --- a world of servers with the ids 1, 2, 3, ... --- */

static int listen_at(const char *host, int port, int *bound)
{
    int fd;

    assert_int_equal(socket_listen_tcp(host, port, 16, &fd, bound), 0);
    return fd;
}

static void world_init_at(struct world *w, int n, const char *host)
{
    struct strbuf line, why;

    memset(w, 0, sizeof(*w));
    w->n = n;
    uv_loop_init(&w->loop);
    quorum_config_init(&w->config);
    strbuf_init(&line, STRBUF_NO_LIMIT);
    strbuf_init(&why, STRBUF_NO_LIMIT);
    for (int i = 0; i < n; i++) {
        w->listener[i] = listen_at(strcmp(host, "[::1]") == 0 ? "::1" : host, 0, &w->port[i]);
        strbuf_clear(&line);
        strbuf_printf(&line, "%s:1:%d", host, w->port[i]);
        assert_true(quorum_config_add_server(&w->config, i + 1, strbuf_cstr(&line), false, &why));
        w->node[i].world = w;
        w->node[i].id = i + 1;
        strbuf_init(&w->node[i].heard, STRBUF_NO_LIMIT);
    }
    strbuf_fini(&line);
    strbuf_fini(&why);
}

static void world_init(struct world *w, int n)
{
    world_init_at(w, n, "127.0.0.1");
}

static void turn(struct world *w)
{
    uv_run(&w->loop, UV_RUN_NOWAIT);
}

/* Runs the loop until it is so. */
#define run_until(w, condition)                                                   \
    for (int64_t until_ms_ = now_ms() + SOON_MS; turn(w), !(condition); rest()) { \
        if (now_ms() >= until_ms_) {                                              \
            fail_msg("waited %d s for " #condition, (int)SOON_S);                 \
        }                                                                         \
    }

static void node_heard(void *arg, int64_t id, struct bytes payload);

static void node_step(struct node *n, const struct election_input *in);

static void node_refused(void *arg, int64_t id)
{
    struct node *n = arg;

    n->n_refused++;
    n->refused = id;
    if (n->election != NULL) {
        node_step(n, &(struct election_input){.kind = ELECTION_REFUSED, .id = id});
    }
}

/* Its net alone, with a listener that is open already. */
static void bring_up_net(struct world *w, int i)
{
    struct node *n = &w->node[i];
    struct election_net_options options = {.loop = &w->loop,
                                           .id = n->id,
                                           .config = &w->config,
                                           .listeners = &w->listener[i],
                                           .n_listeners = 1,
                                           .connect_ms = SOON_MS,
                                           .hello_ms = 60000,
                                           .keepalive = true,
                                           .heard = node_heard,
                                           .refused = node_refused,
                                           .arg = n};

    if (identity != NULL) {
        options.tls = &identity->tls;
        identity->tls.loop = &w->loop;
        identity->members = &w->config;
    }
    options.sasl = sasl;
    if (w->listener[i] < 0) {
        w->listener[i] = listen_at("127.0.0.1", w->port[i], &w->port[i]);
    }
    n->net = election_net_new(&options);
    w->listener[i] = -1;
}

static void take_down(struct node *n)
{
    election_net_free(n->net);
    n->net = NULL;
    if (n->election != NULL) {
        election_free(n->election);
        election_effects_fini(&n->effects);
        uv_close((uv_handle_t *)&n->timer, NULL);
        n->election = NULL;
        turn(n->world);
    }
}

static void world_fini(struct world *w)
{
    for (int i = 0; i < w->n; i++) {
        if (w->node[i].net != NULL) {
            take_down(&w->node[i]);
        }
        if (w->listener[i] >= 0) {
            close(w->listener[i]);
        }
        strbuf_fini(&w->node[i].heard);
    }
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    quorum_config_fini(&w->config);
}

/* --- servers that elect --- */

static void node_tick(uv_timer_t *timer)
{
    node_step(timer->data, &(struct election_input){.kind = ELECTION_TICK});
}

static void node_step(struct node *n, const struct election_input *in)
{
    int64_t now_us = clock_monotonic_us(), next_us;

    election_step(n->election, now_us, in, &n->effects);
    for (size_t i = 0; i < n->effects.n; i++) {
        if (n->effects.effect[i].kind == ELECTION_NOTIFY) {
            election_net_send(n->net, n->effects.effect[i].id, n->effects.effect[i].bytes);
        }
    }
    election_effects_clear(&n->effects);
    next_us = election_next_us(n->election);
    if (next_us == INT64_MAX) {
        uv_timer_stop(&n->timer);
    } else {
        int64_t wait_ms = next_us > now_us ? (next_us - now_us) / 1000 + 1 : 0;

        uv_update_time(&n->world->loop);
        uv_timer_start(&n->timer, node_tick, (uint64_t)wait_ms, 0);
    }
}

static void node_heard(void *arg, int64_t id, struct bytes payload)
{
    struct node *n = arg;

    n->n_heard++;
    strbuf_printf(&n->heard, "%d:%.*s;", (int)id, (int)payload.len, (const char *)payload.data);
    if (n->election != NULL) {
        node_step(
            n, &(struct election_input){.kind = ELECTION_NOTIFICATION, .id = id, .bytes = payload});
    }
}

static void bring_up(struct world *w, int i, int64_t zxid)
{
    struct node *n = &w->node[i];

    bring_up_net(w, i);
    n->election = election_new(&(struct election_options){.id = n->id, .config = &w->config});
    election_effects_init(&n->effects);
    uv_timer_init(&w->loop, &n->timer);
    n->timer.data = n;
    node_step(n, &(struct election_input){.kind = ELECTION_START, .zxid = zxid, .epoch = 1});
}

static bool has_leader(const struct node *n, int64_t leader)
{
    struct notification vote = election_vote(n->election);

    return vote.state == (n->id == leader ? MEMBER_LEADING : MEMBER_FOLLOWING) &&
           vote.leader == leader;
}

static bool all_have(const struct world *w, int64_t leader)
{
    for (int i = 0; i < w->n; i++) {
        if (w->node[i].net != NULL && !has_leader(&w->node[i], leader)) {
            return false;
        }
    }
    return true;
}

static void servers_elect_the_best_of_them(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 5);
    for (int i = 0; i < 5; i++) {
        bring_up(&w, i, i == 1 ? 9 : 5);
    }
    run_until(&w, all_have(&w, 2));
    world_fini(&w);
}

static void who_comes_late_or_again_joins(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 3);
    bring_up(&w, 0, 5);
    bring_up(&w, 1, 5);
    run_until(&w, all_have(&w, 2));
    bring_up(&w, 2, 9);
    run_until(&w, all_have(&w, 2));
    take_down(&w.node[0]);
    bring_up(&w, 0, 7);
    run_until(&w, all_have(&w, 2));
    world_fini(&w);
}

static void the_leader_is_replaced_when_it_is_gone(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, 3);
    for (int i = 0; i < 3; i++) {
        bring_up(&w, i, 5);
    }
    run_until(&w, all_have(&w, 3));
    take_down(&w.node[2]);
    for (int i = 0; i < 2; i++) {
        node_step(&w.node[i], &(struct election_input){.kind = ELECTION_SYNCED, .epoch = 2});
        node_step(&w.node[i],
                  &(struct election_input){.kind = ELECTION_START, .zxid = 7 - i, .epoch = 2});
    }
    run_until(&w, all_have(&w, 1));
    run_until(&w, w.node[0].n_refused > 0 && w.node[1].n_refused > 0);
    world_fini(&w);
}

static bool ipv6_works(void)
{
    int fd, port;

    if (socket_listen_tcp("::1", 0, 1, &fd, &port) != 0) {
        return false;
    }
    close(fd);
    return true;
}

static void names_and_ipv6_addresses_are_dialled(void **state)
{
    static const char *const hosts[] = {"localhost", "[::1]"};

    (void)state;
    for (size_t k = 0; k < TEST_COUNT(hosts); k++) {
        struct world w;

        if (hosts[k][0] == '[' && !ipv6_works()) {
            continue;
        }
        world_init_at(&w, 3, hosts[k]);
        for (int i = 0; i < 3; i++) {
            bring_up(&w, i, 5);
        }
        run_until(&w, all_have(&w, 3));
        world_fini(&w);
    }
}

/* --- one server, and this test as another --- */

static int connect_to(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static void say(int fd, struct bytes bytes)
{
    assert_int_equal(write(fd, bytes.data, bytes.len), bytes.len);
}

static void say_hello_as(int fd, int64_t version, int64_t id, const char *address)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    if (version != 0) {
        jute_write_long(&b, version);
    }
    jute_write_long(&b, id);
    if (version != 0) {
        jute_write_str(&b, address);
    }
    say(fd, strbuf_bytes(&b));
    strbuf_fini(&b);
}

static void say_hello(int fd, int64_t id)
{
    say_hello_as(fd, HELLO_ONE_ADDRESS, id, "0.0.0.0:0");
}

static void say_frame(int fd, const char *text)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    jute_write_str(&b, text);
    say(fd, strbuf_bytes(&b));
    strbuf_fini(&b);
}

static void send_text(struct node *n, int64_t id, const char *text)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    jute_write_str(&b, text);
    election_net_send(n->net, id, strbuf_bytes(&b));
    strbuf_fini(&b);
}

/* Runs the world until so many bytes have come, in as many pieces as they like. */
static void receive(struct world *w, int fd, void *out, size_t len)
{
    size_t at = 0;

    while (at < len) {
        ssize_t n = -1;

        run_until(w, (n = recv(fd, (char *)out + at, len - at, 0)) >= 0 || errno != EAGAIN);
        assert_true(n > 0);
        at += (size_t)n;
    }
}

static void assert_receives(struct world *w, int fd, const char *text)
{
    char frame[256] = "";
    size_t len;

    receive(w, fd, frame, 4);
    len = load_u32((uint8_t *)frame);
    assert_true(len < sizeof(frame));
    receive(w, fd, frame, len);
    frame[len] = '\0';
    assert_string_equal(frame, text);
}

static void assert_hung_up(struct world *w, int fd)
{
    char byte;

    run_until(w, recv(fd, &byte, 1, 0) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK));
    close(fd);
}

static int accept_from(struct world *w, int listener)
{
    int fd = -1;

    run_until(w, (fd = accept(listener, NULL, NULL)) >= 0);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static bool has_heard(const struct node *n, const char *text)
{
    return n->heard.len == strlen(text) && memcmp(n->heard.data, text, n->heard.len) == 0;
}

static void assert_hears(struct world *w, struct node *n, const char *text)
{
    run_until(w, n->heard.len >= strlen(text));
    if (!has_heard(n, text)) {
        fail_msg("heard %s", strbuf_cstr(&n->heard));
    }
    strbuf_clear(&n->heard);
}

static void a_larger_id_is_kept(void **state)
{
    struct world w;
    int fd;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 1);
    fd = connect_to(w.port[1]);
    say_hello(fd, 3);
    say_frame(fd, "one");
    say_frame(fd, "two");
    assert_hears(&w, &w.node[1], "3:one;3:two;");
    send_text(&w.node[1], 3, "answer");
    assert_receives(&w, fd, "answer");
    close(fd);
    world_fini(&w);
}

static void a_hello_in_pieces_is_one(void **state)
{
    struct strbuf b;
    struct world w;
    int fd;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 1);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    hello_write(&b, &(struct hello){HELLO_MANY_ADDRESSES, 3, bytes_str("a:1|b:2")});
    jute_write_str(&b, "vote");
    fd = connect_to(w.port[1]);
    for (size_t i = 0; i < b.len; i++) {
        say(fd, bytes_of(b.data + i, 1));
        turn(&w);
    }
    assert_hears(&w, &w.node[1], "3:vote;");
    strbuf_fini(&b);
    close(fd);
    world_fini(&w);
}

/* What was sent last is sent again; what was not sent yet is replaced by what is newer. */
static void a_new_connection_begins_with_the_last_vote(void **state)
{
    struct world w;
    int fd, again;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 1);
    close(w.listener[2]); /* 3 cannot be knocked at */
    w.listener[2] = -1;
    send_text(&w.node[1], 3, "old");
    send_text(&w.node[1], 3, "new");
    run_until(&w, w.node[1].n_refused > 0);
    assert_int_equal(w.node[1].refused, 3);
    fd = connect_to(w.port[1]);
    say_hello(fd, 3);
    assert_receives(&w, fd, "new");
    again = connect_to(w.port[1]);
    say_hello(again, 3);
    assert_receives(&w, again, "new");
    assert_hung_up(&w, fd); /* the older connection */
    send_text(&w.node[1], 3, "newer");
    assert_receives(&w, again, "newer");
    close(again);
    world_fini(&w);
}

static void a_larger_id_is_knocked_at(void **state)
{
    uint8_t hello[64];
    struct hello h;
    struct world w;
    char address[64];
    size_t used, len;
    int fd;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 0);
    send_text(&w.node[0], 3, "vote");
    send_text(&w.node[0], 3, "better");
    fd = accept_from(&w, w.listener[2]);
    len = (size_t)snprintf(address, sizeof(address), "127.0.0.1:%d", w.port[0]);
    receive(&w, fd, hello, 20 + len);
    assert_int_equal(hello_read(bytes_of(hello, 20 + len), &h, &used), STREAM_WHOLE);
    assert_int_equal(h.version, HELLO_ONE_ADDRESS);
    assert_int_equal(h.server_id, 1);
    assert_str_view(h.addresses, address);
    assert_hung_up(&w, fd);
    fd = connect_to(w.port[0]); /* called back */
    say_hello(fd, 3);
    assert_receives(&w, fd, "better");
    close(fd);
    world_fini(&w);
}

/* As the kernel does for a process that is being killed. */
static void a_knock_that_is_reset_is_repeated(void **state)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    struct world w;
    uint8_t hello[16];
    int fd;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 0);
    send_text(&w.node[0], 3, "vote");
    fd = accept_from(&w, w.listener[2]);
    receive(&w, fd, hello, 16);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(w.listener[2]);
    w.listener[2] = -1;
    close(fd);
    run_until(&w, w.node[0].n_refused == 1);
    world_fini(&w);
}

/* In one piece: Java takes what a single read gives it. */
static void a_smaller_id_is_dialled_and_kept(void **state)
{
    uint8_t hello[256];
    struct world w;
    struct hello h;
    ssize_t n = -1;
    size_t used;
    int fd;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 2);
    send_text(&w.node[2], 1, "vote");
    fd = accept_from(&w, w.listener[0]);
    run_until(&w, (n = recv(fd, hello, 20 + strlen("127.0.0.1:") + 5, MSG_PEEK)) > 0);
    assert_int_equal(hello_read(bytes_of(hello, (size_t)n), &h, &used), STREAM_WHOLE);
    assert_int_equal(h.server_id, 3);
    receive(&w, fd, hello, used);
    assert_receives(&w, fd, "vote");
    say_frame(fd, "answer");
    assert_hears(&w, &w.node[2], "1:answer;");
    close(fd);
    world_fini(&w);
}

static void a_smaller_id_that_knocks_is_called_back(void **state)
{
    uint8_t hello[256];
    struct world w;
    char address[64];
    int fd, old, port, elsewhere = listen_at("127.0.0.1", 0, &port);

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 2);
    send_text(&w.node[2], 1, "vote");
    old = accept_from(&w, w.listener[0]);
    receive(&w, old, hello, 20);
    fd = connect_to(w.port[2]);
    snprintf(address, sizeof(address), "127.0.0.1:%d", port);
    say_hello_as(fd, HELLO_ONE_ADDRESS, 1, address);
    assert_hung_up(&w, fd);
    fd = accept_from(&w, elsewhere); /* where it says it is */
    receive(&w, fd, hello, 16);
    assert_int_equal(load_u64(hello + 8), 3);
    receive(&w, fd, hello, 4);
    receive(&w, fd, hello + 4, load_u32(hello));
    assert_receives(&w, fd, "vote"); /* once more */
    close(fd);
    close(old);
    close(elsewhere);
    world_fini(&w);
}

/* Whose connection is lost is dialled again, with the last vote; but not without end. */
static void a_lost_connection_is_made_again_with_measure(void **state)
{
    int64_t began_ms = now_ms();
    struct world w;
    int n = 0;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 2);
    send_text(&w.node[2], 1, "vote");
    while (n < 3 || now_ms() < began_ms + 200) {
        int fd = accept(w.listener[0], NULL, NULL);

        turn(&w);
        if (fd >= 0) {
            n++;
            close(fd); /* hangs up as soon as it can */
        }
    }
    assert_true(n <= 1 + 8 * (2 + (now_ms() - began_ms) / 1000));
    world_fini(&w);
}

static void a_knock_from_nowhere_is_answered_where_it_should_be(void **state)
{
    static const char *const addresses[] = {"0.0.0.0:1", "[::]:1", "nonsense", NULL};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(addresses); i++) {
        struct world w;
        uint8_t hello[16];
        int fd;

        world_init(&w, 3);
        bring_up_net(&w, 2);
        fd = connect_to(w.port[2]);
        if (addresses[i] != NULL) {
            say_hello_as(fd, HELLO_ONE_ADDRESS, 1, addresses[i]);
        } else {
            say_hello_as(fd, 0, 1, NULL); /* 3.4 */
        }
        assert_hung_up(&w, fd);
        fd = accept_from(&w, w.listener[0]);
        receive(&w, fd, hello, 16);
        assert_int_equal(load_u64(hello + 8), 3);
        close(fd);
        world_fini(&w);
    }
}

static void a_bare_id_is_enough(void **state)
{
    struct world w;
    int fd;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 1);
    fd = connect_to(w.port[1]);
    say_hello_as(fd, 0, 3, NULL);
    say_frame(fd, "vote");
    assert_hears(&w, &w.node[1], "3:vote;");
    close(fd);
    world_fini(&w);
}

static void strangers_are_heard_and_answered_while_connected(void **state)
{
    struct world w;
    int fd, first, second;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 1);
    fd = connect_to(w.port[1]);
    say_hello(fd, 77);
    say_frame(fd, "vote");
    assert_hears(&w, &w.node[1], "77:vote;");
    send_text(&w.node[1], 77, "answer");
    assert_receives(&w, fd, "answer");
    first = connect_to(w.port[1]);
    say_hello(first, INT64_MAX);
    say_frame(first, "a");
    assert_hears(&w, &w.node[1], "-1:a;");
    second = connect_to(w.port[1]);
    say_hello(second, INT64_MAX);
    say_frame(second, "b");
    assert_hears(&w, &w.node[1], "-2:b;");
    send_text(&w.node[1], -1, "to the first");
    assert_receives(&w, first, "to the first");
    send_text(&w.node[1], -2, "to the second");
    assert_receives(&w, second, "to the second");
    send_text(&w.node[1], 99, "to nobody");
    close(fd);
    close(first);
    close(second);
    world_fini(&w);
}

static char log_text[4096];

static void keep_log(enum log_level level, const char *line, void *arg)
{
    size_t len = strlen(log_text);

    (void)level;
    (void)arg;
    snprintf(log_text + len, sizeof(log_text) - len, "%s\n", line);
}

static void what_cannot_be_a_server_is_hung_up_on(void **state)
{
    static const uint8_t wrong_version[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 2};
    static const uint8_t no_length[] = {0, 0, 0, 0};
    static const uint8_t too_long[] = {0, 8, 0, 1};
    struct world w;
    int fd;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 1);
    fd = connect_to(w.port[1]);
    say(fd, bytes_of(wrong_version, 8));
    assert_hung_up(&w, fd);
    fd = connect_to(w.port[1]);
    say_hello(fd, -5);
    assert_hung_up(&w, fd);
    fd = connect_to(w.port[1]);
    say_hello(fd, 3);
    say(fd, bytes_of(no_length, 4));
    assert_hung_up(&w, fd);
    fd = connect_to(w.port[1]);
    say_hello(fd, 3);
    say(fd, bytes_of(too_long, 4));
    assert_hung_up(&w, fd);
    assert_int_equal(w.node[1].n_heard, 0);
    world_fini(&w);
}

static void two_servers_with_one_id_are_reported(void **state)
{
    struct log_target target = {keep_log, NULL, LOG_INFO};
    struct world w;
    int fd;

    (void)state;
    logging_use(&target);
    world_init(&w, 3);
    bring_up_net(&w, 1);
    fd = connect_to(w.port[1]);
    say_hello(fd, 2);
    assert_hung_up(&w, fd);
    assert_non_null(strstr(log_text, "says that it is server 2, as this one is"));
    assert_non_null(strstr(log_text, "the same myid"));
    world_fini(&w);
    logging_use(NULL);
}

/* The one that has been silent for longest makes room; who speaks stays. */
static void silent_connections_are_bounded(void **state)
{
    struct world w;
    int fd[70], known;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 1);
    known = connect_to(w.port[1]);
    say_hello(known, 3);
    say_frame(known, "one");
    assert_hears(&w, &w.node[1], "3:one;");
    for (size_t i = 0; i < TEST_COUNT(fd); i++) {
        fd[i] = connect_to(w.port[1]);
        turn(&w);
    }
    for (size_t i = 0; i < 6; i++) {
        assert_hung_up(&w, fd[i]);
    }
    say_frame(known, "two");
    assert_hears(&w, &w.node[1], "3:two;");
    for (size_t i = 6; i < TEST_COUNT(fd); i++) {
        close(fd[i]);
    }
    close(known);
    world_fini(&w);
}

static void who_does_not_say_who_it_is_is_hung_up_on(void **state)
{
    struct world w;
    struct election_net_options options = {.loop = &w.loop,
                                           .id = 2,
                                           .config = &w.config,
                                           .n_listeners = 1,
                                           .connect_ms = SOON_MS,
                                           .hello_ms = 1,
                                           .heard = node_heard,
                                           .refused = node_refused};
    int fd;

    (void)state;
    world_init(&w, 3);
    options.listeners = &w.listener[1];
    options.arg = &w.node[1];
    w.node[1].net = election_net_new(&options);
    w.listener[1] = -1;
    fd = connect_to(w.port[1]);
    say(fd, bytes_of("\xff\xff", 2));
    assert_hung_up(&w, fd);
    world_fini(&w);
}

/* A large message, to someone who does not read it yet. */
static void what_does_not_fit_the_socket_waits(void **state)
{
    struct strbuf large;
    struct world w;
    uint8_t *got = malloc(NOTIFICATION_BYTES_MAX + 4);
    int fd;

    (void)state;
    world_init(&w, 3);
    bring_up_net(&w, 1);
    strbuf_init(&large, STRBUF_NO_LIMIT);
    jute_write_int(&large, NOTIFICATION_BYTES_MAX);
    while (large.len < NOTIFICATION_BYTES_MAX + 4) {
        strbuf_append(&large, &(uint8_t){(uint8_t)(large.len % 251)}, 1);
    }
    fd = connect_to(w.port[1]);
    say_hello(fd, 3);
    say_frame(fd, "vote");
    assert_hears(&w, &w.node[1], "3:vote;");
    for (int i = 0; i < 20; i++) {
        election_net_send(w.node[1].net, 3, strbuf_bytes(&large));
    }
    send_text(&w.node[1], 3, "last");
    for (bool more = true; more;) {
        receive(&w, fd, got, 4);
        more = load_u32(got) == NOTIFICATION_BYTES_MAX;
        if (more) {
            receive(&w, fd, got + 4, NOTIFICATION_BYTES_MAX);
            assert_memory_equal(got, large.data, large.len);
        }
    }
    receive(&w, fd, got, 4);
    assert_memory_equal(got, "last", 4);
    strbuf_fini(&large);
    free(got);
    close(fd);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_elect_the_best_of_them),
        cmocka_unit_test(who_comes_late_or_again_joins),
        cmocka_unit_test(the_leader_is_replaced_when_it_is_gone),
        cmocka_unit_test(names_and_ipv6_addresses_are_dialled),
        cmocka_unit_test(a_larger_id_is_kept),
        cmocka_unit_test(a_hello_in_pieces_is_one),
        cmocka_unit_test(a_new_connection_begins_with_the_last_vote),
        cmocka_unit_test(a_larger_id_is_knocked_at),
        cmocka_unit_test(a_knock_that_is_reset_is_repeated),
        cmocka_unit_test(a_smaller_id_is_dialled_and_kept),
        cmocka_unit_test(a_smaller_id_that_knocks_is_called_back),
        cmocka_unit_test(a_lost_connection_is_made_again_with_measure),
        cmocka_unit_test(a_knock_from_nowhere_is_answered_where_it_should_be),
        cmocka_unit_test(a_bare_id_is_enough),
        cmocka_unit_test(strangers_are_heard_and_answered_while_connected),
        cmocka_unit_test(what_cannot_be_a_server_is_hung_up_on),
        cmocka_unit_test(two_servers_with_one_id_are_reported),
        cmocka_unit_test(silent_connections_are_bounded),
        cmocka_unit_test(who_does_not_say_who_it_is_is_hung_up_on),
        cmocka_unit_test(what_does_not_fit_the_socket_waits),
    };

    const struct CMUnitTest among_servers[] = {
        cmocka_unit_test(servers_elect_the_best_of_them),
        cmocka_unit_test(who_comes_late_or_again_joins),
        cmocka_unit_test(the_leader_is_replaced_when_it_is_gone),
        cmocka_unit_test(names_and_ipv6_addresses_are_dialled),
        cmocka_unit_test(who_does_not_say_who_it_is_is_hung_up_on),
    };
    static struct peer_identity with_tls;
    static struct member_sasl with_sasl;
    char why[SASL_WHY_BYTES];
    struct certificate authority;
    int failed = cmocka_run_group_tests_name("plain", tests, NULL, NULL);

    certificate_make(&authority, NULL, "authority", NULL);
    peer_identity_make(&with_tls, &authority, "IP:127.0.0.1,IP:::1", NULL, NULL);
    identity = &with_tls;
    failed += cmocka_run_group_tests_name("TLS", among_servers, NULL, NULL);
    peer_identity_unmake(&with_tls);
    certificate_unmake(&authority);
    identity = NULL;
    sasl = &with_sasl;
    with_sasl.dials = with_sasl.accepts = sasl_login_new();
    assert_int_equal(sasl_login_set_self(with_sasl.dials, "zk", "secret"), 0);
    assert_int_equal(
        sasl_login_read_users(with_sasl.accepts, bytes_str("zk:secret"), why, sizeof(why)), 0);
    with_sasl.is_required = true;
    failed += cmocka_run_group_tests_name("SASL", among_servers, NULL, NULL);
    sasl_login_unref(with_sasl.dials);
    return failed;
}
