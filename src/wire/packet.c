/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/packet.h"

enum { PACKET_HEAD_BYTES = 12 }; /* type and zxid */

const char *packet_type_name(int32_t type)
{
    static const char *const names[] = {
        [PACKET_REQUEST] = "REQUEST",
        [PACKET_PROPOSAL] = "PROPOSAL",
        [PACKET_ACK] = "ACK",
        [PACKET_COMMIT] = "COMMIT",
        [PACKET_PING] = "PING",
        [PACKET_REVALIDATE] = "REVALIDATE",
        [PACKET_SYNC] = "SYNC",
        [PACKET_INFORM] = "INFORM",
        [PACKET_COMMIT_AND_ACTIVATE] = "COMMITANDACTIVATE",
        [PACKET_NEW_LEADER] = "NEWLEADER",
        [PACKET_FOLLOWER_INFO] = "FOLLOWERINFO",
        [PACKET_UP_TO_DATE] = "UPTODATE",
        [PACKET_DIFF] = "DIFF",
        [PACKET_TRUNC] = "TRUNC",
        [PACKET_SNAP] = "SNAP",
        [PACKET_OBSERVER_INFO] = "OBSERVERINFO",
        [PACKET_LEADER_INFO] = "LEADERINFO",
        [PACKET_ACK_EPOCH] = "ACKEPOCH",
        [PACKET_INFORM_AND_ACTIVATE] = "INFORMANDACTIVATE",
    };

    if (type < PACKET_REQUEST || type > PACKET_INFORM_AND_ACTIVATE) {
        return "UNKNOWN";
    }
    return names[type];
}

/* A buffer of a stream. Unlike jute_read_buffer() it tells a length that is wrong from one whose
 * bytes are not all there yet. */
static enum stream_read take_buffer(struct jute_reader *r, size_t limit, struct bytes *out)
{
    int32_t len;

    if (jute_left(r) < 4) {
        return STREAM_SHORT;
    }
    len = (int32_t)load_u32(r->at);
    if (len < -1 || (len > 0 && (size_t)len > limit)) {
        return STREAM_BAD;
    }
    if (len > 0 && jute_left(r) - 4 < (size_t)len) {
        return STREAM_SHORT;
    }
    *out = jute_read_buffer(r);
    return STREAM_WHOLE;
}

static enum stream_read take_auth(struct jute_reader *r, size_t limit, struct id_list *out)
{
    const uint8_t *start;
    struct bytes ignored;
    enum stream_read step;

    if (jute_left(r) < 4) {
        return STREAM_SHORT;
    }
    out->count = jute_read_count(r);
    start = r->at;
    for (int32_t i = 0; i < out->count; i++) {
        for (int part = 0; part < 2; part++) {
            step = take_buffer(r, limit, &ignored);
            if (step != STREAM_WHOLE) {
                /* The list as a whole is bounded too, or a peer could make us wait for ever. */
                return jute_left(r) + (size_t)(r->at - start) > limit ? STREAM_BAD : step;
            }
        }
    }
    out->elements = bytes_of(start, (size_t)(r->at - start));
    return STREAM_WHOLE;
}

enum stream_read packet_read(struct bytes input, size_t limit, struct packet *out, size_t *used)
{
    struct jute_reader r = jute_reader_of(input);
    struct packet p = {0};
    enum stream_read step;

    if (jute_left(&r) < PACKET_HEAD_BYTES) {
        return STREAM_SHORT;
    }
    p.type = jute_read_int(&r);
    p.zxid = jute_read_long(&r);
    step = take_buffer(&r, limit, &p.data);
    if (step != STREAM_WHOLE) {
        return step;
    }
    step = take_auth(&r, limit, &p.auth);
    if (step != STREAM_WHOLE) {
        return step;
    }
    *out = p;
    *used = input.len - jute_left(&r);
    return STREAM_WHOLE;
}

void packet_write(struct strbuf *b, const struct packet *p)
{
    jute_write_int(b, p->type);
    jute_write_long(b, p->zxid);
    jute_write_buffer(b, p->data);
    id_list_write(b, &p->auth);
}

