/* SPDX-License-Identifier: Apache-2.0 */
/* answers.c - asks the server's thread, and hands out what it says.
 *
 * One question is under way at a time. Its answer goes to everybody who waits for the same; how
 * long it took decides when the next one may be asked. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "admin/admin_internal.h"
#include "admin/process_metrics.h"
#include "os/clock.h"
#include "os/socket.h"
#include "server/report_prometheus.h"

#define JSON       "application/json"
#define PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"

void answers_init(struct admin *a)
{
    a->question.admin = a;
    strbuf_init(&a->question.out, ADMIN_ANSWER_MAX);
}

void answers_fini(struct admin *a)
{
    strbuf_fini(&a->question.out);
}

/* ---- on the server's thread ---- */

static void answer_command(struct question *q, struct server *s)
{
    struct admin *a = q->admin;
    struct command_world world = {.config = a->config,
                                  .host = a->host,
                                  .members = host_members(a->host),
                                  .limits = &a->limits,
                                  .file_text =
                                      a->has_file_text ? (const char *)a->file_text.data : NULL};
    struct command_request request = {.command = q->command,
                                      .spelled = q->spelled,
                                      .trace_mask = q->has_trace_mask ? q->trace_mask : NULL,
                                      .authorization =
                                          q->has_authorization ? q->authorization : NULL,
                                      .ip = q->ip,
                                      .body = bytes_of(q->body, q->body_len)};

    q->status = command_run(&world, s, &request, &q->out);
    q->retry_after_s = a->limits.retry_after_s;
}

/* Of this thread: while others have the processor nothing is taken from anybody. */
static int64_t processor_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void on_question(struct host_call *call, struct server *s)
{
    struct question *q = container_of(call, struct question, call);
    int wake_fd = q->admin->wake_fd;
    int64_t began_us = processor_us();

    if (q->command != NULL) {
        answer_command(q, s);
    } else {
        report_prometheus(s, &q->out);
        q->status = 200;
    }
    q->took_us = processor_us() - began_us;
    atomic_store(&q->is_answered, true);
    eventfd_write(wake_fd, 1);
}

/* ---- asking ---- */

static void copy_value(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *name,
                       char *out, size_t size, bool *has)
{
    const char *value = MHD_lookup_connection_value(c, kind, name);

    *has = value != NULL;
    snprintf(out, size, "%s", value == NULL ? "" : value);
}

static void copy_address(struct MHD_Connection *c, char *out, size_t size)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct socket_peer peer = {.ip = ""};

    if (info != NULL) {
        socket_peer_of(info->connect_fd, &peer);
    }
    snprintf(out, size, "%s", peer.ip);
}

/* Whether the answer to `x` is also that to `other`. */
static bool is_the_same(const struct exchange *x, const struct exchange *other)
{
    if (x == other) {
        return true;
    }
    return x->command == other->command && strcmp(x->spelled, other->spelled) == 0 &&
           (x->command == NULL || command_is_shared(x->command));
}

/* Those who come from now on wait for the next one: what they are shown is not from before they
 * asked. */
static void mark_askers(struct admin *a, const struct exchange *first)
{
    struct list *item;

    list_for_each (item, &a->waiting) {
        struct exchange *x = container_of(item, struct exchange, link);

        x->is_asked = is_the_same(x, first);
    }
}

static void ask(struct admin *a, const struct exchange *x)
{
    struct question *q = &a->question;

    mark_askers(a, x);
    q->is_asked = true;
    atomic_store(&q->is_answered, false);
    q->command = x->command;
    memcpy(q->spelled, x->spelled, sizeof(q->spelled));
    copy_value(x->connection, MHD_GET_ARGUMENT_KIND, "traceMask", q->trace_mask,
               sizeof(q->trace_mask), &q->has_trace_mask);
    copy_value(x->connection, MHD_HEADER_KIND, "Authorization", q->authorization,
               sizeof(q->authorization), &q->has_authorization);
    copy_address(x->connection, q->ip, sizeof(q->ip));
    memcpy(q->body, x->body, x->body_len);
    q->body_len = x->body_len;
    strbuf_clear(&q->out);
    q->call = (struct host_call){.fn = on_question};
    a->n_asked++;
    host_do(atomic_load(&a->host), &q->call);
}

/* ---- handing out ---- */

