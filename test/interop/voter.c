/* SPDX-License-Identifier: Apache-2.0 */
/* voter.c - a server that takes part in elections and does nothing else.
 *
 *   voter ID ZXID EPOCH < orders
 *
 * The first line of its input is its configuration, lines separated by ';' in place of a newline
 * and ',' in place of ';'. Then, a line each:
 *
 *   start ZXID EPOCH    look for a leader
 *   synced EPOCH        the role is taken up
 *
 * It prints "elected LEADER STATE MILLISECONDS" and ends with its input. Numbers may be 0x... */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/election_net.h"
#include "os/clock.h"
#include "os/socket.h"
#include "quorum/election.h"

enum { LINE_BYTES = 4096 };

struct voter {
    uv_loop_t loop;
    uv_timer_t timer;
    uv_poll_t orders;
    struct quorum_config config;
    struct election *election;
    struct election_net *net;
    struct election_effects effects;
    int64_t began_us;
};

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "voter: %s: %s\n", what, why);
    exit(1);
}

static void step(struct voter *v, const struct election_input *in);

static void on_tick(uv_timer_t *timer)
{
    step(timer->data, &(struct election_input){.kind = ELECTION_TICK});
}

static void carry_out(struct voter *v, const struct election_effect *e, int64_t now_us)
{
    static const char *const states[] = {"LOOKING", "FOLLOWING", "LEADING", "OBSERVING"};

    if (e->kind == ELECTION_NOTIFY) {
        election_net_send(v->net, e->id, e->bytes);
    } else {
        printf("elected %" PRId64 " %s %" PRId64 "\n", e->id, states[e->state],
               (now_us - v->began_us) / 1000);
        fflush(stdout);
    }
}

static void step(struct voter *v, const struct election_input *in)
{
    int64_t now_us = clock_monotonic_us(), next_us;

    election_step(v->election, now_us, in, &v->effects);
    for (size_t i = 0; i < v->effects.n; i++) {
        carry_out(v, &v->effects.effect[i], now_us);
    }
    election_effects_clear(&v->effects);
    next_us = election_next_us(v->election);
    uv_timer_stop(&v->timer);
    if (next_us != INT64_MAX) {
        uv_update_time(&v->loop);
        uv_timer_start(&v->timer, on_tick,
                       next_us > now_us ? (uint64_t)(next_us - now_us) / 1000 + 1 : 0, 0);
    }
}

static void on_heard(void *arg, int64_t id, struct bytes payload)
{
    step(arg, &(struct election_input){.kind = ELECTION_NOTIFICATION, .id = id, .bytes = payload});
}

static void on_refused(void *arg, int64_t id)
{
    step(arg, &(struct election_input){.kind = ELECTION_REFUSED, .id = id});
}

static void look(struct voter *v, const char *zxid, const char *epoch)
{
    v->began_us = clock_monotonic_us();
    step(v, &(struct election_input){.kind = ELECTION_START,
                                     .zxid = (int64_t)strtoull(zxid, NULL, 0),
                                     .epoch = (int64_t)strtoull(epoch, NULL, 0)});
}

static void on_order(uv_poll_t *poll, int status, int events)
{
    struct voter *v = poll->data;
    char line[LINE_BYTES], a[64] = "", b[64] = "";

    (void)events;
    if (status < 0 || fgets(line, sizeof(line), stdin) == NULL) {
        uv_stop(&v->loop);
    } else if (sscanf(line, "start %63s %63s", a, b) == 2) {
        look(v, a, b);
    } else if (sscanf(line, "synced %63s", a) == 1) {
        step(v, &(struct election_input){.kind = ELECTION_SYNCED,
                                         .epoch = (int64_t)strtoull(a, NULL, 0)});
    }
}

static void read_config(struct voter *v)
{
    char line[LINE_BYTES];
    struct strbuf why;

    if (fgets(line, sizeof(line), stdin) == NULL) {
        give_up("configuration", "none was given");
    }
    for (char *c = line; *c != '\0'; c++) {
        *c = (char)(*c == ';' ? '\n' : *c == ',' ? ';' : *c);
    }
    strbuf_init(&why, STRBUF_NO_LIMIT);
    if (!quorum_config_read(&v->config, bytes_str(line), &why)) {
        give_up("configuration", strbuf_cstr(&why));
    }
    strbuf_fini(&why);
}

static void open_port(struct voter *v, int64_t id)
{
    int me = quorum_config_find(&v->config, id), fd, port;

    if (me < 0) {
        give_up("configuration", "this server is not in it");
    }
    port = v->config.member[me].address[0].election_port;
    if (socket_listen_tcp(v->config.member[me].address[0].host, port, 16, &fd, &port) != 0) {
        give_up("election port", socket_last_error());
    }
    v->net = election_net_new(&(struct election_net_options){.loop = &v->loop,
                                                             .id = id,
                                                             .config = &v->config,
                                                             .listeners = &fd,
                                                             .n_listeners = 1,
                                                             .connect_ms = 5000,
                                                             .hello_ms = 10000,
                                                             .heard = on_heard,
                                                             .refused = on_refused,
                                                             .arg = v});
}

int main(int argc, char **argv)
{
    struct voter v = {0};
    int64_t id = argc == 4 ? strtoll(argv[1], NULL, 0) : -1;

    if (id < 0) {
        give_up("usage", "voter ID ZXID EPOCH < orders");
    }
    setvbuf(stdin, NULL, _IONBF, 0); /* what is read ahead the loop would not see */
    read_config(&v);
    uv_loop_init(&v.loop);
    uv_timer_init(&v.loop, &v.timer);
    uv_poll_init(&v.loop, &v.orders, STDIN_FILENO);
    v.timer.data = v.orders.data = &v;
    election_effects_init(&v.effects);
    v.election = election_new(&(struct election_options){.id = id, .config = &v.config});
    open_port(&v, id);
    uv_poll_start(&v.orders, UV_READABLE, on_order);
    look(&v, argv[2], argv[3]);
    uv_run(&v.loop, UV_RUN_DEFAULT);
    return 0;
}
