/* SPDX-License-Identifier: Apache-2.0 */
/* http.h - one request to an admin server, Apache's or ours. It is of HTTP/1.0, so the answer ends
 * with the connection; its length, where it is told, says whether it is whole. */
#ifndef PAWL_CLI_HTTP_H
#define PAWL_CLI_HTTP_H

#include <pawl/types.h>

#include "cli/cli.h"
#include "cli/http_head.h"

struct http_request {
    const char *place; /* "host:port", with or without http:// before it */
    const char *method, *path;
    struct pawl_bytes body;
    int silence_ms; /* for so long nothing has to come */
};

/* The next bytes of the body of an answer with status 200. EXIT_OK, or the failure was reported. */
typedef int (*http_body_fn)(void *arg, const void *data, size_t len);

/* Who asks is shown as the first --auth, or else by the address. EXIT_OK: the status was 200 and
 * all of the body has come; otherwise the failure was reported. */
int http_ask(struct cli *cli, const struct http_request *request, http_body_fn body, void *arg,
             struct http_head *head);

#endif
