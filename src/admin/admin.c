/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/admin.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "admin/admin_internal.h"
#include "admin/console.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "http/origin.h"
#include "os/clock.h"
#include "pawl/error.h"

enum { N_PORTS = 2, LISTEN_AGAIN_US = 5 * 1000 * 1000, LOOK_MS = 500 };

/* ---- the thread ---- */

static void listen_again(struct admin *a, int64_t now_us)
{
    for (int i = 0; i < N_PORTS; i++) {
        struct admin_port *p = &a->ports[i];

        if (p->admin != NULL && p->daemon == NULL && now_us >= p->try_again_us) {
            exchange_listen(p);
            p->try_again_us = now_us + LISTEN_AGAIN_US;
        }
    }
}

static int epoll_of(const struct admin_port *p)
{
    const union MHD_DaemonInfo *info =
        p->daemon == NULL ? NULL : MHD_get_daemon_info(p->daemon, MHD_DAEMON_INFO_EPOLL_FD);

    return info == NULL ? -1 : info->epoll_fd; /* poll() passes over what is negative */
}

static int wait_ms(struct admin *a)
{
    int64_t next_us = answers_next_us(a);
    int64_t ms = LOOK_MS;

    if (next_us != INT64_MAX) {
        int64_t left_ms = (next_us - clock_monotonic_us() + 999) / 1000;

        ms = left_ms < 0 ? 0 : left_ms < ms ? left_ms : ms;
    }
    for (int i = 0; i < N_PORTS; i++) {
        MHD_UNSIGNED_LONG_LONG wanted;

        if (a->ports[i].daemon != NULL && MHD_get_timeout(a->ports[i].daemon, &wanted) == MHD_YES &&
            wanted < (uint64_t)ms) {
            ms = (int64_t)wanted;
        }
    }
    return (int)ms;
}

static void run_ports(struct admin *a)
{
    for (int i = 0; i < N_PORTS; i++) {
        if (a->ports[i].daemon != NULL) {
            MHD_run(a->ports[i].daemon);
        }
    }
}

static void wait_for_news(struct admin *a)
{
    struct pollfd fds[1 + N_PORTS] = {{.fd = a->wake_fd, .events = POLLIN}};
    eventfd_t n;

    for (int i = 0; i < N_PORTS; i++) {
        fds[1 + i] = (struct pollfd){.fd = epoll_of(&a->ports[i]), .events = POLLIN};
    }
    poll(fds, 1 + N_PORTS, wait_ms(a));
    if (fds[0].revents != 0) {
        eventfd_read(a->wake_fd, &n);
    }
}

/* The host is about to be closed: from here on nothing of this thread uses it. */
static void let_go(struct admin *a)
{
    if (!atomic_load(&a->let_go_wanted)) {
        return;
    }
    atomic_store(&a->host, NULL);
    admin_console_use(atomic_load(&a->console), NULL);
    answers_let_go(a);
    atomic_store(&a->let_go_wanted, false);
    lock_take(&a->let_go_lock);
    a->has_let_go = true;
    condition_signal(&a->let_go_done);
    lock_give(&a->let_go_lock);
}

static void *admin_run(void *arg)
{
    struct admin *a = arg;
    int64_t now_us;

    while (!atomic_load(&a->stop_wanted)) {
        now_us = clock_monotonic_us();
        answers_turn(a, now_us);
        stream_turn(a);
        restore_turn(a);
        let_go(a);
        exchange_cut_off_slow(a, now_us);
        listen_again(a, now_us);
        run_ports(a); /* what was just answered goes out; who has sent something is heard */
        wait_for_news(a);
    }
    answers_end(a);
    admin_console_stop(a->console);
    run_ports(a);
    return NULL;
}

/* ---- from outside ---- */

