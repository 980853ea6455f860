/* SPDX-License-Identifier: Apache-2.0 */
/* link_internal.h - what a turn of the machine tells the link. */
#ifndef PAWL_CLIENT_MACHINE_LINK_INTERNAL_H
#define PAWL_CLIENT_MACHINE_LINK_INTERNAL_H

#include <stdint.h>

struct engine;

/* A lookup may have ended. */
void link_looked_up(struct engine *e, int64_t now_ms);

/* epoll has seen `events` at its descriptor. */
void link_handle(struct engine *e, uint32_t events, int64_t now_ms);

#endif
