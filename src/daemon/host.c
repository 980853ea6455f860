/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "daemon/host_internal.h"
#include "daemon/options.h"
#include "os/clock.h"
#include "os/disk_posix.h"
#include "os/entropy.h"
#include "os/open_files.h"
#include "os/socket.h"
#include "pawl/error.h"
#include "store/recovery.h"
#include "tls/tls.h"

enum { TICK_MS = 100, SNAPSHOT_BACKLOG_BYTES = 4 << 20 };

#define LOCK_FILE "pawl.lock"

/* ---- errors ---- */

int host_set_error(struct host_error *error, int code, int exit_code, const char *format, ...)
{
    va_list args;

    error->code = code;
    error->exit_code = exit_code;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return code;
}

void host_fail(struct host *h, int code, int exit_code, const char *format, ...)
{
    va_list args;

    if (h->error.code == PAWL_OK) {
        h->error.code = code;
        h->error.exit_code = exit_code;
        va_start(args, format);
        vsnprintf(h->error.text, sizeof(h->error.text), format, args);
        va_end(args);
    }
    host_stop(h);
}

/* ---- steps and their effects ---- */

static void read_clocks(struct host *h)
{
    h->now = (struct turn_clock){
        .loop_ms = uv_now(&h->loop), .us = clock_monotonic_us(), .wall_ms = clock_wall_ms()};
}

void host_step(struct host *h, const struct member_input *in)
{
    read_clocks(h);
    member_step(h->member, h->now.us, h->now.wall_ms, in, &h->effects);
}

void host_step_together(struct host *h, const struct member_input *in)
{
    if (h->now.loop_ms != uv_now(&h->loop)) {
        read_clocks(h);
    }
    member_step(h->member, h->now.us, h->now.wall_ms, in, &h->effects);
}

/* Nothing is kept, so everything is as durable as it will ever be. */
static void commit_at_once(struct host *h)
{
    int64_t zxid;

    while (!txn_batch_empty(&h->effects.append)) {
        zxid = container_of(h->effects.append.blocks.prev, struct txn_block, link)->last_zxid;
        txn_batch_fini(&h->effects.append);
        txn_batch_init(&h->effects.append);
        host_step(h, &(struct member_input){.kind = MEMBER_DURABLE, .zxid = zxid});
    }
}

static void hand_over_snapshot(struct host *h)
{
    if (h->effects.snapshot_given_up) {
        h->effects.snapshot_given_up = false;
        snapshot_thread_give_up(h->snapshots);
    }
    if (h->effects.snapshot_begun) {
        h->effects.snapshot_begun = false;
        snapshot_thread_begin(h->snapshots, h->effects.snapshot_zxid);
    }
    if (!list_empty(&h->effects.chunks)) {
        snapshot_thread_write(h->snapshots, &h->effects.chunks);
    }
    if (h->effects.snapshot_complete) {
        h->effects.snapshot_complete = false;
        snapshot_thread_finish(h->snapshots, h->effects.snapshot_digest);
    }
}

/* The loop goes round without sleeping as long as this is active. */
static void on_busy(uv_idle_t *idle)
{
    (void)idle;
}

/* The walk goes on in slices between the turns of the loop, as fast as the writer can take it;
 * false: it cannot, and wakes us when it can. */
static bool walk_snapshot(struct host *h)
{
    snapshot_thread_hurry(h->snapshots, member_snapshot_is_urgent(h->member));
    if (!member_is_snapshotting(h->member) || !snapshot_thread_keeps_up(h->snapshots)) {
        return false;
    }
    host_step(h, &(struct member_input){.kind = MEMBER_SNAPSHOT_SLICE});
    return member_is_snapshotting(h->member);
}

static void set_busy(struct host *h, bool busy)
{
    if (busy) {
        uv_idle_start(&h->busy, on_busy);
    } else {
        uv_idle_stop(&h->busy);
    }
}

static void on_reap(uv_timer_t *timer)
{
    struct host *h = timer->data;

    h->reap_planned_us = INT64_MAX;
    host_step(h, &(struct member_input){.kind = MEMBER_REAP});
}

