/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/trace.h"

#include <inttypes.h>

#include "base/assert.h"
#include "quorum/config.h"

static void put_zxid(struct strbuf *out, int64_t zxid)
{
    if (zxid < 0) {
        strbuf_printf(out, " %" PRId64, zxid);
    } else {
        strbuf_printf(out, " 0x%" PRIx64, zxid);
    }
}

static void put_sid(struct strbuf *out, int64_t sid)
{
    if (sid == SID_NOBODY) {
        strbuf_append_str(out, " nobody");
    } else {
        strbuf_printf(out, " m%" PRId64, sid);
    }
}

static void put_link(struct strbuf *out, link_id link)
{
    if (link == 0) {
        strbuf_append_str(out, " self");
    } else {
        strbuf_printf(out, " link %" PRIu64, link);
    }
}

static void put_size(struct strbuf *out, struct bytes bytes)
{
    if (!bytes_is_null(bytes)) {
        strbuf_printf(out, " %zu bytes", bytes.len);
    }
}

static void put_epoch(struct strbuf *out, enum quorum_epoch which, int64_t epoch)
{
    strbuf_printf(out, " %s %" PRId64, which == EPOCH_ACCEPTED ? "accepted" : "current", epoch);
}

/* The few packets whose data tell more than their size. */
static void put_data(struct strbuf *out, const struct packet *p)
{
    struct learner_info info;
    int32_t number;

    switch (p->type) {
    case PACKET_FOLLOWER_INFO:
    case PACKET_OBSERVER_INFO:
        if (learner_info_read(p->data, &info) && info.has_server_id) {
            put_sid(out, info.server_id);
            return;
        }
        break;
    case PACKET_ACK_EPOCH:
        if (packet_int_read(p->data, &number)) {
            strbuf_printf(out, " current %" PRId32, number);
            return;
        }
        break;
    case PACKET_LEADER_INFO:
    case PACKET_NEW_LEADER:
        return; /* the same every time */
    default:
        break;
    }
    put_size(out, p->data);
}

static void put_packet(struct strbuf *out, const struct packet *p)
{
    strbuf_printf(out, " %s", packet_type_name(p->type));
    put_zxid(out, p->zxid);
    put_data(out, p);
}

static void put_notification(struct strbuf *out, struct bytes payload)
{
    static const char *const states[] = {"LOOKING", "FOLLOWING", "LEADING", "OBSERVING"};
    struct notification n;

    if (!notification_read(payload, &n)) {
        put_size(out, payload);
        return;
    }
    strbuf_printf(out, " %s for", states[n.state]);
    put_sid(out, n.zxid == INT64_MIN ? SID_NOBODY : n.leader); /* as election.h has it */
    if (n.zxid != INT64_MIN) {
        put_zxid(out, n.zxid);
        strbuf_printf(out, " epoch %" PRId64, n.peer_epoch);
    }
    strbuf_printf(out, " round %" PRId64, n.election_epoch);
}

static void put_frame(struct strbuf *out, struct bytes frame)
{
    struct bytes payload;
    size_t used;

    if (notification_frame(frame, &payload, &used) == STREAM_WHOLE) {
        put_notification(out, payload);
    } else {
        put_size(out, frame);
    }
}

static const char *const input_names[] = {
    [QUORUM_IN_START] = "START",
    [QUORUM_IN_TICK] = "TICK",
    [QUORUM_IN_NOTIFICATION] = "NOTIFICATION",
    [QUORUM_IN_REFUSED] = "REFUSED",
    [QUORUM_IN_LINK_UP] = "LINK_UP",
    [QUORUM_IN_LINK_DOWN] = "LINK_DOWN",
    [QUORUM_IN_DIAL_FAILED] = "DIAL_FAILED",
    [QUORUM_IN_LISTEN_FAILED] = "LISTEN_FAILED",
    [QUORUM_IN_HEARS] = "HEARS",
    [QUORUM_IN_PACKET] = "PACKET",
    [QUORUM_IN_LOG_DURABLE] = "LOG_DURABLE",
    [QUORUM_IN_EPOCH_SAVED] = "EPOCH_SAVED",
    [QUORUM_IN_CONFIG_SAVED] = "CONFIG_SAVED",
    [QUORUM_IN_TRUNCATED] = "TRUNCATED",
    [QUORUM_IN_SNAPSHOT_LOADED] = "SNAPSHOT_LOADED",
    [QUORUM_IN_LOAD_FAILED] = "LOAD_FAILED",
    [QUORUM_IN_SNAPSHOT_SENT] = "SNAPSHOT_SENT",
    [QUORUM_IN_LOG_SENT] = "LOG_SENT",
    [QUORUM_IN_LOG_TRIMMED] = "LOG_TRIMMED",
    [QUORUM_IN_STOPPED] = "STOPPED",
    [QUORUM_IN_PROPOSE] = "PROPOSE",
    [QUORUM_IN_FORWARD] = "FORWARD",
    [QUORUM_IN_ANSWER] = "ANSWER",
    [QUORUM_IN_SYNC] = "SYNC",
    [QUORUM_IN_TURN] = "TURN",
    [QUORUM_IN_RESIGN] = "RESIGN",
};

