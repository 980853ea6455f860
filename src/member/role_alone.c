/* SPDX-License-Identifier: Apache-2.0 */
/* role_alone.c - an ensemble of one: what is durable here is committed. */
#include "base/assert.h"
#include "member/member_internal.h"
#include "server/handshake.h"

static int64_t alone_submit(struct role *r, const struct submission *q)
{
    struct member *m = member_of(r);
    struct proposer *p = m->server->proposer;
    struct bytes payload;

    if (zxid_counter(p->zxid) == QUORUM_LAST_COUNTER) { /* nobody else has a say in it */
        proposer_turn(p, zxid_epoch(p->zxid) + 1);
    }
    payload = proposer_prepare(p, q);
    member_append(m, p->zxid, payload);
    return (int64_t)payload.len;
}

static bool alone_sync(struct role *r, const struct submission *q)
{
    (void)q;
    return journal_first(&member_of(r)->journal) != NULL;
}

static void alone_revalidate(struct role *r, int64_t session_id, int32_t timeout_ms)
{
    struct member *m = member_of(r);

    (void)timeout_ms;
    if (!member_is_burying(m)) {
        handshake_revalidate(m->server, session_id);
    }
}

void role_alone_init(struct role *r)
{
    *r = (struct role){.kind = ROLE_ALONE,
                       .counts_requests = true,
                       .submit = alone_submit,
                       .sync = alone_sync,
                       .revalidate = alone_revalidate};
}

void role_alone_durable(struct member *m, int64_t zxid)
{
    ASSERT(zxid <= m->server->proposer->zxid);
    member_commit(m, zxid);
    ASSERT(m->server->applied_zxid >= zxid);
}
