/* SPDX-License-Identifier: Apache-2.0 */
/* sim_server.h - a whole server over a simulated disk: it can crash, and comes back with what that
 * disk has kept.
 *
 * What it wants logged is written at once and synced at the end of the step, unless it is held: a
 * disk that takes its time. Links are the caller's; after a crash those from before are gone. */
#ifndef PAWL_SIM_SERVER_H
#define PAWL_SIM_SERVER_H

#include "base/prng.h"
#include "lib/sim_disk.h"
#include "member/member.h"

struct txnlog;

struct sim_server {
    struct member_options options;
    struct prng random;
    struct sim_disk *disk;
    struct txnlog *log;
    struct member *member;
    struct member_effects effects;
    int64_t now_us, wall_ms;
    int64_t appended, durable; /* zxids */
    bool hold;                 /* nothing is synced */
    struct strbuf taken;
    int n_restarts;
    int64_t n_lost; /* transactions that were not on disk at a crash */
};

/* False, also of sim_server_restart(): the disk's fault, which there is none. */
bool sim_server_init(struct sim_server *s, uint64_t seed);
void sim_server_fini(struct sim_server *s);

void sim_server_advance(struct sim_server *s, int64_t ms);
void sim_server_release(struct sim_server *s); /* not held any more */

struct connection *sim_server_connect(struct sim_server *s);
void sim_server_send(struct sim_server *s, struct connection *c, struct bytes bytes);
void sim_server_disconnect(struct sim_server *s, struct connection *c);

/* What waits to be sent to `c`, taken out; good until the next call. */
struct bytes sim_server_take(struct sim_server *s, struct connection *c);

/* The machine crashes, loses what was not synced (some of it, all, or nothing), and starts again
 * from its disk. */
bool sim_server_restart(struct sim_server *s);

#endif
