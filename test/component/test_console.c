/* SPDX-License-Identifier: Apache-2.0 */
/* The console's API over a real server: who may do what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pawl/server.h>

#include "console/console.h"
#include "lib/test.h"

#define JSON "application/json"

struct world {
    struct pawl_server *server;
    struct console *console;
    char cookie[192], csrf[80];
};

static int start(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct pawl_server_options options;
    char why[256];

    pawl_server_options_init(&options);
    options.in_memory = 1;
    assert_int_equal(pawl_server_start(&options, &w->server, why, sizeof(why)), PAWL_OK);
    w->console = console_new(
        &(struct console_options){.servers = pawl_server_address(w->server), .timeout_ms = 60000});
    *state = w;
    return 0;
}

static int stop(void **state)
{
    struct world *w = *state;

    console_free(w->console);
    pawl_server_stop(w->server);
    free(w);
    return 0;
}

/* The status; what else is in `q` counts, and `body` gets what comes back. */
static unsigned ask(struct world *w, struct console_request q, const char *body, struct strbuf *out)
{
    struct console_answer answer;

    q.peer = q.peer != NULL ? q.peer : "127.0.0.1";
    q.host = q.host != NULL ? q.host : "localhost:1";
    q.content_type = JSON;
    q.body = bytes_str(body);
    console_handle(w->console, &q, &answer);
    if (answer.cookie[0] != '\0') {
        snprintf(w->cookie, sizeof(w->cookie), "%s", answer.cookie);
    }
    if (out != NULL) {
        strbuf_clear(out);
        strbuf_append_bytes(out, strbuf_bytes(&answer.body));
    }
    strbuf_fini(&answer.body);
    return answer.status;
}

static unsigned change(struct world *w, const char *cookie, const char *csrf)
{
    return ask(w,
               (struct console_request){
                   .method = "POST", .url = "/api/v1/node", .cookie = cookie, .csrf = csrf},
               "{\"path\": \"/n\", \"text\": \"x\"}", NULL);
}

static bool exists(struct world *w)
{
    struct console_request q = {.method = "GET", .url = "/api/v1/node"};

    q.arguments[ARGUMENT_PATH] = "/n";
    return ask(w, q, "", NULL) == 200;
}

static unsigned log_in(struct world *w)
{
    struct strbuf body;
    const char *csrf;
    unsigned status;

    strbuf_init(&body, STRBUF_NO_LIMIT);
    status = ask(w, (struct console_request){.method = "POST", .url = "/api/v1/login"},
                 "{\"user\": \"bob\", \"password\": \"x\"}", &body);
    csrf = strstr(strbuf_cstr(&body), "\"csrf\":\"");
    if (csrf != NULL) {
        snprintf(w->csrf, sizeof(w->csrf), "%.64s", csrf + 8);
    }
    strbuf_fini(&body);
    return status;
}

static void a_change_needs_cookie_and_token(void **state)
{
    struct world *w = *state;
    char other[80];

    assert_int_equal(log_in(w), 200);
    memset(other, '0', sizeof(other));
    other[64] = '\0';
    assert_int_equal(change(w, NULL, NULL), 401);
    assert_int_equal(change(w, NULL, w->csrf), 401);
    assert_int_equal(change(w, "pawl_console_00000000=1", w->csrf), 401);
    assert_int_equal(change(w, w->cookie, NULL), 403);
    assert_int_equal(change(w, w->cookie, other), 403);
    assert_int_equal(change(w, w->cookie, ""), 403);
    assert_false(exists(w));
    assert_int_equal(change(w, w->cookie, w->csrf), 201);
    assert_true(exists(w));
}

static void pages_of_others_are_refused(void **state)
{
    struct console_request q = {.method = "GET", .url = "/api/v1/children"};
    struct world *w = *state;

    q.arguments[ARGUMENT_PATH] = "/";
    assert_int_equal(ask(w, q, "", NULL), 200);
    q.origin = "http://evil.example";
    assert_int_equal(ask(w, q, "", NULL), 403);
    q.origin = NULL;
    q.fetch_site = "cross-site";
    assert_int_equal(ask(w, q, "", NULL), 403);
    q.fetch_site = NULL;
    q.host = "evil.example";
    assert_int_equal(ask(w, q, "", NULL), 403);
}

static void after_logout_the_cookie_is_nobodys(void **state)
{
    struct world *w = *state;
    char cookie[192];

    assert_int_equal(log_in(w), 200);
    memcpy(cookie, w->cookie, sizeof(cookie));
    assert_int_equal(
        ask(w,
            (struct console_request){
                .method = "POST", .url = "/api/v1/logout", .cookie = cookie, .csrf = w->csrf},
            "", NULL),
        200);
    assert_int_equal(change(w, cookie, w->csrf), 401);
}

static void others_see_nothing_before_they_log_in(void **state)
{
    struct world *w = *state;
    struct console_request q = {.method = "GET", .url = "/api/v1/children", .host = "any.name"};
    struct console *own = w->console;

    q.arguments[ARGUMENT_PATH] = "/";
    w->console = console_new(&(struct console_options){
        .servers = pawl_server_address(w->server), .timeout_ms = 60000, .is_open_to_others = true});
    assert_int_equal(ask(w, q, "", NULL), 401);
    assert_int_equal(log_in(w), 200);
    q.cookie = w->cookie;
    assert_int_equal(ask(w, q, "", NULL), 200);
    console_free(w->console);
    w->console = own;
    assert_int_equal(change(w, w->cookie, w->csrf), 401); /* the log-in was at the other one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_needs_cookie_and_token, start, stop),
        cmocka_unit_test_setup_teardown(pages_of_others_are_refused, start, stop),
        cmocka_unit_test_setup_teardown(after_logout_the_cookie_is_nobodys, start, stop),
        cmocka_unit_test_setup_teardown(others_see_nothing_before_they_log_in, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
