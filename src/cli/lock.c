/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - `pawl lock PATH -- COMMAND`: a command that runs only while a lock is ours.
 *
 *   CONNECTING --> ACQUIRING --> RUNNING --> (released)
 *
 * The watchdog (watchdog.h) runs the command. This file gets the lock, tells the watchdog until
 * when it is certainly ours, and passes on signals and the exit status. */
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
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/descendants.h"
#include "cli/held.h"
#include "cli/inherited.h"
#include "cli/watchdog.h"
#include "os/clock.h"

/* Parts of the session's timeout T. The certain time may be as short as T/4 less some round trips
 * although all is well (grant.h): the command must not be troubled before. The watchdog ends it; if
 * it has not done so when GUARD_PART is left, it is stopped, and we do. */
enum { WARN_PART = 6, END_PART = 12, GUARD_PART = 20, UPDATE_PART = 40 };

/* A twelfth of less is too short to end processes in. */
enum { SESSION_MIN_MS = 1000 };

struct locking {
    struct cli *cli;
    const struct args *args;
    enum held_kind kind;
    int timeout_ms; /* of the acquire; -1: none */
    int64_t permits;
    int warning_signal; /* 0: none */
    int give_up_status; /* when it is not acquired in time */
    struct watchdog watchdog;
    struct watchdog_options watchdog_options;
    int signals_fd, news_fd; /* news: something below has changed */
    struct held held;
    atomic_bool is_connected, is_in_doubt;
    atomic_int acquired; /* 1: not yet; else how it ended */
    int64_t until_ms;    /* what the watchdog was told last */
    bool was_warned;
    bool command_runs; /* the watchdog was told to run it */
    bool has_started;  /* and has done so */
    uint64_t unsent;   /* signals for the command, by number */
    int early_signal;  /* the last one before it has started; 0: none */
    int status;        /* -1: not over yet */
};

/* ---- what others tell us, on their threads ---- */

static void make_news(struct locking *l)
{
    uint64_t one = 1;

    if (write(l->news_fd, &one, sizeof(one)) < 0) {
        return; /* there is unread news already */
    }
}

static void lock_on_state(struct pawl_client *c, enum pawl_state state, void *arg)
{
    struct locking *l = arg;

    (void)c;
    if (state == PAWL_STATE_CONNECTED || state == PAWL_STATE_RECONNECTED) {
        l->is_connected = true;
        l->is_in_doubt = false;
    } else {
        l->is_in_doubt = true;
    }
    make_news(l);
}

static void lock_on_acquired(int err, void *arg)
{
    struct locking *l = arg;

    l->acquired = err;
    make_news(l);
}

/* ---- the watchdog ---- */

static int64_t session_ms(const struct locking *l)
{
    return pawl_client_session_timeout_ms(l->cli->client);
}

/* What follows the path of the lock in that of its node. */
static void name_node(const struct locking *l, char out[WATCHDOG_NODE_BYTES])
{
    size_t len = strlen(l->args->words[0]), size = len + WATCHDOG_NODE_BYTES;
    char *node = must_zalloc(size);

    pawl_grant_path(held_grant(&l->held), node, size);
    ASSERT(strncmp(node, l->args->words[0], len) == 0);
    snprintf(out, WATCHDOG_NODE_BYTES, "%s", node + len);
    free(node);
}

/* The time is read before the grant: what passes between them makes us early, never late. False:
 * the watchdog did not take it. */
static bool order_until(struct locking *l, enum watchdog_order_kind kind)
{
    int64_t now_ms = clock_boot_ms();
    struct watchdog_order order = {.kind = kind,
                                   .until_ms = now_ms + held_certain_ms(&l->held),
                                   .warn_ms = session_ms(l) / WARN_PART,
                                   .end_ms = session_ms(l) / END_PART};

    if (kind == ORDER_RUN) {
        order.token = pawl_grant_token(held_grant(&l->held));
        name_node(l, order.node);
    } else if (order.until_ms >= l->until_ms && order.until_ms < l->until_ms + 5) {
        return true;
    }
    if (!watchdog_order(&l->watchdog, &order)) {
        return false; /* if it is gone its reports end, too */
    }
    l->until_ms = order.until_ms;
    return true;
}

/* What it does not take now is sent again with the next look. */
static void send_signals(struct locking *l)
{
    for (int number = 1; number < NSIG && l->unsent != 0; number++) {
        struct watchdog_order order = {.kind = ORDER_SIGNAL, .signal_number = number};
        uint64_t bit = UINT64_C(1) << (number - 1);

        if ((l->unsent & bit) != 0 && watchdog_order(&l->watchdog, &order)) {
            l->unsent &= ~bit;
        }
    }
}

