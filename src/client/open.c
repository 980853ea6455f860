/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - a handle from its options. */
#include <stdlib.h>
#include <string.h>

#include "client/blob.h"
#include "client/engine.h"
#include "client/follow.h"
#include "client/handle.h"
#include "client/local.h"

enum {
    DEFAULT_SESSION_MS = 60000,
    DEFAULT_CALL_MS = 15000,
    DEFAULT_CLOSE_MS = 5000,
    DEFAULT_REQUEST_BYTES = 0xfffff,
    DEFAULT_REPLY_BYTES = 64 << 20,
    LEAST_REPLY_BYTES = 1024,
};

/* ---- options ---- */

void pawl_client_options_init(struct pawl_client_options *options)
{
    memset(options, 0, sizeof(*options));
    options->size = sizeof(*options);
}

static void take_options(struct pawl_client_options *o, const struct pawl_client_options *given)
{
    memset(o, 0, sizeof(*o));
    memcpy(o, given, given->size < sizeof(*o) ? given->size : sizeof(*o));
    o->session_timeout_ms = o->session_timeout_ms > 0 ? o->session_timeout_ms : DEFAULT_SESSION_MS;
    o->timeout_ms = o->timeout_ms != 0 ? o->timeout_ms : DEFAULT_CALL_MS;
    o->close_timeout_ms = o->close_timeout_ms > 0 ? o->close_timeout_ms : DEFAULT_CLOSE_MS;
    o->lost_percent = o->lost_percent >= 1 && o->lost_percent <= 100 ? o->lost_percent : 100;
    o->max_request_bytes =
        o->max_request_bytes > 0 ? o->max_request_bytes : (size_t)DEFAULT_REQUEST_BYTES;
    o->max_reply_bytes = o->max_reply_bytes > 0 ? o->max_reply_bytes : (size_t)DEFAULT_REPLY_BYTES;
    o->max_reply_bytes =
        o->max_reply_bytes < LEAST_REPLY_BYTES ? (size_t)LEAST_REPLY_BYTES : o->max_reply_bytes;
}

static int take_default_acl(struct engine *e, const struct pawl_acls *acls)
{
    static const struct pawl_acl everybody = {PAWL_PERM_ALL, "world", "anyone"};
    struct strbuf b;
    size_t n = acls->n == 0 ? 1 : acls->n;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < n; i++) {
        const struct pawl_acl *a = acls->n == 0 ? &everybody : &acls->items[i];
        struct acl_entry entry = {a->perms, bytes_str(a->scheme), bytes_str(a->id)};

        acl_entry_write(&b, &entry);
    }
    if (b.failed) {
        strbuf_fini(&b);
        return PAWL_ERR_NO_MEMORY;
    }
    e->settings.acl_store = (char *)b.data;
    e->settings.default_acl = (struct acl_list){(int32_t)n, bytes_of(b.data, b.len)};
    return 0;
}

/* ---- opening ---- */

static int make_core(struct engine *e, const struct pawl_client_options *o)
{
    struct core_options core = {
        .session_timeout_ms = o->session_timeout_ms,
        .connect_timeout_ms = o->connect_timeout_ms,
        .lost_percent = o->lost_percent,
        .read_only = (o->flags & PAWL_CLIENT_READ_ONLY) != 0,
        .one_session = (o->flags & PAWL_CLIENT_ONE_SESSION) != 0,
        .max_request_bytes = o->max_request_bytes,
        .max_reply_bytes = o->max_reply_bytes,
        .seed = prng_next(&e->random),
    };
    const char *servers = o->servers;
    int rc = local_open(o->servers, &e->local, &servers);

    rc = rc != 0 ? rc : core_new(&core, servers, machine_now_ms(), &e->core);
    for (size_t i = 0; rc == 0 && i < o->n_auths; i++) {
        rc = requests_add_auth(e->core, bytes_str(o->auths[i].scheme),
                               bytes_of(o->auths[i].auth.data, o->auths[i].auth.len));
    }
    rc = rc != 0 ? rc : blob_attach(e, o->attach);
    if (rc == 0 && o->attach.data != NULL) {
        rc = local_attach(&e->core->hosts, e->core->session_id);
    }
    return rc;
}

static int fill(struct engine *e, const struct pawl_client_options *o)
{
    int rc = make_core(e, o);

    rc = rc != 0 ? rc : take_default_acl(e, &o->acls);
    rc = rc != 0 ? rc : handle_new(e, o->name_space, NULL, &e->face);
    if (rc == 0 && o->on_state != NULL) {
        rc = listeners_add(e, o->on_state, o->on_state_arg);
    }
    if (rc != 0) {
        return rc;
    }
    e->face->timeout_ms = o->timeout_ms;
    e->face->retry = o->retry;
    return 0;
}

static int start(struct engine *e)
{
    int rc;

    engine_lock(e);
    rc = threads_start(e);
    if (rc != 0) {
        core_shut(e->core, PAWL_ERR_CLOSING);
        engine_settle(e, machine_now_ms());
        e->stop = true;
        machine_wake(e);
    }
    engine_unlock(e);
    if (rc != 0) {
        threads_leave(e, true);
    }
    return rc;
}

static void drop_unopened(struct engine *e)
{
    struct item *item;

    if (e->core != NULL) {
        core_shut(e->core, PAWL_ERR_CLOSING);
    }
    while (e->core != NULL && (item = core_next_item(e->core)) != NULL) {
        if (item->kind == ITEM_CALL) { /* brought along by the session */
            call_free((struct call *)item);
        } else {
            free(item);
        }
    }
    engine_unref(e);
}

/* What is not there: a struct that was not initialised, credentials without a scheme. */
static bool are_sane(const struct pawl_client_options *o)
{
    for (size_t i = 0; i < o->n_auths; i++) {
        if (o->auths == NULL || o->auths[i].scheme == NULL) {
            return false;
        }
    }
    return o->servers != NULL && o->dispatch >= PAWL_DISPATCH_THREAD &&
           o->dispatch <= PAWL_DISPATCH_EXTERNAL;
}

int pawl_client_open(const struct pawl_client_options *options, struct pawl_client **out)
{
    struct pawl_client_options o;
    struct engine *e;
    int rc;

    if (options == NULL || out == NULL || options->servers == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    take_options(&o, options);
    if (!are_sane(&o)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    e = engine_new(&o);
    if (e == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    rc = fill(e, &o);
    rc = rc != 0 ? rc : machine_open(&e->machine);
    if (rc == 0 && (o.flags & PAWL_CLIENT_FOLLOW_CONFIG) != 0) {
        rc = follow_config(e);
    }
    rc = rc != 0 ? rc : start(e);
    if (rc != 0) {
        drop_unopened(e);
        return rc;
    }
    *out = e->face;
    return 0;
}
