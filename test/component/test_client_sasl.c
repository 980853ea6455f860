/* SPDX-License-Identifier: Apache-2.0 */
/* The client with SASL, against a server that insists on it. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/client_fixture.h"
#include "lib/test.h"

static char users[] = "/tmp/pawl-users-XXXXXX", login[] = "/tmp/pawl-login-XXXXXX",
            jaas[] = "/tmp/pawl-jaas-XXXXXX";

static void write_temporary(char *path, const char *text)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int start(void **state)
{
    static char key[128];

    write_temporary(users, "bob:his password\nalice:hers\n");
    write_temporary(login, "# me\nbob:his password\n");
    write_temporary(jaas, "Client { org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                          "username=\"alice\" password=\"hers\"; };\n"
                          "Wrong { org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                          "username=\"alice\" password=\"his\"; };\n"
                          "Half { org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                          "username=\"alice\"; };\n");
    snprintf(key, sizeof(key), "sasl.userFile=%s", users);
    client_fixture_properties[0] = key;
    client_fixture_properties[1] = "sessionRequireClientSASLAuth=true";
    return client_fixture_start(state);
}

static int stop(void **state)
{
    unlink(users);
    unlink(login);
    unlink(jaas);
    return client_fixture_stop(state);
}

/* Whoever creates a node for its own ids alone, and reads it. */
static void assert_is(struct pawl_client *c, const char *name)
{
    const struct pawl_acl mine = {.perms = PAWL_PERM_ALL, .scheme = "auth", .id = ""};
    struct pawl_reply *reply;

    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/mine", .acls = {&mine, 1}), NULL),
                     PAWL_OK);
    assert_int_equal(pawl_get_acl(c, "/mine", &reply), PAWL_OK);
    assert_int_equal(reply->acls.n, 1);
    assert_string_equal(reply->acls.items[0].scheme, "sasl");
    assert_string_equal(reply->acls.items[0].id, name);
    pawl_reply_free(reply);
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/mine"), NULL), PAWL_OK);
}

static void all_three_ways_to_say_who_we_are(void **state)
{
    const struct pawl_sasl_options *const ways[] = {
        PAWL_SASL_OPTIONS(.name = "bob", .password = "his password"),
        PAWL_SASL_OPTIONS(.login_file = login),
        PAWL_SASL_OPTIONS(.jaas_file = jaas),
    };
    static const char *const names[] = {"bob", "bob", "alice"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct pawl_client_options o = client_fixture_options();
        struct pawl_client *c;

        o.sasl = ways[i];
        c = client_fixture_open(&o);
        assert_is(c, names[i]);
        pawl_client_close(c);
    }
}

static void again_after_each_lost_link(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct behind_proxy b;
    int64_t id;

    (void)state;
    o.sasl = PAWL_SASL_OPTIONS(.login_file = login);
    behind_proxy_open(&b, &o);
    id = pawl_client_session_id(b.c);
    for (int i = 0; i < 3; i++) {
        assert_is(b.c, "bob");
        tcp_proxy_cut(b.proxy);
        expect_next_state(&b, 1 + 2 * i, PAWL_STATE_SUSPENDED);
        expect_next_state(&b, 2 + 2 * i, PAWL_STATE_RECONNECTED);
        assert_int_equal(pawl_client_session_id(b.c), id);
    }
    assert_is(b.c, "bob");
    behind_proxy_close(&b);
}

static void assert_not_in(const struct pawl_sasl_options *sasl, const char *says)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *c;
    char why[1024] = "";

    o.sasl = sasl;
    assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
    wait_until((pawl_client_last_error(c, why, sizeof(why)), strstr(why, says) != NULL));
    assert_int_equal(pawl_client_state(c), PAWL_STATE_CONNECTING);
    assert_null(strstr(why, "his"));
    pawl_client_close_within(c, 0);
}

static void the_wrong_are_told(void **state)
{
    (void)state;
    assert_not_in(PAWL_SASL_OPTIONS(.name = "bob", .password = "hers"),
                  ": SASL: the server does not accept our name and password");
    assert_not_in(PAWL_SASL_OPTIONS(.name = "eve", .password = "hers"),
                  ": SASL: the server does not accept our name and password");
    assert_not_in(PAWL_SASL_OPTIONS(.jaas_file = jaas, .jaas_section = "Wrong"),
                  ": SASL: the server does not accept our name and password");
}

static void what_cannot_be_used_is_refused_at_once(void **state)
{
    static const struct {
        struct pawl_sasl_options o;
        const char *says;
    } cases[] = {
        {{.size = sizeof(cases[0].o)}, "one of name and password, login_file or jaas_file"},
        {{.size = sizeof(cases[0].o), .name = "bob"}, "a name needs a password"},
        {{.size = sizeof(cases[0].o), .name = "", .password = "x"}, "a name needs a password"},
        {{.size = sizeof(cases[0].o), .name = "b", .password = "x", .login_file = login},
         "one of name and password"},
        {{.size = sizeof(cases[0].o), .login_file = "/no/such"}, "/no/such: No such file"},
        {{.size = sizeof(cases[0].o), .login_file = jaas}, "line 1 is not of the form"},
        {{.size = sizeof(cases[0].o), .login_file = login, .jaas_section = "x"},
         "there is a jaas_section, but no jaas_file"},
        {{.size = sizeof(cases[0].o), .jaas_file = jaas, .jaas_section = "None"},
         "there is no section None"},
        {{.size = sizeof(cases[0].o), .jaas_file = jaas, .jaas_section = "Half"},
         "there is no username, or no password"},
        {{.size = 0, .login_file = login}, "were not begun with PAWL_SASL_OPTIONS()"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pawl_client_options o = client_fixture_options();
        struct pawl_client *c;

        o.sasl = &cases[i].o;
        assert_int_equal(pawl_client_open(&o, &c), PAWL_ERR_BAD_ARGUMENTS);
        if (strstr(pawl_open_error(), cases[i].says) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", pawl_open_error(), cases[i].says);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_three_ways_to_say_who_we_are),
        cmocka_unit_test(again_after_each_lost_link),
        cmocka_unit_test(the_wrong_are_told),
        cmocka_unit_test(what_cannot_be_used_is_refused_at_once),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
