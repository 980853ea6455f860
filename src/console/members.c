/* SPDX-License-Identifier: Apache-2.0 */
#include "console/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "console/request.h"
#include "http/origin.h"

static struct member_place *add(struct member_places *m, const char *host, int port)
{
    struct member_place *one;

    if (m->n == MEMBERS_MAX) {
        return NULL;
    }
    one = &m->items[m->n++];
    *one = (struct member_place){
        .place = {.name = must_strdup(host), .port = port}, .id = -1, .is_reachable = true};
    ask_name(&one->place, one->name, sizeof(one->name));
    return one;
}

static bool is_at(const struct member_place *one, const struct request_member *r)
{
    return one->place.port == r->port &&
           (strcmp(one->place.name, r->host) == 0 ||
            (origin_is_loopback(one->place.name) && origin_is_loopback(r->host)));
}

static struct member_place *find(struct member_places *m, const struct request_member *r)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->items[i].id == -1 && is_at(&m->items[i], r)) {
            return &m->items[i];
        }
    }
    return NULL;
}

static void add_list(struct member_places *m, const char *servers)
{
    struct server_list list;

    if (server_list_parse(servers, &list) != PAWL_OK) {
        return;
    }
    for (size_t i = 0; i < list.n; i++) {
        struct request_member r = {.port = list.items[i].port};

        snprintf(r.host, sizeof(r.host), "%s", list.items[i].name);
        if (find(m, &r) == NULL) {
            add(m, list.items[i].name, list.items[i].port);
        }
    }
    server_list_fini(&list);
}

static void add_given(struct member_places *m, const char *servers)
{
    static const char local[] = "local:";
    char socket[1024];

    if (strncmp(servers, local, strlen(local)) == 0) {
        snprintf(socket, sizeof(socket), "unix:%s/socket", servers + strlen(local));
        servers = socket;
    }
    add_list(m, servers);
}

/* ---- the configuration of the ensemble ---- */

static void add_member(struct member_places *m, const struct request_member *r)
{
    struct member_place *one = r->port != 0 ? find(m, r) : NULL;

    if (one == NULL && (r->port != 0 || m->n == 1)) { /* else the list may have it already */
        one = add(m, r->host, r->port);
    }
    if (one != NULL) {
        one->id = r->id;
        one->is_observer = r->is_observer;
        one->is_reachable = one->is_reachable && r->port != 0;
        if (r->port == 0) {
            snprintf(one->name, sizeof(one->name), "%s (server.%lld)", r->host, (long long)r->id);
        }
    }
}

static void add_configured(struct member_places *m, struct pawl_bytes text)
{
    const char *at = text.data, *end = at + text.len;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline : end) - at);
        struct request_member r;

        if (request_member(bytes_of(at, len), &r)) {
            add_member(m, &r);
        }
        at += len + 1;
    }
}

void member_places_read(struct call *c, struct member_places *out)
{
    struct pawl_client *impatient;
    struct pawl_reply *reply = NULL;

    out->n = 0;
    add_given(out, c->console->options.servers);
    if (c->console->options.others != NULL) {
        add_list(out, c->console->options.others);
    }
    if (pawl_client_view(c->client, PAWL_VIEW_OPTIONS(.timeout_ms = 500), &impatient) != PAWL_OK) {
        return;
    }
    if (pawl_config(impatient, NULL, &reply) == PAWL_OK) { /* who has no session shows the list */
        add_configured(out, reply->data);
    }
    pawl_reply_free(reply);
    pawl_client_close(impatient);
}

void member_places_fini(struct member_places *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->items[i].place.name);
    }
}

enum ask_outcome member_ask(const struct console *c, const struct member_place *m, const char *word,
                            struct strbuf *answer, char *why, size_t why_size)
{
    const struct console_options *o = &c->options;
    struct ask_options options = {
        .tls = o->words_tls,
        .tls_name = o->tls != NULL ? o->tls->server_name : NULL,
        .timeout_ms = o->timeout_ms < 1000 ? o->timeout_ms : 1000,
    };

    if (!m->is_reachable) {
        snprintf(why, why_size, "its port for clients is not in the configuration");
        return ASK_UNREACHABLE;
    }
    if (o->ask_self != NULL && strcmp(m->name, o->self) == 0) {
        return o->ask_self(o->ask_self_arg, word, answer, why, why_size);
    }
    return ask_server(word, &m->place, &options, answer, why, why_size);
}
