/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - the I/O half of the client: what its files share. Recipes may include it.
 *
 * An engine is a core bound to the machine; one lock guards all of it. Who moves bytes:
 *
 *   I/O thread       timers, connecting, and reading while nobody else does. It waits in epoll.
 *   a blocked caller sends its request itself and, if no other caller does already, reads from the
 *                    socket itself until its answer is there (it "drives"); meanwhile the I/O
 *                    thread is told by epoll_ctl to leave the socket alone. So a blocking call
 *                    costs what a bare socket costs: no thread has to be woken for it.
 *   dispatch thread  runs the callbacks. When it has none to run, answers are due and no caller is
 *                    blocked, it sends what the callbacks have asked for and reads the next answers
 *                    itself: a stream of asynchronous calls needs no other thread. The I/O thread
 *                    looks every few milliseconds whether a callback keeps it from that.
 *
 * Without threads (PAWL_DISPATCH_EXTERNAL) pawl_client_process() does a turn of all three. */
#ifndef PAWL_CLIENT_INTERNAL_H
#define PAWL_CLIENT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/heap.h"
#include "base/logging.h"
#include "client/core.h"
#include "os/dial.h"
#include "pawl/client.h"

struct listener {
    struct list link;
    pawl_state_fn fn;
    void *arg;
    bool removed; /* but still running, or to be skipped */
};

/* A blocked caller, on its stack. */
struct waiter {
    struct list link; /* in engine.waiters */
    pthread_cond_t cond;
    bool done;
    bool receiving; /* in recv() without the lock ... */
    int fd;         /* ... of this */
    bool kickable;  /* somebody else than the driver may end its wait */
    int doomed_fd;  /* to be closed by the driver: the link went while it was receiving */
};

/* The part of a call's life that takes more than one request: retry, parents, protection. */
enum plan_kind { PLAN_SIMPLE, PLAN_CREATE, PLAN_SET, PLAN_DELETE, PLAN_CLEANUP };

enum plan_stage {
    STAGE_MAIN,
    STAGE_PARENT,    /* create: a missing parent */
    STAGE_SYNC,      /* protected create: the server may lag behind the one that made it */
    STAGE_FIND,      /* ... is it there already? */
    STAGE_STAT,      /* ... it is: its Stat */
    STAGE_READ_BACK, /* idempotent: is it what we wrote? */
    STAGE_OR_SET,
    STAGE_LIST,  /* delete: children of the top of the stack */
    STAGE_BELOW, /* delete: the top of the stack */
};

struct plan {
    struct list link; /* in engine.delayed while it pauses */
    struct call *call;
    enum plan_kind kind;
    enum plan_stage stage;
    int flags; /* PAWL_PARENTS ... */
    struct pawl_retry retry;
    int n_retries;
    bool unsure; /* an earlier attempt may have been executed */
    int64_t first_ms, due_ms;
    struct request main; /* its bytes lie in `store` */
    char *store;
    size_t prefix_len;  /* chroot: no parent above it is ours to make */
    size_t parent_len;  /* STAGE_PARENT: path[0..parent_len) is being made */
    char id[40];        /* "_c_UUID-" without the last '-' */
    int64_t session_id; /* in which the last attempt was made */
    char *result_path;
    char **stack;
    size_t depth, room;
};

enum { MAX_HOST_ADDRESSES = 32, OWN_READS_MS = 5 };

struct engine {
    /* Guards everything but what says otherwise. Recursive: a step (step.h) holds it and makes
     * calls, which take it. */
    pthread_mutex_t lock;
    bool inside; /* who holds the lock is in a step: calls made now are answered inside */
    _Atomic int refs;
    unsigned fork_generation;
    enum pawl_dispatch mode;
    int close_timeout_ms;
    int client_flags;
    struct core *core;
    struct prng random;
    bool seeded;              /* by the user */
    struct pawl_client *face; /* the handle that open() gave; lives as long as we do */
    struct local *local;      /* of local:DIR */

