/* SPDX-License-Identifier: Apache-2.0 */
#include "console/front.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/memory.h"
#include "os/thread.h"
#include "pawl/error.h"

enum { N_THREADS = 4, IDLE_MS = 10 * 1000, BODIES_MAX = 16 << 20 };

enum exchange_state { TAKING, WAITING, ANSWERED };

struct front_exchange {
    struct list link; /* in `waiting` */
    struct front *front;
    struct MHD_Connection *connection;
    enum exchange_state state;
    char *url, *method;
    char peer[48];
    struct strbuf body;
    bool is_bad; /* an argument or a header has a NUL in it */
    struct console_answer answer;
};

struct front {
    struct console *console;
    void (*wake)(void *arg);
    void *wake_arg;
    struct thread threads[N_THREADS];
    int n_threads;
    struct lock lock; /* guards what follows */
    struct condition news;
    struct list waiting; /* struct front_exchange, in the order in which they came */
    size_t body_bytes;   /* of all */
    bool is_stopped;
};

/* ---- the threads ---- */

static const char *value(struct front_exchange *x, enum MHD_ValueKind kind, const char *name)
{
    const char *text = NULL;
    size_t len = 0;

    if (MHD_lookup_connection_value_n(x->connection, kind, name, strlen(name), &text, &len) !=
            MHD_YES ||
        text == NULL) {
        return NULL;
    }
    x->is_bad = x->is_bad || strlen(text) != len;
    return text;
}

static const char *header(struct front_exchange *x, const char *name)
{
    return value(x, MHD_HEADER_KIND, name);
}

static void refuse(struct console_answer *out, unsigned status, const char *json)
{
    *out = (struct console_answer){.status = status, .type = "application/json"};
    strbuf_init(&out->body, CONSOLE_ANSWER_MAX);
    strbuf_append_str(&out->body, json);
}

/* The connection is suspended: nobody else looks at it. */
static void handle(struct front *f, struct front_exchange *x)
{
    struct console_request q = {.method = x->method,
                                .url = x->url,
                                .peer = x->peer,
                                .host = header(x, "Host"),
                                .origin = header(x, "Origin"),
                                .fetch_site = header(x, "Sec-Fetch-Site"),
                                .cookie = header(x, "Cookie"),
                                .csrf = header(x, "X-Pawl-Csrf"),
                                .content_type = header(x, "Content-Type"),
                                .body = strbuf_bytes(&x->body)};

    for (int i = 0; i < N_ARGUMENTS; i++) {
        q.arguments[i] = value(x, MHD_GET_ARGUMENT_KIND, console_argument_names[i]);
    }
    if (x->is_bad) {
        refuse(&x->answer, 400,
               "{\"error\":\"a NUL in the request\",\"code\":\"BAD_ARGUMENTS\"}\n");
    } else if (x->body.failed) {
        refuse(&x->answer, 413, "{\"error\":\"the body is too long\",\"code\":\"TOO_LARGE\"}\n");
    } else {
        console_handle(f->console, &q, &x->answer);
    }
}

/* From here on it is not ours. */
static void resume(struct front_exchange *x)
{
    struct front *f = x->front;

    x->state = ANSWERED;
    MHD_resume_connection(x->connection);
    f->wake(f->wake_arg);
}

static struct front_exchange *take_waiting(struct front *f)
{
    struct list *first = list_empty(&f->waiting) ? NULL : f->waiting.next;

    if (first == NULL) {
        return NULL;
    }
    list_remove(first);
    return container_of(first, struct front_exchange, link);
}

static void *front_run(void *arg)
{
    struct front *f = arg;
    struct front_exchange *x;

    lock_take(&f->lock);
    while (!f->is_stopped) {
        x = take_waiting(f);
        if (x == NULL) {
            condition_wait(&f->news, &f->lock, IDLE_MS);
        }
        lock_give(&f->lock);
        if (x != NULL) {
            handle(f, x);
            resume(x);
        } else {
            console_idle(f->console);
        }
        lock_take(&f->lock);
    }
    lock_give(&f->lock);
    return NULL;
}

struct front *front_new(const struct console_options *options, void (*wake)(void *arg), void *arg)
{
    struct front *f = must_zalloc(sizeof(*f));

    f->wake = wake;
    f->wake_arg = arg;
    f->console = console_new(options);
    lock_init(&f->lock);
    condition_init(&f->news);
    list_init(&f->waiting);
    while (f->n_threads < N_THREADS &&
           thread_start(&f->threads[f->n_threads], "pawl-console", 0, front_run, f) == PAWL_OK) {
        f->n_threads++;
    }
    if (f->n_threads == 0) {
        front_free(f);
        return NULL;
    }
    return f;
}

static void refuse_waiting(struct front *f)
{
    struct front_exchange *x;

    while ((x = take_waiting(f)) != NULL) {
        refuse(&x->answer, 503, "{\"error\":\"the console is ending\",\"code\":\"ENDING\"}\n");
        resume(x);
    }
}