static void pass_on(struct locking *l, int signal_number)
{
    l->unsent |= UINT64_C(1) << (signal_number - 1);
    send_signals(l);
}

static int report_lost(const struct locking *l)
{
    cli_error(l->cli, "%s: the lock was about to be lost; the command was ended",
              l->args->words[0]);
    return EXIT_LOST;
}

/* The time is nearly over, and the watchdog has not ended the command. */
static void end_in_its_place(struct locking *l)
{
    kill(l->watchdog.pid, SIGKILL);
    descendants_end();
    l->status = report_lost(l);
}

static void keep_up(struct locking *l)
{
    if (held_certain_ms(&l->held) <= session_ms(l) / GUARD_PART) {
        end_in_its_place(l);
        return;
    }
    order_until(l, ORDER_UNTIL);
    send_signals(l);
}

static int status_of(const struct locking *l, const struct watchdog_report *report)
{
    if (report->by_time) {
        return report_lost(l);
    }
    if (WIFSIGNALED(report->number)) {
        return EXIT_SIGNAL + WTERMSIG(report->number);
    }
    return WEXITSTATUS(report->number);
}

static void on_report(struct locking *l)
{
    struct watchdog_report report;

    if (!watchdog_report(&l->watchdog, &report)) {
        cli_error(l->cli, "the process that watches the command was killed%s",
                  l->command_runs ? "; so was the command" : "");
        descendants_end();
        l->status = EXIT_LOST;
        return;
    }
    switch (report.kind) {
    case REPORT_STARTED:
        l->has_started = true;
        break;
    case REPORT_TOO_LATE:
        l->command_runs = false;
        l->status = l->early_signal != 0 ? EXIT_SIGNAL + l->early_signal : -1;
        break;
    case REPORT_NOT_STARTED:
        cli_error(l->cli, "%s: %s", l->args->command[0], strerror(report.number));
        l->status = report.number == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
        break;
    case REPORT_LEFT:
        cli_error(l->cli, "the command has ended; the lock is held until all that it started has, "
                          "too (--leave: at once)");
        break;
    case REPORT_ENDED:
        l->status = status_of(l, &report);
        break;
    }
}

/* ---- getting there ---- */

/* The ways in which a path can be used: none excludes another. */
static const struct {
    const char *mark, *also; /* in the name of a node below it */
    const char *what;
} uses[] = {
    {"lock-", NULL, "a plain lock (neither --shared, --write nor --permits)"},
    {"__READ__", "__WRIT__", "a read/write lock (--shared or --write)"},
    {"leases", NULL, "a semaphore (--permits)"},
};
enum { N_USES = sizeof(uses) / sizeof(uses[0]) };

static size_t use_of(enum held_kind kind)
{
    return kind == HELD_LOCK ? 0 : kind == HELD_LEASE ? 2 : 1;
}

static bool is_marked(const char *name, size_t use)
{
    return strstr(name, uses[use].mark) != NULL ||
           (uses[use].also != NULL && strstr(name, uses[use].also) != NULL);
}

static bool mixes_kinds(struct locking *l, const char *path)
{
    struct pawl_reply *reply;
    size_t n, other = N_USES;

    pawl_children(l->cli->client, path, NULL, &reply);
    n = reply != NULL && reply->err == PAWL_OK ? reply->children.n : 0;
    for (size_t i = 0; i < n * N_USES; i++) {
        if (i % N_USES != use_of(l->kind) &&
            is_marked(reply->children.items[i / N_USES], i % N_USES)) {
            other = i % N_USES;
        }
    }
    pawl_reply_free(reply);
    if (other < N_USES) {
        cli_error(l->cli, "%s is used as %s, which this does not exclude", path, uses[other].what);
    }
    return other < N_USES;
}

static bool any_mixes_kinds(struct locking *l)
{
    for (int i = 0; i < l->args->n_words; i++) {
        if (mixes_kinds(l, l->args->words[i])) {
            l->status = EXIT_CONFLICT;
            return true;
        }
    }
    return false;
}