    /* defaults of calls; never change */
    char *acl_store;
    struct acl_list default_acl;
    pawl_acl_fn acl_provider;
    void *acl_provider_arg;
    pawl_metric_fn metric;
    void *metric_arg;
    pawl_log_fn log;
    void *log_arg;
    struct log_target log_target;

    /* the link */
    int epoll_fd, wake_fd, fd;
    int kick_fd;    /* ends the driver's wait */
    uint32_t armed; /* what epoll watches fd for */
    bool dialing, write_blocked;
    uint64_t link_number; /* grows with every fd */
    struct address addresses[MAX_HOST_ADDRESSES];
    size_t n_addresses, next_address;
    int64_t dial_limit_ms;
    struct lookup *lookup, *probe;
    _Atomic bool woken;
    bool io_asleep;
    int64_t sleep_until_ms;
    bool in_turn; /* whoever makes the turn looks at the inbox afterwards */
    bool has_loop;
    pthread_t loop; /* who calls pawl_client_process() */

    struct waiter *driver;
    struct list waiters;
    struct waiter reader; /* the dispatch thread while it reads; never in `waiters` */
    bool own_reads;       /* it reads, or will when its callbacks have run */
    int64_t callbacks_ms; /* since when those run */
    int64_t watch_ms;     /* own_reads: when the I/O thread looks at that again */
    struct list delayed;  /* struct plan, by no order */
    struct heap timers;
    struct list observers;
    struct list places, inherited; /* place.h */
    int64_t inherited_session;
    pthread_cond_t state_changed;

    /* callbacks */
    struct list inbox; /* struct item */
    pthread_cond_t inbox_filled;
    bool dispatch_asleep;
    int n_pollers; /* in pawl_client_dispatch() */
    bool dispatching;
    pthread_t dispatcher; /* while dispatching */
    pthread_cond_t callback_done;
    struct list listeners;
    struct listener *calling;

    bool closing;  /* close has begun */
    bool stop;     /* threads end */
    int n_threads; /* that run */
    pthread_cond_t thread_ended;
    pthread_t threads[2]; /* started, to be joined */
    int n_started;
};

struct pawl_client {
    struct engine *e;
    bool is_view;
    int timeout_ms; /* -1: none */
    struct pawl_retry retry;
    char *prefix; /* chroot and namespace */
    size_t prefix_len, chroot_len;
};

/* ---- engine.c ---- */

/* Carries out what the core wishes, sends, hands items out. After every step of the core. */
void engine_settle(struct engine *e, int64_t now_ms);

/* Whatever is due: of the core, of plans, of recipes. */
void engine_tick(struct engine *e, int64_t now_ms);

/* How long until engine_tick() has something to do, -1: for ever. */
int64_t engine_wait_ms(struct engine *e, int64_t now_ms);

/* A call was queued: sends it, or has it sent. */
void engine_submitted(struct engine *e);

/* ---- io_thread.c: the machine; the simulator has its own ---- */

int64_t engine_now_ms(void);
int64_t engine_wall_ms(void);       /* since 1970: for what other processes read */
void engine_wake(struct engine *e); /* the I/O thread; without the lock, too */
void engine_kick(struct engine *e); /* the driver, out of recv() */

/* Ticks, then waits at most `timeout_ms` (-1: as the timers say) for the machine, then handles
 * it. The lock is released while it waits. */
void engine_turn(struct engine *e, int64_t timeout_ms);

/* After turns made for a blocking call: callbacks that came up meanwhile are the loop's. */
void engine_tell_loop(struct engine *e);

void *io_thread_main(void *engine);

/* The link to core->hosts.items[core->host], and a question to another host. */
void link_start(struct engine *e, int64_t now_ms);
void link_close(struct engine *e);
void link_next_address(struct engine *e, int64_t now_ms); /* the one tried takes too long */
void link_flush(struct engine *e, int64_t now_ms);
void link_arm(struct engine *e); /* who reads it may have changed */
void link_probe(struct engine *e);

