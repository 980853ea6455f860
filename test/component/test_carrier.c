/* SPDX-License-Identifier: Apache-2.0 */
/* Three members in one process: real quorums over real sockets, logs and snapshots on a real disk.
 * Only the clients and the election's transport are played by the test. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/logging.h"
#include "base/memory.h"
#include "daemon/carrier.h"
#include "daemon/txnlog_thread.h"
#include "lib/patience.h"
#include "lib/test.h"
#include "member/member.h"
#include "os/disk_posix.h"
#include "pawl/error.h"
#include "store/apply.h"
#include "store/epoch.h"
#include "store/recovery.h"
#include "store/snapshot_walk.h"
#include "store/snapshot_write.h"
#include "wire/vote.h"

enum { N = 3, TICK_MS = 200, LIMIT_TICKS = 200, BACKLOG_BYTES = 256 << 10 };

/* A transaction that is in the log and not applied. */
struct pending {
    struct list link;
    int64_t zxid;
    struct bytes payload;
    struct txn_block *block;
};

struct process {
    int64_t sid;
    char folder[128];
    bool runs;
    struct disk *disk;
    struct txnlog_thread *thread;
    struct log_jobs jobs;
    struct carrier *carrier;
    int64_t n_syncs;

    struct tree *tree;
    int64_t applied;
    struct txn_batch batch;
    struct list pending;
    struct snapshot_walk *walk;
    struct list wanted; /* struct want */

    bool leads, serves;
    int64_t next_zxid;
    int n_replaced;
    int n_stopped;
    bool slow_walk; /* one node a turn */
};

struct want {
    struct list link;
    link_id to;
};

/* A notification on its way. */
struct notice {
    struct list link;
    int64_t from, to;
    struct strbuf payload;
};

static uv_loop_t loop;
static uv_async_t wake;
static char top[128];
static struct quorum_config config;
static struct process members[N];
static struct list notices;
static bool always_snapshot;

/* ---- the member ---- */

static void apply_one(struct process *m, struct pending *p)
{
    struct apply apply = {.tree = m->tree};
    struct txn txn;

    assert_int_equal(txn_read(p->payload, &txn), TXN_OK);
    apply_txn(&apply, &txn, NULL, 0);
    m->applied = p->zxid;
    list_remove(&p->link);
    txn_block_unref(p->block);
    free(p);
}

static void apply_to(struct process *m, int64_t zxid)
{
    while (!list_empty(&m->pending)) {
        struct pending *p = container_of(m->pending.next, struct pending, link);

        if (p->zxid > zxid) {
            break;
        }
        apply_one(m, p);
    }
}

static void do_append(struct process *m, int64_t zxid, struct bytes payload)
{
    struct pending *p = must_zalloc(sizeof(*p));

    p->zxid = zxid;
    p->payload = txn_batch_add(&m->batch, payload, zxid, false, &p->block);
    list_push_back(&m->pending, &p->link);
}

static void do_hand_over(void *arg)
{
    struct process *m = arg;

    if (!txn_batch_empty(&m->batch)) {
        txnlog_thread_append(m->thread, &m->batch);
    }
}

static void do_lead(struct process *m, int64_t epoch)
{
    m->leads = true;
    m->serves = true;
    m->next_zxid = zxid_make(epoch, 1);
}

static void drop_walk(struct process *m)
{
    struct list *item;

    snapshot_walk_free(m->walk);
    m->walk = NULL;
    while ((item = list_pop_front(&m->wanted)) != NULL) {
        free(container_of(item, struct want, link));
    }
}

static void do_stop(struct process *m)
{
    m->leads = false;
    m->serves = false;
    m->n_stopped++;
    drop_walk(m);
}

static void drop_pending(struct process *m)
{
    struct list *item;

    while ((item = list_pop_front(&m->pending)) != NULL) {
        struct pending *p = container_of(item, struct pending, link);

        txn_block_unref(p->block);
        free(p);
    }
}

