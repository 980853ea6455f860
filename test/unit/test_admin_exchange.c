/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, their answers and their limits, with a libmicrohttpd of our own and times as we like.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admin/admin_internal.h"
#include "daemon/config.h"
#include "lib/test.h"

/* ---- libmicrohttpd, as far as it is used ---- */

struct MHD_Response {
    unsigned n_users;
    char *data;
    size_t len;
    MHD_ContentReaderFreeCallback free_data;
    void *arg;
};

struct MHD_Connection {
    int fd;
    void *link, *request;
    union MHD_ConnectionInfo info;
    bool is_suspended;
    unsigned status;
    struct MHD_Response *response;
};

struct MHD_Daemon {
    int fd;
    void *port;
    MHD_AccessHandlerCallback on_request;
    MHD_RequestCompletedCallback on_completed;
    MHD_NotifyConnectionCallback on_connection;
};

static void fake_options(struct MHD_Daemon *d, va_list options)
{
    int option;

    while ((option = va_arg(options, int)) != MHD_OPTION_END) {
        switch (option) {
        case MHD_OPTION_LISTEN_SOCKET:
            d->fd = va_arg(options, MHD_socket);
            break;
        case MHD_OPTION_CONNECTION_MEMORY_LIMIT:
            va_arg(options, size_t);
            break;
        case MHD_OPTION_NOTIFY_COMPLETED:
            d->on_completed = va_arg(options, MHD_RequestCompletedCallback);
            va_arg(options, void *);
            break;
        case MHD_OPTION_NOTIFY_CONNECTION:
            d->on_connection = va_arg(options, MHD_NotifyConnectionCallback);
            va_arg(options, void *);
            break;
        case MHD_OPTION_EXTERNAL_LOGGER:
            va_arg(options, void *);
            va_arg(options, void *);
            break;
        default: /* limits */
            va_arg(options, unsigned);
            break;
        }
    }
}

static struct MHD_Daemon *fake_start(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback policy,
                                     void *of_policy, MHD_AccessHandlerCallback on_request,
                                     void *of_request, ...)
{
    struct MHD_Daemon *d = calloc(1, sizeof(*d));
    va_list options;

    (void)flags;
    (void)port;
    (void)policy;
    (void)of_policy;
    d->on_request = on_request;
    d->port = of_request;
    va_start(options, of_request);
    fake_options(d, options);
    va_end(options);
    return d;
}

static struct MHD_Response *fake_response(size_t len, void *data,
                                          MHD_ContentReaderFreeCallback free_data, void *arg)
{
    struct MHD_Response *r = malloc(sizeof(*r));

    *r = (struct MHD_Response){
        .n_users = 1, .data = data, .len = len, .free_data = free_data, .arg = arg};
    return r;
}

static void fake_destroy(struct MHD_Response *r)
{
    if (--r->n_users == 0) {
        r->free_data(r->arg);
        free(r);
    }
}

static enum MHD_Result fake_header(struct MHD_Response *r, const char *name, const char *value)
{
    (void)r;
    (void)name;
    (void)value;
    return MHD_YES;
}

static enum MHD_Result fake_queue(struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
    assert_null(c->response);
    c->status = status;
    c->response = r;
    r->n_users++;
    return MHD_YES;
}

static void fake_suspend(struct MHD_Connection *c)
{
    c->is_suspended = true;
}

static void fake_resume(struct MHD_Connection *c)
{
    assert_true(c->is_suspended);
    c->is_suspended = false;
}

static const char *fake_value(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *name)
{
    (void)c;
    (void)kind;
    (void)name;
    return NULL;
}

static const union MHD_ConnectionInfo *fake_info(struct MHD_Connection *c,
                                                 enum MHD_ConnectionInfoType what, ...)
{
    if (what == MHD_CONNECTION_INFO_CONNECTION_FD) {
        c->info.connect_fd = c->fd;
    } else {
        c->info.socket_context = c->link;
    }
    return &c->info;
}

/* ---- an admin server without its thread ---- */

struct world {
    struct config config;
    struct admin admin;
    struct MHD_Connection client;
    int far_end; /* the client's */
};

