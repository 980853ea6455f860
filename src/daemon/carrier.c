/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/carrier.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/carrier_internal.h"
#include "daemon/quorum_port.h"
#include "pawl/error.h"
#include "quorum/trace.h"
#include "wire/txn.h"

enum { KEPT_BYTES = 1 << 20 };

/* ---- the host ---- */

void carrier_step_member(struct carrier *c, const struct member_input *in)
{
    c->options.host.step(c->options.host.arg, in);
}

void carrier_hand_over(struct carrier *c)
{
    c->options.host.hand_over(c->options.host.arg);
}

void carrier_fail(struct carrier *c, int code, const char *what, const char *why)
{
    char text[LOG_ERROR_BYTES + 128];

    snprintf(text, sizeof(text), "%s: %s", what, why);
    c->options.host.fail(c->options.host.arg, code, text);
}

/* ---- time ---- */

static void on_carrier_timer(uv_timer_t *timer)
{
    carrier_do(timer->data, &(struct quorum_input){.kind = QUORUM_IN_TICK});
}

/* The loop's time, of when it last looked at the sockets: packets that came together came at the
 * same time, and the quorum counts in ticks. */
static int64_t carrier_now_us(const struct carrier *c)
{
    return (int64_t)uv_now(c->options.loop) * 1000;
}

/* At the end of a turn, for all its steps. */
static void carrier_plan(struct carrier *c)
{
    int64_t next_us = quorum_next_us(c->quorum);
    int64_t most_ms = c->options.quorum.tick_ms / 2, left_ms;

    c->is_unplanned = false;
    left_ms = next_us == INT64_MAX ? most_ms : (next_us - carrier_now_us(c) + 999) / 1000;
    left_ms = left_ms < 0 ? 0 : left_ms > most_ms ? most_ms : left_ms;
    uv_timer_start(&c->timer, on_carrier_timer, (uint64_t)left_ms, 0);
}

/* ---- links ---- */

static void on_carrier_up(void *arg, link_id link, int64_t sid)
{
    struct carrier *c = arg;

    if (sid != SID_NOBODY) {
        c->leader = link;
    }
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_LINK_UP, .link = link, .sid = sid});
}

static void on_carrier_down(void *arg, link_id link)
{
    struct carrier *c = arg;

    carrier_drop_sendings(c, link);
    if (c->loading.link == link) {
        carrier_drop_loading(c);
    }
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_LINK_DOWN, .link = link});
}

static void on_carrier_dial_failed(void *arg, int64_t sid)
{
    carrier_do(arg, &(struct quorum_input){.kind = QUORUM_IN_DIAL_FAILED, .sid = sid});
}

/* The quorum logs what a leader proposes without looking into it; nothing is logged that could not
 * be applied. */
static bool carries_no_txn(const struct packet *packet)
{
    struct activation a = {.txn = packet->data};
    struct txn txn;

    if (packet->type == PACKET_INFORM_AND_ACTIVATE) {
        if (!activation_read(packet->data, &a)) {
            return true;
        }
    } else if (packet->type != PACKET_PROPOSAL && packet->type != PACKET_INFORM) {
        return false;
    }
    return txn_read(a.txn, &txn) != TXN_OK || txn.header.zxid != packet->zxid;
}

static void on_carrier_packet(void *arg, link_id link, const struct packet *packet)
{
    struct carrier *c = arg;

    if (carries_no_txn(packet)) {
        quorum_net_drop(c->net, link, "it proposed what is no transaction of that zxid");
        return;
    }
    c->packet_link = link;
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_PACKET, .link = link, .packet = packet});
    c->packet_link = 0;
}

enum { ADDRESSES_MAX = QUORUM_PORT_ADDRESSES };

static size_t addresses_of(const struct quorum_member *m, struct net_address *out)
{
    size_t n = 0;

    for (; n < ADDRESSES_MAX && n < m->n_addresses; n++) {
        out[n] =
            (struct net_address){.host = m->address[n].host, .port = m->address[n].quorum_port};
    }
    return n;
}

