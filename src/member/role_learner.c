/* SPDX-License-Identifier: Apache-2.0 */
/* role_learner.c - a follower or an observer: writes of its clients go to the leader, and come back
 * as committed transactions. */
#include "base/assert.h"
#include "base/logging.h"
#include "member/member_internal.h"
#include "wire/request.h"

static void forward(struct member *m, int32_t type, struct id_list auth)
{
    struct packet packet = {
        .type = type, .zxid = -1, .data = strbuf_bytes(&m->ensemble->data), .auth = auth};

    ASSERT(!m->ensemble->data.failed);
    ensemble_ask(m, &(struct quorum_input){.kind = QUORUM_IN_FORWARD, .packet = &packet});
}

/* A session is created in nobody's name. */
static struct id_list ids_of(struct ensemble *e, const struct submission *q)
{
    if (q->request->type == OP_CREATE_SESSION) {
        return (struct id_list){-1, BYTES_NULL};
    }
    strbuf_clear(&e->auth);
    identity_write(q->identity, &e->auth);
    return (struct id_list){(int32_t)q->identity->n_ids,
                            bytes_of(e->auth.data + 4, e->auth.len - 4)};
}

static void write_request(struct ensemble *e, const struct submission *q)
{
    struct forwarded_request f = {
        .session_id = q->session_id, .cxid = q->xid, .op = q->request->type, .body = q->body};
    uint8_t timeout[4];

    if (f.op == OP_CREATE_SESSION) {
        store_u32(timeout, (uint32_t)q->request->timeout_ms);
        f.body = bytes_of(timeout, sizeof(timeout));
    }
    strbuf_clear(&e->data);
    forwarded_request_write(&e->data, &f);
}

static int64_t learner_submit(struct role *r, const struct submission *q)
{
    struct member *m = member_of(r);

    write_request(m->ensemble, q);
    forward(m, PACKET_REQUEST, ids_of(m->ensemble, q));
    return (int64_t)m->ensemble->data.len;
}

static bool learner_sync(struct role *r, const struct submission *q)
{
    learner_submit(r, q);
    return true;
}

static void learner_revalidate(struct role *r, int64_t session_id, int32_t timeout_ms)
{
    struct member *m = member_of(r);

    strbuf_clear(&m->ensemble->data);
    session_touch_write(&m->ensemble->data, &(struct session_touch){session_id, timeout_ms});
    forward(m, PACKET_REVALIDATE, (struct id_list){-1, BYTES_NULL});
}

void role_learner_init(struct role *r, enum role_kind kind)
{
    ASSERT(kind == ROLE_FOLLOWER || kind == ROLE_OBSERVER);
    *r = (struct role){.kind = kind,
                       .submit = learner_submit,
                       .sync = learner_sync,
                       .revalidate = learner_revalidate,
                       .standing = ensemble_standing};
}

void role_learner_receive(struct member *m, const struct packet *p)
{
    struct revalidation v;

    switch (p->type) {
    case PACKET_SYNC:
        m->role.counts_requests |= bytes_equal_str(p->data, SYNC_MARK);
        if (!list_empty(&m->server->syncs)) {
            server_synced(m->server);
        }
        break;
    case PACKET_REVALIDATE:
        if (revalidation_read(p->data, &v)) {
            server_revalidated(m->server, v.session_id, v.valid);
        } else {
            log_limited(LOG_WARN, "the leader's word about a session cannot be decoded");
        }
        break;
    default:
        break;
    }
}
