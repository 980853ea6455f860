/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - items put by some and taken by others: Curator's SimpleDistributedQueue.
 *
 * Who takes an item deletes it: from then on it is nowhere else. So one that cannot be handed on,
 * because standard output does not take it or a signal has ended us meanwhile, is put back. */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <pawl/queue.h>

#include "base/assert.h"
#include "base/memory.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/text.h"

#define ITEM_PREFIX "qn-"

/* ---- put ---- */

static int put_one(struct cli *cli, const char *path, struct pawl_bytes item)
{
    struct pawl_simple_queue *q = NULL;
    int err = pawl_simple_queue_new(cli->client, path, &q);

    if (err == PAWL_OK) {
        err = pawl_simple_queue_offer(q, item);
    }
    pawl_simple_queue_free(q);
    if (err == PAWL_ERR_CONNECTION_LOSS || err == PAWL_ERR_OPERATION_TIMEOUT) {
        return cli_report_change(cli, path, err, PAWL_OUTCOME_UNKNOWN);
    }
    return err == PAWL_OK ? EXIT_OK : cli_report(cli, path, err);
}

static int run_put(struct cli *cli, const struct args *args)
{
    int status = EXIT_OK;

    for (int i = 1; i < args->n_words && status == EXIT_OK; i++) {
        struct pawl_bytes item;
        struct strbuf input;

        strbuf_init(&input, INPUT_LIMIT_BYTES);
        status = input_data(cli, args->words[i], &input, &item);
        if (status == EXIT_OK) {
            status = put_one(cli, args->words[0], item);
        }
        strbuf_fini(&input);
    }
    return status;
}

static const struct option_spec no_options[] = {{0, NULL, NULL, NULL}};

const struct command command_queue_put = {
    .name = "queue put",
    .synopsis = "PATH ITEM...",
    .summary = "put items at the end of a queue; ITEM - is standard input",
    .options = no_options,
    .min_words = 2,
    .max_words = -1,
    .run = run_put};

/* ---- take ---- */

struct taking {
    struct cli *cli;
    const char *path;
    struct pawl_simple_queue *q;
    int ended_fd;           /* readable when it has ended */
    _Atomic bool has_ended; /* and the following are ours */
    int err;
    char *data;
    size_t len;
};

static void taking_on_end(struct pawl_simple_queue *q, int err, struct pawl_bytes data, void *arg)
{
    struct taking *t = arg;

    (void)q;
    t->err = err;
    if (err == PAWL_OK) {
        t->data = must_zalloc(data.len + 1);
        t->len = data.len;
        memcpy(t->data, data.len > 0 ? data.data : "", data.len);
    }
    atomic_store(&t->has_ended, true);
    eventfd_write(t->ended_fd, 1);
}

/* Whether standard output has taken it. */
static bool print_item(const struct taking *t)
{
    struct pawl_bytes data = {t->data, t->len};

    if (t->cli->json) {
        json_open(NULL, '{');
        json_data("data", data);
        json_close('{');
    } else {
        text_data(data);
    }
    return fflush(stdout) == 0 && !ferror(stdout);
}

static int put_back(const struct taking *t, int status)
{
    int put;

    cli_finish_quietly(t->cli);
    put = put_one(t->cli, t->path, (struct pawl_bytes){t->data, t->len});
    if (put != EXIT_OK) {
        cli_error(t->cli, "%s: an item was taken and could not be put back", t->path);
        return put;
    }
    cli_error(t->cli, "%s: the item was put back, at the end", t->path);
    return status;
}

/* A delete may be on its way: if it comes to pass its item is put back by the library. Answers come
 * in the order of requests: behind the first answer that one is known, behind the second it is
 * there. Without a link there is nothing to wait for. */
static void wait_for_put_back(struct taking *t)
{
    int err = pawl_client_state(t->cli->client) == PAWL_STATE_SUSPENDED ? PAWL_ERR_CONNECTION_LOSS
                                                                        : PAWL_OK;

    for (int i = 0; i < 2 && err == PAWL_OK; i++) {
        struct pawl_reply *reply = NULL;

        err = pawl_exists(t->cli->client, "/", NULL, &reply);
        pawl_reply_free(reply);
    }
}

static void give_up(struct taking *t)
{
    struct pollfd ended = {.fd = t->ended_fd, .events = POLLIN};

    cli_finish_quietly(t->cli);
    pawl_simple_queue_free(t->q);
    t->q = NULL;
    while (!atomic_load(&t->has_ended)) {
        poll(&ended, 1, -1);
    }
    if (t->err != PAWL_OK) {
        wait_for_put_back(t);
    }
}

