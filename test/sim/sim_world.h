/* SPDX-License-Identifier: Apache-2.0 */
/* sim_world.h - simulated time, links, servers with their disks, and client processes; by seed.
 *
 * The clients are the real ones, without threads (PAWL_DISPATCH_EXTERNAL); what client/machine/
 * does for them on a machine, sim_machine.c does here. The server is a member as the daemon drives
 * it, alone; or there is an ensemble of members (sim_ensemble.h), with a plan of its own trouble.
 * Time jumps from one thing that happens to the next; a process that is paused is not driven
 * meanwhile, and has to find out by itself. One world at a time. */
#ifndef PAWL_TEST_SIM_WORLD_H
#define PAWL_TEST_SIM_WORLD_H

#include "client/engine.h"
#include "client/handle.h"
#include "lib/member_fixture.h"
#include "sim/sim_witness.h"

enum { MAX_MACHINES = 64, MAX_ROBBED = 256, MAX_SESSIONS = 4096, FOR_EVER = 1 << 30 };

/* Bytes on their way; `eof`: the other end has closed. */
struct piece {
    struct list link;
    int64_t due_ms;
    bool eof;
    size_t at, len;
    uint8_t data[];
};

/* One direction of a link. It keeps the order, whatever happens. */
struct pipe {
    struct list pieces;
    int64_t last_due_ms;
    int64_t frozen_until_ms; /* nothing arrives before */
    bool ended;              /* nothing follows */
};

/* A link outlives the end that was closed: what was sent still arrives, unless it is cut. */
/* What a server before 3.9 knows of a connection's watches (sim_profile.c). */
struct old_tables {
    struct list watches, requests;
    int n_setting; /* setWatches that are not answered yet */
    bool greeted;
};

struct sim_link {
    struct list link;
    int host;                       /* which member of an ensemble */
    struct machine *client;         /* NULL: closed there */
    struct connection *server_side; /* NULL: not made yet, or closed there */
    int64_t up_at_ms;               /* being made until then; 0: it stands */
    bool refused;
    bool is_stranger; /* see world_create(): over no wire */
    struct pipe to_server, to_client;
    struct strbuf partial; /* where frames are looked at: the beginning of one */
    bool greeted;          /* ... and the first was the handshake */
    struct old_tables old;
};

/* What the clocks of a computer show. Only the world knows the true time. */
struct sim_clocks {
    int64_t from_ms, until_ms; /* of the last sleep, in true time */
    bool is_stopped;           /* that was a stop from outside: the boot clock stood still, too */
    int64_t slept_ms;          /* before that: what the monotonic clock has not counted */
    int64_t stopped_ms;        /* ... and what the boot clock has not */
    int64_t wall_ahead_ms;     /* of the wall clock, which jumps */
};

/* A process with one client, on a computer of its own. */
struct machine {
    int id;
    struct pawl_client *client; /* NULL: ended */
    struct engine *e;
    struct sim_link *socket;
    bool woken, dead;
    int64_t due_ms, paused_until_ms, writable_at_ms, cut_off_until_ms;
    int64_t stranded_until_ms; /* until then it reaches only this server: */
    int stranded_with;
    struct sim_clocks clocks;
    int n_turns; /* blocking calls it is inside of */
    struct witness witness;
};

/* What the witness knows of it. */
struct seen_session {
    int64_t id;
    int64_t last_zxid; /* shown to its client */
    int32_t last_cxid; /* of its transactions */
    bool was_handed_over;
};

struct seen_txn {
    int64_t zxid, session;
    int32_t cxid;
};

/* What somebody took away from its owner, who may believe for a moment that he still has it. */
struct robbed {
    int64_t session_id;
    char path[128];
};

struct world {
    uint64_t seed;
    struct prng random;
    bool trouble, verbose;
    uint64_t trace; /* of everything that happened */
    uint64_t n_events, n_restarts;
    int64_t restart_zxid; /* the last transaction that the last restart has found */

    const int64_t *now_us;   /* of the server, or of the ensemble ... */
    int64_t begun_ms;        /* ... which begins with 0 */
    struct cluster *cluster; /* NULL: there is one server, and it stands alone */
    struct real_ensemble *ensemble;

