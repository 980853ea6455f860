/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_port.h - the port at which learners come to this server, should it lead.
 *
 *            taken by somebody, or cannot be bound: again every second
 *              +------+
 *              |      |                  listen
 *   new ----> DEAF ---+---> HELD <----------------> LISTENING
 *       \                    ^         unlisten
 *        +-------------------+
 *
 * It is bound before the first election and stays so: who cannot have it must not be elected, as
 * its followers would wait with whoever has it; and once it is ours nobody can take it. While we do
 * not listen connections are refused, as if nobody was there.
 *
 * Several addresses: those that cannot be bound are tried again, and do without meanwhile. But who
 * is taken by somebody else at one of them is deaf: learners may be let in there.
 *
 * A name is looked up once when this is made, which may block, and afterwards only on a thread of
 * its own, and only while none of its addresses can be bound. Belongs to the loop. */
#ifndef PAWL_DAEMON_QUORUM_PORT_H
#define PAWL_DAEMON_QUORUM_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "daemon/dialler.h"

struct quorum_port;

enum { QUORUM_PORT_ADDRESSES = 8 };

/* DEAF -> HELD. Never called from within a call. */
typedef void (*quorum_port_held_fn)(void *arg);

/* Tries at once. Host NULL: all addresses. The log tells once why it is deaf, and what follows. */
struct quorum_port *quorum_port_new(uv_loop_t *loop, const struct net_address *addresses,
                                    size_t count, quorum_port_held_fn held, void *arg);
/* The loop has to run once more. NULL is allowed. */
void quorum_port_free(struct quorum_port *p);

bool quorum_port_is_held(const struct quorum_port *p);
int quorum_port_number(const struct quorum_port *p); /* -1: DEAF */

/* Copies the listening sockets, which stay the port's, to `fds`. 0: it is DEAF now. */
size_t quorum_port_listen(struct quorum_port *p, int fds[QUORUM_PORT_ADDRESSES]);
void quorum_port_unlisten(struct quorum_port *p);

#endif
