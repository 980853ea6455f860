/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_number.c - numbers of 64 or 32 bits, the highest byte first. */
#include "recipes/counter/atomic.h"

#include "client/take.h"

enum { MARK_BYTES = 16, MOST_BYTES = 8 };

static struct atomic *number_atomic_of(const struct atomic_op *op)
{
    return container_of(op->ask.r, struct atomic, r);
}

static size_t width(const struct atomic *a)
{
    return a->o.bits == 32 ? 4 : 8;
}

/* Behind the number there may be a mark, or what others put there. Too short: 0. */
int64_t atomic_number(const struct atomic *a, const struct atomic_buf *b)
{
    uint64_t n = 0;

    for (size_t i = 0; b->len >= width(a) && i < width(a); i++) {
        n = n << 8 | b->data[i];
    }
    return a->o.bits == 32 ? (int64_t)(int32_t)(uint32_t)n : (int64_t)n;
}

static int number_encode(struct atomic_op *op, int64_t number)
{
    struct atomic *a = number_atomic_of(op);
    uint8_t bytes[MOST_BYTES + MARK_BYTES];
    size_t len = width(a);
    uint64_t n = (uint64_t)number;

    for (size_t i = len; i > 0; i--) {
        bytes[i - 1] = (uint8_t)n;
        n >>= 8;
    }
    for (size_t i = 0; a->o.mark && i < MARK_BYTES; i++) {
        bytes[len++] = (uint8_t)prng_next(&a->r.e->random);
    }
    return atomic_buf_set(&op->after, bytes, len) ? 0 : PAWL_ERR_NO_MEMORY;
}

static int number_compute(struct atomic_op *op)
{
    struct atomic *a = number_atomic_of(op);
    int64_t before = atomic_number(a, &op->before);

    if (op->before.len > 0 && op->before.len < width(a)) {
        return PAWL_ERR_DATA_INCONSISTENCY;
    }
    if (op->kind == ATOMIC_GET) {
        return number_encode(op, before);
    }
    if (op->kind == ATOMIC_COMPARE && before != op->expected) {
        return PAWL_ERR_BAD_VERSION;
    }
    return number_encode(op, op->adds ? (int64_t)((uint64_t)before + (uint64_t)op->number)
                                      : op->number);
}

struct atomic_op *atomic_number_op(enum atomic_kind kind, int64_t number)
{
    struct atomic_op *op = atomic_op_new(kind, number_compute);

    if (op != NULL) {
        op->number = number;
    }
    return op;
}

static struct atomic_op *adding_op(int64_t delta)
{
    struct atomic_op *op = atomic_number_op(ATOMIC_CHANGE, delta);

    if (op != NULL) {
        op->adds = true;
    }
    return op;
}

static struct atomic_op *comparing_op(int64_t expected, int64_t value)
{
    struct atomic_op *op = atomic_number_op(ATOMIC_COMPARE, value);

    if (op != NULL) {
        op->expected = expected;
    }
    return op;
}

/* ---- running them ---- */

static void number_take(struct ask *ask, void *out)
{
    struct atomic_op *op = container_of(ask, struct atomic_op, ask);
    struct atomic *a = number_atomic_of(op);

    *(struct pawl_atomic_result *)out =
        (struct pawl_atomic_result){.succeeded = op->succeeded,
                                    .outcome = op->outcome,
                                    .before = atomic_number(a, &op->before),
                                    .after = op->succeeded ? atomic_number(a, &op->after) : 0,
                                    .stats = op->stats};
}

static void number_tell(struct ask *ask)
{
    struct atomic_op *op = container_of(ask, struct atomic_op, ask);
    struct pawl_atomic_result result;

    number_take(ask, &result);
    op->done.number(container_of(number_atomic_of(op), struct pawl_atomic, a), ask->err, &result,
                    op->arg);
}

static int number_run_now(struct pawl_atomic *a, struct atomic_op *op,
                          struct pawl_atomic_result *out)
{
    if (out != NULL) {
        *out = (struct pawl_atomic_result){.outcome = PAWL_OUTCOME_NOT_SENT};
    }
    return ask_block(a == NULL ? NULL : &a->a.r, op == NULL ? NULL : &op->ask,
                     a == NULL ? 0 : a->a.r.timeout_ms, number_take, out);
}

