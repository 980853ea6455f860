/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c - one hold, from connecting to giving back.
 *
 *               session           granted            told to run          it runs
 *   CONNECTING ---------> QUEUED ---------> GRANTED ------------> STARTING -------> RUNNING
 *                                              ^                      |
 *                                              +------ too late ------+
 *
 *   each of them --------------- the status is known ------------------------------> OVER
 *
 * GRANTED lasts until it is certain to stay ours for a while. The state belongs to the main thread;
 * what the client's threads have to tell is in `news`. */
#include "cli/hold.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "cli/descendants.h"
#include "cli/inherited.h"
#include "cli/uses.h"
#include "cli/watchdog.h"
#include "os/clock.h"

/* Parts of the session's timeout T. The certain time may be as short as T/4 less some round trips
 * although all is well (grant.h): the command must not be troubled before. The watchdog ends it; if
 * it has not done so when GUARD_PART is left, it is stopped, and we do. */
enum { WARN_PART = 6, END_PART = 12, GUARD_PART = 20, UPDATE_PART = 40 };

/* A twelfth of less is too short to end processes in. */
enum { SESSION_MIN_MS = 1000 };

enum { NOT_YET = 1 }; /* no error code: those are 0 or negative */

enum state { CONNECTING, QUEUED, GRANTED, STARTING, RUNNING, OVER };

static const uint8_t may_follow[] = {
    [CONNECTING] = 1 << QUEUED | 1 << OVER,
    [QUEUED] = 1 << GRANTED | 1 << OVER,
    [GRANTED] = 1 << STARTING | 1 << OVER,
    [STARTING] = 1 << RUNNING | 1 << GRANTED | 1 << OVER,
    [RUNNING] = 1 << OVER,
    [OVER] = 0,
};

/* Written by the client's threads. */
struct news {
    int fd; /* readable: some of the following has changed */
    atomic_bool is_connected, is_in_doubt;
    atomic_int acquired; /* NOT_YET, or how it ended */
};

struct hold {
    struct cli *cli;
    const struct hold_options *options;
    const char *path; /* the first one, for messages */
    enum state state;
    struct hold_end end;
    struct watchdog watchdog;
    struct watchdog_options watchdog_options;
    int signals_fd;
    struct news news;
    struct held held;
    int64_t give_up_ms;  /* CONNECTING: not longer than that */
    int64_t until_ms;    /* what the watchdog was told last */
    bool was_in_doubt;   /* at the last news */
    uint64_t unsent;     /* signals for the command, by number */
    int starting_signal; /* the last one that came in STARTING; 0: none */
};

/* ---- the state ---- */

/* What is true between any two steps. */
static void hold_check(const struct hold *h)
{
    ASSERT((h->state == OVER) == (h->end.status >= 0));
    if (h->state == GRANTED || h->state == STARTING || h->state == RUNNING) {
        ASSERT(h->news.acquired == PAWL_OK);
    }
}

static void hold_move(struct hold *h, enum state next)
{
    ASSERT(may_follow[h->state] & 1 << next);
    h->state = next;
    hold_check(h);
}

static void hold_over(struct hold *h, int status)
{
    h->end.status = status;
    hold_move(h, OVER);
}

/* ---- what others tell us, on their threads ---- */

static void news_made(struct news *n)
{
    uint64_t one = 1;

    if (write(n->fd, &one, sizeof(one)) < 0) {
        return; /* there is unread news already */
    }
}

static void hold_on_state(struct pawl_client *c, enum pawl_state state, void *arg)
{
    struct news *n = arg;

    (void)c;
    if (state == PAWL_STATE_CONNECTED || state == PAWL_STATE_RECONNECTED) {
        n->is_connected = true;
        n->is_in_doubt = false;
    } else {
        n->is_in_doubt = true;
    }
    news_made(n);
}

static void hold_on_acquired(int err, void *arg)
{
    struct news *n = arg;

    n->acquired = err;
    news_made(n);
}

/* ---- the watchdog ---- */

static int64_t session_ms(const struct hold *h)
{
    return pawl_client_session_timeout_ms(h->cli->client);
}

/* What follows the path of the lock in that of its node. */
static void name_node(const struct hold *h, char out[WATCHDOG_NODE_BYTES])
{
    size_t len = strlen(h->path), size = len + WATCHDOG_NODE_BYTES;
    char *node = must_zalloc(size);

    pawl_grant_path(held_grant(&h->held), node, size);
    ASSERT(strncmp(node, h->path, len) == 0);
    snprintf(out, WATCHDOG_NODE_BYTES, "%s", node + len);
    free(node);
}