    struct member_options options;
    struct member_fixture server;
    bool server_is_down;
    int64_t up_again_ms, tick_ms, durable_at_ms, slow_disk_until_ms;
    int64_t wall_jump_ms; /* by which the server's wall clock is set when it comes back */
    int slow_link_one_in, latency_ms;
    struct list links;
    struct machine machines[MAX_MACHINES];
    int n_machines;
    struct machine *running;                    /* whose code runs now; NULL: nobody's */
    struct seen_session sessions[MAX_SESSIONS]; /* that the servers ever made */
    int n_sessions;
    struct seen_txn *txns; /* by zxid */
    size_t n_txns, txns_capacity;
    struct robbed robbed[MAX_ROBBED];
    int n_robbed;

    int profile; /* 35, 38: the server behaves as of that version (sim_profile.c); 0: as ours */

    /* A frame on its way to the server; true: it was dealt with, `reply` is what it gets. */
    bool (*intercept)(struct sim_link *l, struct bytes frame, struct strbuf *reply);

    /* Who lives in it. */
    int64_t (*next_ms)(void *arg);
    void (*act)(void *arg);
    void (*check)(void *arg);
    void (*wrote)(const struct txn *txn, void *arg);
    void (*changed)(void *arg); /* a transaction was appended, and the server's replica has it */
    void *arg;
    const char *replay; /* how to see a failure again */
};

/* `tick_ms`: sessions live up to so much longer than they should; 0: by the seed. */
struct world *world_new(uint64_t seed, int32_t tick_ms, bool verbose);

struct trouble_plan;
/* An ensemble, and what will happen to it; `plan` stays the caller's. */
struct world *world_new_ensemble(uint64_t seed, const struct trouble_plan *plan, bool verbose);
void world_free(struct world *w);
extern struct world *the_world;

static inline int64_t world_now_ms(const struct world *w)
{
    return w->begun_ms + *w->now_us / 1000;
}

