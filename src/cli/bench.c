/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - `pawl bench`: load on a server, and how long it takes to answer.
 *
 * Everything happens below a node of its own, which goes when it is done, also when it is
 * interrupted. Each client is a session; each keeps some requests in flight, and the callback of
 * one sends the next. What a callback touches belongs to the dispatch thread of its client; the
 * main thread looks at it after that client was closed. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <pawl/lock.h>

#include "base/memory.h"
#include "base/prng.h"
#include "base/strbuf.h"
#include "cli/args.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/latency.h"
#include "os/clock.h"

enum { CLIENTS_MAX = 1000, IN_FLIGHT_MAX = 10000, NODES_MAX = 1000000, SIZE_MAX_BYTES = 1000000 };
enum { DEFAULT_DURATION_MS = 10000 };

enum load { LOAD_READS, LOAD_WRITES, LOAD_MIXED, LOAD_LOCKS, LOAD_WATCHES, LOAD_SESSIONS, N_LOADS };

static const struct {
    const char *name, *what;
} loads[N_LOADS] = {[LOAD_READS] = {"reads", "get"},
                    [LOAD_WRITES] = {"writes", "set"},
                    [LOAD_MIXED] = {"mixed", "get or set"},
                    [LOAD_LOCKS] = {"locks", "acquire and release"},
                    [LOAD_WATCHES] = {"watches", "set until its event"},
                    [LOAD_SESSIONS] = {"sessions", "open and close"}};

struct bench {
    struct cli *cli;
    enum load load;
    int64_t n_clients, n_in_flight, n_nodes, size_bytes, read_percent;
    int64_t n_wanted; /* requests in all; 0: as many as there is time for */
    int duration_ms;  /* if no number was given */
    char *top;        /* the node of its own */
    struct pawl_bytes data;
    int timer_fd; /* readable when it is over */
    atomic_bool is_over;
    atomic_int_least64_t n_left; /* to be sent */
    atomic_int n_active;         /* slots that are not done yet */
    struct worker *workers;
};

/* One session. */
struct worker {
    struct bench *bench;
    struct pawl_client *client;
    struct pawl_lock *lock;
    pthread_t thread; /* of LOAD_SESSIONS */
    bool has_thread;
    struct slot *slots;
    struct prng random;
    struct latency latency;
    int64_t n_errors;
    int first_error;
};

/* One request in flight. */
struct slot {
    struct worker *worker;
    int64_t started_us;
    char *path;       /* of LOAD_WATCHES: its own node */
    bool is_given_up; /* its event does not count any more */
};

static void send_next(struct slot *slot);

/* ---- slots ---- */

static void end_now(struct bench *b)
{
    struct itimerspec at_once = {.it_value = {.tv_nsec = 1}};

    timerfd_settime(b->timer_fd, 0, &at_once, NULL);
}

static void slot_done(struct slot *slot)
{
    if (atomic_fetch_sub(&slot->worker->bench->n_active, 1) == 1) {
        end_now(slot->worker->bench);
    }
}

/* Is there one more to be sent? */
static bool take_one(struct bench *b)
{
    return !atomic_load(&b->is_over) && (b->n_wanted == 0 || atomic_fetch_sub(&b->n_left, 1) > 0);
}

static void note_end(struct slot *slot, int err)
{
    struct worker *w = slot->worker;

    if (err == PAWL_OK && !atomic_load(&w->bench->is_over)) {
        latency_add(&w->latency, (uint64_t)(clock_monotonic_us() - slot->started_us));
    }
    if (err != PAWL_OK && !atomic_load(&w->bench->is_over)) {
        w->first_error = w->n_errors++ == 0 ? err : w->first_error;
    }
}

/* After an error it is not tried again and again as fast as the machine can: this slot is done. */
static void note_and_go_on(struct slot *slot, int err)
{
    note_end(slot, err);
    if (err == PAWL_OK) {
        send_next(slot);
    } else {
        slot_done(slot);
    }
}

/* ---- reads and writes ---- */

