/* SPDX-License-Identifier: Apache-2.0 */
/* scripted_server.h - a server that answers each request as the test says, on a thread of its own.
 *
 * For what a real server does only with luck: this answer given, that one swallowed. */
#ifndef PAWL_TEST_SCRIPTED_SERVER_H
#define PAWL_TEST_SCRIPTED_SERVER_H

#include <stdint.h>

enum {
    SCRIPT_OK = 0,
    SCRIPT_SILENT = 1, /* never answered */
    SCRIPT_CUT = 2     /* the link is cut instead */
};

struct scripted_request {
    int n;      /* the how-manieth, from 0, over all links; handshakes and pings do not count */
    int link;   /* on which link, from 0 */
    int32_t op; /* of wire/ops.h */
    char path[128];
};

/* What the answer looks like beside its error. */
struct scripted_answer {
    int64_t czxid, zxid;
    int32_t version;
    const char *child; /* the only one; NULL: none */
};

/* Returns one of the above, or an error (PAWL_ERR_...) for the client. */
typedef int (*script_fn)(const struct scripted_request *q, struct scripted_answer *a, void *arg);

struct scripted_server;

struct scripted_server *scripted_server_new(script_fn script, void *arg);
void scripted_server_free(struct scripted_server *s);
const char *scripted_server_address(const struct scripted_server *s); /* "127.0.0.1:PORT" */

#endif
