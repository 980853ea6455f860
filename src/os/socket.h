/* SPDX-License-Identifier: Apache-2.0 */
/* socket.h - stream sockets, without blocking: listening, accepting, who is at the other end.
 *
 * Functions return a descriptor or 0, or a PAWL_ERR_...; socket_last_error() tells the calling
 * thread why. */
#ifndef PAWL_OS_SOCKET_H
#define PAWL_OS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `host` NULL: all addresses, IPv6 included. Port 0: any free one; `*bound_port` tells which. */
int socket_listen_tcp(const char *host, int port, int backlog, int *fd, int *bound_port);

/* A port of its own for somebody who will listen there, once or several times: it is given to
 * nobody else that asks for any, and connections to it are refused until then. */
int socket_reserve_tcp(const char *host, int *fd, int *port);

/* A port that is ours from now on, whether we listen there or not: nobody else can have it, and
 * until socket_held_listen() connections to it are refused. Port 0: any free one.
 * PAWL_ERR_BUSY: somebody has it. */
struct address;
int socket_hold(const struct address *a, int *fd, int *port);
int socket_held_listen(int fd); /* PAWL_OK, or somebody listens there all the same */
/* Who waits to be accepted is reset. False: it is ours no longer, and to be closed. */
bool socket_held_unlisten(int fd);

/* Where to listen as `host`, in the order in which to try it; NULL: at all addresses, the IPv6 one
 * for both families first. At most `max`; 0: there are none. Looks names up, and blocks meanwhile.
 */
size_t socket_own_addresses(const char *host, int port, struct address *out, size_t max);
/* The same order for addresses that were looked up otherwise. */
void socket_sort_own(struct address *addresses, size_t count);

/* A stale socket file nobody listens on is replaced; one in use is PAWL_ERR_BUSY. */
int socket_listen_unix(const char *path, int backlog, int *fd);

/* The name may have been removed under us, by a cleaner of /tmp for instance: `place`, taken when
 * the socket was made, tells whether it is still ours. */
struct socket_place {
    uint64_t device, inode;
};
bool socket_place_of(const char *path, struct socket_place *out);

/* Listens anew at `path`, on the same descriptor; who waits at the old place is lost if not
 * accepted before. */
int socket_listen_unix_again(const char *path, int backlog, int fd);

const char *socket_last_error(void);

/* As Java writes them: IPv4 dotted (also when mapped into IPv6), IPv6 without compression. A Unix
 * socket's peer counts as 127.0.0.1, port 0. */
struct socket_peer {
    char ip[48];
    uint16_t port;
    bool is_local;
};

/* The next connection, not blocking, or -1: there is none (`*error` is 0), or the system cannot
 * give it to us now (descriptors, memory; `*error` is errno), and asking again at once would not
 * help. */
int socket_accept(int listener, bool keepalive, struct socket_peer *peer, int *error);

/* Whom a connected socket leads to; "" if it is not connected any more. */
void socket_peer_of(int fd, struct socket_peer *peer);

/* Makes a connected socket like an accepted one: not blocking, and small packets leave at once. */
void socket_prepare(int fd, bool keepalive);

/* Whether the process could open one more file and would still have `reserve` left (a quarter of
 * its limit, if that is less). `fd` is any open one. */
bool socket_files_left(int fd, int reserve);

/* The process that connected through a Unix socket, in our pid namespace; 0: not to be seen. */
int64_t socket_peer_pid(int fd);

/* Bytes moved; 0: would block; -1: the link is gone (for reading also: the other side closed). */
long socket_read(int fd, void *data, size_t len);
long socket_write(int fd, const void *data, size_t len);

/* The next byte, which stays where it is: 0 to 255; -1: none yet; -2: the link is gone. */
int socket_peek(int fd);

/* Closes so that what was written still reaches the other side: unread input would make the system
 * reset the connection. */
void socket_close_gently(int fd);

/* As many descriptors as the system allows. */
void raise_file_limit(void);
void count_open_files(int64_t *n_open, int64_t *n_max);

#endif