/* As long as the user's path makes it; the caller frees it. */
static char *node_path(const struct bench *b, int64_t i)
{
    enum { NUMBER_BYTES = 24 };
    size_t size = strlen(b->top) + NUMBER_BYTES;
    char *path = must_alloc(size);

    snprintf(path, size, "%s/%" PRId64, b->top, i);
    return path;
}

static void answered(const struct pawl_reply *reply, void *arg)
{
    note_and_go_on(arg, reply->err);
}

static bool is_read(struct worker *w)
{
    const struct bench *b = w->bench;

    return b->load == LOAD_READS ||
           (b->load == LOAD_MIXED && (int64_t)prng_below(&w->random, 100) < b->read_percent);
}

static int send_one(struct slot *slot)
{
    struct worker *w = slot->worker;
    const struct bench *b = w->bench;
    char *path = node_path(b, (int64_t)prng_below(&w->random, (uint64_t)b->n_nodes));
    int err = is_read(w) ? pawl_get_async(w->client, path, NULL, answered, slot)
                         : pawl_set_async(w->client, PAWL_SET(.path = path, .data = b->data),
                                          answered, slot);

    free(path);
    return err;
}

/* ---- locks ---- */

static void lock_released(struct pawl_lock *lock, int err, void *arg)
{
    (void)lock;
    note_and_go_on(arg, err);
}

static void lock_acquired(struct pawl_lock *lock, int err, void *arg)
{
    if (err == PAWL_OK) {
        err = pawl_lock_release_async(lock, lock_released, arg);
    }
    if (err != PAWL_OK) {
        note_and_go_on(arg, err);
    }
}

/* ---- watches: a get that sets one, a set, and the event ends it ---- */

static void event_came(const struct pawl_event *event, void *arg)
{
    struct slot *slot = arg;

    (void)event;
    if (!slot->is_given_up) {
        note_and_go_on(slot, PAWL_OK);
    }
}

/* The event is what counts, unless there may be none. */
static void set_answered(const struct pawl_reply *reply, void *arg)
{
    struct slot *slot = arg;

    if (reply->err != PAWL_OK) {
        slot->is_given_up = true;
        note_and_go_on(slot, reply->err);
    }
}

static void watch_set(const struct pawl_reply *reply, void *arg)
{
    struct slot *slot = arg;
    struct worker *w = slot->worker;
    int err = reply->err;

    if (err == PAWL_OK) {
        slot->started_us = clock_monotonic_us();
        err = pawl_set_async(w->client, PAWL_SET(.path = slot->path, .data = w->bench->data),
                             set_answered, slot);
    }
    if (err != PAWL_OK) {
        note_and_go_on(slot, err);
    }
}

static int begin_watch(struct slot *slot)
{
    struct pawl_watch watch = {.fn = event_came, .arg = slot};

    return pawl_get_async(slot->worker->client, slot->path, &watch, watch_set, slot);
}

/* ---- sessions ---- */

static int live_once(struct bench *b)
{
    struct pawl_client_options options;
    struct pawl_tls_options tls;
    struct pawl_client *client;
    int err;

    cli_client_options(b->cli, &options, &tls);
    err = pawl_client_open(&options, &client);
    if (err == PAWL_OK) {
        err = pawl_client_wait_connected(client, b->cli->connect_timeout_ms);
        pawl_client_close(client);
    }
    return err;
}

static void *run_sessions(void *arg)
{
    struct worker *w = arg;
    struct slot *slot = &w->slots[0];
    int err = PAWL_OK;

    while (err == PAWL_OK && take_one(w->bench)) {
        slot->started_us = clock_monotonic_us();
        err = live_once(w->bench);
        note_end(slot, err);
    }
    slot_done(slot);
    return NULL;
}

/* ---- running ---- */

