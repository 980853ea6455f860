/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - HTTP: connections, requests and their answers, by libmicrohttpd. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admin/admin_internal.h"
#include "admin/console.h"
#include "admin/health.h"
#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "http/origin.h"
#include "os/clock.h"
#include "os/socket.h"
#include "pawl/error.h"

#define TEXT "text/plain; charset=utf-8"

enum { KEEP_BYTES = 256 * 1024, SHORT_BYTES = 4096 };

/* ---- answers ---- */

struct body {
    struct admin *admin;
    uint8_t *data;
    size_t len;
};

static void body_free(void *arg)
{
    struct body *b = arg;

    b->admin->answer_bytes -= b->len;
    free(b->data);
    free(b);
}

/* What cannot be sent is replaced by a sentence; the type it then has. Short ones are always made,
 * such as those of health: there are no more of them than connections. */
static const char *fit(const struct admin *a, struct strbuf *body, const char *type,
                       unsigned *status)
{
    bool too_long = body->failed;

    if (!too_long &&
        (body->len <= SHORT_BYTES || a->answer_bytes + body->len <= ADMIN_ANSWERS_MAX)) {
        return type;
    }
    *status = too_long ? 500 : 503;
    strbuf_clear(body);
    strbuf_append_str(body, too_long ? "the answer is too long\n"
                                     : "too many answers have not been read; ask again later\n");
    return TEXT;
}

struct response *response_from(struct MHD_Response *made, const char *type)
{
    struct response *r = must_alloc(sizeof(*r));

    ASSERT(made != NULL);
    *r = (struct response){.mhd = made, .n_users = 1};
    MHD_add_response_header(made, "Content-Type", type);
    MHD_add_response_header(made, "Cache-Control", "no-store");
    MHD_add_response_header(made, "X-Content-Type-Options", "nosniff");
    return r;
}

struct response *response_new(struct admin *a, struct strbuf *body, const char *type,
                              unsigned *status)
{
    struct body *b = must_alloc(sizeof(*b));

    type = fit(a, body, type, status);
    *b = (struct body){.admin = a, .data = must_alloc(body->len + 1), .len = body->len};
    if (body->len > 0) {
        memcpy(b->data, body->data, body->len);
    }
    a->answer_bytes += b->len;
    strbuf_clear(body);
    strbuf_trim(body, KEEP_BYTES);
    return response_from(
        MHD_create_response_from_buffer_with_free_callback_cls(b->len, b->data, body_free, b),
        type);
}

void response_unref(struct response *r)
{
    if (--r->n_users == 0) {
        MHD_destroy_response(r->mhd); /* connections that send it have it until they are done */
        free(r);
    }
}

void exchange_answer(struct exchange *x, unsigned status, struct response *response)
{
    ASSERT(x->state == EXCHANGE_WAITING);
    list_remove(&x->link);
    x->state = EXCHANGE_ANSWERED;
    x->status = status;
    x->response = response;
    response->n_users++;
    MHD_resume_connection(x->connection);
}

/* At once. */
static enum MHD_Result reply(struct exchange *x, unsigned status, const char *type,
                             struct strbuf *body, const char *allow)
{
    struct response *response = response_new(x->port->admin, body, type, &status);
    enum MHD_Result rc;

    if (allow != NULL) {
        MHD_add_response_header(response->mhd, "Allow", allow);
    }
    rc = MHD_queue_response(x->connection, status, response->mhd);
    response_unref(response);
    strbuf_fini(body);
    x->state = EXCHANGE_ANSWERED;
    return rc;
}

static enum MHD_Result refuse(struct exchange *x, unsigned status, const char *why)
{
    struct strbuf body;

    x->port->admin->n_refused++;
    strbuf_init(&body, ADMIN_ANSWER_MAX);
    strbuf_printf(&body, "%s\n", why);
    return reply(x, status, TEXT, &body, NULL);
}

static enum MHD_Result refuse_method(struct exchange *x, const char *allow)
{
    struct strbuf body;

    x->port->admin->n_refused++;
    strbuf_init(&body, ADMIN_ANSWER_MAX);
    strbuf_printf(&body, "here is only %s\n", allow);
    return reply(x, 405, TEXT, &body, allow);
}

/* ---- what is asked for ---- */

