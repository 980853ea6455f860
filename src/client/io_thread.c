/* SPDX-License-Identifier: Apache-2.0 */
/* io_thread.c - the machine's side of the engine: links, bytes, waiting. The simulator has another.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/assert.h"
#include "client/internal.h"
#include "os/clock.h"

enum { PROBE_TIMEOUT_MS = 1000, READS_PER_TURN = 16 };

int64_t engine_now_ms(void)
{
    return clock_monotonic_ms();
}

int64_t engine_wall_ms(void)
{
    return clock_wall_ms();
}

void engine_wake(struct engine *e)
{
    uint64_t one = 1;

    if (!atomic_exchange(&e->woken, true)) {
        (void)!write(e->wake_fd, &one, sizeof(one));
    }
}

void engine_kick(struct engine *e)
{
    uint64_t one = 1;

    (void)!write(e->kick_fd, &one, sizeof(one));
}

static void wake_by_lookup(void *engine)
{
    engine_wake(engine);
}

/* ---- what epoll watches ---- */

/* Whether the server owes us anything. If not, the I/O thread need not look out for bytes (for the
 * end of the link it always does), and a blocking call saves two calls of epoll_ctl(). */
static bool expects_bytes(const struct engine *e)
{
    const struct core *c = e->core;

    return c->link != LINK_READY || c->n_calls > 0 || c->watches.n_watchers > 0 ||
           c->ping_sent_ms != 0 || c->n_pre_auths > 0;
}

/* By a blocked caller, or by the thread of callbacks, now or soon. */
static bool is_read_elsewhere(const struct engine *e)
{
    return e->driver != NULL || (e->own_reads && e->core->link == LINK_READY);
}

void link_arm(struct engine *e)
{
    struct epoll_event ev = {.data.fd = e->fd};

    if (e->fd < 0) {
        return;
    }
    if (e->dialing) {
        ev.events = EPOLLOUT;
    } else {
        ev.events = (uint32_t)EPOLLRDHUP | (e->write_blocked ? (uint32_t)EPOLLOUT : 0) |
                    (expects_bytes(e) && !is_read_elsewhere(e) ? (uint32_t)EPOLLIN : 0);
    }
    if (ev.events != e->armed) {
        epoll_ctl(e->epoll_fd, EPOLL_CTL_MOD, e->fd, &ev);
        e->armed = ev.events;
    }
}

static void adopt_fd(struct engine *e, int fd)
{
    struct epoll_event ev = {.events = EPOLLOUT, .data.fd = fd};

    e->fd = fd;
    e->link_number++;
    e->dialing = true;
    e->write_blocked = false;
    e->armed = EPOLLOUT;
    epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

/* Taken out of epoll by hand: a forked child may still hold the socket open. A driver that is
 * receiving closes the descriptor itself, or its number could be given to another file under its
 * feet. */
static void close_fd(struct engine *e)
{
    if (e->fd < 0) {
        return;
    }
    epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, e->fd, NULL);
    if (e->driver != NULL && e->driver->receiving && e->driver->fd == e->fd) {
        shutdown(e->fd, SHUT_RDWR);
        e->driver->doomed_fd = e->fd;
    } else {
        close(e->fd);
    }
    e->fd = -1;
    e->link_number++;
    e->dialing = false;
    e->write_blocked = false;
}

void link_close(struct engine *e)
{
    close_fd(e);
    lookup_free(e->lookup);
    e->lookup = NULL;
    e->n_addresses = e->next_address = 0;
}

void engine_link_failed(struct engine *e, int64_t now_ms)
{
    link_close(e);
    core_link_down(e->core, now_ms);
}

/* ---- making links ---- */

/* The next address of the host, each with its share of the time. */
void link_next_address(struct engine *e, int64_t now_ms)
{
    close_fd(e);
    while (e->next_address < e->n_addresses) {
        size_t left = e->n_addresses - e->next_address;
        int fd = dial_start(&e->addresses[e->next_address++]);

        if (fd >= 0) {
            e->dial_limit_ms = now_ms + (e->core->link_limit_ms - now_ms) / (int64_t)left;
            adopt_fd(e, fd);
            return;
        }
    }
    engine_link_failed(e, now_ms);
}

static void shuffle_addresses(struct engine *e)
{
    for (size_t i = e->n_addresses; i > 1; i--) {
        size_t j = (size_t)prng_below(&e->random, i);
        struct address t = e->addresses[i - 1];

        e->addresses[i - 1] = e->addresses[j];
        e->addresses[j] = t;
    }
}

void link_start(struct engine *e, int64_t now_ms)
{
    const struct host_entry *host = &e->core->hosts.items[e->core->host];
    int rc;

    link_close(e);
    rc = address_plain(host->name, host->port, &e->addresses[0]);
    if (rc == 0) {
        e->lookup = lookup_start(host->name, host->port, wake_by_lookup, e);
        if (e->lookup == NULL) {
            engine_link_failed(e, now_ms);
        }
        return;
    }
    e->n_addresses = rc == 1 ? 1 : 0;
    link_next_address(e, now_ms);
}

static void looked_up(struct engine *e, int64_t now_ms)
{
    if (e->lookup != NULL && lookup_is_done(e->lookup)) {
        e->n_addresses = lookup_addresses(e->lookup, e->addresses, MAX_HOST_ADDRESSES);
        e->next_address = 0;
        if (e->n_addresses == 0) {
            log_warn("the name %s has no address", e->core->hosts.items[e->core->host].name);
        }
        lookup_free(e->lookup);
        e->lookup = NULL;
        shuffle_addresses(e);
        link_next_address(e, now_ms);
    }
    if (e->probe != NULL && lookup_is_done(e->probe)) {
        bool writes = lookup_writes(e->probe);

        lookup_free(e->probe);
        e->probe = NULL;
        core_probed(e->core, now_ms, writes);
    }
}

