/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - all that the server can be told, from zoo.cfg and the command line.
 *
 * Every key is one line of config_keys.def: its name, type, range, default and the field below that
 * receives it. Values are checked when they are set, so a fault is reported with the place it was
 * written; what depends on several keys is checked by config_finish(), which also fills in the
 * defaults that follow from other values. All faults are collected, none is fatal by itself: the
 * caller starts only if there are none.
 *
 * Three sources, whatever the order they are read in: an option of our own (--data, --port) beats
 * the file, and the file beats -D, as it does in Apache ZooKeeper. Nothing here is thread-safe. */
#ifndef PAWL_DAEMON_CONFIG_H
#define PAWL_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "quorum/config.h"

struct config_entry;
struct config_value;

/* Lines of text for the user, in the order they were found. */
struct config_lines {
    char **line;
    size_t n;
};

/* Ordered: the larger one wins. */
enum config_origin {
    CONFIG_DEFAULT,
    CONFIG_PROPERTY, /* -D NAME=VALUE */
    CONFIG_FILE,
    CONFIG_OPTION, /* --data, --port, ... */
};

enum config_compression { CONFIG_COMPRESS_NONE, CONFIG_COMPRESS_GZIP, CONFIG_COMPRESS_SNAPPY };
enum config_log_format { CONFIG_LOG_TEXT, CONFIG_LOG_JSON };

/* TLS for one kind of peers. */
struct config_tls {
    bool unified; /* one port for both, TLS and plain */
    bool reload;
    int64_t detect_ms;
    char *key_path, *key_password, *key_password_path, *key_type;
    char *trust_path, *trust_password, *trust_password_path, *trust_type;
    char *protocol, *protocols, *ciphers;
    int client_certificate;    /* enum tls_client_certificate */
    bool check_names;          /* of whom is dialled */
    bool check_client_address; /* of who has come */
    bool reverse_lookup;
    bool crl, ocsp;
    char *crl_path;
};

/* Times are milliseconds and sizes bytes, whatever the key's own unit. A string is NULL when
 * nothing was given and the table names no default. */
struct config {
    struct {
        char *data_dir;          /* never NULL after config_finish() without an error */
        char *log_dir;           /* data_dir if not given */
        const char *session_dir; /* of local:DIR, not a key: see owners.h; NULL: none */
        bool autocreate;
        bool trust_empty_snapshot;
        bool accept_loss;
        bool force_sync;
        int64_t fsync_warning_ms;
        int snap_count;
        int64_t snap_size_limit_bytes; /* <= 0: off */
        int64_t preallocate_bytes;
        int64_t txnlog_size_limit_bytes; /* <= 0: off */
        int snapshot_compression;        /* enum config_compression */
        int purge_keep;
        int64_t purge_interval_ms; /* <= 0: off */
        int64_t scrub_interval_ms; /* 0: off */
        int scrub_bytes_per_second;
        bool digest;
    } store;

    struct {
        int64_t tick_ms;
        int64_t min_session_timeout_ms;
        int64_t max_session_timeout_ms;
        int global_outstanding_limit;
        int max_packet_bytes;       /* jute.maxbuffer */
        int max_packet_extra_bytes; /* room above it for our own records */
        bool extended_types;        /* TTL nodes */
        bool ttl_as_in_353;
        bool skip_acl;
        bool enforce_quota;
        bool close_session_txn;
        bool read_only_mode;
        char *four_letter_words; /* comma separated, or "*"; srvr is always allowed */
        int64_t container_check_interval_ms;
        int container_max_per_minute;
        int64_t container_max_never_used_ms; /* 0: never */
        int64_t throttled_op_wait_ms;        /* 0: off */
        int64_t large_request_max_bytes;
        int64_t missed_events_bytes;
        int64_t large_request_threshold_bytes; /* <= 0: off */
    } server;

    struct {
        int tokens; /* 0: off */
        int64_t fill_time_ms;
        int fill_count;
        int64_t freeze_time_ms; /* < 0: off */
        double drop_increase;
        double drop_decrease;
        double decrease_ratio;
        bool weighted;
        int global_session_weight;
        int local_session_weight;
        int renew_session_weight;
    } connection_throttle;

    struct {
        int max_requests; /* 0: off */
    } request_throttle;

    struct {
        int client_port;      /* -1: no such listener; 0: any free port */
        char *client_address; /* NULL: all addresses; IPv6 without brackets */
        int secure_port;
        char *secure_address;
        char *unix_socket;
        int backlog;            /* < 0: the system's default */
        int max_per_address;    /* <= 0: no limit */
        int max_connections;    /* <= 0: no limit */
        int64_t sessionless_ms; /* a connection without a session is closed after this */
        bool tcp_keepalive;
    } net;

    struct {
        bool digest_enabled;
        char *digest_algorithm;
        char *super_digest; /* "super:base64"; NULL: no super user */
        bool enforce_auth;
        char *enforce_auth_schemes; /* comma separated */
    } security;

    struct {
        char *jaas_path, *users_path, *section; /* the paths: NULL if not given */
        bool reload;
        bool required, keep_failed;
        bool remove_host, remove_realm;
        char *any; /* letAnySaslUserDoX */
        char *super_user, *super_password;
        const char **supers; /* superUser and superUser.X, by config_finish(); lent by them */
        size_t n_supers;
    } sasl;