static const char *header(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

static bool is_read(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static enum MHD_Result wait_for_server(struct exchange *x, const struct command *command)
{
    if (atomic_load(&x->port->admin->stop_wanted)) { /* nobody would end its wait */
        return refuse(x, 503, command_not_serving);
    }
    x->command = command;
    x->state = EXCHANGE_WAITING;
    x->since_us = clock_monotonic_us();
    list_push_back(&x->port->admin->waiting, &x->link);
    MHD_suspend_connection(x->connection);
    return MHD_YES;
}

static enum MHD_Result answer_health(struct exchange *x, bool (*tell)(const struct host_health *,
                                                                      int64_t, struct strbuf *))
{
    struct host *host = atomic_load(&x->port->admin->host);
    struct host_health health;
    struct strbuf body;
    bool good;

    strbuf_init(&body, ADMIN_ANSWER_MAX);
    if (host != NULL) {
        host_health(host, &health);
    }
    good = tell(host == NULL ? NULL : &health, clock_monotonic_us(), &body);
    return reply(x, good ? 200 : 503, TEXT, &body, NULL);
}

static enum MHD_Result answer_index(struct exchange *x)
{
    struct strbuf body;

    strbuf_init(&body, ADMIN_ANSWER_MAX);
    command_index(x->port->admin->config->admin.command_url, &body);
    return reply(x, 200, "text/html; charset=utf-8", &body, NULL);
}

static enum MHD_Result answer_unknown(struct exchange *x, const char *name)
{
    struct strbuf body;
    char error[128];

    snprintf(error, sizeof(error), "Unknown command: %.64s", name);
    strbuf_init(&body, ADMIN_ANSWER_MAX);
    command_refuse(name, error, &body);
    return reply(x, 200, "application/json", &body, NULL);
}

static enum MHD_Result answer_command(struct exchange *x, const char *name, const char *method)
{
    const struct command *c = command_find(name);

    snprintf(x->spelled, sizeof(x->spelled), "%s", name);
    if (c == NULL) {
        return is_read(method) ? answer_unknown(x, name) : refuse_method(x, "GET, HEAD");
    }
    if (command_takes_post(c) ? strcmp(method, "POST") != 0 : !is_read(method)) {
        return refuse_method(x, command_takes_post(c) ? "POST" : "GET, HEAD");
    }
    if (command_changes(c) &&
        origin_is_foreign(header(x, "Host"), header(x, "Origin"), header(x, "Sec-Fetch-Site"))) {
        return refuse(x, 403, "a page of another site may not change anything here");
    }
    return wait_for_server(x, c);
}

/* What stands behind the path of commands: "" for the path itself; NULL: it is another one. */
static const char *behind_commands(const struct exchange *x, const char *url)
{
    const char *commands = x->port->admin->config->admin.command_url;
    size_t len = strlen(commands);

    if (strncmp(url, commands, len) != 0 || (url[len] != '/' && url[len] != '\0')) {
        return NULL;
    }
    return url + len + (url[len] == '/' ? 1 : 0);
}

static enum MHD_Result answer_page(struct exchange *x, const char *url, const char *method)
{
    bool (*tell)(const struct host_health *, int64_t, struct strbuf *) =
        x->port->metrics_only         ? NULL
        : strcmp(url, "/livez") == 0  ? health_live
        : strcmp(url, "/readyz") == 0 ? health_ready
                                      : NULL;

    if (tell == NULL && strcmp(url, "/metrics") != 0) {
        return refuse(x, 404, "there is nothing here");
    }
    if (!is_read(method)) {
        return refuse_method(x, "GET, HEAD");
    }
    return tell != NULL ? answer_health(x, tell) : wait_for_server(x, NULL);
}

static enum MHD_Result answer_whole(struct exchange *x, const char *url, const char *method)
{
    const char *name = x->port->metrics_only ? NULL : behind_commands(x, url);
    const char *host = header(x, "Host");

    if (x->port->is_loopback && host != NULL && !origin_host_is_plain(host)) {
        return refuse(x, 403, "this server is asked by its address or as localhost only");
    }
    if (x->body_too_long) {
        return refuse(x, 413, "the body is too long");
    }
    if (name == NULL) {
        return answer_page(x, url, method);
    }
    return *name != '\0'     ? answer_command(x, name, method)
           : is_read(method) ? answer_index(x)
                             : refuse_method(x, "GET, HEAD");
}

/* ---- libmicrohttpd's calls ---- */

static struct admin_link *link_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info == NULL ? NULL : info->socket_context;
}

struct admin_link *exchange_link(const struct exchange *x)
{
    return link_of(x->connection);
}

/* The oldest stand in front. */
static void link_note(struct admin *a, struct admin_link *l, bool is_asking)
{
    if (l != NULL) {
        l->since_us = clock_monotonic_us();
        l->is_asking = is_asking;
        list_remove(&l->link);
        list_push_back(&a->links, &l->link);
    }
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct admin_port *port = arg;
    struct admin_link *l = *context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        l = must_zalloc(sizeof(*l));
        l->fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        list_init(&l->link);
        *context = l;
        link_note(port->admin, l, false);
    } else if (l != NULL) {
        list_remove(&l->link);
        free(l);
        *context = NULL;
    }
}

/* ---- those who take too long ---- */

static int64_t allowed_us(const struct admin *a, const struct admin_link *l)
{
    return 1000 * (l->is_asking ? ADMIN_REQUEST_MS : a->config->admin.idle_ms);
}

void exchange_cut_off_slow(struct admin *a, int64_t now_us)
{
    struct list *item;

    list_for_each (item, &a->links) {
        struct admin_link *l = container_of(item, struct admin_link, link);

        if (l->fd >= 0 && now_us - l->since_us > allowed_us(a, l)) {
            shutdown(l->fd, SHUT_RDWR); /* it sees the end, and closes it */
            l->fd = -1;
            a->n_cut_off++;
        }
    }
}