size_t packet_begin(struct strbuf *b, int32_t type, int64_t zxid)
{
    size_t start = b->len;

    jute_write_int(b, type);
    jute_write_long(b, zxid);
    jute_write_int(b, 0);
    return start;
}

void packet_end(struct strbuf *b, size_t start, const struct id_list *auth)
{
    size_t data = start + PACKET_HEAD_BYTES + 4;

    jute_patch_int(b, start + PACKET_HEAD_BYTES, (int32_t)(b->len - data));
    id_list_write(b, auth);
}

bool learner_info_read(struct bytes data, struct learner_info *out)
{
    struct jute_reader r = jute_reader_of(data);

    *out = (struct learner_info){0};
    if (bytes_is_null(data)) {
        return true;
    }
    out->has_server_id = true;
    out->server_id = jute_read_long(&r);
    if (jute_left(&r) >= 4) {
        out->protocol_version = jute_read_int(&r);
    }
    if (jute_left(&r) >= 8) {
        out->config_version = jute_read_long(&r);
    }
    return !r.failed;
}

void learner_info_write(struct strbuf *b, const struct learner_info *i)
{
    jute_write_long(b, i->server_id);
    jute_write_int(b, i->protocol_version);
    jute_write_long(b, i->config_version);
}

bool packet_int_read(struct bytes data, int32_t *out)
{
    struct jute_reader r = jute_reader_of(data);

    *out = jute_read_int(&r);
    return !r.failed;
}

bool activation_read(struct bytes data, struct activation *out)
{
    struct jute_reader r = jute_reader_of(data);

    out->leader = jute_read_long(&r);
    out->txn = bytes_of(r.at, jute_left(&r));
    return !r.failed;
}

void activation_write(struct strbuf *b, const struct activation *a)
{
    jute_write_long(b, a->leader);
    strbuf_append_bytes(b, a->txn);
}

bool forwarded_request_read(struct bytes data, struct forwarded_request *out)
{
    struct jute_reader r = jute_reader_of(data);

    out->session_id = jute_read_long(&r);
    out->cxid = jute_read_int(&r);
    out->op = jute_read_int(&r);
    out->body = bytes_of(r.at, jute_left(&r));
    return !r.failed;
}

void forwarded_request_write(struct strbuf *b, const struct forwarded_request *q)
{
    jute_write_long(b, q->session_id);
    jute_write_int(b, q->cxid);
    jute_write_int(b, q->op);
    strbuf_append_bytes(b, q->body);
}

struct session_touch session_touch_read(struct jute_reader *r)
{
    struct session_touch t;

    t.session_id = jute_read_long(r);
    t.timeout_ms = jute_read_int(r);
    return t;
}

void session_touch_write(struct strbuf *b, const struct session_touch *t)
{
    jute_write_long(b, t->session_id);
    jute_write_int(b, t->timeout_ms);
}

bool revalidation_read(struct bytes data, struct revalidation *out)
{
    struct jute_reader r = jute_reader_of(data);

    out->session_id = jute_read_long(&r);
    out->valid = jute_read_bool(&r);
    return !r.failed;
}

void revalidation_write(struct strbuf *b, const struct revalidation *v)
{
    jute_write_long(b, v->session_id);
    jute_write_bool(b, v->valid);
}

enum stream_read quorum_auth_read(struct bytes input, size_t limit, struct quorum_auth *out,
                                  size_t *used)
{
    struct jute_reader r = jute_reader_of(input);
    struct quorum_auth a = {0};
    enum stream_read step;

    if (jute_left(&r) < 8) {
        return STREAM_SHORT;
    }
    if (jute_read_long(&r) != QUORUM_AUTH_MAGIC) {
        return STREAM_BAD;
    }
    if (jute_left(&r) < 4) {
        return STREAM_SHORT;
    }
    a.status = jute_read_int(&r);
    step = take_buffer(&r, limit, &a.token);
    if (step == STREAM_WHOLE) {
        *out = a;
        *used = input.len - jute_left(&r);
    }
    return step;
}

void quorum_auth_write(struct strbuf *b, const struct quorum_auth *a)
{
    jute_write_long(b, QUORUM_AUTH_MAGIC);
    jute_write_int(b, a->status);
    jute_write_buffer(b, a->token);
}
