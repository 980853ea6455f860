/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - the life of a handle: open, views, listeners, detach, close. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "client/local.h"
#include "client/place.h"
#include "os/entropy.h"
#include "wire/path.h"

enum {
    DEFAULT_SESSION_MS = 60000,
    DEFAULT_CALL_MS = 15000,
    DEFAULT_CLOSE_MS = 5000,
    DEFAULT_REQUEST_BYTES = 0xfffff,
    DEFAULT_REPLY_BYTES = 64 << 20,
    LEAST_REPLY_BYTES = 1024,
    MOST_EXTRA_BYTES = 65536,
    THREAD_STACK = 256 * 1024,
};

/* ---- fork ---- */

/* Threads do not survive a fork, and the socket is the parent's: a handle from before it is dead in
 * the child. Counting forks is cheaper than asking for the process id at every call. */
static _Atomic unsigned fork_generation;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void in_child(void)
{
    atomic_fetch_add(&fork_generation, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

int client_check(const struct pawl_client *c)
{
    if (c == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    return c->e->fork_generation == atomic_load_explicit(&fork_generation, memory_order_relaxed)
               ? 0
               : PAWL_ERR_FORKED;
}

/* ---- engines ---- */

void engine_ref(struct engine *e)
{
    atomic_fetch_add(&e->refs, 1);
}

static void free_face(struct pawl_client *c)
{
    if (c != NULL) {
        free(c->prefix);
        free(c);
    }
}

static void close_all(struct engine *e)
{
    int fds[] = {e->fd, e->wake_fd, e->kick_fd, e->epoll_fd};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static void free_engine(struct engine *e)
{
    struct list *item;

    lookup_free(e->lookup);
    lookup_free(e->probe);
    close_all(e);
    while ((item = list_pop_front(&e->listeners)) != NULL) {
        free(container_of(item, struct listener, link));
    }
    while ((item = list_pop_front(&e->inbox)) != NULL) { /* of a handle that did not open */
        free(container_of(item, struct item, link));
    }
    blob_forget(e);
    core_free(e->core);
    local_close(e->local);
    free_face(e->face);
    free(e->acl_store);
    pthread_cond_destroy(&e->state_changed);
    pthread_cond_destroy(&e->inbox_filled);
    pthread_cond_destroy(&e->callback_done);
    pthread_cond_destroy(&e->thread_ended);
    waiter_fini(&e->reader);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void engine_unref(struct engine *e)
{
    if (atomic_fetch_sub(&e->refs, 1) == 1) {
        free_engine(e);
    }
}

void engine_thread_ends(struct engine *e)
{
    e->n_threads--;
    pthread_cond_broadcast(&e->thread_ended);
    pthread_mutex_unlock(&e->lock);
    engine_unref(e);
}

static void init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

static void log_to_application(enum log_level level, const char *line, void *arg)
{
    struct engine *e = arg;

    e->log((enum pawl_log_level)level, line, e->log_arg);
}

/* ---- options ---- */

void pawl_client_options_init(struct pawl_client_options *options)
{
    memset(options, 0, sizeof(*options));
    options->size = sizeof(*options);
}

static void take_options(struct pawl_client_options *o, const struct pawl_client_options *given)
{
    memset(o, 0, sizeof(*o));
    memcpy(o, given, given->size < sizeof(*o) ? given->size : sizeof(*o));
    o->session_timeout_ms = o->session_timeout_ms > 0 ? o->session_timeout_ms : DEFAULT_SESSION_MS;
    o->timeout_ms = o->timeout_ms != 0 ? o->timeout_ms : DEFAULT_CALL_MS;
    o->close_timeout_ms = o->close_timeout_ms > 0 ? o->close_timeout_ms : DEFAULT_CLOSE_MS;
    o->lost_percent = o->lost_percent >= 1 && o->lost_percent <= 100 ? o->lost_percent : 100;
    o->max_request_bytes =
        o->max_request_bytes > 0 ? o->max_request_bytes : (size_t)DEFAULT_REQUEST_BYTES;
    o->max_reply_bytes = o->max_reply_bytes > 0 ? o->max_reply_bytes : (size_t)DEFAULT_REPLY_BYTES;
    o->max_reply_bytes =
        o->max_reply_bytes < LEAST_REPLY_BYTES ? (size_t)LEAST_REPLY_BYTES : o->max_reply_bytes;
}

static int take_default_acl(struct engine *e, const struct pawl_acls *acls)
{
    static const struct pawl_acl everybody = {PAWL_PERM_ALL, "world", "anyone"};
    struct strbuf b;
    size_t n = acls->n == 0 ? 1 : acls->n;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < n; i++) {
        const struct pawl_acl *a = acls->n == 0 ? &everybody : &acls->items[i];
        struct acl_entry entry = {a->perms, bytes_str(a->scheme), bytes_str(a->id)};

        acl_entry_write(&b, &entry);
    }
    if (b.failed) {
        strbuf_fini(&b);
        return PAWL_ERR_NO_MEMORY;
    }
    e->acl_store = (char *)b.data;
    e->default_acl = (struct acl_list){(int32_t)n, bytes_of(b.data, b.len)};
    return 0;
}

/* ---- opening ---- */

static int make_core(struct engine *e, const struct pawl_client_options *o)
{
    struct core_options core = {
        .session_timeout_ms = o->session_timeout_ms,
        .connect_timeout_ms = o->connect_timeout_ms,
        .lost_percent = o->lost_percent,
        .read_only = (o->flags & PAWL_CLIENT_READ_ONLY) != 0,
        .one_session = (o->flags & PAWL_CLIENT_ONE_SESSION) != 0,
        .max_request_bytes = o->max_request_bytes,
        .max_reply_bytes = o->max_reply_bytes,
        .seed = prng_next(&e->random),
        .call_free = call_free,
    };
    const char *servers = o->servers;
    int rc = local_open(o->servers, &e->local, &servers);

    rc = rc != 0 ? rc : core_new(&core, servers, engine_now_ms(), &e->core);
    for (size_t i = 0; rc == 0 && i < o->n_auths; i++) {
        rc = core_add_auth(e->core, bytes_str(o->auths[i].scheme),
                           bytes_of(o->auths[i].auth.data, o->auths[i].auth.len));
    }
    return rc != 0 ? rc : blob_attach(e, o->attach);
}

int engine_add_listener(struct engine *e, pawl_state_fn fn, void *arg)
{
    struct listener *l = malloc(sizeof(*l));

    if (l == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    *l = (struct listener){.fn = fn, .arg = arg};
    list_push_back(&e->listeners, &l->link);
    return 0;
}

static int make_face(struct engine *e, const char *name_space, const struct pawl_client *like,
                     struct pawl_client **out)
{
    struct pawl_client *c = calloc(1, sizeof(*c));
    const char *chroot = e->core->chroot;
    struct strbuf prefix;

    if (c == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    c->e = e;
    c->chroot_len = strlen(chroot);
    strbuf_init(&prefix, STRBUF_NO_LIMIT);
    strbuf_append_str(&prefix, chroot);
    if (name_space != NULL && *name_space != '\0') {
        strbuf_printf(&prefix, "%s%s", *name_space == '/' ? "" : "/", name_space);
    } else if (name_space == NULL && like != NULL) {
        strbuf_clear(&prefix);
        strbuf_append_str(&prefix, like->prefix);
    }
    c->prefix_len = prefix.len;
    strbuf_cstr(&prefix);
    c->prefix = (char *)prefix.data;
    if (prefix.failed || c->prefix == NULL) {
        free_face(c);
        return PAWL_ERR_NO_MEMORY;
    }
    if (c->prefix_len > 0 && !path_is_valid(bytes_str(c->prefix))) {
        free_face(c);
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *out = c;
    return 0;
}

static int fill(struct engine *e, const struct pawl_client_options *o)
{
    int rc = make_core(e, o);

    rc = rc != 0 ? rc : take_default_acl(e, &o->acls);
    rc = rc != 0 ? rc : make_face(e, o->name_space, NULL, &e->face);
    if (rc == 0 && o->on_state != NULL) {
        rc = engine_add_listener(e, o->on_state, o->on_state_arg);
    }
    if (rc != 0) {
        return rc;
    }
    e->face->timeout_ms = o->timeout_ms;
    e->face->retry = o->retry;
    return 0;
}

static void seed_engine(struct engine *e, uint64_t seed)
{
    e->seeded = seed != 0;
    if (seed == 0 && getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
        seed = (uint64_t)engine_now_ms();
    }
    prng_seed(&e->random, seed);
}

static struct engine *new_engine(const struct pawl_client_options *o)
{
    struct engine *e = calloc(1, sizeof(*e));

    entropy_key_tables();
    if (e == NULL) {
        return NULL;
    }
    init_lock(&e->lock);
    init_cond(&e->state_changed);
    init_cond(&e->inbox_filled);
    init_cond(&e->callback_done);
    init_cond(&e->thread_ended);
    waiter_init(&e->reader);
    e->reader.kickable = true;
    list_init(&e->waiters);
    list_init(&e->delayed);
    list_init(&e->observers);
    list_init(&e->places);
    list_init(&e->inherited);
    list_init(&e->inbox);
    list_init(&e->listeners);
    atomic_init(&e->refs, 1);
    e->fd = e->wake_fd = e->kick_fd = e->epoll_fd = -1;
    e->fork_generation = atomic_load(&fork_generation);
    e->mode = o->dispatch;
    e->io_asleep = o->dispatch == PAWL_DISPATCH_EXTERNAL;
    e->close_timeout_ms = o->close_timeout_ms;
    e->client_flags = o->flags;
    e->acl_provider = o->acl_provider;
    e->acl_provider_arg = o->acl_provider_arg;
    e->metric = o->metric;
    e->metric_arg = o->metric_arg;
    e->log = o->log;
    e->log_arg = o->log_arg;
    e->log_target = (struct log_target){.sink = o->log == NULL ? NULL : log_to_application,
                                        .arg = e,
                                        .level = (enum log_level)o->log_level};
    seed_engine(e, o->seed);
    return e;
}

static int open_descriptors(struct engine *e)
{
    struct epoll_event ev = {.events = EPOLLIN};

    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ev.data.fd = e->wake_fd;
    if (e->epoll_fd < 0 || e->wake_fd < 0 || e->kick_fd < 0 ||
        epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->wake_fd, &ev) != 0) {
        return PAWL_ERR_SYSTEM;
    }
    return 0;
}

/* The application's signals are its own threads' business. */
static int start_thread(struct engine *e, void *(*main)(void *), size_t stack)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attr);
    if (stack != 0) {
        pthread_attr_setstacksize(&attr, stack);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before);
    engine_ref(e);
    e->n_threads++;
    rc = pthread_create(&e->threads[e->n_started], &attr, main, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (rc != 0) {
        e->n_threads--;
        atomic_fetch_sub(&e->refs, 1);
        return PAWL_ERR_SYSTEM;
    }
    e->n_started++;
    return 0;
}

/* Joined by whoever closes, so that afterwards nothing of the library runs any more; or left to
 * themselves when that is one of them or there is no time. */
static void leave_threads(struct engine *e, bool have_ended)
{
    for (int i = 0; i < e->n_started; i++) {
        if (have_ended) {
            pthread_join(e->threads[i], NULL);
        } else {
            pthread_detach(e->threads[i]);
        }
    }
}

static int start(struct engine *e)
{
    int rc = 0;

    pthread_mutex_lock(&e->lock);
    if (e->mode != PAWL_DISPATCH_EXTERNAL) {
        rc = start_thread(e, io_thread_main, THREAD_STACK);
    }
    if (rc == 0 && e->mode == PAWL_DISPATCH_THREAD) {
        rc = start_thread(e, dispatch_thread_main, 0);
    }
    if (rc != 0) {
        core_shut(e->core, PAWL_ERR_CLOSING);
        engine_settle(e, engine_now_ms());
        e->stop = true;
        engine_wake(e);
    }
    pthread_mutex_unlock(&e->lock);
    if (rc != 0) {
        leave_threads(e, true);
    }
    return rc;
}

static void drop_unopened(struct engine *e)
{
    struct item *item;

    while (e->core != NULL && (item = core_next_item(e->core)) != NULL) {
        free(item);
    }
    engine_unref(e);
}

/* What is not there: a struct that was not initialised, credentials without a scheme. */
static bool are_sane(const struct pawl_client_options *o)
{
    for (size_t i = 0; i < o->n_auths; i++) {
        if (o->auths == NULL || o->auths[i].scheme == NULL) {
            return false;
        }
    }
    return o->servers != NULL && o->dispatch >= PAWL_DISPATCH_THREAD &&
           o->dispatch <= PAWL_DISPATCH_EXTERNAL;
}

int pawl_client_open(const struct pawl_client_options *options, struct pawl_client **out)
{
    struct pawl_client_options o;
    struct engine *e;
    int rc;

    if (options == NULL || out == NULL || options->servers == NULL) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    pthread_once(&fork_once, watch_forks);
    take_options(&o, options);
    if (!are_sane(&o)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    e = new_engine(&o);
    if (e == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    rc = fill(e, &o);
    rc = rc != 0 ? rc : open_descriptors(e);
    if (rc == 0 && (o.flags & PAWL_CLIENT_FOLLOW_CONFIG) != 0) {
        rc = follow_config(e);
    }
    rc = rc != 0 ? rc : start(e);
    if (rc != 0) {
        drop_unopened(e);
        return rc;
    }
    *out = e->face;
    return 0;
}

int pawl_client_view(struct pawl_client *c, const struct pawl_view_options *given,
                     struct pawl_client **out)
{
    struct pawl_view_options o = {0};
    struct pawl_client *view;
    int rc = client_check(c);

    if (rc == 0 && given != NULL) {
        memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
    }
    rc = rc != 0 ? rc : make_face(c->e, o.name_space, c, &view);
    if (rc != 0) {
        return rc;
    }
    view->is_view = true;
    view->timeout_ms = o.timeout_ms != 0 ? o.timeout_ms : c->timeout_ms;
    view->retry = o.retry != NULL ? *o.retry : c->retry;
    engine_ref(c->e);
    *out = view;
    return 0;
}

/* ---- closing ---- */

/* Asks the server to end the session, and waits for its answer, within the deadline. */
static void end_session(struct engine *e, int64_t deadline_ms)
{
    struct call *call = call_new(OP_CLOSE_SESSION);
    struct request q = {0};
    struct waiter w;

    if (call == NULL || e->core->link != LINK_READY || e->core->link_read_only) {
        free(call);
        return;
    }
    waiter_init(&w);
    call->waiter = &w;
    if (engine_submit(e, call, &q) != 0) {
        free(call);
    } else {
        engine_settle(e, engine_now_ms());
        if (waiter_wait(e, &w, deadline_ms)) {
            call_free(call);
        } else {
            engine_abandon(e, call);
        }
    }
    waiter_fini(&w);
}

void engine_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline_ms)
{
    struct timespec t = {.tv_sec = deadline_ms / 1000, .tv_nsec = deadline_ms % 1000 * 1000000};

    pthread_cond_timedwait(cond, lock, &t);
}

/* The lock is held; afterwards it is not, and the handle is gone. */
static void shut(struct engine *e, int64_t deadline_ms)
{
    bool in_callback = engine_is_dispatcher(e);
    bool is_ours = in_callback && e->mode == PAWL_DISPATCH_THREAD;
    struct local *local = e->local;
    bool have_ended;

    e->local = NULL;
    core_shut(e->core, PAWL_ERR_CLOSING);
    plan_fail_all(e, PAWL_ERR_CLOSING);
    engine_settle(e, engine_now_ms());
    e->stop = true;
    engine_wake(e);
    pthread_cond_broadcast(&e->inbox_filled);
    pthread_cond_broadcast(&e->state_changed);
    if (!in_callback && e->mode != PAWL_DISPATCH_THREAD) {
        dispatch_run(e);
    }
    while (!is_ours && (e->n_threads > 0 || (e->dispatching && !in_callback)) &&
           engine_now_ms() < deadline_ms) {
        engine_wait_until(&e->thread_ended, &e->lock, deadline_ms);
    }
    have_ended = e->n_threads == 0;
    pthread_mutex_unlock(&e->lock);
    leave_threads(e, have_ended);
    engine_unref(e);
    local_close(local);
}

/* In a forked child there is nobody to say goodbye to, and the lock may be held for ever: only the
 * child's descriptors are given back. */
static void close_in_child(struct pawl_client *c)
{
    if (!c->is_view) {
        close_all(c->e);
        c->e->fd = c->e->wake_fd = c->e->kick_fd = c->e->epoll_fd = -1;
    }
}

void pawl_client_close_within(struct pawl_client *c, int timeout_ms)
{
    int64_t limit = timeout_ms < 0 ? INT32_MAX : timeout_ms;
    int64_t deadline = engine_now_ms() + limit;
    struct engine *e;

    if (c == NULL) {
        return;
    }
    if (client_check(c) != 0) {
        close_in_child(c);
        return;
    }
    e = c->e;
    if (c->is_view) {
        free_face(c);
        engine_unref(e);
        return;
    }
    pthread_mutex_lock(&e->lock);
    if (e->closing) { /* closed twice, perhaps by a callback and its caller: once is enough */
        pthread_mutex_unlock(&e->lock);
        return;
    }
    e->closing = true;
    end_session(e, deadline - limit / 4); /* the rest of the time is for the callbacks */
    shut(e, deadline);
}

void pawl_client_close(struct pawl_client *c)
{
    pawl_client_close_within(c, c == NULL ? 0 : c->e->close_timeout_ms);
}

int pawl_client_detach(struct pawl_client *c, struct pawl_bytes extra, void **blob, size_t *len)
{
    int rc = client_check(c);
    struct engine *e;
    struct strbuf b;

    if (rc != 0 || c->is_view || extra.len > MOST_EXTRA_BYTES) {
        return rc != 0 ? rc : PAWL_ERR_BAD_ARGUMENTS;
    }
    e = c->e;
    strbuf_init(&b, STRBUF_NO_LIMIT);
    pthread_mutex_lock(&e->lock);
    blob_write(e, bytes_of(extra.data, extra.len), &b);
    if (e->closing || !e->core->session_is_real || b.failed) {
        rc = e->closing ? PAWL_ERR_CLOSING : b.failed ? PAWL_ERR_NO_MEMORY : PAWL_ERR_INVALID_STATE;
        pthread_mutex_unlock(&e->lock);
        strbuf_fini(&b);
        return rc;
    }
    *blob = b.data;
    *len = b.len;
    e->closing = true;
    shut(e, engine_now_ms() + e->close_timeout_ms);
    return 0;
}
