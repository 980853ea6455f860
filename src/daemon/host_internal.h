/* SPDX-License-Identifier: Apache-2.0 */
/* host_internal.h - what the files of a host share. */
#ifndef PAWL_DAEMON_HOST_INTERNAL_H
#define PAWL_DAEMON_HOST_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/map.h"
#include "daemon/audit_log.h"
#include "daemon/facts.h"
#include "daemon/host.h"
#include "daemon/log_jobs.h"
#include "daemon/logins.h"
#include "daemon/owners.h"
#include "daemon/peer_stream.h"
#include "daemon/peers.h"
#include "daemon/scrubber.h"
#include "daemon/secure.h"
#include "daemon/snapshot_thread.h"
#include "daemon/txnlog_thread.h"
#include "daemon/waker.h"
#include "member/ensemble.h"
#include "member/member.h"
#include "os/socket.h"
#include "store/recovery.h"

/* Encrypted bytes are read in shorter pieces, so that what they come to fits into one buffer of
 * plain ones together with the record that was begun before. */
enum { READ_BYTES = 256 * 1024, ENCRYPTED_BYTES = READ_BYTES - 32 * 1024 };

enum { LISTENER_PORT, LISTENER_UNIX, LISTENER_SECURE, MAX_LISTENERS };

/* What a listener's clients speak. */
enum link_kind { LINK_PLAIN, LINK_TLS, LINK_EITHER };

struct socket_peer;

struct listener {
    uv_poll_t poll;
    struct host *host;
    int fd; /* -1: not open */
    enum link_kind kind;
    struct socket_place place; /* of a Unix socket */
};

/* Both clocks as last read, and the loop's time then: reading them costs more than many a step. */
struct turn_clock {
    uint64_t loop_ms;
    int64_t us, wall_ms;
};

struct host {
    const struct config *config;
    struct host_options options;
    enum role_kind role_told; /* to role_changed() */
    uv_loop_t loop;
    uv_prepare_t before_sleep;
    uv_check_t after_sleep;
    uv_idle_t busy; /* active while there is work without any input: the loop does not sleep */
    uv_timer_t tick;
    bool tick_is_due;
    int64_t looked_us; /* when the loop last began to look at all sockets */
    struct turn_clock now;
    uv_timer_t purge;
    uv_timer_t refresh; /* of the facts */
    uv_timer_t reap;
    int64_t reap_planned_us; /* what that timer is set to; INT64_MAX: not set */
    uv_timer_t accept_again;
    struct waker wake;
    struct listener listeners[MAX_LISTENERS];
    bool accepting_paused; /* then accept_again runs */
    int accept_error;      /* why, if it was not the reserve: errno of accept(2) */
    int port;
    struct {           /* where clients connect, or are to: the list of members has a say in it */
        char *address; /* NULL: everywhere */
        int port;
        bool is_due;
        int64_t next_ms; /* when it is tried again */
    } place;
    int secure_port; /* -1: none */
    _Atomic bool stop_wanted;
    _Atomic bool reload_wanted;
    void (*reload_fn)(void *arg);
    void *reload_arg;
    bool stopping;
    struct host_error error;

    pthread_mutex_t calls_lock; /* guards calls */
    struct list calls;          /* struct host_call, of other threads */
    _Atomic bool has_calls;     /* the loop has not looked since one came */
    _Atomic int64_t turned_us;  /* these three are host_health()'s */
    _Atomic int role_shown;
    _Atomic bool takes_clients;

    struct disk *data_disk;
    struct disk *log_disk; /* the same one, unless dataLogDir differs */
    struct disk_lock *data_lock;
    struct disk_lock *log_lock;
    struct txnlog_thread *txnlog;      /* NULL: nothing is kept */
    struct snapshot_thread *snapshots; /* NULL: nothing is kept */
    uint64_t n_snapshots;              /* finished ones that the member was told of */
    struct list snapshot_calls;        /* struct host_snapshot_call */
    struct host_snapshot last_snapshot;
    int64_t n_syncs_seen;
    int64_t load_ms; /* how long the folder took to load, and what was replayed */
    struct recovery_report loaded;
    bool had_diverged; /* the folder is marked (store/mark.h) */
    bool had_damage;   /* so it is, and had_diverged does not count */

