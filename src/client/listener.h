/* SPDX-License-Identifier: Apache-2.0 */
/* listener.h - the application's functions that are told of changes of state. */
#ifndef PAWL_CLIENT_LISTENER_H
#define PAWL_CLIENT_LISTENER_H

#include "base/list.h"
#include "pawl/client.h"

struct engine;
struct listener;

struct listeners {
    struct list all;
    struct listener *calling;
};

void listeners_init(struct listeners *l);
void listeners_fini(struct listeners *l);

int listeners_add(struct engine *e, pawl_state_fn fn, void *arg); /* NO_MEMORY or 0 */

/* On the thread of callbacks, without the lock. */
void listeners_tell(struct engine *e, enum pawl_state state);

#endif
