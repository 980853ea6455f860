/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - talking to a Pawl or ZooKeeper server, or to an ensemble of them.
 *
 *     struct pawl_client *c;
 *     struct pawl_reply *reply;
 *
 *     if (pawl_open("a:2181,b:2181,c:2181/app", &c) != PAWL_OK) {
 *         fprintf(stderr, "%s\n", pawl_open_error());
 *         return 1;
 *     }
 *     if (pawl_get(c, "/config", NULL, &reply) == PAWL_OK) {
 *         fwrite(reply->data.data, 1, reply->data.len, stdout);
 *     } else {
 *         fprintf(stderr, "/config: %s\n", pawl_strerror(reply->err));
 *     }
 *     pawl_reply_free(reply);
 *     pawl_client_close(c);
 *
 * PROMISES
 *
 * Threads. Every function may be called from any thread at any time, except that a handle must not
 * be used after its close has been called.
 *
 * Callbacks run one at a time, in the order in which the server answered and events came, exactly
 * once each, and never from inside the call that registered them (on another thread one may begin
 * before that call has returned). By default they run on a thread of the library kept for them: a
 * slow one delays later callbacks, never the heartbeat, and may make blocking calls. What a
 * callback is given is lent until it returns. Closing the client inside a callback is allowed; what
 * the library still holds goes when the callback returns.
 *
 * Deadlines. Every call ends: with an answer, or after its timeout with
 * PAWL_ERR_OPERATION_TIMEOUT. The timeout is `timeout_ms` of the options, of a view, or of the
 * call's own struct. While the link is down calls wait for it, within their timeout.
 *
 * Failed writes say which of three it was: pawl_reply.outcome. A write that was tried more than
 * once and failed is UNKNOWN as soon as one of the attempts was.
 *
 * Memory. When it runs out a call returns PAWL_ERR_NO_MEMORY; nothing aborts. NULL is allowed in
 * every _free and close.
 *
 * Fork. A child gets PAWL_ERR_FORKED from handles it inherited (closing them is allowed) and can
 * open its own. */
#ifndef PAWL_CLIENT_H
#define PAWL_CLIENT_H

#include "pawl/error.h"
#include "pawl/log.h"
#include "pawl/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_client;
struct pawl_multi;

/* ---- retry ---- */

/* What to do when the link fails under a call. Applied to what may be repeated: reads, whatever was
 * not sent, and writes that carry PAWL_OP_PROTECTED or PAWL_OP_IDEMPOTENT; other writes whose
 * outcome is unknown are reported. The pauses end early when the link is back. */
enum pawl_retry_kind {
    PAWL_RETRY_NONE = 0,
    PAWL_RETRY_N_TIMES,     /* n times, pause_ms apart */
    PAWL_RETRY_EXPONENTIAL, /* n times (at most 29); pauses of pause_ms x random(1..2^attempt) */
    PAWL_RETRY_BOUNDED,     /* the same, no pause above max_pause_ms */
    PAWL_RETRY_UNTIL,       /* for elapsed_ms, pause_ms apart */
    PAWL_RETRY_FOREVER      /* pause_ms apart; still within the call's timeout; and also when a
                             * read-only server refuses: the next one may not */
};

struct pawl_retry {
    enum pawl_retry_kind kind;
    int n;
    int pause_ms;
    int max_pause_ms;
    int elapsed_ms;
};

/* The pause before retry number `attempt` (from 0), `elapsed_ms` after the first try; -1: give up.
 * `random` is any number. What the library itself uses. */
PAWL_API int64_t pawl_retry_pause(const struct pawl_retry *retry, int attempt, int64_t elapsed_ms,
                                  uint64_t random);

/* ---- opening and closing ---- */

enum pawl_dispatch {
    PAWL_DISPATCH_THREAD = 0, /* callbacks on a thread of the library */
    PAWL_DISPATCH_POLLED,     /* callbacks inside pawl_client_dispatch(); I/O on a thread */
    PAWL_DISPATCH_EXTERNAL    /* no threads: your loop calls pawl_client_process() */
};