static void begin(struct world *w)
{
    struct admin *a = &w->admin;
    struct admin_port *port = &a->ports[0];
    int pair[2];

    mhd = (struct mhd){.start_daemon = fake_start,
                       .get_connection_info = fake_info,
                       .lookup_connection_value = fake_value,
                       .suspend_connection = fake_suspend,
                       .resume_connection = fake_resume,
                       .queue_response = fake_queue,
                       .create_response_from_buffer_with_free_callback_cls = fake_response,
                       .add_response_header = fake_header,
                       .destroy_response = fake_destroy};
    *w = (struct world){0};
    config_init(&w->config);
    w->config.admin.idle_ms = 5000;
    a->config = &w->config;
    list_init(&a->links);
    list_init(&a->waiting);
    answers_init(a);
    *port = (struct admin_port){.admin = a, .address = "127.0.0.1", .is_loopback = true};
    assert_true(exchange_listen(port));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    w->client.fd = pair[0];
    w->far_end = pair[1];
    port->daemon->on_connection(port, &w->client, &w->client.link, MHD_CONNECTION_NOTIFY_STARTED);
}

/* Headers, then the end of the request; who waits comes here again. */
static void go_on(struct world *w, const char *url)
{
    struct MHD_Daemon *d = w->admin.ports[0].daemon;
    size_t none = 0;

    assert_int_equal(
        d->on_request(d->port, &w->client, url, "GET", "HTTP/1.1", NULL, &none, &w->client.request),
        MHD_YES);
}

static void ask(struct world *w, const char *url)
{
    go_on(w, url);
    go_on(w, url);
}

static bool says(const struct world *w, const char *text)
{
    const struct MHD_Response *r = w->client.response;

    assert_non_null(r);
    return memmem(r->data, r->len, text, strlen(text)) != NULL;
}

/* Its answer has been read. */
static void complete(struct world *w)
{
    struct MHD_Daemon *d = w->admin.ports[0].daemon;

    d->on_completed(d->port, &w->client, &w->client.request, MHD_REQUEST_TERMINATED_COMPLETED_OK);
    if (w->client.response != NULL) {
        fake_destroy(w->client.response);
        w->client.response = NULL;
    }
}

static void end(struct world *w)
{
    struct MHD_Daemon *d = w->admin.ports[0].daemon;

    complete(w);
    d->on_connection(d->port, &w->client, &w->client.link, MHD_CONNECTION_NOTIFY_CLOSED);
    assert_true(list_empty(&w->admin.links));
    assert_int_equal(w->admin.answer_bytes, 0);
    close(d->fd);
    close(w->client.fd);
    close(w->far_end);
    free(d);
    answers_fini(&w->admin);
    config_fini(&w->config);
}

/* ---- the end ---- */

/* libmicrohttpd ends the process if somebody waits when it is stopped. */
static void nobody_waits_for_one_that_ends(void **state)
{
    static const char *const urls[] = {"/metrics", "/commands/mntr"};
    struct world w;

    (void)state;
    begin(&w);
    ask(&w, urls[0]);
    assert_true(w.client.is_suspended);
    atomic_store(&w.admin.stop_wanted, true);
    answers_end(&w.admin);
    assert_false(w.client.is_suspended);
    go_on(&w, urls[0]);
    assert_int_equal(w.client.status, 503);
    for (size_t i = 0; i < TEST_COUNT(urls); i++) { /* those that had been sent behind it */
        complete(&w);
        ask(&w, urls[i]);
        assert_false(w.client.is_suspended);
        assert_int_equal(w.client.status, 503);
    }
    assert_true(list_empty(&w.admin.waiting));
    end(&w);
}

/* ---- limits ---- */

static struct response *response_of(struct world *w, size_t len, unsigned *status)
{
    struct strbuf *out = &w->admin.question.out;

    strbuf_clear(out);
    if (strbuf_reserve(out, len)) {
        memset(out->data, 'x', len);
        out->len = len;
    }
    *status = 200;
    return response_new(&w->admin, out, "text/plain", status);
}

static unsigned status_of(struct world *w, size_t len)
{
    unsigned status;

    response_unref(response_of(w, len, &status));
    return status;
}

