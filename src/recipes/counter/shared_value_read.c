/* SPDX-License-Identifier: Apache-2.0 */
/* shared_value_read.c - starting, and keeping the copy up to date. */
#include <stdlib.h>
#include <string.h>

#include "recipes/counter/shared_value.h"

enum { RETRY_PAUSE_MS = 1000 };

/* ---- the copy ---- */

/* What could not be read tells of no change: it is tried again until there is a watch that does. */
static void read_later(struct pawl_shared_value *v, int err)
{
    if (!v->r.freed && !recipe_is_over(&v->r, err)) {
        timer_set(v->r.e, &v->retry, machine_now_ms() + RETRY_PAUSE_MS);
    }
}

void value_take(struct pawl_shared_value *v, struct pawl_bytes data, const struct pawl_stat *stat)
{
    uint8_t *copy;

    if (stat->mzxid <= v->zxid && (v->exists || stat->czxid == v->czxid)) {
        return;
    }
    copy = malloc(data.len + 1);
    if (copy == NULL) {
        read_later(v, PAWL_ERR_NO_MEMORY);
        return;
    }
    if (data.len > 0) {
        memcpy(copy, data.data, data.len);
    }
    free(v->data);
    v->data = copy;
    v->len = data.len;
    v->exists = true;
    v->zxid = stat->mzxid;
    v->czxid = stat->czxid;
    v->version = stat->version;
    value_changed(v);
}

static void take_deletion(struct pawl_shared_value *v)
{
    if (v->exists) {
        v->exists = false;
        value_changed(v);
    }
}

void value_end_start(struct pawl_shared_value *v, int err)
{
    struct ask *a = v->starting;

    v->starting = NULL;
    v->state = err == 0 ? VALUE_STARTED : VALUE_LATENT;
    ask_end(a, err);
}

/* ---- reading ---- */

static void value_read_node(struct pawl_shared_value *v);
static int make_node(struct pawl_shared_value *v);

void value_unwatch(struct pawl_shared_value *v)
{
    recipe_unwatch(&v->r, &v->watch, v->path, PAWL_WATCHES_DATA);
}

/* The node is not there: we wait for it. When it is, after all, it can be read. */
static void value_looked(const struct pawl_reply *reply, void *value)
{
    struct pawl_shared_value *v = value;

    v->reading = false;
    if (v->r.freed) {
        value_unwatch(v);
    } else if (reply->err == 0 || v->again) {
        value_read_node(v);
    } else if (reply->err != PAWL_ERR_NO_NODE) {
        read_later(v, reply->err);
    }
    recipe_unref(&v->r);
}

static void value_look(struct pawl_shared_value *v)
{
    int rc;

    if (step_watch_is_set(&v->watch) || v->reading || v->r.freed) {
        return;
    }
    rc = pawl_exists_async(v->r.client, v->path, &v->watch.ask, value_looked, v);
    if (rc == 0) {
        v->reading = true;
        recipe_ref(&v->r);
    } else {
        read_later(v, rc);
    }
}

static void read_absent(struct pawl_shared_value *v)
{
    int rc;

    if (v->state == VALUE_STARTING) {
        rc = make_node(v);
        if (rc != 0) {
            value_end_start(v, rc);
        }
    } else if (v->state == VALUE_STARTED) {
        take_deletion(v);
        value_look(v);
    }
}

void value_finish_read(struct pawl_shared_value *v, const struct pawl_reply *reply)
{
    if (reply->err == 0) {
        value_take(v, reply->data, &reply->stat);
        if (v->state == VALUE_STARTING && v->zxid != 0) {
            value_end_start(v, 0);
        }
    } else if (reply->err == PAWL_ERR_NO_NODE) {
        read_absent(v);
    } else if (v->state == VALUE_STARTING) {
        value_end_start(v, reply->err);
    } else if (v->state == VALUE_STARTED) {
        read_later(v, reply->err);
    }
}

static void value_was_read(const struct pawl_reply *reply, void *value)
{
    struct pawl_shared_value *v = value;

    v->reading = false;
    if (v->r.freed) {
        value_unwatch(v);
    }
    value_finish_read(v, reply);
    if (v->again && !v->reading) {
        value_read_node(v);
    }
    recipe_unref(&v->r);
}

static void value_read_node(struct pawl_shared_value *v)
{
    int rc;

    if (v->reading || v->r.freed) {
        v->again = true;
        return;
    }
    v->again = false;
    rc = pawl_get_async(v->r.client, v->path, step_watch_is_set(&v->watch) ? NULL : &v->watch.ask,
                        value_was_read, v);
    if (rc == 0) {
        v->reading = true;
        recipe_ref(&v->r);
    } else if (v->state == VALUE_STARTING) {
        value_end_start(v, rc);
    } else if (v->state == VALUE_STARTED) {
        read_later(v, rc);
    }
}

void value_event(const struct pawl_event *event, void *value)
{
    struct pawl_shared_value *v = value;

    (void)event;
    if (!v->r.freed && v->state != VALUE_LATENT) {
        value_read_node(v);
    }
}

void value_read_again(void *value)
{
    value_read_node(value);
}

struct pawl_shared_value *value_of_ask(const struct ask *a)
{
    return container_of(a->r, struct pawl_shared_value, r);
}

/* ---- starting ---- */

/* Whether it was made by us or was there: the next thing is to read it. When it is not known, too:
 * if it is not there it is made again. */
static void value_made(const struct pawl_reply *reply, void *value)
{
    struct pawl_shared_value *v = value;

    if (v->state == VALUE_STARTING) {
        if (reply->err == 0 || reply->err == PAWL_ERR_NODE_EXISTS ||
            (reply->outcome == PAWL_OUTCOME_UNKNOWN && reply->err != PAWL_ERR_CLOSING)) {
            value_read_node(v);
        } else {
            value_end_start(v, reply->err);
        }
    }
    recipe_unref(&v->r);
}

static int make_node(struct pawl_shared_value *v)
{
    int rc = pawl_create_async(v->r.client,
                               PAWL_CREATE(.path = v->path, .data = {v->seed, v->seed_len},
                                           .flags = PAWL_OP_CONTAINER_PARENTS,
                                           .timeout_ms = ask_left_ms(v->starting)),
                               value_made, v);

    if (rc == 0) {
        recipe_ref(&v->r);
    }
    return rc;
}

static void give_up_start(struct ask *a, int err)
{
    value_end_start(value_of_ask(a), err);
}

int value_start(struct ask *a)
{
    struct pawl_shared_value *v = value_of_ask(a);
    int rc;

    if (v->state != VALUE_LATENT) {
        return PAWL_ERR_INVALID_STATE;
    }
    a->give_up = give_up_start;
    v->starting = a;
    rc = make_node(v);
    if (rc == 0) {
        v->state = VALUE_STARTING;
    } else {
        v->starting = NULL;
    }
    return rc;
}
