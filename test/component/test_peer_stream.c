/* SPDX-License-Identifier: Apache-2.0 */
/* Two members and the bytes between them: who is believed, and what is said of those who are not.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "daemon/peer_stream.h"
#include "lib/patience.h"
#include "lib/peer_certificates.h"
#include "lib/test.h"
#include "os/socket.h"
#include "quorum/config.h"

enum { MEMBER = 1, NAMED = 2, ABSENT = 9, BUFFER_BYTES = 256 << 10 };

static uv_loop_t loop;
static struct quorum_config config;
static struct certificate authority, other_authority;
static struct peer_identity here; /* has 127.0.0.1 */
static struct peer_stream dialled, accepted;
static uint8_t buffer[BUFFER_BYTES];

static int setup(void **state)
{
    struct strbuf why;

    (void)state;
    uv_loop_init(&loop);
    quorum_config_init(&config);
    strbuf_init(&why, STRBUF_NO_LIMIT);
    assert_true(quorum_config_add_server(&config, MEMBER, "127.0.0.1:1:2", false, &why));
    assert_true(quorum_config_add_server(&config, NAMED, "two.example:1:2", false, &why));
    strbuf_fini(&why);
    certificate_make(&authority, NULL, "authority", NULL);
    certificate_make(&other_authority, NULL, "other authority", NULL);
    peer_identity_make(&here, &authority, "IP:127.0.0.1", &loop, &config);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    peer_identity_unmake(&here);
    certificate_unmake(&authority);
    certificate_unmake(&other_authority);
    quorum_config_fini(&config);
    return uv_loop_close(&loop);
}

/* A connection, not yet used by either side. */
static void connect_both(int *dialled_fd, int *accepted_fd)
{
    struct socket_peer from;
    int listener, port, error;

    assert_int_equal(socket_listen_tcp("127.0.0.1", 0, 8, &listener, &port), 0);
    *dialled_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    {
        struct sockaddr_storage a;
        socklen_t len = sizeof(a);

        getsockname(listener, (struct sockaddr *)&a, &len);
        assert_int_equal(connect(*dialled_fd, (struct sockaddr *)&a, len), 0);
    }
    socket_prepare(*dialled_fd, false);
    wait_until((*accepted_fd = socket_accept(listener, false, &from, &error)) >= 0);
    close(listener);
}

static void open_both(struct peer_tls *to, const char *host, struct peer_tls *at)
{
    int dialled_fd, accepted_fd;

    connect_both(&dialled_fd, &accepted_fd);
    peer_stream_accepted(&accepted, accepted_fd, at);
    assert_true(peer_stream_dialled(&dialled, dialled_fd, to, host));
}

static void close_both(void)
{
    peer_stream_close(&dialled);
    peer_stream_close(&accepted);
}

/* Both read once, in a turn of the loop each. False: one of them has failed. */
static bool turn(void)
{
    uv_update_time(&loop);
    uv_run(&loop, UV_RUN_NOWAIT);
    return peer_stream_read(&dialled, buffer, sizeof(buffer)) >= 0 &&
           peer_stream_read(&accepted, buffer, sizeof(buffer)) >= 0;
}

static bool shake_hands(void)
{
    bool is_good = true;

    wait_until(!(is_good = turn()) ||
               (peer_stream_is_open(&dialled) && peer_stream_is_open(&accepted)));
    return is_good;
}

static void both_know_who_the_other_is(void **state)
{
    (void)state;
    open_both(&here.tls, "127.0.0.1", &here.tls);
    assert_int_equal(peer_stream_write(&dialled, "x", 1), 0); /* not before */
    assert_true(shake_hands());
    assert_int_equal(dialled.state, PEER_SECURE);
    assert_true(peer_stream_may_be(&accepted, MEMBER));
    assert_true(peer_stream_may_be(&accepted, ABSENT)); /* by its address */
    close_both();
}

struct transfer {
    size_t total, sent, received;
    uint8_t *data, *got;
};

/* True: all of it is there. */
static bool transfer_on(struct transfer *t)
{
    long n = peer_stream_write(&accepted, t->data + t->sent, t->total - t->sent);

    assert_true(n >= 0);
    t->sent += (size_t)n;
    n = peer_stream_read(&dialled, t->got + t->received, BUFFER_BYTES);
    assert_true(n >= 0);
    t->received += (size_t)n;
    return t->received == t->total;
}

/* Everything that was sent comes out, whatever the sockets hold of it meanwhile. */
static void all_bytes_arrive_in_order(void **state)
{
    struct transfer t = {.total = 8 << 20};

    (void)state;
    t.data = must_alloc(t.total);
    t.got = must_alloc(t.total + BUFFER_BYTES);
    for (size_t i = 0; i < t.total; i++) {
        t.data[i] = (uint8_t)(i * 7 + i / 251);
    }
    open_both(&here.tls, "127.0.0.1", &here.tls);
    assert_true(shake_hands());
    wait_until(transfer_on(&t));
    assert_int_equal(t.sent, t.total);
    assert_memory_equal(t.data, t.got, t.total);
    free(t.data);
    free(t.got);
    close_both();
}

/* Both have the word of whoever has found the fault. */
static void assert_refused(struct peer_stream *who, const char *why)
{
    assert_false(shake_hands());
    wait_until((turn(), who->why[0] != '\0'));
    assert_non_null(strstr(who->why, why));
    close_both();
}