static void plan_reaping(struct host *h)
{
    int64_t at_us = member_reap_us(h->member);
    int64_t left_us;

    if (at_us == h->reap_planned_us) {
        return;
    }
    h->reap_planned_us = at_us;
    if (at_us == INT64_MAX) {
        uv_timer_stop(&h->reap);
        return;
    }
    left_us = at_us - clock_monotonic_us();
    uv_timer_start(&h->reap, on_reap, left_us <= 0 ? 0 : (uint64_t)(left_us + 999) / 1000, 0);
}

void host_hand_over(struct host *h)
{
    if (!txn_batch_empty(&h->effects.append)) {
        txnlog_thread_append(h->txnlog, &h->effects.append);
    }
}

static void show_health(struct host *h)
{
    const struct server *s = member_server(h->member);

    atomic_store_explicit(&h->turned_us, clock_monotonic_us(), memory_order_relaxed);
    atomic_store_explicit(&h->role_shown, (int)s->role->kind, memory_order_relaxed);
    atomic_store_explicit(&h->takes_clients, server_takes_clients(s), memory_order_relaxed);
}

static void tell_role(struct host *h)
{
    enum role_kind role = member_server(h->member)->role->kind;

    if (role == h->role_told) {
        return;
    }
    show_health(h);
    if (h->options.role_changed != NULL) {
        h->options.role_changed(h->options.arg, role);
    }
    h->role_told = role;
}

/* A turn of the loop ends: everybody who had something to say was heard. Proposals come first: the
 * other members' disks are farther away than ours, and a quorum needs one of them (waking our log's
 * thread may let it run in our place). Then the log: the disk works while answers are sent.
 * Flushing may let more requests in, so both come last, too. */
static void before_sleep(uv_prepare_t *prepare)
{
    struct host *h = prepare->data;
    bool walking = false;

    h->openings.n_steps = 0;

    host_step(h, &(struct member_input){.kind = MEMBER_TURN});
    host_ensemble_flush(h);
    if (h->options.keeps_nothing) {
        commit_at_once(h);
    } else {
        host_hand_over(h);
        walking = walk_snapshot(h);
        hand_over_snapshot(h);
    }
    if (h->owners != NULL) {
        owners_flush(h->owners);
    }
    link_flush_touched(h);
    host_ensemble_flush(h);
    if (h->options.keeps_nothing) {
        commit_at_once(h);
        link_flush_touched(h);
    } else {
        host_hand_over(h);
    }
    plan_reaping(h);
    tell_role(h);
    set_busy(h, walking || h->tick_is_due || member_wants_turn(h->member));
    h->looked_us = clock_monotonic_us();
}

/* Who is silent is judged when the sockets have been looked at, not when the timer fires: what
 * clients have sent may have waited there as long as the turn before took. */