/* ---- requests ---- */

static void take_body(struct exchange *x, const char *data, size_t len)
{
    if (len > sizeof(x->body) - x->body_len) {
        x->body_too_long = true;
        return;
    }
    memcpy(x->body + x->body_len, data, len);
    x->body_len += len;
}

static void begin_front(struct exchange *x, const char *url, const char *method)
{
    struct admin_console *console = atomic_load(&x->port->admin->console);

    if (console != NULL && !x->port->metrics_only && console_has(url)) {
        x->front = front_begin(admin_console_front(console), x->connection, url, method);
    }
}

/* Whoever wants to send a file is asked who it is before the first byte of it. */
static bool is_upload(const struct exchange *x, const char *url)
{
    const char *name = x->port->metrics_only ? NULL : behind_commands(x, url);
    const struct command *c = name == NULL ? NULL : command_find(name);

    return c != NULL && command_takes_upload(c);
}

static enum MHD_Result take_upload(struct exchange *x, const char *data, size_t *len)
{
    struct admin *a = x->port->admin;
    bool is_good = true;

    if (*len > 0) {
        is_good = restore_take(a, data, *len);
        *len = 0;
    } else if (x->state == EXCHANGE_ALLOWED) {
        x->state = EXCHANGE_SENDING;
    } else {
        x->state = EXCHANGE_WAITING;
        MHD_suspend_connection(x->connection);
        restore_whole(a);
    }
    return is_good ? MHD_YES : MHD_NO;
}

/* For the headers, then for each part of the body, then for its end; and once more for who waited,
 * when the answer is there. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **context)
{
    struct admin_port *port = arg;
    struct exchange *x = *context;

    (void)version;
    if (x == NULL) {
        x = must_zalloc(sizeof(*x));
        x->port = port;
        x->connection = c;
        list_init(&x->link);
        *context = x;
        port->admin->n_requests++;
        link_note(port->admin, link_of(c), true);
        begin_front(x, url, method);
        return is_upload(x, url) ? answer_whole(x, url, method) : MHD_YES;
    }
    if (x->state == EXCHANGE_ALLOWED || x->state == EXCHANGE_SENDING) {
        return take_upload(x, data, len);
    }
    if (*len > 0) {
        if (x->front != NULL) {
            front_take(x->front, data, *len);
        } else {
            take_body(x, data, *len);
        }
        *len = 0;
        return MHD_YES;
    }
    if (x->front != NULL) {
        return front_answer(x->front);
    }
    if (x->state == EXCHANGE_ANSWERED) {
        ASSERT(x->response != NULL);
        return MHD_queue_response(c, x->status, x->response->mhd);
    }
    ASSERT(x->state == EXCHANGE_TAKING);
    return answer_whole(x, url, method);
}

static void on_completed(void *arg, struct MHD_Connection *c, void **context,
                         enum MHD_RequestTerminationCode how)
{
    struct admin_port *port = arg;
    struct exchange *x = *context;

    (void)how;
    link_note(port->admin, link_of(c), false);
    if (x != NULL) {
        list_remove(&x->link);
        if (x->front != NULL) {
            front_end(x->front);
        }
        if (port->admin->taking.asker == x) {
            port->admin->taking.asker = NULL;
        }
        restore_gone(port->admin, x);
        if (x->response != NULL) {
            response_unref(x->response);
        }
        free(x);
        *context = NULL;
    }
}

static void on_log(void *arg, const char *format, va_list args)
{
    char text[256];

    (void)arg;
    vsnprintf(text, sizeof(text), format, args);
    text[strcspn(text, "\n")] = '\0';
    log_limited(LOG_DEBUG, "admin server: %s", text);
}

static struct MHD_Daemon *start(struct admin_port *port, int fd)
{
    int64_t idle_ms = port->admin->config->admin.idle_ms;

    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request,
        port, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)ADMIN_LINKS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)ADMIN_LINKS_PER_ADDRESS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)ADMIN_LINK_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(idle_ms / 1000 + 1),
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, port, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, port, MHD_OPTION_END);
}

bool exchange_listen(struct admin_port *port)
{
    int fd, bound;

    if (socket_listen_tcp(port->address, port->wanted, -1, &fd, &bound) != PAWL_OK) {
        log_limited(LOG_WARN, "%s: %s; it is tried again, and the server goes on without it",
                    port->metrics_only ? "metricsProvider.httpPort" : "admin.serverPort",
                    socket_last_error());
        return false;
    }
    port->daemon = start(port, fd);
    if (port->daemon == NULL) {
        log_limited(LOG_WARN, "%s: HTTP cannot be served",
                    port->metrics_only ? "metricsProvider.httpPort" : "admin.serverPort");
        close(fd);
        return false;
    }
    log_info("%s at http://%s:%d%s", port->metrics_only ? "metrics" : "admin server", port->address,
             bound, port->metrics_only ? "/metrics" : port->admin->config->admin.command_url);
    return true;
}
