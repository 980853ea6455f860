/* SPDX-License-Identifier: Apache-2.0 */
/* top.c - a row for each server of the list: what it is, how much it has and does. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/screen.h"
#include "cli/text.h"
#include "cli/words.h"
#include "look/mntr.h"
#include "os/clock.h"

enum { INTERVAL_MS = 2000 };

/* What a server said the last time. */
struct row {
    char *server;
    int64_t at_ms, received, sent;
};

struct top {
    struct cli *cli;
    bool is_on_screen;
    struct screen screen; /* then */
    struct row *rows;     /* as many as there are servers */
    size_t n;
};

static const struct {
    const char *title, *name, *json;
    int width;
} columns[] = {{"conns", "zk_num_alive_connections", "connections", 7},
               {"waiting", "zk_outstanding_requests", "outstanding", 8},
               {"nodes", "zk_znode_count", "nodes", 10},
               {"bytes", "zk_approximate_data_size", "bytes", 12},
               {"watches", "zk_watch_count", "watches", 9},
               {"ephem", "zk_ephemerals_count", "ephemerals", 8},
               {"avg ms", "zk_avg_latency", "latency_avg_ms", 7},
               {"max ms", "zk_max_latency", "latency_max_ms", 7}};
enum { N_COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static struct row *row_of(struct top *t, const char *server)
{
    for (size_t i = 0; i < t->n; i++) {
        if (strcmp(t->rows[i].server, server) == 0) {
            return &t->rows[i];
        }
    }
    t->rows = must_realloc(t->rows, (t->n + 1) * sizeof(*t->rows));
    t->rows[t->n] = (struct row){.server = must_strdup(server), .received = -1, .sent = -1};
    return &t->rows[t->n++];
}

/* Per second since the last look; -1: not known yet, or it was started anew. */
static int64_t rate(int64_t before, int64_t now, int64_t ms)
{
    return before >= 0 && now >= before && ms > 0 ? (now - before) * 1000 / ms : -1;
}

static void print_number(int width, int64_t n)
{
    if (n >= 0) {
        printf(" %*" PRId64, width, n);
    } else {
        printf(" %*s", width, "-");
    }
}

static void state_of(struct pawl_bytes answer, char *out, size_t size)
{
    struct pawl_bytes text;

    snprintf(out, size, "-");
    if (mntr_text(answer, "zk_server_state", &text)) {
        snprintf(out, size, "%.*s", (int)text.len, (const char *)text.data);
    }
    for (char *p = out; *p != '\0'; p++) {
        *p = *p >= 0x20 && *p < 0x7f ? *p : '?'; /* whatever a terminal would make of it */
    }
}

static void print_json_row(const char *server, const char *state, struct pawl_bytes answer,
                           int64_t received, int64_t sent)
{
    json_open(NULL, '{');
    json_text("server", server);
    json_text("state", state);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        int64_t n = mntr_number(answer, columns[i].name);

        if (n >= 0) {
            json_number(columns[i].json, n);
        }
    }
    if (received >= 0) {
        json_number("received_per_second", received);
        json_number("sent_per_second", sent);
    }
    json_close('{');
}

static void print_row(const char *server, struct pawl_bytes answer, bool is_one_of_many, void *arg)
{
    struct top *t = arg;
    struct row *row = row_of(t, server);
    int64_t now_ms = clock_monotonic_ms();
    int64_t n_received = mntr_number(answer, "zk_packets_received");
    int64_t n_sent = mntr_number(answer, "zk_packets_sent");
    int64_t received = rate(row->received, n_received, now_ms - row->at_ms);
    int64_t sent = rate(row->sent, n_sent, now_ms - row->at_ms);
    char state[16];

    (void)is_one_of_many;
    row->at_ms = now_ms;
    row->received = n_received;
    row->sent = n_sent;
    state_of(answer, state, sizeof(state));
    if (t->cli->json) {
        print_json_row(server, state, answer, received, sent);
        return;
    }
    printf("%-24.24s %-10.10s", server, state);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        print_number(columns[i].width, mntr_number(answer, columns[i].name));
    }
    print_number(8, received);
    print_number(8, sent);
    fputs(t->is_on_screen ? "\033[K\n" : "\n", stdout);
}

static void print_titles(struct top *t)
{
    char time[40];

    if (t->is_on_screen) {
        text_time(clock_wall_ms(), time, sizeof(time));
        screen_begin(&t->screen);
        printf("pawl top  %s  (^C ends)\033[K\n", time);
    }
    printf("%-24s %-10s", "server", "state");
    for (size_t i = 0; i < N_COLUMNS; i++) {
        printf(" %*s", columns[i].width, columns[i].title);
    }
    printf(" %8s %8s%s\n", "recv/s", "sent/s", t->is_on_screen ? "\033[K" : "");
}

static int look(struct top *t)
{
    int status;

    if (!t->cli->json) {
        print_titles(t);
    }
    fflush(stdout);
    status = words_ask_all(t->cli, "mntr", print_row, t);
    if (t->is_on_screen) {
        screen_end(&t->screen);
    }
    fflush(stdout);
    return status;
}

/* A server that does not answer may do so the next time; one round without any is the end. */
static int look_until_ended(struct top *t, int interval_ms)
{
    struct pollfd signals = {.fd = cli_signal_fd(), .events = POLLIN};
    int status;

    do {
        status = look(t);
        if (t->n == 0) {
            return status;
        }
        poll(&signals, 1, interval_ms);
    } while (cli_signal() == 0 && !ferror(stdout));
    return cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : EXIT_OK;
}

static bool is_good(struct cli *cli, const struct args *args)
{
    int interval_ms = INTERVAL_MS;

    if (!args_duration(args, cli, 'i', &interval_ms)) {
        return false;
    }
    if (interval_ms < 100) {
        cli_error(cli, "--interval: 100ms or more");
        return false;
    }
    return true;
}

static int run_top(struct cli *cli, const struct args *args)
{
    struct top t = {.cli = cli};
    int interval_ms = INTERVAL_MS, status;

    args_duration(args, cli, 'i', &interval_ms);
    t.is_on_screen = isatty(STDOUT_FILENO) && !cli->json && !args_has(args, '1');
    cli_catch_signals();
    if (t.is_on_screen) {
        screen_open(&t.screen, cli);
    }
    status = args_has(args, '1') ? look(&t) : look_until_ended(&t, interval_ms);
    if (t.is_on_screen) {
        screen_close(&t.screen);
    }
    for (size_t i = 0; i < t.n; i++) {
        free(t.rows[i].server);
    }
    free(t.rows);
    return status;
}

static const struct option_spec top_options[] = {
    {'1', "once", NULL, "look once"},
    {'i', "interval", "DURATION", "look so often; 2s by default"},
    {0, NULL, NULL, NULL}};

const struct command command_top = {
    .name = "top",
    .synopsis = "[-1] [-i DURATION]",
    .summary = "show what each server of the list has and does, until ended",
    .options = top_options,
    .opens_itself = true,
    .is_good = is_good,
    .run = run_top};
