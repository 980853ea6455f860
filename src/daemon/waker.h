/* SPDX-License-Identifier: Apache-2.0 */
/* waker.h - lets other threads wake a loop.
 *
 * What uv_async_t does, without its wait: there the loop, once awake, has to wait until the sender
 * has left uv_async_send(), and on few processors it is the loop that the kernel lets run first. It
 * then spins and yields, on the path of every write: seen with strace on an ensemble of three and
 * two processors, in a third of all wake-ups. */
#ifndef PAWL_DAEMON_WAKER_H
#define PAWL_DAEMON_WAKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

struct waker {
    uv_poll_t poll;
    int fd;
    _Atomic bool is_woken; /* the loop has not looked since */
    void (*fn)(void *arg);
    void *arg;
};

/* `fn` is called on the loop after every waker_wake(), once for several that come together. Ends
 * with the loop's handles; then waker_close(). False: the system has no descriptor for it. */
bool waker_open(struct waker *w, uv_loop_t *loop, void (*fn)(void *arg), void *arg);
void waker_close(struct waker *w);

/* From any thread, and from a signal's handler. What was done before is seen by `fn`. */
void waker_wake(struct waker *w);

#endif
