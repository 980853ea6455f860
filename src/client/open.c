/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - a handle from its options. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/blob.h"
#include "client/engine.h"
#include "client/follow.h"
#include "client/handle.h"
#include "client/local.h"
#include "client/sasl_options.h"
#include "client/take.h"
#include "client/tls_options.h"
#include "wire/server_list.h"

enum {
    DEFAULT_SESSION_MS = 10000,
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

/* What was left at zero. */
static void fill_in_options(struct pawl_client_options *o)
{
    o->session_timeout_ms = o->session_timeout_ms != 0 ? o->session_timeout_ms : DEFAULT_SESSION_MS;
    o->timeout_ms = o->timeout_ms != 0 ? o->timeout_ms : DEFAULT_CALL_MS;
    o->close_timeout_ms = o->close_timeout_ms != 0 ? o->close_timeout_ms : DEFAULT_CLOSE_MS;
    o->lost_percent = o->lost_percent != 0 ? o->lost_percent : 100;
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

/* ---- what was not liked ---- */

static _Thread_local char open_error[1200];

const char *pawl_open_error(void)
{
    return open_error;
}

static int refuse(int rc, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(open_error, sizeof(open_error), format, list);
    va_end(list);
    return rc;
}

/* Zero is the usual. */
static int open_check_numbers(const struct pawl_client_options *o)
{
    const struct {
        const char *name;
        int value, least, most;
    } numbers[] = {
        {"session_timeout_ms", o->session_timeout_ms, 0, INT_MAX},
        {"connect_timeout_ms", o->connect_timeout_ms, 0, INT_MAX},
        {"close_timeout_ms", o->close_timeout_ms, 0, INT_MAX},
        {"timeout_ms", o->timeout_ms, -1, INT_MAX},
        {"lost_percent", o->lost_percent, 0, 100},
        {"dispatch", (int)o->dispatch, PAWL_DISPATCH_THREAD, PAWL_DISPATCH_EXTERNAL},
        {"retry.kind", (int)o->retry.kind, PAWL_RETRY_NONE, PAWL_RETRY_FOREVER},
        {"log_level", (int)o->log_level, PAWL_LOG_ERROR, PAWL_LOG_DEBUG},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].value < numbers[i].least || numbers[i].value > numbers[i].most) {
            return refuse(PAWL_ERR_BAD_ARGUMENTS, "%s is %d, not %d to %d", numbers[i].name,
                          numbers[i].value, numbers[i].least, numbers[i].most);
        }
    }
    return 0;
}

/* What is not there, or nothing that we know. */
static int check_options(const struct pawl_client_options *o)
{
    const int flags = PAWL_CLIENT_READ_ONLY | PAWL_CLIENT_ONE_SESSION | PAWL_CLIENT_FOLLOW_CONFIG |
                      PAWL_CLIENT_COMPRESS;

    if (o->servers == NULL) {
        return refuse(PAWL_ERR_BAD_ARGUMENTS, "no servers are given");
    }
    for (size_t i = 0; i < o->n_auths; i++) {
        if (o->auths == NULL || o->auths[i].scheme == NULL || !take_is_data(o->auths[i].auth)) {
            return refuse(PAWL_ERR_BAD_ARGUMENTS, "auths[%zu] has no scheme, or no bytes", i);
        }
    }
    if (!take_is_acls(o->acls)) {
        return refuse(PAWL_ERR_BAD_ARGUMENTS, "acls has no items, or one without scheme or id");
    }
    if (!take_is_data(o->attach)) {
        return refuse(PAWL_ERR_BAD_ARGUMENTS, "attach is NULL but has a length");
    }
    if ((o->flags & ~flags) != 0) {
        return refuse(PAWL_ERR_BAD_ARGUMENTS, "unknown flags: %#x", (unsigned)(o->flags & ~flags));
    }
    return open_check_numbers(o);
}

/* Which part of it was not liked. */
static int open_explain(int rc, const struct engine *e, const struct pawl_client_options *o)
{
    char why[400];

    if (rc != PAWL_ERR_BAD_ARGUMENTS) {
        return refuse(rc, "%s: %s", o->servers, pawl_strerror(rc));
    }
    if (e->core == NULL && strncmp(o->servers, "local:", 6) == 0) {
        return refuse(rc, "\"%s\": no directory behind local:", o->servers);
    }
    if (e->core == NULL) {
        server_list_explain(o->servers, why, sizeof(why));
        return refuse(rc, "%s", why);
    }
    if (e->settings.acl_store == NULL) {
        return refuse(rc, "attach is nothing that pawl_client_detach() gave");
    }
    return refuse(rc, "\"%s\" is not a valid namespace", o->name_space);
}

