/* SPDX-License-Identifier: Apache-2.0 */
/* reaper.h - deletes containers whose children are gone, and TTL nodes whose time is up. */
#ifndef PAWL_SERVER_REAPER_H
#define PAWL_SERVER_REAPER_H

#include "server/server.h"

void reaper_init(struct server *s);
void reaper_fini(struct server *s);

/* Looks for candidates at every interval, and submits those that are due, evenly spaced. */
void reaper_tick(struct server *s);

#endif
