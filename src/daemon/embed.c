/* SPDX-License-Identifier: Apache-2.0 */
/* embed.c - <pawl/server.h>: a host on a thread of its own, with a log of its own. */
#include <pawl/server.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "daemon/embed.h"
#include "daemon/host.h"
#include "os/clock.h"
#include "os/thread.h"

/* Required by the configuration, but nothing is looked for there. */
#define NO_FOLDER "/nonexistent"

enum { ADDRESS_BYTES = 300 };

/* A log in memory that has grown to this is replaced by a snapshot. */
enum { MEMORY_LOG_BYTES = 64 << 20 };

struct pawl_server {
    struct pawl_server_options options; /* strings in it are not ours after the start */
    struct config config;
    struct embed_place place;
    struct log_target log_target;
    pthread_t thread;
    _Atomic int role;    /* enum pawl_server_role */
    _Atomic bool killed; /* whatever goes wrong now is meant to */
    int port;
    char address[ADDRESS_BYTES];
    pthread_mutex_t lock;    /* guards all below */
    struct host *host;       /* NULL: has stopped */
    struct host_error error; /* why, if by itself */
};

_Static_assert((int)PAWL_LOG_DEBUG == (int)LOG_DEBUG && (int)PAWL_LOG_ERROR == (int)LOG_ERROR,
               "the levels are the same numbers");
static const enum pawl_server_role role_of[] = {
    [ROLE_NONE] = PAWL_ROLE_NOT_SERVING,  [ROLE_READ_ONLY] = PAWL_ROLE_READ_ONLY,
    [ROLE_ALONE] = PAWL_ROLE_STANDALONE,  [ROLE_LEADER] = PAWL_ROLE_LEADER,
    [ROLE_FOLLOWER] = PAWL_ROLE_FOLLOWER, [ROLE_OBSERVER] = PAWL_ROLE_OBSERVER,
};

int embed_explain(char *why, size_t why_size, int code, const char *sentence)
{
    if (why != NULL && why_size > 0) {
        snprintf(why, why_size, "%s", sentence);
    }
    return code;
}

/* ---- options ---- */

void pawl_server_options_init(struct pawl_server_options *options)
{
    *options = (struct pawl_server_options){.size = sizeof(*options),
                                            .address = "127.0.0.1",
                                            .log_level = PAWL_LOG_INFO,
                                            .server_id = -1};
}

/* A program that was compiled with an older header has a shorter struct: what it does not know is
 * as pawl_server_options_init() leaves it. */
static bool copy_options(struct pawl_server_options *to, const struct pawl_server_options *from)
{
    size_t smallest = offsetof(struct pawl_server_options, failed_arg) + sizeof(void *);

    pawl_server_options_init(to);
    if (from->size < smallest) {
        return false;
    }
    memcpy(to, from, from->size < sizeof(*to) ? from->size : sizeof(*to));
    return true;
}

static const char *contradiction(const struct pawl_server_options *o, const struct config *c)
{
    if (o->in_memory && (o->folder != NULL || config_is_given(c, "dataDir"))) {
        return "a folder is given, and in_memory as well: which one?";
    }
    if (!o->in_memory && o->folder == NULL && !config_is_given(c, "dataDir")) {
        return "there is no place for the data: give a folder, or in_memory";
    }
    if (o->port < 0 && o->unix_socket == NULL && !config_is_given(c, "clientPort") &&
        !config_is_given(c, "clientUnixSocket") && !config_is_given(c, "secureClientPort")) {
        return "no client could connect: give a port or a Unix socket";
    }
    return NULL;
}

/* The same of an ensemble, when its lines have been read. */
static const char *ensemble_contradiction(const struct pawl_server *s)
{
    const struct pawl_server_options *o = &s->options;
    const struct config *c = &s->config;

    if (o->in_memory && s->place.disk == NULL && config_is_ensemble(c)) {
        return "a member of an ensemble must not forget what it has agreed to: give a folder "
               "instead of in_memory, or have the whole ensemble in this process "
               "(pawl_ensemble_start)";
    }
    if (o->server_id >= 0 && c->ensemble.quorum.n_members == 0) {
        return "there is a server_id, but no property server.N=HOST:PORT:PORT";
    }
    if (o->server_id >= 0 && c->ensemble.my_id != o->server_id) {
        return "the file myid in the folder has another number than server_id";
    }
    return NULL;
}

