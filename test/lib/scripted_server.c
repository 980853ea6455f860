/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lib/scripted_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "wire/ops.h"
#include "wire/packet.h"
#include "wire/records.h"

enum { FRAME_BYTES = 65536, SESSION_MS = 10000 };

struct scripted_server {
    script_fn script;
    void *arg;
    int listener, n_links, n_requests;
    char address[32];
    _Atomic bool stop;
    pthread_t thread;
};

static bool read_all(struct scripted_server *s, int fd, uint8_t *to, size_t len)
{
    while (len > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (atomic_load(&s->stop)) {
            return false;
        }
        if (poll(&p, 1, 20) == 0) {
            continue;
        }
        n = recv(fd, to, len, 0);
        if (n <= 0) {
            return false;
        }
        to += n;
        len -= (size_t)n;
    }
    return true;
}

static void send_frame(int fd, struct strbuf *b)
{
    jute_patch_int(b, 0, (int32_t)b->len - 4);
    (void)!send(fd, b->data, b->len, MSG_NOSIGNAL);
    strbuf_fini(b);
}

static void begin_frame(struct strbuf *b)
{
    strbuf_init(b, STRBUF_NO_LIMIT);
    jute_write_int(b, 0);
}

static void say_hello(int fd)
{
    static const uint8_t password[16] = {7};
    struct strbuf b;

    begin_frame(&b);
    jute_write_int(&b, 0);
    jute_write_int(&b, SESSION_MS);
    jute_write_long(&b, 0x1234);
    jute_write_buffer(&b, bytes_of(password, sizeof(password)));
    strbuf_append(&b, "\0", 1);
    send_frame(fd, &b);
}

static void write_body(struct strbuf *b, const struct scripted_request *q,
                       const struct scripted_answer *a)
{
    struct stat_record stat = {.czxid = a->czxid, .version = a->version, .ephemeral_owner = 0x1234};

    switch (q->op) {
    case OP_CREATE:
    case OP_SYNC:
        jute_write_buffer(b, bytes_str(q->path));
        break;
    case OP_CREATE2:
    case OP_CREATE_CONTAINER:
        jute_write_buffer(b, bytes_str(q->path));
        stat_write(b, &stat);
        break;
    case OP_EXISTS:
    case OP_SET_DATA:
        stat_write(b, &stat);
        break;
    case OP_GET_DATA:
        jute_write_buffer(b, bytes_str("x"));
        stat_write(b, &stat);
        break;
    case OP_GET_CHILDREN:
    case OP_GET_CHILDREN2:
        jute_write_int(b, a->child == NULL ? 0 : 1);
        if (a->child != NULL) {
            jute_write_buffer(b, bytes_str(a->child));
        }
        if (q->op == OP_GET_CHILDREN2) {
            stat_write(b, &stat);
        }
        break;
    default:
        break;
    }
}

static void answer(int fd, int32_t xid, int err, const struct scripted_request *q,
                   const struct scripted_answer *a)
{
    struct strbuf b;

    begin_frame(&b);
    jute_write_int(&b, xid);
    jute_write_long(&b, a->zxid);
    jute_write_int(&b, err);
    if (err == 0) {
        write_body(&b, q, a);
    }
    send_frame(fd, &b);
}

/* False: the link ends. */
static bool take_request(struct scripted_server *s, int fd, struct bytes frame)
{
    struct jute_reader r = jute_reader_of(frame);
    int32_t xid = jute_read_int(&r);
    struct scripted_request q = {.op = jute_read_int(&r), .link = s->n_links - 1};
    struct scripted_answer a = {.zxid = 100};
    struct bytes path;
    int what;

    if (q.op == OP_PING) {
        answer(fd, xid, 0, &q, &a);
        return true;
    }
    path = q.op == OP_CLOSE_SESSION ? bytes_str("") : jute_read_buffer(&r);
    snprintf(q.path, sizeof(q.path), "%.*s", (int)path.len, (const char *)path.data);
    q.n = s->n_requests++;
    what = q.op == OP_CLOSE_SESSION ? SCRIPT_OK : s->script(&q, &a, s->arg);
    if (what == SCRIPT_OK || what < 0) {
        answer(fd, xid, what, &q, &a);
    }
    return what != SCRIPT_CUT;
}

static void serve(struct scripted_server *s, int fd)
{
    static uint8_t frame[FRAME_BYTES];
    bool greeted = false, more = true;
    uint8_t head[4];

    while (more && read_all(s, fd, head, 4)) {
        uint32_t len = load_u32(head);

        ASSERT(len <= sizeof(frame));
        if (!read_all(s, fd, frame, len)) {
            break;
        }
        if (greeted) {
            more = take_request(s, fd, bytes_of(frame, len));
        } else {
            say_hello(fd);
        }
        greeted = true;
    }
    close(fd);
}

static void *scripted_server_main(void *server)
{
    struct scripted_server *s = server;

    while (!atomic_load(&s->stop)) {
        struct pollfd p = {.fd = s->listener, .events = POLLIN};
        int fd = poll(&p, 1, 20) == 1 ? accept(s->listener, NULL, NULL) : -1;

        if (fd >= 0) {
            s->n_links++;
            serve(s, fd);
        }
    }
    return NULL;
}

struct scripted_server *scripted_server_new(script_fn script, void *arg)
{
    struct scripted_server *s = calloc(1, sizeof(*s));
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int rc;

    ASSERT(s != NULL);
    s->script = script;
    s->arg = arg;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    rc = bind(s->listener, (struct sockaddr *)&a, len);
    ASSERT(rc == 0);
    rc = listen(s->listener, 8);
    ASSERT(rc == 0);
    getsockname(s->listener, (struct sockaddr *)&a, &len);
    snprintf(s->address, sizeof(s->address), "127.0.0.1:%d", ntohs(a.sin_port));
    rc = pthread_create(&s->thread, NULL, scripted_server_main, s);
    ASSERT(rc == 0);
    return s;
}

void scripted_server_free(struct scripted_server *s)
{
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    close(s->listener);
    free(s);
}

const char *scripted_server_address(const struct scripted_server *s)
{
    return s->address;
}
