/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/dial.h"
#include "os/fork_guard.h"
#include "pawl/error.h"

static _Thread_local char last_error[512];

const char *socket_last_error(void)
{
    return last_error;
}

static int socket_fail(int code, const char *what, const char *where, int port, const char *why)
{
    snprintf(last_error, sizeof(last_error), "%s %s:%d: %s", what, where, port, why);
    return code;
}

static int fail_unix(int code, const char *path, const char *why)
{
    snprintf(last_error, sizeof(last_error), "cannot listen on the socket %s: %s", path, why);
    return code;
}

static int code_for(int error)
{
    return error == EADDRINUSE ? PAWL_ERR_BUSY
           : error == EACCES   ? PAWL_ERR_PERMISSION
                               : PAWL_ERR_ADDRESS;
}

static int new_socket(int family)
{
    int fd;

    fork_guard_begin();
    fd = fork_guard_add(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    fork_guard_end();
    return fd;
}

static int bound_port_of(int fd)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof(a);

    if (getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
        return -1;
    }
    if (a.ss_family == AF_INET6) {
        return ntohs(((struct sockaddr_in6 *)&a)->sin6_port);
    }
    return ntohs(((struct sockaddr_in *)&a)->sin_port);
}

/* A bound socket; it need not listen. */
static int bind_to(const struct addrinfo *a)
{
    int on = 1, off = 0, saved;
    int fd = new_socket(a->ai_family);

    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->ai_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0) {
        return fd;
    }
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int listen_on(const struct addrinfo *a, int backlog)
{
    int fd = bind_to(a), saved;

    if (fd < 0 || listen(fd, backlog > 0 ? backlog : SOMAXCONN) == 0) {
        return fd;
    }
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int socket_resolve(const char *host, int port, struct addrinfo **out)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    char service[16];

    snprintf(service, sizeof(service), "%d", port);
    return getaddrinfo(host, service, &hints, out);
}

/* Of all addresses the IPv6 wildcard serves both families; without IPv6 the other one is taken. Of
 * a name with addresses of both families it is the IPv4 one, as with Java. */
int socket_listen_tcp(const char *host, int port, int backlog, int *fd, int *bound_port)
{
    const char *where = host == NULL ? "*" : host;
    struct addrinfo *list, *a;
    int rc = socket_resolve(host, port, &list);
    int listener = -1, saved = 0;

    if (rc != 0) {
        return socket_fail(PAWL_ERR_ADDRESS, "cannot resolve", where, port, gai_strerror(rc));
    }
    for (int pass = 0; pass < 2 && listener < 0; pass++) {
        for (a = list; a != NULL && listener < 0; a = a->ai_next) {
            if ((a->ai_family == AF_INET6) == (pass == (host == NULL ? 0 : 1))) {
                listener = listen_on(a, backlog);
                saved = errno;
            }
        }
    }
    freeaddrinfo(list);
    if (listener < 0) {
        return socket_fail(code_for(saved), "cannot listen on", where, port, strerror(saved));
    }
    *fd = listener;
    *bound_port = bound_port_of(listener);
    return 0;
}

/* With SO_REUSEADDR on both a listener may be bound beside a socket that does not listen. */
int socket_reserve_tcp(const char *host, int *fd, int *port)
{
    struct addrinfo *list;
    int rc = socket_resolve(host, 0, &list), saved;

    if (rc != 0) {
        return socket_fail(PAWL_ERR_ADDRESS, "cannot resolve", host, 0, gai_strerror(rc));
    }
    *fd = bind_to(list);
    saved = errno;
    freeaddrinfo(list);
    if (*fd < 0) {
        return socket_fail(code_for(saved), "cannot reserve a port at", host, 0, strerror(saved));
    }
    *port = bound_port_of(*fd);
    return PAWL_OK;
}

/* ---- a port that is held ---- */

static int own_family(const struct address *a)
{
    return ((const struct sockaddr *)(const void *)a->bytes)->sa_family;
}

void socket_sort_own(struct address *addresses, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t k = i; k > 0 && own_family(&addresses[k]) == AF_INET &&
                           own_family(&addresses[k - 1]) != AF_INET;
             k--) {
            struct address a = addresses[k];

            addresses[k] = addresses[k - 1];
            addresses[k - 1] = a;
        }
    }
}

size_t socket_own_addresses(const char *host, int port, struct address *out, size_t max)
{
    struct addrinfo *list, *a;
    size_t n = 0;

    if (socket_resolve(host, port, &list) != 0) {
        return 0;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (a = list; a != NULL && n < max; a = a->ai_next) {
            if ((a->ai_family == AF_INET6) == (pass == (host == NULL ? 0 : 1)) &&
                a->ai_addrlen <= ADDRESS_BYTES) {
                out[n].len = a->ai_addrlen;
                memcpy(out[n++].bytes, a->ai_addr, a->ai_addrlen);
            }
        }
    }
    freeaddrinfo(list);
    return n;
}