enum pawl_client_flags {
    PAWL_CLIENT_READ_ONLY = 1,     /* a read-only server is better than none */
    PAWL_CLIENT_ONE_SESSION = 2,   /* after LOST stay lost: every call gives SESSION_EXPIRED */
    PAWL_CLIENT_FOLLOW_CONFIG = 4, /* take the list of servers from /zookeeper/config */
    PAWL_CLIENT_COMPRESS = 8       /* gzip all data, both ways (Curator's enableCompression) */
};

typedef void (*pawl_state_fn)(struct pawl_client *c, enum pawl_state state, void *arg);

/* One finished request, for whatever counts them. Called where the request ends, before its
 * callback; must be quick and must not call the library. */
struct pawl_metric {
    const char *op; /* "getData" */
    int err;
    enum pawl_outcome outcome;
    int64_t took_us;
    size_t bytes_in;
    int attempts; /* 1: at the first try */
};
typedef void (*pawl_metric_fn)(const struct pawl_metric *metric, void *arg);

/* The ACL of nodes created without one. Fills `out` with something that lives as long as the
 * client; `path` is whole, namespace included. */
typedef void (*pawl_acl_fn)(const char *path, struct pawl_acls *out, void *arg);

struct pawl_auth {
    const char *scheme;     /* "digest" */
    struct pawl_bytes auth; /* "user:password" */
};

/* ---- TLS ---- */

enum pawl_tls_version {
    PAWL_TLS_DEFAULT = 0, /* 1.2 and newer */
    PAWL_TLS_1_2 = 12,
    PAWL_TLS_1_3 = 13
};

enum pawl_tls_flags {
    PAWL_TLS_ANY_NAME = 1 /* whoever has a trusted certificate is the server, whatever its name */
};

/* For servers that are given as "zks://...". All of it may be left at zero: then whom the system
 * trusts is trusted, the name or address in the list of servers must be in the certificate, and we
 * show none. Files are read once, by pawl_client_open(); PEM or PKCS#12. */
struct pawl_tls_options {
    size_t size;
    const char *ca_file;          /* who may have signed the server's certificate */
    const char *certificate_file; /* ours, with its chain, for servers that ask for one */
    const char *key_file;         /* its key; NULL: in certificate_file */
    const char *key_password;     /* of the key, or of a PKCS#12 file */
    const char *server_name;      /* to be found in the certificate in the place of the host's */
    enum pawl_tls_version min_version;
    int flags; /* PAWL_TLS_... */
};
#define PAWL_TLS_OPTIONS(...) PAWL_SIZED(pawl_tls_options, __VA_ARGS__)
PAWL_SIZED_TYPE(tls_options)

/* ---- SASL ---- */

/* Who we are, by DIGEST-MD5: shown on every link before anything else is sent, and the server shows
 * that it knows the password, too. One of three is to be given. Files are read once, by
 * pawl_client_open(). What is said afterwards is neither hidden nor protected: for that there is
 * zks://, with SASL inside. */
struct pawl_sasl_options {
    size_t size;
    const char *name, *password; /* both, or: */
    const char *login_file;      /* a file with the line NAME:PASSWORD, or: */
    const char *jaas_file;       /* a JAAS file of ZooKeeper's Java clients */
    const char *jaas_section;    /* of it; NULL: "Client" */
};
#define PAWL_SASL_OPTIONS(...) PAWL_SIZED(pawl_sasl_options, __VA_ARGS__)
PAWL_SIZED_TYPE(sasl_options)

