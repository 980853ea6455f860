/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - libpawl in two files, so that a client does not load what only a server needs.
 *
 *   libpawl.so          client and recipes, with load.c in the place of the server and json.c in
 *                       that of jansson
 *   libpawl-server.so   the server with its libraries (libuv, libcrypto, libsnappy), and table.c
 *
 * The first call of <pawl/server.h>, or the first handle on local:DIR, loads the second file from
 * where the first one lies. libpawl.a is one piece and has neither load.c nor table.c. */
#ifndef PAWL_HALF_HALF_H
#define PAWL_HALF_HALF_H

#include <pawl/server.h>

struct local_hosting;

struct server_half {
    const char *version; /* first, whatever changes behind it: both halves must be of one */
    void (*options_init)(struct pawl_server_options *options);
    int (*start)(const struct pawl_server_options *options, struct pawl_server **out, char *why,
                 size_t why_size);
    const char *(*address)(const struct pawl_server *server);
    int (*port)(const struct pawl_server *server);
    const char *(*unix_socket)(const struct pawl_server *server);
    int (*error)(struct pawl_server *server, char *why, size_t why_size);
    int (*stop)(struct pawl_server *server);
    const struct local_hosting *(*hosting)(void);
};

#define SERVER_HALF_SYMBOL "pawl_server_half"

extern PAWL_API const struct server_half pawl_server_half;

#endif
