/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/process.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"

static pid_t child_that_waits(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        for (;;) {
            pause();
        }
    }
    return pid;
}

static void a_process_runs_until_it_ends(void **state)
{
    pid_t pid = child_that_waits();
    struct process_id child, self;
    siginfo_t info;

    (void)state;
    process_self(&self);
    assert_int_equal(process_look(&self), PROCESS_RUNS);
    process_find(pid, &child);
    assert_int_equal(process_look(&child), PROCESS_RUNS);
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_look(&child), PROCESS_ENDED); /* though nobody has reaped it */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(process_look(&child), PROCESS_ENDED);
}

static void an_id_that_was_given_out_again_is_another_process(void **state)
{
    struct process_id p;

    (void)state;
    process_self(&p);
    p.start++;
    assert_int_equal(process_look(&p), PROCESS_ENDED);
}

static void another_namespace_cannot_be_seen(void **state)
{
    struct process_id p;

    (void)state;
    process_self(&p);
    p.pid_namespace++;
    assert_int_equal(process_look(&p), PROCESS_HIDDEN);
    process_find(0, &p); /* what the system gives for a peer of another namespace */
    assert_int_equal(process_look(&p), PROCESS_HIDDEN);
}

static void nothing_runs_on_from_another_boot(void **state)
{
    struct process_id p;

    (void)state;
    process_self(&p);
    assert_true(process_is_of_this_boot(&p));
    p.boot[0] = p.boot[0] == '0' ? '1' : '0';
    assert_false(process_is_of_this_boot(&p));
    assert_int_equal(process_look(&p), PROCESS_ENDED);
    strcpy(p.boot, "-");
    assert_int_equal(process_look(&p), PROCESS_HIDDEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_runs_until_it_ends),
        cmocka_unit_test(an_id_that_was_given_out_again_is_another_process),
        cmocka_unit_test(another_namespace_cannot_be_seen),
        cmocka_unit_test(nothing_runs_on_from_another_boot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