static void send_next(struct slot *slot)
{
    struct worker *w = slot->worker;
    int err;

    if (!take_one(w->bench)) {
        slot_done(slot);
        return;
    }
    slot->started_us = clock_monotonic_us();
    switch (w->bench->load) {
    case LOAD_LOCKS:
        err = pawl_lock_acquire_async(w->lock, -1, lock_acquired, slot);
        break;
    case LOAD_WATCHES:
        err = begin_watch(slot);
        break;
    default:
        err = send_one(slot);
        break;
    }
    if (err != PAWL_OK) {
        note_end(slot, err);
        slot_done(slot);
    }
}

static int64_t slots_of(const struct bench *b)
{
    return b->load == LOAD_LOCKS || b->load == LOAD_SESSIONS ? 1 : b->n_in_flight;
}

static int make_lock(struct worker *w)
{
    struct bench *b = w->bench;
    char *path = node_path(b, (w - b->workers) % b->n_nodes);
    int status = cli_report(b->cli, path, pawl_lock_new(w->client, path, NULL, &w->lock));

    free(path);
    return status;
}

static int open_worker(struct worker *w)
{
    struct bench *b = w->bench;
    struct pawl_client_options options;
    struct pawl_tls_options tls;

    cli_client_options(b->cli, &options, &tls);
    if (pawl_client_open(&options, &w->client) != PAWL_OK) {
        cli_error(b->cli, "%s", pawl_open_error());
        return EXIT_SYSTEM;
    }
    if (pawl_client_wait_connected(w->client, b->cli->connect_timeout_ms) != PAWL_OK) {
        return cli_report_unreachable(b->cli, w->client);
    }
    return b->load == LOAD_LOCKS ? make_lock(w) : EXIT_OK;
}

static void make_slots(struct worker *w)
{
    struct bench *b = w->bench;
    int64_t n = slots_of(b);

    w->slots = must_zalloc((size_t)n * sizeof(*w->slots));
    for (int64_t i = 0; i < n; i++) {
        w->slots[i] = (struct slot){.worker = w, .path = node_path(b, (w - b->workers) * n + i)};
    }
}

static int open_workers(struct bench *b)
{
    int status = EXIT_OK;

    for (int64_t i = 0; i < b->n_clients && status == EXIT_OK; i++) {
        struct worker *w = &b->workers[i];

        w->bench = b;
        prng_seed(&w->random, (uint64_t)i + 1);
        make_slots(w);
        if (b->load != LOAD_SESSIONS) {
            status = cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : open_worker(w);
        }
    }
    return status;
}

static void close_workers(struct bench *b)
{
    for (int64_t i = 0; i < b->n_clients; i++) {
        struct worker *w = &b->workers[i];

        if (w->lock != NULL) {
            pawl_lock_free(w->lock);
        }
        pawl_client_close_within(w->client, b->cli->connect_timeout_ms);
        for (int64_t j = 0; w->slots != NULL && j < slots_of(b); j++) {
            free(w->slots[j].path);
        }
        free(w->slots);
    }
}

/* In the thread of the worker's callbacks, which owns it from now on. */
static void worker_begins(const struct pawl_reply *reply, void *arg)
{
    struct worker *w = arg;

    (void)reply;
    for (int64_t i = 0; i < slots_of(w->bench); i++) {
        send_next(&w->slots[i]);
    }
}

static void start_worker(struct worker *w)
{
    int err = pawl_exists_async(w->client, w->bench->top, NULL, worker_begins, w);

    for (int64_t i = 0; err != PAWL_OK && i < slots_of(w->bench); i++) {
        note_end(&w->slots[i], err);
        slot_done(&w->slots[i]);
    }
}

static int start_thread(struct worker *w)
{
    struct bench *b = w->bench;
    int err = pthread_create(&w->thread, NULL, run_sessions, w);

    if (err != 0) {
        cli_error(b->cli, "client %td of %" PRId64 " has no thread: %s", w - b->workers + 1,
                  b->n_clients, strerror(err));
        return EXIT_SYSTEM;
    }
    w->has_thread = true;
    return EXIT_OK;
}

