/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - a core bound to the machine; one lock guards all of it. Who moves bytes:
 *
 *   I/O thread       timers, connecting, and reading while nobody else does. It waits in epoll.
 *   a blocked caller sends its request itself and, if no other caller does already, reads from the
 *                    socket itself until its answer is there (it "drives", driver.h); meanwhile the
 *                    I/O thread is told by epoll_ctl to leave the socket alone. So a blocking call
 *                    costs what a bare socket costs: no thread has to be woken for it.
 *   dispatch thread  runs the callbacks, and reads when it has none to run (reader.h).
 *
 * Without threads (PAWL_DISPATCH_EXTERNAL) pawl_client_process() does a turn of all three. */
#ifndef PAWL_CLIENT_ENGINE_H
#define PAWL_CLIENT_ENGINE_H

#include "base/heap.h"
#include "base/logging.h"
#include "client/core.h"
#include "client/dispatch.h"
#include "client/link.h"
#include "client/listener.h"
#include "client/machine.h"
#include "client/place.h"
#include "client/reader.h"
#include "client/threads.h"
#include "pawl/client.h"

/* What open() was given; never changes. */
struct settings {
    enum pawl_dispatch mode;
    int close_timeout_ms;
    int flags; /* PAWL_CLIENT_... */
    char *acl_store;
    struct acl_list default_acl;
    pawl_acl_fn acl_provider;
    void *acl_provider_arg;
    pawl_metric_fn metric;
    void *metric_arg;
    pawl_log_fn log;
    void *log_arg;
};

struct engine {
    /* Guards everything but what says otherwise. Recursive: a step (step.h) holds it and makes
     * calls, which take it. */
    struct lock lock;
    bool inside; /* who holds the lock is in a step: calls made now are answered inside */
    _Atomic int refs;
    unsigned n_forks; /* when it was made */
    struct settings settings;
    struct log_target log_target;
    struct prng random;
    bool seeded;              /* by the user */
    struct core *core;        /* the session */
    struct pawl_client *face; /* the handle that open() gave; lives as long as we do */
    struct local *local;      /* of local:DIR */
    struct {
        struct tls_context *context; /* NULL: plain */
        char *name; /* that servers must have in their certificates; NULL: by host */
    } tls;
    struct {
        struct sasl_login *login;       /* NULL: without SASL */
        struct sasl_exchange *exchange; /* the last one begun */
    } sasl;
    bool knows_wall;
    int64_t wall_offset_ms; /* wall clock less ours, when we last looked */
    bool closing;           /* close has begun */
    bool stop;              /* threads end */

    struct machine_state machine;
    struct link link;
    struct threads threads;

    _Atomic bool interrupted; /* blocking calls end; set by signal handlers, too */
    struct list waiters;      /* struct waiter: blocked callers */
    struct waiter *driver; /* the one of them that receives, or the reader's; NULL: the machine */
    struct reader reader;
    struct condition state_changed;

    struct list delayed; /* struct plan, by no order */
    struct heap timers;
    struct list observers;
    struct places places;

    struct dispatch dispatch;
    struct listeners listeners;
};

/* ---- life ---- */

/* NULL: no memory. `options` are complete. */
struct engine *engine_new(const struct pawl_client_options *options);
void engine_ref(struct engine *e);
void engine_unref(struct engine *e);

void engine_lock(struct engine *e);
void engine_unlock(struct engine *e);

/* Waits without the lock until something has changed, for no longer than the deadline. */
void engine_wait_until(struct engine *e, struct condition *c, int64_t deadline_ms);

void *engine_thread_main(void *engine); /* the I/O thread: turns */

/* ---- calls ---- */

/* Submits `call`, with its plan if it has one. An error leaves the call with the caller. */
int engine_submit(struct engine *e, struct call *call, const struct request *q);

/* A call was queued: sends it, or has it sent. */
void engine_submitted(struct engine *e);

/* Nobody waits for `call` any more; it is freed now or later. What became of it. */
enum pawl_outcome engine_abandon(struct engine *e, struct call *call);

/* ---- the core's effects ---- */

/* Carries out what the core wishes, sends, hands items out. After every step of the core. */
void engine_settle(struct engine *e, int64_t now_ms);

/* Whatever is due: of the core, of plans, of recipes. */
void engine_tick(struct engine *e, int64_t now_ms);

/* How long until engine_tick() has something to do, -1: for ever. */
int64_t engine_wait_ms(struct engine *e, int64_t now_ms);

/* How much longer the session is certain to live, by all clocks there are; 0: not certain. It stays
 * so only while somebody keeps it (core_keep_certain()). */
int64_t engine_certain_ms(struct engine *e);

/* The user has asked: it is kept certain for a while. */
void engine_want_certain(struct engine *e);

/* Bytes of the link; the link has ended. */
void engine_feed(struct engine *e, int64_t now_ms, const uint8_t *data, size_t n);
void engine_link_failed(struct engine *e, int64_t now_ms);

#endif