static void set_reuse(int fd, bool reuse)
{
    int value = reuse;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value));
}

/* Connections of the time before may still be ending: SO_REUSEADDR is on when the port is bound,
 * and when it is listened on. In between it is off, or others who have it on could bind the port,
 * too, and listen first. That nobody does is known when we have listened ourselves for a moment;
 * a socket that is shut down afterwards keeps the port it was bound to. */
static int hold(const struct sockaddr *a, socklen_t len)
{
    int fd = bind_to(&(struct addrinfo){
        .ai_family = a->sa_family, .ai_addr = (struct sockaddr *)a, .ai_addrlen = len});
    int saved;

    if (fd < 0 || (socket_held_listen(fd) == PAWL_OK && socket_held_unlisten(fd))) {
        return fd;
    }
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* A port that the system has chosen would be lost: it is bound again, by its number. */
static int hold_any(const struct sockaddr *a, socklen_t len)
{
    int first = bind_to(&(struct addrinfo){
        .ai_family = a->sa_family, .ai_addr = (struct sockaddr *)a, .ai_addrlen = len});
    struct sockaddr_storage chosen;
    socklen_t chosen_len = sizeof(chosen);
    int fd = -1;

    if (first < 0) {
        return -1;
    }
    if (getsockname(first, (struct sockaddr *)&chosen, &chosen_len) == 0) {
        fd = hold((struct sockaddr *)&chosen, chosen_len);
    }
    close(first);
    return fd;
}

int socket_hold(const struct address *a, int *fd, int *port)
{
    const struct sockaddr *name = (const struct sockaddr *)(const void *)a->bytes;
    bool any = name->sa_family == AF_INET6
                   ? ((const struct sockaddr_in6 *)(const void *)name)->sin6_port == 0
                   : ((const struct sockaddr_in *)(const void *)name)->sin_port == 0;
    int held = any ? hold_any(name, a->len) : hold(name, a->len), saved = errno;
    char ip[INET6_ADDRSTRLEN + 2] = "?", service[16] = "?";

    if (held < 0) {
        getnameinfo(name, a->len, ip, sizeof(ip), service, sizeof(service),
                    NI_NUMERICHOST | NI_NUMERICSERV);
        return socket_fail(code_for(saved), "cannot bind", ip, atoi(service), strerror(saved));
    }
    *fd = held;
    *port = bound_port_of(held);
    return PAWL_OK;
}

int socket_held_listen(int fd)
{
    set_reuse(fd, true);
    return listen(fd, SOMAXCONN) == 0 ? PAWL_OK : code_for(errno);
}

bool socket_held_unlisten(int fd)
{
    bool ours = shutdown(fd, SHUT_RD) == 0;

    set_reuse(fd, false);
    return ours;
}

/* A name that is taken by anything but a socket is somebody's file: it stays. */
static bool remove_stale(const char *path)
{
    struct stat st;

    if (lstat(path, &st) != 0) {
        return true;
    }
    return S_ISSOCK(st.st_mode) && unlink(path) == 0;
}

static bool somebody_listens(const struct sockaddr_un *a)
{
    int fd = new_socket(AF_UNIX);
    /* EAGAIN: so many wait to be accepted that there is no room for one more. */
    bool yes =
        fd >= 0 && (connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 || errno == EAGAIN);

    if (fd >= 0) {
        close(fd);
    }
    return yes;
}

int socket_listen_unix(const char *path, int backlog, int *fd)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int listener, saved;

    if (strlen(path) >= sizeof(a.sun_path)) {
        return fail_unix(PAWL_ERR_ADDRESS, path, "the path is longer than 107 bytes");
    }
    strcpy(a.sun_path, path);
    if (somebody_listens(&a)) {
        return fail_unix(PAWL_ERR_BUSY, path, "another process listens there");
    }
    if (!remove_stale(path)) {
        return fail_unix(PAWL_ERR_EXISTS, path, "the name is taken by something else");
    }
    listener = new_socket(AF_UNIX);
    if (listener >= 0 && bind(listener, (struct sockaddr *)&a, sizeof(a)) == 0 &&
        listen(listener, backlog > 0 ? backlog : SOMAXCONN) == 0) {
        *fd = listener;
        return 0;
    }
    saved = errno;
    if (listener >= 0) {
        close(listener);
    }
    return fail_unix(code_for(saved), path, strerror(saved));
}

bool socket_place_of(const char *path, struct socket_place *out)
{
    struct stat st;

    if (lstat(path, &st) != 0) {
        return false;
    }
    *out = (struct socket_place){.device = st.st_dev, .inode = st.st_ino};
    return true;
}