/* The time is read before the grant: what passes between them makes us early, never late. False:
 * the watchdog did not take it. */
static bool order_until(struct hold *h, enum watchdog_order_kind kind)
{
    int64_t now_ms = clock_boot_ms();
    struct watchdog_order order = {.kind = kind,
                                   .until_ms = now_ms + held_certain_ms(&h->held),
                                   .warn_ms = session_ms(h) / WARN_PART,
                                   .end_ms = session_ms(h) / END_PART};

    if (kind == ORDER_RUN) {
        order.token = pawl_grant_token(held_grant(&h->held));
        name_node(h, order.node);
    } else if (order.until_ms >= h->until_ms && order.until_ms < h->until_ms + 5) {
        return true;
    }
    if (!watchdog_order(&h->watchdog, &order)) {
        return false; /* if it is gone its reports end, too */
    }
    h->until_ms = order.until_ms;
    return true;
}

/* What it does not take now is sent again with the next look. */
static void send_signals(struct hold *h)
{
    for (int number = 1; number < NSIG && h->unsent != 0; number++) {
        struct watchdog_order order = {.kind = ORDER_SIGNAL, .signal_number = number};
        uint64_t bit = UINT64_C(1) << (number - 1);

        if ((h->unsent & bit) != 0 && watchdog_order(&h->watchdog, &order)) {
            h->unsent &= ~bit;
        }
    }
}

static void pass_on(struct hold *h, int signal_number)
{
    h->unsent |= UINT64_C(1) << (signal_number - 1);
    send_signals(h);
}

static int report_lost(const struct hold *h)
{
    cli_error(h->cli, "%s: the %s was about to be lost; the command was ended", h->path,
              h->options->what);
    return EXIT_LOST;
}

/* The time is nearly over, and the watchdog has not ended the command. */
static void end_in_its_place(struct hold *h)
{
    kill(h->watchdog.pid, SIGKILL);
    descendants_end();
    hold_over(h, report_lost(h));
}

static void keep_up(struct hold *h)
{
    if (held_certain_ms(&h->held) <= session_ms(h) / GUARD_PART) {
        end_in_its_place(h);
        return;
    }
    order_until(h, ORDER_UNTIL);
    send_signals(h);
}

static int status_of(struct hold *h, const struct watchdog_report *report)
{
    if (report->by_time) {
        return report_lost(h);
    }
    h->end.is_of_command = true;
    if (WIFSIGNALED(report->number)) {
        return EXIT_SIGNAL + WTERMSIG(report->number);
    }
    return WEXITSTATUS(report->number);
}

static void on_watchdog_gone(struct hold *h)
{
    bool has_command = h->state == STARTING || h->state == RUNNING;

    cli_error(h->cli, "the process that watches the command was killed%s",
              has_command ? "; so was the command" : "");
    descendants_end();
    hold_over(h, EXIT_LOST);
}

/* The watchdog was stopped for so long that the order to run came too late. */
static void on_too_late(struct hold *h)
{
    if (h->starting_signal != 0) {
        hold_over(h, EXIT_SIGNAL + h->starting_signal);
    } else {
        hold_move(h, GRANTED);
    }
}

