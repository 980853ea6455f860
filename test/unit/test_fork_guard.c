/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/fork_guard.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"

static int guarded_socket(void)
{
    int fd;

    fork_guard_begin();
    fd = fork_guard_add(socket(AF_UNIX, SOCK_STREAM, 0));
    fork_guard_end();
    assert_true(fd >= 0);
    return fd;
}

static bool child_has(int fd)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        _exit(fcntl(fd, F_GETFD) >= 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status) == 1;
}

static void a_child_does_not_have_it(void **state)
{
    int fd = guarded_socket();

    (void)state;
    assert_false(child_has(fd));
    assert_true(fcntl(fd, F_GETFD) >= 0); /* we do */
    close(fd);
}

static void a_number_that_is_somebody_elses_now_stays_open(void **state)
{
    int fd = guarded_socket(), other;

    (void)state;
    close(fd);
    other = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(other, fd);
    assert_true(child_has(other));
    close(other);
}

static void many_can_be_guarded(void **state)
{
    int fds[200];

    (void)state;
    for (int i = 0; i < 200; i++) {
        fds[i] = guarded_socket();
    }
    assert_false(child_has(fds[0]));
    assert_false(child_has(fds[199]));
    for (int i = 0; i < 200; i++) {
        close(fds[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_does_not_have_it),
        cmocka_unit_test(a_number_that_is_somebody_elses_now_stays_open),
        cmocka_unit_test(many_can_be_guarded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
