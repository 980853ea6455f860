/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/descendants.h"
#include "cli/inherited.h"
#include "os/clock.h"

/* Messages are smaller than PIPE_BUF: written and read whole. */
_Static_assert(sizeof(struct watchdog_order) <= 4096, "an order is written in one piece");

enum state { IDLE, RUNNING, WARNED, ENDED };

static const uint8_t may_follow[] = {
    [IDLE] = 1 << RUNNING | 1 << ENDED,
    [RUNNING] = 1 << WARNED | 1 << ENDED,
    [WARNED] = 1 << ENDED,
    [ENDED] = 0,
};

struct dog {
    enum state state;
    const struct watchdog_options *options;
    int orders_fd, reports_fd, children_fd, timer_fd;
    struct watchdog_order until; /* the last one with a time */
    bool is_alone;               /* pawl is gone */
    pid_t command_pid;
    bool command_has_ended;
    int status;
};

static void dog_move(struct dog *d, enum state next)
{
    ASSERT(may_follow[d->state] & 1 << next);
    d->state = next;
}

static void dog_report(const struct dog *d, enum watchdog_report_kind kind, int number,
                       bool by_time)
{
    struct watchdog_report report = {.kind = kind, .number = number, .by_time = by_time};

    if (write(d->reports_fd, &report, sizeof(report)) < 0) {
        return; /* nobody is left to be told */
    }
}

/* ---- the command ---- */

static void set_environment(const struct dog *d)
{
    const char *path = d->options->lock_path;
    size_t size = strlen(path) + sizeof(d->until.node);
    char token[32], *node = must_alloc(size);

    snprintf(node, size, "%s%s", path, d->until.node);
    snprintf(token, sizeof(token), "%" PRIu64, d->until.token);
    setenv("PAWL_LOCK_TOKEN", token, 1);
    setenv("PAWL_LOCK_NODE", node, 1);
    setenv("PAWL_LOCK_PATH", path, 1);
    cli_set_environment(d->options->cli);
    free(node);
}

/* In the child. errno goes to `why_fd` if there is nothing to execute. */
static _Noreturn void become_command(const struct dog *d, pid_t watchdog_pid, int why_fd)
{
    int why;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() == watchdog_pid) { /* else it is gone already */
        set_environment(d);
        inherited_restore();
        execvp(d->options->command[0], d->options->command);
    }
    why = errno;
    if (write(why_fd, &why, sizeof(why)) < 0) {
        _exit(1);
    }
    _exit(0);
}

/* errno of what kept it from being executed; 0: it runs, the descriptor was closed. One that does
 * not get there in time, such as from a disk that does not answer, is ended. */
static int why_not_started(const struct dog *d, int why_fd)
{
    int64_t left_ms = d->until.until_ms - d->until.end_ms - clock_boot_ms();
    struct pollfd fds = {.fd = why_fd, .events = POLLIN};
    int why;

    if (poll(&fds, 1, left_ms > 0 ? (int)left_ms : 0) <= 0) {
        kill(d->command_pid, SIGKILL);
        return ETIMEDOUT;
    }
    return read(why_fd, &why, sizeof(why)) == (ssize_t)sizeof(why) ? why : 0;
}

static void run_command(struct dog *d)
{
    pid_t watchdog_pid = getpid();
    int why_fds[2], why = 0;

    if (pipe2(why_fds, O_CLOEXEC) != 0) {
        why = errno;
    } else if ((d->command_pid = fork()) == 0) {
        become_command(d, watchdog_pid, why_fds[1]);
    } else {
        if (d->command_pid < 0) {
            why = errno;
        }
        close(why_fds[1]);
        if (d->command_pid > 0) {
            why = why_not_started(d, why_fds[0]);
        }
        close(why_fds[0]);
    }
    if (why != 0) {
        dog_report(d, REPORT_NOT_STARTED, why, false);
        dog_move(d, ENDED);
        return;
    }
    dog_report(d, REPORT_STARTED, (int)d->command_pid, false);
    dog_move(d, RUNNING);
}

/* ---- what happens ---- */

/* The time at which something has to be done next. */
static int64_t next_ms(const struct dog *d)
{
    return d->until.until_ms - (d->state == RUNNING ? d->until.warn_ms : d->until.end_ms);
}

static void set_timer(const struct dog *d)
{
    int64_t at = d->state == RUNNING || d->state == WARNED ? next_ms(d) : 0;
    struct itimerspec when = {.it_value = {.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000}};

    if (at < 0) {
        when.it_value = (struct timespec){.tv_nsec = 1};
    }
    timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void dog_end(struct dog *d, bool by_time)
{
    if (by_time) {
        descendants_end();
    }
    dog_report(d, REPORT_ENDED, d->command_has_ended ? d->status : SIGKILL, d->state == WARNED);
    dog_move(d, ENDED);
}

static void look_at_time(struct dog *d)
{
    if (d->state == RUNNING && clock_boot_ms() >= next_ms(d)) {
        descendants_signal(SIGTERM);
        descendants_signal(SIGCONT);
        dog_move(d, WARNED);
    }
    if (d->state == WARNED && clock_boot_ms() >= next_ms(d)) {
        dog_end(d, true);
    }
}

static void reap(struct dog *d)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == d->command_pid) {
            d->command_has_ended = true;
            d->status = status;
        }
    }
    if (d->state == IDLE || !d->command_has_ended) {
        return;
    }
    if ((pid < 0 && errno == ECHILD) || !d->options->waits_for_all) {
        dog_end(d, false);
    }
}

