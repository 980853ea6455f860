/* SPDX-License-Identifier: Apache-2.0 */
/* mode_gap.c - writers that go where the service is: how long an ensemble answers no write.
 *
 *           a server listens            session is there
 *   AWAY ----------------------> OPENING ---------------> WRITING (one setData after the other)
 *    ^                              |                        |
 *    +------------------------------+------------------------+  the server ends the connection
 *
 * A writer that loses its server takes its session to the next one, three milliseconds later: with
 * several of them there is one at some door all the time. A write whose answer was lost is not
 * counted. `gap` sends a signal to one server under load and prints the longest time without an
 * answered write from then on; `first-write` ends at the first answer. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

enum { AWAY_NS = 3000000, MAX_EVENTS = 64, WRITER_SESSION_MS = 30000, WRITER_IN_BYTES = 4096 };

enum writer_state { AWAY, OPENING, WRITING };

struct writer {
    enum writer_state state;
    int fd;
    int at; /* which server */
    uint64_t back_ns;
    int32_t xid;
    struct wire_session session;
    size_t in_len;
    uint8_t in[WRITER_IN_BYTES];
};

struct writers {
    const struct options *options;
    int epoll_fd;
    struct writer *writers;
    long n_answered;
    int n_sessions; /* opened anew */
    uint64_t first_ns, last_ns, longest_ns;
};

static void leave(struct writer *w)
{
    close(w->fd);
    w->state = AWAY;
    w->at++;
    w->back_ns = clock_ns() + AWAY_NS;
}

static int send_frame(const struct writer *w, const uint8_t *frame, size_t len)
{
    return send(w->fd, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len ? 0 : -1;
}

static void knock(struct writers *all, struct writer *w)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};
    uint8_t frame[FRAME_OVERHEAD_MAX];

    w->fd = conn_dial(&all->options->to, w->at);
    if (w->fd < 0) {
        w->at++;
        w->back_ns = clock_ns() + AWAY_NS;
        return;
    }
    w->state = OPENING;
    w->in_len = 0;
    epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, w->fd, &event);
    if (send_frame(w, frame, wire_connect(frame, WRITER_SESSION_MS, &w->session)) != 0) {
        leave(w);
    }
}

static void write_next(struct writers *all, struct writer *w)
{
    const struct options *o = all->options;
    uint8_t frame[FRAME_OVERHEAD_MAX + WRITER_IN_BYTES];

    if (send_frame(w, frame, wire_set_data(frame, ++w->xid, o->path, (size_t)o->data_bytes)) != 0) {
        leave(w);
    }
}

static void on_session(struct writers *all, struct writer *w, const uint8_t *body)
{
    int64_t id = get64(body + 8);

    if (get32(body + 4) <= 0) { /* it has expired */
        memset(&w->session, 0, sizeof(w->session));
        leave(w);
        return;
    }
    if (id != w->session.id) {
        all->n_sessions++;
    }
    w->session.id = id;
    memcpy(w->session.password, body + 20, PASSWORD_BYTES);
    w->state = WRITING;
    write_next(all, w);
}

static void on_written(struct writers *all, struct writer *w, const uint8_t *body)
{
    uint64_t now_ns = clock_ns();

    if (get32(body) != w->xid || get32(body + 12) != ERR_OK) {
        die("error %d in reply %d, %d was due", get32(body + 12), get32(body), w->xid);
    }
    if (all->n_answered++ == 0) {
        all->first_ns = now_ns;
    } else if (now_ns - all->last_ns > all->longest_ns) {
        all->longest_ns = now_ns - all->last_ns;
    }
    all->last_ns = now_ns;
    write_next(all, w);
}

/* Takes the one frame that can be there. */
static void take_frame(struct writers *all, struct writer *w)
{
    int32_t len = w->in_len >= 4 ? get32(w->in) : 0;

    if (w->in_len < 4 || w->in_len - 4 < (size_t)len) {
        return;
    }
    if (len < REPLY_HEADER_BYTES || w->in_len - 4 != (size_t)len) {
        die("a frame of %d bytes in %zu", len, w->in_len);
    }
    w->in_len = 0;
    if (w->state == OPENING && len >= CONNECT_RESPONSE_BYTES - 1) {
        on_session(all, w, w->in + 4);
    } else {
        on_written(all, w, w->in + 4);
    }
}

static void receive(struct writers *all, struct writer *w)
{
    ssize_t n = recv(w->fd, w->in + w->in_len, sizeof(w->in) - w->in_len, MSG_DONTWAIT);

    if (n < 0 && errno == EAGAIN) {
        return;
    }
    if (n <= 0) {
        leave(w);
        return;
    }
    w->in_len += (size_t)n;
    take_frame(all, w);
}

/* One look at the sockets, and at whose pause is over. */
static void turn(struct writers *all)
{
    struct epoll_event events[MAX_EVENTS];
    int n = epoll_wait(all->epoll_fd, events, MAX_EVENTS, 1);
    int i;

    for (i = 0; i < n; i++) {
        struct writer *w = events[i].data.ptr;

        if (w->state != AWAY) {
            receive(all, w);
        }
    }
    for (i = 0; i < all->options->connections; i++) {
        struct writer *w = &all->writers[i];

        if (w->state == AWAY && clock_ns() >= w->back_ns) {
            knock(all, w);
        }
    }
}

static void writers_open(struct writers *all, const struct options *o)
{
    int i;

    if (o->data_bytes > WRITER_IN_BYTES) {
        die("at most %d bytes of data", WRITER_IN_BYTES);
    }
    *all = (struct writers){.options = o, .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    all->writers = must_calloc((size_t)o->connections, sizeof(*all->writers));
    for (i = 0; i < o->connections; i++) {
        all->writers[i].at = i;
    }
}

/* Until a write is answered that is `seconds` away: a gap that is under way is waited for. */
static void write_for(struct writers *all, double seconds)
{
    uint64_t end_ns = clock_ns() + (uint64_t)(seconds * 1e9);

    while (all->n_answered == 0 || all->last_ns < end_ns) {
        turn(all);
        if (clock_ns() > end_ns + (uint64_t)(all->options->max_seconds * 1e9)) {
            die("no write was answered within %.0f seconds", all->options->max_seconds);
        }
    }
}

static int run_gap(const struct options *o)
{
    struct writers all;
    long before;

    if (o->victim <= 0) {
        die("gap needs --victim PID");
    }
    writers_open(&all, o);
    write_for(&all, o->warmup_s);
    before = all.n_answered;
    if (kill(o->victim, o->signal) != 0) {
        die("cannot signal %d: %s", o->victim, strerror(errno));
    }
    all.last_ns = clock_ns();
    all.longest_ns = 0;
    write_for(&all, o->seconds);
    printf("mode=gap gap_ms=%.3f before=%ld after=%ld sessions=%d\n", (double)all.longest_ns / 1e6,
           before, all.n_answered - before, all.n_sessions);
    free(all.writers);
    return 0;
}

static int run_first_write(const struct options *o)
{
    struct writers all;

    writers_open(&all, o);
    write_for(&all, 0);
    printf("mode=first-write at_ns=%llu\n", (unsigned long long)all.first_ns);
    free(all.writers);
    return 0;
}

const struct mode mode_gap = {
    .name = "gap",
    .does = "sends --signal to --victim under load: the longest time without an answered write",
    .whole = run_gap,
};

const struct mode mode_first_write = {
    .name = "first-write",
    .does = "when (CLOCK_MONOTONIC) a write was answered for the first time",
    .whole = run_first_write,
};