static void who_has_another_name_is_not_talked_to(void **state)
{
    (void)state;
    here.tls.checks_names = false;
    open_both(&here.tls, "two.example", &here.tls); /* its address will do */
    assert_true(shake_hands());
    close_both();
    here.tls.checks_names = true;
    {
        struct peer_identity two;

        peer_identity_make(&two, &authority, "DNS:two.example,IP:10.0.0.2", &loop, &config);
        open_both(&here.tls, "two.example", &two.tls);
        assert_true(shake_hands());
        close_both();
        open_both(&here.tls, "three.example", &two.tls);
        assert_refused(&dialled,
                       "its certificate is for two.example, 10.0.0.2, not for three.example");
        peer_identity_unmake(&two);
    }
}

static void who_comes_is_who_it_says(void **state)
{
    struct peer_identity two;

    (void)state;
    peer_identity_make(&two, &authority, "DNS:two.example", &loop, &config);
    open_both(&two.tls, "127.0.0.1", &here.tls);
    assert_true(shake_hands());
    assert_true(peer_stream_may_be(&accepted, NAMED));
    assert_false(peer_stream_may_be(&accepted, MEMBER));
    assert_string_equal(accepted.why,
                        "TLS: it says that it is server 1, but its certificate is for two.example, "
                        "and neither for 127.0.0.1 nor for the address 127.0.0.1");
    assert_false(peer_stream_may_be(&accepted, ABSENT));
    here.tls.checks_names = false;
    assert_true(peer_stream_may_be(&accepted, MEMBER));
    here.tls.checks_names = true;
    close_both();
    peer_identity_unmake(&two);
}

static void who_is_signed_by_others_is_refused(void **state)
{
    struct peer_identity stranger;

    (void)state;
    peer_identity_make(&stranger, &other_authority, "IP:127.0.0.1", &loop, &config);
    open_both(&here.tls, "127.0.0.1", &stranger.tls);
    assert_refused(&dialled, "is signed by nobody that is trusted here: its issuer is CN=other "
                             "authority,O=Pawl");
    peer_identity_unmake(&stranger);
}

static void in_the_clear_only_where_both_are_taken(void **state)
{
    struct peer_tls plain = here.tls, both = here.tls;

    (void)state;
    plain.is_dialled = false;
    both.takes_plain = true;
    open_both(&plain, "127.0.0.1", &here.tls);
    assert_int_equal(peer_stream_write(&dialled, "hello, you", 10), 10);
    assert_refused(&dialled, "it speaks TLS only, and was dialled in the clear");
    assert_non_null(strstr(accepted.why, "the other member does not speak TLS"));

    open_both(&plain, "127.0.0.1", &both);
    assert_int_equal(peer_stream_write(&dialled, "hello, you", 10), 10);
    wait_until(peer_stream_read(&accepted, buffer, sizeof(buffer)) == 10);
    assert_memory_equal(buffer, "hello, you", 10);
    assert_int_equal(accepted.state, PEER_PLAIN);
    close_both();

    open_both(&here.tls, "127.0.0.1", &both);
    assert_true(shake_hands());
    assert_int_equal(accepted.state, PEER_SECURE);
    close_both();
}

enum { STRANGERS = 40 };

/* How many have been looked at so far. */
static int look_at_all(struct peer_stream *at)
{
    int n = 0;

    for (int i = 0; i < STRANGERS; i++) {
        peer_stream_read(&at[i], buffer, sizeof(buffer));
        n += at[i].tls != NULL;
    }
    return n;
}

/* What strangers send is looked at a few at a time; the rest has its turn later. */
static void a_turn_has_only_so_many_steps_of_strangers(void **state)
{
    struct peer_stream from[STRANGERS], at[STRANGERS];

    (void)state;
    for (int i = 0; i < STRANGERS; i++) {
        int dialled_fd, accepted_fd;

        connect_both(&dialled_fd, &accepted_fd);
        peer_stream_accepted(&at[i], accepted_fd, &here.tls);
        assert_true(peer_stream_dialled(&from[i], dialled_fd, &here.tls, "127.0.0.1"));
        wait_until(poll(&(struct pollfd){.fd = accepted_fd, .events = POLLIN}, 1, 0) == 1);
    }
    here.tls.turn_ms = 0;
    assert_int_equal(look_at_all(at), 8);
    assert_int_equal(look_at_all(at), 8); /* still the same turn */
    wait_until((uv_update_time(&loop), look_at_all(at) == STRANGERS));
    for (int i = 0; i < STRANGERS; i++) {
        peer_stream_close(&from[i]);
        peer_stream_close(&at[i]);
    }
}

/* The first byte decides nothing about the rest: what is no handshake ends there. */
static void nonsense_ends_the_handshake(void **state)
{
    static const uint8_t nonsense[] = "\x16\x03\x01\x00\x05nonsense, and more of it";
    struct peer_tls plain = here.tls, both = here.tls;

    (void)state;
    plain.is_dialled = false;
    both.takes_plain = true;
    open_both(&plain, "127.0.0.1", &both);
    assert_int_equal(peer_stream_write(&dialled, nonsense, sizeof(nonsense)), sizeof(nonsense));
    wait_until(!turn());
    assert_true(accepted.why[0] != '\0');
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_know_who_the_other_is),
        cmocka_unit_test(all_bytes_arrive_in_order),
        cmocka_unit_test(who_has_another_name_is_not_talked_to),
        cmocka_unit_test(who_comes_is_who_it_says),
        cmocka_unit_test(who_is_signed_by_others_is_refused),
        cmocka_unit_test(in_the_clear_only_where_both_are_taken),
        cmocka_unit_test(a_turn_has_only_so_many_steps_of_strangers),
        cmocka_unit_test(nonsense_ends_the_handshake),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
