/* SPDX-License-Identifier: Apache-2.0 */
/* embedded_server.c - a server inside this program: started in memory, talked to over its port as
 * any ZooKeeper client would, and stopped.
 *
 *   cc -std=c99 embedded_server.c $(pkg-config --cflags --libs pawl)
 *
 * C99 and C++11 alike. The exchange is the one of first_steps.c, with frames written out by hand.
 */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <pawl/server.h>

enum { CREATE = 1, GET_DATA = 4 };

struct frame {
    unsigned char bytes[512];
    size_t len; /* written, or received */
};

static void give_up(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* ---- frames: big-endian integers and length-prefixed strings ---- */

static void put_int(struct frame *f, int32_t x)
{
    uint32_t big_endian = htonl((uint32_t)x);

    memcpy(f->bytes + f->len, &big_endian, 4);
    f->len += 4;
}

static void put_zeroes(struct frame *f, size_t n)
{
    memset(f->bytes + f->len, 0, n);
    f->len += n;
}

static void put_string(struct frame *f, const char *s)
{
    put_int(f, (int32_t)strlen(s));
    memcpy(f->bytes + f->len, s, strlen(s));
    f->len += strlen(s);
}

static int32_t int_at(const struct frame *f, size_t at)
{
    uint32_t big_endian;

    if (at + 4 > f->len) {
        give_up("the answer is too short");
    }
    memcpy(&big_endian, f->bytes + at, 4);
    return (int32_t)ntohl(big_endian);
}

static void receive(int fd, unsigned char *to, size_t len)
{
    while (len > 0) {
        ssize_t n = read(fd, to, len);

        if (n <= 0) {
            give_up("the server has closed the connection");
        }
        to += n;
        len -= (size_t)n;
    }
}

/* Sends `f` and puts the answer in its place. */
static void exchange(int fd, struct frame *f)
{
    struct frame length;

    length.len = 0;
    put_int(&length, (int32_t)f->len);
    if (write(fd, length.bytes, 4) != 4 || write(fd, f->bytes, f->len) != (ssize_t)f->len) {
        give_up("the server does not listen");
    }
    receive(fd, length.bytes, 4);
    f->len = (size_t)int_at(&length, 0);
    if (f->len > sizeof(f->bytes)) {
        give_up("the answer is longer than expected");
    }
    receive(fd, f->bytes, f->len);
}

/* ---- what a client does ---- */

static int open_session(int port)
{
    struct sockaddr_in address;
    struct frame f;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    memset(&address, 0, sizeof(address));
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        give_up("cannot connect");
    }
    f.len = 0;
    put_zeroes(&f, 4 + 8); /* protocol version; no transaction seen yet */
    put_int(&f, 10000);    /* let the session live 10 s without a sign of us */
    put_zeroes(&f, 8);     /* a new one */
    put_int(&f, 16);       /* no password yet, and a read-only server will not do */
    put_zeroes(&f, 16 + 1);
    exchange(fd, &f);
    return fd;
}

static void create_node(int fd, const char *path, const char *data)
{
    struct frame f;

    f.len = 0;
    put_int(&f, 1);
    put_int(&f, CREATE);
    put_string(&f, path);
    put_string(&f, data);
    put_int(&f, 1); /* one entry of access: everything, for everybody */
    put_int(&f, 31);
    put_string(&f, "world");
    put_string(&f, "anyone");
    put_int(&f, 0); /* stays until it is deleted */
    exchange(fd, &f);
    if (int_at(&f, 12) != 0) {
        give_up(pawl_strerror(int_at(&f, 12)));
    }
}

static void print_node(int fd, const char *path)
{
    struct frame f;

    f.len = 0;
    put_int(&f, 2);
    put_int(&f, GET_DATA);
    put_string(&f, path);
    put_zeroes(&f, 1); /* no watch */
    exchange(fd, &f);
    if (int_at(&f, 12) != 0) {
        give_up(pawl_strerror(int_at(&f, 12)));
    }
    printf("%s: \"%.*s\"\n", path, (int)int_at(&f, 16), (const char *)f.bytes + 20);
}

/* ---- the server ---- */

static void print_line(enum pawl_log_level level, const char *line, void *arg)
{
    (void)level;
    fprintf(stdout, "%s: %s\n", (const char *)arg, line);
}

int main(void)
{
    const char *properties[] = {"tickTime=500", "maxClientCnxns=10"};
    char name[] = "server";
    struct pawl_server_options options;
    struct pawl_server *server;
    char why[512];
    int fd;

    pawl_server_options_init(&options);
    options.in_memory = 1;
    options.properties = properties;
    options.n_properties = sizeof(properties) / sizeof(properties[0]);
    options.log = print_line;
    options.log_arg = name;
    if (pawl_server_start(&options, &server, why, sizeof(why)) != PAWL_OK) {
        give_up(why);
    }
    printf("serving at %s\n", pawl_server_address(server));
    fd = open_session(pawl_server_port(server));
    create_node(fd, "/greeting", "hello from inside");
    print_node(fd, "/greeting");
    close(fd);
    if (pawl_server_stop(server) != PAWL_OK) {
        give_up("the server had failed");
    }
    printf("stopped\n");
    return 0;
}
