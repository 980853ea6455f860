/* SPDX-License-Identifier: Apache-2.0 */
/* host_ensemble.c - a host among others: what its member's quorum asks for, and what the others
 * send. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/logging.h"
#include "daemon/config.h"
#include "daemon/dynamic_files.h"
#include "daemon/host_internal.h"
#include "daemon/options.h"
#include "daemon/peers.h"
#include "os/entropy.h"
#include "os/socket.h"
#include "pawl/error.h"
#include "store/epoch.h"
#include "store/mark.h"

enum { EMBEDDED_ATTEMPTS = 3 };

/* ---- what the carrier asks for ---- */

static void host_step_member(void *arg, const struct member_input *in)
{
    host_step_together(arg, in);
}

static void host_hand_over_now(void *arg)
{
    host_hand_over(arg);
}

static void host_ensemble_fail(void *arg, int code, const char *text)
{
    host_fail(arg, code, EXIT_UNEXPECTED, "%s", text);
}

/* ---- what the member asks for ---- */

static void host_ask(void *arg, const struct quorum_input *in)
{
    struct host *h = arg;

    carrier_do(peers_carrier(h->peers), in);
}

static void host_snapshot(void *arg, link_id link, struct snapshot_taker *taker, int64_t zxid)
{
    struct host *h = arg;

    carrier_snapshot(peers_carrier(h->peers), link, taker, zxid);
}

static const struct quorum *host_quorum(void *arg)
{
    struct host *h = arg;

    return carrier_quorum(peers_carrier(h->peers));
}

const struct quorum_config *host_members(const struct host *h)
{
    return h->peers == NULL ? &h->config->ensemble.quorum
                            : quorum_active_config(host_quorum((struct host *)h));
}

static void host_standing(void *arg, struct role_standing *out)
{
    struct host *h = arg;
    struct quorum_status s = quorum_status(carrier_quorum(peers_carrier(h->peers)));

    *out = (struct role_standing){
        .leader = s.leader,
        .n_voters = host_members(h)->n_voters,
        .n_learners = s.n_links,
        .n_synced_followers = s.n_learners - s.n_synced_observers - s.n_synced_non_voting,
        .n_synced_non_voting = s.n_synced_non_voting,
        .n_synced_observers = s.n_synced_observers,
        .n_pending_syncs = s.n_wishes,
        .election_ms = s.election_us / 1000,
        .sync_ms = s.role_us / 1000,
        .n_diffs = s.n_diffs,
        .n_snapshots = s.n_snapshots,
    };
}

static bool host_is_looking(void *arg)
{
    struct host *h = arg;
    struct quorum_status s = quorum_status(carrier_quorum(peers_carrier(h->peers)));

    return s.role == MEMBER_LOOKING && !s.stopping;
}

/* ---- opening ---- */