    struct { /* between members; the file is sasl.jaas_path, or its own */
        bool enabled, dials, required;
        char *learner_section, *server_section, *login_path;
    } member_sasl;

    struct config_tls tls; /* for clients */
    bool fips;
    bool core_dumps;      /* though there are secrets */
    int max_handshakes;   /* of clients, under way; <= 0: no limit */
    char *tls_scheme;     /* of the ids of certificates */
    char *tls_super_user; /* the subject of the super user's certificate; NULL: there is none */

    struct config_tls member_tls; /* among members */
    bool member_tls_wanted;       /* sslQuorum: they are dialled with it */

    struct {
        bool enabled;
        char *address;
        int port; /* 0: any free one */
        int64_t idle_ms;
        char *command_url;
        bool console;
        char *console_servers; /* NULL: those of the configuration that have a port for clients */
        int64_t rate_limit_ms;
        bool snapshot_enabled, restore_enabled;
    } admin;

    struct {
        char *provider;  /* a class of Java's */
        bool prometheus; /* it is the one with a port; by config_finish() */
        char *address;
        int port; /* 0: any free one */
    } metrics;

    struct {
        bool enabled;
        char *path; /* NULL: the log */
    } audit;

    struct {
        int level;  /* enum log_level */
        int format; /* enum config_log_format */
    } log;

    struct {
        int init_limit; /* ticks; 0: not given */
        int sync_limit;
        int connect_limit; /* 0: init_limit */
        int64_t election_connect_ms;
        int64_t min_notification_ms, max_notification_ms;
        bool tcp_keepalive;
        bool standalone_enabled;
        bool reconfig_enabled;
        bool observer; /* peerType */
        bool multi_address;
        bool db_autocreate;
        bool leader_serves;
        bool listen_on_all;         /* for members, whatever address their line has */
        int election_bind_attempts; /* 0: for ever */
        bool always_snapshot;
        int64_t observer_pause_ms;
        bool local_sessions, upgrade_sessions;
        char *dynamic_file;
        int64_t my_id; /* -1: no myid file */
        struct quorum_config quorum;
    } ensemble;

    struct config_lines warnings; /* to be logged by the caller */

    char *file; /* that was read; NULL: none */

    /* Private to config*.c. */
    char *dynamic_file_read;
    struct config_value *value; /* one per key */
    struct config_entry *entry; /* keys with a free part: server.N, authProvider.X */
    size_t n_entries;
};

void config_lines_init(struct config_lines *lines);
void config_lines_fini(struct config_lines *lines);
void config_lines_add(struct config_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* All defaults. */
void config_init(struct config *c);
void config_fini(struct config *c);

/* Reads a file in the syntax of java.util.Properties. 0, or PAWL_ERR_CONFIG with at least one more
 * line in `errors`. A file at most: the second call is an error. */
int config_read_file(struct config *c, const char *path, struct config_lines *errors);

/* Sets one key by any of its spellings. 0 also when a stronger origin has set it already. */
int config_set(struct config *c, const char *name, const char *value, enum config_origin origin,
               struct config_lines *errors);

/* The argument of -D: "NAME=VALUE". */
int config_set_property(struct config *c, const char *definition, struct config_lines *errors);

/* Call once, after all is set: derived defaults, server lines, the dynamic file, myid, and what
 * must hold between several keys. */
int config_finish(struct config *c, struct config_lines *errors);

/* More than this one server is to decide; valid after config_finish(). */
bool config_is_ensemble(const struct config *c);

/* What is valid but cannot be served by this version or on this system (TLS, SASL, a scheme or hash
 * that is not there), as errors: better not to start than to run with less
 * protection than was asked for, or to lock everybody out. In supported.c. */
int config_check_supported(struct config *c, struct config_lines *errors);

/* Takes over from `fresh`, a finished configuration, what may change in a running server. What is
 * derived from a value that may not (the session timeouts from tickTime) stays as that value does:
 * `fresh` is changed so. One line in `notes` per key that differs: taken, or only with the next
 * start. True if any was taken. */
bool config_reload(struct config *running, struct config *fresh, struct config_lines *notes);

/* Any key by name, also those without a field: the text that was given, or the default; NULL when
 * there is neither or the name is unknown. Lent until the key is set again. */
const char *config_text(const struct config *c, const char *name);
bool config_is_given(const struct config *c, const char *name);
bool config_is_option(const struct config *c, const char *name); /* on the command line */

/* The known key nearest to `name`, or NULL when nothing is near. Static memory. */
const char *config_nearest(const char *name);

/* A line per key that was given: "NAME=VALUE (zoo.cfg:3)". Secrets are not shown. */
void config_list_given(const struct config *c, struct config_lines *out);

/* The same, one call per key: its name and text. */
typedef void (*config_given_fn)(const char *name, const char *text, void *arg);
void config_each_given(const struct config *c, config_given_fn fn, void *arg);

/* The file as it was written, with "(not shown)" for its secrets; false: there is none, or it
 * cannot be read any more. */
struct strbuf;
bool config_file_text(const struct config *c, struct strbuf *out);

enum config_keys_format { CONFIG_KEYS_TEXT, CONFIG_KEYS_MDOC };

/* The table of keys. */
void config_print_keys(FILE *out, enum config_keys_format format);

/* What is in effect and where it comes from, in the syntax of the file. Secrets are not shown.
 * With `all` also what is at its default. */
void config_print_effective(const struct config *c, FILE *out, bool all);

#endif