static void after_sleep(uv_check_t *check)
{
    struct host *h = check->data;

    if (h->tick_is_due) {
        h->tick_is_due = false;
        host_step(h, &(struct member_input){.kind = MEMBER_TICK, .looked_us = h->looked_us});
        link_end_late_openings(h);
        host_look_at_certificates(h, false);
        logins_look(&h->logins, h->config, clock_monotonic_ms(), false);
        if (h->owners != NULL) {
            owners_tick(h->owners);
        }
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct host *h = timer->data;

    h->tick_is_due = true;
    acceptor_keep_place(h);
    host_ensemble_tick(h);
    acceptor_move_again(h);
    show_health(h);
    host_look_at_wanted(h);
}

static void on_purge(uv_timer_t *timer)
{
    struct host *h = timer->data;

    snapshot_thread_purge(h->snapshots);
}

/* ---- what the threads report ---- */

static void look_at_log(struct host *h)
{
    struct txnlog_progress p;

    txnlog_thread_progress(h->txnlog, &p);
    if (p.err != PAWL_OK) {
        host_fail(h, p.err, EXIT_UNEXPECTED,
                  "the transaction log cannot be written: %s. The server stops: what was "
                  "acknowledged is on disk, what was not is not promised",
                  p.error);
        return;
    }
    if (p.n_syncs > h->n_syncs_seen) {
        h->n_syncs_seen = p.n_syncs;
        host_step(h, &(struct member_input){.kind = MEMBER_DURABLE,
                                            .zxid = p.durable_zxid,
                                            .log_bytes = p.log_bytes,
                                            .took_ms = p.sync_ms_last});
        host_ensemble_durable(h, p.durable_zxid);
    }
}

static void look_at_snapshots(struct host *h)
{
    struct snapshot_progress p;

    snapshot_thread_progress(h->snapshots, &p);
    host_ensemble_trimmed(h, p.first_log);
    if (p.n_finished == h->n_snapshots) {
        return;
    }
    h->n_snapshots = p.n_finished;
    if (p.err != PAWL_OK && host_snapshot_is_wanted(h)) {
        log_warn("a snapshot that was asked for cannot be written: %s", p.error);
        host_snapshot_failed(h, p.err);
        host_step(h, &(struct member_input){.kind = MEMBER_SNAPSHOT_WRITTEN, .took_ms = p.took_ms});
        return;
    }
    if (p.err != PAWL_OK) {
        host_fail(h, p.err, EXIT_SNAPSHOT,
                  "a snapshot cannot be written: %s. Free some space or mend the folder; nothing "
                  "is lost, the log has everything",
                  p.error);
        return;
    }
    if (p.written_s != 0) {
        h->last_snapshot = (struct host_snapshot){p.zxid, p.written_s};
    }
    host_step(h, &(struct member_input){.kind = MEMBER_SNAPSHOT_WRITTEN, .took_ms = p.took_ms});
    host_snapshot_written(h);
    if (h->options.disk != NULL) {
        snapshot_thread_purge(h->snapshots);
    }
}

static void wake_up(void *arg)
{
    struct host *h = arg;

    waker_wake(&h->wake);
}

static void host_reload_now(struct host *h)
{
    struct server_options fresh;
    struct server *s = member_server(h->member);

    h->reload_fn(h->reload_arg);
    options_for_server(h->config, &fresh);
    s->options.limits = fresh.limits;
    s->options.min_session_timeout_ms = fresh.min_session_timeout_ms;
    s->options.max_session_timeout_ms = fresh.max_session_timeout_ms;
    s->options.words = fresh.words;
    host_look_at_certificates(h, true);
    audit_log_reopen(&h->audit_log);
    logins_look(&h->logins, h->config, clock_monotonic_ms(), true);
    if (!h->options.keeps_nothing) {
        txnlog_thread_warn_above(h->txnlog, h->config->store.fsync_warning_ms);
    }
}

static struct host_call *host_next_call(struct host *h)
{
    struct list *item;

    pthread_mutex_lock(&h->calls_lock);
    item = list_pop_front(&h->calls);
    pthread_mutex_unlock(&h->calls_lock);
    return item == NULL ? NULL : container_of(item, struct host_call, link);
}

static void host_answer_calls(struct host *h)
{
    struct host_call *call;

    if (!atomic_load(&h->has_calls) || !atomic_exchange(&h->has_calls, false)) {
        return;
    }
    while ((call = host_next_call(h)) != NULL) {
        read_clocks(h);
        server_set_time(member_server(h->member), h->now.us, h->now.wall_ms);
        call->fn(call, member_server(h->member));
    }
}

static void on_wake(void *arg)
{
    struct host *h = arg;

    if (atomic_exchange(&h->reload_wanted, false)) {
        host_reload_now(h);
    }
    if (!h->options.keeps_nothing) {
        look_at_log(h);
        txnlog_thread_settle(h->txnlog);
        look_at_snapshots(h);
        facts_look(h);
        scrubber_look(h);
    }
    host_answer_calls(h);
    if (atomic_load(&h->stop_wanted)) {
        h->stopping = true;
        uv_stop(&h->loop);
    }
}

/* ---- opening ---- */

static int open_disk(struct host *h, const char *path, struct disk **out, struct host_error *error)
{
    bool may_make = h->config->store.autocreate;
    int rc = disk_posix_open(path, may_make, out);

    if (rc != PAWL_OK) {
        return host_set_error(
            error, rc, EXIT_DATA_FOLDER, "%s%s", disk_posix_open_error(),
            rc == PAWL_ERR_NOT_FOUND && !may_make
                ? ". Make it; datadir.autocreate=false forbids the server to do so"
                : "");
    }
    return PAWL_OK;
}

/* Apache's server takes no lock, so it has to be looked for. */
static int look_for_others(const char *path, struct host_error *error)
{
    char inside[4096], who[512];

    snprintf(inside, sizeof(inside), "%s/" STORE_FOLDER, path);
    if (open_files_find_writer(inside, who, sizeof(who)) ||
        open_files_find_zookeeper(path, who, sizeof(who))) {
        return host_set_error(
            error, PAWL_ERR_BUSY, EXIT_DATA_FOLDER,
            "the directory %s is in use by another server: %s. Nothing was changed. "
            "Stop that server first",
            path, who);
    }
    return PAWL_OK;
}

static int take_disk(struct host *h, const char *path, struct disk **disk, struct disk_lock **lock,
                     struct host_error *error)
{
    int rc = open_disk(h, path, disk, error);

    if (rc == PAWL_OK) {
        rc = look_for_others(path, error);
    }
    if (rc != PAWL_OK) {
        return rc;
    }
    rc = disk_posix_lock(*disk, LOCK_FILE, lock);
    if (rc != PAWL_OK) {
        return host_set_error(error, rc, EXIT_DATA_FOLDER,
                              "the data folder %s cannot be locked: %s", path,
                              disk_last_error(*disk));
    }
    return PAWL_OK;
}

static int take_disks(struct host *h, struct host_error *error)
{
    const struct config *c = h->config;
    int rc;

    if (h->options.disk != NULL) {
        h->data_disk = h->log_disk = h->options.disk;
        return PAWL_OK;
    }
    rc = take_disk(h, c->store.data_dir, &h->data_disk, &h->data_lock, error);

    if (rc != PAWL_OK || strcmp(c->store.log_dir, c->store.data_dir) == 0) {
        h->log_disk = h->data_disk;
        return rc;
    }
    return take_disk(h, c->store.log_dir, &h->log_disk, &h->log_lock, error);
}

/* When it was written is known to the file system only. */
static struct host_snapshot snapshot_found(const struct host *h, const struct recovery_report *r)
{
    static const char *const suffixes[] = {"", ".gz", ".snappy"};
    struct host_snapshot found = {r->is_new ? 0 : r->snapshot_zxid, 0};
    struct stat st;
    char path[4096];

    for (int i = 0; i < 3 && h->options.disk == NULL && found.zxid >= 0; i++) {
        snprintf(path, sizeof(path), "%s/" STORE_FOLDER "/snapshot.%" PRIx64 "%s",
                 h->config->store.data_dir, (uint64_t)found.zxid, suffixes[i]);
        if (stat(path, &st) == 0) {
            found.written_s = st.st_mtime;
        }
    }
    return found;
}

static int host_recover(struct host *h, struct tree **tree, int64_t *zxid, struct host_error *error)
{
    struct recovery_options options;
    struct recovery_report report;
    int64_t began_ms = clock_monotonic_ms();
    int rc;

    options_for_recovery(h->config, &options);
    options.heals = config_is_ensemble(h->config);
    options.on_txn = host_note_record;
    options.arg = h;
    rc = recovery_load(h->data_disk, h->log_disk, &options, tree, &report);
    if (rc != PAWL_OK) {
        return host_set_error(error, rc, EXIT_DATA_FOLDER,
                              "Unable to load database on disk, in %s: %s",
                              h->config->store.data_dir, report.error);
    }
    h->load_ms = clock_monotonic_ms() - began_ms;
    h->loaded = report;
    h->last_snapshot = snapshot_found(h, &report);
    *zxid = report.last_zxid < 0 ? 0 : report.last_zxid;
    log_info("loaded %" PRId64 " nodes up to zxid 0x%" PRIx64 " from %s in %" PRId64 " ms (%" PRIu64
             " transactions replayed)",
             tree_count(*tree), (uint64_t)*zxid,
             h->options.disk != NULL ? "memory" : h->config->store.data_dir, h->load_ms,
             report.n_replayed);
    return PAWL_OK;
}

static int start_threads(struct host *h, struct host_error *error)
{
    struct txnlog_thread_options log = {.disk = h->log_disk,
                                        .fsync_warning_ms = h->config->store.fsync_warning_ms,
                                        .wake = wake_up,
                                        .arg = h};
    struct snapshot_thread_options snapshots = {
        .snapshot_disk = h->data_disk,
        .log_disk = h->log_disk,
        .file = {.folder = STORE_FOLDER, .codec = options_codec(h->config)},
        .purge_keep = (size_t)h->config->store.purge_keep,
        .backlog_bytes = SNAPSHOT_BACKLOG_BYTES,
        .wake = wake_up,
        .arg = h};
    int rc;

    options_for_txnlog(h->config, &log.log);
    rc = txnlog_thread_start(&log, &h->txnlog);
    if (rc != PAWL_OK) {
        return host_set_error(error, rc, EXIT_DATA_FOLDER,
                              "the transaction log cannot be opened: %s",
                              disk_last_error(h->log_disk));
    }
    if (!log.log.force_sync) {
        log_warn("forceSync=no: an acknowledged write may be lost when the machine stops");
    }
    h->snapshots = snapshot_thread_start(&snapshots);
    return PAWL_OK;
}

static void start_member(struct host *h, struct tree *tree, int64_t zxid)
{
    struct member_ensemble place;
    struct member_options options;

    options_for_member(h->config, &options);
    if (config_is_ensemble(h->config)) {
        host_ensemble_place(h, &place);
        options.ensemble = &place;
    }
    entropy_fill(&options.seed, sizeof(options.seed));
    options.n_replayed = (int64_t)h->loaded.n_replayed;
    options.has_diverged = h->had_diverged || h->had_damage;
    options.server.last_session_id = h->loaded.seen.session_id;
    options.server.last_time_ms = h->loaded.seen.time_ms;
    if (h->options.keeps_nothing) {
        options.snap_count = 0;
        options.snap_size_bytes = 0;
    }
    h->member = member_new(&options, tree, zxid, clock_monotonic_us(), clock_wall_ms());
    member_server(h->member)->audit = h->audit;
    member_server(h->member)->sasl = h->logins.clients != NULL ? &h->logins.gate : NULL;
}

static void observe_start(struct host *h)
{
    struct server *s = member_server(h->member);

    server_observe(s, SUMMARY_DB_INIT_TIME, h->load_ms);
    server_observe(s, SUMMARY_STARTUP_TXNS_LOADED, (int64_t)h->loaded.n_replayed);
    s->stats.digest_mismatches_count += h->loaded.n_digest_mismatches;
}

static void start_accepting(struct host *h)
{
    for (int i = 0; i < MAX_LISTENERS; i++) {
        if (h->listeners[i].fd >= 0) {
            acceptor_start(h, i, h->listeners[i].fd);
        }
    }
}

static int init_loop(struct host *h, struct host_error *error)
{
    uv_loop_init(&h->loop);
    uv_prepare_init(&h->loop, &h->before_sleep);
    uv_check_init(&h->loop, &h->after_sleep);
    uv_idle_init(&h->loop, &h->busy);
    uv_timer_init(&h->loop, &h->tick);
    uv_timer_init(&h->loop, &h->purge);
    uv_timer_init(&h->loop, &h->scrubber.timer);
    uv_timer_init(&h->loop, &h->refresh);
    uv_timer_init(&h->loop, &h->reap);
    uv_timer_init(&h->loop, &h->accept_again);
    h->before_sleep.data = h;
    h->after_sleep.data = h;
    h->busy.data = h;
    h->tick.data = h;
    h->purge.data = h;
    h->scrubber.timer.data = h;
    h->refresh.data = h;
    h->reap.data = h;
    h->reap_planned_us = INT64_MAX;
    h->accept_again.data = h;
    if (!waker_open(&h->wake, &h->loop, on_wake, h)) {
        return host_set_error(error, PAWL_ERR_SYSTEM, EXIT_UNEXPECTED, "eventfd: %s",
                              strerror(errno));
    }
    return PAWL_OK;
}

/* What only one server may have, before anything is read or changed on disk: the port, which
 * leaves no trace if it is taken, then the directories, then the socket, which may lie in one. */
static int host_take(struct host *h, struct host_error *error)
{
    int rc = host_read_secrets(h, error);

    rc = rc != PAWL_OK ? rc : host_take_ports(h, error);
    if (rc == PAWL_OK && host_take_election_port(h) != PAWL_OK) {
        rc = host_set_error(error, PAWL_ERR_BUSY, EXIT_ELECTION_PORT, "the election port: %s",
                            socket_last_error());
    }
    if (rc == PAWL_OK && !h->options.keeps_nothing) {
        rc = take_disks(h, error);
    }
    rc = rc != PAWL_OK ? rc : host_open_audit_log(h, error);
    return rc == PAWL_OK ? host_take_unix_socket(h, error) : rc;
}

static int join_ensemble(struct host *h, int64_t zxid, struct host_error *error)
{
    char reason[256];
    int rc = host_ensemble_join(h, zxid, reason, sizeof(reason));

    return rc == PAWL_OK ? rc : host_set_error(error, rc, EXIT_DATA_FOLDER, "%s", reason);
}

static int host_load(struct host *h, struct host_error *error)
{
    struct tree *tree;
    int64_t zxid = 0;
    int rc = host_recover(h, &tree, &zxid, error);

    if (rc != PAWL_OK) {
        return rc;
    }
    rc = host_look_for_marks(h, zxid, error);
    if (rc == PAWL_OK) {
        rc = start_threads(h, error);
    }
    if (rc != PAWL_OK) {
        tree_free(tree);
        return rc;
    }
    start_member(h, tree, zxid);
    observe_start(h);
    return config_is_ensemble(h->config) ? join_ensemble(h, zxid, error) : PAWL_OK;
}

static void host_begin_empty(struct host *h)
{
    struct tree_options options = {.extended_types = h->config->server.extended_types,
                                   .no_digest = !h->config->store.digest};
    struct tree *tree = tree_new(&options);

    tree_add_system_nodes(tree);
    start_member(h, tree, 0);
}

static int host_fill(struct host *h, struct host_error *error)
{
    int rc = host_take(h, error);

    if (rc == PAWL_OK && h->options.keeps_nothing) {
        host_begin_empty(h);
    } else if (rc == PAWL_OK) {
        rc = host_load(h, error);
    }
    if (rc != PAWL_OK) {
        return rc;
    }
    if (h->config->store.session_dir != NULL) {
        h->owners = owners_open(h, h->config->store.session_dir);
    }
    facts_start(h);
    scrubber_start(h);
    if (h->audit.line != NULL) {
        audit_own(&h->audit, "serverStart", "success");
    }
    start_accepting(h);
    show_health(h);
    return PAWL_OK;
}

int host_open(const struct config *config, const struct host_options *options, struct host **out,
              struct host_error *error)
{
    struct host *h = must_zalloc(sizeof(*h));
    int rc;

    entropy_key_tables();
    h->config = config;
    h->options = *options;
    h->port = h->secure_port = -1;
    list_init(&h->openings.list);
    h->buffer = must_alloc(READ_BYTES);
    for (int i = 0; i < MAX_LISTENERS; i++) {
        h->listeners[i].fd = -1;
    }
    list_init(&h->links);
    list_init(&h->calls);
    list_init(&h->snapshot_calls);
    pthread_mutex_init(&h->calls_lock, NULL);
    h->last_snapshot.zxid = -1;
    h->audit_log.fd = -1;
    history_begin(&h->history, 0);
    map_init(&h->addresses);
    member_effects_init(&h->effects);
    rc = init_loop(h, error);
    if (rc == PAWL_OK) {
        rc = host_fill(h, error);
    }
    if (rc != PAWL_OK) {
        host_close(h);
        return rc;
    }
    *out = h;
    return PAWL_OK;
}

/* ---- running ---- */

int host_run(struct host *h, struct host_error *error)
{
    int64_t purge_ms = h->config->store.purge_interval_ms;

    uv_prepare_start(&h->before_sleep, before_sleep);
    uv_check_start(&h->after_sleep, after_sleep);
    uv_timer_start(&h->tick, on_tick, TICK_MS, TICK_MS);
    if (purge_ms > 0 && !h->options.keeps_nothing) {
        uv_timer_start(&h->purge, on_purge, 0, (uint64_t)purge_ms);
    }
    while (!h->stopping) {
        uv_run(&h->loop, UV_RUN_DEFAULT);
    }
    if (h->error.code != PAWL_OK) {
        *error = h->error;
    }
    return h->error.code;
}

void host_stop(struct host *h)
{
    atomic_store(&h->stop_wanted, true);
    waker_wake(&h->wake);
}

void host_on_reload(struct host *h, void (*change)(void *arg), void *arg)
{
    h->reload_fn = change;
    h->reload_arg = arg;
}

void host_reload(struct host *h)
{
    ASSERT(h->reload_fn != NULL);
    atomic_store(&h->reload_wanted, true);
    waker_wake(&h->wake);
}

void host_do(struct host *h, struct host_call *call)
{
    pthread_mutex_lock(&h->calls_lock);
    list_push_back(&h->calls, &call->link);
    pthread_mutex_unlock(&h->calls_lock);
    atomic_store(&h->has_calls, true);
    waker_wake(&h->wake);
}

void host_health(struct host *h, struct host_health *out)
{
    *out = (struct host_health){
        .turned_us = atomic_load_explicit(&h->turned_us, memory_order_relaxed),
        .role = (enum role_kind)atomic_load_explicit(&h->role_shown, memory_order_relaxed),
        .takes_clients = atomic_load_explicit(&h->takes_clients, memory_order_relaxed),
    };
}

struct host_snapshot host_last_snapshot(const struct host *h)
{
    return h->last_snapshot;
}

/* ---- closing ---- */

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void close_listeners(struct host *h)
{
    struct socket_place now;

    /* The name first: once nobody listens it may be another server's. */
    if (h->listeners[LISTENER_UNIX].fd >= 0 && socket_place_of(h->config->net.unix_socket, &now) &&
        now.inode == h->listeners[LISTENER_UNIX].place.inode) {
        unlink(h->config->net.unix_socket);
    }
    for (int i = 0; i < MAX_LISTENERS; i++) {
        if (h->listeners[i].fd >= 0) {
            close(h->listeners[i].fd);
        }
    }
}

static void close_disks(struct host *h)
{
    if (h->options.disk != NULL) {
        return;
    }
    disk_posix_unlock(h->data_lock);
    disk_posix_unlock(h->log_lock);
    if (h->log_disk != h->data_disk) {
        disk_posix_close(h->log_disk);
    }
    disk_posix_close(h->data_disk);
}

void host_drop(struct host *h)
{
    txn_batch_fini(&h->effects.append);
    txn_batch_init(&h->effects.append);
    host_close(h);
}

void host_close(struct host *h)
{
    if (h == NULL) {
        return;
    }
    /* What was proposed goes to disk though nobody will be answered: it was accepted. */
    if (h->txnlog != NULL && !txn_batch_empty(&h->effects.append) && h->error.code == PAWL_OK) {
        txnlog_thread_append(h->txnlog, &h->effects.append);
    }
    if (h->member != NULL && h->audit.line != NULL) {
        audit_own(&h->audit, "serverStop", "invoked");
    }
    if (h->member != NULL) {
        link_close_all(h);
    }
    owners_close(h->owners);
    peers_close(h->peers);
    txnlog_thread_stop(h->txnlog);
    snapshot_thread_stop(h->snapshots);
    peers_free(h->peers); /* before the loop runs for the last time: it ends the handles */
    uv_walk(&h->loop, close_handle, NULL);
    uv_run(&h->loop, UV_RUN_DEFAULT);
    uv_loop_close(&h->loop);
    waker_close(&h->wake);
    close_listeners(h);
    member_free(h->member);
    host_ensemble_free(h);
    scrubber_fini(&h->scrubber);
    facts_fini(&h->facts);
    member_effects_fini(&h->effects);
    map_fini(&h->addresses);
    close_disks(h);
    pthread_mutex_destroy(&h->calls_lock);
    audit_log_close(&h->audit_log);
    secure_close(&h->secure);
    logins_close(&h->logins);
    secure_close(&h->member_secure);
    free(h->openings.buffer);
    free(h->place.address);
    free(h->buffer);
    free(h);
}

int host_port(const struct host *h)
{
    return h->port;
}

int host_secure_port(const struct host *h)
{
    return h->secure_port;
}

const char *host_unix_socket(const struct host *h)
{
    return h->config->net.unix_socket;
}
