/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out: at the first allocation, at the second, and so on until it does not matter. The
 * core gives an error or drops its link, never more; every call ends exactly once. */
#include <stdlib.h>

#include "client/engine.h"
#include "client/gzip.h"
#include "client/plan.h"
#include "client/reply.h"
#include "lib/failing_memory.h"
#include "lib/test.h"

static void nobody(const struct pawl_event *event, void *arg)
{
    (void)event;
    (void)arg;
}

static int n_made, n_ended;
static enum pawl_state last_state;

static void receive(struct core *c, int64_t now, struct strbuf *b)
{
    size_t done = 0;

    while (done < b->len && c->link >= LINK_HELLO) {
        uint8_t *at;
        size_t n = core_room(c, &at);

        if (n == 0) {
            core_link_down(c, now);
            break;
        }
        n = n < b->len - done ? n : b->len - done;
        memcpy(at, b->data + done, n);
        core_received(c, now, n);
        done += n;
    }
    strbuf_clear(b);
}

static void take_items(struct core *c)
{
    struct item *item;

    while ((item = core_next_item(c)) != NULL) {
        if (item->kind == ITEM_CALL) {
            n_ended++;
            pawl_reply_free(reply_of((struct call *)item, true));
            call_free((struct call *)item);
        } else {
            if (item->kind == ITEM_STATE) {
                last_state = ((struct state_item *)item)->state;
            }
            free(item);
        }
    }
}

static void submit(struct core *c, int32_t op, bool watch, int64_t deadline)
{
    struct request q = {.path = bytes_str("/a"), .watch = watch};
    struct call *call = call_new(op);

    if (call == NULL) {
        return;
    }
    call->deadline_ms = deadline;
    if (watch) {
        call->path = malloc(3);
        if (call->path == NULL) {
            free(call);
            return;
        }
        strcpy(call->path, "/a");
        call->target.fn = nobody;
        call->watch_table = WATCHER_CHILD;
    }
    if (requests_submit(c, call, &q) != 0) {
        call_free(call);
    } else {
        n_made++;
    }
}

static void write_all(struct core *c, int64_t now)
{
    while (requests_output(c).len > 0) {
        requests_wrote(c, now, requests_output(c).len);
    }
}

static void reach_session(struct core *c, int64_t now, struct strbuf *b)
{
    struct connect_response hello = {.timeout_ms = 1000, .session_id = 1, .has_read_only = true};

    core_tick(c, now);
    if (c->want_link) {
        c->want_link = false;
        core_link_up(c, now);
    }
    write_all(c, now);
    connect_response_write(b, &hello);
    receive(c, now, b);
    c->want_drop = false;
}

static void answer_children(struct core *c, int32_t xid, struct strbuf *b)
{
    size_t start = reply_begin(b, xid, 5, 0);

    jute_write_int(b, 2);
    jute_write_str(b, "x");
    jute_write_str(b, "y");
    stat_write(b, &(struct stat_record){0});
    reply_end(b, start);
    receive(c, 20, b);
}

/* A session, calls with watches, an answer, an event, a lost link, another, an expired call. */
static void scenario(struct core *c, struct strbuf *b)
{
    requests_add_auth(c, bytes_str("digest"), bytes_str("a:b"));
    submit(c, OP_GET_CHILDREN2, true, 0);
    reach_session(c, 10, b);
    write_all(c, 10);
    answer_children(c, c->next_xid - 1, b);
    take_items(c);
    event_write(b, PAWL_EVENT_CHILDREN_CHANGED, bytes_str("/a"), 6);
    receive(c, 30, b);
    submit(c, OP_SYNC, false, 100);
    write_all(c, 30);
    submit(c, OP_SYNC, false, 0);
    core_link_down(c, 40);
    c->want_drop = false;
    submit(c, OP_GET_CHILDREN2, true, 90);
    core_tick(c, 95);
    c->want_link = false;
    core_link_down(c, 95);
    reach_session(c, 200, b);
    write_all(c, 200);
    take_items(c);
    core_tick(c, 900);
    core_tick(c, 5000);
    take_items(c);
}

/* True when no allocation failed any more. */
static bool run(long n)
{
    struct core_options o = {.session_timeout_ms = 1000,
                             .lost_percent = 100,
                             .max_request_bytes = 1 << 20,
                             .max_reply_bytes = 1 << 16,
                             .seed = 1};
    struct strbuf b;
    struct core *c;
    bool spared;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_reserve(&b, 4096); /* the world's, not the client's */
    n_made = n_ended = 0;
    failing_memory_arm(n, 1);
    if (core_new(&o, "a,b/c", 0, &c) == 0) {
        scenario(c, &b);
        core_shut(c, PAWL_ERR_CLOSING);
        take_items(c);
        assert_int_equal(n_made, n_ended);
        assert_int_equal(last_state, PAWL_STATE_CLOSED); /* or who waits would wait for ever */
        core_free(c);
    }
    spared = !failing_memory_disarm();
    strbuf_fini(&b);
    return spared;
}

static void each_allocation_may_fail(void **state)
{
    long n = 0;

    (void)state;
    while (!run(n)) {
        n++;
        assert_true(n < 10000);
    }
    assert_true(n > 20); /* or the scenario is none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
