/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - the socket to core->hosts.items[core->host], made, written and read without blocking.
 *
 * Part of the machine (machine.h): the simulator has its own. Both move the socket's state with
 * link_move():
 *
 *    +-- answered, given up -- LOOKUP
 *    v                           ^
 *   NONE ------- a name ---------+
 *    ^ |
 *    | | dial an address
 *    | |                  it stands            the kernel takes no more
 *    | +------> DIALING -----------> WRITABLE -------------------------> FULL
 *    |             |  |               |  ^ ^                             |  |
 *    |             |  +--> SHAKING -----+  +------- it takes some -------+  | ended
 *    |  refused,   |    TLS   |       | ended                               |
 *    +- too long --+----------+-------+-------------------------------------+
 *
 * Each address is a dial of its own, from NONE. The core sees LINK_OPENING from the first to the
 * last of them (core.h). With TLS what the kernel gives and takes goes through a filter
 * (tls/tls.h); what has gone into it counts as handed to the link. */
#ifndef PAWL_CLIENT_LINK_H
#define PAWL_CLIENT_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "os/dial.h"

struct engine;
struct tls;

enum { LINK_MAX_ADDRESSES = 32 };

enum socket_state {
    SOCKET_NONE,
    SOCKET_LOOKUP, /* the host's addresses are asked for */
    SOCKET_DIALING,
    SOCKET_SHAKING, /* hands, of TLS */
    SOCKET_WRITABLE,
    SOCKET_FULL,
};

struct link {
    enum socket_state state;
    int fd;          /* -1: none */
    struct tls *tls; /* NULL: plain, or not so far yet */
    uint32_t armed;  /* what the machine watches fd for */
    uint64_t number; /* grows with every fd that comes or goes */
    struct address addresses[LINK_MAX_ADDRESSES];
    size_t n_addresses, next_address;
    int64_t dial_limit_ms;
    struct lookup *lookup, *probe;
};

void link_move(struct link *l, enum socket_state next);

/* ... with a descriptor that has come or (-1) goes. */
void link_set_fd(struct link *l, int fd);
bool link_stands(const struct link *l);     /* it can be read */
bool link_is_dialing(const struct link *l); /* an address is tried, until dial_limit_ms */

void link_start(struct engine *e, int64_t now_ms);
void link_close(struct engine *e);
void link_forget(struct engine *e); /* in a forked child: the link is the parent's */
void link_next_address(struct engine *e, int64_t now_ms); /* the one tried takes too long */
void link_flush(struct engine *e, int64_t now_ms);
void link_read(struct engine *e, int64_t now_ms); /* what is there, and feeds it to the core */
/* What somebody else has received of it goes to the core. */
void link_feed(struct engine *e, int64_t now_ms, const uint8_t *data, size_t n);
void link_ended(struct engine *e); /* by the server */
void link_arm(struct engine *e);   /* who reads it may have changed */
void link_probe(struct engine *e); /* a question to another host */

#endif
