/* SPDX-License-Identifier: Apache-2.0 */
/* first_steps.c - a node written and read through a server's client port, with nothing but a
 * socket.
 *
 *   first_steps PORT
 *
 * Works on any ZooKeeper server at 127.0.0.1. Everything that is sent is a frame: its length, then
 * big-endian integers and length-prefixed strings. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CREATE = 1, GET_DATA = 4, CLOSE_SESSION = -11, NODE_EXISTS = -110 };

struct frame {
    uint8_t bytes[4096];
    size_t len; /* written, or received */
    size_t at;  /* read up to here */
};

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static void put_int(struct frame *f, int32_t x)
{
    uint32_t big_endian = htonl((uint32_t)x);

    memcpy(f->bytes + f->len, &big_endian, 4);
    f->len += 4;
}

static void put_long(struct frame *f, int64_t x)
{
    put_int(f, (int32_t)(x >> 32));
    put_int(f, (int32_t)x);
}

static void put_string(struct frame *f, const char *s)
{
    put_int(f, (int32_t)strlen(s));
    memcpy(f->bytes + f->len, s, strlen(s));
    f->len += strlen(s);
}

static int32_t get_int(struct frame *f)
{
    uint32_t big_endian = 0;

    if (f->len - f->at < 4) {
        fprintf(stderr, "the answer is too short\n");
        exit(1);
    }
    memcpy(&big_endian, f->bytes + f->at, 4);
    f->at += 4;
    return (int32_t)ntohl(big_endian);
}

static int64_t get_long(struct frame *f)
{
    int64_t high = get_int(f);

    return high << 32 | (uint32_t)get_int(f);
}

static void send_frame(int fd, const struct frame *f)
{
    uint32_t length = htonl((uint32_t)f->len);

    if (write(fd, &length, 4) != 4 || write(fd, f->bytes, f->len) != (ssize_t)f->len) {
        give_up("write");
    }
}

static void receive_bytes(int fd, void *data, size_t len)
{
    uint8_t *at = data;

    while (len > 0) {
        ssize_t n = read(fd, at, len);

        if (n <= 0) {
            give_up("the server closed the connection");
        }
        at += n;
        len -= (size_t)n;
    }
}

static void receive_frame(int fd, struct frame *f)
{
    uint32_t length;

    receive_bytes(fd, &length, 4);
    f->len = ntohl(length);
    f->at = 0;
    if (f->len > sizeof(f->bytes)) {
        fprintf(stderr, "an answer of %zu bytes was not expected\n", f->len);
        exit(1);
    }
    receive_bytes(fd, f->bytes, f->len);
}

/* Sends a request and returns the error of its answer, whose body is next to be read. */
static int32_t ask(int fd, const struct frame *request, struct frame *answer)
{
    send_frame(fd, request);
    receive_frame(fd, answer);
    get_int(answer);  /* the number we gave the request */
    get_long(answer); /* the last transaction the server knows */
    return get_int(answer);
}

static struct frame begin_request(int32_t number, int32_t operation)
{
    struct frame f = {.len = 0};

    put_int(&f, number);
    put_int(&f, operation);
    return f;
}

static int open_connection(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        give_up("connect");
    }
    return fd;
}

/* A new session: everything that a client does belongs to one. */
static void open_session(int fd)
{
    static const char no_password[16];
    struct frame f = {.len = 0};

    put_int(&f, 0);     /* protocol version */
    put_long(&f, 0);    /* no transaction seen yet */
    put_int(&f, 10000); /* let it live 10 s without a sign of us */
    put_long(&f, 0);    /* a new one */
    put_int(&f, (int32_t)sizeof(no_password));
    memcpy(f.bytes + f.len, no_password, sizeof(no_password));
    f.len += sizeof(no_password);
    f.bytes[f.len++] = 0; /* a read-only server will not do */
    send_frame(fd, &f);
    receive_frame(fd, &f);
    get_int(&f);
    printf("session granted for %d ms", get_int(&f));
    printf(", id 0x%" PRIx64 "\n", (uint64_t)get_long(&f));
}

static void create_node(int fd, const char *path, const char *data)
{
    struct frame request = begin_request(1, CREATE), answer;
    int32_t err;

    put_string(&request, path);
    put_string(&request, data);
    put_int(&request, 1); /* one entry of access: */
    put_int(&request, 31);
    put_string(&request, "world");
    put_string(&request, "anyone");
    put_int(&request, 0); /* stays until it is deleted */
    err = ask(fd, &request, &answer);
    if (err != 0 && err != NODE_EXISTS) {
        fprintf(stderr, "create %s: error %d\n", path, err);
        exit(1);
    }
    printf("create %s \"%s\": %s\n", path, data,
           err == 0 ? "done, and on disk" : "is there already");
}

static void read_node(int fd, const char *path)
{
    struct frame request = begin_request(2, GET_DATA), answer;
    int32_t err, len;

    put_string(&request, path);
    request.bytes[request.len++] = 0; /* no watch */
    err = ask(fd, &request, &answer);
    if (err != 0) {
        fprintf(stderr, "get %s: error %d\n", path, err);
        exit(1);
    }
    len = get_int(&answer);
    printf("get %s: \"%.*s\"\n", path, len, (const char *)answer.bytes + answer.at);
}

int main(int argc, char **argv)
{
    struct frame bye = begin_request(3, CLOSE_SESSION), answer;
    int fd;

    if (argc != 2) {
        fprintf(stderr, "usage: %s PORT\n", argv[0]);
        return 1;
    }
    fd = open_connection(argv[1]);
    open_session(fd);
    create_node(fd, "/hello", "world");
    read_node(fd, "/hello");
    ask(fd, &bye, &answer);
    close(fd);
    return 0;
}