/* Fewer clients than were asked for would be another measurement: then there is none. */
static int start_slots(struct bench *b)
{
    int status = EXIT_OK;

    atomic_store(&b->n_active, (int)(b->n_clients * slots_of(b)));
    for (int64_t i = 0; i < b->n_clients && status == EXIT_OK; i++) {
        struct worker *w = &b->workers[i];

        if (b->load == LOAD_SESSIONS) {
            status = start_thread(w);
        } else {
            start_worker(w);
        }
    }
    return status;
}

/* A timer that ends the wait, and a signal that ends it earlier. */
static int run_slots(struct bench *b)
{
    struct itimerspec at = {
        .it_value = {.tv_sec = b->duration_ms / 1000, .tv_nsec = b->duration_ms % 1000 * 1000000L}};
    int status;

    if (b->n_wanted == 0) {
        timerfd_settime(b->timer_fd, 0, &at, NULL);
    }
    status = start_slots(b);
    if (status == EXIT_OK) {
        cli_wait(b->timer_fd);
    }
    atomic_store(&b->is_over, true);
    for (int64_t i = 0; i < b->n_clients; i++) {
        if (b->workers[i].has_thread) {
            pthread_join(b->workers[i].thread, NULL);
        }
    }
    return status;
}

/* ---- what came out ---- */

struct result {
    struct latency latency;
    double seconds;
    int64_t n_errors;
    int first_error;
};

static void add_up(const struct bench *b, struct result *r)
{
    for (int64_t i = 0; i < b->n_clients; i++) {
        const struct worker *w = &b->workers[i];

        latency_merge(&r->latency, &w->latency);
        r->first_error = r->n_errors == 0 ? w->first_error : r->first_error;
        r->n_errors += w->n_errors;
    }
}

static const struct {
    const char *name;
    double share;
} percentiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};
enum { N_PERCENTILES = sizeof(percentiles) / sizeof(percentiles[0]) };

static void json_result(const struct bench *b, const struct result *r)
{
    const struct latency *l = &r->latency;

    json_open(NULL, '{');
    json_text("load", loads[b->load].name);
    json_number("clients", b->n_clients);
    json_number("in_flight", slots_of(b));
    json_number("done", (int64_t)l->n);
    json_number("errors", r->n_errors);
    json_number("milliseconds", (int64_t)(r->seconds * 1000));
    json_number("per_second", (int64_t)((double)l->n / r->seconds));
    json_open("microseconds", '{');
    json_number("mean", l->n > 0 ? (int64_t)(l->sum_us / l->n) : 0);
    for (size_t i = 0; i < N_PERCENTILES; i++) {
        json_number(percentiles[i].name, (int64_t)latency_at(l, percentiles[i].share));
    }
    json_number("max", (int64_t)l->max_us);
    json_close('{');
    json_close('{');
}

static void print_result(const struct bench *b, const struct result *r)
{
    const struct latency *l = &r->latency;

    printf("%s (%s): %" PRIu64 " in %.1f s, %.0f per second, %" PRId64 " client%s with %" PRId64
           " in flight\n",
           loads[b->load].name, loads[b->load].what, l->n, r->seconds, (double)l->n / r->seconds,
           b->n_clients, b->n_clients == 1 ? "" : "s", slots_of(b));
    printf("microseconds: mean %" PRIu64, l->n > 0 ? l->sum_us / l->n : 0);
    for (size_t i = 0; i < N_PERCENTILES; i++) {
        printf(", %s %" PRIu64, percentiles[i].name, latency_at(l, percentiles[i].share));
    }
    printf(", max %" PRIu64 "\n", l->max_us);
    latency_print(l);
}

static int tell(const struct bench *b, const struct result *r)
{
    if (b->cli->json) {
        json_result(b, r);
    } else {
        print_result(b, r);
    }
    if (r->n_errors > 0) {
        cli_error(b->cli, "%" PRId64 " requests failed; the first: %s", r->n_errors,
                  pawl_strerror(r->first_error));
        return EXIT_UNREACHABLE;
    }
    return EXIT_OK;
}

