/* SPDX-License-Identifier: Apache-2.0 */
#include "server/parked.h"

#include "base/assert.h"
#include "wire/jute.h"

/* The entries, one behind the other:
 *
 *   int -1                                                    a mark
 *   int -2 | int xid | int err                                a request that is refused
 *   int length | bytes | long when | int auth ids | long answer  any other request */
enum { MARK = -1, REFUSED = -2 };

/* What is taken out stays in front until it is so much, and more than half. */
enum { TIDY_BYTES = 65536 };

void parked_init(struct parked *q)
{
    *q = (struct parked){0};
    strbuf_init(&q->bytes, STRBUF_NO_LIMIT);
}

void parked_fini(struct parked *q)
{
    strbuf_fini(&q->bytes);
}

void parked_check(const struct parked *q)
{
    ASSERT(q->at <= q->bytes.len);
    ASSERT(!q->bytes.failed);
    ASSERT(q->n_in_flight >= 0);
    ASSERT(q->n_done >= 0);
    ASSERT(q->n_requests >= 0);
    ASSERT(q->answers >= 0);
    if (parked_is_empty(q)) {
        ASSERT(q->n_done == 0);
        ASSERT(q->n_requests == 0);
        ASSERT(q->answers == 0);
    }
}

void parked_push_mark(struct parked *q)
{
    jute_write_int(&q->bytes, MARK);
    q->n_in_flight++;
    ASSERT(!q->bytes.failed);
}

void parked_push(struct parked *q, const struct parked_request *r)
{
    ASSERT(r->answer >= 0);
    if (bytes_is_null(r->frame)) {
        jute_write_int(&q->bytes, REFUSED);
        jute_write_int(&q->bytes, r->xid);
        jute_write_int(&q->bytes, r->err);
    } else {
        jute_write_buffer(&q->bytes, r->frame);
        jute_write_long(&q->bytes, r->when_us);
        jute_write_int(&q->bytes, (int32_t)r->n_auth_ids);
        jute_write_long(&q->bytes, r->answer);
        q->answers += r->answer;
    }
    q->n_requests++;
    ASSERT(!q->bytes.failed);
}

void parked_mark_done(struct parked *q)
{
    ASSERT(q->n_in_flight > 0);
    q->n_in_flight--;
    q->n_done++;
}

static int32_t head_of(const struct parked *q)
{
    return (int32_t)load_u32(q->bytes.data + q->at);
}

bool parked_is_ready(struct parked *q)
{
    while (q->n_done > 0 && !parked_is_empty(q) && head_of(q) == MARK) {
        q->n_done--;
        q->at += 4;
    }
    return !parked_is_empty(q) && head_of(q) != MARK;
}

void parked_pop(struct parked *q, struct parked_request *out)
{
    struct jute_reader r = jute_reader_of(bytes_of(q->bytes.data + q->at, parked_bytes(q)));

    ASSERT(q->n_requests > 0);
    ASSERT(head_of(q) != MARK);
    *out = (struct parked_request){.frame = BYTES_NULL};
    if (head_of(q) == REFUSED) {
        jute_read_int(&r);
        out->xid = jute_read_int(&r);
        out->err = jute_read_int(&r);
    } else {
        out->frame = jute_read_buffer(&r);
        out->when_us = jute_read_long(&r);
        out->n_auth_ids = (uint32_t)jute_read_int(&r);
        out->answer = jute_read_long(&r);
        q->answers -= out->answer;
    }
    ASSERT(!r.failed);
    q->n_requests--;
    q->at = (size_t)(r.at - q->bytes.data);
}

void parked_tidy(struct parked *q)
{
    if (parked_is_empty(q)) {
        strbuf_clear(&q->bytes);
        q->at = 0;
    } else if (q->at > TIDY_BYTES && q->at > q->bytes.len / 2) {
        memmove(q->bytes.data, q->bytes.data + q->at, parked_bytes(q));
        q->bytes.len -= q->at;
        q->at = 0;
    }
    parked_check(q);
}