static void want_port(struct admin *a, int i, const char *address, int port, bool metrics_only)
{
    a->ports[i] = (struct admin_port){.admin = a,
                                      .address = address,
                                      .wanted = port,
                                      .metrics_only = metrics_only,
                                      .is_loopback = origin_is_loopback(address)};
    exchange_listen(&a->ports[i]);
    a->ports[i].try_again_us = clock_monotonic_us() + LISTEN_AGAIN_US;
}

static void admin_free(struct admin *a)
{
    for (int i = 0; i < N_PORTS; i++) {
        if (a->ports[i].daemon != NULL) {
            MHD_stop_daemon(a->ports[i].daemon);
        }
    }
    admin_console_free(a->console);
    answers_fini(a);
    restore_fini(a);
    lock_fini(&a->let_go_lock);
    condition_fini(&a->let_go_done);
    strbuf_fini(&a->file_text);
    if (a->wake_fd >= 0) {
        close(a->wake_fd);
    }
    free(a);
}

static void admin_fill(struct admin *a, const struct config *c)
{
    a->config = c;
    strbuf_init(&a->file_text, STRBUF_NO_LIMIT);
    a->has_file_text = config_file_text(c, &a->file_text);
    strbuf_cstr(&a->file_text); /* with a NUL behind it from here on */
    list_init(&a->links);
    list_init(&a->waiting);
    answers_init(a);
    stream_init(a);
    restore_init(a);
    lock_init(&a->let_go_lock);
    condition_init(&a->let_go_done);
    a->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

struct admin *admin_open(const struct config *c)
{
    const char *why;
    struct admin *a;

    if (!c->admin.enabled && !c->metrics.prometheus) {
        return NULL;
    }
    if (!mhd_load(&why)) {
        log_warn("admin server: %s. Install libmicrohttpd; the server goes on without it", why);
        return NULL;
    }
    a = must_zalloc(sizeof(*a));
    admin_fill(a, c);
    if (a->wake_fd < 0) {
        log_warn("admin server: eventfd: %s", strerror(errno));
        admin_free(a);
        return NULL;
    }
    if (c->admin.enabled) {
        want_port(a, 0, c->admin.address, c->admin.port, false);
    }
    if (c->metrics.prometheus) {
        want_port(a, 1, c->metrics.address, c->metrics.port, true);
    }
    if (thread_start(&a->thread, "pawl-admin", 0, admin_run, a) != PAWL_OK) {
        log_warn("admin server: no thread can be started: %s", strerror(errno));
        admin_free(a);
        return NULL;
    }
    return a;
}

static void wake(void *arg)
{
    const struct admin *a = arg;

    eventfd_write(a->wake_fd, 1);
}

/* The console stays, with those who have logged in. */
static void use_host(struct admin *a, struct host *host)
{
    struct admin_console *console = atomic_load(&a->console);

    if (console == NULL) {
        atomic_store(&a->console, admin_console_new(a->config, host, wake, a));
    } else {
        admin_console_use(console, host);
    }
}

void admin_serve(struct admin *a, struct host *host)
{
    if (a != NULL) {
        atomic_store(&a->host, host);
        use_host(a, host);
        eventfd_write(a->wake_fd, 1);
    }
}

bool admin_wants_restart(const struct admin *a)
{
    return a != NULL && atomic_load(&a->restart_wanted);
}

void admin_let_go(struct admin *a)
{
    if (a == NULL) {
        return;
    }
    lock_take(&a->let_go_lock);
    a->has_let_go = false;
    atomic_store(&a->let_go_wanted, true);
    atomic_store(&a->restart_wanted, false); /* in this order: see restore_turn() */
    eventfd_write(a->wake_fd, 1);
    while (!a->has_let_go) {
        condition_wait(&a->let_go_done, &a->let_go_lock, -1);
    }
    lock_give(&a->let_go_lock);
}

void admin_close(struct admin *a)
{
    if (a == NULL) {
        return;
    }
    atomic_store(&a->stop_wanted, true);
    eventfd_write(a->wake_fd, 1);
    thread_join(a->thread);
    admin_free(a);
}