static void hand_out(struct admin *a, unsigned status, struct response *response)
{
    struct list *item, *next;

    for (item = a->waiting.next; item != &a->waiting; item = next) {
        struct exchange *x = container_of(item, struct exchange, link);

        next = item->next;
        if (x->is_asked) {
            exchange_answer(x, status, response);
        }
    }
}

static struct exchange *first_asked(struct admin *a)
{
    struct list *item;

    list_for_each (item, &a->waiting) {
        struct exchange *x = container_of(item, struct exchange, link);

        if (x->is_asked) {
            return x;
        }
    }
    return NULL;
}

/* Such commands are nobody else's: the one who has asked, if it is still there. */
static void go_on(struct admin *a)
{
    struct exchange *x = first_asked(a);

    if (x != NULL) {
        list_remove(&x->link);
        if (command_takes_upload(x->command)) {
            restore_begin(a, x);
        } else {
            stream_begin(a, x);
        }
    }
}

static void note_time(struct admin *a, const struct question *q, int64_t now_us)
{
    a->asked_us += q->took_us;
    if (q->took_us > a->asked_longest_us) {
        a->asked_longest_us = q->took_us;
    }
    a->ask_again_us = now_us + q->took_us * (ADMIN_SHARE - 1);
}

static void take_answer(struct admin *a, int64_t now_us)
{
    struct question *q = &a->question;
    unsigned status = (unsigned)q->status;
    struct response *response;

    q->is_asked = false;
    note_time(a, q, now_us);
    if (q->status == COMMAND_GOES_ON) {
        go_on(a);
        return;
    }
    if (q->command == NULL) {
        process_metrics(a, &q->out);
    }
    response = response_new(a, &q->out, q->command == NULL ? PROMETHEUS : JSON, &status);
    if (status == 429) {
        char seconds[24];

        snprintf(seconds, sizeof(seconds), "%" PRId64, q->retry_after_s);
        MHD_add_response_header(response->mhd, "Retry-After", seconds);
    }
    hand_out(a, status, response);
    response_unref(response);
}

/* Nobody can be asked: the sentence of a server that does not serve. */
static void refuse(struct admin *a, struct exchange *x, unsigned status, const char *error)
{
    struct response *response;
    struct strbuf body;

    strbuf_init(&body, ADMIN_ANSWER_MAX);
    if (x->command == NULL) {
        process_metrics(a, &body); /* the process is there, and nothing is known of its server */
    } else {
        command_refuse(x->spelled, error, &body);
    }
    response = response_new(a, &body, x->command == NULL ? PROMETHEUS : JSON, &status);
    exchange_answer(x, status, response);
    response_unref(response);
    strbuf_fini(&body);
}

static struct exchange *first_waiting(struct admin *a)
{
    return list_empty(&a->waiting) ? NULL : container_of(a->waiting.next, struct exchange, link);
}

static void refuse_all(struct admin *a, unsigned status, const char *error)
{
    struct exchange *x;

    while ((x = first_waiting(a)) != NULL) {
        refuse(a, x, status, error);
    }
}

/* The first has waited longest. */
static void give_up_late(struct admin *a, int64_t now_us)
{
    struct exchange *x;

    while ((x = first_waiting(a)) != NULL && now_us - x->since_us > ADMIN_WAIT_MS * 1000) {
        refuse(a, x, 503, "The server has not come to it for 20 seconds");
    }
}

void answers_turn(struct admin *a, int64_t now_us)
{
    struct question *q = &a->question;
    struct exchange *x;

    if (q->is_asked && atomic_load(&q->is_answered)) {
        take_answer(a, now_us);
    }
    if (atomic_load(&a->host) == NULL) {
        refuse_all(a, 200, command_not_serving);
    }
    give_up_late(a, now_us);
    x = first_waiting(a);
    if (x != NULL && now_us >= answers_next_us(a)) {
        ask(a, x);
    }
}

int64_t answers_next_us(const struct admin *a)
{
    return list_empty(&a->waiting) || a->question.is_asked ? INT64_MAX : a->ask_again_us;
}

void answers_let_go(struct admin *a)
{
    a->question.is_asked = false;
    refuse_all(a, 503, command_not_serving);
    stream_end(a);
    a->taking.is_under_way = false;
}

void answers_end(struct admin *a)
{
    refuse_all(a, 503, command_not_serving);
    stream_end(a);
    restore_end(a);
}
