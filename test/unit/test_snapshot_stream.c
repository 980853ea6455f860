/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/prng.h"
#include "base/strbuf.h"
#include "lib/test.h"
#include "lib/vectors.h"
#include "store/snapshot_stream.h"

#define RECORDED VECTORS "/quorum/sync-snap-epoch-crossing.txt"

/* The stream that 3.8.0 sent behind SNAP, and the packet that followed it. */
struct recording {
    struct strbuf bytes;
    size_t len; /* of the stream */
};

static void note_message(const struct quorum_message *m, void *arg)
{
    struct recording *r = arg;

    if (strstr(m->meaning, "SNAPSTREAM") != NULL) {
        strbuf_append_bytes(&r->bytes, m->bytes);
        r->len = r->bytes.len;
    } else if (r->len > 0 && r->bytes.len == r->len) {
        strbuf_append_bytes(&r->bytes, m->bytes);
    }
}

static void recorded(struct recording *r)
{
    *r = (struct recording){0};
    strbuf_init(&r->bytes, STRBUF_NO_LIMIT);
    vectors_quorum(RECORDED, note_message, r);
    assert_int_equal(r->len, 762);
    assert_true(r->bytes.len > r->len);
}

static void a_stream_of_zookeepers_ends_where_it_ends(void **state)
{
    struct snapshot_stream s;
    struct recording r;
    size_t used, body;

    (void)state;
    recorded(&r);
    snapshot_stream_init(&s, 0, 0);
    assert_int_equal(snapshot_stream_feed(&s, strbuf_bytes(&r.bytes), &used, &body), STREAM_WHOLE);
    assert_int_equal(used, r.len);
    assert_int_equal(body, r.len - 14);
    assert_memory_equal(r.bytes.data + body - 5, "\0\0\0\1/", 5);
    strbuf_fini(&r.bytes);
}

static void it_may_come_in_pieces_of_any_size(void **state)
{
    struct recording r;
    struct prng prng;

    (void)state;
    recorded(&r);
    prng_seed(&prng, 1);
    for (size_t largest = 1; largest < 40; largest++) {
        enum stream_read found = STREAM_SHORT;
        struct snapshot_stream s;
        size_t at = 0, bodies = 0, used, body;

        snapshot_stream_init(&s, 0, 0);
        while (found == STREAM_SHORT) {
            size_t n = 1 + (size_t)prng_below(&prng, largest);

            n = n < r.bytes.len - at ? n : r.bytes.len - at;
            found = snapshot_stream_feed(&s, bytes_of(r.bytes.data + at, n), &used, &body);
            assert_true(found == STREAM_WHOLE || used == n);
            at += used;
            bodies += body;
        }
        assert_int_equal(found, STREAM_WHOLE);
        assert_int_equal(at, r.len);
        assert_int_equal(bodies, r.len - 14);
        assert_int_equal(s.body_bytes, bodies);
    }
    strbuf_fini(&r.bytes);
}

static void a_part_of_it_is_never_whole(void **state)
{
    struct recording r;
    size_t used, body;

    (void)state;
    recorded(&r);
    for (size_t len = 0; len < r.len; len++) {
        struct snapshot_stream s;

        snapshot_stream_init(&s, 0, 0);
        assert_int_equal(snapshot_stream_feed(&s, bytes_of(r.bytes.data, len), &used, &body),
                         STREAM_SHORT);
        assert_int_equal(used, len);
    }
    strbuf_fini(&r.bytes);
}

/* ---- nonsense ---- */

struct nonsense {
    const char *bytes;
    size_t len;
    const char *reason;
};

#define BYTES(text) text, sizeof(text) - 1

static const struct nonsense nonsense[] = {
    {BYTES("\xff\xff\xff\xff"), "sessions"},
    {BYTES("\x80\0\0\0"), "sessions"},
    {BYTES("\0\0\0\0\xff\xff\xff\xff"), "number of ACLs"},
    {BYTES("\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\xff\xff\xff\xfe"), "an ACL"},
    {BYTES("\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\1\x7f\xff\xff\xff"), "an ACL"},
    {BYTES("\0\0\0\0\0\0\0\0\x7f\xff\xff\xff"), "a path"},
    {BYTES("\0\0\0\0\0\0\0\0\xff\xff\xff\xff"), "a path"},
    {BYTES("\0\0\0\0\0\0\0\0\0\0\0\1a"), "start with"},
    {BYTES("\0\0\0\0\0\0\0\0\0\0\0\2/a\xff\xff\xff\xfe"), "data"},
    {BYTES("\0\0\0\0\0\0\0\0\0\0\0\2/a\x40\0\0\0"), "data"},
    {BYTES("\0\0\0\0\0\0\0\0\0\0\0\1/\0\0\0\x0a"
           "BenWasGone"),
     "signature"},
    {BYTES("\0\0\0\0\0\0\0\0\0\0\0\1/\0\0\0\x0b"
           "BenWasHere"),
     "signature"},
};

static void nonsense_is_refused_with_a_reason(void **state)
{
    size_t used, body;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(nonsense); i++) {
        struct snapshot_stream s;

        snapshot_stream_init(&s, 0, 0);
        assert_int_equal(
            snapshot_stream_feed(&s, bytes_of(nonsense[i].bytes, nonsense[i].len), &used, &body),
            STREAM_BAD);
        assert_non_null(strstr(s.reason, nonsense[i].reason));
        assert_int_equal(snapshot_stream_feed(&s, bytes_str("more"), &used, &body), STREAM_BAD);
        assert_int_equal(used, 0);
    }
}

/* A list of short entries without end. */
static void an_endless_acl_is_refused(void **state)
{
    struct snapshot_stream s;
    struct strbuf b;
    size_t used, body;

    (void)state;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_append(&b, "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\x7f\xff\xff\xff", 20);
    snapshot_stream_init(&s, 1000, 0);
    for (int i = 0; i < 1000; i++) {
        strbuf_append(&b, "\0\0\0\1\0\0\0\1w\0\0\0\1a", 14);
    }
    assert_int_equal(snapshot_stream_feed(&s, strbuf_bytes(&b), &used, &body), STREAM_BAD);
    assert_true(used < 5000);
    strbuf_fini(&b);
}

static void a_stream_without_end_is_refused_at_its_limit(void **state)
{
    uint8_t node[4 + 2 + 4 + 68] = "\0\0\0\2/a";
    struct snapshot_stream s;
    size_t used, body;
    int n = 0;

    (void)state;
    snapshot_stream_init(&s, 0, 100000);
    assert_int_equal(snapshot_stream_feed(&s, bytes_of("\0\0\0\0\0\0\0\0", 8), &used, &body),
                     STREAM_SHORT);
    while (snapshot_stream_feed(&s, bytes_of(node, sizeof(node)), &used, &body) == STREAM_SHORT) {
        n++;
    }
    assert_in_range(n, 1200, 1300);
    assert_non_null(strstr(s.reason, "longer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_of_zookeepers_ends_where_it_ends),
        cmocka_unit_test(it_may_come_in_pieces_of_any_size),
        cmocka_unit_test(a_part_of_it_is_never_whole),
        cmocka_unit_test(nonsense_is_refused_with_a_reason),
        cmocka_unit_test(an_endless_acl_is_refused),
        cmocka_unit_test(a_stream_without_end_is_refused_at_its_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
