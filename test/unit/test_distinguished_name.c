/* SPDX-License-Identifier: Apache-2.0 */
#include "server/distinguished_name.h"

#include "lib/test.h"

static void names_that_java_takes(void **state)
{
    static const char *const good[] = {
        "",
        "CN=a",
        "cn=a,ou=b,O=c",
        "CN=a; OU=b",
        "CN = a , OU = b",
        "CN=a+UID=b,C=DE",
        "CN=",
        "CN=Example\\, Inc.,C=DE",
        "CN=\\20a\\ ",
        "CN=\"quoted, with a comma\",O=x",
        "CN=\"a\\\"b\"",
        "1.2.840.113549.1.9.1=#1603612e62,CN=a",
        "OID.2.5.4.3=a",
        "EMAILADDRESS=a@b.c,DNQ=1",
        "CN=\xc3\xa4",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (!distinguished_name_is_valid(bytes_str(good[i]))) {
            fail_msg("\"%s\" is a name", good[i]);
        }
    }
}

static void what_is_no_name(void **state)
{
    static const char *const bad[] = {
        "a",       "CN",     "=a",       "CN=a,",  ",CN=a",     "CN=a,,O=b",   "XX=a",
        "CN=a+",   "CN=\\",  "CN=\\g",   "CN=\"a", "CN=\"a\"b", "CN=a\"b",     "CN=#",
        "CN=#1",   "CN=#1g", "CN=#10 x", "1=a",    "1.=a",      ".1=a",        "OID.=a",
        "OID.x=a", "1..2=a", "CN=a,b",   "bob:x",  "CN=\"a\\",  "CN=\"a\\g\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (distinguished_name_is_valid(bytes_str(bad[i]))) {
            fail_msg("\"%s\" is no name", bad[i]);
        }
    }
}

/* Whatever stands behind its end is not looked at. */
static void a_part_of_a_string(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 3; n++) {
        assert_int_equal(distinguished_name_is_valid(bytes_of("CN=a", n)), n == 3);
    }
    assert_true(distinguished_name_is_valid(bytes_of("CN=a\0b", 6)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_java_takes),
        cmocka_unit_test(what_is_no_name),
        cmocka_unit_test(a_part_of_a_string),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
