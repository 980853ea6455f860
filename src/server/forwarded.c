/* SPDX-License-Identifier: Apache-2.0 */
#include "server/forwarded.h"

#include "base/assert.h"
#include "pawl/error.h"
#include "server/handshake.h"
#include "wire/utf8.h"

/* Reads the request in the form that prepare.c takes. */
static int read_forwarded(struct server *s, const struct forwarded_request *f, struct request *q)
{
    struct jute_reader r = jute_reader_of(f->body);
    const struct op *op = op_find(f->op);

    *q = (struct request){.type = f->op};
    if (f->op == OP_CREATE_SESSION) {
        q->timeout_ms = jute_read_int(&r);
        return r.failed ? PAWL_ERR_MARSHALLING : PAWL_OK;
    }
    if (op == NULL || op->kind != OP_KIND_WRITE) {
        return PAWL_ERR_UNIMPLEMENTED;
    }
    if (!request_read(op, &r, q)) {
        return PAWL_ERR_MARSHALLING;
    }
    q->path = utf8_repaired(q->path, &s->repaired);
    return PAWL_OK;
}

/* One that nobody but the learner knows, if there are such at all. Of our own we know all. */
static bool may_be_local(const struct server *s, int64_t session_id)
{
    return s->options.local_sessions && session_id >> 56 != s->options.server_id;
}

/* A session that is not there can still be closed: the learner is waiting for that. */
static int check_session(const struct server *s, struct session *session,
                         const struct forwarded_request *f, uint64_t link)
{
    if (f->op == OP_CREATE_SESSION || f->op == OP_CLOSE_SESSION) {
        return PAWL_OK;
    }
    if (session == NULL && may_be_local(s, f->session_id)) {
        return PAWL_OK;
    }
    if (session == NULL || session->closing) {
        return PAWL_ERR_SESSION_EXPIRED;
    }
    return tracker_claim(session, link) ? PAWL_OK : PAWL_ERR_SESSION_MOVED;
}

static struct session *session_for(struct server *s, const struct forwarded_request *f,
                                   const struct request *q, uint64_t link)
{
    struct session *session = session_find(&s->sessions, f->session_id);

    if (session == NULL && f->op == OP_CREATE_SESSION) {
        session = server_add_session(s, f->session_id, q->timeout_ms);
        session->owner = link;
    }
    return session;
}

void forwarded_write(struct server *s, uint64_t link, const struct forwarded_request *f,
                     struct id_list auth)
{
    struct submission submission = {.session_id = f->session_id, .xid = f->cxid, .body = f->body};
    struct identity identity;
    struct request q;
    int rc;

    ASSERT(s->role->kind == ROLE_LEADER);
    rc = read_forwarded(s, f, &q);
    if (rc == PAWL_OK) {
        submission.session = session_for(s, f, &q, link);
        rc = check_session(s, submission.session, f, link);
    }
    if (submission.session != NULL && rc == PAWL_OK) {
        tracker_touch(&s->tracker, submission.session, server_now_ms(s));
    }
    identity_init_forwarded(&identity, auth);
    submission.identity = &identity;
    submission.request = &q;
    submission.refusal = rc;
    server_propose(s, &submission);
    identity_fini(&identity);
}

/* The answer goes behind all that was proposed before: if the session is about to be closed, its
 * learner hears that first. */
bool forwarded_sync(struct server *s, const struct forwarded_request *f)
{
    struct session *session = session_find(&s->sessions, f->session_id);
    struct jute_reader r = jute_reader_of(f->body);

    if (session != NULL) {
        tracker_touch(&s->tracker, session, server_now_ms(s));
    }
    return bytes_equal_str(jute_read_buffer(&r), SIGN_OF_LIFE) && !r.failed;
}

enum session_life forwarded_revalidate(struct server *s, uint64_t link,
                                       const struct session_touch *t)
{
    struct session *session = session_find(&s->sessions, t->session_id);
    struct connection *c;

    if (session == NULL || session->local) {
        return SESSION_DEAD;
    }
    if (handshake_is_being_decided(s, session)) {
        return SESSION_UNDECIDED;
    }
    session->timeout_ms = t->timeout_ms;
    session->owner = link;
    c = session->connection;
    if (c != NULL) { /* its client has gone there */
        c->session = NULL;
        session->connection = NULL;
        connection_close_after_flush(s, c);
    }
    tracker_touch(&s->tracker, session, server_now_ms(s));
    return SESSION_LIVES;
}

void forwarded_touches(struct server *s, struct bytes data)
{
    struct jute_reader r = jute_reader_of(data);

    while (jute_left(&r) >= SESSION_TOUCH_BYTES) {
        struct session_touch t = session_touch_read(&r);
        struct session *session = session_find(&s->sessions, t.session_id);

        if (session != NULL && !session->local) {
            session->timeout_ms = t.timeout_ms;
            tracker_touch(&s->tracker, session, server_now_ms(s));
        }
    }
}