static int number_run_later(struct pawl_atomic *a, struct atomic_op *op, pawl_atomic_fn done,
                            void *arg)
{
    if (op != NULL) {
        op->done.number = done;
        op->arg = arg;
        op->ask.tell = done == NULL ? NULL : number_tell;
    }
    return ask_post(a == NULL ? NULL : &a->a.r, op == NULL ? NULL : &op->ask,
                    a == NULL ? 0 : a->a.r.timeout_ms);
}

int pawl_atomic_get(struct pawl_atomic *a, struct pawl_atomic_result *out)
{
    return number_run_now(a, atomic_number_op(ATOMIC_GET, 0), out);
}

int pawl_atomic_get_async(struct pawl_atomic *a, pawl_atomic_fn done, void *arg)
{
    return number_run_later(a, atomic_number_op(ATOMIC_GET, 0), done, arg);
}

int pawl_atomic_add(struct pawl_atomic *a, int64_t delta, struct pawl_atomic_result *out)
{
    return number_run_now(a, adding_op(delta), out);
}

int pawl_atomic_add_async(struct pawl_atomic *a, int64_t delta, pawl_atomic_fn done, void *arg)
{
    return number_run_later(a, adding_op(delta), done, arg);
}

static int64_t negated(int64_t delta)
{
    return (int64_t)(0 - (uint64_t)delta);
}

int pawl_atomic_subtract(struct pawl_atomic *a, int64_t delta, struct pawl_atomic_result *out)
{
    return number_run_now(a, adding_op(negated(delta)), out);
}

int pawl_atomic_subtract_async(struct pawl_atomic *a, int64_t delta, pawl_atomic_fn done, void *arg)
{
    return number_run_later(a, adding_op(negated(delta)), done, arg);
}

int pawl_atomic_increment(struct pawl_atomic *a, struct pawl_atomic_result *out)
{
    return pawl_atomic_add(a, 1, out);
}

int pawl_atomic_decrement(struct pawl_atomic *a, struct pawl_atomic_result *out)
{
    return pawl_atomic_add(a, -1, out);
}

int pawl_atomic_try_set(struct pawl_atomic *a, int64_t value, struct pawl_atomic_result *out)
{
    return number_run_now(a, atomic_number_op(ATOMIC_CHANGE, value), out);
}

int pawl_atomic_try_set_async(struct pawl_atomic *a, int64_t value, pawl_atomic_fn done, void *arg)
{
    return number_run_later(a, atomic_number_op(ATOMIC_CHANGE, value), done, arg);
}

int pawl_atomic_force_set(struct pawl_atomic *a, int64_t value, struct pawl_atomic_result *out)
{
    return number_run_now(a, atomic_number_op(ATOMIC_FORCE, value), out);
}

int pawl_atomic_force_set_async(struct pawl_atomic *a, int64_t value, pawl_atomic_fn done,
                                void *arg)
{
    return number_run_later(a, atomic_number_op(ATOMIC_FORCE, value), done, arg);
}

int pawl_atomic_compare_and_set(struct pawl_atomic *a, int64_t expected, int64_t value,
                                struct pawl_atomic_result *out)
{
    return number_run_now(a, comparing_op(expected, value), out);
}

int pawl_atomic_compare_and_set_async(struct pawl_atomic *a, int64_t expected, int64_t value,
                                      pawl_atomic_fn done, void *arg)
{
    return number_run_later(a, comparing_op(expected, value), done, arg);
}

int pawl_atomic_initialise(struct pawl_atomic *a, int64_t value, struct pawl_atomic_result *out)
{
    return number_run_now(a, atomic_number_op(ATOMIC_INITIALISE, value), out);
}

int pawl_atomic_initialise_async(struct pawl_atomic *a, int64_t value, pawl_atomic_fn done,
                                 void *arg)
{
    return number_run_later(a, atomic_number_op(ATOMIC_INITIALISE, value), done, arg);
}

/* ---- life ---- */

int pawl_atomic_new(struct pawl_client *c, const char *path,
                    const struct pawl_atomic_options *options, struct pawl_atomic **out)
{
    struct atomic *a;
    int rc;

    if (out != NULL) {
        *out = NULL;
    }
    if (out == NULL || !take_is_good(options)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    rc = atomic_new(c, path, options, &a);
    if (rc == 0) {
        *out = container_of(a, struct pawl_atomic, a);
    }
    return rc;
}

void pawl_atomic_free(struct pawl_atomic *a)
{
    atomic_free(a == NULL ? NULL : &a->a);
}