int socket_listen_unix_again(const char *path, int backlog, int fd)
{
    int fresh, rc = socket_listen_unix(path, backlog, &fresh);

    if (rc != 0) {
        return rc;
    }
    fork_guard_begin();
    rc = dup3(fresh, fd, O_CLOEXEC);
    fork_guard_add(fd);
    fork_guard_end();
    close(fresh);
    return rc == fd ? 0 : fail_unix(PAWL_ERR_SYSTEM, path, strerror(errno));
}

static void describe_v4(const uint8_t *b, struct socket_peer *peer)
{
    snprintf(peer->ip, sizeof(peer->ip), "%u.%u.%u.%u", b[0], b[1], b[2], b[3]);
}

static void describe_v6(const struct in6_addr *a, struct socket_peer *peer)
{
    const uint8_t *b = a->s6_addr;
    size_t at = 0;

    if (IN6_IS_ADDR_V4MAPPED(a)) {
        describe_v4(b + 12, peer);
        return;
    }
    for (int i = 0; i < 8; i++) {
        at += (size_t)snprintf(peer->ip + at, sizeof(peer->ip) - at, "%s%x", i == 0 ? "" : ":",
                               (unsigned)(b[2 * i] << 8 | b[2 * i + 1]));
    }
}

static void socket_describe(const struct sockaddr_storage *a, struct socket_peer *peer)
{
    *peer = (struct socket_peer){0};
    if (a->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;

        describe_v4((const uint8_t *)&v4->sin_addr, peer);
        peer->port = ntohs(v4->sin_port);
    } else if (a->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;

        describe_v6(&v6->sin6_addr, peer);
        peer->port = ntohs(v6->sin6_port);
    } else {
        strcpy(peer->ip, "127.0.0.1");
        peer->is_local = true;
    }
}

/* Trouble of one connection that is gone already, or of the network to it: the next one may do. */
static bool concerns_one_connection(int error)
{
    switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM: /* a firewall rule */
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case EOPNOTSUPP:
        return true;
    default:
        return false;
    }
}

enum { ACCEPT_TRIES = 16 };

void socket_prepare(int fd, bool keepalive)
{
    int on = 1, flags = fcntl(fd, F_GETFL);

    if (flags >= 0) {
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (keepalive) {
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    }
}

int socket_accept(int listener, bool keepalive, struct socket_peer *peer, int *error)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof(a);
    int tries = ACCEPT_TRIES;
    int on = 1;
    int fd;

    memset(&a, 0, sizeof(a));
    do {
        fork_guard_begin();
        fd = fork_guard_add(
            accept4(listener, (struct sockaddr *)&a, &len, SOCK_NONBLOCK | SOCK_CLOEXEC));
        fork_guard_end();
    } while (fd < 0 && concerns_one_connection(errno) && --tries > 0);
    *error = fd >= 0 || errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
    if (fd < 0) {
        return -1;
    }
    socket_describe(&a, peer);
    if (!peer->is_local) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (keepalive) {
            setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        }
    }
    return fd;
}

void socket_peer_of(int fd, struct socket_peer *peer)
{
    struct sockaddr_storage a = {0};
    socklen_t len = sizeof(a);

    *peer = (struct socket_peer){0};
    if (getpeername(fd, (struct sockaddr *)&a, &len) == 0) {
        socket_describe(&a, peer);
    }
}

int64_t socket_peer_pid(int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

long socket_read(int fd, void *data, size_t len)
{
    ssize_t n;

    do {
        n = recv(fd, data, len, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return 0;
    }
    return n > 0 ? n : -1;
}

long socket_write(int fd, const void *data, size_t len)
{
    ssize_t n;

    do {
        n = send(fd, data, len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return 0;
    }
    return n;
}

int socket_peek(int fd)
{
    unsigned char byte;
    ssize_t n;

    do {
        n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n == 1) {
        return byte;
    }
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? -1 : -2;
}

void socket_close_gently(int fd)
{
    char scratch[16384];

    shutdown(fd, SHUT_WR);
    for (int i = 0; i < 64 && recv(fd, scratch, sizeof(scratch), MSG_DONTWAIT) > 0; i++) {
    }
    close(fd);
}

/* The system gives the lowest free number: where that is tells how many are left. */
bool socket_files_left(int fd, int reserve)
{
    int probe = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    struct rlimit limit;
    rlim_t kept;

    if (probe < 0) {
        return false;
    }
    close(probe);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return true;
    }
    kept = limit.rlim_cur / 4 < (rlim_t)reserve ? limit.rlim_cur / 4 : (rlim_t)reserve;
    return (rlim_t)probe < limit.rlim_cur - kept;
}

void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void count_open_files(int64_t *n_open, int64_t *n_max)
{
    struct rlimit limit;
    DIR *dir = opendir("/proc/self/fd");

    *n_open = -1;
    *n_max = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (int64_t)limit.rlim_cur : -1;
    if (dir != NULL) {
        *n_open = -3; /* ".", ".." and the folder's own */
        while (readdir(dir) != NULL) {
            (*n_open)++;
        }
        closedir(dir);
    }
}
