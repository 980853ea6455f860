/* SPDX-License-Identifier: Apache-2.0 */
#include "sasl/exchange.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/test.h"
#include "pawl/error.h"
#include "sasl/login.h"

static struct sasl_login *login_of(const char *jaas, const char *section)
{
    struct sasl_login *l = sasl_login_new();
    char why[SASL_WHY_BYTES] = "";

    if (sasl_login_read_jaas(l, bytes_str(jaas), section, why, sizeof(why)) != PAWL_OK) {
        fail_msg("%s", why);
    }
    return l;
}

static const char both[] = "Server {\n"
                           "  org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                           "  user_super=\"adminsecret\"\n"
                           "  user_bob=\"bob's \\\"secret\\\"\";\n"
                           "};\n"
                           "Client { org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                           "  username=\"bob\" password=\"bob's \\\"secret\\\"\"; };\n"
                           "Mallory { org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                           "  username=\"bob\" password=\"guess\"; };\n"
                           "Nobody { org.apache.zookeeper.server.auth.DigestLoginModule required\n"
                           "  username=\"eve\" password=\"guess\"; };\n";

struct ends {
    struct sasl_login *server_login, *client_login;
    struct sasl_exchange *server, *client;
};

static void ends_open(struct ends *e, const char *client)
{
    e->server_login = login_of(both, "Server");
    e->client_login = login_of(both, client);
    e->server = sasl_exchange_accept(e->server_login, SASL_CLIENT_AND_SERVER);
    e->client = sasl_exchange_dial(e->client_login, SASL_CLIENT_AND_SERVER, "localhost");
    assert_non_null(e->server);
    assert_non_null(e->client);
}

static void ends_close(struct ends *e)
{
    sasl_exchange_free(e->server);
    sasl_exchange_free(e->client);
    sasl_login_unref(e->server_login);
    sasl_login_unref(e->client_login);
}

/* Until one side has failed, or both are done; true: done. */
static bool ends_talk(struct ends *e)
{
    struct bytes token = bytes_str("");
    int of_client = 0, of_server = 0;

    while (of_client == 0 || of_server == 0) {
        of_client = sasl_exchange_step(e->client, token, &token);
        if (of_client < 0 || of_server == 1) {
            break;
        }
        of_server = sasl_exchange_step(e->server, token, &token);
        if (of_server < 0) {
            break;
        }
    }
    return of_client == 1 && of_server == 1;
}

static void who_knows_the_password_is_known(void **state)
{
    struct ends e;

    (void)state;
    ends_open(&e, "Client");
    if (!ends_talk(&e)) {
        fail_msg("%s / %s", sasl_exchange_error(e.server), sasl_exchange_error(e.client));
    }
    assert_string_equal(sasl_exchange_name(e.server), "bob");
    ends_close(&e);
}

/* Also of one who has been there before. */
static void who_connects_says_nothing_first(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct bytes token;
        struct ends e;

        ends_open(&e, "Client");
        assert_int_equal(sasl_exchange_step(e.client, bytes_str(""), &token), 0);
        assert_int_equal(token.len, 0);
        ends_close(&e);
        ends_open(&e, "Client");
        assert_true(ends_talk(&e));
        ends_close(&e);
    }
}

static void who_does_not_is_refused(void **state)
{
    static const char *const sections[] = {"Mallory", "Nobody"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct ends e;

        ends_open(&e, sections[i]);
        assert_false(ends_talk(&e));
        assert_null(sasl_exchange_name(e.server));
        assert_null(strstr(sasl_exchange_error(e.server), "secret"));
        ends_close(&e);
    }
}

/* A response that somebody has seen is of no use a second time: each challenge is another one. */
static void a_response_counts_once(void **state)
{
    struct bytes challenge, answer, rest;
    struct sasl_exchange *second;
    struct ends e;

    (void)state;
    ends_open(&e, "Client");
    second = sasl_exchange_accept(e.server_login, SASL_CLIENT_AND_SERVER);
    assert_int_equal(sasl_exchange_step(e.client, bytes_str(""), &rest), 0);
    assert_int_equal(rest.len, 0);
    assert_int_equal(sasl_exchange_step(e.server, rest, &challenge), 0);
    assert_int_equal(sasl_exchange_step(second, bytes_str(""), &rest), 0);
    assert_int_equal(sasl_exchange_step(e.client, challenge, &answer), 0);
    assert_int_equal(sasl_exchange_step(second, answer, &rest), -1);
    assert_int_equal(sasl_exchange_step(e.server, answer, &rest), 1);
    assert_int_equal(sasl_exchange_step(e.server, answer, &rest), -1);
    sasl_exchange_free(second);
    ends_close(&e);
}

