/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_value.c - bytes. */
#include <stdlib.h>
#include <string.h>

#include "recipes/counter/atomic.h"

#include "client/take.h"

static struct atomic *value_atomic_of(const struct atomic_op *op)
{
    return container_of(op->ask.r, struct atomic, r);
}

static bool atomic_value_is_same(const struct atomic_buf *a, const struct atomic_buf *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static int atomic_value_compute(struct atomic_op *op)
{
    const struct atomic_buf *next = op->kind == ATOMIC_GET ? &op->before : &op->value;

    if (op->kind == ATOMIC_COMPARE && !atomic_value_is_same(&op->before, &op->wanted)) {
        return PAWL_ERR_BAD_VERSION;
    }
    if (op->kind == ATOMIC_GET && next->data == NULL) {
        return 0;
    }
    return atomic_buf_set(&op->after, next->data, next->len) ? 0 : PAWL_ERR_NO_MEMORY;
}

static int atomic_value_refuse(struct ask *ask)
{
    (void)ask;
    return PAWL_ERR_BAD_ARGUMENTS;
}

static struct atomic_op *new_op(enum atomic_kind kind, struct pawl_bytes value,
                                struct pawl_bytes expected)
{
    struct atomic_op *op = atomic_op_new(kind, atomic_value_compute);

    if (op != NULL && (!take_is_data(value) || !take_is_data(expected))) {
        op->ask.start = atomic_value_refuse;
        return op;
    }
    if (op != NULL && (!atomic_buf_set(&op->value, value.data, value.len) ||
                       !atomic_buf_set(&op->wanted, expected.data, expected.len))) {
        ask_unref(&op->ask);
        op = NULL;
    }
    return op;
}

static const struct pawl_bytes nothing = {NULL, 0};

/* ---- running them ---- */

static struct pawl_bytes view(const struct atomic_buf *b)
{
    return (struct pawl_bytes){b->data, b->len};
}

static struct pawl_atomic_value_result result_of(const struct atomic_op *op)
{
    return (struct pawl_atomic_value_result){.succeeded = op->succeeded,
                                             .outcome = op->outcome,
                                             .before = view(&op->before),
                                             .after = op->succeeded ? view(&op->after) : nothing,
                                             .stats = op->stats};
}

static void atomic_value_put(struct pawl_bytes *b, uint8_t **at)
{
    if (b->data != NULL) {
        memcpy(*at, b->data, b->len);
        b->data = *at;
        *at += b->len;
    }
}

static void atomic_value_take(struct ask *ask, void *out)
{
    struct atomic_op *op = container_of(ask, struct atomic_op, ask);
    struct pawl_atomic_value_result result = result_of(op), *copy;
    uint8_t *at;

    copy = malloc(sizeof(*copy) + result.before.len + result.after.len);
    *(struct pawl_atomic_value_result **)out = copy;
    if (copy != NULL) {
        at = (uint8_t *)(copy + 1);
        atomic_value_put(&result.before, &at);
        atomic_value_put(&result.after, &at);
        *copy = result;
    }
}

static void atomic_value_tell(struct ask *ask)
{
    struct atomic_op *op = container_of(ask, struct atomic_op, ask);
    struct pawl_atomic_value_result result = result_of(op);

    op->done.value(container_of(value_atomic_of(op), struct pawl_atomic_value, a), ask->err,
                   &result, op->arg);
}

static int atomic_value_run_now(struct pawl_atomic_value *a, struct atomic_op *op,
                                struct pawl_atomic_value_result **out)
{
    if (out != NULL) {
        *out = NULL;
    }
    return ask_block(a == NULL ? NULL : &a->a.r, op == NULL ? NULL : &op->ask,
                     a == NULL ? 0 : a->a.r.timeout_ms, atomic_value_take, out);
}

static int atomic_value_run_later(struct pawl_atomic_value *a, struct atomic_op *op,
                                  pawl_atomic_value_fn done, void *arg)
{
    if (op != NULL) {
        op->done.value = done;
        op->arg = arg;
        op->ask.tell = done == NULL ? NULL : atomic_value_tell;
    }
    return ask_post(a == NULL ? NULL : &a->a.r, op == NULL ? NULL : &op->ask,
                    a == NULL ? 0 : a->a.r.timeout_ms);
}

int pawl_atomic_value_get(struct pawl_atomic_value *a, struct pawl_atomic_value_result **out)
{
    return atomic_value_run_now(a, new_op(ATOMIC_GET, nothing, nothing), out);
}

int pawl_atomic_value_get_async(struct pawl_atomic_value *a, pawl_atomic_value_fn done, void *arg)
{
    return atomic_value_run_later(a, new_op(ATOMIC_GET, nothing, nothing), done, arg);
}

int pawl_atomic_value_try_set(struct pawl_atomic_value *a, struct pawl_bytes value,
                              struct pawl_atomic_value_result **out)
{
    return atomic_value_run_now(a, new_op(ATOMIC_CHANGE, value, nothing), out);
}

int pawl_atomic_value_try_set_async(struct pawl_atomic_value *a, struct pawl_bytes value,
                                    pawl_atomic_value_fn done, void *arg)
{
    return atomic_value_run_later(a, new_op(ATOMIC_CHANGE, value, nothing), done, arg);
}

int pawl_atomic_value_force_set(struct pawl_atomic_value *a, struct pawl_bytes value,
                                struct pawl_atomic_value_result **out)
{
    return atomic_value_run_now(a, new_op(ATOMIC_FORCE, value, nothing), out);
}

int pawl_atomic_value_force_set_async(struct pawl_atomic_value *a, struct pawl_bytes value,
                                      pawl_atomic_value_fn done, void *arg)
{
    return atomic_value_run_later(a, new_op(ATOMIC_FORCE, value, nothing), done, arg);
}

int pawl_atomic_value_compare_and_set(struct pawl_atomic_value *a, struct pawl_bytes expected,
                                      struct pawl_bytes value,
                                      struct pawl_atomic_value_result **out)
{
    return atomic_value_run_now(a, new_op(ATOMIC_COMPARE, value, expected), out);
}

int pawl_atomic_value_compare_and_set_async(struct pawl_atomic_value *a, struct pawl_bytes expected,
                                            struct pawl_bytes value, pawl_atomic_value_fn done,
                                            void *arg)
{
    return atomic_value_run_later(a, new_op(ATOMIC_COMPARE, value, expected), done, arg);
}

int pawl_atomic_value_initialise(struct pawl_atomic_value *a, struct pawl_bytes value,
                                 struct pawl_atomic_value_result **out)
{
    return atomic_value_run_now(a, new_op(ATOMIC_INITIALISE, value, nothing), out);
}

int pawl_atomic_value_initialise_async(struct pawl_atomic_value *a, struct pawl_bytes value,
                                       pawl_atomic_value_fn done, void *arg)
{
    return atomic_value_run_later(a, new_op(ATOMIC_INITIALISE, value, nothing), done, arg);
}

void pawl_atomic_value_result_free(struct pawl_atomic_value_result *result)
{
    free(result);
}

/* ---- life ---- */

int pawl_atomic_value_new(struct pawl_client *c, const char *path,
                          const struct pawl_atomic_options *options, struct pawl_atomic_value **out)
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
        a->o.mark = false;
        *out = container_of(a, struct pawl_atomic_value, a);
    }
    return rc;
}

void pawl_atomic_value_free(struct pawl_atomic_value *a)
{
    atomic_free(a == NULL ? NULL : &a->a);
}
