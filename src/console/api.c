/* SPDX-License-Identifier: Apache-2.0 */
/* api.c - which function answers a request, and who may ask for it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/logging.h"
#include "base/memory.h"
#include "console/call.h"
#include "console/request.h"
#include "http/origin.h"
#include "look/base64.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "wire/utf8.h"

#define API "/api/v1/"

const char *const console_argument_names[N_ARGUMENTS] = {
    "path", "offset", "limit", "filter", "name", "content", "after", "version", "children"};

/* Nothing is loaded from anywhere else, and no text becomes a program. */
const char *const console_headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
    {NULL, NULL}};

enum needs { NOTHING, READING, LOGIN };

static const struct route {
    const char *method, *name;
    enum needs needs;
    bool has_body;
    void (*run)(struct call *c);
} routes[] = {
    {"GET", "session", NOTHING, false, api_session},
    {"POST", "login", NOTHING, true, api_login},
    {"POST", "logout", LOGIN, false, api_logout},
    {"GET", "overview", READING, false, api_overview},
    {"GET", "sessions", READING, false, api_sessions},
    {"GET", "watches", READING, false, api_watches},
    {"GET", "configuration", READING, false, api_configuration},
    {"GET", "quotas", READING, false, api_quotas},
    {"GET", "node", READING, false, api_node},
    {"GET", "children", READING, false, api_children},
    {"GET", "search", READING, false, api_search},
    {"GET", "locks", READING, false, api_locks},
    {"POST", "node", LOGIN, true, api_create},
    {"PUT", "node", LOGIN, true, api_set},
    {"DELETE", "node", LOGIN, false, api_delete},
    {"PUT", "acl", LOGIN, true, api_set_acl},
    {"POST", "revoke", LOGIN, true, api_revoke},
    {"POST", "orphan", LOGIN, true, api_remove_orphan},
};
enum { N_ROUTES = sizeof(routes) / sizeof(routes[0]) };

/* ---- answers ---- */

void call_fail(struct call *c, unsigned status, const char *code, const char *format, ...)
{
    char text[512];
    va_list args;

    if (c->has_failed) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    c->has_failed = true;
    c->answer->status = status;
    json_object_clear(c->out);
    json_object_set_new(c->out, "error", json_of_text(text));
    json_object_set_new(c->out, "code", json_string(code));
}

static unsigned status_of(int err)
{
    switch (err) {
    case PAWL_ERR_NO_NODE:
        return 404;
    case PAWL_ERR_BAD_ARGUMENTS:
    case PAWL_ERR_INVALID_ACL:
        return 400;
    case PAWL_ERR_NO_AUTH:
        return 403;
    case PAWL_ERR_BAD_VERSION:
    case PAWL_ERR_NODE_EXISTS:
    case PAWL_ERR_NOT_EMPTY:
    case PAWL_ERR_NO_CHILDREN_FOR_EPHEMERALS:
    case PAWL_ERR_QUOTA_EXCEEDED:
        return 409;
    case PAWL_ERR_TOO_LARGE:
        return 413;
    case PAWL_ERR_UNIMPLEMENTED:
        return 501;
    default:
        return 503;
    }
}

void call_fail_with(struct call *c, const char *path, int err)
{
    char why[256];

    pawl_client_last_error(c->client, why, sizeof(why));
    if (status_of(err) == 503 && why[0] != '\0') {
        call_fail(c, 503, pawl_error_name(err), "%s (%s)", pawl_strerror(err), why);
    } else {
        call_fail(c, status_of(err), pawl_error_name(err), "%.300s: %s", path, pawl_strerror(err));
    }
}

bool call_check(struct call *c, const char *path, const struct pawl_reply *reply)
{
    int err = reply != NULL ? reply->err : PAWL_ERR_NO_MEMORY;

    if (err != PAWL_OK) {
        call_fail_with(c, path, err);
        if (reply != NULL && reply->outcome == PAWL_OUTCOME_UNKNOWN) {
            json_object_set_new(c->out, "outcome", json_string("unknown"));
        }
    }
    return err == PAWL_OK;
}

/* Neither a user nor a path has a control character in it. */
void call_note_change(const struct call *c, const char *what, const char *path,
                      const struct pawl_reply *reply)
{
    int err = reply != NULL ? reply->err : PAWL_ERR_NO_MEMORY;

    log_info("console: %s at %s %s %s: %s", c->login->user, c->request->peer, what, path,
             err == PAWL_OK ? "done" : pawl_error_name(err));
}

const char *call_path(struct call *c)
{
    const char *path = c->request->arguments[ARGUMENT_PATH];

    if (!request_path(path)) {
        call_fail(c, 400, "BAD_ARGUMENTS", "the argument path must be a path such as /a/b");
        return NULL;
    }
    return path;
}