/* Who had it may be about to end. */
int host_take_election_port(struct host *h)
{
    int attempts = h->config->ensemble.election_bind_attempts;
    int rc;

    if (attempts == 0 && h->options.is_embedded) {
        attempts = EMBEDDED_ATTEMPTS;
    }
    if (!config_is_ensemble(h->config)) {
        return PAWL_OK;
    }
    for (int i = 1;; i++) {
        rc = election_ports_take(h->config, &h->election_ports);
        if (rc == PAWL_OK || i == attempts) {
            return rc;
        }
        log_warn("the election port: %s; attempt %d, again in a second (electionPortBindRetry=%d)",
                 socket_last_error(), i, attempts);
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
}

void host_note_record(const struct txnlog_record *record, void *arg)
{
    struct host *h = arg;

    history_found(&h->history, record->txn.header.zxid);
}

void host_ensemble_place(struct host *h, struct member_ensemble *out)
{
    *out = (struct member_ensemble){
        .ask = host_ask,
        .quorum = host_quorum,
        .least_voters = h->config->ensemble.standalone_enabled ? 2 : 1,
        .several_addresses = h->config->ensemble.multi_address,
        .snapshot = host_snapshot,
        .standing = host_standing,
        .is_looking = host_is_looking,
        .host = h,
    };
}

/* ---- the list of members ---- */

/* In the middle of a step. */
static void host_members_changed(void *arg)
{
    struct host *h = arg;

    h->members_changed = true;
}

void host_ensemble_tick(struct host *h)
{
    const struct quorum_config *list = host_members(h);
    int index = quorum_config_find(list, h->config->ensemble.my_id);

    if (!h->members_changed) {
        return;
    }
    h->members_changed = false;
    facts_changed(h);
    if (index >= 0 && list->member[index].client_host != NULL) {
        acceptor_move(h, list->member[index].client_host, list->member[index].client_port);
    }
}

static int open_lists(struct host *h, struct strbuf *why)
{
    int rc = dynamic_files_open(h->config->file, &h->lists, why);

    if (rc == PAWL_OK && h->config->ensemble.dynamic_file == NULL) {
        rc = dynamic_files_back_up(h->lists);
        if (rc != PAWL_OK) {
            strbuf_printf(why,
                          "reconfigEnabled=true: this server rewrites its configuration when the "
                          "members change, and cannot: %s",
                          dynamic_files_error(h->lists));
        }
    }
    return rc;
}

/* The files of a list that may change. PAWL_OK, and `next` has whom it was to have, if anybody. */
static int host_open_lists(struct host *h, struct quorum_config *next, char *reason,
                           size_t reason_bytes)
{
    struct strbuf why;
    int rc;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    quorum_config_init(next);
    rc = open_lists(h, &why);
    if (rc == PAWL_OK) {
        rc = dynamic_files_proposed(h->lists, next, &why);
        rc = rc == PAWL_ERR_NOT_FOUND ? PAWL_OK : rc;
    }
    if (rc == PAWL_OK && next->version <= h->config->ensemble.quorum.version) {
        quorum_config_fini(next);
        rc = dynamic_files_forget(h->lists); /* it is in force: a crash came in between */
    }
    if (rc != PAWL_OK) {
        snprintf(reason, reason_bytes, "%s",
                 why.len > 0 ? strbuf_cstr(&why) : dynamic_files_error(h->lists));
    }
    strbuf_fini(&why);
    return rc;
}

static const struct quorum_config *host_members_now(void *arg)
{
    return host_members(arg);
}

/* The words are Java's. */
static struct peer_tls *host_peer_tls(struct host *h)
{
    const struct config *c = h->config;

    if (h->member_secure.context == NULL) {
        return NULL;
    }
    h->peer_tls = (struct peer_tls){.loop = &h->loop,
                                    .secure = &h->member_secure,
                                    .is_dialled = c->member_tls_wanted,
                                    .takes_plain = c->member_tls.unified,
                                    .checks_names = c->member_tls.check_client_address,
                                    .members = host_members_now,
                                    .arg = h};
    if (c->member_tls_wanted) {
        log_info("Using TLS encrypted quorum communication");
    }
    log_info(c->member_tls.unified
                 ? "Port unification enabled: members may come with TLS or without"
                 : "Creating TLS-only quorum server socket");
    return &h->peer_tls;
}

int host_ensemble_join(struct host *h, int64_t zxid, char *reason, size_t reason_bytes)
{
    bool lists_change = h->config->ensemble.reconfig_enabled;
    struct quorum_config next;
    struct peers_options options = {.loop = &h->loop,
                                    .config = h->config,
                                    .jobs = &h->jobs,
                                    .host = {.arg = h,
                                             .step = host_step_member,
                                             .hand_over = host_hand_over_now,
                                             .fail = host_ensemble_fail},
                                    .touches = member_touches,
                                    .tls = host_peer_tls(h),
                                    .sasl = &h->logins.members,
                                    .member = h->member,
                                    .config_of = lists_change ? member_config_of : NULL,
                                    .members_changed = host_members_changed};
    struct epochs epochs;
    int rc = epoch_start(h->data_disk, STORE_FOLDER, zxid, &epochs, reason, reason_bytes);

    quorum_config_init(&next);
    if (rc == PAWL_OK && lists_change) {
        rc = host_open_lists(h, &next, reason, reason_bytes);
    }
    if (rc != PAWL_OK) {
        return rc;
    }
    if (history_last(&h->history) != zxid) {
        history_fini(&h->history);
        history_begin(&h->history, zxid);
    }
    h->jobs = (struct log_jobs){.lists = h->lists,
                                .self = h->config->ensemble.my_id,
                                .thread = h->txnlog,
                                .snapshots = h->snapshots,
                                .data_disk = h->data_disk,
                                .log_disk = h->log_disk};
    options_for_recovery(h->config, &h->jobs.recovery);
    entropy_fill(&options.seed, sizeof(options.seed));
    h->peers = peers_new(&options, &h->election_ports);
    carrier_start(peers_carrier(h->peers),
                  &(struct carrier_recovered){.last_zxid = zxid,
                                              .accepted_epoch = epochs.accepted,
                                              .current_epoch = epochs.current,
                                              .history = &h->history,
                                              .next = next.n_members > 0 ? &next : NULL,
                                              .diverged = h->had_diverged,
                                              .damaged = h->had_damage});
    quorum_config_fini(&next);
    return PAWL_OK;
}

/* ---- the loop ---- */

void host_ensemble_durable(struct host *h, int64_t zxid)
{
    if (h->peers != NULL) {
        carrier_durable(peers_carrier(h->peers), zxid);
    }
}

void host_ensemble_trimmed(struct host *h, int64_t first_log)
{
    if (h->peers != NULL && first_log > h->first_log) {
        h->first_log = first_log;
        carrier_do(peers_carrier(h->peers),
                   &(struct quorum_input){.kind = QUORUM_IN_LOG_TRIMMED, .zxid = first_log - 1});
    }
}

void host_describe_difference(char *text, int64_t zxid, const char *what)
{
    snprintf(text, MARK_TEXT_BYTES, "the tree differed after transaction 0x%" PRIx64 " (%s)",
             (uint64_t)zxid, what);
}

/* The mark first: whoever starts this server again, at once or in a year, need not know. */
static void host_diverged(struct host *h, int64_t zxid)
{
    const char *what = strbuf_cstr(&member_server(h->member)->differs);
    char text[MARK_TEXT_BYTES];

    host_describe_difference(text, zxid, what);
    if (mark_save(h->data_disk, STORE_FOLDER, DIVERGED_FILE, text) == PAWL_OK) {
        host_fail(
            h, PAWL_ERR_CORRUPT, EXIT_UNEXPECTED,
            "after transaction 0x%" PRIx64
            " (%s) this server's data is not the leader's. It stops. " STORE_FOLDER
            "/" DIVERGED_FILE
            " notes that: started again, this server leads nobody and fetches everything from "
            "the others",
            (uint64_t)zxid, what);
    } else {
        host_fail(h, PAWL_ERR_CORRUPT, EXIT_UNEXPECTED,
                  "after transaction 0x%" PRIx64
                  " (%s) this server's data is not the leader's. It stops, and could not note that "
                  "(%s): move " STORE_FOLDER
                  " away before it is started again, and it fetches everything from the others",
                  (uint64_t)zxid, what, disk_last_error(h->data_disk));
    }
}

void host_ensemble_flush(struct host *h)
{
    if (h->peers == NULL) {
        return;
    }
    if (h->effects.diverged_zxid != 0) {
        host_diverged(h, h->effects.diverged_zxid);
        h->effects.diverged_zxid = 0;
    }
    carrier_flush(peers_carrier(h->peers));
}

void host_ensemble_free(struct host *h)
{
    election_ports_give_up(&h->election_ports);
    dynamic_files_close(h->lists);
    history_fini(&h->history);
}
