/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot_stream.h"

#include <string.h>

#include "base/assert.h"
#include "store/txnlog_format.h"

enum {
    SESSION_BYTES = 12,
    NODE_TAIL_BYTES = 8 + STAT_PERSISTED_BYTES, /* behind the data: ACL and Stat */
    ACL_FACTOR = 4,                             /* a list may be longer than one string */
    SIGNATURE_BYTES = 4 + sizeof(SNAPSHOT_SIGNATURE) - 1,
};

enum state { SESSIONS, ACLS, ACL, SCHEME, ID, PATH, SLASH, DATA, SIGNATURE, WHOLE, BAD, N_STATES };

/* How many bytes decide what comes next. */
static const uint8_t field_bytes[N_STATES] = {
    [SESSIONS] = 4, [ACLS] = 4,  [ACL] = 12,
    [SCHEME] = 8,   [ID] = 4,    [PATH] = 4,
    [DATA] = 4,     [SLASH] = 1, [SIGNATURE] = SIGNATURE_BYTES,
};

static const uint16_t may_follow[N_STATES] = {
    [SESSIONS] = 1 << ACLS | 1 << BAD,
    [ACLS] = 1 << ACL | 1 << PATH | 1 << BAD,
    [ACL] = 1 << ACL | 1 << SCHEME | 1 << PATH | 1 << BAD,
    [SCHEME] = 1 << ID | 1 << BAD,
    [ID] = 1 << SCHEME | 1 << ACL | 1 << PATH | 1 << BAD,
    [PATH] = 1 << DATA | 1 << SLASH | 1 << BAD,
    [DATA] = 1 << PATH | 1 << BAD,
    [SLASH] = 1 << SIGNATURE | 1 << BAD,
    [SIGNATURE] = 1 << WHOLE | 1 << BAD,
};

static void stream_move(struct snapshot_stream *s, enum state next)
{
    ASSERT(s->state < N_STATES && (may_follow[s->state] & 1 << next) != 0);
    s->state = (int)next;
    s->have = 0;
    ASSERT(next == WHOLE || next == BAD || field_bytes[next] <= sizeof(s->field));
}

static void stream_refuse(struct snapshot_stream *s, const char *reason)
{
    stream_move(s, BAD);
    s->reason = reason;
}

void snapshot_stream_init(struct snapshot_stream *s, size_t limit_bytes, uint64_t limit_all_bytes)
{
    *s = (struct snapshot_stream){
        .limit_bytes = limit_bytes == 0 ? TXNLOG_DEFAULT_LIMIT : limit_bytes,
        .limit_all_bytes = limit_all_bytes,
        .state = SESSIONS,
    };
}

/* ---- one field each ---- */

static int32_t stream_int(const struct snapshot_stream *s, size_t at)
{
    return (int32_t)load_u32(s->field + at);
}

static void stream_next_acl(struct snapshot_stream *s)
{
    s->acl_bytes = 0;
    stream_move(s, s->n_left-- > 0 ? ACL : PATH);
}

static void stream_next_entry(struct snapshot_stream *s)
{
    if (s->entries_left-- > 0) {
        stream_move(s, SCHEME);
    } else {
        stream_next_acl(s);
    }
}

static void stream_sessions(struct snapshot_stream *s)
{
    int32_t count = stream_int(s, 0);

    if (count < 0) {
        stream_refuse(s, "a negative number of sessions");
        return;
    }
    s->skip = (uint64_t)count * SESSION_BYTES;
    stream_move(s, ACLS);
}

static void stream_acls(struct snapshot_stream *s)
{
    s->n_left = stream_int(s, 0);
    if (s->n_left < 0) {
        stream_refuse(s, "a negative number of ACLs");
        return;
    }
    stream_next_acl(s);
}

/* The ACL's number, then how many entries it has; -1: null. */
static void stream_acl(struct snapshot_stream *s)
{
    s->entries_left = stream_int(s, 8);
    if (s->entries_left < -1) {
        stream_refuse(s, "an ACL of an impossible length");
        return;
    }
    s->entries_left = s->entries_left < 0 ? 0 : s->entries_left;
    stream_next_entry(s);
}