static void one_answer_is_bounded(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    assert_int_equal(status_of(&w, ADMIN_ANSWER_MAX), 200);
    assert_int_equal(status_of(&w, ADMIN_ANSWER_MAX + 1), 500);
    assert_int_equal(status_of(&w, 1), 200);
    end(&w);
}

enum { N_UNREAD = 4, SHORT_ANSWER = 4096 };

static void unread_answers_are_bounded(void **state)
{
    struct response *unread[N_UNREAD];
    struct world w;
    unsigned status;

    (void)state;
    begin(&w);
    for (int i = 0; i < N_UNREAD; i++) {
        unread[i] = response_of(&w, ADMIN_ANSWERS_MAX / N_UNREAD, &status);
        assert_int_equal(status, 200);
    }
    assert_int_equal(w.admin.answer_bytes, ADMIN_ANSWERS_MAX);
    assert_int_equal(status_of(&w, SHORT_ANSWER + 1), 503);
    response_unref(unread[0]);
    assert_int_equal(status_of(&w, SHORT_ANSWER + 1), 200);
    for (int i = 1; i < N_UNREAD; i++) {
        response_unref(unread[i]);
    }
    end(&w);
}

/* A server that is killed because of them would be killed by those who do not read. */
static void health_is_told_whatever_is_unread(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    w.admin.answer_bytes = ADMIN_ANSWERS_MAX;
    ask(&w, "/livez");
    assert_int_equal(w.client.status, 200);
    assert_true(says(&w, "alive\n"));
    assert_int_equal(status_of(&w, SHORT_ANSWER), 200);
    w.admin.answer_bytes -= ADMIN_ANSWERS_MAX;
    end(&w);
}

static void who_waits_too_long_is_told(void **state)
{
    struct world w;
    int64_t since_us;

    (void)state;
    begin(&w);
    atomic_store(&w.admin.host, (struct host *)&w); /* it is there, */
    w.admin.question.is_asked = true;               /* and busy with another question */
    ask(&w, "/commands/mntr");
    since_us = ((struct exchange *)w.client.request)->since_us;
    answers_turn(&w.admin, since_us + ADMIN_WAIT_MS * (int64_t)1000);
    assert_true(w.client.is_suspended);
    answers_turn(&w.admin, since_us + ADMIN_WAIT_MS * (int64_t)1000 + 1);
    assert_false(w.client.is_suspended);
    go_on(&w, "/commands/mntr");
    assert_int_equal(w.client.status, 503);
    assert_true(says(&w, "The server has not come to it for 20 seconds"));
    end(&w);
}

static bool is_cut_off(const struct world *w)
{
    char byte;
    ssize_t n = recv(w->far_end, &byte, 1, 0);

    assert_true(n == 0 || errno == EAGAIN);
    return n == 0;
}

/* At its limit it is let be, behind that it is not. */
static void check_limit(struct world *w, int64_t limit_ms)
{
    const struct admin_link *l = w->client.link;

    exchange_cut_off_slow(&w->admin, l->since_us + limit_ms * 1000);
    assert_false(is_cut_off(w));
    exchange_cut_off_slow(&w->admin, l->since_us + limit_ms * 1000 + 1);
    assert_true(is_cut_off(w));
    exchange_cut_off_slow(&w->admin, l->since_us + limit_ms * 1000 + 2);
    assert_int_equal(w->admin.n_cut_off, 1);
}

static void who_asks_nothing_is_cut_off(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    check_limit(&w, w.config.admin.idle_ms);
    end(&w);
    begin(&w);
    ask(&w, "/livez");
    complete(&w);
    check_limit(&w, w.config.admin.idle_ms);
    end(&w);
}

static void who_does_not_take_its_answer_is_cut_off(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    ask(&w, "/livez");
    check_limit(&w, ADMIN_REQUEST_MS);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_for_one_that_ends),
        cmocka_unit_test(one_answer_is_bounded),
        cmocka_unit_test(unread_answers_are_bounded),
        cmocka_unit_test(health_is_told_whatever_is_unread),
        cmocka_unit_test(who_waits_too_long_is_told),
        cmocka_unit_test(who_asks_nothing_is_cut_off),
        cmocka_unit_test(who_does_not_take_its_answer_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
