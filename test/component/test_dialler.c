/* SPDX-License-Identifier: Apache-2.0 */
/* A dialler on a loop of its own, against sockets that listen, refuse or say nothing. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/dialler.h"
#include "lib/test.h"

#include "lib/patience.h"

enum { PATIENT_MS = 10 * SOON_MS, SILENT_SOCKETS = 8 };

static uv_loop_t loop;
static struct dialler *dialler;
static int n_done, last_fd, last_error;
static char last_host[64];

static void on_done(void *arg, int fd, const char *host, int error)
{
    (void)arg;
    n_done++;
    snprintf(last_host, sizeof(last_host), "%s", host == NULL ? "" : host);
    last_fd = fd;
    last_error = error;
}

static bool turned(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
    return true;
}

#define UNTIL(condition) wait_until(turned() && (condition))

/* At 127.0.0.1; `backlog` -1: bound, and nobody listens. */
static int bound_socket(int backlog, int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    if (backlog >= 0) {
        assert_int_equal(listen(fd, backlog), 0);
    }
    *port = ntohs(a.sin_port);
    return fd;
}

/* One whose queue is full, so that it answers nothing: fds[0] listens, the others fill it. */
static int silent_socket(int fds[SILENT_SOCKETS])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int port;

    fds[0] = bound_socket(0, &port);
    a.sin_port = htons((uint16_t)port);
    for (int i = 1; i < SILENT_SOCKETS; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        connect(fds[i], (struct sockaddr *)&a, sizeof(a));
    }
    return port;
}

static void close_all(const int fds[SILENT_SOCKETS])
{
    for (int i = 0; i < SILENT_SOCKETS; i++) {
        close(fds[i]);
    }
}