static void begin_to_acquire(struct locking *l)
{
    const char *path = l->args->words[0];
    int err;

    if (session_ms(l) < SESSION_MIN_MS) {
        cli_error(l->cli,
                  "a session timeout of %d ms is too short to end a command in; %d are needed",
                  (int)session_ms(l), SESSION_MIN_MS);
        l->status = EXIT_REFUSED;
        return;
    }
    if (any_mixes_kinds(l)) {
        return;
    }
    err = held_new(&l->held, l->cli->client, l->kind, l->args->words, (size_t)l->args->n_words,
                   (int)l->permits);
    if (err == PAWL_OK) {
        err = held_acquire(&l->held, l->timeout_ms, lock_on_acquired, l);
    }
    if (err != PAWL_OK) {
        l->status = cli_report(l->cli, path, err);
    }
}

/* Whoever uses the path in the other way has its node there before it looks, as we have: of two
 * at least one sees the other. Near the end of the certain time a better one is waited for. */
static void run_if_certain(struct locking *l)
{
    if (held_is_lost(&l->held)) {
        cli_error(l->cli, "%s: the lock was lost before the command was started",
                  l->args->words[0]);
        l->status = EXIT_LOST;
    } else if (!any_mixes_kinds(l) && held_certain_ms(&l->held) > session_ms(l) / WARN_PART) {
        l->command_runs = order_until(l, ORDER_RUN);
    }
}

static void on_acquired(struct locking *l)
{
    if (l->acquired == PAWL_OK) {
        run_if_certain(l);
    } else if (l->acquired == PAWL_ERR_OPERATION_TIMEOUT) {
        if (l->timeout_ms != 0) {
            cli_error(l->cli, "%s: not acquired in time", l->args->words[0]);
        }
        l->status = l->give_up_status;
    } else {
        l->status = cli_report(l->cli, l->args->words[0], l->acquired);
    }
}

/* ---- the loop ---- */

/* A signal from the terminal has reached the command, too, if there was one. */
static void on_signal(struct locking *l)
{
    struct signalfd_siginfo info;

    while (read(l->signals_fd, &info, sizeof(info)) == sizeof(info)) {
        int number = (int)info.ssi_signo;

        if (!l->command_runs) {
            l->status = EXIT_SIGNAL + number;
        } else if (info.ssi_code <= 0 || !l->has_started) {
            pass_on(l, number);
        }
        l->early_signal = l->has_started ? l->early_signal : number;
    }
}

static void on_news(struct locking *l)
{
    uint64_t n;

    if (read(l->news_fd, &n, sizeof(n)) < 0) {
        return;
    }
    if (l->command_runs && l->is_in_doubt && !l->was_warned && l->warning_signal != 0) {
        pass_on(l, l->warning_signal);
    }
    l->was_warned = l->is_in_doubt;
}

static int poll_ms(const struct locking *l, int64_t give_up_ms)
{
    if (!l->is_connected) {
        int64_t left = give_up_ms - clock_boot_ms();

        return left > 0 ? (int)left : 0;
    }
    return l->acquired == PAWL_OK ? (int)(session_ms(l) / UPDATE_PART) + 1 : -1;
}

static void wait_for_something(struct locking *l, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = l->signals_fd, .events = POLLIN},
                           {.fd = l->news_fd, .events = POLLIN},
                           {.fd = l->watchdog.reports_fd, .events = POLLIN}};

    poll(fds, 3, timeout_ms);
    if (fds[0].revents != 0) {
        on_signal(l);
    }
    if (fds[1].revents != 0) {
        on_news(l);
    }
    if (fds[2].revents != 0 && l->status < 0) {
        on_report(l);
    }
}

static void hold_and_run(struct locking *l)
{
    int64_t give_up_ms = clock_boot_ms() + l->cli->connect_timeout_ms;
    bool has_begun = false;

    while (l->status < 0) {
        wait_for_something(l, poll_ms(l, give_up_ms));
        if (l->status >= 0) {
            break;
        }
        if (!l->is_connected && clock_boot_ms() >= give_up_ms) {
            l->status = cli_report_unreachable(l->cli, l->cli->client);
        } else if (l->is_connected && !has_begun) {
            has_begun = true;
            begin_to_acquire(l);
        } else if (l->acquired != 1 && !l->command_runs) {
            on_acquired(l);
        } else if (l->command_runs) {
            keep_up(l);
        }
    }
}

/* The watchdog is forked before the client has threads. */
static bool prepare(struct locking *l)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (!inherited_ignores(numbers[i])) { /* nohup */
            sigaddset(&set, numbers[i]);
        }
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    l->signals_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    l->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return access("/proc/self/stat", R_OK) == 0 && l->signals_fd >= 0 && l->news_fd >= 0 &&
           watchdog_start(&l->watchdog, &l->watchdog_options);
}

