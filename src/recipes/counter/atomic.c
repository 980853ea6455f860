/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/counter/atomic.h"

#include <stdlib.h>
#include <string.h>

#include "client/beacon.h"
#include "client/prepare.h"
#include "client/take.h"

enum { DEFAULT_LOCK_MS = 10000, WATCH_OWN_AFTER_MS = 50 };

static const struct pawl_retry default_retry = {.kind = PAWL_RETRY_BOUNDED,
                                                .n = 10,
                                                .pause_ms = 10,
                                                .max_pause_ms = 200};

static void try_once(struct atomic_op *op);

static struct atomic *atomic_of(const struct atomic_op *op)
{
    return container_of(op->ask.r, struct atomic, r);
}

bool atomic_buf_set(struct atomic_buf *b, const void *data, size_t len)
{
    uint8_t *copy = malloc(len + 1);

    if (copy == NULL) {
        return false;
    }
    if (len > 0) {
        memcpy(copy, data, len);
    }
    free(b->data);
    *b = (struct atomic_buf){copy, len};
    return true;
}

/* ---- the end ---- */

static void end_phase(struct atomic_op *op)
{
    int64_t took = machine_now_ms() - op->phase_ms;

    if (op->promoted) {
        op->stats.promoted_ms += took;
    } else {
        op->stats.optimistic_ms += took;
    }
}

static void let_lock_go(struct atomic_op *op)
{
    if (op->has_contender && op->contender.state == CONTENDER_HELD) {
        contender_release(&op->contender, NULL, NULL);
    } else if (op->has_contender) {
        contender_stop(&op->contender);
    }
}

static void atomic_finish(struct atomic_op *op, int err, enum pawl_outcome outcome)
{
    if (op->ask.ended) {
        return;
    }
    op->succeeded = err == 0 && outcome == PAWL_OUTCOME_DONE;
    op->outcome = outcome;
    end_phase(op);
    timer_clear(op->ask.r->e, &op->pause);
    let_lock_go(op);
    ask_ref(&op->ask);
    ask_end(&op->ask, err);
    if (op->told != NULL) {
        op->told(op, op->told_arg);
    }
    ask_unref(&op->ask);
}

/* Known not to have happened. */
static void atomic_refuse(struct atomic_op *op, int err)
{
    atomic_finish(op, err, PAWL_OUTCOME_REFUSED);
}

/* A write has the same limit and knows whether it was sent, but not what comes after it. */
static void give_up_op(struct ask *ask, int err)
{
    struct atomic_op *op = container_of(ask, struct atomic_op, ask);

    if (!op->writing || !ask_grace(ask, err)) {
        atomic_finish(op, err, op->writing ? PAWL_OUTCOME_UNKNOWN : PAWL_OUTCOME_NOT_SENT);
    }
}

/* ---- the lock ---- */

static void begin_phase(struct atomic_op *op, bool promoted)
{
    end_phase(op);
    op->promoted = promoted;
    op->attempt = 0;
    op->phase_ms = machine_now_ms();
}

static void atomic_lock_settled(struct contender *c, int err)
{
    struct atomic_op *op = container_of(c, struct atomic_op, contender);

    timer_clear(op->ask.r->e, &op->pause);
    if (op->ask.ended) {
        return;
    }
    if (err != 0) {
        atomic_refuse(op, err);
        return;
    }
    try_once(op);
}

static void promote(struct atomic_op *op)
{
    struct atomic *a = atomic_of(op);
    struct contender_options o = {
        .base = a->lock_path,
        .marker = "lock-",
        .data = {a->data, strlen(a->data)},
        .permits = 1,
        .watch_own_after_ms = WATCH_OWN_AFTER_MS,
    };
    int rc;

    begin_phase(op, true);
    contender_init(&op->contender, &a->r, &o);
    op->contender.settled = atomic_lock_settled;
    op->has_contender = true;
    rc = contender_start(&op->contender, false);
    if (rc != 0) {
        atomic_refuse(op, rc);
        return;
    }
    timer_set(a->r.e, &op->pause, machine_now_ms() + a->o.lock_timeout_ms);
}

/* ---- again ---- */

/* A pause is over, or the patience with the lock. */
static void pause_over(void *arg)
{
    struct atomic_op *op = arg;

    op->pausing = false;
    if (op->has_contender && op->contender.state != CONTENDER_HELD) {
        atomic_refuse(op, 0);
    } else {
        try_once(op);
    }
}

static void atomic_try_again(struct atomic_op *op)
{
    struct atomic *a = atomic_of(op);
    const struct pawl_retry *retry = op->promoted ? &a->o.lock_retry : &a->o.retry;
    int64_t pause = pawl_retry_pause(retry, op->attempt++, machine_now_ms() - op->phase_ms,
                                     prng_next(&a->r.e->random));

    if (pause >= 0) {
        op->pausing = true;
        timer_set(a->r.e, &op->pause, machine_now_ms() + pause);
    } else if (!op->promoted && a->lock_path != NULL) {
        promote(op);
    } else {
        atomic_refuse(op, 0);
    }
}

