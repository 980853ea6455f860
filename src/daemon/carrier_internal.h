/* SPDX-License-Identifier: Apache-2.0 */
/* carrier_internal.h - what the files of a carrier share. */
#ifndef PAWL_DAEMON_CARRIER_INTERNAL_H
#define PAWL_DAEMON_CARRIER_INTERNAL_H

#include <uv.h>

#include "base/list.h"
#include "base/strbuf.h"
#include "daemon/carrier.h"
#include "member/member.h"
#include "store/snapshot_stream.h"

/* A leader's snapshot that comes in. */
struct loading {
    link_id link; /* 0: none */
    int64_t zxid;
    struct snapshot_stream stream;
    struct log_spool *spool; /* NULL: all of it has come, and it is being put in its place */
    bool is_held;
};

struct kept_input;
struct kept_inputs {
    struct kept_input *items;
    size_t count, capacity;
    struct strbuf bytes;
};

struct carrier {
    struct carrier_options options;
    struct quorum *quorum;
    struct quorum_effects effects;
    struct quorum_net *net;
    struct quorum_port *port; /* NULL: this server does not lead */
    struct quorum_member own; /* as in the last list that has this server */
    uv_timer_t timer;
    bool is_stepping;
    bool is_unplanned; /* the timer is not set for what the last steps wait for */
    bool is_closing;
    struct kept_inputs kept;        /* inputs for later */
    struct kept_inputs kept_before; /* those before: empty, but for their memory */
    struct list sendings;           /* carrier_sending.c */
    struct loading loading;
    link_id packet_link; /* of the input that is being worked on */
    link_id held;        /* until a truncation is done */
    link_id leader;      /* the last one that was dialled; it may be gone */
    link_id ahead;       /* the leader's, held until the log has caught up; 0: it is not */
    struct strbuf scratch;
};

/* ---- carrier.c ---- */

/* What is the member's to do. */
void carrier_step_member(struct carrier *c, const struct member_input *in);
/* Jobs are done in order with what was appended before them. */
void carrier_hand_over(struct carrier *c);
void carrier_fail(struct carrier *c, int code, const char *what, const char *why);

/* This server's place in the list of members may be another one. True: it is, and the port there is
 * ours. */
bool carrier_follow_port(struct carrier *c);

/* ---- carrier_history.c: what is done to the history, and waited for ---- */

void carrier_save_epoch(struct carrier *c, const struct quorum_effect *e);
void carrier_save_list(struct carrier *c, const struct quorum_config *next); /* NULL: none */
void carrier_activate_list(struct carrier *c, const struct quorum_config *list);
void carrier_truncate(struct carrier *c, int64_t zxid);
void carrier_load(struct carrier *c, const struct quorum_effect *e);
void carrier_stop_role(struct carrier *c, const struct quorum_effect *e);

/* Of quorum_net_events: bytes of the snapshot that is being loaded. */
enum stream_read carrier_diverted(void *arg, link_id link, struct bytes bytes, size_t *used,
                                  const char **reason);
/* The disk may have caught up. */
void carrier_go_on_loading(struct carrier *c);
/* A leader may send faster than the log can be written: its link is read no faster than that. */
void carrier_heed_log(struct carrier *c);
/* Half a snapshot is thrown away. One that is whole is about to be the history, and is waited for.
 */
void carrier_drop_loading(struct carrier *c);

/* ---- carrier_sending.c: what is sent to learners between packets ---- */

void carrier_send_log(struct carrier *c, const struct quorum_effect *e);
void carrier_send_snapshot(struct carrier *c, const struct quorum_effect *e);

/* Of quorum_net_events. */
void carrier_room(void *arg, stream_id stream);
void carrier_sent(void *arg, stream_id stream);

/* Snapshots go on, as far as there is room. */
void carrier_go_on_sending(struct carrier *c);
void carrier_drop_sendings(struct carrier *c, link_id to);
void carrier_drop_all_sendings(struct carrier *c);

#endif
