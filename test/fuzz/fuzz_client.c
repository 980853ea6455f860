/* SPDX-License-Identifier: Apache-2.0 */
/* What a server may send to a client: an answer to any operation (the first byte chooses which),
 * then whatever follows, as a stream. */
#include "client/engine.h"
#include "client/handle.h"
#include "client/plan.h"
#include "client/reply.h"
#include "fuzz.h"

static void nobody(const struct pawl_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

static void receive(struct core *c, const uint8_t *data, size_t size)
{
    while (size > 0 && c->link >= LINK_HELLO) {
        uint8_t *at;
        size_t n = core_room(c, &at);

        n = n < size ? n : size;
        memcpy(at, data, n);
        core_received(c, 2, n);
        data += n;
        size -= n;
    }
}

static void take_items(struct core *c)
{
    struct item *item;

    while ((item = core_next_item(c)) != NULL) {
        if (item->kind == ITEM_CALL) {
            pawl_reply_free(reply_of((struct call *)item, item->link.next == NULL));
            call_free((struct call *)item);
        } else {
            free(item);
        }
    }
}

/* A session with a watch, and one call sent. */
static struct core *connected(int32_t op)
{
    static const struct connect_response hello = {
        .timeout_ms = 1000, .session_id = 1, .has_read_only = true};
    struct core_options o = {.session_timeout_ms = 1000,
                             .lost_percent = 100,
                             .max_request_bytes = 1 << 20,
                             .max_reply_bytes = 1 << 16,
                             .seed = 1};
    struct event_target target = {.fn = nobody};
    struct request q = {.path = bytes_str("/a"), .data = bytes_str("d")};
    struct call *call = call_new(op);
    struct strbuf b;
    struct core *c;

    MUST(call != NULL && core_new(&o, "a", 0, &c) == 0);
    MUST(watches_add(&c->watches, WATCHER_RECURSIVE, bytes_str("/"), &target) == 0);
    core_tick(c, 0);
    core_link_up(c, 0);
    requests_wrote(c, 0, requests_output(c).len);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    connect_response_write(&b, &hello);
    receive(c, b.data, b.len);
    strbuf_fini(&b);
    MUST(requests_submit(c, call, &q) == 0);
    while (requests_output(c).len > 0) {
        requests_wrote(c, 1, requests_output(c).len);
    }
    return c;
}

/* One that waits for the server's token: whatever that says, no session comes of it. */
static void authenticate(const uint8_t *data, size_t size)
{
    static const struct connect_response hello = {
        .timeout_ms = 1000, .session_id = 1, .has_read_only = true};
    struct core_options o = {.session_timeout_ms = 1000,
                             .lost_percent = 100,
                             .max_request_bytes = 1 << 20,
                             .max_reply_bytes = 1 << 16,
                             .sasl = true,
                             .seed = 1};
    struct strbuf b;
    struct core *c;
    size_t start;

    MUST(core_new(&o, "a", 0, &c) == 0);
    core_tick(c, 0);
    core_link_up(c, 0);
    strbuf_init(&b, STRBUF_NO_LIMIT);
    connect_response_write(&b, &hello);
    receive(c, b.data, b.len);
    c->want_sasl = false;
    core_sasl(c, 1, 0, bytes_str(""), "");
    strbuf_clear(&b);
    start = reply_begin(&b, c->sasl_xid, 0, 0);
    strbuf_append(&b, data, size < 1000 ? size : 1000);
    reply_end(&b, start);
    receive(c, b.data, b.len);
    receive(c, data, size);
    MUST(!core_is_connected(c));
    core_shut(c, PAWL_ERR_CLOSING);
    take_items(c);
    strbuf_fini(&b);
    core_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int32_t op = op_at(take_choice(&data, &size, N_OPS))->code;
    struct core *c = connected(op);
    struct strbuf b;
    size_t start;

    if (op == OP_SASL) {
        authenticate(data, size);
    }
    strbuf_init(&b, STRBUF_NO_LIMIT);
    start = reply_begin(&b, op == OP_AUTH ? XID_AUTH : 1, 1, 0);
    strbuf_append(&b, data, size < 1000 ? size : 1000);
    reply_end(&b, start);
    receive(c, b.data, b.len);
    take_items(c);
    receive(c, data, size);
    take_items(c);
    core_tick(c, 5000);
    core_shut(c, PAWL_ERR_CLOSING);
    take_items(c);
    strbuf_fini(&b);
    core_free(c);
    return 0;
}
