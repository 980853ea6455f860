/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/vote.h"

enum {
    /* Notifications are told apart by their length as well as by their version. */
    WITHOUT_PEER_EPOCH_BYTES = 28, /* before 3.4 */
    WITHOUT_CONFIG_BYTES = 40,     /* 3.4.6; its version, 1, is not looked at */
};

enum stream_read hello_read(struct bytes input, struct hello *out, size_t *used)
{
    struct jute_reader r = jute_reader_of(input);
    int64_t first;
    int32_t len;

    if (jute_left(&r) < 8) {
        return STREAM_SHORT;
    }
    first = jute_read_long(&r);
    if (first >= 0) {
        *out = (struct hello){.version = HELLO_3_4, .server_id = first};
        *used = 8;
        return STREAM_WHOLE;
    }
    if (first != HELLO_ONE_ADDRESS && first != HELLO_MANY_ADDRESSES) {
        return STREAM_BAD;
    }
    if (jute_left(&r) < 12) {
        return STREAM_SHORT;
    }
    len = (int32_t)load_u32(r.at + 8);
    if (len <= 0 || len > HELLO_ADDRESS_BYTES) {
        return STREAM_BAD;
    }
    if (jute_left(&r) - 12 < (size_t)len) {
        return STREAM_SHORT;
    }
    out->version = (enum hello_version)first;
    out->server_id = jute_read_long(&r);
    out->addresses = jute_read_buffer(&r);
    *used = input.len - jute_left(&r);
    return STREAM_WHOLE;
}

void hello_write(struct strbuf *b, const struct hello *h)
{
    if (h->version == HELLO_3_4) {
        jute_write_long(b, h->server_id);
        return;
    }
    jute_write_long(b, h->version);
    jute_write_long(b, h->server_id);
    jute_write_buffer(b, h->addresses);
}

static bool read_port(struct bytes text, uint16_t *out)
{
    uint32_t port = 0;

    if (text.len == 0) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        port = port * 10 + (uint32_t)(text.data[i] - '0');
        if (port > UINT16_MAX) {
            return false;
        }
    }
    *out = (uint16_t)port;
    return true;
}

/* "host:port" or "[host]:port". */
static bool split_address(struct bytes text, struct hello_address *out)
{
    bool bracketed = bytes_starts_with(text, "[");
    const uint8_t *end = memchr(text.data, bracketed ? ']' : ':', text.len);
    size_t before;

    if (end == NULL) {
        return false;
    }
    out->host = bytes_of(text.data, (size_t)(end - text.data));
    if (bracketed) {
        out->host.data++;
        out->host.len--;
        end++;
    }
    before = (size_t)(end - text.data);
    if (out->host.len == 0 || before == text.len || *end != ':') {
        return false;
    }
    return read_port(bytes_of(end + 1, text.len - before - 1), &out->port);
}

bool hello_next_address(struct bytes *rest, struct hello_address *out)
{
    const uint8_t *bar;
    struct bytes text = *rest;
    size_t taken = rest->len;

    if (rest->len == 0) {
        return false;
    }
    bar = memchr(rest->data, '|', rest->len);
    if (bar != NULL) {
        text.len = (size_t)(bar - rest->data);
        taken = text.len + 1;
    }
    if (text.len == 0 || !split_address(text, out)) {
        return false;
    }
    *rest = bytes_of(rest->data + taken, rest->len - taken);
    return true;
}

enum stream_read notification_frame(struct bytes input, struct bytes *payload, size_t *used)
{
    int32_t len;

    if (input.len < 4) {
        return STREAM_SHORT;
    }
    len = (int32_t)load_u32(input.data);
    if (len <= 0 || len > NOTIFICATION_BYTES_MAX) {
        return STREAM_BAD;
    }
    if (input.len - 4 < (size_t)len) {
        return STREAM_SHORT;
    }
    *payload = bytes_of(input.data + 4, (size_t)len);
    *used = 4 + (size_t)len;
    return STREAM_WHOLE;
}

bool notification_read(struct bytes payload, struct notification *out)
{
    struct jute_reader r = jute_reader_of(payload);
    int32_t state = jute_read_int(&r);

    *out = (struct notification){.state = (enum member_state)state};
    out->leader = jute_read_long(&r);
    out->zxid = jute_read_long(&r);
    out->election_epoch = jute_read_long(&r);
    if (r.failed || state < MEMBER_LOOKING || state > MEMBER_OBSERVING) {
        return false;
    }
    if (payload.len == WITHOUT_PEER_EPOCH_BYTES) {
        out->peer_epoch = out->zxid >> 32;
        return true;
    }
    out->peer_epoch = jute_read_long(&r);
    out->version = jute_read_int(&r);
    if (payload.len == WITHOUT_CONFIG_BYTES || out->version < NOTIFICATION_VERSION) {
        out->version = 0;
        return !r.failed;
    }
    out->config = jute_read_buffer(&r);
    return !r.failed && !bytes_is_null(out->config);
}

void notification_write(struct strbuf *b, const struct notification *n)
{
    size_t start = b->len;

    jute_write_int(b, 0);
    jute_write_int(b, (int32_t)n->state);
    jute_write_long(b, n->leader);
    jute_write_long(b, n->zxid);
    jute_write_long(b, n->election_epoch);
    jute_write_long(b, n->peer_epoch);
    jute_write_int(b, n->version < NOTIFICATION_VERSION ? 1 : n->version);
    if (n->version >= NOTIFICATION_VERSION) {
        jute_write_buffer(b, n->config);
    }
    jute_patch_int(b, start, (int32_t)(b->len - start - 4));
}
