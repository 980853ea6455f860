/* SPDX-License-Identifier: Apache-2.0 */
#include "sasl/login.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/test.h"
#include "pawl/error.h"

#define DIGEST "org.apache.zookeeper.server.auth.DigestLoginModule"
#define KRB5   "com.sun.security.auth.module.Krb5LoginModule"

static int read_jaas(struct sasl_login *l, const char *text, char *why)
{
    return sasl_login_read_jaas(l, bytes_str(text), "Server", why, SASL_WHY_BYTES);
}

static void assert_password(const struct sasl_login *l, const char *name, const char *password)
{
    const char *found = sasl_login_password(l, bytes_str(name));

    if (password == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, password);
    }
}

static void users_come_from_both_files(void **state)
{
    struct sasl_login *l = sasl_login_new();
    char why[SASL_WHY_BYTES];

    (void)state;
    assert_int_equal(
        read_jaas(l, "Server { " DIGEST " required user_a=\"1\" user_b=\"2\" debug=true; };", why),
        PAWL_OK);
    assert_int_equal(
        sasl_login_read_users(l, bytes_str("# ours\n\nb:3\r\nc:4:5 6\nd: "), why, sizeof(why)),
        PAWL_OK);
    assert_int_equal(l->n_users, 4);
    assert_password(l, "a", "1");
    assert_password(l, "b", "3");
    assert_password(l, "c", "4:5 6");
    assert_password(l, "d", " ");
    assert_password(l, "", NULL);
    assert_int_equal(sasl_login_change(l, "a", "7"), PAWL_OK);
    assert_int_equal(sasl_login_change(l, "x", "7"), PAWL_OK);
    assert_password(l, "a", "7");
    assert_password(l, "x", NULL);
    assert_false(l->is_kerberos);
    sasl_login_unref(l);
}

static void kerberos_has_its_keytab(void **state)
{
    struct sasl_login *l = sasl_login_new();
    char why[SASL_WHY_BYTES];

    (void)state;
    assert_int_equal(read_jaas(l,
                               "Server { " KRB5 " required useKeyTab=true storeKey=true\n"
                               "keyTab=\"/etc/zk.keytab\" principal=\"zookeeper/h@R\"; };",
                               why),
                     PAWL_OK);
    assert_true(l->is_kerberos);
    assert_string_equal(l->keytab, "/etc/zk.keytab");
    assert_string_equal(l->principal, "zookeeper/h@R");
    sasl_login_unref(l);
}

static void ourselves_are_the_first_line(void **state)
{
    struct sasl_login *l = sasl_login_new();
    char why[SASL_WHY_BYTES];

    (void)state;
    assert_int_equal(sasl_login_read_self(l, bytes_str("# me\n"), why, sizeof(why)),
                     PAWL_ERR_CONFIG);
    assert_int_equal(sasl_login_read_self(l, bytes_str("# me\nbob:x:y\n"), why, sizeof(why)),
                     PAWL_OK);
    assert_string_equal(l->name, "bob");
    assert_string_equal(l->password, "x:y");
    sasl_login_unref(l);
}

static void what_cannot_be_used_is_told_without_values(void **state)
{
    static const struct {
        const char *text, *said;
        int rc;
    } cases[] = {
        {"Client { " DIGEST " required; };", "there is no section Server", PAWL_ERR_NOT_FOUND},
        {"Server { " DIGEST " required usr_bob=\"geheim\"; };", "has neither user_NAME",
         PAWL_ERR_CONFIG},
        {"Server { a.Other required user_bob=\"geheim\"; };", "has neither user_NAME",
         PAWL_ERR_CONFIG},
        {"Server { " DIGEST " required\nuser_bob=\"geheim; };", "line 2: a '\"' is missing",
         PAWL_ERR_CONFIG},
        {"Server { " KRB5 " required keyTab=\"x\"; };", "without useKeyTab", PAWL_ERR_CONFIG},
    };
    static const char *const lines[] = {"a:1\ngeheim\n", ":geheim", "geheim:", "a:1\n\ngeheim"};
    char why[SASL_WHY_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sasl_login *l = sasl_login_new();

        assert_int_equal(read_jaas(l, cases[i].text, why), cases[i].rc);
        assert_non_null(strstr(why, cases[i].said));
        assert_null(strstr(why, "geheim"));
        sasl_login_unref(l);
    }
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct sasl_login *l = sasl_login_new();

        assert_int_equal(sasl_login_read_users(l, bytes_str(lines[i]), why, sizeof(why)),
                         PAWL_ERR_CONFIG);
        assert_non_null(strstr(why, "is not of the form NAME:PASSWORD"));
        assert_null(strstr(why, "geheim"));
        sasl_login_unref(l);
    }
}

static void there_may_be_many_users(void **state)
{
    struct sasl_login *l = sasl_login_new();
    char why[SASL_WHY_BYTES];
    char line[64];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(line, sizeof(line), "user%d:%d\n", i, i);
        assert_int_equal(sasl_login_read_users(l, bytes_str(line), why, sizeof(why)), PAWL_OK);
    }
    assert_int_equal(l->n_users, 1000);
    assert_password(l, "user0", "0");
    assert_password(l, "user999", "999");
    sasl_login_unref(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_come_from_both_files),
        cmocka_unit_test(kerberos_has_its_keytab),
        cmocka_unit_test(ourselves_are_the_first_line),
        cmocka_unit_test(what_cannot_be_used_is_told_without_values),
        cmocka_unit_test(there_may_be_many_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