struct pawl_client_options {
    size_t size; /* set by pawl_client_options_init() and PAWL_CLIENT_OPTIONS() */
    /* "host:port,[::1]:port,name/chroot"; the port is 2181 if none is given, and a chroot goes in
     * front of every path. "zks://host:port,..." is the same with TLS, where the port is 2281 if
     * none is given. "unix:/path/to/socket" and "local:DIR" are possible, too. */
    const char *servers;
    int session_timeout_ms; /* what we ask for: so long others wait for what a process that died has
                             * held; default 10000 */
    int connect_timeout_ms; /* per attempt; default: session timeout / max(3, servers) */
    int timeout_ms;         /* of every call; default 15000; -1: none */
    int close_timeout_ms;   /* default 5000 */
    int lost_percent;       /* LOST after this part of the session's timeout; default 100 */
    int flags;              /* PAWL_CLIENT_... */
    enum pawl_dispatch dispatch;
    pawl_state_fn on_state; /* a first listener, told of everything from the start */
    void *on_state_arg;
    const char *name_space; /* Curator's: in front of every path, made on demand */
    struct pawl_retry retry;
    const struct pawl_auth *auths; /* sent before anything else, on every connection */
    size_t n_auths;
    struct pawl_acls acls; /* default ACL; none: everybody may do everything */
    pawl_acl_fn acl_provider;
    void *acl_provider_arg;
    pawl_log_fn log; /* NULL: silence */
    void *log_arg;
    enum pawl_log_level log_level;
    pawl_metric_fn metric;
    void *metric_arg;
    size_t
        max_request_bytes; /* larger requests are TOO_LARGE; default 1 MiB less one, the server's */
    size_t max_reply_bytes;   /* larger replies are TOO_LARGE, and skipped; default 64 MiB */
    struct pawl_bytes attach; /* what pawl_client_detach() gave: go on with that session */
    uint64_t seed;            /* of everything random; 0: from the system */
    const struct pawl_tls_options *tls;   /* of zks://; NULL: all of it at zero */
    const struct pawl_sasl_options *sasl; /* NULL: without SASL */
};
#define PAWL_CLIENT_OPTIONS(...) PAWL_SIZED(pawl_client_options, __VA_ARGS__)
PAWL_SIZED_TYPE(client_options)

PAWL_API void pawl_client_options_init(struct pawl_client_options *options);

/* The short way: the usual options, warnings to stderr (pawl_log_stderr()), and a session when it
 * returns PAWL_OK; OPERATION_TIMEOUT when there was none within 15 s. */
PAWL_API int pawl_open(const char *servers, struct pawl_client **out);

/* Returns at once; the connection is made in the background. Copies what it is given. Fails with
 * BAD_ARGUMENTS (the servers cannot be parsed, a bad path), NO_MEMORY or SYSTEM. */
PAWL_API int pawl_client_open(const struct pawl_client_options *options, struct pawl_client **out);

/* What the last pawl_open() or pawl_client_open() of this thread that failed did not like, in
 * words: "localhost:99999: the port is not a number from 1 to 65535". Empty if none has failed. */
PAWL_API const char *pawl_open_error(void);

/* Waits until there is a session; OPERATION_TIMEOUT if there is none in time (-1: for ever),
 * SESSION_EXPIRED when there will be none any more (PAWL_CLIENT_ONE_SESSION). */
PAWL_API int pawl_client_wait_connected(struct pawl_client *c, int timeout_ms);

/* Ends the session, so that its ephemeral nodes go now. Every open callback runs, with
 * PAWL_ERR_CLOSING if need be, before it returns; but it returns within close_timeout_ms even when
 * the server does not answer or a callback does not end. The threads of the handle have ended then,
 * too: before dlclose() or a look for leaks, close from a thread of your own. Exceptions: closed
 * from inside a callback they end soon after that callback; when the time was up, soon after the
 * callback that held them; and a thread that looks up a name ends when the resolver answers.
 * A view is just freed. */
PAWL_API void pawl_client_close(struct pawl_client *c);
PAWL_API void pawl_client_close_within(struct pawl_client *c, int timeout_ms);

/* Closes the handle but leaves the session alive, to be taken up by `options.attach` in another
 * process image (or later in this one) within the session's timeout. `extra`, up to 64 KiB of
 * yours, travels in the blob. The blob is a secret while the session lives; free() it. Open calls
 * end with CLOSING. Places in queues travel along, held and waiting ones: who acquires the same
 * lock, or starts the same latch or selector, after attaching goes on with the node and the token
 * that are there; what he does not take up stays in the tree with the session. Calls in flight are
 * waited for, up to half of close_timeout_ms; what a protected create may have made without an
 * answer, and what a guaranteed delete was to delete, is removed by the handle that attaches. With
 * an error nothing has been closed: INVALID_STATE when there is no session, CLOSING when somebody
 * else is closing it. */
PAWL_API int pawl_client_detach(struct pawl_client *c, struct pawl_bytes extra, void **blob,
                                size_t *len);

/* The `extra` in a blob, a view into it; BAD_ARGUMENTS when it is none. */
PAWL_API int pawl_blob_extra(struct pawl_bytes blob, struct pawl_bytes *extra);

