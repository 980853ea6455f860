/* SPDX-License-Identifier: Apache-2.0 */
/* api_members.c - what servers say of themselves: state and figures, sessions, watches,
 * configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/members.h"
#include "console/request.h"
#include "console/wander.h"
#include "look/cons.h"
#include "look/mntr.h"
#include "os/clock.h"

enum { ANSWER_MAX = 16 << 20, ROWS_MAX = 5000, LINE_MAX = 4096 };

/* ---- lines of text ---- */

struct lines {
    struct bytes rest;
};

static bool next_line(struct lines *l, struct bytes *out)
{
    const uint8_t *end;
    size_t len;

    if (l->rest.len == 0) {
        return false;
    }
    end = memchr(l->rest.data, '\n', l->rest.len);
    len = end != NULL ? (size_t)(end - l->rest.data) : l->rest.len;
    *out = bytes_of(l->rest.data, len > 0 && l->rest.data[len - 1] == '\r' ? len - 1 : len);
    l->rest.data += len + (end != NULL);
    l->rest.len -= len + (end != NULL);
    return true;
}

/* "name<separator>value" into a member of `out`. */
static void put_pair(json_t *out, struct bytes line, char separator)
{
    const uint8_t *at = line.len < LINE_MAX ? memchr(line.data, separator, line.len) : NULL;
    char name[128];

    if (at == NULL || at == line.data || (size_t)(at - line.data) >= sizeof(name)) {
        return;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(at - line.data), (const char *)line.data);
    json_object_set_new(out, name,
                        json_of_bytes(bytes_of(at + 1, line.len - (size_t)(at + 1 - line.data))));
}

static json_t *json_of_pairs(const struct strbuf *text, char separator)
{
    struct lines l = {strbuf_bytes(text)};
    json_t *out = json_object();
    struct bytes line;

    while (next_line(&l, &line) && json_object_size(out) < ROWS_MAX) {
        put_pair(out, line, separator);
    }
    return out;
}

/* ---- overview ---- */

static void put_number(json_t *out, const char *name, struct pawl_bytes text, const char *field)
{
    int64_t n = mntr_number(text, field);

    json_object_set_new(out, name, n >= 0 ? json_integer(n) : json_null());
}

static void put_field(json_t *out, const char *name, struct pawl_bytes text, const char *field)
{
    struct pawl_bytes value;

    if (mntr_text(text, field, &value)) {
        json_object_set_new(out, name, json_of_bytes(bytes_of(value.data, value.len)));
    } else {
        json_object_set_new(out, name, json_null());
    }
}

static void put_srvr(json_t *out, const struct strbuf *answer)
{
    struct pawl_bytes text = {answer->data, answer->len};

    put_field(out, "mode", text, "Mode");
    put_field(out, "zxid", text, "Zxid");
    put_field(out, "version", text, "Zookeeper version");
    put_field(out, "latency", text, "Latency min/avg/max");
    put_number(out, "received", text, "Received");
    put_number(out, "sent", text, "Sent");
    put_number(out, "connections", text, "Connections");
    put_number(out, "outstanding", text, "Outstanding");
    put_number(out, "nodes", text, "Node count");
}

static void put_mntr(const struct console *c, json_t *out, const struct member_place *m)
{
    struct strbuf answer;
    char why[256];

    strbuf_init(&answer, ANSWER_MAX);
    if (member_ask(c, m, "mntr", &answer, why, sizeof(why)) == ASK_ANSWERED) {
        json_object_set_new(out, "mntr", json_of_pairs(&answer, '\t'));
    }
    strbuf_fini(&answer);
}

static json_t *json_of_member(const struct console *c, const struct member_place *m)
{
    json_t *out = json_object();
    struct strbuf answer;
    char why[256] = "";

    strbuf_init(&answer, ANSWER_MAX);
    json_object_set_new(out, "name", json_of_text(m->name));
    json_object_set_new(out, "id", m->id >= 0 ? json_integer(m->id) : json_null());
    json_object_set_new(out, "observer", json_boolean(m->is_observer));
    json_object_set_new(out, "known", json_boolean(m->is_reachable));
    if (member_ask(c, m, "srvr", &answer, why, sizeof(why)) == ASK_ANSWERED) {
        put_srvr(out, &answer);
        put_mntr(c, out, m);
    }
    json_object_set_new(out, "error", why[0] != '\0' ? json_of_text(why) : json_null());
    strbuf_fini(&answer);
    return out;
}