static void on_report(struct hold *h)
{
    struct watchdog_report report;

    if (!watchdog_report(&h->watchdog, &report)) {
        on_watchdog_gone(h);
        return;
    }
    switch (report.kind) {
    case REPORT_STARTED:
        hold_move(h, RUNNING);
        break;
    case REPORT_TOO_LATE:
        on_too_late(h);
        break;
    case REPORT_NOT_STARTED:
        cli_error(h->cli, "%s: %s", h->options->command[0], strerror(report.number));
        hold_over(h, report.number == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
        break;
    case REPORT_LEFT:
        cli_error(h->cli,
                  "the command has ended; the %s is held until all that it started has, "
                  "too (--leave: at once)",
                  h->options->what);
        break;
    case REPORT_ENDED:
        hold_over(h, status_of(h, &report));
        break;
    }
}

/* ---- getting there ---- */

static bool is_link_trouble(int err)
{
    return err == PAWL_ERR_CONNECTION_LOSS || err == PAWL_ERR_OPERATION_TIMEOUT ||
           err == PAWL_ERR_SESSION_EXPIRED;
}

/* True: each path is used in our way only. Otherwise it is over; or, when that cannot be known
 * because the link is down, and we are granted, it is looked at again: how that ends is told by
 * the grant. */
static bool is_used_as_ours(struct hold *h)
{
    for (size_t i = 0; i < h->options->n_paths; i++) {
        const char *path = h->options->paths[i], *other;
        int err = uses_find_other(h->cli->client, path, h->options->kind, &other);

        if (err != PAWL_OK && (h->state != GRANTED || !is_link_trouble(err))) {
            hold_over(h, cli_report(h->cli, path, err));
        } else if (other != NULL) {
            cli_error(h->cli, "%s is used as %s, which this does not exclude", path, other);
            hold_over(h, EXIT_CONFLICT);
        }
        if (err != PAWL_OK || other != NULL) {
            return false;
        }
    }
    return true;
}

static void begin_to_acquire(struct hold *h)
{
    const struct hold_options *o = h->options;
    int err;

    h->end.had_session = true;
    if (session_ms(h) < SESSION_MIN_MS) {
        cli_error(h->cli,
                  "a session timeout of %d ms is too short to end a command in; %d are needed",
                  (int)session_ms(h), SESSION_MIN_MS);
        hold_over(h, EXIT_REFUSED);
        return;
    }
    if (!is_used_as_ours(h)) {
        return;
    }
    err = held_new(&h->held, h->cli->client, o->kind, o->paths, o->n_paths, (int)o->permits);
    if (err == PAWL_OK) {
        err = held_acquire(&h->held, o->timeout_ms, hold_on_acquired, &h->news);
    }
    if (err != PAWL_OK) {
        hold_over(h, cli_report(h->cli, h->path, err));
    } else {
        hold_move(h, QUEUED);
    }
}

/* Whoever uses the path in another way has its node there before it looks, as we have: of two
 * at least one sees the other. Near the end of the certain time a better one is waited for. */
static void run_if_certain(struct hold *h)
{
    if (held_is_lost(&h->held)) {
        cli_error(h->cli, "%s: the %s was lost before the command was started", h->path,
                  h->options->what);
        hold_over(h, EXIT_LOST);
    } else if (is_used_as_ours(h) && held_certain_ms(&h->held) > session_ms(h) / WARN_PART &&
               order_until(h, ORDER_RUN)) {
        h->starting_signal = 0;
        hold_move(h, STARTING);
    }
}

static void on_acquired(struct hold *h, int err)
{
    if (err == PAWL_OK) {
        hold_move(h, GRANTED);
        run_if_certain(h);
    } else if (err == PAWL_ERR_OPERATION_TIMEOUT) {
        if (h->options->timeout_ms != 0) {
            cli_error(h->cli, "%s: not acquired in time", h->path);
        }
        hold_over(h, h->options->give_up_status);
    } else {
        hold_over(h, cli_report(h->cli, h->path, err));
    }
}

/* ---- the loop ---- */

/* A signal from the terminal has reached the command, too, if there was one. */
static void on_signal(struct hold *h)
{
    struct signalfd_siginfo info;

    while (h->state != OVER && read(h->signals_fd, &info, sizeof(info)) == sizeof(info)) {
        int number = (int)info.ssi_signo;

        h->end.was_signalled = h->state == STARTING || h->state == RUNNING;
        if (h->state == STARTING) {
            h->starting_signal = number;
            pass_on(h, number);
        } else if (h->state != RUNNING) {
            hold_over(h, EXIT_SIGNAL + number);
        } else if (info.ssi_code <= 0) {
            pass_on(h, number);
        }
    }
}

static void on_news(struct hold *h)
{
    bool has_command = h->state == STARTING || h->state == RUNNING;
    uint64_t n;

    if (read(h->news.fd, &n, sizeof(n)) < 0) {
        return;
    }
    if (has_command && h->news.is_in_doubt && !h->was_in_doubt && h->options->warning_signal != 0) {
        pass_on(h, h->options->warning_signal);
    }
    h->was_in_doubt = h->news.is_in_doubt;
}

static int poll_ms(const struct hold *h)
{
    int64_t left;

    switch (h->state) {
    case CONNECTING:
        left = h->give_up_ms - clock_boot_ms();
        return left > 0 ? (int)left : 0;
    case QUEUED:
        return -1;
    default:
        return (int)(session_ms(h) / UPDATE_PART) + 1;
    }
}

static void wait_for_something(struct hold *h)
{
    struct pollfd fds[] = {{.fd = h->signals_fd, .events = POLLIN},
                           {.fd = h->news.fd, .events = POLLIN},
                           {.fd = h->watchdog.reports_fd, .events = POLLIN}};

    if (poll(fds, 3, poll_ms(h)) <= 0) {
        return;
    }
    if (fds[0].revents != 0) {
        on_signal(h);
    }
    if (fds[1].revents != 0) {
        on_news(h);
    }
    if (fds[2].revents != 0 && h->state != OVER) {
        on_report(h);
    }
}

static void look_around(struct hold *h)
{
    switch (h->state) {
    case CONNECTING:
        if (h->news.is_connected) {
            begin_to_acquire(h);
        } else if (clock_boot_ms() >= h->give_up_ms) {
            hold_over(h, cli_report_unreachable(h->cli, h->cli->client));
        }
        break;
    case QUEUED:
        if (h->news.acquired != NOT_YET) {
            on_acquired(h, h->news.acquired);
        }
        break;
    case GRANTED:
        run_if_certain(h);
        break;
    case STARTING:
    case RUNNING:
        keep_up(h);
        break;
    case OVER:
        break;
    }
}

int hold_signals(const int *more, size_t n_more)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (!inherited_ignores(numbers[i])) { /* nohup */
            sigaddset(&set, numbers[i]);
        }
    }
    for (size_t i = 0; i < n_more; i++) {
        sigaddset(&set, more[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The watchdog is forked before the client has threads. */
static bool hold_prepare(struct hold *h)
{
    h->signals_fd = hold_signals(NULL, 0);
    h->news.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return access("/proc/self/stat", R_OK) == 0 && h->signals_fd >= 0 && h->news.fd >= 0 &&
           watchdog_start(&h->watchdog, &h->watchdog_options);
}

static void open_and_run(struct hold *h)
{
    struct pawl_client_options options;
    struct pawl_tls_options tls;

    cli_client_options(h->cli, &options, &tls);
    options.on_state = hold_on_state;
    options.on_state_arg = &h->news;
    if (pawl_client_open(&options, &h->cli->client) != PAWL_OK) {
        cli_error(h->cli, "%s", pawl_open_error());
        hold_over(h, EXIT_USAGE);
        return;
    }
    h->give_up_ms = clock_boot_ms() + h->cli->connect_timeout_ms;
    while (h->state != OVER) {
        wait_for_something(h);
        look_around(h);
    }
    if (h->news.acquired == PAWL_OK) {
        held_release(&h->held); /* what is lost or unconfirmed goes with the session */
    }
    held_free(&h->held);
    pawl_client_close(h->cli->client); /* no callback any more */
    h->cli->client = NULL;
}

void hold_run(struct cli *cli, const struct hold_options *options, struct hold_end *end)
{
    struct hold h = {.cli = cli,
                     .options = options,
                     .path = options->paths[0],
                     .end = {.status = -1},
                     .news = {.acquired = NOT_YET},
                     .watchdog_options = {.command = options->command,
                                          .lock_path = options->paths[0],
                                          .cli = cli,
                                          .waits_for_all = options->waits_for_all}};

    if (!hold_prepare(&h)) {
        cli_error(cli, "the command cannot be watched (that takes a process, and /proc): %s",
                  strerror(errno));
        *end = (struct hold_end){.status = EXIT_SYSTEM};
        return;
    }
    open_and_run(&h);
    watchdog_stop(&h.watchdog);
    *end = h.end;
}

/* ---- the command line ---- */

/* "TERM", "SIGTERM", "15"; 0: unknown. */
static int signal_of(const char *text)
{
    const char *name = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    char digits[16];

    for (int number = 1; number < NSIG; number++) {
        const char *known = sigabbrev_np(number);

        snprintf(digits, sizeof(digits), "%d", number);
        if ((known != NULL && strcmp(known, name) == 0) || strcmp(text, digits) == 0) {
            return number;
        }
    }
    return 0;
}

bool hold_args(const struct args *args, struct cli *cli, struct hold_options *out)
{
    out->waits_for_all = !args_has(args, 'l');
    out->command = args->command;
    if (args_has(args, 'd')) {
        out->warning_signal = signal_of(args_text(args, 'd'));
        if (out->warning_signal == 0) {
            cli_error(cli, "there is no signal %s", args_text(args, 'd'));
            return false;
        }
    }
    return true;
}