void trace_input(struct strbuf *out, const struct quorum_input *in)
{
    ASSERT((size_t)in->kind < sizeof input_names / sizeof *input_names);
    strbuf_append_str(out, input_names[in->kind]);
    switch (in->kind) {
    case QUORUM_IN_START:
        put_zxid(out, in->zxid);
        put_epoch(out, EPOCH_ACCEPTED, in->accepted_epoch);
        put_epoch(out, EPOCH_CURRENT, in->current_epoch);
        if (in->deaf) {
            strbuf_append_str(out, " deaf");
        }
        strbuf_append_str(out, in->diverged ? " diverged" : "");
        strbuf_append_str(out, in->damaged ? " damaged" : "");
        break;
    case QUORUM_IN_TICK:
    case QUORUM_IN_CONFIG_SAVED:
    case QUORUM_IN_RESIGN:
    case QUORUM_IN_LISTEN_FAILED:
    case QUORUM_IN_HEARS:
    case QUORUM_IN_LOAD_FAILED:
        break;
    case QUORUM_IN_TURN:
        strbuf_printf(out, " epoch %" PRId64, in->epoch);
        break;
    case QUORUM_IN_NOTIFICATION:
        put_sid(out, in->sid);
        put_notification(out, in->bytes);
        break;
    case QUORUM_IN_LINK_UP:
        put_link(out, in->link);
        if (in->sid != SID_NOBODY) {
            put_sid(out, in->sid);
        }
        break;
    case QUORUM_IN_LINK_DOWN:
    case QUORUM_IN_LOG_SENT:
    case QUORUM_IN_SYNC:
        put_link(out, in->link);
        break;
    case QUORUM_IN_SNAPSHOT_SENT:
        put_link(out, in->link);
        if (in->zxid != 0) {
            put_zxid(out, in->zxid);
        }
        break;
    case QUORUM_IN_DIAL_FAILED:
    case QUORUM_IN_REFUSED:
        put_sid(out, in->sid);
        break;
    case QUORUM_IN_PACKET:
    case QUORUM_IN_ANSWER:
        put_link(out, in->link);
        put_packet(out, in->packet);
        break;
    case QUORUM_IN_FORWARD:
        put_packet(out, in->packet);
        break;
    case QUORUM_IN_EPOCH_SAVED:
        put_epoch(out, in->which, in->epoch);
        break;
    case QUORUM_IN_LOG_DURABLE:
    case QUORUM_IN_TRUNCATED:
    case QUORUM_IN_SNAPSHOT_LOADED:
    case QUORUM_IN_LOG_TRIMMED:
    case QUORUM_IN_STOPPED:
        put_zxid(out, in->zxid);
        break;
    case QUORUM_IN_PROPOSE:
        put_zxid(out, in->zxid);
        put_size(out, in->bytes);
        break;
    }
}

static const char *const effect_names[] = {
    [QUORUM_DO_NOTIFY] = "NOTIFY",
    [QUORUM_DO_LISTEN] = "LISTEN",
    [QUORUM_DO_UNLISTEN] = "UNLISTEN",
    [QUORUM_DO_DIAL] = "DIAL",
    [QUORUM_DO_CLOSE] = "CLOSE",
    [QUORUM_DO_SEND] = "SEND",
    [QUORUM_DO_SEND_LOG] = "SEND_LOG",
    [QUORUM_DO_SEND_SNAPSHOT] = "SEND_SNAPSHOT",
    [QUORUM_DO_LOAD_SNAPSHOT] = "LOAD_SNAPSHOT",
    [QUORUM_DO_TRUNCATE] = "TRUNCATE",
    [QUORUM_DO_SAVE_EPOCH] = "SAVE_EPOCH",
    [QUORUM_DO_APPEND] = "APPEND",
    [QUORUM_DO_SAVE_CONFIG] = "SAVE_CONFIG",
    [QUORUM_DO_ACTIVATE] = "ACTIVATE",
    [QUORUM_DO_COMMIT] = "COMMIT",
    [QUORUM_DO_LEAD] = "LEAD",
    [QUORUM_DO_SERVE] = "SERVE",
    [QUORUM_DO_TURN] = "TURN",
    [QUORUM_DO_STOP] = "STOP",
    [QUORUM_DO_RECEIVED] = "RECEIVED",
    [QUORUM_DO_SYNCED] = "SYNCED",
    [QUORUM_DO_LINK_GONE] = "LINK_GONE",
};