static json_t *ask_members(struct call *c)
{
    struct member_places places;
    json_t *list = json_array();

    member_places_read(c, &places);
    for (size_t i = 0; i < places.n; i++) {
        json_array_append_new(list, json_of_member(c->console, &places.items[i]));
    }
    member_places_fini(&places);
    return list;
}

/* However many pages are open, the members are asked twice a second at most. */
void api_overview(struct call *c)
{
    enum { FRESH_MS = 500 };
    struct console *console = c->console;

    lock_take(&console->members_lock);
    if (console->members == NULL || clock_monotonic_ms() - console->members_ms >= FRESH_MS) {
        json_decref(console->members);
        console->members = ask_members(c);
        console->members_ms = clock_monotonic_ms();
    }
    json_object_set_new(c->out, "members", json_deep_copy(console->members));
    json_object_set_new(c->out, "at", json_integer(console->members_ms));
    lock_give(&console->members_lock);
}

/* ---- a word to all ---- */

typedef void (*take_fn)(json_t *out, const struct member_place *m, const struct strbuf *answer);

/* `out` gets what `take` makes of the answers; what is not answered is told in "unanswered". */
static void ask_all(struct call *c, const char *word, take_fn take, json_t *out)
{
    json_t *unanswered = json_object_get(c->out, "unanswered");
    struct member_places places;

    member_places_read(c, &places);
    for (size_t i = 0; i < places.n; i++) {
        struct strbuf answer;
        char why[256] = "";

        strbuf_init(&answer, ANSWER_MAX);
        if (member_ask(c->console, &places.items[i], word, &answer, why, sizeof(why)) ==
            ASK_ANSWERED) {
            take(out, &places.items[i], &answer);
        } else {
            json_array_append_new(unanswered, json_pack("{s:o, s:s, s:o}", "member",
                                                        json_of_text(places.items[i].name), "word",
                                                        word, "why", json_of_text(why)));
        }
        strbuf_fini(&answer);
    }
    member_places_fini(&places);
}

/* ---- sessions ---- */

static json_t *json_or_null(int64_t n)
{
    return n >= 0 ? json_integer(n) : json_null();
}

static void take_cons(json_t *out, const struct member_place *m, const struct strbuf *answer)
{
    struct lines l = {strbuf_bytes(answer)};
    struct bytes line;
    struct cons one;

    while (next_line(&l, &line) && json_array_size(out) < ROWS_MAX) {
        if (cons_parse((const char *)line.data, line.len, &one)) {
            json_array_append_new(
                out,
                json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "session",
                          json_of_hex(one.session_id), "client",
                          json_of_bytes(bytes_of(one.client, one.client_len)), "member",
                          json_of_text(m->name), "since", json_or_null(one.since_ms), "timeout",
                          json_or_null(one.timeout_ms), "received", json_or_null(one.received),
                          "sent", json_or_null(one.sent), "queued", json_or_null(one.queued)));
        }
    }
}

static bool is_heading(struct bytes line)
{
    return line.len > 3 && line.data[0] == '0' && line.data[1] == 'x' &&
           line.data[line.len - 1] == ':';
}

/* "0x100:" and, below it, "<tab>/path" lines: {"0x100": ["/path"]}. Every member knows all. */
static void take_dump(json_t *out, const struct member_place *m, const struct strbuf *answer)
{
    struct lines l = {strbuf_bytes(answer)};
    json_t *paths = NULL;
    struct bytes line;
    size_t n = 0;

    (void)m;
    if (json_object_size(out) > 0) {
        return;
    }
    while (next_line(&l, &line) && n < ROWS_MAX) {
        if (is_heading(line) && line.len < 40) {
            char session[40];

            snprintf(session, sizeof(session), "%.*s", (int)line.len - 1, (const char *)line.data);
            paths = json_array();
            json_object_set_new(out, session, paths);
        } else if (paths != NULL && line.len > 1 && line.data[0] == '\t') {
            json_array_append_new(paths, json_of_bytes(bytes_of(line.data + 1, line.len - 1)));
            n++;
        } else {
            paths = NULL;
        }
    }
}

