/* SPDX-License-Identifier: Apache-2.0 */
/* api_login.c - who looks, and logging in.
 *
 * A server takes any user and password as an identity and asks for it only where an ACL names one.
 * So the proof of a password is a node: one that lets this identity write. Whether it does is asked
 * without writing, by a condition that cannot be true: permission is looked at first, and the
 * version after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/logging.h"
#include "base/memory.h"
#include "console/call.h"
#include "console/request.h"
#include "os/clock.h"
#include "os/entropy.h"

static void put_session(struct call *c, const struct login *login)
{
    char server[128] = "";

    if (c->client != NULL) {
        pawl_client_server(c->client, server, sizeof(server));
    }
    json_object_set_new(c->out, "user", login != NULL ? json_of_text(login->user) : json_null());
    json_object_set_new(c->out, "csrf", login != NULL ? json_string(login->csrf) : json_null());
    json_object_set_new(c->out, "servers", json_of_text(c->console->options.servers));
    json_object_set_new(c->out, "linked_to", json_of_text(server));
    json_object_set_new(c->out, "login_needed",
                        json_boolean(c->console->options.is_open_to_others));
}

void api_session(struct call *c)
{
    put_session(c, c->login);
}

/* ---- logging in ---- */

static void random_text(char out[LOGIN_TOKEN_BYTES])
{
    uint8_t bytes[(LOGIN_TOKEN_BYTES - 1) / 2];

    entropy_fill(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

static struct pawl_client *open_as(struct call *c, const char *user, const char *password)
{
    struct pawl_client *client = NULL;
    struct strbuf both;
    struct pawl_auth auth = {.scheme = "digest"};

    strbuf_init(&both, 4096);
    strbuf_printf(&both, "%s:%s", user, password);
    auth.auth = (struct pawl_bytes){both.data, both.len};
    if (!both.failed) {
        pawl_client_open(PAWL_CLIENT_OPTIONS(.servers = c->console->options.servers,
                                             .timeout_ms = c->console->options.timeout_ms,
                                             .auths = &auth, .n_auths = 1,
                                             .tls = c->console->options.tls),
                         &client);
    }
    if (both.data != NULL) {
        explicit_bzero(both.data, both.len);
    }
    strbuf_fini(&both);
    return client;
}

/* PAWL_OK: `node` lets him write; AUTH_FAILED: it does not. */
static int ask_node(struct pawl_client *client, const char *node)
{
    struct pawl_reply *reply = NULL;
    int err = pawl_set(
        client, PAWL_SET(.path = node, .data = pawl_str(""), .only_if = pawl_version(INT32_MAX)),
        &reply);

    pawl_reply_free(reply);
    return err == PAWL_ERR_BAD_VERSION ? PAWL_OK
           : err == PAWL_ERR_NO_AUTH   ? PAWL_ERR_AUTH_FAILED
                                       : err;
}

/* Whoever has the name of the superuser has his password, too, whatever the node lets others do.
 * Servers before 3.7 do not tell. */
static int ask_super(struct pawl_client *client)
{
    struct pawl_reply *reply = NULL;
    int err = pawl_whoami(client, &reply);
    bool is_super = err == PAWL_ERR_UNIMPLEMENTED;

    for (size_t i = 0; err == PAWL_OK && i < reply->ids.n; i++) {
        is_super = is_super || strcmp(reply->ids.items[i].scheme, "super") == 0;
    }
    pawl_reply_free(reply);
    return is_super ? PAWL_OK : err == PAWL_OK ? PAWL_ERR_AUTH_FAILED : err;
}

static int prove(struct call *c, struct pawl_client *client, const char *user, const char *node)
{
    int err = pawl_client_wait_connected(client, c->console->options.timeout_ms);

    err = err == PAWL_OK ? ask_node(client, node) : err;
    return err == PAWL_OK && strcmp(user, "super") == 0 ? ask_super(client) : err;
}

static void report(struct call *c, struct pawl_client *client, const char *node, int err)
{
    char why[256] = "";

    if (client != NULL) {
        pawl_client_last_error(client, why, sizeof(why));
    }
    if (err == PAWL_ERR_AUTH_FAILED) {
        call_fail(c, 403, "AUTH_FAILED",
                  "wrong user or password: %.200s does not let this user write", node);
    } else if (err == PAWL_ERR_NO_NODE) {
        call_fail(c, 404, "NO_NODE", "%.200s: no such node", node);
    } else {
        call_fail(c, 503, pawl_error_name(err), "%s%s%s", pawl_strerror(err),
                  why[0] != '\0' ? ": " : "", why);
    }
}

static void remember(struct call *c, struct pawl_client *client, const char *user)
{
    struct console *console = c->console;
    struct login *login = must_zalloc(sizeof(*login)), *gone;
    bool is_last;

    random_text(login->token);
    random_text(login->csrf);
    snprintf(login->user, sizeof(login->user), "%s", user);
    login->client = client;
    login->used_ms = clock_monotonic_ms();
    put_session(c, login);
    snprintf(c->answer->cookie, sizeof(c->answer->cookie),
             "%s=%s; Path=/; HttpOnly; SameSite=Strict", console->cookie_name, login->token);
    lock_take(&console->lock);
    logins_succeeded(&console->logins, c->request->peer);
    gone = logins_add(&console->logins, login);
    is_last = login_unref(gone);
    lock_give(&console->lock);
    if (is_last) {
        login_free(gone, CLOSE_MS);
    }
}

static bool may_try(struct call *c)
{
    bool may;

    lock_take(&c->console->lock);
    may = logins_may_try(&c->console->logins, c->request->peer, clock_monotonic_ms());
    lock_give(&c->console->lock);
    return may;
}

static void log_in(struct call *c, const char *user, const char *password, const char *node)
{
    struct pawl_client *client = open_as(c, user, password);
    int err = client != NULL ? prove(c, client, user, node) : PAWL_ERR_SYSTEM;

    if (err == PAWL_OK) {
        log_info("console: %s has logged in from %s", user, c->request->peer);
        remember(c, client, user);
    } else {
        log_limited(LOG_WARN, "console: a log-in from %s failed: %s", c->request->peer,
                    pawl_error_name(err));
        report(c, client, node, err);
        pawl_client_close(client);
    }
}

/* It is logged, and stands before a colon. */
static bool is_user(const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);

    for (size_t i = 0; i < len; i++) {
        if (text[i] == ':' || (unsigned char)text[i] < ' ' || text[i] == 0x7f) {
            return false;
        }
    }
    return len > 0 && len < LOGIN_USER_MAX;
}

void api_login(struct call *c)
{
    const char *user = request_text(c->body, "user");
    const char *password = request_text(c->body, "password");
    const char *node = request_text(c->body, "node");

    node = node != NULL && node[0] != '\0' ? node : "/";
    if (!is_user(user) || password == NULL || strlen(password) > 1024 || !request_path(node)) {
        call_fail(c, 400, "BAD_ARGUMENTS", "user and password, and perhaps node, are needed");
    } else if (!may_try(c)) {
        call_fail(c, 429, "TOO_MANY", "too many log-ins have failed; try again in a minute");
    } else {
        log_in(c, user, password, node);
    }
}

void api_logout(struct call *c)
{
    lock_take(&c->console->lock);
    login_unref(logins_take(&c->console->logins, c->login->token)); /* ours is the last */
    lock_give(&c->console->lock);
    snprintf(c->answer->cookie, sizeof(c->answer->cookie),
             "%s=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", c->console->cookie_name);
    put_session(c, NULL);
}