/* ---- views ---- */

/* Another face of the same connection: its calls live in a namespace, or have another timeout or
 * another retry policy. Zero fields: as `c` has them. */
struct pawl_view_options {
    size_t size;
    const char *name_space; /* "" for none; relative to the chroot */
    int timeout_ms;
    const struct pawl_retry *retry;
};
#define PAWL_VIEW_OPTIONS(...) PAWL_SIZED(pawl_view_options, __VA_ARGS__)
PAWL_SIZED_TYPE(view_options)

/* The view is freed by pawl_client_close(); the connection lives until its own handle is closed,
 * and calls through a view then give CLOSING. */
PAWL_API int pawl_client_view(struct pawl_client *c, const struct pawl_view_options *options,
                              struct pawl_client **out);

/* ---- what is going on ---- */

PAWL_API enum pawl_state pawl_client_state(const struct pawl_client *c);
PAWL_API int64_t pawl_client_session_id(const struct pawl_client *c);
PAWL_API int pawl_client_session_timeout_ms(const struct pawl_client *c); /* as negotiated */

/* How much longer the session is certain to exist, by our clock, which goes on while the machine
 * sleeps (and time that only the wall clock tells of has passed, too): counted from a moment at
 * which the leader of the ensemble has heard of us or later, see grant.h. 0: not certain. Pings do
 * not make it longer. It is kept up by other requests while a grant is held or waited for, and for
 * one session timeout after this was last asked: who asks seldom may get 0 first. */
PAWL_API int64_t pawl_client_certain_ms(const struct pawl_client *c);

/* "host:port" of the server, copied; empty when there is none. */
PAWL_API void pawl_client_server(const struct pawl_client *c, char *out, size_t size);

/* Why there is no link, in words and with the address: "127.0.0.1:2181: Connection refused". Empty
 * while there is one. Logged as a warning, once per change. */
PAWL_API void pawl_client_last_error(const struct pawl_client *c, char *out, size_t size);

/* Ends every blocking call of the handle, those that wait now and those made from now on, with
 * PAWL_ERR_CANCELLED, until pawl_client_resume(); what became of a write is in its outcome, and a
 * place in a queue is given up. For Ctrl-C: it may be called inside a signal handler. Without it a
 * signal does not end a blocking call. Closing works as always, and asynchronous calls go on.
 *
 *     static struct pawl_client *c;
 *
 *     static void on_signal(int number)
 *     {
 *         (void)number;
 *         pawl_client_interrupt(c);
 *     }
 *     ...
 *     signal(SIGINT, on_signal);
 *     if (pawl_lock_acquire(lock, -1) == PAWL_ERR_CANCELLED) {
 *         puts("interrupted");
 *     }
 */
PAWL_API void pawl_client_interrupt(struct pawl_client *c);
PAWL_API void pawl_client_resume(struct pawl_client *c);

/* Told of every change of state from now on, on the thread of callbacks. Removing one waits until
 * it is not running any more, except from inside a callback. */
PAWL_API int pawl_client_add_listener(struct pawl_client *c, pawl_state_fn fn, void *arg);
PAWL_API void pawl_client_remove_listener(struct pawl_client *c, pawl_state_fn fn, void *arg);

/* Another list of servers (no chroot in it). A handle that was opened with zks:// goes on with TLS,
 * whether the list says so or not, and takes no Unix socket; one that was not cannot begin with it.
 * Whether we move follows ZooKeeper's rule: as few moves as give every server its share of the
 * clients. */
PAWL_API int pawl_client_set_servers(struct pawl_client *c, const char *servers);

/* ---- operations ----
 *
 * Each exists twice. The blocking one returns reply->err and, if `out` is not NULL, a reply to be
 * freed, also when the operation failed; NULL only without memory or on a bad handle. The
 * asynchronous one returns PAWL_OK when `done` will be called, and an error when it will not;
 * `done` may be NULL. */

PAWL_API void pawl_reply_free(struct pawl_reply *reply);

