/* SPDX-License-Identifier: Apache-2.0 */
#include "client/handle.h"

#include <stdlib.h>
#include <string.h>

#include "client/engine.h"
#include "client/take.h"
#include "wire/path.h"

/* Threads do not survive a fork, and the socket is the parent's: a handle from before it is dead in
 * the child. */
int handle_check(const struct pawl_client *c)
{
    if (c == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return c->e->n_forks == thread_forks() ? 0 : PAWL_ERR_FORKED;
}

void handle_free(struct pawl_client *c)
{
    if (c != NULL) {
        free(c->prefix);
        free(c);
    }
}

int handle_new(struct engine *e, const char *name_space, const struct pawl_client *like,
               struct pawl_client **out)
{
    struct pawl_client *c = calloc(1, sizeof(*c));
    const char *chroot = e->core->chroot;
    struct strbuf prefix;

    if (c == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    c->e = e;
    c->chroot_len = strlen(chroot);
    strbuf_init(&prefix, STRBUF_NO_LIMIT);
    strbuf_append_str(&prefix, chroot);
    if (name_space != NULL && *name_space != '\0') {
        strbuf_printf(&prefix, "%s%s", *name_space == '/' ? "" : "/", name_space);
    } else if (name_space == NULL && like != NULL) {
        strbuf_clear(&prefix);
        strbuf_append_str(&prefix, like->prefix);
    }
    c->prefix_len = prefix.len;
    strbuf_cstr(&prefix);
    c->prefix = (char *)prefix.data;
    if (prefix.failed || c->prefix == NULL) {
        handle_free(c);
        return PAWL_ERR_NO_MEMORY;
    }
    if (c->prefix_len > 0 && !path_is_valid(bytes_str(c->prefix))) {
        handle_free(c);
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *out = c;
    return 0;
}

int pawl_client_view(struct pawl_client *c, const struct pawl_view_options *given,
                     struct pawl_client **out)
{
    struct pawl_view_options o;
    struct pawl_client *view;
    int rc = handle_check(c);

    if (out == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *out = NULL;
    if (!take_is_good(given)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    TAKE(o, given);
    rc = rc != 0 ? rc : handle_new(c->e, o.name_space, c, &view);
    if (rc != 0) {
        return rc;
    }
    view->is_view = true;
    view->timeout_ms = o.timeout_ms != 0 ? o.timeout_ms : c->timeout_ms;
    view->retry = o.retry != NULL ? *o.retry : c->retry;
    engine_ref(c->e);
    *out = view;
    return 0;
}
