/* SPDX-License-Identifier: Apache-2.0 */
/* carrier_history.c - what a quorum asks to be done to the history, and is told of when it is done:
 * epochs, truncation, a leader's snapshot, the end of a role. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/carrier_internal.h"
#include "daemon/txnlog_thread.h"
#include "pawl/error.h"
#include "store/epoch.h"
#include "store/tree.h"

enum { SPOOL_BYTES = 4 << 20 }; /* of a snapshot that are not on disk yet: reading waits */

/* ---- jobs of the log ---- */

struct job_note {
    struct carrier *carrier;
    enum quorum_epoch which;
    int64_t number;
};

static struct job_note *note_new(struct carrier *c, enum quorum_epoch which, int64_t number)
{
    struct job_note *note = must_zalloc(sizeof(*note));

    *note = (struct job_note){.carrier = c, .which = which, .number = number};
    return note;
}

/* What was answered, and whether anybody may still act upon it. */
static bool note_take(struct job_note *note, const struct log_result *result, struct job_note *out)
{
    *out = *note;
    free(note);
    return result->rc != PAWL_ERR_CLOSING && !out->carrier->is_closing;
}

static void on_epoch_saved(void *arg, struct log_result *result)
{
    struct job_note note;

    if (!note_take(arg, result, &note)) {
        return;
    }
    if (result->rc != PAWL_OK) {
        carrier_fail(note.carrier, result->rc, "an epoch cannot be saved", result->error);
        return;
    }
    carrier_do(note.carrier, &(struct quorum_input){.kind = QUORUM_IN_EPOCH_SAVED,
                                                    .which = note.which,
                                                    .epoch = note.number});
}

void carrier_save_epoch(struct carrier *c, const struct quorum_effect *e)
{
    const char *file = e->which == EPOCH_ACCEPTED ? EPOCH_ACCEPTED_FILE : EPOCH_CURRENT_FILE;

    carrier_hand_over(c);
    log_save_epoch(c->options.jobs, file, e->epoch, on_epoch_saved,
                   note_new(c, e->which, e->epoch));
}

/* ---- lists of members ---- */

static void on_next_list_saved(void *arg, struct log_result *result)
{
    struct job_note note;

    if (!note_take(arg, result, &note)) {
        return;
    }
    if (result->rc != PAWL_OK) {
        carrier_fail(note.carrier, result->rc, "the next list of members cannot be saved",
                     result->error);
        return;
    }
    carrier_do(note.carrier, &(struct quorum_input){.kind = QUORUM_IN_CONFIG_SAVED});
}

/* P10: a job before the record that proposes it is appended, so none is in the log without it. */
void carrier_save_list(struct carrier *c, const struct quorum_config *next)
{
    carrier_hand_over(c);
    log_save_next_list(c->options.jobs, next, on_next_list_saved, note_new(c, 0, 0));
    c->options.lists_changed(c->options.notify_arg, false);
}

static void on_active_list_saved(void *arg, struct log_result *result)
{
    struct job_note note;

    if (note_take(arg, result, &note) && result->rc != PAWL_OK) {
        carrier_fail(note.carrier, result->rc, "the list of members cannot be saved",
                     result->error);
    }
}

void carrier_activate_list(struct carrier *c, const struct quorum_config *list)
{
    carrier_hand_over(c);
    log_save_active_list(c->options.jobs, list, on_active_list_saved, note_new(c, 0, 0));
    if (carrier_follow_port(c)) {
        carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_HEARS});
    }
    c->options.lists_changed(c->options.notify_arg, true);
}

/* ---- what is cut ---- */

/* Nothing was touched, or it is cut. */
static void report_cut(struct carrier *c, int64_t zxid)
{
    link_id held = c->held;

    c->held = 0;
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_TRUNCATED, .zxid = zxid});
    quorum_net_resume(c->net, held);
}

static void on_truncated(void *arg, struct log_result *result)
{
    struct job_note note;
    struct carrier *c;

    if (!note_take(arg, result, &note)) {
        tree_free(result->tree);
        return;
    }
    c = note.carrier;
    if (result->is_untouched) {
        log_warn("the log cannot be cut as the leader asks: %s", result->error);
        report_cut(c, quorum_status(c->quorum).last_zxid);
        return;
    }
    if (result->rc != PAWL_OK) {
        carrier_fail(c, result->rc, "the log cannot be cut as the leader asks", result->error);
        return;
    }
    log_info("the history was cut behind 0x%" PRIx64 ", as the leader ordered",
             (uint64_t)note.number);
    carrier_step_member(
        c, &(struct member_input){.kind = MEMBER_TREE, .tree = result->tree, .zxid = note.number});
    report_cut(c, note.number);
}

void carrier_truncate(struct carrier *c, int64_t zxid)
{
    ASSERT(c->held == 0 && c->packet_link != 0);
    c->held = c->packet_link;
    quorum_net_hold(c->net, c->held);
    carrier_hand_over(c);
    log_truncate(c->options.jobs, zxid, on_truncated, note_new(c, 0, zxid));
}

/* ---- what comes faster than it is written ---- */

/* Above its limit; when it is read again there is room for a quarter. Nothing else holds the link
 * then: who receives records has its history. */