/* ---- writing ---- */

static bool is_faster(int err)
{
    return err == PAWL_ERR_NODE_EXISTS || err == PAWL_ERR_BAD_VERSION || err == PAWL_ERR_NO_NODE;
}

static void atomic_wrote(struct cas *c, int err, enum pawl_outcome outcome,
                         const struct pawl_stat *stat)
{
    struct atomic_op *op = container_of(c, struct atomic_op, cas);

    (void)stat;
    op->writing = false;
    if (op->ask.ended) {
        /* it was told that this is unknown */
    } else if (outcome != PAWL_OUTCOME_REFUSED || !is_faster(err)) {
        atomic_finish(op, err, outcome);
    } else if (op->kind == ATOMIC_CHANGE) {
        atomic_try_again(op);
    } else {
        atomic_refuse(op, 0);
    }
    ask_unref(&op->ask);
}

static void write_it(struct atomic_op *op, bool create, const struct pawl_stat *stat)
{
    struct atomic *a = atomic_of(op);
    int rc;

    op->cas = (struct cas){
        .r = &a->r,
        .path = a->path,
        .data = {op->after.data, op->after.len},
        .unique = a->o.mark,
        .create = create,
        .czxid = create ? 0 : stat->czxid,
        .version = create ? 0 : stat->version,
        .deadline_ms = op->ask.deadline_ms,
        .ended = atomic_wrote,
    };
    rc = cas_start(&op->cas);
    if (rc != 0) {
        atomic_refuse(op, rc);
        return;
    }
    op->writing = true;
    ask_ref(&op->ask);
}

/* ---- reading ---- */

static int take_before(struct atomic_op *op, const struct pawl_reply *reply)
{
    op->exists = reply->err == 0;
    free(op->before.data);
    op->before = (struct atomic_buf){0};
    if (!op->exists || reply->data.data == NULL) {
        return 0;
    }
    return atomic_buf_set(&op->before, reply->data.data, reply->data.len) ? 0 : PAWL_ERR_NO_MEMORY;
}

static void atomic_judge(struct atomic_op *op, const struct pawl_reply *reply)
{
    int rc = take_before(op, reply);

    rc = rc != 0 ? rc : op->compute(op);
    if (rc == PAWL_ERR_BAD_VERSION) {
        atomic_refuse(op, 0);
    } else if (rc != 0) {
        atomic_refuse(op, rc);
    } else if (op->kind == ATOMIC_GET) {
        atomic_finish(op, 0, PAWL_OUTCOME_DONE);
    } else if (op->kind == ATOMIC_COMPARE && !op->exists) {
        atomic_refuse(op, 0);
    } else {
        write_it(op, !op->exists, &reply->stat);
    }
}

static void atomic_was_read(const struct pawl_reply *reply, void *arg)
{
    struct atomic_op *op = arg;

    if (!op->ask.ended) {
        if (reply->err == 0 || reply->err == PAWL_ERR_NO_NODE) {
            atomic_judge(op, reply);
        } else {
            atomic_finish(op, reply->err, PAWL_OUTCOME_NOT_SENT);
        }
    }
    ask_unref(&op->ask);
}

static void try_once(struct atomic_op *op)
{
    struct atomic *a = atomic_of(op);
    int rc = pawl_get_async(a->r.client, a->path, NULL, atomic_was_read, op);

    if (op->promoted) {
        op->stats.promoted_tries++;
    } else {
        op->stats.optimistic_tries++;
    }
    if (rc != 0) {
        atomic_finish(op, rc, PAWL_OUTCOME_NOT_SENT);
    } else {
        ask_ref(&op->ask);
    }
}

/* ---- by force ---- */

static void forced(const struct pawl_reply *reply, void *arg);

static int force(struct atomic_op *op, bool create)
{
    struct atomic *a = atomic_of(op);
    struct pawl_bytes data = {op->after.data, op->after.len};
    int left = ask_left_ms(&op->ask);
    int rc;

    if (create) {
        rc = pawl_create_async(a->r.client,
                               PAWL_CREATE(.path = a->path, .data = data,
                                           .flags = PAWL_OP_CONTAINER_PARENTS, .timeout_ms = left),
                               forced, op);
    } else {
        rc = pawl_set_async(a->r.client,
                            PAWL_SET(.path = a->path, .data = data, .flags = PAWL_OP_IDEMPOTENT,
                                     .timeout_ms = left),
                            forced, op);
    }
    op->exists = !create;
    if (rc == 0) {
        op->writing = true;
        ask_ref(&op->ask);
    }
    return rc;
}