static void put_list(struct strbuf *out, const struct quorum_config *list)
{
    if (list == NULL) {
        strbuf_append_str(out, " none");
        return;
    }
    put_zxid(out, list->version);
    strbuf_append_str(out, ": ");
    quorum_config_list(list, out);
}

void trace_effect(struct strbuf *out, const struct quorum_effect *e)
{
    ASSERT((size_t)e->kind < sizeof effect_names / sizeof *effect_names);
    strbuf_append_str(out, effect_names[e->kind]);
    switch (e->kind) {
    case QUORUM_DO_NOTIFY:
        put_sid(out, e->sid);
        put_frame(out, e->bytes);
        break;
    case QUORUM_DO_LISTEN:
    case QUORUM_DO_UNLISTEN:
    case QUORUM_DO_SYNCED:
        break;
    case QUORUM_DO_DIAL:
        put_sid(out, e->sid);
        break;
    case QUORUM_DO_CLOSE:
        put_link(out, e->link);
        strbuf_printf(out, ": %s", e->reason);
        break;
    case QUORUM_DO_STOP:
        strbuf_printf(out, ": %s", e->reason);
        break;
    case QUORUM_DO_SEND:
        put_link(out, e->link);
        put_packet(out, &e->packet);
        break;
    case QUORUM_DO_SEND_LOG:
        put_link(out, e->link);
        put_zxid(out, e->from);
        put_zxid(out, e->zxid);
        break;
    case QUORUM_DO_SEND_SNAPSHOT:
    case QUORUM_DO_LOAD_SNAPSHOT:
        put_link(out, e->link);
        put_zxid(out, e->zxid);
        break;
    case QUORUM_DO_TRUNCATE:
    case QUORUM_DO_COMMIT:
        put_zxid(out, e->zxid);
        break;
    case QUORUM_DO_SAVE_EPOCH:
        put_epoch(out, e->which, e->epoch);
        break;
    case QUORUM_DO_APPEND:
        put_zxid(out, e->zxid);
        put_size(out, e->bytes);
        break;
    case QUORUM_DO_SAVE_CONFIG:
    case QUORUM_DO_ACTIVATE:
        put_list(out, e->config);
        break;
    case QUORUM_DO_LEAD:
    case QUORUM_DO_TURN:
        strbuf_printf(out, " epoch %" PRId64, e->epoch);
        break;
    case QUORUM_DO_SERVE:
        strbuf_append_str(out, e->role == MEMBER_OBSERVING ? " observing" : " following");
        put_sid(out, e->sid);
        strbuf_printf(out, " epoch %" PRId64, e->epoch);
        break;
    case QUORUM_DO_RECEIVED:
        put_link(out, e->link);
        put_sid(out, e->sid);
        put_packet(out, &e->packet);
        break;
    case QUORUM_DO_LINK_GONE:
        put_link(out, e->link);
        put_sid(out, e->sid);
        break;
    }
}

static void put_prefix(struct strbuf *out, int64_t now_us, int64_t sid, char sign)
{
    strbuf_printf(out, "%" PRId64 ".%03d m%" PRId64 " %c ", now_us / 1000000,
                  (int)(now_us / 1000 % 1000), sid, sign);
}

void trace_step(struct strbuf *out, int64_t now_us, int64_t sid, const struct quorum_input *in,
                const struct quorum_effects *effects)
{
    put_prefix(out, now_us, sid, '<');
    trace_input(out, in);
    strbuf_append_str(out, "\n");
    for (size_t i = 0; i < effects->count; i++) {
        put_prefix(out, now_us, sid, '>');
        trace_effect(out, &effects->items[i]);
        strbuf_append_str(out, "\n");
    }
}
