/* SPDX-License-Identifier: Apache-2.0 */
/* dial.h - connecting to servers: addresses of a name, found in the background, and links to them.
 *
 * Looking up a name may block for as long as the resolver likes, so it happens on a thread of its
 * own that nobody has to wait for. */
#ifndef PAWL_OS_DIAL_H
#define PAWL_OS_DIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADDRESS_BYTES = 128 };

struct address {
    uint32_t len;
    _Alignas(8) uint8_t bytes[ADDRESS_BYTES]; /* a struct sockaddr */
};

/* Port 0: `name` is the path of a Unix socket. A numeric address and a socket need no looking up:
 * 1 and `*out`. 0: this is a name. PAWL_ERR_ADDRESS: a path that is too long. */
int address_plain(const char *name, int port, struct address *out);

struct lookup;

/* Starts to look `name` up; `done(arg)` is called from another thread when there is a result, or
 * never after lookup_free(). NULL without memory or threads. */
struct lookup *lookup_start(const char *name, int port, void (*done)(void *arg), void *arg);

/* How to ask one question over a connected socket, by one who can wait: whether the answer begins
 * with `rw`. `done_with` is called once, on any thread. */
struct probe_asker {
    bool (*ask)(void *arg, int fd, int timeout_ms);
    void (*done_with)(void *arg);
    void *arg;
};

/* The same, but goes on and asks what answers there `isro`; `asker` NULL: in plain text. */
struct lookup *lookup_start_probe(const char *name, int port, int timeout_ms,
                                  const struct probe_asker *asker, void (*done)(void *arg),
                                  void *arg);

bool lookup_is_done(struct lookup *l);

/* Once it is done: how many addresses of both families, 0 when there are none; copied to `out`. */
size_t lookup_addresses(struct lookup *l, struct address *out, size_t max);
bool lookup_writes(struct lookup *l); /* the server said `rw` */

/* At any time; returns at once. NULL is allowed. */
void lookup_free(struct lookup *l);

/* A link being made, not blocking; -1 and errno when it fails at once. Writable when decided. */
int dial_start(const struct address *a);

/* 0 when the link stands, else errno. The socket blocks from here on: use MSG_DONTWAIT. */
int dial_result(int fd);

#endif