static void do_replace(struct process *m, struct tree *tree, int64_t zxid)
{
    drop_walk(m);
    drop_pending(m);
    tree_free(m->tree);
    m->tree = tree;
    m->applied = zxid;
    m->n_replaced++;
}

static void do_want_snapshot(struct process *m, link_id link)
{
    struct want *w = must_zalloc(sizeof(*w));

    w->to = link;
    list_push_back(&m->wanted, &w->link);
}

/* One walk at a time, for all who wait. */
static void begin_walk(struct process *m)
{
    struct list *item;

    m->walk = snapshot_walk_begin(m->tree, m->applied);
    while ((item = list_pop_front(&m->wanted)) != NULL) {
        struct want *w = container_of(item, struct want, link);

        carrier_snapshot(m->carrier, w->to, snapshot_walk_join(m->walk, 64 << 20), m->applied);
        free(w);
    }
}

static void turn_walk(struct process *m)
{
    if (m->walk == NULL && !list_empty(&m->wanted)) {
        begin_walk(m);
    } else if (m->walk != NULL && snapshot_walk_lag(m->walk) < 1 << 20 &&
               snapshot_walk_step(m->walk, m->slow_walk ? 1 : 1000, SIZE_MAX)) {
        snapshot_walk_free(m->walk);
        m->walk = NULL;
    }
}

static void do_effect(struct process *m, const struct quorum_effect *e)
{
    switch (e->kind) {
    case QUORUM_DO_APPEND:
        do_append(m, e->zxid, e->bytes);
        break;
    case QUORUM_DO_COMMIT:
        apply_to(m, e->zxid);
        break;
    case QUORUM_DO_LEAD:
        do_lead(m, e->epoch);
        break;
    case QUORUM_DO_SERVE:
        m->serves = true;
        break;
    case QUORUM_DO_STOP:
        do_stop(m);
        break;
    default: /* of clients, which are played */
        break;
    }
}

static void do_step(void *arg, const struct member_input *in)
{
    switch (in->kind) {
    case MEMBER_EFFECT:
        do_effect(arg, in->effect);
        break;
    case MEMBER_CATCH_UP:
        apply_to(arg, INT64_MAX);
        break;
    case MEMBER_TREE:
        do_replace(arg, in->tree, in->zxid);
        break;
    default:
        assert_int_equal(in->kind, MEMBER_WANT_SNAPSHOT);
        do_want_snapshot(arg, in->link);
        break;
    }
}

static void do_fail(void *arg, int code, const char *text)
{
    (void)arg;
    (void)code;
    fail_msg("%s", text);
}

static void no_touches(void *host, struct strbuf *out)
{
    (void)host;
    (void)out;
}

/* ---- the election's transport ---- */

static void do_notify(void *arg, int64_t sid, struct bytes frame)
{
    struct process *m = arg;
    struct notice *n = must_zalloc(sizeof(*n));
    struct bytes payload;
    size_t used;

    assert_int_equal(notification_frame(frame, &payload, &used), STREAM_WHOLE);

    n->from = m->sid;
    n->to = sid;
    strbuf_init(&n->payload, STRBUF_NO_LIMIT);
    strbuf_append_bytes(&n->payload, payload);
    list_push_back(&notices, &n->link);
}

static void deliver_notices(void)
{
    struct list *item, now;

    list_init(&now);
    list_splice(&now, &notices);
    while ((item = list_pop_front(&now)) != NULL) {
        struct notice *n = container_of(item, struct notice, link);
        struct process *to = &members[n->to - 1];

        if (to->runs) {
            carrier_do(to->carrier, &(struct quorum_input){.kind = QUORUM_IN_NOTIFICATION,
                                                           .sid = n->from,
                                                           .bytes = strbuf_bytes(&n->payload)});
        }
        strbuf_fini(&n->payload);
        free(n);
    }
}

/* ---- processes ---- */

static void wake_loop(void *arg)
{
    (void)arg;
    uv_async_send(&wake);
}

static void on_wake(uv_async_t *async)
{
    (void)async;
}

