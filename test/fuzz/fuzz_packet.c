/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of quorum packets, with the data of each by its type; or the SASL packets before it. */
#include "fuzz.h"
#include "wire/packet.h"
#include "wire/txn.h"

enum { LIMIT_BYTES = 1 << 16 };

static void walk_auth(const struct id_list *auth)
{
    struct jute_reader r = jute_reader_of(auth->elements);

    for (int32_t i = 0; i < auth->count; i++) {
        id_entry_read(&r);
    }
    MUST(!r.failed && jute_left(&r) == 0);
}

/* Every reader of data gets every packet: a peer may send anything under any type. */
static void read_data(struct bytes data)
{
    struct jute_reader r = jute_reader_of(data);
    struct learner_info info;
    struct forwarded_request q;
    struct activation a;
    struct revalidation v;
    struct txn t;
    int32_t number;

    learner_info_read(data, &info);
    packet_int_read(data, &number);
    revalidation_read(data, &v);
    txn_read(data, &t);
    if (forwarded_request_read(data, &q)) {
        MUST(q.body.len == data.len - 16);
    }
    if (activation_read(data, &a)) {
        txn_read(a.txn, &t);
    }
    while (jute_left(&r) > 0 && !r.failed) {
        session_touch_read(&r);
    }
}

static bool recode_packets(struct bytes input, struct strbuf *out)
{
    enum stream_read step;
    struct packet p;
    size_t used = 0;

    while ((step = packet_read(input, LIMIT_BYTES, &p, &used)) == STREAM_WHOLE) {
        MUST(used > 0 && used <= input.len);
        walk_auth(&p.auth);
        read_data(p.data);
        packet_write(out, &p);
        input = bytes_of(input.data + used, input.len - used);
    }
    return step == STREAM_SHORT;
}

static bool recode(struct bytes input, int sasl, struct strbuf *out)
{
    struct quorum_auth a;
    size_t used;

    if (!sasl) {
        return recode_packets(input, out);
    }
    if (quorum_auth_read(input, LIMIT_BYTES, &a, &used) != STREAM_WHOLE) {
        return false;
    }
    quorum_auth_write(out, &a);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int sasl = take_choice(&data, &size, 2);

    must_be_stable(recode, bytes_of(data, size), sasl);
    return 0;
}