/* ---- the node of its own ---- */

static int make_top(struct bench *b, const char *below)
{
    struct pawl_reply *reply;
    struct strbuf path;
    int status;

    strbuf_init(&path, STRBUF_NO_LIMIT);
    strbuf_printf(&path, "%s/pawl-bench-", strcmp(below, "/") == 0 ? "" : below);
    pawl_create(b->cli->client,
                PAWL_CREATE(.path = strbuf_cstr(&path), .mode = PAWL_MODE_SEQUENTIAL,
                            .data = pawl_str("made by pawl bench, which removes it")),
                &reply);
    status = cli_check(b->cli, below, reply);
    if (status == EXIT_OK) {
        b->top = must_strdup(reply->path);
    }
    pawl_reply_free(reply);
    strbuf_fini(&path);
    return status;
}

static int make_nodes(const struct bench *b)
{
    int status = EXIT_OK;

    for (int64_t i = 0; i < b->n_nodes && status == EXIT_OK && b->load != LOAD_SESSIONS; i++) {
        char *path = node_path(b, i);
        struct pawl_reply *reply;

        pawl_create(b->cli->client, PAWL_CREATE(.path = path, .data = b->data), &reply);
        status = cli_check(b->cli, path, reply);
        pawl_reply_free(reply);
        free(path);
    }
    return status;
}

/* Whatever has happened. Says so if the node has to be removed by hand. */
static int remove_top(struct bench *b)
{
    struct pawl_reply *reply = NULL;
    int status;

    if (b->top == NULL) {
        return EXIT_OK;
    }
    cli_finish_quietly(b->cli);
    pawl_delete(b->cli->client,
                PAWL_DELETE(.path = b->top, .flags = PAWL_OP_CHILDREN_TOO | PAWL_OP_IDEMPOTENT),
                &reply);
    if (reply == NULL || reply->err != PAWL_OK) {
        cli_error(b->cli, "%s is left behind (%s): pawl rm -r %s", b->top,
                  pawl_strerror(reply == NULL ? PAWL_ERR_NO_MEMORY : reply->err), b->top);
    }
    status = reply != NULL && reply->err == PAWL_OK ? EXIT_OK : EXIT_UNREACHABLE;
    pawl_reply_free(reply);
    return status;
}

static int run_load(struct bench *b, struct result *r)
{
    int64_t started_us;
    int status;

    b->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (b->timer_fd < 0) {
        cli_error(b->cli, "%s", strerror(errno));
        return EXIT_SYSTEM;
    }
    b->workers = must_zalloc((size_t)b->n_clients * sizeof(*b->workers));
    status = open_workers(b);
    if (status == EXIT_OK) {
        started_us = clock_monotonic_us();
        status = run_slots(b);
        r->seconds = (double)(clock_monotonic_us() - started_us) / 1e6;
    }
    close_workers(b);
    if (status == EXIT_OK) {
        add_up(b, r);
    }
    free(b->workers);
    close(b->timer_fd);
    return status;
}

static int run_all(struct bench *b, const char *below)
{
    struct result result = {0};
    int status = make_top(b, below);
    int removed;

    if (status == EXIT_OK) {
        status = make_nodes(b);
    }
    if (status == EXIT_OK) {
        status = run_load(b, &result);
    }
    removed = remove_top(b);
    if (status == EXIT_OK) {
        status = tell(b, &result);
    }
    free(b->top);
    if (cli_signal() != 0) {
        return EXIT_SIGNAL + cli_signal();
    }
    return status == EXIT_OK ? removed : status;
}

/* ---- the command ---- */

static bool load_read(struct bench *b, const char *name)
{
    for (int i = 0; i < N_LOADS; i++) {
        if (strcmp(name, loads[i].name) == 0) {
            b->load = (enum load)i;
            return true;
        }
    }
    cli_error(b->cli, "there is no load '%s': reads, writes, mixed, locks, watches or sessions",
              name);
    return false;
}

