/* SPDX-License-Identifier: Apache-2.0 */
/* dialler.h - a connection to one of several addresses, made on the loop without stopping it.
 *
 *            start              one stands, or none is left
 *   RESTING --------> DIALLING -----------------------------> RESTING, done()
 *
 * Addresses are tried in their order. The next one has its turn when the one before has failed, or
 * beside it when that has not answered for a moment: an address that swallows everything costs
 * that moment only. The first that stands wins. Names are looked up each time, on a thread of their
 * own. */
#ifndef PAWL_DAEMON_DIALLER_H
#define PAWL_DAEMON_DIALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct dialler;

struct net_address {
    const char *host; /* a name or an address; IPv6 without brackets */
    int port;
};

/* `fd` is connected and the receiver's, who prepares it, and `host` (lent) is the name or address
 * that it was dialled under; or it is -1, and `error` says what the
 * last address came to that did not refuse. ECONNREFUSED only if all of them refused; ENOENT: a
 * name has no address, or not everything could be dialled. Never called from inside
 * dialler_start(). */
typedef void (*dialled_fn)(void *arg, int fd, const char *host, int error);

struct dialler *dialler_new(uv_loop_t *loop, dialled_fn done, void *arg);

/* Nothing is called any more; the memory goes when the loop has run on. */
void dialler_free(struct dialler *d);

/* Only while it rests. The addresses are copied. Each of them has `timeout_ms`, and so has the
 * looking up of a name. */
void dialler_start(struct dialler *d, const struct net_address *addresses, size_t n,
                   int timeout_ms);
bool dialler_is_busy(const struct dialler *d);

/* Back to rest, without done(). */
void dialler_cancel(struct dialler *d);

const char *dialler_strerror(int error);

#endif
