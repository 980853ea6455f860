/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - what is going on with a handle: state, session, server; listeners. */
#include <stdio.h>
#include <stdlib.h>

#include "client/internal.h"

static bool is_connected(enum pawl_state s)
{
    return s == PAWL_STATE_CONNECTED || s == PAWL_STATE_RECONNECTED || s == PAWL_STATE_READ_ONLY;
}

int pawl_client_wait_connected(struct pawl_client *c, int timeout_ms)
{
    int64_t deadline = timeout_ms < 0 ? INT64_MAX : engine_now_ms() + timeout_ms;
    int rc = client_check(c);
    struct engine *e;

    if (rc != 0) {
        return rc;
    }
    e = c->e;
    engine_ref(e);
    pthread_mutex_lock(&e->lock);
    if (e->mode == PAWL_DISPATCH_EXTERNAL && engine_is_dispatcher(e)) {
        rc = PAWL_ERR_WOULD_DEADLOCK;
    }
    while (rc == 0 && !is_connected(e->core->state)) {
        int64_t left = deadline - engine_now_ms();

        if (e->core->state == PAWL_STATE_LOST && e->core->options.one_session) {
            rc = PAWL_ERR_SESSION_EXPIRED;
        } else if (e->closing || left <= 0) {
            rc = e->closing ? PAWL_ERR_CLOSING : PAWL_ERR_OPERATION_TIMEOUT;
        } else if (e->mode == PAWL_DISPATCH_EXTERNAL && !e->in_turn) {
            engine_turn(e, left);
        } else {
            engine_wait_until(&e->state_changed, &e->lock, deadline);
        }
    }
    engine_tell_loop(e);
    pthread_mutex_unlock(&e->lock);
    engine_unref(e);
    return rc;
}

enum pawl_state pawl_client_state(const struct pawl_client *c)
{
    enum pawl_state state;

    if (client_check(c) != 0) {
        return PAWL_STATE_CLOSED;
    }
    pthread_mutex_lock(&c->e->lock);
    state = c->e->core->state;
    pthread_mutex_unlock(&c->e->lock);
    return state;
}

int64_t pawl_client_session_id(const struct pawl_client *c)
{
    int64_t id;

    if (client_check(c) != 0) {
        return 0;
    }
    pthread_mutex_lock(&c->e->lock);
    id = c->e->core->session_id;
    pthread_mutex_unlock(&c->e->lock);
    return id;
}

int pawl_client_session_timeout_ms(const struct pawl_client *c)
{
    int ms;

    if (client_check(c) != 0) {
        return 0;
    }
    pthread_mutex_lock(&c->e->lock);
    ms = c->e->core->timeout_ms;
    pthread_mutex_unlock(&c->e->lock);
    return ms;
}

int64_t pawl_client_certain_ms(const struct pawl_client *c)
{
    int64_t ms;

    if (client_check(c) != 0) {
        return 0;
    }
    pthread_mutex_lock(&c->e->lock);
    ms = core_certain_ms(c->e->core, engine_now_ms());
    pthread_mutex_unlock(&c->e->lock);
    return ms;
}

void pawl_client_server(const struct pawl_client *c, char *out, size_t size)
{
    const struct core *core;

    if (size > 0) {
        out[0] = '\0';
    }
    if (client_check(c) != 0) {
        return;
    }
    pthread_mutex_lock(&c->e->lock);
    core = c->e->core;
    if (core->link == LINK_READY) {
        snprintf(out, size, "%s:%d", core->hosts.items[core->host].name,
                 core->hosts.items[core->host].port);
    }
    pthread_mutex_unlock(&c->e->lock);
}

int pawl_client_add_listener(struct pawl_client *c, pawl_state_fn fn, void *arg)
{
    int rc = client_check(c);

    if (rc != 0 || fn == NULL) {
        return rc != 0 ? rc : PAWL_ERR_BAD_ARGUMENTS;
    }
    pthread_mutex_lock(&c->e->lock);
    rc = engine_add_listener(c->e, fn, arg);
    pthread_mutex_unlock(&c->e->lock);
    return rc;
}

static struct listener *find_listener(struct engine *e, pawl_state_fn fn, const void *arg)
{
    struct list *item;

    list_for_each (item, &e->listeners) {
        struct listener *l = container_of(item, struct listener, link);

        if (l->fn == fn && l->arg == arg && !l->removed) {
            return l;
        }
    }
    return NULL;
}

/* While listeners are being called their list is the dispatcher's: it frees what is removed. */
void pawl_client_remove_listener(struct pawl_client *c, pawl_state_fn fn, void *arg)
{
    struct listener *l;
    struct engine *e;

    if (client_check(c) != 0) {
        return;
    }
    e = c->e;
    pthread_mutex_lock(&e->lock);
    l = find_listener(e, fn, arg);
    if (l != NULL && e->calling == NULL) {
        list_remove(&l->link);
        free(l);
    } else if (l != NULL) {
        l->removed = true;
        while (e->calling == l && !engine_is_dispatcher(e)) {
            pthread_cond_wait(&e->callback_done, &e->lock);
        }
    }
    pthread_mutex_unlock(&e->lock);
}

int pawl_client_set_servers(struct pawl_client *c, const char *servers)
{
    int rc = client_check(c);
    int64_t now = engine_now_ms();

    if (rc != 0 || servers == NULL) {
        return rc != 0 ? rc : PAWL_ERR_BAD_ARGUMENTS;
    }
    pthread_mutex_lock(&c->e->lock);
    rc = c->e->closing ? PAWL_ERR_CLOSING : core_set_servers(c->e->core, servers, now);
    engine_settle(c->e, now);
    if (c->e->io_asleep) {
        engine_wake(c->e);
    }
    pthread_mutex_unlock(&c->e->lock);
    return rc;
}