/* Reads what is there and feeds the core; for drivers. */
void engine_feed(struct engine *e, int64_t now_ms, const uint8_t *data, size_t n);
void engine_read(struct engine *e, int64_t now_ms);
void engine_link_failed(struct engine *e, int64_t now_ms);

/* ---- dispatch.c ---- */

void *dispatch_thread_main(void *engine);

/* Runs what is in the inbox; the lock is released meanwhile. Returns how many. */
int dispatch_run(struct engine *e);

bool engine_is_dispatcher(const struct engine *e); /* the calling thread runs a callback */
void call_free(struct call *call);
void dispatch_call(struct call *call); /* its callback; frees it */
void dispatch_event(const struct event_item *event, const struct event_target *target);

/* ---- reply.c ---- */

/* The answer to `call` as the application sees it; `copy`: independent of the received chunk. */
struct pawl_reply *reply_of(const struct call *call, bool copy);
struct pawl_reply *reply_error(int err, enum pawl_outcome outcome);

/* What a create that was done has made, without memory. False: it is no such thing, or too long. */
bool reply_made_path(const struct call *call, char *out, size_t size);

/* ---- sync.c ---- */

/* Waits until `call`, submitted with this waiter, is done; OPERATION_TIMEOUT when it is not in
 * time, and then the call is not ours any more. Lock held. */
void waiter_init(struct waiter *w);
void waiter_fini(struct waiter *w);

/* Before submitting: if nobody else reads, he who is going to wait will. */
void waiter_claim(struct engine *e, struct waiter *w);
bool waiter_wait(struct engine *e, struct waiter *w, int64_t deadline_ms); /* 0: for ever */

/* For the dispatch thread, without callbacks to run: reads until there are some. False: that is not
 * its business now, it may sleep. */
bool reader_read(struct engine *e);

/* Something for it has come up, or nothing will. */
void reader_tell(struct engine *e);

/* Returns when every callback that was due before has run; at once on the thread that runs them. */
void engine_barrier(struct engine *e, int64_t deadline_ms);

/* ---- plan.c ---- */

/* A call has ended. True: it goes on (another request, a pause); false: it is really done. */
bool plan_step(struct engine *e, struct call *call, int64_t now_ms);
void plan_run_due(struct engine *e, int64_t now_ms);
int64_t plan_next_ms(const struct engine *e);
void plan_hurry(struct engine *e, int64_t now_ms); /* the link is back */
void plan_fail_all(struct engine *e, int err);     /* closing */
void plan_free(struct plan *p);
struct plan *plan_new(struct call *call, enum plan_kind kind, const struct request *main);

/* Submits `call`, with its plan if it has one. An error leaves the call with the caller. */
int engine_submit(struct engine *e, struct call *call, const struct request *q);

/* Nobody waits for `call` any more; it is freed now or later. What became of it. */
enum pawl_outcome engine_abandon(struct engine *e, struct call *call);

/* ---- ops.c ---- */

int engine_uuid(struct engine *e, char out[37]); /* 0 or SYSTEM */

/* ---- gzip.c ---- */

/* The caller frees `*out`. DATA_INCONSISTENCY, NO_MEMORY, TOO_LARGE. */
int gzip_pack(struct bytes in, uint8_t **out, size_t *len);
int gzip_unpack(struct bytes in, size_t limit, uint8_t **out, size_t *len);

/* ---- follow.c ---- */

int follow_config(struct engine *e);

/* ---- open.c ---- */

void engine_ref(struct engine *e);
void engine_unref(struct engine *e);
int client_check(const struct pawl_client *c); /* FORKED, BAD_ARGUMENTS or 0 */
void engine_thread_ends(struct engine *e);     /* with the lock; gives the reference back */
int engine_add_listener(struct engine *e, pawl_state_fn fn, void *arg);
void engine_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline_ms);

#endif
