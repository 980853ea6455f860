/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/waker.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"

/* First the descriptor, then the flag, then the look: whoever finds the flag set comes before the
 * look, and whoever does not writes again. */
static void on_waker_ready(uv_poll_t *poll, int status, int events)
{
    struct waker *w = poll->data;
    eventfd_t n;

    (void)status;
    (void)events;
    eventfd_read(w->fd, &n);
    atomic_exchange(&w->is_woken, false);
    w->fn(w->arg);
}

bool waker_open(struct waker *w, uv_loop_t *loop, void (*fn)(void *arg), void *arg)
{
    w->fn = fn;
    w->arg = arg;
    atomic_init(&w->is_woken, false);
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->fd < 0) {
        return false;
    }
    uv_poll_init(loop, &w->poll, w->fd);
    w->poll.data = w;
    uv_poll_start(&w->poll, UV_READABLE, on_waker_ready);
    return true;
}

void waker_close(struct waker *w)
{
    if (w->fd >= 0) {
        close(w->fd);
    }
    w->fd = -1;
}

void waker_wake(struct waker *w)
{
    int before = errno; /* a signal's handler leaves it as it was */

    if (!atomic_exchange(&w->is_woken, true)) {
        eventfd_write(w->fd, 1);
    }
    errno = before;
}