/* ---- TLS ---- */

static int open_tls(struct engine *e, const struct pawl_client_options *o)
{
    char why[sizeof(open_error)];
    int rc;

    if (!e->core->hosts.is_secure) {
        return o->tls == NULL
                   ? 0
                   : refuse(PAWL_ERR_BAD_ARGUMENTS,
                            "there are options for TLS, but \"%s\" is no zks://HOST:PORT",
                            o->servers);
    }
    if ((o->flags & PAWL_CLIENT_FOLLOW_CONFIG) != 0) {
        return refuse(PAWL_ERR_BAD_ARGUMENTS,
                      "the configuration of an ensemble names its ports without TLS: "
                      "PAWL_CLIENT_FOLLOW_CONFIG cannot be used with zks://");
    }
    rc = tls_options_take(o->tls, e, why, sizeof(why));
    return rc == 0 ? 0 : refuse(rc, "TLS: %s", why);
}

/* ---- SASL ---- */

static int open_sasl(struct engine *e, const struct pawl_client_options *o)
{
    char why[sizeof(open_error)];
    int rc;

    if (o->sasl == NULL) {
        return 0;
    }
    if (e->local != NULL) {
        return refuse(PAWL_ERR_BAD_ARGUMENTS, "local:DIR has no SASL");
    }
    rc = sasl_options_take(o->sasl, e, why, sizeof(why));
    e->core->options.sasl = rc == 0;
    return rc == 0 ? 0 : refuse(rc, "SASL: %s", why);
}

/* ---- all of it ---- */

static int open_engine(const struct pawl_client_options *o, struct pawl_client **out)
{
    struct engine *e = engine_new(o);
    int rc;

    if (e == NULL) {
        return refuse(PAWL_ERR_NO_MEMORY, "%s", pawl_strerror(PAWL_ERR_NO_MEMORY));
    }
    rc = fill(e, o);
    if (rc == 0 && ((rc = open_tls(e, o)) != 0 || (rc = open_sasl(e, o)) != 0)) {
        drop_unopened(e);
        return rc;
    }
    rc = rc != 0 ? rc : machine_open(&e->machine);
    if (rc == 0 && (o->flags & PAWL_CLIENT_FOLLOW_CONFIG) != 0) {
        rc = follow_config(e);
    }
    rc = rc != 0 ? rc : start(e);
    if (rc != 0) {
        open_explain(rc, e, o);
        drop_unopened(e);
        return rc;
    }
    *out = e->face;
    return 0;
}

int pawl_client_open(const struct pawl_client_options *options, struct pawl_client **out)
{
    struct pawl_client_options o;
    int rc;

    if (out == NULL) {
        return refuse(PAWL_ERR_BAD_ARGUMENTS, "there is nowhere to put the handle");
    }
    *out = NULL;
    if (options == NULL || !take_is_good(options)) {
        return refuse(PAWL_ERR_BAD_ARGUMENTS,
                      "the options were not begun with "
                      "pawl_client_options_init() or PAWL_CLIENT_OPTIONS()");
    }
    TAKE(o, options);
    rc = check_options(&o);
    fill_in_options(&o);
    rc = rc != 0 ? rc : open_engine(&o, out);
    if (rc != 0 && o.log != NULL) {
        o.log(PAWL_LOG_ERROR, open_error, o.log_arg);
    }
    return rc;
}

int pawl_open(const char *servers, struct pawl_client **out)
{
    struct pawl_client_options o;
    char why[300];
    int rc;

    pawl_client_options_init(&o);
    o.servers = servers;
    o.log = pawl_log_stderr;
    o.log_level = PAWL_LOG_WARN;
    rc = pawl_client_open(&o, out);
    if (rc != 0) {
        return rc;
    }
    rc = pawl_client_wait_connected(*out, DEFAULT_CALL_MS);
    if (rc != 0) {
        pawl_client_last_error(*out, why, sizeof(why));
        refuse(rc, "no session in %d s: %s", DEFAULT_CALL_MS / 1000,
               *why == '\0' ? pawl_strerror(rc) : why);
        pawl_client_close(*out);
        *out = NULL;
    }
    return rc;
}
