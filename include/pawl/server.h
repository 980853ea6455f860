/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - a coordination server inside your own process.
 *
 * It is the server that pawld is: any ZooKeeper client can connect to it, and a directory it has
 * written can be given to pawld or to Apache ZooKeeper afterwards. Use it to ship a program that
 * needs no server beside it, and in tests, where a server in memory starts in a millisecond:
 *
 *     struct pawl_server_options options;
 *     struct pawl_server *server;
 *     char why[256];
 *
 *     pawl_server_options_init(&options);
 *     options.in_memory = 1;
 *     if (pawl_server_start(&options, &server, why, sizeof(why)) != PAWL_OK) {
 *         fprintf(stderr, "no server: %s\n", why);
 *         return 1;
 *     }
 *     printf("connect to %s\n", pawl_server_address(server));
 *     // ...
 *     check(pawl_server_stop(server), "stop");
 *
 * Several servers may run in one process, each on a directory and an address of its own. Every
 * function may be called from any thread. A server may be a member of an ensemble (see server_id);
 * a whole ensemble for a test is in <pawl/ensemble.h>.
 *
 * What a server does to the process it lives in:
 * - It runs on threads of its own, three with a directory, one without. All signals are blocked in
 *   them, so handlers run where they ran before. No handler is installed or changed, and SIGPIPE
 *   is never raised.
 * - It prints nothing; give it a `log` function to hear what it has to say.
 * - It opens files, and one descriptor per client. The limit of the process (ulimit -n) is not
 *   raised.
 * - When memory runs out, or a check of its own state fails, the process is aborted: going on could
 *   damage what it has promised to keep.
 * - After fork() the child has no server, and its copies of the server's sockets, files and locks
 *   are closed: nothing is kept from the parent's clients by a child that lives on. Do not call
 *   these functions there for a server of the parent. */
#ifndef PAWL_SERVER_H
#define PAWL_SERVER_H

#include <stddef.h>

#include <pawl/api.h>
#include <pawl/error.h>
#include <pawl/log.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pawl_server;

/* The server has stopped by itself, for instance because the disk is full: `code` and `why` say
 * what happened. What clients had been answered is on disk. Called once, on a thread of the server;
 * pawl_server_stop() is still to be called, from another thread. */
typedef void (*pawl_server_failed_fn)(int code, const char *why, void *arg);

struct pawl_server_options {
    size_t size; /* of this struct; pawl_server_options_init() sets it */

    /* Where the data is kept: a directory, which is made if it is missing, or memory only, and then
     * everything is gone when the server stops. One of the two must be given. */
    const char *folder;
    int in_memory; /* 0 or 1 */

    /* Where clients connect: a TCP port (0: any free one, see pawl_server_port(); -1: none) at an
     * address (a name, IPv4, IPv6; NULL: all that this machine has), a Unix socket (NULL: none), or
     * both. An address that can be reached from other machines lets everybody there in whom no ACL
     * keeps out. */
    int port;
    const char *address;
    const char *unix_socket;

    /* Anything else that a zoo.cfg can say, as "NAME=VALUE": "tickTime=500",
     * "maxClientCnxns=0", "4lw.commands.whitelist=*". pawld(8) lists the names. A name that is not
     * known is a warning in the log; a value that is not allowed is an error. What is given above
     * wins over a property of the same meaning. */
    const char *const *properties;
    size_t n_properties;

    /* The server's log. Also called from within pawl_server_start(); must not call functions of
     * this header. */
    pawl_log_fn log; /* NULL: silent */
    void *log_arg;
    enum pawl_log_level log_level;

    pawl_server_failed_fn failed; /* NULL: ask pawl_server_error() */
    void *failed_arg;

    /* Of a member of an ensemble: its number N. The properties then have a line for each member, as
     * its zoo.cfg would: "server.1=10.0.0.1:2888:3888", ..., with "initLimit=10", "syncLimit=5".
     * It needs a directory, in which the number is kept in the file myid. -1: what that file says
     * already, or no ensemble. */
    int server_id;
};

/* No directory, not in memory; any free port at 127.0.0.1, no Unix socket; silent, and from level
 * INFO on if a log function is given. */
PAWL_API void pawl_server_options_init(struct pawl_server_options *options);

/* Reads the directory and listens; when this returns PAWL_OK, clients can connect. (A member of an
 * ensemble turns them away as long as it has no leader, and they come again.) The options and
 * what they point to may go afterwards, the two `arg` excepted.
 *
 * Otherwise nothing is left behind, and up to `why_size` bytes at `why` (may be NULL) say what is
 * wrong and what to do about it:
 *   BAD_ARGUMENTS  the options contradict each other, or something needed is missing
 *   CONFIG         a property has a value that is not allowed
 *   BUSY           another server, of this process or another one, uses the directory or the
 * address
 *   CORRUPT        the directory is damaged; nothing in it was changed
 *   others         what the operating system reported: NOT_FOUND, PERMISSION, DISK_FULL, ADDRESS,
 * IO */
PAWL_API int pawl_server_start(const struct pawl_server_options *options, struct pawl_server **out,
                               char *why, size_t why_size);

/* What to connect to: "127.0.0.1:40123", "[::1]:40123"; a server that listens on all addresses
 * names 127.0.0.1. NULL without TCP. Lent until the server is stopped. */
PAWL_API const char *pawl_server_address(const struct pawl_server *server);

/* The TCP port, -1 without TCP. */
PAWL_API int pawl_server_port(const struct pawl_server *server);

/* The path of the Unix socket, or NULL. Lent until the server is stopped. */
PAWL_API const char *pawl_server_unix_socket(const struct pawl_server *server);

/* What the server is at this moment. */
enum pawl_server_role {
    PAWL_ROLE_NOT_SERVING, /* a member of an ensemble that looks for a leader, or catches up with
                                one; or the server has stopped by itself */
    PAWL_ROLE_STANDALONE,  /* no member of an ensemble */
    PAWL_ROLE_LEADER,
    PAWL_ROLE_FOLLOWER,
    PAWL_ROLE_OBSERVER,
    PAWL_ROLE_READ_ONLY /* it looks for a leader, and serves readers meanwhile */
};
PAWL_API enum pawl_server_role pawl_server_role(const struct pawl_server *server);

/* PAWL_OK while the server serves; otherwise what ended it, with its sentence at `why` (may be
 * NULL). */
PAWL_API int pawl_server_error(struct pawl_server *server, char *why, size_t why_size);

/* Closes all connections, waits until what was accepted is on disk, and frees the server; takes
 * milliseconds. Clients find their sessions again if a server is started on the same directory
 * before these expire. Returns what pawl_server_error() would have returned. NULL is allowed.
 *
 * Not from within a function that the server calls: that returns PAWL_ERR_INVALID_STATE and does
 * nothing. */
PAWL_API int pawl_server_stop(struct pawl_server *server);

#ifdef __cplusplus
}
#endif

#endif