void api_sessions(struct call *c)
{
    json_t *sessions = json_array(), *ephemerals = json_object();

    json_object_set_new(c->out, "unanswered", json_array());
    json_object_set_new(c->out, "sessions", sessions);
    json_object_set_new(c->out, "ephemerals", ephemerals);
    ask_all(c, "cons", take_cons, sessions);
    ask_all(c, "dump", take_dump, ephemerals);
}

/* ---- watches ---- */

/* "/path" and, below it, "<tab>0x100" lines. */
static void take_wchp(json_t *out, const struct member_place *m, const struct strbuf *answer)
{
    struct lines l = {strbuf_bytes(answer)};
    json_t *sessions = NULL;
    struct bytes line;
    size_t n = 0;

    while (next_line(&l, &line) && n < ROWS_MAX) {
        if (line.len > 0 && line.data[0] == '/') {
            sessions = json_array();
            json_array_append_new(out,
                                  json_pack("{s:o, s:o, s:o}", "path", json_of_bytes(line),
                                            "member", json_of_text(m->name), "sessions", sessions));
        } else if (sessions != NULL && line.len > 1 && line.data[0] == '\t') {
            json_array_append_new(sessions, json_of_bytes(bytes_of(line.data + 1, line.len - 1)));
            n++;
        }
    }
}

void api_watches(struct call *c)
{
    json_t *watches = json_array();

    json_object_set_new(c->out, "unanswered", json_array());
    json_object_set_new(c->out, "watches", watches);
    ask_all(c, "wchp", take_wchp, watches);
}

/* ---- configuration ---- */

static void take_conf(json_t *out, const struct member_place *m, const struct strbuf *answer)
{
    json_array_append_new(out, json_pack("{s:o, s:o}", "member", json_of_text(m->name), "values",
                                         json_of_pairs(answer, '=')));
}

void api_configuration(struct call *c)
{
    json_t *members = json_array();
    struct pawl_reply *reply = NULL;

    json_object_set_new(c->out, "unanswered", json_array());
    json_object_set_new(c->out, "members", members);
    ask_all(c, "conf", take_conf, members);
    if (pawl_config(c->client, NULL, &reply) == PAWL_OK) {
        json_object_set_new(c->out, "ensemble",
                            json_of_bytes(bytes_of(reply->data.data, reply->data.len)));
    }
    pawl_reply_free(reply);
}

/* ---- quotas ---- */

#define QUOTA_TOP "/zookeeper/quota"

static json_t *text_of_node(struct call *c, const char *folder, const char *name)
{
    struct pawl_reply *reply = NULL;
    json_t *text = NULL;
    char path[2048];

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
        pawl_get(c->client, path, NULL, &reply) == PAWL_OK) {
        text = json_of_bytes(bytes_of(reply->data.data, reply->data.len));
    }
    pawl_reply_free(reply);
    return text != NULL ? text : json_null();
}

static bool has_limits(const struct pawl_strings *names)
{
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->items[i], "zookeeper_limits") == 0) {
            return true;
        }
    }
    return false;
}

void api_quotas(struct call *c)
{
    const struct pawl_reply *reply;
    json_t *quotas = json_array();
    struct wander w;
    const char *path;
    int n = 0;

    wander_begin(&w, c->client, QUOTA_TOP, NULL);
    while ((path = wander_next(&w)) != NULL && n++ < ROWS_MAX) {
        if (wander_enter(&w, &reply) == PAWL_OK && has_limits(&reply->children)) {
            const char *of = path + strlen(QUOTA_TOP);

            json_array_append_new(
                quotas, json_pack("{s:o, s:o, s:o}", "path", json_of_text(*of != '\0' ? of : "/"),
                                  "limits", text_of_node(c, path, "zookeeper_limits"), "used",
                                  text_of_node(c, path, "zookeeper_stats")));
        }
    }
    wander_fini(&w);
    json_object_set_new(c->out, "quotas", quotas);
}