enum pawl_op_flags {
    PAWL_OP_PARENTS = 1,           /* create: make missing parents, persistent, with default ACLs,
                                    * but not the chroot: NO_NODE when that is missing */
    PAWL_OP_CONTAINER_PARENTS = 2, /* ... as containers */
    PAWL_OP_PROTECTED = 4,         /* create: the name carries an id; a retry looks for it first */
    PAWL_OP_OR_SET = 8,            /* create: set the data if the node exists */
    PAWL_OP_IDEMPOTENT = 16,       /* create, set, delete: what has been done already is success */
    PAWL_OP_COMPRESS = 32,         /* create, set: gzip the data */
    PAWL_OP_CHILDREN_TOO = 64,     /* delete: with everything below */
    PAWL_OP_GUARANTEED = 128       /* delete: if the link fails or time is up go on trying in the
                                    * background; never a node that was made after the call was, nor
                                    * one made by others since this client last had an answer */
};

struct pawl_create {
    size_t size;
    const char *path;
    struct pawl_bytes data;
    enum pawl_mode mode;
    int64_t ttl_ms;        /* PAWL_MODE_TTL, PAWL_MODE_TTL_SEQUENTIAL */
    struct pawl_acls acls; /* none: the client's default */
    int flags;
    int timeout_ms; /* 0: the client's */
};

struct pawl_set {
    size_t size;
    const char *path;
    struct pawl_bytes data;
    struct pawl_condition only_if; /* pawl_version(v): only if the node has that version */
    int flags;
    int timeout_ms;
};

struct pawl_delete {
    size_t size;
    const char *path;
    struct pawl_condition only_if;
    int flags;
    int timeout_ms;
};

struct pawl_set_acl {
    size_t size;
    const char *path;
    struct pawl_acls acls;
    struct pawl_condition only_if; /* pawl_version(v): of the ACL (stat.aversion) */
    int timeout_ms;
};

#define PAWL_CREATE(...)  PAWL_SIZED(pawl_create, __VA_ARGS__)
#define PAWL_SET(...)     PAWL_SIZED(pawl_set, __VA_ARGS__)
#define PAWL_DELETE(...)  PAWL_SIZED(pawl_delete, __VA_ARGS__)
#define PAWL_SET_ACL(...) PAWL_SIZED(pawl_set_acl, __VA_ARGS__)
PAWL_SIZED_TYPE(create)
PAWL_SIZED_TYPE(set)
#if defined(__cplusplus)
namespace pawl
{
typedef sized<struct ::pawl_delete> remove; /* "delete" is a word of the language */
}
#endif
PAWL_SIZED_TYPE(set_acl)

/* reply: path, and stat */
PAWL_API int pawl_create(struct pawl_client *c, const struct pawl_create *req,
                         struct pawl_reply **out);
PAWL_API int pawl_create_async(struct pawl_client *c, const struct pawl_create *req,
                               pawl_reply_fn done, void *arg);

/* reply: data, stat. `watch` NULL: none. The watch fires once, at the next change of the data or
 * the deletion of the node; it is set only if the call succeeds. */
PAWL_API int pawl_get(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                      struct pawl_reply **out);
PAWL_API int pawl_get_async(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                            pawl_reply_fn done, void *arg);

/* The same for data that were written with PAWL_OP_COMPRESS; DATA_INCONSISTENCY if not. */
PAWL_API int pawl_get_compressed(struct pawl_client *c, const char *path,
                                 const struct pawl_watch *watch, struct pawl_reply **out);
PAWL_API int pawl_get_compressed_async(struct pawl_client *c, const char *path,
                                       const struct pawl_watch *watch, pawl_reply_fn done,
                                       void *arg);

/* reply: stat. NO_NODE is an answer like any other, and sets the watch as well: it fires when the
 * node is created. */
PAWL_API int pawl_exists(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                         struct pawl_reply **out);
PAWL_API int pawl_exists_async(struct pawl_client *c, const char *path,
                               const struct pawl_watch *watch, pawl_reply_fn done, void *arg);

/* reply: children, and stat of the parent. The watch fires when the list changes. */
PAWL_API int pawl_children(struct pawl_client *c, const char *path, const struct pawl_watch *watch,
                           struct pawl_reply **out);
PAWL_API int pawl_children_async(struct pawl_client *c, const char *path,
                                 const struct pawl_watch *watch, pawl_reply_fn done, void *arg);

/* reply: stat */
PAWL_API int pawl_set(struct pawl_client *c, const struct pawl_set *req, struct pawl_reply **out);
PAWL_API int pawl_set_async(struct pawl_client *c, const struct pawl_set *req, pawl_reply_fn done,
                            void *arg);

