/* SPDX-License-Identifier: Apache-2.0 */
/* shared_value_set.c - changing it, and the calls that wait. */
#include <string.h>

#include "client/take.h"
#include "recipes/counter/cas.h"
#include "recipes/counter/shared_value.h"

/* ---- setting ---- */

struct set_ask {
    struct ask ask;
    pawl_shared_value_done_fn done;
    void *arg;
    struct cas cas;
    bool refused;
    size_t len;
    uint8_t data[];
};

static void value_tell(struct ask *ask)
{
    struct set_ask *a = container_of(ask, struct set_ask, ask);

    a->done(value_of_ask(ask), ask->err, a->arg);
}

static struct ask *value_new_ask(int (*fn)(struct ask *a), struct pawl_bytes data,
                                 pawl_shared_value_done_fn done, void *arg)
{
    struct set_ask *a = ask_new(sizeof(*a) + data.len, fn);

    if (a == NULL) {
        return NULL;
    }
    a->done = done;
    a->arg = arg;
    a->ask.tell = done == NULL ? NULL : value_tell;
    a->ask.is_change = true;
    a->len = data.len;
    if (data.len > 0) {
        memcpy(a->data, data.data, data.len);
    }
    return &a->ask;
}

/* What we have written ourselves need not be read, unless there was no memory for the answer. */
static void take_own(struct set_ask *a, const struct pawl_stat *stat)
{
    struct pawl_shared_value *v = value_of_ask(&a->ask);

    if (stat != NULL) {
        value_take(v, (struct pawl_bytes){a->data, a->len}, stat);
    } else {
        value_read_again(v);
    }
}

static void was_set(const struct pawl_reply *reply, void *ask)
{
    struct set_ask *a = ask;

    bool done = reply->outcome == PAWL_OUTCOME_DONE;

    if (done) {
        take_own(a, reply->err == 0 ? &reply->stat : NULL);
    }
    ask_end(&a->ask, done ? 0 : reply->err);
    ask_unref(&a->ask);
}

static int set(struct ask *ask)
{
    struct set_ask *a = container_of(ask, struct set_ask, ask);
    struct pawl_shared_value *v = value_of_ask(ask);
    int rc = v->state == VALUE_STARTED ? 0 : PAWL_ERR_INVALID_STATE;

    if (rc == 0) {
        rc = pawl_set_async(v->r.client,
                            PAWL_SET(.path = v->path, .data = {a->data, a->len},
                                     .flags = PAWL_OP_IDEMPOTENT, .timeout_ms = ask_left_ms(ask)),
                            was_set, a);
    }
    if (rc == 0) {
        ask_ref(ask);
    }
    return rc;
}

static void refreshed(const struct pawl_reply *reply, void *ask)
{
    struct ask *a = ask;

    value_finish_read(value_of_ask(a), reply);
    ask_end(a, PAWL_ERR_BAD_VERSION);
    ask_unref(a);
}

static void tried(struct cas *c, int err, enum pawl_outcome outcome, const struct pawl_stat *stat)
{
    struct set_ask *a = container_of(c, struct set_ask, cas);
    struct pawl_shared_value *v = value_of_ask(&a->ask);

    a->refused =
        outcome == PAWL_OUTCOME_REFUSED && (err == PAWL_ERR_BAD_VERSION || err == PAWL_ERR_NO_NODE);
    if (a->refused && pawl_get_async(v->r.client, v->path, NULL, refreshed, a) == 0) {
        return;
    }
    if (err == 0) {
        take_own(a, stat);
    } else if (a->refused) {
        err = PAWL_ERR_BAD_VERSION;
    } else if (outcome == PAWL_OUTCOME_UNKNOWN) {
        err = PAWL_ERR_CONNECTION_LOSS;
    }
    ask_end(&a->ask, err);
    ask_unref(&a->ask);
}

