/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_server.c - running servers: each for itself, and whether they agree. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/files/doctor.h"
#include "cli/words.h"
#include "look/mntr.h"
#include "tls/tls.h"

enum { SLOW_MS = 100, MANY_WAITING = 100, EXPIRED_PER_HOUR = 20 };

/* What several of them say. */
struct census {
    struct tls_context *tls; /* they are asked with; NULL: in plain text */
    int64_t n, n_leaders, n_alone, n_serving;
    int64_t least_nodes, most_nodes, least_epoch, most_epoch;
};

static int64_t number_of(const struct strbuf *answer, const char *name)
{
    return mntr_number((struct pawl_bytes){answer->data, answer->len}, name);
}

static void count_in(struct census *c, struct strbuf *answer, const char *mode)
{
    int64_t nodes = number_of(answer, "Node count"), epoch;
    char zxid[64];

    words_text(answer, "Zxid: ", zxid, sizeof(zxid));
    epoch = (int64_t)(strtoull(zxid, NULL, 16) >> 32);
    c->n_leaders += strcmp(mode, "leader") == 0;
    c->n_alone += strcmp(mode, "standalone") == 0;
    if (c->n_serving++ == 0) {
        c->least_nodes = c->most_nodes = nodes;
        c->least_epoch = c->most_epoch = epoch;
    }
    c->least_nodes = nodes < c->least_nodes ? nodes : c->least_nodes;
    c->most_nodes = nodes > c->most_nodes ? nodes : c->most_nodes;
    c->least_epoch = epoch < c->least_epoch ? epoch : c->least_epoch;
    c->most_epoch = epoch > c->most_epoch ? epoch : c->most_epoch;
}

/* "Latency min/avg/max: 0/0.5/17" */
static void look_at_load(struct doctor *d, const char *name, struct strbuf *answer)
{
    int64_t waiting = number_of(answer, "Outstanding");
    char latency[64];
    double average = 0;

    words_text(answer, "Latency min/avg/max: ", latency, sizeof(latency));
    if (sscanf(latency, "%*[^/]/%lf", &average) == 1 && average > SLOW_MS) {
        doctor_tell(d, FINDING_RISK, name, "look at its disk and its processor",
                    "requests take %.0f ms on average", average);
    }
    if (waiting > MANY_WAITING) {
        doctor_tell(d, FINDING_RISK, name, "it gets more than it can do",
                    "%" PRId64 " requests wait", waiting);
    }
}

/* Sessions that end because nothing was heard of them. */
static void look_at_sessions(struct doctor *d, const char *name, const struct server_place *place,
                             struct tls_context *tls)
{
    struct strbuf answer;
    char why[1024];
    int64_t expired, uptime_ms;

    strbuf_init(&answer, WORDS_ANSWER_MAX);
    if (words_ask_one(d->cli, "mntr", place, tls, &answer, why, sizeof(why)) == EXIT_OK) {
        expired = number_of(&answer, "zk_stale_sessions_expired");
        uptime_ms = number_of(&answer, "zk_uptime");
        if (expired > EXPIRED_PER_HOUR && uptime_ms > 0 &&
            (double)expired * 3600000 / (double)uptime_ms > EXPIRED_PER_HOUR) {
            doctor_tell(d, FINDING_RISK, name,
                        "give clients a longer session timeout, or see why they are slow",
                        "%" PRId64 " sessions have expired in %" PRId64 " minutes", expired,
                        uptime_ms / 60000);
        } else {
            doctor_tell(d, FINDING_GOOD, name, NULL, "sessions do not expire often");
        }
    } else {
        doctor_tell(d, FINDING_NOTE, name, "allow mntr in 4lw.commands.whitelist",
                    "sessions cannot be looked at: %s", why);
    }
    strbuf_fini(&answer);
}

static void look_at_server(struct doctor *d, const struct server_place *place, struct census *c,
                           struct clock_bounds *clock)
{
    struct strbuf answer;
    char name[300], why[1024], mode[64];

    snprintf(name, sizeof(name), place->port > 0 ? "%s:%d" : "%s", place->name, place->port);
    strbuf_init(&answer, WORDS_ANSWER_MAX);
    c->n++;
    if (words_ask_one(d->cli, "srvr", place, c->tls, &answer, why, sizeof(why)) != EXIT_OK) {
        doctor_tell(d, FINDING_WRONG, name, "start it, or correct the address", "no answer: %s",
                    why);
        strbuf_fini(&answer);
        return;
    }
    words_text(&answer, "Mode: ", mode, sizeof(mode));
    if (mode[0] == '\0') {
        doctor_tell(d, FINDING_WRONG, name, "start more members: most of them must be there",
                    "it runs and does not serve: it has no leader");
    } else {
        doctor_tell(d, FINDING_GOOD, name, NULL, "it serves as %s", mode);
        count_in(c, &answer, mode);
        look_at_load(d, name, &answer);
        look_at_sessions(d, name, place, c->tls);
        doctor_clock(d, name, place, c->tls, clock);
    }
    strbuf_fini(&answer);
}

static void compare(struct doctor *d, const char *servers, const struct census *c)
{
    if (c->n_leaders > 1) {
        doctor_tell(d, FINDING_WRONG, servers, "compare their server.N lines and myid",
                    "%" PRId64 " of them lead", c->n_leaders);
    }
    if (c->n_alone > 0 && c->n > 1) {
        doctor_tell(d, FINDING_WRONG, servers, "see its server.N lines",
                    "%" PRId64 " of them stand alone, and have data of their own", c->n_alone);
    }
    if (c->n_serving > 1 && c->least_epoch != c->most_epoch) {
        doctor_tell(d, FINDING_RISK, servers, "ask again; if it stays so, see the one behind",
                    "they are in epochs %" PRId64 " to %" PRId64, c->least_epoch, c->most_epoch);
    }
    if (c->n_serving > 1 && c->most_nodes - c->least_nodes > c->most_nodes / 10 + 10) {
        doctor_tell(d, FINDING_RISK, servers, "ask again; if it stays so, see the one behind",
                    "they have %" PRId64 " to %" PRId64 " nodes", c->least_nodes, c->most_nodes);
    }
}

void doctor_servers(struct doctor *d, const char *servers)
{
    struct server_list list;
    struct census census = {0};
    struct clock_bounds *clocks;

    if (strncmp(servers, "local:", 6) == 0) {
        return; /* its server is whoever uses it */
    }
    if (server_list_parse(servers, &list) != PAWL_OK) {
        doctor_tell(d, FINDING_WRONG, servers, NULL, "that is no list of servers");
        return;
    }
    if (words_open_tls(d->cli, &list, &census.tls) == EXIT_OK) {
        clocks = must_zalloc(list.n * sizeof(*clocks));
        for (size_t i = 0; i < list.n; i++) {
            look_at_server(d, &list.items[i], &census, &clocks[i]);
        }
        compare(d, servers, &census);
        doctor_compare_clocks(d, servers, clocks, list.n);
        free(clocks);
    } else {
        doctor_tell(d, FINDING_WRONG, servers, NULL, "they cannot be asked with TLS");
    }
    tls_context_unref(census.tls);
    server_list_fini(&list);
}
