/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the plain structs that calls take and give back.
 *
 * Structs that you fill in begin with `size`: set it to sizeof the struct (the PAWL_... macros do),
 * and a program compiled against this header goes on working with a library whose structs have
 * grown. What you do not mention is zero, and zero always means "the usual". */
#ifndef PAWL_TYPES_H
#define PAWL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "pawl/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that somebody else owns. `data` NULL is "no data at all", which ZooKeeper keeps apart from
 * empty data; use a non-NULL pointer with len 0 for the latter. */
struct pawl_bytes {
    const void *data;
    size_t len;
};

/* The bytes of a text, without its end; lent. NULL: no bytes. */
PAWL_API struct pawl_bytes pawl_str(const char *text);

/* Under which condition a write is done. All zero: under any. Otherwise made by pawl_version(), and
 * by nothing else: what is not is BAD_ARGUMENTS. */
struct pawl_condition {
    int64_t mark, version;
};

/* Only if the version is `version`, which may be 0. -1 is any version, as in ZooKeeper. */
PAWL_API struct pawl_condition pawl_version(int64_t version);

struct pawl_strings {
    const char *const *items;
    size_t n;
};

/* What the server knows of a node. Times are milliseconds since 1970 on the server's clock. */
struct pawl_stat {
    int64_t czxid;           /* the transaction that created it: unique, grows; use it as a token */
    int64_t mzxid;           /* the one that last changed its data */
    int64_t ctime;           /* when created */
    int64_t mtime;           /* when its data last changed */
    int32_t version;         /* changes of its data */
    int32_t cversion;        /* creations and deletions of children */
    int32_t aversion;        /* changes of its ACL */
    int64_t ephemeral_owner; /* session id; 0 for nodes that outlive their session */
    int32_t data_length;
    int32_t n_children;
    int64_t pzxid; /* the last change of its list of children */
};

enum pawl_perms {
    PAWL_PERM_READ = 1,
    PAWL_PERM_WRITE = 2,
    PAWL_PERM_CREATE = 4,
    PAWL_PERM_DELETE = 8,
    PAWL_PERM_ADMIN = 16,
    PAWL_PERM_ALL = 31
};

struct pawl_acl {
    int32_t perms;
    const char *scheme; /* "world", "digest", "ip", "auth", "sasl", "x509" */
    const char *id;
};

struct pawl_acls {
    const struct pawl_acl *items;
    size_t n;
};

/* Who the server takes us for (whoami). */
struct pawl_id {
    const char *scheme;
    const char *id;
};

struct pawl_ids {
    const struct pawl_id *items;
    size_t n;
};

enum pawl_mode {
    PAWL_MODE_PERSISTENT = 0,
    PAWL_MODE_EPHEMERAL = 1,  /* gone with our session */
    PAWL_MODE_SEQUENTIAL = 2, /* the server appends ten digits */
    PAWL_MODE_EPHEMERAL_SEQUENTIAL = 3,
    PAWL_MODE_CONTAINER = 4, /* removed by the server some time after its last child */
    PAWL_MODE_TTL = 5,       /* removed when unchanged and childless for ttl_ms */
    PAWL_MODE_TTL_SEQUENTIAL = 6
};

/* What became of a request. Only with PAWL_OUTCOME_UNKNOWN may a failed write have happened. */
enum pawl_outcome {
    PAWL_OUTCOME_DONE = 0, /* the server did it: err is PAWL_OK */
    PAWL_OUTCOME_REFUSED,  /* the server, or this library, refused it: nothing has changed */
    PAWL_OUTCOME_NOT_SENT, /* it never left this process whole: nothing has changed */
    PAWL_OUTCOME_UNKNOWN   /* it was sent, and no answer came; or it takes several requests
                            * (PAWL_OP_PARENTS, PAWL_OP_OR_SET, PAWL_OP_CHILDREN_TOO), and some of
                            * them have been executed, or may have been */
};

/* What came back. Lent to a callback until it returns; from a blocking call it is yours, for
 * pawl_reply_free(). Which fields count depends on the call; the others are zero. */
struct pawl_reply {
    int err; /* PAWL_OK, or why it failed */
    enum pawl_outcome outcome;
    int64_t zxid;           /* the last transaction that the server had applied when it answered */
    const char *path;       /* create: the name that was made; sync: the path */
    struct pawl_bytes data; /* get, config, reconfig */
    struct pawl_stat stat;
    struct pawl_strings children; /* names, unsorted; ephemerals: whole paths */
    struct pawl_acls acls;
    struct pawl_ids ids;                     /* whoami */
    int64_t number;                          /* all-children count */
    const struct pawl_reply *const *results; /* multi: one per operation */
    size_t n_results;
};

/* Curator's states of a connection.
 *
 *   (start) -> CONNECTED -> SUSPENDED -> RECONNECTED -> SUSPENDED -> ... -> LOST -> RECONNECTED
 *
 * CONNECTED comes once, RECONNECTED after every other loss. SUSPENDED: the link is down; the
 * session, and with it ephemeral nodes and locks, may still be alive. LOST: the session is gone, or
 * must be taken for gone because SUSPENDED lasted as long as the session may live without us; a new
 * one is begun, and RECONNECTED follows when it stands. READ_ONLY: linked to a server that is cut
 * off from its ensemble and answers reads only. CLOSED is the last of all. */
enum pawl_state {
    PAWL_STATE_CONNECTING = 0, /* before the first CONNECTED; never announced */
    PAWL_STATE_CONNECTED,
    PAWL_STATE_SUSPENDED,
    PAWL_STATE_RECONNECTED,
    PAWL_STATE_LOST,
    PAWL_STATE_READ_ONLY,
    PAWL_STATE_CLOSED
};

/* "CONNECTED"; "UNKNOWN" for a number that is no state. Static memory. */
PAWL_API const char *pawl_state_name(enum pawl_state state);

enum pawl_event_type {
    PAWL_EVENT_SESSION = -1, /* the watch has ended with its session: see `state` */
    PAWL_EVENT_CREATED = 1,
    PAWL_EVENT_DELETED = 2,
    PAWL_EVENT_DATA_CHANGED = 3,
    PAWL_EVENT_CHILDREN_CHANGED = 4,
    PAWL_EVENT_WATCH_REMOVED = 5, /* by pawl_unwatch() */
    PAWL_EVENT_GAP = 6            /* of pawl_watch(): changes may not have been told, see there */
};

struct pawl_event {
    enum pawl_event_type type;
    enum pawl_state state;
    const char *path; /* of the node that changed; of the watch for SESSION, WATCH_REMOVED, GAP */
    int64_t zxid;     /* the transaction, if the server sent it; else -1 */
};

/* Lent until the callback returns. */
typedef void (*pawl_reply_fn)(const struct pawl_reply *reply, void *arg);
typedef void (*pawl_event_fn)(const struct pawl_event *event, void *arg);

/* Whom to tell of changes. The same function and argument twice on one path count as one. */
struct pawl_watch {
    pawl_event_fn fn;
    void *arg;
};

#ifdef __cplusplus
}
#endif

#endif
