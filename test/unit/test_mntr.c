/* SPDX-License-Identifier: Apache-2.0 */
/* Values by their names in what servers say of themselves. */
#include "look/mntr.h"

#include "lib/test.h"

static int64_t number_in(const char *answer, const char *name)
{
    return mntr_number((struct pawl_bytes){answer, strlen(answer)}, name);
}

static void numbers_of_mntr(void **state)
{
    static const char answer[] = "zk_version\t3.9\nzk_znode_count\t5\nzk_avg_latency\t0.25\n"
                                 "zk_server_state\tleader\nzk_uptime\t17";

    (void)state;
    assert_int_equal(number_in(answer, "zk_znode_count"), 5);
    assert_int_equal(number_in(answer, "zk_avg_latency"), 0);
    assert_int_equal(number_in(answer, "zk_uptime"), 17);
    assert_int_equal(number_in(answer, "zk_server_state"), -1);
    assert_int_equal(number_in(answer, "zk_znode"), -1);
    assert_int_equal(number_in(answer, "znode_count"), -1);
    assert_int_equal(number_in("", "zk_uptime"), -1);
}

static void numbers_of_srvr(void **state)
{
    static const char answer[] = "Latency min/avg/max: 0/0.5/17\nConnections: 2\n"
                                 "Mode: standalone\nNode count: 010\n";

    (void)state;
    assert_int_equal(number_in(answer, "Connections"), 2);
    assert_int_equal(number_in(answer, "Node count"), 10);
    assert_int_equal(number_in(answer, "Mode"), -1);
}

static void what_no_server_should_say(void **state)
{
    (void)state;
    assert_int_equal(number_in("n\t999999999999999999\n", "n"), 999999999999999999);
    assert_int_equal(number_in("n\t1000000000000000000\n", "n"), -1);
    assert_int_equal(number_in("n\t-5\n", "n"), -1);
    assert_int_equal(number_in("n:   \n7\n", "n"), -1);
    assert_int_equal(number_in("n", "n"), -1);
    assert_int_equal(number_in("n:", "n"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_mntr),
        cmocka_unit_test(numbers_of_srvr),
        cmocka_unit_test(what_no_server_should_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
