/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session.h"

#include <stdlib.h>

#include "lib/test.h"
#include "lib/vectors.h"

static void check_password(const char *row, void *arg)
{
    uint8_t expected[PASSWORD_BYTES], actual[PASSWORD_BYTES];
    char *end;
    int64_t id = (int64_t)strtoull(row, &end, 16);

    (void)arg;
    assert_int_equal(vectors_hex(end + 1, expected, sizeof(expected)), PASSWORD_BYTES);
    session_password(id, actual);
    assert_memory_equal(actual, expected, PASSWORD_BYTES);
    assert_true(session_password_matches(id, bytes_of(expected, PASSWORD_BYTES)));
    expected[7] ^= 1;
    assert_false(session_password_matches(id, bytes_of(expected, PASSWORD_BYTES)));
}

static void passwords_are_those_of_zookeeper(void **state)
{
    (void)state;
    assert_int_equal(vectors_table(VECTORS "/client.txt", "session-password", check_password, NULL),
                     7);
}

static void a_password_must_be_whole_and_session_0_has_none(void **state)
{
    uint8_t password[PASSWORD_BYTES];

    (void)state;
    session_password(5, password);
    assert_false(session_password_matches(5, bytes_of(password, PASSWORD_BYTES - 1)));
    assert_false(session_password_matches(5, BYTES_NULL));
    session_password(0, password);
    assert_false(session_password_matches(0, bytes_of(password, PASSWORD_BYTES)));
}

static void an_id_is_made_of_the_server_the_clock_and_a_counter(void **state)
{
    struct session_table t;

    (void)state;
    session_table_init(&t, 0x1234567890ab, 3);
    assert_int_equal(session_new_id(&t), 0x0334567890ab0000);
    assert_int_equal(session_new_id(&t), 0x0334567890ab0001);
    session_table_fini(&t);
    session_table_init(&t, 0, 128); /* would be the mark of containers */
    assert_int_equal(session_new_id(&t), INT64_MIN + 1);
    session_table_fini(&t);
}

/* A clock that was set back must not give a live session's id away a second time. */
static void an_id_that_is_taken_is_passed_over(void **state)
{
    struct session_table t;
    int64_t first;

    (void)state;
    session_table_init(&t, 77, 1);
    first = (int64_t)1 << 56 | 77 << 16;
    session_add(&t, first, 4000);
    session_add(&t, first + 1, 4000);
    assert_int_equal(session_new_id(&t), first + 2);
    session_table_fini(&t);
}

/* Also one of a session that has ended: its owner may still have the password. */
static void an_id_of_an_earlier_life_is_not_given_out_again(void **state)
{
    int64_t first = (int64_t)1 << 56 | 77 << 16;
    struct session_table t;

    (void)state;
    session_table_init(&t, 77, 1);
    session_skip_to(&t, first + 5);
    assert_int_equal(session_new_id(&t), first + 6);
    session_skip_to(&t, first);
    assert_int_equal(session_new_id(&t), first + 7);
    session_skip_to(&t, (int64_t)2 << 56 | 99 << 16); /* another server's */
    assert_int_equal(session_new_id(&t), first + 8);
    session_table_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords_are_those_of_zookeeper),
        cmocka_unit_test(a_password_must_be_whole_and_session_0_has_none),
        cmocka_unit_test(an_id_is_made_of_the_server_the_clock_and_a_counter),
        cmocka_unit_test(an_id_that_is_taken_is_passed_over),
        cmocka_unit_test(an_id_of_an_earlier_life_is_not_given_out_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
