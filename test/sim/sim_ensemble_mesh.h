/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_mesh.h - the network between members: election messages and links in order.
 *
 * Whatever is sent over a wire arrives in order and once, or the wire ends; bytes behind the place
 * where it ended are lost. Between two members each direction may be blocked by itself: what is
 * under way then waits, as behind a firewall that drops packets, and neither end hears of it. A
 * member whose process ends closes its wires; one whose machine ends says nothing.
 *
 * Election messages have a wire per pair that is made when somebody wants to send. On a new wire
 * both ends send their last message again. A member does not care whose wire it is. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_MESH_H
#define PAWL_TEST_SIM_ENSEMBLE_MESH_H

#include "base/prng.h"
#include "base/strbuf.h"
#include "sim_ensemble_queue.h"

enum { MESH_MEMBERS = 16 };

/* What arrives. Called only for members that run and are not paused. */
struct mesh_host {
    void (*notification)(void *cluster, int to, int from, struct bytes message);
    void (*link_up)(void *cluster, int member, uint64_t link, int peer, bool dialled);
    void (*link_down)(void *cluster, int member, uint64_t link);
    void (*dial_failed)(void *cluster, int member, int peer);
    void (*packet)(void *cluster, int member, uint64_t link, struct bytes bytes);
    void (*refused)(void *cluster, int member, int peer); /* nobody listens for election there */
};

struct parcel;
struct wire;

/* One direction of a wire. */
struct mesh_pipe {
    struct wire *wire;
    int side; /* of the wire, at which it arrives */
    struct parcel *first, **last;
    int64_t last_due_us;
    bool is_awaited; /* an event will look at it */
};

struct mesh {
    void *cluster;
    const struct mesh_host *host;
    struct sim_queue *events;
    const int64_t *now_us;
    struct prng random;
    int n_members;
    int64_t latency_us; /* at least, and ... */
    int64_t jitter_us;  /* ... usually up to so much more */
    int one_in_slow;    /* so rarely a parcel takes up to slow_us */
    int64_t slow_us;
    int blocked[MESH_MEMBERS][MESH_MEMBERS]; /* from, to: by so many */
    bool runs[MESH_MEMBERS];                 /* the process */
    bool powered[MESH_MEMBERS];              /* the machine: refuses what is sent to no process */
    bool paused[MESH_MEMBERS];
    bool holds[MESH_MEMBERS]; /* its quorum port: nobody else can have it */
    bool listens[MESH_MEMBERS];
    int strangers[MESH_MEMBERS]; /* who have or want its port, when it does not hold it ... */
    bool lets_in[MESH_MEMBERS];  /* ... and take what comes, without a word */
    int drops[MESH_MEMBERS];     /* connections to its quorum port are not answered: by so many */
    struct wire *wires, *ended;
    struct wire *elections[MESH_MEMBERS][MESH_MEMBERS]; /* as the first of the two sees it */
    struct strbuf last_message[MESH_MEMBERS][MESH_MEMBERS];
    uint64_t n_links;
    uint64_t n_parcels;
};

void mesh_init(struct mesh *m, void *cluster, const struct mesh_host *host,
               struct sim_queue *events, const int64_t *now_us, uint64_t seed, int n_members);
void mesh_fini(struct mesh *m);

void mesh_notify(struct mesh *m, int from, int to, struct bytes message);
/* One attempt; it takes the place of one that is under way. Each end of a link has a number of its
 * own for it. */
void mesh_dial(struct mesh *m, int from, int to);
/* Nothing happens when the link has ended. `delay_us`: it takes so much longer. */
void mesh_send(struct mesh *m, int from, uint64_t link, struct bytes bytes, int64_t delay_us);
void mesh_close(struct mesh *m, int from, uint64_t link);
bool mesh_is_open(struct mesh *m, int member, uint64_t link);
int mesh_peer(const struct mesh *m, uint64_t link); /* who is at its other end, or was */
/* Nothing of the link arrives until it is let go on. */
void mesh_hold(struct mesh *m, int member, uint64_t link, bool held);

/* ---- trouble ---- */

void mesh_block(struct mesh *m, int from, int to, bool blocked);
void mesh_pause(struct mesh *m, int member, bool paused);
void mesh_reset(struct mesh *m, int a, int b); /* all wires between the two end, both are told */
/* Somebody else wants the port of a member, and has it when the member does not: from now on, or
 * no longer. Who was let in hears of the end. */
void mesh_stranger(struct mesh *m, int member, bool there, bool lets_in);
/* A member wants its port, for as long as it runs: whether it has it now. */
bool mesh_hold_port(struct mesh *m, int member);
void mesh_started(struct mesh *m, int member);
void mesh_stopped(struct mesh *m, int member, bool power); /* the process is gone */

#endif
