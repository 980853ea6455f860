/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - changes as they happen, a line each. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/event.h"

/* Printed by the thread of callbacks, waited for by the main one. */
struct watching {
    const struct cli *cli;
    int64_t n_left;       /* events until the end; -1: no end */
    bool is_over;         /* the session has ended, and the watch with it */
    pthread_mutex_t lock; /* guards the above */
    int end_fd;           /* readable: one of them says that it is over */
};

static void watch_on_event(const struct pawl_event *event, void *arg)
{
    struct watching *w = arg;
    const char *name = event_name(event->type);

    pthread_mutex_lock(&w->lock);
    if (name != NULL && w->n_left != 0) {
        event_print(w->cli, name, event->path, event->zxid);
        w->n_left -= w->n_left > 0 && event->type != PAWL_EVENT_GAP ? 1 : 0;
    }
    if (name == NULL) {
        w->is_over = true;
    }
    if (w->n_left == 0 || w->is_over || ferror(stdout)) {
        eventfd_write(w->end_fd, 1);
    }
    pthread_mutex_unlock(&w->lock);
}

/* What is missed is told later, or that something may have been is: GAP. */
static void watch_on_state(struct pawl_client *c, enum pawl_state state, void *arg)
{
    struct watching *w = arg;

    (void)c;
    if (state == PAWL_STATE_SUSPENDED) {
        cli_error(w->cli, "the link is down");
    } else if (state == PAWL_STATE_RECONNECTED) {
        cli_error(w->cli, "the link is back; changes made meanwhile are reported now, or GAP is");
    }
}

static int wait_for_end(struct watching *w)
{
    int status;

    cli_wait(w->end_fd);
    pthread_mutex_lock(&w->lock);
    if (w->n_left == 0 || (ferror(stdout) && cli_signal() == 0)) {
        status = EXIT_OK; /* what cannot be written is reported at the end */
    } else {
        status = w->is_over ? EXIT_LOST : EXIT_SIGNAL + cli_signal();
    }
    pthread_mutex_unlock(&w->lock);
    return status;
}

/* Until it is ended, or `n_left` events have come. */
static int watch_path(struct cli *cli, const char *path, enum pawl_watch_mode mode, int64_t n_left)
{
    struct watching w = {.cli = cli,
                         .n_left = n_left,
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    struct pawl_watch watch = {.fn = watch_on_event, .arg = &w};
    struct pawl_reply *reply;
    int status;

    pawl_client_add_listener(cli->client, watch_on_state, &w);
    pthread_mutex_lock(&w.lock); /* the first line is ours */
    pawl_watch(cli->client, path, mode, &watch, &reply);
    status = cli_check_read(cli, path, reply);
    if (status == EXIT_OK) {
        event_print(cli, "WATCHING", path, reply->zxid);
    }
    pthread_mutex_unlock(&w.lock);
    pawl_reply_free(reply);
    if (status == EXIT_OK) {
        status = wait_for_end(&w);
        if (status == EXIT_LOST) {
            cli_error(cli, "%s: the session has ended, and the watch with it", path);
        }
    }
    pawl_client_remove_listener(cli->client, watch_on_state, &w);
    cli_disconnect(cli); /* no event any more */
    close(w.end_fd);
    return status;
}

static int run_watch(struct cli *cli, const struct args *args)
{
    int64_t n_left = -1;

    if (!args_number(args, cli, 'n', 1, INT64_MAX, &n_left)) {
        return EXIT_USAGE;
    }
    return watch_path(cli, args->words[0],
                      args_has(args, '1') ? PAWL_WATCH_PERSISTENT : PAWL_WATCH_RECURSIVE, n_left);
}

static const struct option_spec watch_options[] = {
    {'1', "node", NULL, "only the node and its list of children, not what is below"},
    {'n', "events", "NUMBER", "end after so many events"},
    {0, NULL, NULL, NULL}};

const struct command command_watch = {
    .name = "watch",
    .synopsis = "[-1] [-n NUMBER] PATH",
    .summary = "print each change of a node and of all below it, until ended",
    .options = watch_options,
    .min_words = 1,
    .max_words = 1,
    .is_apart = true,
    .run = run_watch};

/* ---- addWatch ---- */

static bool watch_mode_of(const struct args *args, const struct cli *cli, enum pawl_watch_mode *out)
{
    const char *mode = args_has(args, 'm') ? args_text(args, 'm') : "PERSISTENT_RECURSIVE";

    *out = strcasecmp(mode, "PERSISTENT") == 0 ? PAWL_WATCH_PERSISTENT : PAWL_WATCH_RECURSIVE;
    if (*out == PAWL_WATCH_RECURSIVE && strcasecmp(mode, "PERSISTENT_RECURSIVE") != 0) {
        cli_error(cli, "--mode: PERSISTENT or PERSISTENT_RECURSIVE, not '%s'", mode);
        return false;
    }
    return true;
}

/* In a shell the watch stays, and the next command is read. */
static int run_add_watch(struct cli *cli, const struct args *args)
{
    const char *path = args->words[0];
    enum pawl_watch_mode mode;
    struct pawl_reply *reply;
    int status;

    if (!watch_mode_of(args, cli, &mode)) {
        return EXIT_USAGE;
    }
    if (cli->shell == NULL) {
        return watch_path(cli, path, mode, -1);
    }
    pawl_watch(cli->client, path, mode, events_watch(), &reply);
    status = cli_check_read(cli, path, reply);
    pawl_reply_free(reply);
    return status;
}

static const struct option_spec add_watch_options[] = {
    {'m', "mode", "MODE", "PERSISTENT, or PERSISTENT_RECURSIVE, as without it: all below, too"},
    {0, NULL, NULL, NULL}};

const struct command command_add_watch = {.name = "addWatch",
                                          .synopsis = "[-m MODE] PATH",
                                          .summary =
                                              "as watch; in a shell tell of changes as they come",
                                          .options = add_watch_options,
                                          .min_words = 1,
                                          .max_words = 1,
                                          .run = run_add_watch};
