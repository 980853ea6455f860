/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* accept4 */
#include "daemon/quorum_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/logging.h"
#include "lib/patience.h"
#include "lib/test.h"

static uv_loop_t loop;
static struct quorum_port *port; /* of the test at hand; gone with it, also if it fails */
static int n_held;
static char logged[4096];

static void on_held(void *arg)
{
    (void)arg;
    n_held++;
}

static void take_line(enum log_level level, const char *text, void *arg)
{
    size_t len = strlen(logged);

    (void)level;
    (void)arg;
    snprintf(logged + len, sizeof(logged) - len, "%s\n", text);
}

static void close_port(void)
{
    quorum_port_free(port);
    port = NULL;
}

static int set_up(void **state)
{
    (void)state;
    n_held = 0;
    logged[0] = '\0';
    logging_set_sink(take_line, NULL);
    return uv_loop_init(&loop);
}

static int tear_down(void **state)
{
    (void)state;
    close_port();
    uv_run(&loop, UV_RUN_DEFAULT);
    logging_set_sink(NULL, NULL);
    return uv_loop_close(&loop);
}

#define UNTIL(condition) wait_until((uv_run(&loop, UV_RUN_NOWAIT), (condition)))

static void open_port(const struct net_address *own, size_t n)
{
    port = quorum_port_new(&loop, own, n, on_held, NULL);
}

static void open_port_at(const char *host, int number)
{
    open_port(&(struct net_address){.host = host, .port = number}, 1);
}

/* ---- somebody else ---- */

static struct sockaddr_in at_loopback(int number)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)number),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* -1: it cannot be had. SO_REUSEADDR is what servers set. */
static int stranger_at(int number, int *got)
{
    struct sockaddr_in a = at_loopback(number);
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(fd, 1) != 0) {
        close(fd);
        return -1;
    }
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    if (got != NULL) {
        *got = ntohs(a.sin_port);
    }
    return fd;
}

static int try_connect(int number)
{
    struct sockaddr_in a = at_loopback(number);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- what is so ---- */

static void a_port_that_is_held_is_nobody_elses_in_any_role(void **state)
{
    int fds[QUORUM_PORT_ADDRESSES], number, client, accepted;

    (void)state;
    open_port_at("127.0.0.1", 0);
    number = quorum_port_number(port);
    assert_true(quorum_port_is_held(port));
    assert_true(number > 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stranger_at(number, NULL), -1); /* following */
        assert_int_equal(try_connect(number), -1);
        assert_int_equal(errno, ECONNREFUSED);
        assert_int_equal(quorum_port_listen(port, fds), 1); /* leading */
        assert_int_equal(stranger_at(number, NULL), -1);
        client = try_connect(number);
        assert_true(client >= 0);
        accepted = accept4(fds[0], NULL, NULL, SOCK_CLOEXEC);
        assert_true(accepted >= 0);
        quorum_port_unlisten(port);
        close(accepted); /* its end of the connection lingers on this port */
        close(client);
        assert_int_equal(quorum_port_number(port), number);
    }
    assert_int_equal(n_held, 0); /* it always was */
    assert_string_equal(logged, "");
}

static void a_port_that_is_taken_is_had_when_it_is_free(void **state)
{
    int number, stranger = stranger_at(0, &number), fds[QUORUM_PORT_ADDRESSES];
    char expected[64];

    (void)state;
    open_port_at("127.0.0.1", number);
    assert_false(quorum_port_is_held(port));
    assert_int_equal(quorum_port_number(port), -1);
    assert_int_equal(quorum_port_listen(port, fds), 0);
    snprintf(expected, sizeof(expected), "the quorum port: cannot bind 127.0.0.1:%d: ", number);
    assert_non_null(strstr(logged, expected));
    assert_non_null(strstr(logged, "must not lead"));
    close(stranger);
    UNTIL(n_held == 1);
    assert_true(quorum_port_is_held(port));
    assert_int_equal(quorum_port_number(port), number);
    assert_null(strstr(strstr(logged, expected) + 1, expected)); /* it was said once */
    assert_non_null(strstr(logged, "is this server's now"));
    assert_int_equal(stranger_at(number, NULL), -1);
}

/* Learners try all addresses, and would be let in at that one. */
static void who_is_taken_at_one_of_its_addresses_is_deaf(void **state)
{
    int number, stranger = stranger_at(0, &number);
    struct net_address own[2] = {{.host = "127.0.0.2", .port = number},
                                 {.host = "127.0.0.1", .port = number}};

    (void)state;
    open_port(own, 2);
    assert_false(quorum_port_is_held(port));
    close(stranger);
    UNTIL(n_held == 1);
}

static void an_address_of_another_machine_is_done_without(void **state)
{
    struct net_address own[2] = {{.host = "192.0.2.1", .port = 0}, {.host = "127.0.0.1"}};
    int fds[QUORUM_PORT_ADDRESSES];

    (void)state;
    open_port(own, 2);
    assert_true(quorum_port_is_held(port));
    assert_int_equal(quorum_port_listen(port, fds), 1);
    close_port();

    open_port(own, 1);
    assert_false(quorum_port_is_held(port));
    assert_non_null(strstr(logged, "192.0.2.1"));
}

/* It is looked up again beside the loop, whose turns go on. */
static void a_name_without_an_address_does_not_stop_the_loop(void **state)
{
    uint64_t began = uv_now(&loop);

    (void)state;
    open_port_at("no-such-host.invalid", 2888);
    assert_false(quorum_port_is_held(port));
    assert_non_null(strstr(logged, "its name has no address"));
    UNTIL(uv_now(&loop) - began > 1100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_port_that_is_held_is_nobody_elses_in_any_role, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_port_that_is_taken_is_had_when_it_is_free, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_is_taken_at_one_of_its_addresses_is_deaf, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_address_of_another_machine_is_done_without, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_name_without_an_address_does_not_stop_the_loop, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
