/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - what is going on with a handle: state, session, server. */
#include <stdio.h>

#include "client/engine.h"
#include "client/handle.h"

int pawl_client_wait_connected(struct pawl_client *c, int timeout_ms)
{
    int64_t deadline = timeout_ms < 0 ? INT64_MAX : machine_now_ms() + timeout_ms;
    int rc = handle_check(c);
    struct engine *e;

    if (rc != 0) {
        return rc;
    }
    e = c->e;
    engine_ref(e);
    engine_lock(e);
    if (dispatch_would_deadlock(e)) {
        rc = PAWL_ERR_WOULD_DEADLOCK;
    }
    while (rc == 0 && !core_is_connected(e->core)) {
        int64_t left = deadline - machine_now_ms();

        if (e->core->state == PAWL_STATE_LOST && e->core->options.one_session) {
            rc = PAWL_ERR_SESSION_EXPIRED;
        } else if (atomic_load(&e->interrupted)) {
            rc = PAWL_ERR_CANCELLED;
        } else if (e->closing || left <= 0) {
            rc = e->closing ? PAWL_ERR_CLOSING : PAWL_ERR_OPERATION_TIMEOUT;
        } else if (e->settings.mode == PAWL_DISPATCH_EXTERNAL && !e->machine.in_turn) {
            machine_turn(e, left);
        } else {
            engine_wait_until(e, &e->state_changed, deadline);
        }
    }
    dispatch_tell_loop(e);
    engine_unlock(e);
    engine_unref(e);
    return rc;
}

enum pawl_state pawl_client_state(const struct pawl_client *c)
{
    enum pawl_state state;

    if (handle_check(c) != 0) {
        return PAWL_STATE_CLOSED;
    }
    engine_lock(c->e);
    state = c->e->core->state;
    engine_unlock(c->e);
    return state;
}

int64_t pawl_client_session_id(const struct pawl_client *c)
{
    int64_t id;

    if (handle_check(c) != 0) {
        return 0;
    }
    engine_lock(c->e);
    id = c->e->core->session_id;
    engine_unlock(c->e);
    return id;
}

int pawl_client_session_timeout_ms(const struct pawl_client *c)
{
    int ms;

    if (handle_check(c) != 0) {
        return 0;
    }
    engine_lock(c->e);
    ms = c->e->core->timeout_ms;
    engine_unlock(c->e);
    return ms;
}

int64_t pawl_client_certain_ms(const struct pawl_client *c)
{
    int64_t ms;

    if (handle_check(c) != 0) {
        return 0;
    }
    engine_lock(c->e);
    ms = engine_certain_ms(c->e);
    engine_want_certain(c->e);
    engine_unlock(c->e);
    return ms;
}

void pawl_client_server(const struct pawl_client *c, char *out, size_t size)
{
    const struct core *core;

    if (size > 0) {
        out[0] = '\0';
    }
    if (handle_check(c) != 0) {
        return;
    }
    engine_lock(c->e);
    core = c->e->core;
    if (core->link == LINK_READY) {
        snprintf(out, size, "%s:%d", core->hosts.items[core->host].name,
                 core->hosts.items[core->host].port);
    }
    engine_unlock(c->e);
}

void pawl_client_last_error(const struct pawl_client *c, char *out, size_t size)
{
    if (size > 0) {
        out[0] = '\0';
    }
    if (handle_check(c) == 0) {
        engine_lock(c->e);
        snprintf(out, size, "%s", c->e->core->trouble);
        engine_unlock(c->e);
    }
}

/* Safe inside a signal handler: no lock, and machine_wake() only writes to a descriptor. The thread
 * that is woken ends who waits. */
void pawl_client_interrupt(struct pawl_client *c)
{
    if (c != NULL) {
        atomic_store(&c->e->interrupted, true);
        machine_wake(c->e);
    }
}

void pawl_client_resume(struct pawl_client *c)
{
    if (c != NULL) {
        atomic_store(&c->e->interrupted, false);
    }
}

int pawl_client_set_servers(struct pawl_client *c, const char *servers)
{
    int rc = handle_check(c);
    int64_t now = machine_now_ms();

    if (rc != 0 || servers == NULL) {
        return rc != 0 ? rc : PAWL_ERR_BAD_ARGUMENTS;
    }
    engine_lock(c->e);
    rc = c->e->closing ? PAWL_ERR_CLOSING : core_set_servers(c->e->core, servers, now);
    engine_settle(c->e, now);
    if (c->e->machine.asleep) {
        machine_wake(c->e);
    }
    engine_unlock(c->e);
    return rc;
}