/* The write has the same limit, and knows whether it was sent; but not what comes after it. */
static void give_up_try(struct ask *ask, int err)
{
    struct set_ask *a = container_of(ask, struct set_ask, ask);

    if (!ask_grace(ask, err)) {
        ask_end(ask, a->refused ? PAWL_ERR_BAD_VERSION : PAWL_ERR_CONNECTION_LOSS);
    }
}

static int try_set(struct ask *ask)
{
    struct set_ask *a = container_of(ask, struct set_ask, ask);
    struct pawl_shared_value *v = value_of_ask(ask);
    int rc;

    if (v->state != VALUE_STARTED) {
        return PAWL_ERR_INVALID_STATE;
    }
    if (!v->exists || a->cas.czxid != v->zxid || a->cas.version != v->version) {
        ask_end(ask, PAWL_ERR_BAD_VERSION);
        return 0;
    }
    ask->give_up = give_up_try;
    a->cas.r = &v->r;
    a->cas.path = v->path;
    a->cas.data = (struct pawl_bytes){a->data, a->len};
    a->cas.czxid = v->czxid;
    a->cas.deadline_ms = ask->deadline_ms;
    a->cas.ended = tried;
    rc = cas_start(&a->cas);
    if (rc == 0) {
        ask_ref(ask);
    }
    return rc;
}

/* ---- from outside ---- */

static const struct pawl_bytes nothing = {NULL, 0};

static int value_run_now(struct pawl_shared_value *v, struct ask *a)
{
    return ask_block(v == NULL ? NULL : &v->r, a, v == NULL ? 0 : v->r.timeout_ms, NULL, NULL);
}

static int value_run_later(struct pawl_shared_value *v, struct ask *a)
{
    return ask_post(v == NULL ? NULL : &v->r, a, v == NULL ? 0 : v->r.timeout_ms);
}

int pawl_shared_value_start(struct pawl_shared_value *v)
{
    return value_run_now(v, value_new_ask(value_start, nothing, NULL, NULL));
}

int pawl_shared_value_start_async(struct pawl_shared_value *v, pawl_shared_value_done_fn done,
                                  void *arg)
{
    return value_run_later(v, value_new_ask(value_start, nothing, done, arg));
}

int pawl_shared_value_set(struct pawl_shared_value *v, struct pawl_bytes data)
{
    return !take_is_data(data) ? PAWL_ERR_BAD_ARGUMENTS
                               : value_run_now(v, value_new_ask(set, data, NULL, NULL));
}

int pawl_shared_value_set_async(struct pawl_shared_value *v, struct pawl_bytes data,
                                pawl_shared_value_done_fn done, void *arg)
{
    return !take_is_data(data) ? PAWL_ERR_BAD_ARGUMENTS
                               : value_run_later(v, value_new_ask(set, data, done, arg));
}

/* The zxid stands in for the bytes: it has only one value. */
static struct ask *new_try(const struct pawl_versioned *previous, struct pawl_bytes data,
                           pawl_shared_value_done_fn done, void *arg)
{
    struct ask *ask = value_new_ask(try_set, data, done, arg);

    if (ask != NULL) {
        struct set_ask *a = container_of(ask, struct set_ask, ask);

        a->cas.czxid = previous->zxid;
        a->cas.version = previous->version;
    }
    return ask;
}

int pawl_shared_value_try_set(struct pawl_shared_value *v, const struct pawl_versioned *previous,
                              struct pawl_bytes data)
{
    return previous == NULL || !take_is_data(data)
               ? PAWL_ERR_BAD_ARGUMENTS
               : value_run_now(v, new_try(previous, data, NULL, NULL));
}

int pawl_shared_value_try_set_async(struct pawl_shared_value *v,
                                    const struct pawl_versioned *previous, struct pawl_bytes data,
                                    pawl_shared_value_done_fn done, void *arg)
{
    return previous == NULL || !take_is_data(data)
               ? PAWL_ERR_BAD_ARGUMENTS
               : value_run_later(v, new_try(previous, data, done, arg));
}