/* The challenge is what Java's clients expect. */
static void the_challenge_is_zookeepers(void **state)
{
    static const struct {
        enum sasl_between between;
        const char *realm;
    } of[] = {{SASL_CLIENT_AND_SERVER, "realm=\"zk-sasl-md5\""},
              {SASL_MEMBERS, "realm=\"zk-quorum-sasl-md5\""}};
    struct sasl_login *l = login_of(both, "Server");

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sasl_exchange *x = sasl_exchange_accept(l, of[i].between);
        struct bytes out;
        char text[1024];

        assert_int_equal(sasl_exchange_step(x, bytes_str(""), &out), 0);
        snprintf(text, sizeof(text), "%.*s", (int)out.len, (const char *)out.data);
        assert_non_null(strstr(text, of[i].realm));
        assert_non_null(strstr(text, "qop=\"auth\""));
        assert_non_null(strstr(text, "algorithm=md5-sess"));
        sasl_exchange_free(x);
    }
    sasl_login_unref(l);
}

static void too_much_is_refused(void **state)
{
    static uint8_t much[SASL_TOKEN_BYTES + 1];
    struct bytes rest;
    struct ends e;

    (void)state;
    ends_open(&e, "Client");
    assert_int_equal(sasl_exchange_step(e.server, bytes_of(much, sizeof(much)), &rest), -1);
    assert_int_equal(sasl_exchange_step(e.server, bytes_str(""), &rest), -1);
    ends_close(&e);
}

/* ... which would make the library fail. */
static void a_server_does_not_begin_with_its_last_word(void **state)
{
    static const char *const tokens[] = {"rspauth=0123", " RSPAUTH=0123", "rspauth="};

    (void)state;
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        struct bytes rest;
        struct ends e;

        ends_open(&e, "Client");
        assert_int_equal(sasl_exchange_step(e.client, bytes_str(""), &rest), 0);
        assert_int_equal(sasl_exchange_step(e.client, bytes_str(tokens[i]), &rest), -1);
        assert_string_equal(sasl_exchange_error(e.client), "what is said is no DIGEST-MD5");
        ends_close(&e);
    }
}

/* The library would lose the first of the two. */
static void names_that_are_said_twice_do_not_reach_the_library(void **state)
{
    struct bytes rest;
    struct ends e;

    (void)state;
    ends_open(&e, "Client");
    assert_int_equal(sasl_exchange_step(e.server, bytes_str(""), &rest), 0);
    assert_int_equal(
        sasl_exchange_step(e.server, bytes_str("username=\"a\",username=\"b\""), &rest), -1);
    assert_string_equal(sasl_exchange_error(e.server), "what is said is no DIGEST-MD5");
    ends_close(&e);
}

/* One who would like to be the server can ask, but not prove. */
static void a_server_that_does_not_know_the_password_is_not_believed(void **state)
{
    struct bytes token;
    struct ends e;

    (void)state;
    ends_open(&e, "Client");
    assert_int_equal(sasl_exchange_step(e.client, bytes_str(""), &token), 0);
    assert_int_equal(sasl_exchange_step(e.client,
                                        bytes_str("realm=\"zk-sasl-md5\",nonce=\"x\",qop=\"auth\","
                                                  "charset=utf-8,algorithm=md5-sess"),
                                        &token),
                     0);
    assert_int_equal(
        sasl_exchange_step(e.client, bytes_str("rspauth=ea40f60335c427b5527b84dbabcdfffd"), &token),
        -1);
    assert_string_equal(sasl_exchange_error(e.client),
                        "the server does not know the password itself");
    ends_close(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_knows_the_password_is_known),
        cmocka_unit_test(who_connects_says_nothing_first),
        cmocka_unit_test(who_does_not_is_refused),
        cmocka_unit_test(a_response_counts_once),
        cmocka_unit_test(the_challenge_is_zookeepers),
        cmocka_unit_test(a_server_that_does_not_know_the_password_is_not_believed),
        cmocka_unit_test(a_server_does_not_begin_with_its_last_word),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(names_that_are_said_twice_do_not_reach_the_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