/* NULL: it is in neither list. */
static const struct quorum_member *member_of_lists(const struct carrier *c, int64_t sid)
{
    const struct quorum_config *active = quorum_active_config(c->quorum);
    const struct quorum_config *next = quorum_next_config(c->quorum);

    if (quorum_config_find(active, sid) >= 0) {
        return &active->member[quorum_config_find(active, sid)];
    }
    return next != NULL && quorum_config_find(next, sid) >= 0
               ? &next->member[quorum_config_find(next, sid)]
               : NULL;
}

/* Each port once, whatever addresses it was named with. */
static size_t on_all_addresses(struct net_address *own, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || own[kept - 1].port != own[i].port) {
            own[kept++] = (struct net_address){.port = own[i].port};
        }
    }
    return kept;
}

static void on_port_held(void *arg)
{
    carrier_do(arg, &(struct quorum_input){.kind = QUORUM_IN_HEARS});
}

static struct quorum_port *carrier_take_port(struct carrier *c)
{
    struct net_address own[ADDRESSES_MAX];
    size_t n = addresses_of(&c->own, own);

    if (c->own.n_addresses == 0 || c->own.observer) {
        return NULL;
    }
    if (c->options.listen_on_all) {
        n = on_all_addresses(own, n);
    }
    return quorum_port_new(c->options.loop, own, n, on_port_held, c);
}

/* Who is in no list is where it was. While nobody follows us the port can be another one: a leader
 * whose place changes has left its role before. */
bool carrier_follow_port(struct carrier *c)
{
    const struct quorum_config *active = quorum_active_config(c->quorum);
    int index = quorum_config_find(active, c->options.quorum.sid);
    const struct quorum_member *me = index < 0 ? NULL : &active->member[index];
    bool is_same = me == NULL || (c->own.n_addresses > 0 && c->own.observer == me->observer &&
                                  quorum_member_same_addresses(&c->own, me));

    if (!is_same) {
        quorum_port_free(c->port);
        quorum_member_fini(&c->own);
        quorum_member_copy(&c->own, me);
        c->port = carrier_take_port(c);
    }
    return !is_same && c->port != NULL && quorum_port_is_held(c->port);
}

static void carrier_listen(struct carrier *c)
{
    int fds[QUORUM_PORT_ADDRESSES];
    size_t n = c->port == NULL ? 0 : quorum_port_listen(c->port, fds);

    quorum_net_listen(c->net, fds, n);
    if (n == 0) {
        log_error("as leader this server has to listen on its quorum port, and cannot: another "
                  "server has to lead");
        carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_LISTEN_FAILED});
    }
}

static void carrier_unlisten(struct carrier *c)
{
    quorum_net_unlisten(c->net);
    if (c->port != NULL) {
        quorum_port_unlisten(c->port);
    }
}

static void carrier_dial(struct carrier *c, int64_t sid)
{
    const struct quorum_member *m = member_of_lists(c, sid);
    struct net_address to[ADDRESSES_MAX];

    quorum_net_dial(c->net, sid, to, m == NULL ? 0 : addresses_of(m, to));
}

/* ---- effects ---- */

static void carry_out_link(struct carrier *c, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_LISTEN:
        carrier_listen(c);
        break;
    case QUORUM_DO_UNLISTEN:
        carrier_unlisten(c);
        break;
    case QUORUM_DO_DIAL:
        carrier_dial(c, e->sid);
        break;
    case QUORUM_DO_CLOSE:
        log_debug("the quorum link %" PRIu64 " is closed: %s", e->link, e->reason);
        carrier_drop_sendings(c, e->link);
        quorum_net_close(c->net, e->link);
        break;
    case QUORUM_DO_SEND:
        if (e->packet.type != PACKET_SNAP) { /* that one leaves with its stream */
            quorum_net_send(c->net, e->link, &e->packet);
        }
        break;
    case QUORUM_DO_SEND_LOG:
        carrier_send_log(c, e);
        break;
    case QUORUM_DO_SEND_SNAPSHOT:
        carrier_send_snapshot(c, e);
        break;
    default:
        ASSERT(false);
    }
}

