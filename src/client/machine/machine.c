/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - chance and waiting, by Linux. */
#define _GNU_SOURCE
#include "client/machine.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "client/engine.h"
#include "client/machine/link_internal.h"
#include "os/clock.h"

enum { SLICE_MS = 1000 };

bool machine_random(void *out, size_t len)
{
    return getrandom(out, len, 0) == (ssize_t)len;
}

/* ---- life ---- */

int machine_open(struct machine_state *m)
{
    struct epoll_event ev = {.events = EPOLLIN};

    m->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    m->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    m->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    m->alarm_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    ev.data.fd = m->alarm_fd;
    if (m->poll_fd >= 0 && m->alarm_fd >= 0) { /* without one we only wake up later */
        epoll_ctl(m->poll_fd, EPOLL_CTL_ADD, m->alarm_fd, &ev);
    }
    ev.data.fd = m->wake_fd;
    if (m->poll_fd < 0 || m->wake_fd < 0 || m->kick_fd < 0 ||
        epoll_ctl(m->poll_fd, EPOLL_CTL_ADD, m->wake_fd, &ev) != 0) {
        return PAWL_ERR_SYSTEM;
    }
    return 0;
}

static void machine_close_one(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void machine_close(struct machine_state *m)
{
    machine_close_one(&m->wake_fd);
    machine_close_one(&m->kick_fd);
    machine_close_one(&m->alarm_fd);
    machine_close_one(&m->poll_fd);
}

/* ---- waking ---- */

static void machine_ring(int fd)
{
    uint64_t one = 1;

    (void)!write(fd, &one, sizeof(one));
}

void machine_wake(struct engine *e)
{
    if (!atomic_exchange(&e->machine.woken, true)) {
        machine_ring(e->machine.wake_fd);
    }
}

void machine_kick(struct engine *e)
{
    machine_ring(e->machine.kick_fd);
}

void machine_interest(const struct engine *e, int *fd, short *events)
{
    *fd = e->machine.poll_fd;
    *events = POLLIN;
}

/* ---- receiving ---- */

/* In slices, so that the clock is looked at now and then. */
static ssize_t machine_recv(int fd, int kick_fd, int64_t left_ms, uint8_t *data, size_t len)
{
    struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = kick_fd, .events = POLLIN}};
    uint64_t kicks;

    if (left_ms >= SLICE_MS && kick_fd < 0) {
        return recv(fd, data, len, 0); /* it has a timeout of a slice */
    }
    poll(p, kick_fd < 0 ? 1 : 2, (int)(left_ms > SLICE_MS ? SLICE_MS : left_ms));
    if ((p[1].revents & POLLIN) != 0) {
        (void)!read(kick_fd, &kicks, sizeof(kicks));
    }
    return recv(fd, data, len, MSG_DONTWAIT);
}

long machine_receive(struct engine *e, struct waiter *w, int64_t left_ms, uint8_t *data, size_t len)
{
    int kick_fd = w->kickable ? e->machine.kick_fd : -1, error;
    char text[128];
    ssize_t n;

    w->receiving = true;
    w->fd = e->link.fd;
    engine_unlock(e);
    n = machine_recv(w->fd, kick_fd, left_ms < 0 ? 0 : left_ms, data, len);
    error = errno;
    engine_lock(e);
    w->receiving = false;
    machine_close_one(&w->doomed_fd);
    if (n > 0) {
        return (long)n;
    }
    if (n < 0 && (error == EAGAIN || error == EWOULDBLOCK || error == EINTR)) {
        return 0;
    }
    if (e->link.fd == w->fd && n == 0) { /* else it was we who ended it */
        link_ended(e);
    } else if (e->link.fd == w->fd) {
        core_trouble(e->core, strerror_r(error, text, sizeof(text)));
    }
    return -1;
}

/* ---- turns ---- */

static void machine_handle(struct engine *e, const struct epoll_event *ev, int64_t now_ms)
{
    uint64_t count;

    if (ev->data.fd == e->machine.alarm_fd) {
        (void)!read(e->machine.alarm_fd, &count, sizeof(count));
        e->machine.alarm_ms = INT64_MAX;
    } else if (ev->data.fd == e->machine.wake_fd) {
        (void)!read(e->machine.wake_fd, &count, sizeof(count));
        atomic_store(&e->machine.woken, false);
        link_looked_up(e, now_ms);
    } else if (ev->data.fd == e->link.fd && e->link.fd >= 0) { /* else it has gone meanwhile */
        link_handle(e, ev->events, now_ms);
    }
}

/* The time that epoll_wait() is given stands still while the machine sleeps. An alarm that is early
 * costs a turn; it is not moved for every call. */
static void machine_set_alarm(struct machine_state *m, int64_t at_ms)
{
    struct itimerspec t = {
        .it_value = {.tv_sec = (time_t)(at_ms / 1000), .tv_nsec = (long)(at_ms % 1000) * 1000000}};

    if (m->alarm_fd >= 0 && at_ms < m->alarm_ms) {
        timerfd_settime(m->alarm_fd, TFD_TIMER_ABSTIME, &t, NULL);
        m->alarm_ms = at_ms;
    }
}

static int64_t machine_wait_ms(struct engine *e, int64_t timeout_ms, int64_t now_ms)
{
    int64_t wait = engine_wait_ms(e, now_ms);

    if (wait > 0) {
        machine_set_alarm(&e->machine, now_ms + wait);
    }
    wait = timeout_ms >= 0 && (wait < 0 || wait > timeout_ms) ? timeout_ms : wait;
    return wait > INT32_MAX ? INT32_MAX : wait;
}

void machine_turn(struct engine *e, int64_t timeout_ms)
{
    const struct log_target *before = logging_used();
    struct machine_state *m = &e->machine;
    struct epoll_event events[4];
    int64_t now = machine_now_ms(), wait;
    int n;

    ASSERT(!m->in_turn);
    logging_use(&e->log_target);
    m->in_turn = true;
    m->asleep = false;
    engine_tick(e, now);
    wait = machine_wait_ms(e, timeout_ms, now);
    m->asleep = true;
    engine_unlock(e);
    n = epoll_wait(m->poll_fd, events, 4, (int)wait);
    engine_lock(e);
    m->asleep = false;
    now = machine_now_ms();
    for (int i = 0; i < n; i++) {
        machine_handle(e, &events[i], now);
    }
    engine_settle(e, now);
    m->in_turn = false;
    m->asleep = e->settings.mode == PAWL_DISPATCH_EXTERNAL;
    if (m->asleep) {
        waiter_wake_all(e);
        condition_broadcast(&e->state_changed);
    }
    logging_use(before);
}