json_t *json_of_bytes(struct bytes text)
{
    struct strbuf scratch;
    struct bytes good;
    json_t *json;

    strbuf_init(&scratch, STRBUF_NO_LIMIT);
    good = utf8_repaired(text, &scratch);
    json = json_stringn((const char *)good.data, good.len);
    strbuf_fini(&scratch);
    return json != NULL ? json : json_string("");
}

json_t *json_of_text(const char *text)
{
    return json_of_bytes(bytes_str(text));
}

json_t *json_of_hex(uint64_t number)
{
    return json_sprintf("0x%llx", (unsigned long long)number);
}

json_t *json_of_base64(struct pawl_bytes data)
{
    struct strbuf text;
    json_t *json;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    base64_encode(data, &text);
    json = json_stringn((const char *)text.data, text.len);
    strbuf_fini(&text);
    return json != NULL ? json : json_string("");
}

json_t *json_of_stat(const struct pawl_stat *s)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:i, s:i, s:i, s:o, s:i, s:i}", "czxid",
                     json_of_hex((uint64_t)s->czxid), "mzxid", json_of_hex((uint64_t)s->mzxid),
                     "pzxid", json_of_hex((uint64_t)s->pzxid), "ctime", (json_int_t)s->ctime,
                     "mtime", (json_int_t)s->mtime, "version", s->version, "cversion", s->cversion,
                     "aversion", s->aversion, "ephemeral_owner",
                     json_of_hex((uint64_t)s->ephemeral_owner), "data_length", s->data_length,
                     "n_children", s->n_children);
}

static int append_json(const char *text, size_t len, void *out)
{
    strbuf_append(out, text, len);
    return 0;
}

static void finish(struct call *c)
{
    struct strbuf *body = &c->answer->body;

    json_dump_callback(c->out, append_json, body, JSON_COMPACT);
    if (body->failed) {
        strbuf_clear(body);
        c->answer->status = 500;
        strbuf_append_str(body, "{\"error\":\"the answer is too long\",\"code\":\"TOO_LARGE\"}");
    }
    strbuf_append_str(body, "\n");
}

/* ---- sessions ---- */

static struct pawl_client *open_visitor(struct console *c)
{
    struct pawl_client *client = NULL;

    pawl_client_open(PAWL_CLIENT_OPTIONS(.servers = c->options.servers,
                                         .timeout_ms = c->options.timeout_ms,
                                         .flags = PAWL_CLIENT_READ_ONLY, .tls = c->options.tls),
                     &client);
    return client;
}

static void take_visitor(struct call *call)
{
    struct console *c = call->console;

    lock_take(&c->lock);
    if (c->visitor == NULL && !c->is_interrupted) {
        c->visitor = open_visitor(c);
    }
    call->client = c->visitor;
    c->n_visits += call->client != NULL;
    lock_give(&c->lock);
}

static void take_session(struct call *call)
{
    struct console *c = call->console;
    char token[LOGIN_TOKEN_BYTES];

    if (call->request->cookie != NULL &&
        request_cookie(call->request->cookie, c->cookie_name, token, sizeof(token))) {
        lock_take(&c->lock);
        call->login = logins_find(&c->logins, token, clock_monotonic_ms());
        lock_give(&c->lock);
    }
    if (call->login != NULL) {
        call->client = call->login->client;
    } else {
        take_visitor(call);
    }
}

static void give_session(struct call *call)
{
    struct console *c = call->console;
    bool is_last;

    lock_take(&c->lock);
    is_last = login_unref(call->login);
    if (call->login == NULL && call->client != NULL) {
        c->n_visits--;
        c->visited_ms = clock_monotonic_ms();
    }
    lock_give(&c->lock);
    if (is_last) {
        login_free(call->login, CLOSE_MS);
    }
}

/* ---- who may ask for what ---- */

static bool is_reading(const struct console_request *q)
{
    return strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0;
}

static const struct route *find_route(struct call *c)
{
    const char *name = c->request->url + strlen(API);
    const char *method = strcmp(c->request->method, "HEAD") == 0 ? "GET" : c->request->method;
    bool is_known = false;

    for (int i = 0; i < N_ROUTES; i++) {
        if (strcmp(routes[i].name, name) == 0) {
            is_known = true;
            if (strcmp(routes[i].method, method) == 0) {
                return &routes[i];
            }
        }
    }
    if (is_known) {
        c->answer->allow = strcmp(name, "node") == 0 ? "GET, HEAD, POST, PUT, DELETE"
                           : is_reading(c->request)  ? "POST, PUT"
                                                     : "GET, HEAD";
        call_fail(c, 405, "METHOD", "this is asked for in another way");
    } else {
        call_fail(c, 404, "NO_ROUTE", "there is nothing here; see docs/console.md");
    }
    return NULL;
}

