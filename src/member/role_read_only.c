/* SPDX-License-Identifier: Apache-2.0 */
/* role_read_only.c - while there is no leader: serves who wants no more than to read.
 *
 *                looking for some time
 *        NONE ---------------------------> READ_ONLY
 *          ^                                   |
 *          +-----------------------------------+
 *            somebody is elected, or the quorum asks for anything: its clients are closed
 *
 * The tree is what this member has, agreed upon or not, and does not change meanwhile. */
#include <inttypes.h>

#include "base/logging.h"
#include "member/member_internal.h"

/* An election takes less, and whoever connects meanwhile would be closed again at once. */
enum { LOOKING_AT_LEAST_MS = 2000 };

/* Of a session that is not ours nobody here knows whether it lives. Those of the ensemble were
 * turned down before, so this one was another server's, or is long gone. */
static void read_only_revalidate(struct role *r, int64_t session_id, int32_t timeout_ms)
{
    (void)timeout_ms;
    server_revalidated(member_of(r)->server, session_id, false);
}

static void read_only_begin(struct member *m)
{
    log_info("no leader for %" PRId64 " ms: serving clients that only read, up to 0x%" PRIx64,
             (m->server->now_us - m->ensemble->looking_since_us) / 1000,
             (uint64_t)m->server->applied_zxid);
    m->role = (struct role){.kind = ROLE_READ_ONLY, .revalidate = read_only_revalidate};
    server_change(m->server, m->server->tree, m->server->applied_zxid);
}

void role_read_only_end(struct member *m)
{
    if (m->role.kind != ROLE_READ_ONLY) {
        return;
    }
    log_info("read-only no more: there is a leader, or one is tried; clients are closed");
    m->ensemble->looking_since_us = 0;
    role_none_init(&m->role);
    server_change(m->server, m->server->tree, m->server->applied_zxid);
}

static bool is_looking(const struct member *m)
{
    const struct member_ensemble *to = &m->ensemble->to;

    return to->is_looking != NULL && to->is_looking(to->host);
}

/* A tree that is not everybody's is shown to nobody. */
static bool may_be_read(const struct member *m)
{
    return m->options.server.read_only_mode && !m->diverged && !m->had_diverged &&
           m->server->differs_zxid == 0;
}

static bool has_looked_long(const struct member *m)
{
    int64_t tick_ms = m->options.server.tick_ms;
    int64_t least_ms = tick_ms > LOOKING_AT_LEAST_MS ? tick_ms : LOOKING_AT_LEAST_MS;

    return m->server->now_us - m->ensemble->looking_since_us >= least_ms * 1000;
}

void role_read_only_tick(struct member *m)
{
    struct ensemble *e = m->ensemble;

    if (m->role.kind != ROLE_NONE && m->role.kind != ROLE_READ_ONLY) {
        return;
    }
    if (!may_be_read(m) || !is_looking(m)) {
        role_read_only_end(m);
        e->looking_since_us = 0;
    } else if (e->looking_since_us == 0) {
        e->looking_since_us = m->server->now_us;
    } else if (m->role.kind == ROLE_NONE && has_looked_long(m)) {
        read_only_begin(m);
    }
}