/* Set; if there is no node create; if there is one after all, or who knows, set. */
static void forced(const struct pawl_reply *reply, void *arg)
{
    struct atomic_op *op = arg;
    bool created = !op->exists;
    bool unsure = reply->outcome == PAWL_OUTCOME_UNKNOWN && created &&
                  reply->err != PAWL_ERR_OPERATION_TIMEOUT && reply->err != PAWL_ERR_CLOSING;
    int rc = 0;

    op->writing = false;
    if (op->ask.ended) {
        /* it was told that this is unknown */
    } else if (!created && reply->err == PAWL_ERR_NO_NODE) {
        rc = force(op, true);
    } else if (created && (reply->err == PAWL_ERR_NODE_EXISTS || unsure)) {
        rc = force(op, false);
    } else {
        atomic_finish(op, reply->outcome == PAWL_OUTCOME_DONE ? 0 : reply->err, reply->outcome);
    }
    if (rc != 0) {
        atomic_finish(op, rc, reply->outcome);
    }
    ask_unref(&op->ask);
}

/* ---- life ---- */

static int atomic_start(struct ask *ask)
{
    struct atomic_op *op = container_of(ask, struct atomic_op, ask);
    int rc = 0;

    op->phase_ms = machine_now_ms();
    list_push_back(&atomic_of(op)->ops, &ask->link);
    if (op->kind == ATOMIC_FORCE || op->kind == ATOMIC_INITIALISE) {
        op->stats.optimistic_tries = 1;
        rc = op->compute(op);
    }
    if (rc != 0) {
        atomic_refuse(op, rc);
    } else if (op->kind == ATOMIC_FORCE) {
        rc = force(op, false);
        if (rc != 0) {
            atomic_refuse(op, rc);
        }
    } else if (op->kind == ATOMIC_INITIALISE) {
        write_it(op, true, NULL);
    } else {
        try_once(op);
    }
    return 0;
}

static void atomic_drop(struct ask *ask)
{
    struct atomic_op *op = container_of(ask, struct atomic_op, ask);

    if (op->has_contender) {
        contender_fini(&op->contender);
    }
    free(op->value.data);
    free(op->wanted.data);
    free(op->before.data);
    free(op->after.data);
}

struct atomic_op *atomic_op_new(enum atomic_kind kind, int (*compute)(struct atomic_op *op))
{
    struct atomic_op *op = ask_new(sizeof(*op), atomic_start);

    if (op != NULL) {
        op->kind = kind;
        op->compute = compute;
        op->outcome = PAWL_OUTCOME_NOT_SENT;
        op->ask.give_up = give_up_op;
        op->ask.is_change = true;
        op->ask.drop = atomic_drop;
        timer_init(&op->pause, pause_over, op);
    }
    return op;
}

static void fini(struct atomic *a)
{
    recipe_fini(&a->r);
    free(a->path);
    free(a->lock_path);
}

/* Both kinds begin with it. */
static void atomic_destroy(struct recipe *r)
{
    struct atomic *a = container_of(r, struct atomic, r);

    fini(a);
    free(a);
}

static int setup(struct atomic *a, struct pawl_client *c, const char *path,
                 const struct pawl_atomic_options *options)
{
    const char *lock_path;
    int rc;

    take_struct(&a->o, sizeof(a->o), options);
    lock_path = a->o.lock_path;
    if (c == NULL || !prepare_is_good_path(path, false) ||
        (lock_path != NULL && !prepare_is_good_path(lock_path, false)) ||
        (a->o.bits != 0 && a->o.bits != 32 && a->o.bits != 64)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = recipe_init(&a->r, c, atomic_destroy);
    if (rc != 0) {
        return rc;
    }
    a->o.retry = a->o.retry.kind == PAWL_RETRY_NONE ? default_retry : a->o.retry;
    a->o.lock_retry = a->o.lock_retry.kind == PAWL_RETRY_NONE ? a->o.retry : a->o.lock_retry;
    a->o.lock_timeout_ms = a->o.lock_timeout_ms > 0 ? a->o.lock_timeout_ms : DEFAULT_LOCK_MS;
    list_init(&a->ops);
    identity_text(a->data, sizeof(a->data));
    a->path = recipe_copy(path);
    a->lock_path = lock_path == NULL ? NULL : recipe_copy(lock_path);
    if (a->path == NULL || (lock_path != NULL && a->lock_path == NULL)) {
        fini(a);
        return PAWL_ERR_NO_MEMORY;
    }
    return 0;
}

int atomic_new(struct pawl_client *c, const char *path, const struct pawl_atomic_options *options,
               struct atomic **out)
{
    struct atomic *a = calloc(1, sizeof(*a));
    int rc = a == NULL ? PAWL_ERR_NO_MEMORY : setup(a, c, path, options);

    if (rc != 0) {
        free(a);
        return rc;
    }
    *out = a;
    return 0;
}

static void atomic_shut(struct recipe *r)
{
    struct atomic *a = container_of(r, struct atomic, r);

    while (!list_empty(&a->ops)) {
        struct ask *ask = container_of(a->ops.next, struct ask, link);
        struct atomic_op *op = container_of(ask, struct atomic_op, ask);

        atomic_finish(op, PAWL_ERR_CANCELLED,
                      op->writing ? PAWL_OUTCOME_UNKNOWN : PAWL_OUTCOME_NOT_SENT);
    }
}

void atomic_free(struct atomic *a)
{
    recipe_free(a == NULL ? NULL : &a->r, atomic_shut);
}
