/* SPDX-License-Identifier: Apache-2.0 */
/* The election port: the hello, then a stream of notifications. */
#include "fuzz.h"
#include "wire/vote.h"

static bool recode_hello(struct bytes input, struct strbuf *out)
{
    struct hello_address address;
    struct bytes rest;
    struct hello h = {0};
    size_t used = 0;

    if (hello_read(input, &h, &used) != STREAM_WHOLE) {
        return false;
    }
    MUST(used >= 8 && used <= input.len);
    rest = h.addresses;
    while (hello_next_address(&rest, &address)) {
        MUST(address.host.len > 0);
    }
    hello_write(out, &h);
    return true;
}

static bool recode_notifications(struct bytes input, struct strbuf *out)
{
    struct notification n;
    struct bytes payload;
    size_t used = 0;

    while (notification_frame(input, &payload, &used) == STREAM_WHOLE) {
        MUST(used > 4 && used <= input.len);
        if (notification_read(payload, &n)) {
            notification_write(out, &n);
        }
        input = bytes_of(input.data + used, input.len - used);
    }
    return true;
}

static bool recode(struct bytes input, int notifications, struct strbuf *out)
{
    return notifications ? recode_notifications(input, out) : recode_hello(input, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int notifications = take_choice(&data, &size, 2);

    must_be_stable(recode, bytes_of(data, size), notifications);
    return 0;
}