    struct election_ports election_ports; /* until the peers have them */
    struct history history;               /* as recovered */
    int64_t first_log;                    /* the quorum knows that logs before it are purged */
    bool members_changed;                 /* and not everybody was told */
    struct dynamic_files *lists;          /* of members; NULL: these do not change */
    struct log_jobs jobs;
    struct peers *peers; /* NULL: it stands alone */

    struct member *member;
    struct owners *owners; /* NULL: sessions end by their timeouts only */
    struct facts facts;
    struct scrubber scrubber;
    struct member_effects effects;
    struct list links;
    size_t n_links;
    struct map addresses; /* connections per address, for maxClientCnxns */
    uint8_t *buffer;      /* READ_BYTES, shared by all links */

    struct secure secure;
    struct logins logins;
    struct audit_log audit_log;
    struct audit audit;
    struct secure member_secure;
    struct peer_tls peer_tls; /* its rules, for peers */
    struct {                  /* links whose clients are not known yet: link_opening.c */
        struct list list;
        size_t n;
        int n_steps;     /* of handshakes, in this turn */
        uint8_t *buffer; /* ENCRYPTED_BYTES, shared by all links; NULL without TLS */
    } openings;
};

/* One step of the member, now. */
void host_step(struct host *h, const struct member_input *in);
/* What was appended goes to the log. */
void host_hand_over(struct host *h);
/* The same for one of many in a row: the clocks are read once for all that the loop found in the
 * same millisecond. */
void host_step_together(struct host *h, const struct member_input *in);
void host_fail(struct host *h, int code, int exit_code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

int host_set_error(struct host_error *error, int code, int exit_code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* host_marks.c: what was loaded up to `zxid` may be refused, or be good for nothing but to be
 * replaced: had_diverged, had_damage. */
int host_look_for_marks(struct host *h, int64_t zxid, struct host_error *error);

/* host_ports.c */
int host_read_secrets(struct host *h, struct host_error *error);
int host_take_ports(struct host *h, struct host_error *error);
int host_take_unix_socket(struct host *h, struct host_error *error);
int host_open_audit_log(struct host *h, struct host_error *error);
/* Now and then, or (`now`) in any case: whether there are new ones, and how long they are valid. */
void host_look_at_certificates(struct host *h, bool now);

/* host_ensemble.c: does nothing for a server that stands alone. */
int host_take_election_port(struct host *h); /* socket_last_error() tells */
/* The line of a mark, of MARK_TEXT_BYTES. */
void host_describe_difference(char *text, int64_t zxid, const char *what);
void host_note_record(const struct txnlog_record *record, void *arg);
void host_ensemble_place(struct host *h, struct member_ensemble *out);
int host_ensemble_join(struct host *h, int64_t zxid, char *reason, size_t reason_bytes);
void host_ensemble_durable(struct host *h, int64_t zxid);
/* Logs from before `first_log` are purged. */
void host_ensemble_trimmed(struct host *h, int64_t first_log);
void host_ensemble_flush(struct host *h);
void host_ensemble_tick(struct host *h);
void host_ensemble_free(struct host *h);

/* host_snapshots.c: those that somebody asks for. */
bool host_snapshot_is_wanted(const struct host *h);
void host_snapshot_written(struct host *h);
void host_snapshot_failed(struct host *h, int rc);
/* Now and then: nothing is under way, and yet somebody waits. */
void host_look_at_wanted(struct host *h);

/* acceptor.c: clients connect there from now on. If it cannot be had, it is tried again, and they
 * still find the old place. Where --port says something, that counts. */
void acceptor_move(struct host *h, const char *address, int port);
void acceptor_move_again(struct host *h); /* every tick */
/* takes connections from the listening socket `fd` from now on, as listeners[index]. */
void acceptor_start(struct host *h, int index, int fd);
/* A Unix socket whose name was removed cannot be connected to: it is made again. */
void acceptor_keep_place(struct host *h);

/* link.c: clients' sockets */
void link_open(struct host *h, int fd, const struct socket_peer *from, enum link_kind kind);
/* link_opening.c: those that take too long to say who they are are closed. */
void link_end_late_openings(struct host *h);
/* Sends what touched connections have to say, and closes those that are done. */
void link_flush_touched(struct host *h);
void link_close_all(struct host *h);

#endif