void carrier_heed_log(struct carrier *c)
{
    size_t limit = c->options.backlog_bytes;
    size_t backlog = txnlog_thread_backlog(c->options.jobs->thread);

    if (c->ahead != 0 && backlog <= limit - limit / 4) {
        quorum_net_resume(c->net, c->ahead);
        c->ahead = 0;
    } else if (c->ahead == 0 && backlog > limit &&
               quorum_status(c->quorum).role != MEMBER_LEADING) {
        ASSERT(c->held == 0 && c->loading.link == 0);
        quorum_net_hold(c->net, c->leader);
        c->ahead = c->leader;
    }
}

/* ---- a leader's snapshot ---- */

static void on_snapshot_loaded(void *arg, struct log_result *result)
{
    struct job_note note;
    struct carrier *c;
    link_id link;

    if (!note_take(arg, result, &note)) {
        tree_free(result->tree);
        return;
    }
    c = note.carrier;
    link = c->loading.link;
    c->loading = (struct loading){0};
    if (result->is_untouched) {
        log_error("the leader's snapshot 0x%" PRIx64
                  " cannot be taken over: %s. What is here is as "
                  "it was; the leader is asked again",
                  (uint64_t)note.number, result->error);
        carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_LOAD_FAILED});
        return;
    }
    if (result->rc != PAWL_OK) {
        carrier_fail(c, result->rc, "the leader's snapshot cannot be kept", result->error);
        return;
    }
    carrier_step_member(
        c, &(struct member_input){.kind = MEMBER_TREE, .tree = result->tree, .zxid = note.number});
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_SNAPSHOT_LOADED, .zxid = note.number});
    quorum_net_resume(c->net, link);
}

void carrier_load(struct carrier *c, const struct quorum_effect *e)
{
    ASSERT(c->loading.link == 0);
    carrier_hand_over(c);
    c->loading = (struct loading){
        .link = e->link, .zxid = e->zxid, .spool = log_spool_start(c->options.jobs, e->zxid)};
    snapshot_stream_init(&c->loading.stream, c->options.jobs->recovery.limit_bytes, 0);
    quorum_net_divert(c->net, e->link);
}

/* All of it has come, or it cannot be kept. */
static void finish_loading(struct carrier *c)
{
    struct loading *l = &c->loading;

    quorum_net_hold(c->net, l->link);
    log_spool_finish(l->spool, on_snapshot_loaded, note_new(c, 0, l->zxid));
    l->spool = NULL;
}

enum stream_read carrier_diverted(void *arg, link_id link, struct bytes bytes, size_t *used,
                                  const char **reason)
{
    struct carrier *c = arg;
    struct loading *l = &c->loading;
    enum stream_read found;
    size_t body;

    ASSERT(l->link == link && l->spool != NULL);
    found = snapshot_stream_feed(&l->stream, bytes, used, &body);
    *reason = l->stream.reason;
    if (found == STREAM_BAD) {
        return found;
    }
    if (body > 0) {
        log_spool_write(l->spool, bytes_of(bytes.data, body));
    }
    if (found == STREAM_WHOLE) {
        log_info("the leader's snapshot 0x%" PRIx64 " has come, %" PRIu64 " bytes",
                 (uint64_t)l->zxid, l->stream.body_bytes);
        finish_loading(c);
    } else if (log_spool_backlog(l->spool) > SPOOL_BYTES) {
        l->is_held = true;
        quorum_net_hold(c->net, link);
    }
    return found;
}

/* The disk has caught up, or is full. */
void carrier_go_on_loading(struct carrier *c)
{
    struct loading *l = &c->loading;

    if (l->spool != NULL && log_spool_has_failed(l->spool)) {
        finish_loading(c);
    }
    if (l->is_held && l->spool != NULL && log_spool_backlog(l->spool) < SPOOL_BYTES / 2) {
        l->is_held = false;
        quorum_net_resume(c->net, l->link);
    }
}

/* Half of one is thrown away. One that is whole is about to be the history, and is waited for. */
void carrier_drop_loading(struct carrier *c)
{
    if (c->loading.spool != NULL) {
        log_spool_stop(c->loading.spool);
        c->loading = (struct loading){0};
    }
}

/* ---- the end of a role ---- */

static void on_role_flushed(void *arg, struct log_result *result)
{
    struct job_note note;
    struct carrier *c;

    if (!note_take(arg, result, &note)) {
        return;
    }
    c = note.carrier;
    ASSERT(result->rc == PAWL_OK);
    carrier_step_member(c, &(struct member_input){.kind = MEMBER_CATCH_UP});
    txnlog_thread_open_log(c->options.jobs->thread);
    carrier_do(c, &(struct quorum_input){.kind = QUORUM_IN_STOPPED,
                                         .zxid = quorum_status(c->quorum).last_zxid});
}

/* P8: what was given to the log is on disk, and nothing more comes, before there is a vote. */
void carrier_stop_role(struct carrier *c, const struct quorum_effect *e)
{
    carrier_drop_loading(c);
    carrier_step_member(c, &(struct member_input){.kind = MEMBER_EFFECT, .effect = e});
    carrier_hand_over(c);
    txnlog_thread_close_log(c->options.jobs->thread);
    log_flush(c->options.jobs, on_role_flushed, note_new(c, 0, 0));
}