static void carry_out(struct carrier *c, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_NOTIFY:
        c->options.notify(c->options.notify_arg, e->sid, e->bytes);
        break;
    case QUORUM_DO_LISTEN:
    case QUORUM_DO_UNLISTEN:
    case QUORUM_DO_DIAL:
    case QUORUM_DO_CLOSE:
    case QUORUM_DO_SEND:
    case QUORUM_DO_SEND_LOG:
    case QUORUM_DO_SEND_SNAPSHOT:
        carry_out_link(c, e);
        break;
    case QUORUM_DO_LOAD_SNAPSHOT:
        carrier_load(c, e);
        break;
    case QUORUM_DO_TRUNCATE:
        carrier_truncate(c, e->zxid);
        break;
    case QUORUM_DO_SAVE_EPOCH:
        carrier_save_epoch(c, e);
        break;
    case QUORUM_DO_SAVE_CONFIG:
        carrier_save_list(c, e->config);
        break;
    case QUORUM_DO_ACTIVATE:
        carrier_activate_list(c, e->config);
        break;
    case QUORUM_DO_STOP:
        carrier_stop_role(c, e);
        break;
    case QUORUM_DO_APPEND:
    case QUORUM_DO_COMMIT:
    case QUORUM_DO_LEAD:
    case QUORUM_DO_SERVE:
    case QUORUM_DO_TURN:
    case QUORUM_DO_RECEIVED:
    case QUORUM_DO_SYNCED:
    case QUORUM_DO_LINK_GONE:
        carrier_step_member(c, &(struct member_input){.kind = MEMBER_EFFECT, .effect = e});
        break;
    }
}

/* ---- steps ---- */

/* An input that came while effects were carried out; `bytes` are those of its packet or its own. */
struct kept_input {
    struct quorum_input in;
    size_t bytes_at, bytes_len;
};

static void trace_if_wanted(struct carrier *c, const struct quorum_input *in)
{
    if (logging_level() >= LOG_DEBUG) {
        strbuf_clear(&c->scratch);
        trace_step(&c->scratch, carrier_now_us(c), c->options.quorum.sid, in, &c->effects);
        log_line(LOG_DEBUG, "%.*s", (int)c->scratch.len - 1, strbuf_cstr(&c->scratch));
    }
}

static void carrier_step(struct carrier *c, const struct quorum_input *in)
{
    ASSERT(!c->is_stepping);
    c->is_stepping = true;
    quorum_step(c->quorum, carrier_now_us(c), in, &c->effects);
    trace_if_wanted(c, in);
    for (size_t i = 0; i < c->effects.count; i++) {
        carry_out(c, &c->effects.items[i]);
    }
    c->is_stepping = false;
}

static struct kept_input *kept_new(struct kept_inputs *kept)
{
    if (kept->count == kept->capacity) {
        kept->capacity = kept->capacity == 0 ? 16 : 2 * kept->capacity;
        kept->items = must_realloc(kept->items, kept->capacity * sizeof(*kept->items));
    }
    return &kept->items[kept->count++];
}

static void carrier_keep(struct carrier *c, const struct quorum_input *in)
{
    struct kept_inputs *kept = &c->kept;
    struct kept_input *k = kept_new(kept);

    k->in = *in;
    k->bytes_at = kept->bytes.len;
    if (in->packet != NULL) {
        packet_write(&kept->bytes, in->packet);
    } else if (!bytes_is_null(in->bytes)) {
        strbuf_append_bytes(&kept->bytes, in->bytes);
    }
    ASSERT(!kept->bytes.failed); /* out of memory */
    k->bytes_len = kept->bytes.len - k->bytes_at;
}

static void carrier_do_kept_one(struct carrier *c, struct kept_inputs *now, struct kept_input *k)
{
    struct bytes bytes = bytes_of(now->bytes.data + k->bytes_at, k->bytes_len);
    struct packet packet;
    enum stream_read rc;
    size_t used = 0;

    if (k->in.packet != NULL) {
        rc = packet_read(bytes, bytes.len, &packet, &used);
        ASSERT(rc == STREAM_WHOLE);
        k->in.packet = &packet;
    } else if (!bytes_is_null(k->in.bytes)) {
        k->in.bytes = bytes;
    }
    carrier_step(c, &k->in);
}

/* What is kept meanwhile gathers apart: a step's effects point into its input. */
static void carrier_do_kept(struct carrier *c)
{
    while (c->kept.count > 0) {
        struct kept_inputs now = c->kept;

        c->kept = c->kept_before;
        for (size_t i = 0; i < now.count; i++) {
            carrier_do_kept_one(c, &now, &now.items[i]);
        }
        now.count = 0;
        strbuf_clear(&now.bytes);
        strbuf_trim(&now.bytes, KEPT_BYTES);
        c->kept_before = now;
    }
}