/* Something was not as it has to be: says what, and how to see it again. Does not return. */
/* world_why not NULL: only what, there. */
enum { WORLD_WHY_BYTES = 256 };
extern char *world_why;
_Noreturn void world_violated(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Part of the trace: the same seed, the same trace. */
void world_note(int who, const char *what, int64_t detail);

bool world_chance(struct world *w, uint64_t one_in);
int64_t world_below(struct world *w, int64_t n);

/* The next thing happens; not later than `limit_ms`. */
void world_step(struct world *w, int64_t limit_ms);
void world_run(struct world *w, int64_t ms);
int64_t world_soon_ms(struct world *w); /* the next thing that is due */

/* ---- processes ---- */

struct process_options {
    int session_ms, lost_percent;
    const char *name_space;
    int flags;
    struct pawl_bytes attach;
    struct sim_clocks clocks; /* of the computer it runs on; zero: they are right */
};
struct machine *world_start(struct world *w, const struct process_options *o);
void world_close(struct machine *m, int timeout_ms); /* blocks, in simulated time */
/* Its session goes on in another; NULL: it has none. */
struct machine *world_hand_over(struct machine *m, const struct process_options *o);
void world_kill(struct machine *m);              /* its memory goes with the world */
void world_pause(struct machine *m, int64_t ms); /* SIGSTOP */
/* Its computer sleeps, and only the boot clock and the wall clock go on; or it is a virtual one
 * that is stopped from outside, and only the wall clock does. */
void world_sleep(struct machine *m, int64_t ms);
void world_stop(struct machine *m, int64_t ms);
bool machine_is_stopped(const struct machine *m);
bool machine_runs(const struct machine *m);
void machine_drive(struct machine *m);

/* ---- trouble ---- */

enum { TO_SERVER = 1, TO_CLIENT = 2, BOTH_WAYS = 3 };
void world_cut(struct machine *m, int ways);                /* who is told; bytes may be lost */
void world_freeze(struct machine *m, int ways, int64_t ms); /* FOR_EVER: silent */
/* Nothing reaches the server any more, on no link; what it has sent arrives, but late. */
void world_cut_off(struct machine *m, int64_t ms, int64_t late_ms);
/* With the server that it is linked to it is on the wrong side of a partition: the two reach each
 * other, and nobody else. False: there is no such server, or no other. */
bool world_strand(struct machine *m, int64_t ms);
/* The server, or some member of the ensemble, restarts from its disk; or that is slow. */
void world_crash(struct world *w, int64_t down_ms);
void world_slow_disk(struct world *w, int64_t ms);

/* Somebody else, who is answered at once by a server that is up; of an ensemble after a while, or
 * not (CONNECTION_LOSS). */
int world_create(struct world *w, const char *path);
int world_delete(struct world *w, const char *path);
int world_permit(struct world *w, const char *path, int32_t perms); /* for everybody */
void world_kill_session(struct world *w, int64_t session_id);
bool world_is_robbed(const struct world *w, int64_t session_id, const char *path);

/* ---- the servers' state ---- */

/* The newest that a client may see; of an ensemble the same as the truth. */
struct tree *world_tree(struct world *w);
int64_t world_applied_zxid(struct world *w);

/* The oldest: of the member that is behind all others. */
int64_t world_oldest_zxid(struct world *w);
bool world_somewhere_lacks(struct world *w, const char *path);

/* Everything that was logged; of an ensemble everything that some client may have seen. */
struct tree *world_truth(struct world *w);
int64_t world_truth_zxid(struct world *w);

size_t world_n_watches(struct world *w);
void world_each_watch(struct world *w, watch_row_fn fn, void *arg);
int world_n_children(struct world *w, const char *path); /* -1: no such node */
size_t world_n_sessions(struct world *w);
int64_t world_session(const struct machine *m);

/* ---- sim_servers.c ---- */

enum { SERVERS_TEXT_BYTES = 512, SERVERS_PORT = 2181 }; /* each has a port of its own */
void servers_write(const struct world *w, char out[SERVERS_TEXT_BYTES]); /* where clients connect */
void world_wrote(const struct txn *txn, void *world); /* sim_world.c: servers tell of it */
struct sim_member;
bool servers_connect(struct world *w, struct sim_link *l); /* false: it is refused */
void servers_receive(struct world *w, struct sim_link *l, struct bytes b);
void servers_sent(struct world *w, struct sim_link *l, size_t n);
void servers_disconnect(struct world *w, struct sim_link *l);
bool servers_listen(const struct world *w, const struct sim_link *l); /* it would be received now */

/* Whatever of the servers is due now, but for what clients have sent. */
void servers_run(struct world *w);
int64_t servers_soon_ms(const struct world *w);
void servers_pass_until(struct world *w, int64_t ms);
/* What the servers have to send, to whom. */
void servers_settle(struct world *w);
void servers_free(struct world *w);

/* After the trouble: all members serve, one leads, all have the same. */
bool servers_are_settled(struct world *w);
void servers_calm(struct world *w);
uint64_t servers_n_events(const struct world *w); /* of an ensemble */
void servers_await(struct world *w);              /* somebody serves, if that can be had soon */

/* ---- sim_net.c, for the other two ---- */

/* What waits for the client leaves; or the server ends the link. */
void net_touched(struct world *w, struct connection *c);
void net_server_gone(struct world *w, int host);

void net_serve(struct world *w); /* whatever of the server is due now */
int64_t net_soon_ms(const struct world *w);
void net_free(struct world *w);

struct sim_link *net_dial(struct world *w, struct machine *m, int host);
bool net_dialed(struct world *w, struct sim_link *l); /* false: refused */
void net_send(struct world *w, struct sim_link *l, struct bytes b);
void net_hang_up(struct world *w, struct sim_link *l);      /* the client's end */
struct piece *net_arrived(struct world *w, struct pipe *p); /* NULL: nothing */
void net_taken(struct piece *p);
int64_t net_next_ms(const struct pipe *p);

/* ---- sim_profile.c ---- */

void profile_init(struct old_tables *t);
void profile_fini(struct old_tables *t);

/* A frame, without its length, on its way to the server: may be changed. */
void profile_request(struct world *w, struct sim_link *l, uint8_t *frame, size_t len);

/* Whole frames of the server: `out` gets what the older one would send. */
void profile_sent(struct world *w, struct sim_link *l, struct bytes b, struct strbuf *out);

/* ---- sim_threads.c ---- */

struct sim_thread;
struct sim_thread *sim_thread_self(void);
void sim_thread_yield(void);                   /* until its next turn */
void sim_threads_run(const struct machine *m); /* each of its threads has a turn */

/* ---- sim_machine.c ---- */

int64_t machine_next_ms(const struct machine *m);

#endif