static int open_and_run(struct locking *l)
{
    struct pawl_client_options options;

    cli_client_options(l->cli, &options);
    options.on_state = lock_on_state;
    options.on_state_arg = l;
    if (pawl_client_open(&options, &l->cli->client) != PAWL_OK) {
        cli_error(l->cli, "%s", pawl_open_error());
        return EXIT_USAGE;
    }
    hold_and_run(l);
    if (l->acquired == PAWL_OK) {
        held_release(&l->held); /* what is lost or unconfirmed goes with the session */
    }
    held_free(&l->held);
    pawl_client_close(l->cli->client); /* no callback any more */
    l->cli->client = NULL;
    return l->status;
}

/* ---- the command line ---- */

static const struct option_spec lock_options[] = {
    {'n', "try", NULL, "do not wait: exit with 114 if somebody else holds it"},
    {'w', "timeout", "DURATION", "wait no longer than this"},
    {'S', "shared", NULL, "the read side of a read/write lock: excludes --write only"},
    {'W', "write", NULL, "the write side of a read/write lock: excludes --shared and --write"},
    {'P', "permits", "NUMBER", "a semaphore: so many may hold it at a time"},
    {'E', "conflict-exit-code", "NUMBER", "exit with this instead of 114"},
    {'d', "on-doubt", "SIGNAL", "send this to the command when the link to the server is lost"},
    {'l', "leave", NULL, "release when the command ends, whatever it has left running"},
    {0, NULL, NULL, NULL}};

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

static bool kind_of(struct locking *l)
{
    bool shared = args_has(l->args, 'S'), write = args_has(l->args, 'W');
    bool permits = args_has(l->args, 'P');

    if (shared + write + permits > 1) {
        cli_error(l->cli, "--shared, --write and --permits exclude each other");
        return false;
    }
    if (permits && l->args->n_words > 1) {
        cli_error(l->cli, "--permits takes one path");
        return false;
    }
    for (int i = 1; i < l->args->n_words; i++) {
        for (int j = 0; j < i; j++) {
            if (strcmp(l->args->words[i], l->args->words[j]) == 0) {
                cli_error(l->cli, "%s is named twice", l->args->words[i]);
                return false;
            }
        }
    }
    if (l->args->n_words > HELD_PATHS_MAX) {
        cli_error(l->cli, "more than %d paths", HELD_PATHS_MAX);
        return false;
    }
    l->kind = shared ? HELD_READ : write ? HELD_WRITE : permits ? HELD_LEASE : HELD_LOCK;
    return true;
}

static bool options_of(struct locking *l)
{
    const struct args *a = l->args;
    int64_t give_up = EXIT_TIMEOUT;

    if (!kind_of(l) || !args_duration(a, l->cli, 'w', &l->timeout_ms) ||
        !args_number(a, l->cli, 'P', 1, INT32_MAX, &l->permits) ||
        !args_number(a, l->cli, 'E', 0, 255, &give_up)) {
        return false;
    }
    if (args_has(a, 'n')) {
        l->timeout_ms = 0;
    }
    l->give_up_status = (int)give_up;
    if (args_has(a, 'd')) {
        l->warning_signal = signal_of(args_text(a, 'd'));
        if (l->warning_signal == 0) {
            cli_error(l->cli, "there is no signal %s", args_text(a, 'd'));
            return false;
        }
    }
    return true;
}

static int run_lock(struct cli *cli, const struct args *args)
{
    struct locking l = {.cli = cli,
                        .args = args,
                        .timeout_ms = -1,
                        .acquired = 1,
                        .status = -1,
                        .watchdog_options = {.command = args->command,
                                             .lock_path = args->words[0],
                                             .servers = cli->servers,
                                             .waits_for_all = !args_has(args, 'l')}};
    int status;

    if (!options_of(&l)) {
        return EXIT_USAGE;
    }
    if (!prepare(&l)) {
        cli_error(cli, "the command cannot be watched (that takes a process, and /proc): %s",
                  strerror(errno));
        return EXIT_SYSTEM;
    }
    status = open_and_run(&l);
    watchdog_stop(&l.watchdog);
    return status;
}

const struct command command_lock = {.name = "lock",
                                     .synopsis = "[OPTIONS] PATH... -- COMMAND [ARGUMENT...]",
                                     .summary = "run a command while holding a lock",
                                     .options = lock_options,
                                     .min_words = 1,
                                     .max_words = -1,
                                     .runs_command = true,
                                     .opens_itself = true,
                                     .run = run_lock};
