/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sasl_gate.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"

/* An exchange of two steps: "hello" is answered with "who?", and then whatever is said is the name,
 * but "wrong" is nobody's. */
struct talk {
    int n;
    char name[64];
};

static int n_talks;

static void *begin(struct sasl_gate *g)
{
    (void)g;
    n_talks++;
    return must_zalloc(sizeof(struct talk));
}

static int step(void *exchange, struct bytes token, struct bytes *out)
{
    struct talk *t = exchange;

    *out = bytes_str(t->n == 0 ? "who?" : "welcome");
    if (t->n++ == 0) {
        return bytes_equal_str(token, "hello") ? 0 : -1;
    }
    snprintf(t->name, sizeof(t->name), "%.*s", (int)token.len, (const char *)token.data);
    return strcmp(t->name, "wrong") == 0 ? -1 : 1;
}

static const char *name(const void *exchange)
{
    return ((const struct talk *)exchange)->name;
}

static const char *error(const void *exchange)
{
    (void)exchange;
    return "nobody";
}

static void end(void *exchange)
{
    n_talks--;
    free(exchange);
}

static struct sasl_gate gate = {begin, step, name, error, end};

static struct connection *client_of(struct server_fixture *f)
{
    f->server->options.auth.sasl_enabled = true;
    f->server->sasl = &gate;
    return fixture_client(f, 10000);
}

static void say(struct server_fixture *f, struct connection *c, int32_t xid, const char *token)
{
    struct request q = {.type = OP_SASL, .data = token == NULL ? BYTES_NULL : bytes_str(token)};
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    fixture_frame(&b, xid, &q);
    fixture_send(f, c, strbuf_bytes(&b));
    strbuf_fini(&b);
}

static bool is_sasl(const struct connection *c, const char *id)
{
    return identity_has(&c->identity, "sasl", bytes_str(id));
}

static void who_has_authenticated_has_its_name(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = client_of(&f);
    say(&f, c, 1, "hello");
    assert_string_equal(fixture_trace(&f, c), "1 OK @0\n");
    assert_int_equal(n_talks, 1);
    say(&f, c, 2, "bob");
    assert_string_equal(fixture_trace(&f, c), "2 OK @0\n");
    assert_int_equal(n_talks, 0);
    assert_true(is_sasl(c, "bob"));
    assert_int_equal(c->state, CONNECTION_SERVING);
    say(&f, c, 3, "hello");
    assert_string_equal(fixture_trace(&f, c), "3 AUTH_FAILED @0\n");
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_fini(&f);
}

static void who_fails_goes_unless_it_may_stay(void **state)
{
    static const struct {
        bool keep;
        const char *enforced, *said;
        bool stays;
    } cases[] = {
        {false, NULL, "2 AUTH_FAILED @0\n", false},
        {false, "digest", "2 AUTH_FAILED @0\n", false},
        {false, "sasl", "2 SESSION_CLOSED_REQUIRE_AUTH @0\n", false},
        {true, "digest, sasl", "2 SESSION_CLOSED_REQUIRE_AUTH @0\n", false},
        {true, NULL, "2 OK @0\n", true},
        {true, "digest", "2 OK @0\n", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct server_fixture f;
        struct connection *c;

        fixture_init(&f, NULL);
        f.server->options.auth.sasl_keep_failed = cases[i].keep;
        f.server->options.auth.enforced_schemes = cases[i].enforced;
        c = client_of(&f);
        say(&f, c, 1, "hello");
        say(&f, c, 2, "wrong");
        assert_non_null(strstr(fixture_trace(&f, c), cases[i].said));
        assert_int_equal(n_talks, 0);
        assert_int_equal(c->state == CONNECTION_SERVING, cases[i].stays);
        assert_false(identity_has_scheme(&c->identity, "sasl"));
        if (cases[i].stays) { /* and may try again */
            say(&f, c, 3, "hello");
            say(&f, c, 4, "bob");
            assert_true(is_sasl(c, "bob"));
        }
        fixture_fini(&f);
    }
}

static void a_name_that_is_none_fails(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = client_of(&f);
    say(&f, c, 1, "hello");
    say(&f, c, 2, "bob@A@B");
    assert_non_null(strstr(fixture_trace(&f, c), "2 AUTH_FAILED @0\n"));
    assert_int_equal(n_talks, 0);
    fixture_fini(&f);
}

static void a_link_that_goes_takes_its_exchange_along(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = client_of(&f);
    say(&f, c, 1, "hello");
    assert_int_equal(n_talks, 1);
    server_disconnect(f.server, c);
    assert_int_equal(n_talks, 0);
    fixture_fini(&f);
}

static void without_a_login_everybody_stays(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    say(&f, c, 1, "hello");
    assert_string_equal(fixture_trace(&f, c), "1 OK @0\n");
    say(&f, c, 2, NULL);
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_fini(&f);
}

static void whoever_is_insisted_upon_may_ask_for_nothing_before(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct strbuf b;
    struct request q = fixture_path_request(OP_GET_DATA, "/");

    (void)state;
    fixture_init(&f, NULL);
    f.server->options.auth.enforced_schemes = "sasl";
    c = client_of(&f);
    say(&f, c, 1, "hello");
    strbuf_init(&b, STRBUF_NO_LIMIT);
    fixture_frame(&b, 2, &q);
    fixture_send(&f, c, strbuf_bytes(&b));
    strbuf_fini(&b);
    assert_non_null(strstr(fixture_trace(&f, c), "2 SESSION_CLOSED_REQUIRE_AUTH @0\n"));
    assert_int_equal(c->state, CONNECTION_CLOSING);
    fixture_fini(&f);
    assert_int_equal(n_talks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_authenticated_has_its_name),
        cmocka_unit_test(who_fails_goes_unless_it_may_stay),
        cmocka_unit_test(a_name_that_is_none_fails),
        cmocka_unit_test(a_link_that_goes_takes_its_exchange_along),
        cmocka_unit_test(without_a_login_everybody_stays),
        cmocka_unit_test(whoever_is_insisted_upon_may_ask_for_nothing_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