static void set_address(const struct pawl_server_options *o, struct config *c,
                        struct config_lines *errors)
{
    char port[16];

    if (o->port >= 0) {
        snprintf(port, sizeof(port), "%d", o->port);
        config_set(c, "clientPort", port, CONFIG_OPTION, errors);
        if (o->address != NULL) {
            config_set(c, "clientPortAddress", o->address, CONFIG_OPTION, errors);
        }
    }
    if (o->unix_socket != NULL) {
        config_set(c, "clientUnixSocket", o->unix_socket, CONFIG_OPTION, errors);
    }
}

static void set_properties(const struct pawl_server_options *o, struct config *c,
                           struct config_lines *errors)
{
    for (size_t i = 0; i < o->n_properties; i++) {
        config_set_property(c, o->properties[i], errors);
    }
}

static void join_lines(const struct config_lines *lines, char *out, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; i < lines->n && at + 1 < size; i++) {
        at += (size_t)snprintf(out + at, size - at, "%s%s", i == 0 ? "" : "; ", lines->line[i]);
    }
}

static int configure(struct pawl_server *s, struct host_error *error)
{
    const struct pawl_server_options *o = &s->options;
    struct config_lines errors;
    const char *fault;
    int rc = PAWL_OK;

    s->config.ensemble.my_id = o->server_id; /* a file myid wins */
    config_lines_init(&errors);
    set_properties(o, &s->config, &errors);
    fault = contradiction(o, &s->config);
    if (fault != NULL) {
        config_lines_fini(&errors);
        snprintf(error->text, sizeof(error->text), "%s", fault);
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    if (o->in_memory || o->folder != NULL) {
        config_set(&s->config, "dataDir", o->in_memory ? NO_FOLDER : o->folder, CONFIG_OPTION,
                   &errors);
    }
    set_address(o, &s->config, &errors);
    config_finish(&s->config, &errors);
    config_check_supported(&s->config, &errors);
    for (size_t i = 0; i < s->config.warnings.n; i++) {
        log_warn("%s", s->config.warnings.line[i]);
    }
    fault = ensemble_contradiction(s);
    if (errors.n > 0) {
        join_lines(&errors, error->text, sizeof(error->text));
        rc = PAWL_ERR_CONFIG;
    } else if (fault != NULL) {
        snprintf(error->text, sizeof(error->text), "%s", fault);
        rc = PAWL_ERR_BAD_ARGUMENTS;
    }
    config_lines_fini(&errors);
    return rc;
}

/* ---- life ---- */

static void set_clock(void)
{
    logging_set_clock(clock_monotonic_ms);
}

static void log_to_callback(enum log_level level, const char *line, void *arg)
{
    struct pawl_server *s = arg;

    s->options.log((enum pawl_log_level)level, line, s->options.log_arg);
}

/* Wildcards cannot be connected to; the loopback address behind them can. */
static void write_address(struct pawl_server *s)
{
    const char *host = s->config.net.client_address;
    bool any = host == NULL || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;

    s->port = host_port(s->host);
    snprintf(s->address, sizeof(s->address), !any && strchr(host, ':') ? "[%s]:%d" : "%s:%d",
             any ? "127.0.0.1" : host, s->port);
}

static void embed_set_role(void *arg, enum role_kind role)
{
    struct pawl_server *s = arg;

    atomic_store(&s->role, (int)role_of[role]);
    if (s->place.role_changed != NULL) {
        s->place.role_changed(s->place.arg);
    }
}

/* So that pawld finds it there as well. */
static void keep_my_id(const struct pawl_server *s)
{
    char path[4096];
    FILE *file;

    if (s->options.in_memory || s->options.server_id < 0) {
        return;
    }
    snprintf(path, sizeof(path), "%s/myid", s->config.store.data_dir);
    file = fopen(path, "wxe"); /* one that is there has the same number */
    if (file != NULL) {
        fprintf(file, "%d\n", s->options.server_id);
        fclose(file);
    }
}

/* Closes the host here, so that after a failure clients are not left with a server that keeps
 * their connections and says nothing. */
static void *embed_run(void *arg)
{
    struct pawl_server *s = arg;
    struct host_error error = {0};
    struct host *host = s->host; /* set before this thread was started */

    thread_set_name("pawl-server");
    logging_use(&s->log_target);
    host_run(host, &error);
    pthread_mutex_lock(&s->lock);
    s->host = NULL;
    s->error = error;
    pthread_mutex_unlock(&s->lock);
    embed_set_role(s, ROLE_NONE);
    if (atomic_load(&s->killed)) {
        host_drop(host);
        return NULL;
    }
    host_close(host);
    if (error.code != PAWL_OK) {
        log_error("%s", error.text);
        if (s->options.failed != NULL) {
            s->options.failed(error.code, error.text, s->options.failed_arg);
        }
    }
    return NULL;
}

/* With all signals blocked, which the threads that begin here inherit. */
static int open_and_run(struct pawl_server *s, struct host_error *error)
{
    struct host_options options = {.keeps_nothing = s->options.in_memory && s->place.disk == NULL,
                                   .disk = s->place.disk,
                                   .is_embedded = true,
                                   .role_changed = embed_set_role,
                                   .arg = s};
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = host_open(&s->config, &options, &s->host, error);
    if (rc == PAWL_OK) {
        write_address(s);
        keep_my_id(s);
        if (pthread_create(&s->thread, NULL, embed_run, s) != 0) {
            host_close(s->host);
            snprintf(error->text, sizeof(error->text), "no thread can be started");
            rc = PAWL_ERR_SYSTEM;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static void server_free(struct pawl_server *s)
{
    config_fini(&s->config);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int embed_start(const struct pawl_server_options *options, const struct embed_place *place,
                struct pawl_server **out, char *why, size_t why_size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct log_target *before = logging_used();
    struct pawl_server *s = must_zalloc(sizeof(*s));
    struct host_error error = {0};
    int rc;

    *out = NULL;
    pthread_once(&once, set_clock);
    pthread_mutex_init(&s->lock, NULL);
    config_init(&s->config);
    if (!copy_options(&s->options, options)) {
        server_free(s);
        return embed_explain(why, why_size, PAWL_ERR_BAD_ARGUMENTS,
                             "the options were not begun with pawl_server_options_init()");
    }
    s->log_target = (struct log_target){.sink = s->options.log == NULL ? NULL : log_to_callback,
                                        .arg = s,
                                        .level = (enum log_level)s->options.log_level};
    logging_use(&s->log_target);
    if (place != NULL) {
        s->place = *place;
    }
    rc = configure(s, &error);
    s->config.store.session_dir = s->place.session_dir;
    if (s->place.disk != NULL) {
        s->config.store.snap_size_limit_bytes = MEMORY_LOG_BYTES;
    }
    if (rc == PAWL_OK) {
        rc = open_and_run(s, &error);
    }
    logging_use(before);
    if (rc != PAWL_OK) {
        server_free(s);
        return embed_explain(why, why_size, rc, error.text);
    }
    *out = s;
    return PAWL_OK;
}

int pawl_server_start(const struct pawl_server_options *options, struct pawl_server **out,
                      char *why, size_t why_size)
{
    return embed_start(options, NULL, out, why, why_size);
}

int embed_kill(struct pawl_server *s)
{
    atomic_store(&s->killed, true);
    return pawl_server_stop(s);
}

int pawl_server_stop(struct pawl_server *s)
{
    int rc;

    if (s == NULL) {
        return PAWL_OK;
    }
    if (pthread_equal(pthread_self(), s->thread) || logging_used() == &s->log_target) {
        return PAWL_ERR_INVALID_STATE;
    }
    pthread_mutex_lock(&s->lock);
    if (s->host != NULL) {
        host_stop(s->host);
    }
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    rc = s->error.code;
    server_free(s);
    return rc;
}

/* ---- questions ---- */

const char *pawl_server_address(const struct pawl_server *s)
{
    return s->port < 0 ? NULL : s->address;
}

int pawl_server_port(const struct pawl_server *s)
{
    return s->port;
}

const char *pawl_server_unix_socket(const struct pawl_server *s)
{
    return s->config.net.unix_socket;
}

enum pawl_server_role pawl_server_role(const struct pawl_server *s)
{
    return (enum pawl_server_role)atomic_load(&s->role);
}

int pawl_server_error(struct pawl_server *s, char *why, size_t why_size)
{
    int rc;

    pthread_mutex_lock(&s->lock);
    rc = embed_explain(why, why_size, s->error.code, s->error.text);
    pthread_mutex_unlock(&s->lock);
    return rc;
}