void front_stop(struct front *f)
{
    lock_take(&f->lock);
    f->is_stopped = true;
    refuse_waiting(f);
    condition_broadcast(&f->news);
    lock_give(&f->lock);
    console_interrupt(f->console);
    for (int i = 0; i < f->n_threads; i++) {
        thread_join(f->threads[i]);
    }
    f->n_threads = 0;
}

void front_free(struct front *f)
{
    ASSERT(f->n_threads == 0 && list_empty(&f->waiting));
    console_free(f->console);
    condition_fini(&f->news);
    lock_fini(&f->lock);
    free(f);
}

/* ---- requests, on the thread that has the sockets ---- */

static void copy_peer(struct front_exchange *x)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *a = info != NULL ? info->client_addr : NULL;
    const void *address =
        a == NULL                  ? NULL
        : a->sa_family == AF_INET  ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
        : a->sa_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr
                                   : NULL;

    if (address != NULL) {
        inet_ntop(a->sa_family, address, x->peer, sizeof(x->peer));
    }
}

struct front_exchange *front_begin(struct front *f, struct MHD_Connection *connection,
                                   const char *url, const char *method)
{
    struct front_exchange *x = must_zalloc(sizeof(*x));

    x->front = f;
    x->connection = connection;
    x->url = must_strdup(url);
    x->method = must_strdup(method);
    list_init(&x->link);
    strbuf_init(&x->body, CONSOLE_BODY_MAX);
    copy_peer(x);
    return x;
}

/* What is too long is read to its end, and not kept. */
void front_take(struct front_exchange *x, const char *data, size_t len)
{
    struct front *f = x->front;

    lock_take(&f->lock);
    if (f->body_bytes + len > BODIES_MAX) {
        x->body.failed = true;
    }
    if (!x->body.failed) {
        size_t before = x->body.len;

        strbuf_append(&x->body, data, len);
        f->body_bytes += x->body.len - before;
    }
    lock_give(&f->lock);
}

static void keep(void *arg)
{
    (void)arg; /* a file of the page is part of the program */
}

static enum MHD_Result send_response(struct front_exchange *x, unsigned status, const char *type,
                                     struct MHD_Response *response)
{
    enum MHD_Result rc;

    MHD_add_response_header(response, "Content-Type", type);
    for (int i = 0; console_headers[i][0] != NULL; i++) {
        MHD_add_response_header(response, console_headers[i][0], console_headers[i][1]);
    }
    if (x->answer.cookie[0] != '\0') {
        MHD_add_response_header(response, "Set-Cookie", x->answer.cookie);
    }
    if (x->answer.allow != NULL) {
        MHD_add_response_header(response, "Allow", x->answer.allow);
    }
    rc = MHD_queue_response(x->connection, status, response);
    MHD_destroy_response(response);
    return rc;
}

/* The bytes become the response's. */
static enum MHD_Result send_answer(struct front_exchange *x)
{
    struct strbuf *body = &x->answer.body;
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->len, body->data, free, body->data);

    if (response == NULL) {
        return MHD_NO;
    }
    *body = (struct strbuf){0};
    return send_response(x, x->answer.status, x->answer.type, response);
}

static enum MHD_Result send_file(struct front_exchange *x, const struct console_file *file)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        file->len, (void *)file->data, keep, NULL);

    return response == NULL ? MHD_NO : send_response(x, 200, file->type, response);
}

static enum MHD_Result wait_for_answer(struct front_exchange *x)
{
    struct front *f = x->front;
    bool is_stopped;

    MHD_suspend_connection(x->connection);
    lock_take(&f->lock);
    is_stopped = f->is_stopped;
    x->state = WAITING;
    list_push_back(&f->waiting, &x->link);
    if (is_stopped) { /* nobody else would */
        refuse_waiting(f);
    }
    condition_signal(&f->news);
    lock_give(&f->lock);
    return MHD_YES;
}

enum MHD_Result front_answer(struct front_exchange *x)
{
    struct console_file file;

    if (x->state == ANSWERED) {
        return send_answer(x);
    }
    ASSERT(x->state == TAKING);
    if (!console_find_file(x->url, &file)) {
        return wait_for_answer(x);
    }
    if (strcmp(x->method, "GET") != 0 && strcmp(x->method, "HEAD") != 0) {
        refuse(&x->answer, 405, "{\"error\":\"here is only GET\",\"code\":\"METHOD\"}\n");
        x->answer.allow = "GET, HEAD";
        return send_answer(x);
    }
    return send_file(x, &file);
}

void front_end(struct front_exchange *x)
{
    struct front *f = x->front;

    lock_take(&f->lock);
    list_remove(&x->link);
    f->body_bytes -= x->body.len;
    lock_give(&f->lock);
    strbuf_fini(&x->body);
    strbuf_fini(&x->answer.body);
    free(x->url);
    free(x->method);
    free(x);
}