static int taking_status(struct taking *t, int timeout_ms)
{
    if (cli_signal() != 0) {
        give_up(t);
        return t->err == PAWL_OK ? put_back(t, EXIT_SIGNAL + cli_signal())
                                 : EXIT_SIGNAL + cli_signal();
    }
    ASSERT(atomic_load(&t->has_ended));
    if (t->err == PAWL_ERR_OPERATION_TIMEOUT) {
        if (timeout_ms != 0) {
            cli_error(t->cli, "%s: no item in time", t->path);
        }
        return EXIT_TIMEOUT;
    }
    if (t->err != PAWL_OK) {
        return cli_report_change(t->cli, t->path, t->err,
                                 t->err == PAWL_ERR_CONNECTION_LOSS ? PAWL_OUTCOME_UNKNOWN
                                                                    : PAWL_OUTCOME_REFUSED);
    }
    return print_item(t) ? EXIT_OK : put_back(t, EXIT_SYSTEM);
}

static bool is_good_take(struct cli *cli, const struct args *args)
{
    int timeout_ms;

    return args_duration(args, cli, 'w', &timeout_ms);
}

/* Not by a blocking call: a signal would end that with an item on its way to us. */
static int run_take(struct cli *cli, const struct args *args)
{
    struct taking t = {.cli = cli, .path = args->words[0]};
    int timeout_ms = -1, err, status;

    if (!args_duration(args, cli, 'w', &timeout_ms)) {
        return EXIT_USAGE;
    }
    timeout_ms = args_has(args, 'n') ? 0 : timeout_ms;
    t.ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    err = pawl_simple_queue_new(cli->client, t.path, &t.q);
    if (err == PAWL_OK) {
        err = pawl_simple_queue_take_async(t.q, timeout_ms, taking_on_end, &t);
    }
    if (err != PAWL_OK) {
        status = cli_report(cli, t.path, err);
    } else {
        cli_wait(t.ended_fd);
        status = taking_status(&t, timeout_ms);
    }
    pawl_simple_queue_free(t.q);
    cli_disconnect(cli); /* no callback any more */
    close(t.ended_fd);
    free(t.data);
    return status;
}

static const struct option_spec take_options[] = {
    {'n', "try", NULL, "do not wait: exit with 114 if there is none"},
    {'w', "timeout", "DURATION", "wait no longer than this"},
    {0, NULL, NULL, NULL}};

const struct command command_queue_take = {.name = "queue take",
                                           .synopsis = "[-n] [-w DURATION] PATH",
                                           .summary = "take the first item out, and print it",
                                           .options = take_options,
                                           .min_words = 1,
                                           .max_words = 1,
                                           .is_apart = true,
                                           .is_good = is_good_take,
                                           .run = run_take};

/* ---- ls ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_listed(const struct cli *cli, const char *name, struct pawl_bytes data)
{
    if (cli->json) {
        json_open(NULL, '{');
        json_text("name", name);
        json_data("data", data);
        json_close('{');
    } else {
        text_escaped(pawl_str(name));
        putchar(' ');
        text_line(data);
    }
}

/* One that was taken meanwhile is none. */
static int list_one(struct cli *cli, const char *path, const char *name)
{
    size_t size = strlen(path) + strlen(name) + 2;
    char *node = must_alloc(size);
    struct pawl_reply *reply = NULL;
    int status = EXIT_OK;

    snprintf(node, size, "%s/%s", strcmp(path, "/") == 0 ? "" : path, name);
    pawl_get(cli->client, node, NULL, &reply);
    if (reply == NULL || reply->err != PAWL_ERR_NO_NODE) {
        status = cli_check_read(cli, node, reply);
        if (status == EXIT_OK) {
            print_listed(cli, name, reply->data);
        }
    }
    pawl_reply_free(reply);
    free(node);
    return status;
}

static int list_items(struct cli *cli, const char *path, const struct pawl_strings *children)
{
    const char **names = must_zalloc((children->n + 1) * sizeof(*names));
    int status = EXIT_OK;

    for (size_t i = 0; i < children->n; i++) {
        names[i] = children->items[i];
    }
    qsort(names, children->n, sizeof(*names), by_name);
    if (cli->json) {
        json_open(NULL, '[');
    }
    for (size_t i = 0; i < children->n && status == EXIT_OK; i++) {
        if (strncmp(names[i], ITEM_PREFIX, strlen(ITEM_PREFIX)) == 0) {
            status = list_one(cli, path, names[i]);
        }
    }
    if (cli->json) {
        json_close('[');
    }
    free(names);
    return status;
}

/* The server removes a queue that has been empty for a while: one that is not there is empty. */
static int run_queue_ls(struct cli *cli, const struct args *args)
{
    static const struct pawl_strings none;
    struct pawl_reply *reply = NULL;
    int status;

    pawl_children(cli->client, args->words[0], NULL, &reply);
    if (reply != NULL && reply->err == PAWL_ERR_NO_NODE) {
        status = list_items(cli, args->words[0], &none);
    } else {
        status = cli_check_read(cli, args->words[0], reply);
        if (status == EXIT_OK) {
            status = list_items(cli, args->words[0], &reply->children);
        }
    }
    pawl_reply_free(reply);
    return status;
}

const struct command command_queue_ls = {.name = "queue ls",
                                         .synopsis = "PATH",
                                         .summary = "show the items of a queue, the first first",
                                         .options = no_options,
                                         .min_words = 1,
                                         .max_words = 1,
                                         .run = run_queue_ls};