PAWL_API int pawl_delete(struct pawl_client *c, const struct pawl_delete *req,
                         struct pawl_reply **out);
PAWL_API int pawl_delete_async(struct pawl_client *c, const struct pawl_delete *req,
                               pawl_reply_fn done, void *arg);

/* reply: acls, stat */
PAWL_API int pawl_get_acl(struct pawl_client *c, const char *path, struct pawl_reply **out);
PAWL_API int pawl_get_acl_async(struct pawl_client *c, const char *path, pawl_reply_fn done,
                                void *arg);
PAWL_API int pawl_set_acl(struct pawl_client *c, const struct pawl_set_acl *req,
                          struct pawl_reply **out);
PAWL_API int pawl_set_acl_async(struct pawl_client *c, const struct pawl_set_acl *req,
                                pawl_reply_fn done, void *arg);

/* Brings the server we are linked to up to date with its leader: reads behind it see every write
 * acknowledged to anybody before it was called. */
PAWL_API int pawl_sync(struct pawl_client *c, const char *path, struct pawl_reply **out);
PAWL_API int pawl_sync_async(struct pawl_client *c, const char *path, pawl_reply_fn done,
                             void *arg);

/* reply: children: the whole paths (chroot included) of this session's ephemeral nodes at or below
 * `prefix`, itself not translated. Servers 3.6 and up. */
PAWL_API int pawl_ephemerals(struct pawl_client *c, const char *prefix, struct pawl_reply **out);
PAWL_API int pawl_ephemerals_async(struct pawl_client *c, const char *prefix, pawl_reply_fn done,
                                   void *arg);

/* reply: number of nodes below `path`, at any depth. Servers 3.6 and up. */
PAWL_API int pawl_count_all_children(struct pawl_client *c, const char *path,
                                     struct pawl_reply **out);
PAWL_API int pawl_count_all_children_async(struct pawl_client *c, const char *path,
                                           pawl_reply_fn done, void *arg);

/* reply: ids. Servers 3.7 and up. */
PAWL_API int pawl_whoami(struct pawl_client *c, struct pawl_reply **out);
PAWL_API int pawl_whoami_async(struct pawl_client *c, pawl_reply_fn done, void *arg);

/* Adds credentials to this and every later connection. AUTH_FAILED: the server does not accept
 * them; they are forgotten, and the server has cut the link. What was NOT_SENT is forgotten, too.
 */
PAWL_API int pawl_add_auth(struct pawl_client *c, const struct pawl_auth *auth,
                           struct pawl_reply **out);
PAWL_API int pawl_add_auth_async(struct pawl_client *c, const struct pawl_auth *auth,
                                 pawl_reply_fn done, void *arg);

/* ---- watches that stay ---- */

enum pawl_watch_mode {
    PAWL_WATCH_PERSISTENT = 0, /* every change of the node and of its list of children */
    PAWL_WATCH_RECURSIVE = 1   /* creation, deletion, data of the node and all below it */
};

/* Told of every change until pawl_unwatch() or the end of the session, for a last time then with
 * PAWL_EVENT_SESSION. After SUSPENDED it is set again. A pawld then tells what happened meanwhile,
 * first of all; the last change that had been told may be told again. Where that cannot be (another
 * server, or too long ago) PAWL_EVENT_GAP follows RECONNECTED: read again. Servers 3.6 and up.
 * On servers 3.6 to 3.8, beside a recursive watch of the same handle and path, a persistent one or
 * one of the children may be told DELETED once more of a node that is gone already. */
PAWL_API int pawl_watch(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
                        const struct pawl_watch *watch, struct pawl_reply **out);
PAWL_API int pawl_watch_async(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
                              const struct pawl_watch *watch, pawl_reply_fn done, void *arg);

enum pawl_watch_kind {
    PAWL_WATCHES_CHILDREN = 1,
    PAWL_WATCHES_DATA = 2, /* of get and exists */
    PAWL_WATCHES_ANY = 3,
    PAWL_WATCHES_LOCAL =
        256 /* added: forget it here, whatever the server says and if it says nothing */
};

