/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - a snapshot over HTTP: the server takes one as it takes any other, between its turns,
 * and the file is sent from the disk by this thread. So neither who reads slowly nor how large the
 * tree is makes a difference to the server. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin/admin_internal.h"
#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "os/clock.h"
#include "pawl/error.h"

#define JSON "application/json"

enum { BLOCK_BYTES = 64 * 1024 };

void stream_init(struct admin *a)
{
    a->taking.admin = a;
}

/* ---- on the server's thread ---- */

static void on_taken(struct host_snapshot_call *taken)
{
    struct taking *t = container_of(taken, struct taking, taken);
    int wake_fd = t->admin->wake_fd;

    atomic_store(&t->is_done, true);
    eventfd_write(wake_fd, 1);
}

static void on_begin(struct host_call *call, struct server *s)
{
    struct taking *t = container_of(call, struct taking, call);

    (void)s;
    host_take_snapshot(atomic_load(&t->admin->host), &t->taken);
}

/* ---- the file ---- */

struct streamed {
    int fd;
    uint64_t size, counted;  /* up to there its reader was in time */
    struct admin_link *link; /* of the connection, which ends after this */
};

/* libmicrohttpd asks for the next bytes when the last ones have gone. */
static ssize_t read_some(void *arg, uint64_t at, char *out, size_t max)
{
    struct streamed *f = arg;
    ssize_t n = at < f->size ? pread(f->fd, out, max, (off_t)at) : 0;

    if (f->link != NULL && at - f->counted >= ADMIN_STREAM_BYTES) {
        f->counted = at;
        f->link->since_us = clock_monotonic_us();
    }
    return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void streamed_free(void *arg)
{
    struct streamed *f = arg;

    close(f->fd);
    free(f);
}

static struct response *empty_response(struct admin *a, struct exchange *x, unsigned *status)
{
    struct response *response;
    struct strbuf body;

    strbuf_init(&body, ADMIN_ANSWER_MAX);
    command_refuse(command_name(x->command), NULL, &body);
    response = response_new(a, &body, JSON, status);
    strbuf_fini(&body);
    return response;
}

static struct response *file_response(struct exchange *x, int fd, uint64_t size)
{
    struct streamed *f = must_zalloc(sizeof(*f));

    *f = (struct streamed){.fd = fd, .size = size, .link = exchange_link(x)};
    return response_from(
        MHD_create_response_from_callback(size, BLOCK_BYTES, read_some, f, streamed_free),
        "application/octet-stream");
}

static void add_headers(struct response *r, int64_t zxid, uint64_t size)
{
    char text[32];

    snprintf(text, sizeof(text), "0x%" PRIx64, (uint64_t)zxid);
    MHD_add_response_header(r->mhd, "last_zxid", text);
    snprintf(text, sizeof(text), "%" PRIu64, size);
    MHD_add_response_header(r->mhd, "snapshot_size", text);
}

static bool is_streamed(const struct exchange *x)
{
    const char *value =
        MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, "streaming");

    return value == NULL || strcasecmp(value, "true") == 0;
}

static void answer_with(struct admin *a, struct exchange *x, const struct host_snapshot_call *taken)
{
    int fd = taken->rc == PAWL_OK ? open(taken->path, O_RDONLY | O_CLOEXEC) : -1;
    bool is_good = fd >= 0;
    struct response *response;
    unsigned status = 200;
    struct stat st = {0};

    if (!is_good || fstat(fd, &st) != 0) {
        log_warn("admin server: no snapshot can be sent: %s",
                 taken->rc != PAWL_OK ? pawl_strerror(taken->rc) : strerror(errno));
        status = 500;
    }
    if (status == 200 && is_streamed(x)) {
        response = file_response(x, fd, (uint64_t)st.st_size);
        fd = -1;
    } else {
        response = empty_response(a, x, &status);
    }
    if (status == 200) {
        add_headers(response, taken->zxid, (uint64_t)st.st_size);
    }
    if (fd >= 0) {
        close(fd);
    }
    exchange_answer(x, status, response);
    response_unref(response);
}

/* ---- one at a time ---- */

static void refuse(struct admin *a, struct exchange *x, unsigned status)
{
    struct response *response = empty_response(a, x, &status);

    exchange_answer(x, status, response);
    response_unref(response);
}

void stream_begin(struct admin *a, struct exchange *x)
{
    struct taking *t = &a->taking;

    if (t->is_under_way) {
        refuse(a, x, 429);
        return;
    }
    t->is_under_way = true;
    t->asker = x;
    atomic_store(&t->is_done, false);
    t->taken = (struct host_snapshot_call){.done = on_taken};
    t->call = (struct host_call){.fn = on_begin};
    host_do(atomic_load(&a->host), &t->call);
}

void stream_turn(struct admin *a)
{
    struct taking *t = &a->taking;

    if (t->asker != NULL) { /* who waits for it is not slow */
        exchange_link(t->asker)->since_us = clock_monotonic_us();
    }
    if (!t->is_under_way || !atomic_load(&t->is_done)) {
        return;
    }
    t->is_under_way = false;
    if (t->asker != NULL) {
        struct exchange *x = t->asker;

        t->asker = NULL;
        answer_with(a, x, &t->taken);
    }
}

void stream_end(struct admin *a)
{
    if (a->taking.asker != NULL) {
        refuse(a, a->taking.asker, 503);
        a->taking.asker = NULL;
    }
}