void link_probe(struct engine *e)
{
    const struct host_entry *host = &e->core->hosts.items[e->core->probe_host];

    if (e->probe == NULL && host->port != 0) {
        e->probe = lookup_start_probe(host->name, host->port, PROBE_TIMEOUT_MS, wake_by_lookup, e);
    }
}

/* The receive timeout lets a driver look at its clock now and then. */
static void dialed(struct engine *e, int64_t now_ms)
{
    struct timeval slice = {.tv_sec = 1};

    if (dial_result(e->fd) != 0) {
        link_next_address(e, now_ms);
        return;
    }
    setsockopt(e->fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice));
    e->dialing = false;
    core_link_up(e->core, now_ms);
}

/* ---- bytes ---- */

void link_flush(struct engine *e, int64_t now_ms)
{
    struct bytes b;
    ssize_t n;

    while (e->fd >= 0 && !e->dialing && !e->write_blocked && (b = core_output(e->core)).len > 0) {
        do {
            n = send(e->fd, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        } while (n < 0 && errno == EINTR);
        if (n > 0) {
            core_wrote(e->core, now_ms, (size_t)n);
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            e->write_blocked = true;
        } else {
            engine_link_failed(e, now_ms);
        }
    }
}

void engine_feed(struct engine *e, int64_t now_ms, const uint8_t *data, size_t n)
{
    uint64_t link = e->link_number;

    while (n > 0 && e->link_number == link && e->core->link != LINK_NONE) {
        uint8_t *at;
        size_t room = core_room(e->core, &at);

        if (room == 0) {
            engine_link_failed(e, now_ms);
            return;
        }
        room = room < n ? room : n;
        memcpy(at, data, room);
        core_received(e->core, now_ms, room);
        data += room;
        n -= room;
    }
}

/* As much as is there, but not for ever: timers want their turn. */
void engine_read(struct engine *e, int64_t now_ms)
{
    for (int i = 0; i < READS_PER_TURN && e->fd >= 0 && e->core->link >= LINK_HELLO; i++) {
        uint8_t *at;
        size_t room = core_room(e->core, &at);
        ssize_t n;

        do {
            n = room == 0 ? -1 : recv(e->fd, at, room, MSG_DONTWAIT);
        } while (n < 0 && room > 0 && errno == EINTR);
        if (n < 0 && room > 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return;
        }
        if (n <= 0) {
            engine_link_failed(e, now_ms);
            return;
        }
        core_received(e->core, now_ms, (size_t)n);
        if (e->core->want_drop || (size_t)n < room) {
            return;
        }
    }
}

/* ---- turns ---- */

static void handle(struct engine *e, const struct epoll_event *ev, int64_t now_ms)
{
    uint64_t count;

    if (ev->data.fd == e->wake_fd) {
        (void)!read(e->wake_fd, &count, sizeof(count));
        atomic_store(&e->woken, false);
        looked_up(e, now_ms);
        return;
    }
    if (ev->data.fd != e->fd || e->fd < 0) {
        return; /* of a link that has gone meanwhile */
    }
    if (e->dialing) {
        dialed(e, now_ms);
        return;
    }
    if ((ev->events & EPOLLOUT) != 0) {
        e->write_blocked = false;
    }
    if (e->driver == NULL && (ev->events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        engine_read(e, now_ms);
    }
}

/* Others who wait may make the next turn. */
static void turn_over(struct engine *e)
{
    struct list *item;

    list_for_each (item, &e->waiters) {
        pthread_cond_signal(&container_of(item, struct waiter, link)->cond);
    }
    pthread_cond_broadcast(&e->state_changed);
}

void engine_turn(struct engine *e, int64_t timeout_ms)
{
    const struct log_target *before = logging_used();
    struct epoll_event events[4];
    int64_t now = engine_now_ms(), wait;
    int n;

    logging_use(&e->log_target);
    e->in_turn = true;
    e->io_asleep = false;
    engine_tick(e, now);
    wait = engine_wait_ms(e, now);
    if (timeout_ms >= 0 && (wait < 0 || wait > timeout_ms)) {
        wait = timeout_ms;
    }
    e->io_asleep = true;
    pthread_mutex_unlock(&e->lock);
    n = epoll_wait(e->epoll_fd, events, 4, wait > INT32_MAX ? INT32_MAX : (int)wait);
    pthread_mutex_lock(&e->lock);
    e->io_asleep = false;
    now = engine_now_ms();
    for (int i = 0; i < n; i++) {
        handle(e, &events[i], now);
    }
    engine_settle(e, now);
    e->io_asleep = e->mode == PAWL_DISPATCH_EXTERNAL;
    e->in_turn = false;
    if (e->mode == PAWL_DISPATCH_EXTERNAL) {
        turn_over(e);
    }
    logging_use(before);
}

void engine_tell_loop(struct engine *e)
{
    if (e->mode == PAWL_DISPATCH_EXTERNAL && !list_empty(&e->inbox)) {
        engine_wake(e);
    }
}

void *io_thread_main(void *engine)
{
    struct engine *e = engine;

    logging_use(&e->log_target);
    pthread_mutex_lock(&e->lock);
    while (!e->stop) {
        engine_turn(e, -1);
    }
    engine_thread_ends(e);
    return NULL;
}