static void note_record(const struct txnlog_record *record, void *arg)
{
    history_found(arg, record->txn.header.zxid);
}

static void start_threads(struct process *m, const struct recovery_options *recovery)
{
    struct txnlog_thread_options log = {
        .disk = m->disk,
        .log = {.folder = STORE_FOLDER, .preallocate_bytes = 64 << 10, .force_sync = true},
        .fsync_warning_ms = 60000,
        .wake = wake_loop};

    assert_int_equal(txnlog_thread_start(&log, &m->thread), 0);
    m->jobs = (struct log_jobs){
        .thread = m->thread, .data_disk = m->disk, .log_disk = m->disk, .recovery = *recovery};
    m->jobs.recovery.on_txn = NULL;
    m->n_syncs = 0;
}

static void start_carrier(struct process *m)
{
    struct carrier_options options = {
        .loop = &loop,
        .jobs = &m->jobs,
        .quorum = {.sid = m->sid,
                   .config = &config,
                   .tick_ms = TICK_MS,
                   .init_limit = LIMIT_TICKS,
                   .sync_limit = LIMIT_TICKS,
                   .recent_bytes = 20000,
                   .always_snapshot = always_snapshot,
                   .seed = (uint64_t)m->sid,
                   .touches = no_touches},
        .packet_bytes = 4 << 20,
        .output_bytes = 64 << 20,
        .backlog_bytes = BACKLOG_BYTES,
        .host = {.arg = m, .step = do_step, .hand_over = do_hand_over, .fail = do_fail},
        .notify = do_notify,
        .notify_arg = m};

    m->carrier = carrier_new(&options);
}

static void start(struct process *m)
{
    struct recovery_options recovery = {.on_txn = note_record};
    struct recovery_report report;
    struct history history;
    struct epochs epochs;
    char reason[256];

    history_begin(&history, 0);
    recovery.arg = &history;
    assert_int_equal(disk_posix_open(m->folder, true, &m->disk), 0);
    assert_int_equal(recovery_load(m->disk, m->disk, &recovery, &m->tree, &report), 0);
    if (history_last(&history) != report.last_zxid) {
        history_fini(&history);
        history_begin(&history, report.last_zxid);
    }
    assert_int_equal(epoch_start(m->disk, STORE_FOLDER, report.last_zxid, &epochs, reason, 256), 0);
    m->applied = report.last_zxid;
    m->runs = true;
    txn_batch_init(&m->batch);
    start_threads(m, &recovery);
    start_carrier(m);
    carrier_start(m->carrier, &(struct carrier_recovered){.last_zxid = report.last_zxid,
                                                          .accepted_epoch = epochs.accepted,
                                                          .current_epoch = epochs.current,
                                                          .history = &history});
    history_fini(&history);
}

/* As if it was killed: what it did not give to the log is lost. */
static void stop(struct process *m)
{
    m->runs = false;
    m->leads = m->serves = false;
    drop_walk(m);
    carrier_close(m->carrier);
    txnlog_thread_stop(m->thread);
    carrier_free(m->carrier);
    drop_pending(m);
    txn_batch_fini(&m->batch);
    tree_free(m->tree);
    disk_posix_close(m->disk);
}

static void look_at_log(struct process *m)
{
    struct txnlog_progress p;

    txnlog_thread_progress(m->thread, &p);
    assert_int_equal(p.err, PAWL_OK);
    if (p.n_syncs > m->n_syncs) {
        m->n_syncs = p.n_syncs;
        carrier_durable(m->carrier, p.durable_zxid);
    }
    txnlog_thread_settle(m->thread);
}

static void turn(void)
{
    deliver_notices();
    for (int i = 0; i < N; i++) {
        struct process *m = &members[i];

        if (m->runs) {
            look_at_log(m);
            turn_walk(m);
            do_hand_over(m);
            carrier_flush(m->carrier);
        }
    }
    uv_run(&loop, UV_RUN_NOWAIT);
}

#define UNTIL(condition) wait_until((turn(), (condition)))

/* ---- an ensemble ---- */

