/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - a member bound to the machine: sockets, disk threads and the clock, on one libuv loop.
 *
 *   loop thread     clients' sockets and all of the member: tree, sessions, watches
 *   log thread      appends and syncs, see txnlog_thread.h
 *   snapshot thread writes snapshots, purges, see snapshot_thread.h
 *
 * Before the loop sleeps it hands the gathered transactions to the log thread, once, and writes to
 * every connection that has something to say, once. Several hosts may live in one process. */
#ifndef PAWL_DAEMON_HOST_H
#define PAWL_DAEMON_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "server/role.h"

struct config;
struct disk;
struct host;
struct quorum_config;
struct server;

enum { HOST_ERROR_BYTES = 1280 };

/* Why a host could not start or had to stop; `exit_code` is the daemon's. */
struct host_error {
    int code; /* PAWL_ERR_... */
    int exit_code;
    char text[HOST_ERROR_BYTES];
};

enum {
    EXIT_UNEXPECTED = 1,
    EXIT_INVALID_CONFIG = 2,
    EXIT_DATA_FOLDER = 3,
    EXIT_SNAPSHOT = 10,
    EXIT_ELECTION_PORT = 14,
};

struct host_options {
    /* Nothing is kept, and everything is gone at the end: not for a member among others, which
     * would forget what it has agreed to. */
    bool keeps_nothing;
    /* host_open() returns in any case: electionPortBindRetry=0, for ever, is three attempts. */
    bool is_embedded;
    /* In the place of the configured directories; outlives the host, and is cleared of what is not
     * needed any more after each snapshot. NULL: the directories. */
    struct disk *disk;
    /* On the host's thread, at the end of a turn. NULL: nobody wants to know. */
    void (*role_changed)(void *arg, enum role_kind role);
    void *arg;
};

/* Recovers the data folder and listens. The configuration must live as long as the host. */
int host_open(const struct config *config, const struct host_options *options, struct host **out,
              struct host_error *error);

/* Serves on the calling thread until host_stop(), or until the disk fails it. */
int host_run(struct host *h, struct host_error *error);

/* From any thread, or a signal handler's loop: host_run() returns soon. */
void host_stop(struct host *h);

/* SIGHUP: calls `change` on the host's own thread, where the configuration may be changed, then
 * takes over from it what may change in a running server. `change` is named before host_run();
 * host_reload() may then come from any thread. */
void host_on_reload(struct host *h, void (*change)(void *arg), void *arg);
void host_reload(struct host *h);

/* Something that another thread wants to be done where the server is. */
struct host_call {
    struct list link; /* the host's, until `fn` is called */
    /* On the host's thread, between two turns: clients wait for its end. */
    void (*fn)(struct host_call *call, struct server *s);
};

/* From any thread. A host that stops before it comes to it does not call it at all. */
void host_do(struct host *h, struct host_call *call);

/* How the host is, for who asks on another thread: nobody has to wait for an answer, above all not
 * when there would be none. */
struct host_health {
    int64_t turned_us; /* when its loop was last seen to turn, by clock_monotonic_us() */
    enum role_kind role;
    bool takes_clients;
};
void host_health(struct host *h, struct host_health *out);

/* The newest snapshot. On the host's thread. */
struct host_snapshot {
    int64_t zxid;      /* -1: none */
    int64_t written_s; /* since 1970; 0: not known */
};
struct host_snapshot host_last_snapshot(const struct host *h);

/* A snapshot of what is there when it is asked for, or later. */
struct host_snapshot_call {
    struct list link; /* the host's, like the next two */
    int64_t least_zxid;
    int n_tries;
    int rc; /* PAWL_OK: the file is in its place; then the next two tell which */
    int64_t zxid;
    char path[4096];
    void (*done)(struct host_snapshot_call *call); /* on the host's thread */
};

/* On the host's thread. `done` may be called before this returns; a host that stops does not call
 * it any more. */
void host_take_snapshot(struct host *h, struct host_snapshot_call *call);

/* After host_run() has returned. NULL is allowed. */
void host_close(struct host *h);
/* As if the process had been killed: what has not been given to the log yet is lost. */
void host_drop(struct host *h);

/* Who belongs to the ensemble now. On the host's thread. */
const struct quorum_config *host_members(const struct host *h);

int host_port(const struct host *h);                /* -1: no TCP listener */
int host_secure_port(const struct host *h);         /* -1: none for TLS */
const char *host_unix_socket(const struct host *h); /* NULL: none */

#endif
