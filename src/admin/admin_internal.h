/* SPDX-License-Identifier: Apache-2.0 */
/* admin_internal.h - what the files of the admin server share. Everything belongs to its thread,
 * except where another one is named. */
#ifndef PAWL_ADMIN_ADMIN_INTERNAL_H
#define PAWL_ADMIN_ADMIN_INTERNAL_H

#include <stdatomic.h>

#include "admin/admin.h"
#include "admin/commands.h"
#include "base/list.h"
#include "daemon/host.h"
#include "http/mhd.h"
#include "os/thread.h"

/* What all who ask together can make the server hold; links of each port. */
enum {
    ADMIN_LINKS_MAX = 128,
    ADMIN_LINKS_PER_ADDRESS = 64,
    ADMIN_LINK_BYTES = 16 * 1024, /* of a request's line and headers */
    ADMIN_BODY_MAX = 1024,        /* of a POST */
    ADMIN_ANSWER_MAX = 24 << 20,  /* of one */
    ADMIN_ANSWERS_MAX = 64 << 20, /* of all that are not sent yet: then no more are made */
    ADMIN_REQUEST_MS = 60 * 1000, /* from a request's headers to the end of its answer */
    ADMIN_STREAM_BYTES = 4 << 20, /* of a long one: each so many bytes have that time */
    ADMIN_WAIT_MS = 20 * 1000,    /* for the server's thread; then it is told that it waits */
    ADMIN_SHARE = 20,             /* one part in so many of that thread's processor time */
};

/* One listener. */
struct admin_port {
    struct admin *admin;
    const char *address;
    int wanted; /* 0: any */
    bool metrics_only;
    bool is_loopback;          /* then other sites' pages are kept out by the name they ask for */
    struct MHD_Daemon *daemon; /* NULL: the port cannot be had, or is not wanted */
    int64_t try_again_us;
};

/* What the server's thread is asked for, one at a time (answers.c). */
struct question {
    struct host_call call;
    struct admin *admin;
    bool is_asked;
    _Atomic bool is_answered; /* set by the server's thread, when it is done with all of this */
    const struct command *command; /* NULL: metrics */
    char spelled[64], trace_mask[64], ip[48];
    char authorization[512];
    bool has_trace_mask, has_authorization;
    uint8_t body[ADMIN_BODY_MAX];
    size_t body_len;
    struct strbuf out;
    int status;
    int64_t took_us;
    int64_t retry_after_s; /* of a status of 429 */
};

/* The snapshot that is being taken for somebody; one at a time (stream.c). */
struct taking {
    struct host_call call;
    struct host_snapshot_call taken;
    struct admin *admin;
    bool is_under_way;
    _Atomic bool is_done;   /* set by the server's thread, when it is done with all of this */
    struct exchange *asker; /* NULL: it has gone */
};

/* A snapshot that somebody sends, to take the place of all that the server has; one at a time
 * (restore.c).
 *
 *   IDLE -> RECEIVING -> CHECKING -> RESTARTING -> IDLE      each of them: -> IDLE, and all is as
 * it was
 */
enum restoring_state { RESTORE_IDLE, RESTORE_RECEIVING, RESTORE_CHECKING, RESTORE_RESTARTING };

struct restoring {
    struct admin *admin;
    enum restoring_state state;
    struct exchange *asker; /* NULL: it has gone */
    struct disk *disk, *log_disk;
    struct disk_file *file;
    uint64_t bytes, limit_bytes, counted;
    struct thread thread; /* of CHECKING */
    _Atomic bool is_checked;
    int rc; /* the thread's until it is checked, like the next */
    int64_t zxid;
};

struct admin_console;
struct front_exchange;

