/* SPDX-License-Identifier: Apache-2.0 */
#include "pawl/error.h"

#include "lib/test.h"

static void every_code_has_a_name_and_a_sentence(void **state)
{
    (void)state;
#define X(name, number, sentence)                         \
    assert_string_equal(pawl_error_name(number), #name);  \
    assert_string_equal(pawl_strerror(number), sentence); \
    assert_true((number) < 0);
    PAWL_ERRORS(X)
#undef X
    assert_string_equal(pawl_error_name(PAWL_OK), "OK");
    assert_string_equal(pawl_strerror(PAWL_OK), "success");
}

static void other_numbers_are_unknown(void **state)
{
    (void)state;
    assert_string_equal(pawl_error_name(-126), "UNKNOWN"); /* unassigned in every release */
    assert_string_equal(pawl_strerror(12345), "unknown error");
}

/* These cross the wire: a client of another make compares them with its own. */
static void numbers_are_those_of_zookeeper(void **state)
{
    (void)state;
    assert_int_equal(PAWL_ERR_RUNTIME_INCONSISTENCY, -2);
    assert_int_equal(PAWL_ERR_MARSHALLING, -5);
    assert_int_equal(PAWL_ERR_UNIMPLEMENTED, -6);
    assert_int_equal(PAWL_ERR_BAD_ARGUMENTS, -8);
    assert_int_equal(PAWL_ERR_NEW_CONFIG_NO_QUORUM, -13);
    assert_int_equal(PAWL_ERR_RECONFIG_IN_PROGRESS, -14);
    assert_int_equal(PAWL_ERR_NO_NODE, -101);
    assert_int_equal(PAWL_ERR_NO_AUTH, -102);
    assert_int_equal(PAWL_ERR_BAD_VERSION, -103);
    assert_int_equal(PAWL_ERR_NO_CHILDREN_FOR_EPHEMERALS, -108);
    assert_int_equal(PAWL_ERR_NODE_EXISTS, -110);
    assert_int_equal(PAWL_ERR_NOT_EMPTY, -111);
    assert_int_equal(PAWL_ERR_SESSION_EXPIRED, -112);
    assert_int_equal(PAWL_ERR_INVALID_ACL, -114);
    assert_int_equal(PAWL_ERR_AUTH_FAILED, -115);
    assert_int_equal(PAWL_ERR_NOT_READ_ONLY, -119);
    assert_int_equal(PAWL_ERR_EPHEMERAL_ON_LOCAL_SESSION, -120);
    assert_int_equal(PAWL_ERR_NO_WATCHER, -121);
    assert_int_equal(PAWL_ERR_RECONFIG_DISABLED, -123);
    assert_int_equal(PAWL_ERR_SESSION_CLOSED_REQUIRE_AUTH, -124);
    assert_int_equal(PAWL_ERR_QUOTA_EXCEEDED, -125);
    assert_int_equal(PAWL_ERR_THROTTLED_OP, -127);
}

static void ours_are_out_of_their_way(void **state)
{
    (void)state;
    assert_int_equal(PAWL_ERR_NO_MEMORY, -1000);
#define X(name, number, sentence) assert_true((number) >= -127 || (number) <= -1000);
    PAWL_ERRORS(X)
#undef X
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_name_and_a_sentence),
        cmocka_unit_test(other_numbers_are_unknown),
        cmocka_unit_test(numbers_are_those_of_zookeeper),
        cmocka_unit_test(ours_are_out_of_their_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