static int setup(void **state)
{
    (void)state;
    uv_loop_init(&loop);
    dialler = dialler_new(&loop, on_done, NULL);
    n_done = 0;
    last_fd = -1;
    last_error = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (last_fd >= 0) {
        close(last_fd);
    }
    dialler_free(dialler);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

static void who_listens_is_reached(void **state)
{
    struct net_address to = {.host = "127.0.0.1"};
    int listener = bound_socket(1, &to.port);

    (void)state;
    dialler_start(dialler, &to, 1, PATIENT_MS);
    assert_int_equal(n_done, 0);
    assert_true(dialler_is_busy(dialler));
    UNTIL(n_done == 1);
    assert_true(last_fd >= 0);
    assert_int_equal(last_error, 0);
    assert_string_equal(last_host, "127.0.0.1");
    assert_false(dialler_is_busy(dialler));
    close(listener);
}

static void after_one_that_refuses_the_next_has_its_turn(void **state)
{
    struct net_address to[2] = {{.host = "127.0.0.1"}, {.host = "localhost"}};
    int nobody = bound_socket(-1, &to[0].port), listener = bound_socket(1, &to[1].port);

    (void)state;
    dialler_start(dialler, to, 2, PATIENT_MS);
    UNTIL(n_done == 1);
    assert_true(last_fd >= 0);
    assert_string_equal(last_host, "localhost");
    close(nobody);
    close(listener);
}

/* It would be waited for PATIENT_MS, longer than the test waits. */
static void one_that_says_nothing_does_not_hold_up_the_next(void **state)
{
    struct net_address to[2] = {{.host = "127.0.0.1"}, {.host = "127.0.0.1"}};
    int silent[SILENT_SOCKETS], listener = bound_socket(1, &to[1].port);

    (void)state;
    to[0].port = silent_socket(silent);
    dialler_start(dialler, to, 2, PATIENT_MS);
    UNTIL(n_done == 1);
    assert_true(last_fd >= 0);
    close_all(silent);
    close(listener);
}

static void one_that_says_nothing_has_its_time_and_no_more(void **state)
{
    struct net_address to[2] = {{.host = "127.0.0.1"}, {.host = "127.0.0.1"}};
    int silent[SILENT_SOCKETS], nobody = bound_socket(-1, &to[1].port);

    (void)state;
    to[0].port = silent_socket(silent);
    dialler_start(dialler, to, 2, 400);
    UNTIL(n_done == 1);
    assert_int_equal(last_fd, -1);
    assert_int_equal(last_error, ETIMEDOUT);
    close_all(silent);
    close(nobody);
}

/* Its time is shorter than the moment after which the next one has its turn, so the refusal is
 * the last that is heard. "Refused" would mean that nobody is there. */
static void a_refusal_after_a_silence_is_not_the_outcome(void **state)
{
    struct net_address to[2] = {{.host = "127.0.0.1"}, {.host = "127.0.0.1"}};
    int silent[SILENT_SOCKETS], nobody = bound_socket(-1, &to[1].port);

    (void)state;
    to[0].port = silent_socket(silent);
    dialler_start(dialler, to, 2, 50);
    UNTIL(n_done == 1);
    assert_int_equal(last_fd, -1);
    assert_int_equal(last_error, ETIMEDOUT);
    close_all(silent);
    close(nobody);
}

static void refused_is_what_all_have_refused(void **state)
{
    struct net_address to[2] = {{.host = "127.0.0.1"}, {.host = "127.0.0.1"}};
    int one = bound_socket(-1, &to[0].port), other = bound_socket(-1, &to[1].port);

    (void)state;
    dialler_start(dialler, to, 2, PATIENT_MS);
    UNTIL(n_done == 1);
    assert_int_equal(last_error, ECONNREFUSED);
    to[0].host = "no-such-host.invalid";
    dialler_start(dialler, to, 2, PATIENT_MS);
    UNTIL(n_done == 2);
    assert_int_equal(last_fd, -1);
    assert_int_equal(last_error, ENOENT);
    to[1].host = "no-such-host.invalid";
    dialler_start(dialler, to, 2, PATIENT_MS);
    UNTIL(n_done == 3);
    assert_int_equal(last_error, ENOENT);
    close(one);
    close(other);
}

static void nothing_to_dial_is_nowhere(void **state)
{
    (void)state;
    dialler_start(dialler, NULL, 0, PATIENT_MS);
    assert_int_equal(n_done, 0);
    UNTIL(n_done == 1);
    assert_int_equal(last_error, ENOENT);
}

static void a_cancelled_one_is_not_heard_of(void **state)
{
    struct net_address to = {.host = "127.0.0.1"}, name = {.host = "localhost"};
    int silent[SILENT_SOCKETS], listener = bound_socket(1, &to.port);

    (void)state;
    name.port = silent_socket(silent);
    dialler_start(dialler, &name, 1, PATIENT_MS);
    turned();
    dialler_cancel(dialler);
    assert_false(dialler_is_busy(dialler));
    dialler_cancel(dialler);
    dialler_start(dialler, &to, 1, PATIENT_MS);
    UNTIL(n_done == 1);
    assert_true(last_fd >= 0);
    turned();
    assert_int_equal(n_done, 1);
    close_all(silent);
    close(listener);
}

static void it_may_go_while_it_dials(void **state)
{
    struct net_address to[2] = {{.host = "127.0.0.1"}, {.host = "localhost"}};
    int silent[SILENT_SOCKETS];

    (void)state;
    to[0].port = to[1].port = silent_socket(silent);
    dialler_start(dialler, to, 2, PATIENT_MS);
    turned();
    close_all(silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_listens_is_reached, setup, teardown),
        cmocka_unit_test_setup_teardown(after_one_that_refuses_the_next_has_its_turn, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_says_nothing_does_not_hold_up_the_next, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_says_nothing_has_its_time_and_no_more, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_refusal_after_a_silence_is_not_the_outcome, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(refused_is_what_all_have_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_to_dial_is_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_one_is_not_heard_of, setup, teardown),
        cmocka_unit_test_setup_teardown(it_may_go_while_it_dials, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