static void on_children(struct dog *d)
{
    struct signalfd_siginfo info;
    bool had_ended = d->command_has_ended;

    while (read(d->children_fd, &info, sizeof(info)) == sizeof(info)) {
    }
    reap(d);
    if (!had_ended && d->command_has_ended && d->state != ENDED) {
        dog_report(d, REPORT_LEFT, 0, false);
    }
}

static void take_order(struct dog *d, const struct watchdog_order *order)
{
    switch (order->kind) {
    case ORDER_RUN:
        d->until = *order;
        if (clock_boot_ms() >= order->until_ms - order->warn_ms) {
            dog_report(d, REPORT_TOO_LATE, 0, false); /* we were stopped meanwhile */
        } else {
            run_command(d);
        }
        break;
    case ORDER_UNTIL:
        d->until.until_ms = order->until_ms;
        d->until.warn_ms = order->warn_ms;
        d->until.end_ms = order->end_ms;
        break;
    case ORDER_SIGNAL:
        if (d->command_pid > 0 && !d->command_has_ended) {
            kill(d->command_pid, order->signal_number);
            kill(d->command_pid, SIGCONT); /* who is stopped hears nothing */
        }
        break;
    }
}

/* Without pawl nobody gives the lock back, and nobody moves the time: it comes. */
static void on_orders(struct dog *d)
{
    struct watchdog_order order;
    ssize_t n;

    while ((n = read(d->orders_fd, &order, sizeof(order))) == (ssize_t)sizeof(order) &&
           d->state != ENDED) {
        take_order(d, &order);
    }
    if (d->state == ENDED) {
        return;
    }
    if (n >= 0 || (errno != EINTR && errno != EAGAIN)) {
        d->is_alone = true;
        if (d->state == IDLE) {
            dog_move(d, ENDED);
        } else if (d->state == RUNNING) {
            descendants_signal(SIGTERM);
            descendants_signal(SIGCONT);
            dog_move(d, WARNED);
        }
    }
}

static _Noreturn void dog_live(struct dog *d)
{
    while (d->state != ENDED) {
        struct pollfd fds[] = {{.fd = d->is_alone ? -1 : d->orders_fd, .events = POLLIN},
                               {.fd = d->children_fd, .events = POLLIN},
                               {.fd = d->timer_fd, .events = POLLIN}};

        set_timer(d);
        if (poll(fds, 3, -1) < 0 && errno != EINTR) {
            break;
        }
        if (fds[0].revents != 0) {
            on_orders(d); /* the time may have been moved while we were stopped */
        }
        look_at_time(d);
        if (d->state != ENDED && fds[1].revents != 0) {
            on_children(d);
        }
    }
    _exit(0);
}

/* Whoever stops or interrupts pawl from its terminal reaches us as well: we go on. */
static _Noreturn void become_watchdog(const struct watchdog_options *options, int orders_fd,
                                      int reports_fd)
{
    static const int ignored[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                  SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};
    struct dog d = {.options = options, .orders_fd = orders_fd, .reports_fd = reports_fd};
    sigset_t children;

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        signal(ignored[i], SIG_IGN);
    }
    descendants_adopt();
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_SETMASK, &children, NULL);
    d.children_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    d.timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (d.children_fd < 0 || d.timer_fd < 0) {
        _exit(1);
    }
    dog_live(&d);
}

/* ---- pawl's side ---- */

bool watchdog_start(struct watchdog *w, const struct watchdog_options *options)
{
    int orders[2], reports[2];

    if (pipe2(orders, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    if (pipe2(reports, O_CLOEXEC) != 0) {
        close(orders[0]);
        close(orders[1]);
        return false;
    }
    descendants_adopt(); /* if it is killed, what it ran becomes ours */
    w->pid = fork();
    if (w->pid == 0) {
        close(orders[1]);
        close(reports[0]);
        become_watchdog(options, orders[0], reports[1]);
    }
    close(orders[0]);
    close(reports[1]);
    w->orders_fd = orders[1];
    w->reports_fd = reports[0];
    return w->pid > 0;
}

bool watchdog_order(const struct watchdog *w, const struct watchdog_order *order)
{
    return write(w->orders_fd, order, sizeof(*order)) == (ssize_t)sizeof(*order);
}

bool watchdog_report(const struct watchdog *w, struct watchdog_report *out)
{
    ssize_t n;

    do {
        n = read(w->reports_fd, out, sizeof(*out));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*out);
}

void watchdog_stop(struct watchdog *w)
{
    close(w->orders_fd);
    close(w->reports_fd);
    if (waitpid(w->pid, NULL, WNOHANG) == 0) { /* else its number may be somebody else's */
        kill(w->pid, SIGKILL);                 /* it may be stopped */
        waitpid(w->pid, NULL, 0);
    }
}
