/* SPDX-License-Identifier: Apache-2.0 */
/* reaper.h - deletes containers whose children are gone, and TTL nodes whose time is up.
 *
 * Every interval it notes the paths of those that are due, and submits their deletes evenly spaced.
 * What a path leads to by then may be another node, or the same one refreshed: prepare.c asks
 * reaper_is_due() once more of the node as it will be when the delete comes to it. */
#ifndef PAWL_SERVER_REAPER_H
#define PAWL_SERVER_REAPER_H

#include "base/strbuf.h"
#include "store/tree.h"

struct server;

struct reaper {
    int64_t look_at_us;  /* the next search */
    struct strbuf queue; /* encoded paths still to be deleted */
    size_t queue_at;     /* the first of them */
    int64_t next_us;     /* when that one may go */
};

void reaper_init(struct server *s);
void reaper_fini(struct server *s);

/* Whether a node may be reaped at `wall_ms`; `never_used_ms` as in struct server_options. */
bool reaper_is_due(const struct tree *tree, const struct stat_persisted *stat, int32_t n_children,
                   int64_t never_used_ms, int64_t wall_ms);

/* Does what is to be done by now. */
void reaper_tick(struct server *s);

/* When there may be something to do next; INT64_MAX: not before some node is made. */
int64_t reaper_next_us(const struct server *s);

#endif
