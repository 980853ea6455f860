/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - libpawl in two files, so that a client does not load what only a server needs.
 *
 *   libpawl.so          client and recipes, with load.c in the place of the server and json.c in
 *                       that of jansson
 *   libpawl-server.so   the server with its libraries (libuv, libssl, libcrypto, libsnappy), and
 *                       table.c
 *
 * The first call of <pawl/server.h> or <pawl/ensemble.h>, or the first handle on local:DIR, loads
 * the second file from where the first one lies. libpawl.a is one piece and has neither load.c nor
 * table.c. */
#ifndef PAWL_HALF_HALF_H
#define PAWL_HALF_HALF_H

#include <pawl/ensemble.h>
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
    enum pawl_server_role (*role)(const struct pawl_server *server);
    int (*stop)(struct pawl_server *server);

    void (*ensemble_options_init)(struct pawl_ensemble_options *options);
    int (*ensemble_start)(const struct pawl_ensemble_options *options, struct pawl_ensemble **out,
                          char *why, size_t why_size);
    const char *(*ensemble_hosts)(const struct pawl_ensemble *ensemble);
    const char *(*ensemble_address)(const struct pawl_ensemble *ensemble, int member);
    int (*ensemble_leader)(struct pawl_ensemble *ensemble);
    enum pawl_server_role (*ensemble_role)(struct pawl_ensemble *ensemble, int member);
    int (*ensemble_wait)(struct pawl_ensemble *ensemble, int timeout_ms);
    int (*ensemble_stop_member)(struct pawl_ensemble *ensemble, int member);
    int (*ensemble_kill_member)(struct pawl_ensemble *ensemble, int member);
    int (*ensemble_start_member)(struct pawl_ensemble *ensemble, int member);
    int (*ensemble_stop)(struct pawl_ensemble *ensemble);

    const struct local_hosting *(*hosting)(void);
};

#define SERVER_HALF_SYMBOL "pawl_server_half"

extern PAWL_API const struct server_half pawl_server_half;

#endif