/* Each slot of LOAD_WATCHES has a node of its own. */
static void fit_nodes(struct bench *b)
{
    if (b->load == LOAD_WATCHES) {
        b->n_nodes = b->n_clients * b->n_in_flight;
        b->n_in_flight = b->n_nodes > NODES_MAX ? NODES_MAX / b->n_clients : b->n_in_flight;
        b->n_nodes = b->n_clients * b->n_in_flight;
    } else if (b->load == LOAD_LOCKS && b->n_nodes > b->n_clients) {
        b->n_nodes = b->n_clients;
    }
}

static bool options_read(struct bench *b, const struct args *args)
{
    const struct cli *cli = b->cli;

    if (!load_read(b, args->words[0]) ||
        !args_number(args, cli, 'c', 1, CLIENTS_MAX, &b->n_clients) ||
        !args_number(args, cli, 'q', 1, IN_FLIGHT_MAX, &b->n_in_flight) ||
        !args_number(args, cli, 'k', 1, NODES_MAX, &b->n_nodes) ||
        !args_number(args, cli, 'b', 0, SIZE_MAX_BYTES, &b->size_bytes) ||
        !args_number(args, cli, 'm', 0, 100, &b->read_percent) ||
        !args_number(args, cli, 'n', 1, INT64_MAX / 2, &b->n_wanted) ||
        !args_duration(args, cli, 'd', &b->duration_ms)) {
        return false;
    }
    if (args_has(args, 'n') && args_has(args, 'd')) {
        cli_error(cli, "either so many (-n) or so long (-d)");
        return false;
    }
    if (b->duration_ms <= 0) {
        cli_error(cli, "--duration must be more than nothing");
        return false;
    }
    fit_nodes(b);
    return true;
}

static int run_bench(struct cli *cli, const struct args *args)
{
    struct bench b = {.cli = cli,
                      .n_clients = 4,
                      .n_in_flight = 8,
                      .n_nodes = 100,
                      .size_bytes = 100,
                      .read_percent = 80,
                      .duration_ms = DEFAULT_DURATION_MS};
    uint8_t *data;
    int status;

    if (!options_read(&b, args)) {
        return EXIT_USAGE;
    }
    cli_catch_signals();
    status = cli_connect(cli);
    if (status == EXIT_OK && !args_has(args, 'y')) {
        status = bench_may_run(cli);
    }
    if (status != EXIT_OK) {
        return status;
    }
    data = must_alloc((size_t)b.size_bytes + 1);
    memset(data, 'x', (size_t)b.size_bytes);
    b.data = (struct pawl_bytes){data, (size_t)b.size_bytes};
    atomic_store(&b.n_left, b.n_wanted);
    status = run_all(&b, args->n_words > 1 ? args->words[1] : "/");
    free(data);
    return status;
}

static const struct option_spec bench_options[] = {
    {'c', "clients", "NUMBER", "sessions; 4 if not given"},
    {'q', "in-flight", "NUMBER", "requests of each that are not answered yet; 8 if not given"},
    {'d', "duration", "DURATION", "so long; 10s if not given"},
    {'n', "requests", "NUMBER", "so many instead"},
    {'k', "nodes", "NUMBER", "different nodes, or locks; 100 if not given"},
    {'b', "bytes", "NUMBER", "of data in each; 100 if not given"},
    {'m', "mix", "PERCENT", "mixed: so many of a hundred are reads; 80 if not given"},
    {'y', "yes", NULL, "also on a server that others use"},
    {0, NULL, NULL, NULL}};

const struct command command_bench = {
    .name = "bench",
    .synopsis = "[-c NUMBER] [-q NUMBER] [-d DURATION | -n NUMBER] [-k NUMBER] [-b NUMBER] "
                "[-m PERCENT] [-y] reads|writes|mixed|locks|watches|sessions [PATH]",
    .summary = "put load on a server, below a node of its own, and measure its answers",
    .options = bench_options,
    .min_words = 1,
    .max_words = 2,
    .opens_itself = true,
    .run = run_bench};
