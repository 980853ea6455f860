/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_clocks.c - whether the clocks of servers are like this machine's, and like each other's.
 *
 * The word cons tells when, by the server's clock, each connection was made. We make one, and know
 * by our own clock before and after which moment that was. So the difference of the clocks is known
 * to the time that this took, which is some milliseconds, and no node is written.
 *
 * Where cons is not answered, and a node was named for it, that node is made and removed: the stat
 * has the time by the leader's clock. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/files/doctor.h"
#include "cli/words.h"
#include "look/cons.h"
#include "os/clock.h"
#include "wire/server_list.h"

/* TTLs and the times of nodes go by these clocks. */
enum { APART_MS = 1000 };

static int64_t since_of(const struct strbuf *answer, uint64_t session_id)
{
    const char *at = (const char *)answer->data, *end = at + answer->len;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline : end) - at);
        struct cons c;

        if (len > 0 && cons_parse(at, len, &c) && c.session_id == session_id) {
            return c.since_ms;
        }
        at += len + 1;
    }
    return -1;
}

/* A client of this server alone. NULL: there is no session. */
static struct pawl_client *open_one(struct doctor *d, const struct server_place *place,
                                    bool is_secure)
{
    bool has_colon = strchr(place->name, ':') != NULL;
    struct pawl_client_options options;
    struct pawl_tls_options tls;
    struct pawl_client *client = NULL;
    struct strbuf servers;

    strbuf_init(&servers, STRBUF_NO_LIMIT);
    strbuf_append_str(&servers, is_secure ? "zks://" : "");
    if (place->port > 0) {
        strbuf_printf(&servers, has_colon ? "[%s]:%d" : "%s:%d", place->name, place->port);
    } else {
        strbuf_printf(&servers, "unix:%s", place->name);
    }
    cli_client_options(d->cli, &options, &tls);
    options.servers = strbuf_cstr(&servers);
    options.tls = is_secure ? &tls : NULL;
    if (pawl_client_open(&options, &client) == PAWL_OK &&
        pawl_client_wait_connected(client, d->cli->connect_timeout_ms) != PAWL_OK) {
        pawl_client_close(client);
        client = NULL;
    }
    strbuf_fini(&servers);
    return client;
}

/* The moment `then_ms` of its clock was between two of ours. */
static void note(struct clock_bounds *b, int64_t then_ms, int64_t before_ms, int64_t after_ms)
{
    *b = (struct clock_bounds){
        .is_known = true, .least_ms = then_ms - after_ms - 1, .most_ms = then_ms - before_ms + 1};
}

static void look_by_node(const char *path, struct pawl_client *client, struct clock_bounds *out)
{
    struct pawl_create create = {.size = sizeof(create), .path = path, .mode = PAWL_MODE_EPHEMERAL};
    struct pawl_delete delete = {.size = sizeof(delete), .path = path};
    int64_t before_ms = clock_wall_ms();
    struct pawl_reply *reply;

    pawl_create(client, &create, &reply);
    if (reply != NULL && reply->err == PAWL_OK) {
        if (reply->stat.ctime > 0) { /* servers before 3.5 do not tell */
            note(out, reply->stat.ctime, before_ms, clock_wall_ms());
        }
        pawl_delete(client, &delete, NULL);
    }
    pawl_reply_free(reply);
}

static void tell(struct doctor *d, const char *name, const struct clock_bounds *b)
{
    int64_t middle_ms = b->least_ms + (b->most_ms - b->least_ms) / 2;
    int64_t about_ms = (b->most_ms - b->least_ms + 1) / 2;

    if (b->least_ms > APART_MS || b->most_ms < -APART_MS) {
        doctor_tell(d, FINDING_RISK, name, "run chrony or systemd-timesyncd there and here",
                    "its clock is %" PRId64 " ms %s this machine's, give or take %" PRId64 " ms",
                    middle_ms < 0 ? -middle_ms : middle_ms, middle_ms < 0 ? "behind" : "ahead of",
                    about_ms);
    } else {
        doctor_tell(d, FINDING_GOOD, name, NULL,
                    "its clock is like this machine's: %+" PRId64 " ms, give or take %" PRId64
                    " ms",
                    middle_ms, about_ms);
    }
}

void doctor_clock(struct doctor *d, const char *name, const struct server_place *place,
                  struct tls_context *tls, struct clock_bounds *out)
{
    int64_t before_ms = clock_wall_ms(), after_ms, since_ms = -1;
    struct pawl_client *client = open_one(d, place, tls != NULL);
    struct strbuf answer;
    char why[1024] = "it gives no session";

    *out = (struct clock_bounds){0};
    after_ms = clock_wall_ms();
    strbuf_init(&answer, WORDS_ANSWER_MAX);
    if (client != NULL &&
        words_ask_one(d->cli, "cons", place, tls, &answer, why, sizeof(why)) == EXIT_OK) {
        since_ms = since_of(&answer, (uint64_t)pawl_client_session_id(client));
        snprintf(why, sizeof(why), "its word cons does not tell of this session");
    }
    if (since_ms >= 0) {
        note(out, since_ms, before_ms, after_ms);
    } else if (client != NULL && d->clock_node != NULL) {
        look_by_node(d->clock_node, client, out);
    }
    if (out->is_known) {
        tell(d, name, out);
    } else {
        doctor_tell(d, FINDING_NOTE, name,
                    "allow cons in 4lw.commands.whitelist, or name a node with --clock-node",
                    "its clock cannot be looked at: %s", why);
    }
    strbuf_fini(&answer);
    if (client != NULL) {
        pawl_client_close(client);
    }
}

void doctor_compare_clocks(struct doctor *d, const char *servers, const struct clock_bounds *all,
                           size_t n)
{
    int64_t most_ahead_ms = INT64_MIN, most_behind_ms = INT64_MAX;
    size_t n_known = 0;

    for (size_t i = 0; i < n; i++) {
        if (all[i].is_known) {
            n_known++;
            most_ahead_ms = all[i].least_ms > most_ahead_ms ? all[i].least_ms : most_ahead_ms;
            most_behind_ms = all[i].most_ms < most_behind_ms ? all[i].most_ms : most_behind_ms;
        }
    }
    if (n_known < 2) {
        return;
    }
    if (most_ahead_ms - most_behind_ms > APART_MS) {
        doctor_tell(d, FINDING_RISK, servers, "run chrony or systemd-timesyncd on all of them",
                    "their clocks are %" PRId64 " ms apart, or more; when the leader changes, "
                    "times of nodes and TTLs jump",
                    most_ahead_ms - most_behind_ms);
    } else {
        doctor_tell(d, FINDING_GOOD, servers, NULL, "their clocks agree");
    }
}