/* Removes watches at `path`: the given one, or with `watch` NULL all. Each is told WATCH_REMOVED,
 * and nothing after that. NO_WATCHER if there is none. */
PAWL_API int pawl_unwatch(struct pawl_client *c, const char *path, int kind,
                          const struct pawl_watch *watch, struct pawl_reply **out);
PAWL_API int pawl_unwatch_async(struct pawl_client *c, const char *path, int kind,
                                const struct pawl_watch *watch, pawl_reply_fn done, void *arg);

/* ---- several operations as one ---- */

/* All or nothing, in order. A builder belongs to one thread; an error in building (no memory, a bad
 * path, reads and writes mixed) is kept and returned by the call that runs it. It can be run more
 * than once.
 * reply: results, one per operation; err is that of the first that failed. Reads (multi-read) are
 * independent of each other: look at each result. Servers 3.6 and up for those. */
PAWL_API struct pawl_multi *pawl_multi_new(struct pawl_client *c);
PAWL_API void pawl_multi_free(struct pawl_multi *m);
PAWL_API void pawl_multi_create(struct pawl_multi *m, const struct pawl_create *req);
PAWL_API void pawl_multi_set(struct pawl_multi *m, const struct pawl_set *req);
PAWL_API void pawl_multi_delete(struct pawl_multi *m, const struct pawl_delete *req);
PAWL_API void pawl_multi_check(struct pawl_multi *m, const char *path, int32_t version);
PAWL_API void pawl_multi_get(struct pawl_multi *m, const char *path);
PAWL_API void pawl_multi_children(struct pawl_multi *m, const char *path);
PAWL_API int pawl_multi_run(struct pawl_client *c, const struct pawl_multi *m,
                            struct pawl_reply **out);
PAWL_API int pawl_multi_run_async(struct pawl_client *c, const struct pawl_multi *m,
                                  pawl_reply_fn done, void *arg);

/* ---- the ensemble ---- */

/* reply: data: the configuration as text, stat. */
PAWL_API int pawl_config(struct pawl_client *c, const struct pawl_watch *watch,
                         struct pawl_reply **out);
PAWL_API int pawl_config_async(struct pawl_client *c, const struct pawl_watch *watch,
                               pawl_reply_fn done, void *arg);

struct pawl_reconfig {
    size_t size;
    const char *joining;           /* "server.4=host:2888:3888;2181,..." */
    const char *leaving;           /* "2,3" */
    const char *members;           /* instead of both: the whole new list */
    struct pawl_condition only_if; /* pawl_version(v): of the configuration */
    int timeout_ms;
};
#define PAWL_RECONFIG(...) PAWL_SIZED(pawl_reconfig, __VA_ARGS__)
PAWL_SIZED_TYPE(reconfig)

/* reply: data: the new configuration, stat. */
PAWL_API int pawl_reconfig(struct pawl_client *c, const struct pawl_reconfig *req,
                           struct pawl_reply **out);
PAWL_API int pawl_reconfig_async(struct pawl_client *c, const struct pawl_reconfig *req,
                                 pawl_reply_fn done, void *arg);

/* ---- driving it yourself ---- */

/* PAWL_DISPATCH_POLLED: runs the callbacks that wait; with none, waits up to timeout_ms for one.
 * Returns how many ran. */
PAWL_API int pawl_client_dispatch(struct pawl_client *c, int timeout_ms);

/* PAWL_DISPATCH_EXTERNAL. Wait until `*fd`, which stays the same for the life of the handle, has
 * one of `*events` (as for poll), or `*timeout_ms` have passed (-1: no limit); then
 * pawl_client_process(), which does all I/O that can be done without blocking and runs callbacks.
 * `*fd` is readable also when another thread has made a call that your loop has to know of, be it
 * for its bytes, its deadline or its callback: waiting on `*fd` is enough. Ask for `*timeout_ms`
 * anew before each wait. The adapters in <pawl/adapters/> do nothing else. Blocking calls work from
 * any thread, from your loop's only outside of callbacks; inside one they give WOULD_DEADLOCK. */
PAWL_API int pawl_client_interest(struct pawl_client *c, int *fd, short *events, int *timeout_ms);
PAWL_API int pawl_client_process(struct pawl_client *c, short revents);

#ifdef __cplusplus
}
#endif

#endif