/* A string's length; false: refused. */
static bool stream_string(struct snapshot_stream *s, size_t at)
{
    int32_t len = stream_int(s, at);

    len = len == -1 ? 0 : len;
    if (len >= 0) {
        s->acl_bytes += at + 4 + (size_t)len;
    }
    if (len < 0 || (size_t)len > s->limit_bytes || s->acl_bytes > ACL_FACTOR * s->limit_bytes) {
        stream_refuse(s, "an ACL of an impossible length");
        return false;
    }
    s->skip = (uint64_t)len;
    return true;
}

static void stream_path(struct snapshot_stream *s)
{
    int32_t len = stream_int(s, 0);

    if (len < 0 || (size_t)len > s->limit_bytes) {
        stream_refuse(s, "a path of an impossible length");
    } else if (len == 1) {
        stream_move(s, SLASH); /* no node has a path of one byte */
    } else {
        s->skip = (uint64_t)len;
        stream_move(s, DATA);
    }
}

static void stream_data(struct snapshot_stream *s)
{
    int32_t len = stream_int(s, 0);

    if (len < -1 || (len > 0 && (size_t)len > s->limit_bytes)) {
        stream_refuse(s, "data of an impossible length");
        return;
    }
    s->skip = (len < 0 ? 0 : (uint64_t)len) + NODE_TAIL_BYTES;
    stream_move(s, PATH);
}

static void stream_slash(struct snapshot_stream *s)
{
    if (s->field[0] != '/') {
        stream_refuse(s, "a path that does not start with '/'");
        return;
    }
    stream_move(s, SIGNATURE);
}

static void stream_signature(struct snapshot_stream *s)
{
    bool is_good = stream_int(s, 0) == SIGNATURE_BYTES - 4 &&
                   memcmp(s->field + 4, SNAPSHOT_SIGNATURE, SIGNATURE_BYTES - 4) == 0;

    if (is_good) {
        stream_move(s, WHOLE);
    } else {
        stream_refuse(s, "the signature behind it is missing");
    }
}

static void stream_field(struct snapshot_stream *s)
{
    ASSERT(s->skip == 0);
    switch ((enum state)s->state) {
    case SESSIONS:
        stream_sessions(s);
        break;
    case ACLS:
        stream_acls(s);
        break;
    case ACL:
        stream_acl(s);
        break;
    case SCHEME: /* behind the permissions */
        if (stream_string(s, 4)) {
            stream_move(s, ID);
        }
        break;
    case ID:
        if (stream_string(s, 0)) {
            stream_next_entry(s);
        }
        break;
    case PATH:
        stream_path(s);
        break;
    case DATA:
        stream_data(s);
        break;
    case SLASH:
        stream_slash(s);
        break;
    case SIGNATURE:
        stream_signature(s);
        break;
    default:
        ASSERT(false);
    }
}

/* ---- the bytes ---- */

/* Passes over what needs no look, or adds to the field; how many bytes that took. */
static size_t stream_take(struct snapshot_stream *s, const uint8_t *at, size_t len)
{
    size_t n;

    if (s->skip > 0) {
        n = len < s->skip ? len : (size_t)s->skip;
        s->skip -= n;
        return n;
    }
    n = field_bytes[s->state] - s->have;
    n = len < n ? len : n;
    memcpy(s->field + s->have, at, n);
    s->have += n;
    if (s->have == field_bytes[s->state]) {
        stream_field(s);
    }
    return n;
}

enum stream_read snapshot_stream_feed(struct snapshot_stream *s, struct bytes bytes, size_t *used,
                                      size_t *body)
{
    size_t at = 0;

    *body = 0;
    while (at < bytes.len && s->state != WHOLE && s->state != BAD) {
        bool in_body = s->state != SIGNATURE;
        size_t n = stream_take(s, bytes.data + at, bytes.len - at);

        at += n;
        *body += in_body ? n : 0;
    }
    *used = at;
    s->body_bytes += *body;
    if (s->state != BAD && s->limit_all_bytes > 0 && s->body_bytes > s->limit_all_bytes) {
        s->state = BAD;
        s->reason = "it is longer than allowed";
    }
    return s->state == WHOLE ? STREAM_WHOLE : s->state == BAD ? STREAM_BAD : STREAM_SHORT;
}