static bool is_from_here(struct call *c)
{
    const struct console_request *q = c->request;

    if (!c->console->options.is_open_to_others && q->host != NULL &&
        !origin_host_is_plain(q->host)) {
        call_fail(c, 403, "HOST", "this server is asked by its address or as localhost only");
    } else if (origin_is_foreign(q->host, q->origin, q->fetch_site)) {
        call_fail(c, 403, "ORIGIN", "a page of another site may not ask");
    }
    return !c->has_failed;
}

static bool is_allowed(struct call *c, const struct route *r)
{
    bool needs_login =
        r->needs == LOGIN || (r->needs == READING && c->console->options.is_open_to_others);

    if (needs_login && c->login == NULL) {
        call_fail(c, 401, "LOGIN", "log in first");
    } else if (r->needs == LOGIN && (c->request->csrf == NULL ||
                                     !login_token_equals(c->login->csrf, c->request->csrf))) {
        call_fail(c, 403, "CSRF", "the header X-Pawl-Csrf must have the token of the log-in");
    } else if (r->needs != NOTHING && c->client == NULL) {
        call_fail(c, 503, "NO_CLIENT", "the servers cannot be asked: %s", pawl_open_error());
    }
    return !c->has_failed;
}

static bool has_body(struct call *c, const struct route *r)
{
    if (!r->has_body) {
        return true;
    }
    if (!request_is_json(c->request->content_type)) {
        call_fail(c, 415, "TYPE", "the body must be application/json");
    } else if ((c->body = request_object(c->request->body)) == NULL) {
        call_fail(c, 400, "JSON", "the body must be one JSON object");
    }
    return !c->has_failed;
}

static void answer_api(struct call *c)
{
    const struct route *r = is_from_here(c) ? find_route(c) : NULL;

    if (r != NULL) {
        take_session(c);
        if (is_allowed(c, r) && has_body(c, r)) {
            r->run(c);
        }
        give_session(c);
    }
    json_decref(c->body);
}

bool console_has(const char *url)
{
    struct console_file file;

    return strncmp(url, API, strlen(API)) == 0 || console_find_file(url, &file);
}

void console_handle(struct console *console, const struct console_request *q,
                    struct console_answer *out)
{
    struct call c = {.console = console, .request = q, .answer = out, .out = json_object()};

    *out = (struct console_answer){.status = 200, .type = "application/json"};
    strbuf_init(&out->body, CONSOLE_ANSWER_MAX);
    answer_api(&c);
    finish(&c);
    json_decref(c.out);
}

/* ---- the console ---- */

struct console *console_new(const struct console_options *options)
{
    struct console *c = must_zalloc(sizeof(*c));
    uint32_t number;

    c->options = *options;
    lock_init(&c->lock);
    lock_init(&c->members_lock);
    entropy_fill(&number, sizeof(number));
    snprintf(c->cookie_name, sizeof(c->cookie_name), "pawl_console_%08x", number);
    return c;
}

static void end_logins(struct console *c, int64_t now_ms, int timeout_ms)
{
    struct login *one;
    bool is_last;

    do {
        lock_take(&c->lock);
        one = logins_take_idle(&c->logins, now_ms);
        is_last = login_unref(one);
        lock_give(&c->lock);
        if (is_last) {
            login_free(one, timeout_ms);
        }
    } while (one != NULL);
}

static void end_visitor(struct console *c, int64_t idle_ms, int timeout_ms)
{
    struct pawl_client *client = NULL;

    lock_take(&c->lock);
    if (c->n_visits == 0 && clock_monotonic_ms() - c->visited_ms >= idle_ms) {
        client = c->visitor;
        c->visitor = NULL;
    }
    lock_give(&c->lock);
    pawl_client_close_within(client, timeout_ms);
}

void console_idle(struct console *c)
{
    enum { VISITOR_IDLE_MS = 60 * 1000 };

    end_logins(c, clock_monotonic_ms(), CLOSE_MS);
    end_visitor(c, VISITOR_IDLE_MS, CLOSE_MS);
}

void console_interrupt(struct console *c)
{
    lock_take(&c->lock);
    c->is_interrupted = true;
    if (c->visitor != NULL) {
        pawl_client_interrupt(c->visitor);
    }
    for (int i = 0; i < LOGINS_MAX; i++) {
        if (c->logins.items[i] != NULL) {
            pawl_client_interrupt(c->logins.items[i]->client);
        }
    }
    lock_give(&c->lock);
}

void console_free(struct console *c)
{
    end_logins(c, INT64_MAX, CLOSE_AT_END_MS);
    end_visitor(c, 0, CLOSE_AT_END_MS);
    json_decref(c->members);
    lock_fini(&c->lock);
    lock_fini(&c->members_lock);
    free(c);
}
