/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - the part of a call's life that takes more than one request: retry, parents, protection.
 */
#ifndef PAWL_CLIENT_PLAN_H
#define PAWL_CLIENT_PLAN_H

#include "client/call.h"
#include "pawl/client.h"
#include "wire/request.h"

struct engine;

enum plan_kind { PLAN_SIMPLE, PLAN_CREATE, PLAN_SET, PLAN_DELETE, PLAN_CLEANUP };

enum plan_stage {
    STAGE_MAIN,
    STAGE_PARENT,    /* create: a missing parent */
    STAGE_SYNC,      /* protected create: the server may lag behind the one that made it */
    STAGE_FIND,      /* ... is it there already? */
    STAGE_STAT,      /* ... it is: its Stat */
    STAGE_READ_BACK, /* idempotent: is it what we wrote? */
    STAGE_OR_SET,
    STAGE_LOOK,  /* delete in the background: is it still the one that was meant? */
    STAGE_LIST,  /* delete: children of the top of the stack */
    STAGE_BELOW, /* delete: the top of the stack */
};

enum { PLAN_ID_BYTES = 40 };

struct plan {
    struct list link; /* in engine.delayed while it pauses */
    struct call *call;
    enum plan_kind kind;
    enum plan_stage stage;
    int flags; /* PAWL_OP_PARENTS ... */
    struct pawl_retry retry;
    int n_retries;
    bool unsure;        /* an earlier attempt of the main request may have been executed */
    bool touched;       /* some request of it has changed something, or may have */
    bool in_background; /* nobody waits for it */
    int64_t first_ms, due_ms;
    struct request main; /* its bytes lie in `store` */
    char *store;
    size_t chroot_len;      /* no parent up to there is ours to make */
    size_t parent_len;      /* STAGE_PARENT: path[0..parent_len) is being made */
    char id[PLAN_ID_BYTES]; /* "_c_UUID-" without the last '-' */
    int64_t session_id;     /* in which the last attempt was made */
    int64_t newest_zxid;    /* that we had heard of when the call was made */
    bool looked;            /* STAGE_MAIN of a delete: it is for the node of this version */
    int32_t looked_version;
    char *result_path;
    char **stack;
    size_t depth, room;
};

struct plan *plan_new(struct call *call, enum plan_kind kind, const struct request *main);
void plan_free(struct plan *p); /* NULL is allowed */

/* The first request of a call that has a plan. */
int plan_submit(struct engine *e, struct call *call);

/* A call has ended. True: it goes on (another request, a pause); false: it is really done. */
bool plan_step(struct engine *e, struct call *call, int64_t now_ms);

/* Nobody waits for it any more. Whether it pauses, and so is nobody else's either; `*touched`: it
 * may have changed something. */
bool plan_abandon(struct engine *e, struct call *call, bool *touched);

/* Should the attempt that is underway fail, or have failed just now, there is no other. */
void plan_is_last_attempt(struct plan *p);

/* ---- all that pause ---- */

/* The one whose call is to be answered to `done` with `arg`, if it pauses, makes no other attempt:
 * OPERATION_TIMEOUT. False: no attempt of it may have been executed. */
bool plan_withdraw_paused(struct engine *e, pawl_reply_fn done, const void *arg);

void plan_run_due(struct engine *e, int64_t now_ms);
int64_t plan_next_ms(const struct engine *e);
void plan_hurry(struct engine *e, int64_t now_ms); /* the link is back */
void plan_fail_all(struct engine *e, int err);     /* closing */

#endif
