/* SPDX-License-Identifier: Apache-2.0 */
#include "os/thread.h"

#include <errno.h>

#include "lib/test.h"
#include "pawl/error.h"

static void *do_nothing(void *arg)
{
    return arg;
}

/* Those who print it look at errno; pthread_create() does not set it. */
static void why_none_can_be_started_is_in_errno(void **state)
{
    struct thread t;

    (void)state;
    errno = 0;
    assert_int_equal(thread_start(&t, "huge", (size_t)1 << 60, do_nothing, NULL), PAWL_ERR_SYSTEM);
    assert_int_equal(errno, EAGAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(why_none_can_be_started_is_in_errno),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