void carrier_do(struct carrier *c, const struct quorum_input *in)
{
    if (c->is_closing) {
        return;
    }
    if (c->is_stepping) {
        carrier_keep(c, in);
        return;
    }
    carrier_step(c, in);
    carrier_do_kept(c);
    c->is_unplanned = true;
}

void carrier_durable(struct carrier *c, int64_t zxid)
{
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_LOG_DURABLE, .zxid = zxid});
}

void carrier_start(struct carrier *c, const struct carrier_recovered *r)
{
    uv_update_time(c->options.loop); /* what was recovered may have taken long */
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_START,
                                         .zxid = r->last_zxid,
                                         .accepted_epoch = r->accepted_epoch,
                                         .current_epoch = r->current_epoch,
                                         .history = r->history,
                                         .next = r->next,
                                         .next_is_saved = true,
                                         .diverged = r->diverged,
                                         .damaged = r->damaged,
                                         .deaf = c->port != NULL && !quorum_port_is_held(c->port)});
}

void carrier_flush(struct carrier *c)
{
    carrier_heed_log(c);
    carrier_go_on_loading(c);
    carrier_go_on_sending(c);
    quorum_net_flush(c->net);
    if (c->is_unplanned) {
        carrier_plan(c);
    }
}

/* ---- life ---- */

struct carrier *carrier_new(const struct carrier_options *options)
{
    struct carrier *c = must_zalloc(sizeof(*c));
    int64_t init_ms = options->quorum.init_limit * options->quorum.tick_ms;
    struct quorum_net_options net = {.loop = options->loop,
                                     .packet_bytes = options->packet_bytes,
                                     .output_bytes = options->output_bytes,
                                     .greeting_ms = init_ms,
                                     .dial_ms = init_ms,
                                     .stall_ms = init_ms,
                                     .keepalive = options->keepalive,
                                     .tls = options->tls,
                                     .sasl = options->sasl,
                                     .events = {.arg = c,
                                                .up = on_carrier_up,
                                                .down = on_carrier_down,
                                                .dial_failed = on_carrier_dial_failed,
                                                .packet = on_carrier_packet,
                                                .diverted = carrier_diverted,
                                                .room = carrier_room,
                                                .sent = carrier_sent}};

    c->options = *options;
    quorum_effects_init(&c->effects);
    strbuf_init(&c->kept.bytes, STRBUF_NO_LIMIT);
    strbuf_init(&c->kept_before.bytes, STRBUF_NO_LIMIT);
    list_init(&c->sendings);
    strbuf_init(&c->scratch, STRBUF_NO_LIMIT);
    c->quorum = quorum_new(&options->quorum);
    c->net = quorum_net_new(&net);
    carrier_follow_port(c);
    uv_timer_init(options->loop, &c->timer);
    c->timer.data = c;
    return c;
}

void carrier_close(struct carrier *c)
{
    ASSERT(!c->is_closing && !c->is_stepping);
    c->is_closing = true;
    carrier_drop_loading(c);
    carrier_drop_all_sendings(c);
    quorum_net_free(c->net);
    c->net = NULL;
    quorum_port_free(c->port);
    c->port = NULL;
    uv_timer_stop(&c->timer);
}

static void on_carrier_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void kept_fini(struct kept_inputs *kept)
{
    free(kept->items);
    strbuf_fini(&kept->bytes);
}

void carrier_free(struct carrier *c)
{
    if (c == NULL) {
        return;
    }
    ASSERT(c->is_closing);
    kept_fini(&c->kept);
    kept_fini(&c->kept_before);
    quorum_free(c->quorum);
    quorum_effects_fini(&c->effects);
    strbuf_fini(&c->scratch);
    quorum_member_fini(&c->own);
    uv_close((uv_handle_t *)&c->timer, on_carrier_closed);
}

const struct quorum *carrier_quorum(const struct carrier *c)
{
    return c->quorum;
}

int carrier_port(const struct carrier *c)
{
    return c->port == NULL ? -1 : quorum_port_number(c->port);
}