struct admin {
    const struct config *config;
    struct strbuf file_text; /* of zoo.cfg */
    bool has_file_text;
    struct thread thread;
    int wake_fd;                           /* any thread writes to it */
    _Atomic bool stop_wanted;              /* any thread's */
    struct host *_Atomic host;             /* NULL: it is being opened */
    struct admin_console *_Atomic console; /* NULL: not wanted, or not yet */
    struct admin_port ports[2];
    struct list links;   /* struct admin_link, the oldest first */
    struct list waiting; /* struct exchange, in the order in which they came */
    struct question question;
    struct taking taking;
    struct restoring restoring;
    _Atomic bool restart_wanted;
    _Atomic bool let_go_wanted; /* any thread's */
    struct lock let_go_lock;    /* guards has_let_go */
    struct condition let_go_done;
    bool has_let_go;
    struct command_limits limits; /* the server's thread's */
    int64_t ask_again_us;         /* not before that */
    size_t answer_bytes;          /* of answers that are not sent yet */
    uint64_t n_requests, n_refused, n_cut_off, n_asked;
    int64_t asked_us;         /* that the server's thread has spent on us */
    int64_t asked_longest_us; /* on one question */
};

/* ---- exchange.c: a request and its answer ---- */

/* A connection. */
struct admin_link {
    struct list link;
    int fd;
    int64_t since_us; /* when it came, or had its last answer; or when its request came */
    bool is_asking;   /* a request is there, and not answered to its end */
};

struct response;

enum exchange_state {
    EXCHANGE_TAKING,
    EXCHANGE_WAITING,
    EXCHANGE_ALLOWED, /* to send a file: libmicrohttpd comes once more before it does */
    EXCHANGE_SENDING, /* it */
    EXCHANGE_ANSWERED
};

struct exchange {
    struct list link; /* in `waiting` */
    struct admin_port *port;
    struct MHD_Connection *connection;
    enum exchange_state state;
    int64_t since_us;
    bool is_asked;                 /* the question under way is its own */
    const struct command *command; /* of those that wait; NULL: metrics */
    char spelled[64];
    uint8_t body[ADMIN_BODY_MAX];
    size_t body_len;
    bool body_too_long;
    struct front_exchange *front; /* of the console: all of it is there; NULL otherwise */
    struct response *response;    /* of ANSWERED, unless it is sent already */
    unsigned status;
};

bool exchange_listen(struct admin_port *port);

/* Its connection. */
struct admin_link *exchange_link(const struct exchange *x);

/* Those who take too long. libmicrohttpd waits as long as now and then a byte comes, or is taken.
 */
void exchange_cut_off_slow(struct admin *a, int64_t now_us);

/* An answer that several may have. */
struct response {
    struct MHD_Response *mhd;
    unsigned n_users;
};

/* With what MHD already has. */
struct response *response_from(struct MHD_Response *made, const char *type);

/* With what is in `body`, which is empty then. If that is too long, or there is too much already,
 * one that says so, and another status. */
struct response *response_new(struct admin *a, struct strbuf *body, const char *type,
                              unsigned *status);
void response_unref(struct response *r);

/* One that waits gets its answer; the response stays the caller's. */
void exchange_answer(struct exchange *x, unsigned status, struct response *response);

/* ---- stream.c: a snapshot, as a file ---- */

void stream_init(struct admin *a);

/* It may have one. It is no longer among those that wait. */
void stream_begin(struct admin *a, struct exchange *x);
void stream_turn(struct admin *a);
void stream_end(struct admin *a);

/* ---- restore.c: a snapshot comes in ---- */

void restore_init(struct admin *a);
void restore_fini(struct admin *a);

/* It may send one. It is no longer among those that wait. */
void restore_begin(struct admin *a, struct exchange *x);
bool restore_take(struct admin *a, const void *data, size_t len); /* false: hang up */
void restore_whole(struct admin *a);
void restore_turn(struct admin *a);
void restore_gone(struct admin *a, const struct exchange *x);
void restore_end(struct admin *a);

/* ---- answers.c: what only the server's thread can tell ---- */

void answers_init(struct admin *a);
void answers_fini(struct admin *a);

/* Takes what has come, gives up what took too long, asks for the next. */
void answers_turn(struct admin *a, int64_t now_us);

/* When it has something to ask; INT64_MAX: not before somebody comes, or wakes us. */
int64_t answers_next_us(const struct admin *a);

/* Nobody will answer any more. */
void answers_end(struct admin *a);

/* The one who was asked is gone, and another one will be there. */
void answers_let_go(struct admin *a);

#endif