/* PAWL_TRACE=1 prints every input and effect. */
static void print_line(enum log_level level, const char *line, void *arg)
{
    (void)level;
    (void)arg;
    fprintf(stderr, "%s\n", line);
}

enum { QUORUM_PORT = 7001, ELECTION_PORT = 7000 };

/* A loopback address of this process alone, so that no port is anybody else's. */
static const char *own_address(void)
{
    static char text[INET_ADDRSTRLEN];
    struct in_addr a = {htonl(INADDR_LOOPBACK + (1u << 23) + ((uint32_t)getpid() & 0x3fffff))};

    return inet_ntop(AF_INET, &a, text, sizeof(text));
}

static int setup(void **state)
{
    char line[64];
    struct strbuf why;

    (void)state;
    if (getenv("PAWL_TRACE") != NULL) {
        logging_set_sink(print_line, NULL);
        logging_set_level(LOG_DEBUG);
    }
    always_snapshot = false;
    snprintf(top, sizeof(top), "%s/pawl-carrier-XXXXXX",
             getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR"));
    assert_non_null(mkdtemp(top));
    uv_loop_init(&loop);
    uv_async_init(&loop, &wake, on_wake);
    list_init(&notices);
    strbuf_init(&why, STRBUF_NO_LIMIT);
    quorum_config_init(&config);
    for (int i = 0; i < N; i++) {
        members[i] = (struct process){.sid = i + 1};
        list_init(&members[i].pending);
        list_init(&members[i].wanted);
        snprintf(members[i].folder, sizeof(members[i].folder), "%.100s/%d", top, i + 1);
        snprintf(line, sizeof(line), "%s:%d:%d:participant", own_address(), QUORUM_PORT + i,
                 ELECTION_PORT);
        assert_true(quorum_config_add_server(&config, i + 1, line, false, &why));
    }
    strbuf_fini(&why);
    return 0;
}

static int teardown(void **state)
{
    char command[256];

    (void)state;
    for (int i = 0; i < N; i++) {
        if (members[i].runs) {
            stop(&members[i]);
        }
    }
    deliver_notices();
    uv_close((uv_handle_t *)&wake, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    quorum_config_fini(&config);
    snprintf(command, sizeof(command), "rm -r %s", top);
    return system(command) == 0 ? 0 : -1;
}

static struct process *leader(void)
{
    for (int i = 0; i < N; i++) {
        if (members[i].runs && members[i].leads) {
            return &members[i];
        }
    }
    return NULL;
}

static bool all_serve(void)
{
    for (int i = 0; i < N; i++) {
        if (members[i].runs && !members[i].serves) {
            return false;
        }
    }
    return leader() != NULL;
}

/* A node named after its zxid. `skew`: the transaction has another one than its proposal. */
static void propose_skewed(size_t data_bytes, int64_t skew)
{
    static const uint8_t open_acl[] = "\0\0\0\x1f\0\0\0\5world\0\0\0\6anyone";
    struct process *m = leader();
    struct strbuf payload;
    uint8_t *data = must_zalloc(data_bytes + 1);
    char path[32];
    struct txn_header header = {.client_id = 1, .zxid = m->next_zxid + skew, .type = TXN_CREATE};
    struct txn_op op = {.type = TXN_CREATE,
                        .data = bytes_of(data, data_bytes),
                        .acl = {.count = 1, .elements = bytes_of(open_acl, sizeof(open_acl) - 1)},
                        .parent_cversion = -1};

    snprintf(path, sizeof(path), "/n%" PRIx64, (uint64_t)m->next_zxid);
    op.path = bytes_str(path);
    strbuf_init(&payload, STRBUF_NO_LIMIT);
    txn_header_write(&payload, &header);
    txn_op_write(&payload, &op);
    carrier_do(m->carrier, &(struct quorum_input){.kind = QUORUM_IN_PROPOSE,
                                                  .zxid = m->next_zxid++,
                                                  .bytes = strbuf_bytes(&payload)});
    strbuf_fini(&payload);
    free(data);
}

static void propose(size_t data_bytes)
{
    propose_skewed(data_bytes, 0);
}

static void propose_many(int n)
{
    for (int i = 0; i < n; i++) {
        propose((size_t)i * 37 % 3000);
        if (i % 10 == 0) {
            turn();
        }
    }
}

/* Everybody who runs has applied all that the leader proposed. */
static bool in_step(void)
{
    struct process *l = leader();

    for (int i = 0; l != NULL && i < N; i++) {
        if (members[i].runs && members[i].applied != l->next_zxid - 1) {
            return false;
        }
    }
    return l != NULL && all_serve();
}

static void expect_same_trees(void)
{
    struct process *l = leader();

    for (int i = 0; i < N; i++) {
        if (members[i].runs) {
            assert_int_equal(tree_count(members[i].tree), tree_count(l->tree));
            assert_true(tree_digest(members[i].tree) == tree_digest(l->tree));
        }
    }
}

static void start_all(void)
{
    for (int i = 0; i < N; i++) {
        if (!members[i].runs) {
            start(&members[i]);
        }
    }
    UNTIL(all_serve());
}

static void stop_all(void)
{
    for (int i = 0; i < N; i++) {
        if (members[i].runs) {
            stop(&members[i]);
        }
    }
}

static struct process *some_follower(void)
{
    for (int i = 0; i < N; i++) {
        if (members[i].runs && !members[i].leads) {
            return &members[i];
        }
    }
    return NULL;
}

/* ---- stories ---- */

static void three_elect_a_leader_and_keep_their_logs_in_step(void **state)
{
    (void)state;
    start_all();
    propose_many(200);
    UNTIL(in_step());
    expect_same_trees();
    stop_all(); /* and all of it is on disk */
    start_all();
    propose_many(10);
    UNTIL(in_step());
    expect_same_trees();
    assert_int_equal(tree_count(leader()->tree), 4 + 210);
}

static void who_missed_something_is_brought_up_to_date_from_the_log(void **state)
{
    struct process *late;

    (void)state;
    start_all();
    propose_many(20);
    UNTIL(in_step());
    late = some_follower();
    stop(late);
    propose_many(400); /* more than is kept in memory */
    UNTIL(in_step());
    late->n_replaced = 0; /* its first time may have been a snapshot */
    start(late);
    propose_many(20);
    UNTIL(in_step());
    expect_same_trees();
    assert_int_equal(late->n_replaced, 0); /* it was a DIFF */
}

/* A port that is taken, and at which nobody answers. */
static int take_port(const struct quorum_address *at)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)at->quorum_port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(inet_pton(AF_INET, at->host, &a.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

static void who_cannot_listen_leaves_the_lead_to_another(void **state)
{
    int fd = take_port(&config.member[N - 1].address[0]);

    (void)state;
    start_all(); /* they would elect the last one */
    assert_true(leader() != &members[N - 1]);
    propose_many(5);
    UNTIL(in_step());
    expect_same_trees();
    close(fd);
}

static void a_new_leader_goes_on_when_the_old_one_is_gone(void **state)
{
    struct process *old;

    (void)state;
    start_all();
    propose_many(50);
    UNTIL(in_step());
    old = leader();
    stop(old);
    UNTIL(leader() != NULL && all_serve());
    propose_many(50);
    UNTIL(in_step());
    start(old);
    propose_many(1);
    UNTIL(in_step());
    expect_same_trees();
    assert_int_equal(tree_count(old->tree), 4 + 101);
}

/* A snapshot, while transactions go on. */
static void a_snapshot_replaces_the_history_of_who_is_behind(void **state)
{
    struct process *late;

    (void)state;
    always_snapshot = true;
    start_all();
    propose_many(300);
    UNTIL(in_step());
    late = some_follower();
    stop(late);
    propose_many(300);
    UNTIL(in_step());
    leader()->slow_walk = true;
    late->n_replaced = 0;
    start(late);
    UNTIL(leader()->walk != NULL);
    propose_many(100);
    UNTIL(in_step());
    expect_same_trees();
    assert_int_equal(late->n_replaced, 1);
    stop_all();
    start_all();
    propose_many(1);
    UNTIL(in_step());
    expect_same_trees();
}

static void several_get_a_snapshot_at_once(void **state)
{
    struct process *l;

    (void)state;
    always_snapshot = true;
    start_all();
    propose_many(200);
    UNTIL(in_step());
    l = leader();
    for (int i = 0; i < N; i++) {
        if (&members[i] != l) {
            stop(&members[i]);
            start(&members[i]);
        }
    }
    UNTIL(all_serve());
    propose_many(1);
    UNTIL(in_step());
    expect_same_trees();
}

/* A disk that does nothing until it is allowed to. */
struct stuck_disk {
    struct log_job job;
    pthread_mutex_t lock;
    bool is_over;
};

static int run_stuck(struct log_job *job, struct txnlog *log)
{
    struct stuck_disk *d = container_of(job, struct stuck_disk, job);

    (void)log;
    pthread_mutex_lock(&d->lock);
    pthread_mutex_unlock(&d->lock);
    return PAWL_OK;
}

static void stuck_done(struct log_job *job)
{
    container_of(job, struct stuck_disk, job)->is_over = true;
}

/* What a leader sends does not pile up where it cannot be written. */
static void a_leader_waits_for_a_slow_disk(void **state)
{
    struct stuck_disk stuck = {.job = {.run = run_stuck, .done = stuck_done}};
    size_t backlog, most = 0;
    struct process *late;

    (void)state;
    start_all();
    propose(10);
    UNTIL(in_step());
    late = some_follower();
    stop(late);
    for (int i = 0; i < 60; i++) {
        propose(100000);
        turn();
    }
    UNTIL(in_step());
    pthread_mutex_init(&stuck.lock, NULL);
    pthread_mutex_lock(&stuck.lock);
    start(late);
    txnlog_thread_do(late->thread, &stuck.job);
    UNTIL(txnlog_thread_backlog(late->thread) > BACKLOG_BYTES);
    for (int i = 0; i < 200; i++) { /* it would have time for all of it */
        turn();
        usleep(1000);
        backlog = txnlog_thread_backlog(late->thread);
        most = backlog > most ? backlog : most;
    }
    pthread_mutex_unlock(&stuck.lock);
    assert_in_range(most, BACKLOG_BYTES, BACKLOG_BYTES + (512 << 10));
    UNTIL(stuck.is_over && in_step());
    expect_same_trees();
    pthread_mutex_destroy(&stuck.lock);
}

static void remove_log(const char *name, void *arg)
{
    struct process *m = arg;
    char path[FILE_PATH_BYTES];

    if (file_name_zxid(name, "log") >= 0) {
        file_path(path, STORE_FOLDER, name);
        assert_int_equal(disk_remove(m->disk, path), 0);
    }
}

/* Its files are gone while it leads: whoever needs them gets a snapshot instead. */
static void a_log_that_cannot_be_read_is_made_up_for_by_a_snapshot(void **state)
{
    struct process *late;

    (void)state;
    start_all();
    propose_many(20);
    UNTIL(in_step());
    late = some_follower();
    stop(late);
    propose_many(400);
    UNTIL(in_step());
    assert_int_equal(disk_list(leader()->disk, STORE_FOLDER, remove_log, leader()), 0);
    late->n_replaced = 0;
    start(late);
    propose_many(20);
    UNTIL(in_step());
    expect_same_trees();
    assert_true(late->n_replaced >= 1); /* once more each time it loses its leader on the way */
}

/* A transaction is on no disk but this one; then nobody runs. */
static void leave_alone_with_one_more(struct process *old)
{
    int64_t last;

    for (int i = 0; i < N; i++) {
        if (&members[i] != old) {
            stop(&members[i]);
        }
    }
    propose(10);
    last = old->next_zxid - 1;
    UNTIL(quorum_status(carrier_quorum(old->carrier)).durable_zxid == last);
    stop(old);
}

static void start_others(const struct process *old)
{
    for (int i = 0; i < N; i++) {
        if (&members[i] != old) {
            start(&members[i]);
        }
    }
    UNTIL(all_serve());
}

static void remove_history(const char *name, void *arg)
{
    struct disk *disk = arg;
    char path[FILE_PATH_BYTES];

    if (file_name_zxid(name, "log") >= 0 || file_name_zxid(name, "snapshot") >= 0) {
        file_path(path, STORE_FOLDER, name);
        assert_int_equal(disk_remove(disk, path), 0);
    }
}

/* What it has is in one snapshot now; the logs before it are purged. */
static void purge_all(struct process *m)
{
    struct snapshot_file_options options = {.folder = STORE_FOLDER};
    struct recovery_options recovery = {0};
    struct recovery_report report;
    struct tree *tree;
    struct disk *disk;

    assert_int_equal(disk_posix_open(m->folder, true, &disk), 0);
    assert_int_equal(recovery_load(disk, disk, &recovery, &tree, &report), 0);
    assert_int_equal(disk_list(disk, STORE_FOLDER, remove_history, disk), 0);
    assert_int_equal(snapshot_save(disk, &options, tree, report.last_zxid), 0);
    tree_free(tree);
    disk_posix_close(disk);
}

/* What only an old leader has is never to be seen again. */
static void what_no_quorum_has_is_cut_off(void **state)
{
    struct process *old;

    (void)state;
    start_all();
    propose_many(30);
    UNTIL(in_step());
    old = leader();
    leave_alone_with_one_more(old);
    start_others(old);
    old->n_replaced = 0;
    start(old);
    UNTIL(all_serve());
    assert_int_equal(old->n_replaced, 1);
    propose_many(5);
    UNTIL(in_step());
    expect_same_trees();
    assert_int_equal(tree_count(old->tree), 4 + 35);
    stop_all();
    start_all();
    propose_many(1);
    UNTIL(in_step());
    assert_int_equal(tree_count(old->tree), 4 + 36);
}

/* Its only snapshot has what is to be forgotten: it gets the whole tree instead. */
static void what_cannot_be_cut_off_is_replaced_as_a_whole(void **state)
{
    struct process *old;

    (void)state;
    start_all();
    propose_many(30);
    UNTIL(in_step());
    old = leader();
    leave_alone_with_one_more(old);
    purge_all(old);
    start_others(old);
    old->n_replaced = 0;
    start(old);
    UNTIL(all_serve());
    assert_true(old->n_replaced >= 1);
    propose_many(5);
    UNTIL(in_step());
    expect_same_trees();
    assert_int_equal(tree_count(old->tree), 4 + 35);
    stop_all();
    start_all();
    assert_int_equal(tree_count(old->tree), 4 + 35);
}

static void what_is_no_transaction_is_not_logged(void **state)
{
    struct process *follower;

    (void)state;
    start_all();
    propose_many(3);
    UNTIL(in_step());
    follower = some_follower();
    follower->n_stopped = 0;
    propose_skewed(10, 7);
    UNTIL(follower->n_stopped > 0); /* such a leader is not followed */
    assert_true(list_empty(&follower->pending));
    assert_int_equal(zxid_counter(follower->applied), 3);
}

int main(void)
{
#define STORY(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        STORY(three_elect_a_leader_and_keep_their_logs_in_step),
        STORY(who_missed_something_is_brought_up_to_date_from_the_log),
        STORY(who_cannot_listen_leaves_the_lead_to_another),
        STORY(a_new_leader_goes_on_when_the_old_one_is_gone),
        STORY(a_snapshot_replaces_the_history_of_who_is_behind),
        STORY(several_get_a_snapshot_at_once),
        STORY(a_log_that_cannot_be_read_is_made_up_for_by_a_snapshot),
        STORY(a_leader_waits_for_a_slow_disk),
        STORY(what_no_quorum_has_is_cut_off),
        STORY(what_cannot_be_cut_off_is_replaced_as_a_whole),
        STORY(what_is_no_transaction_is_not_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
