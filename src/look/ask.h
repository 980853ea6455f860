/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - a four-letter word to one server, and its answer. */
#ifndef PAWL_LOOK_ASK_H
#define PAWL_LOOK_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct server_place;
struct tls_context;

struct ask_options {
    struct tls_context *tls; /* NULL: in plain text */
    const char *tls_name;    /* to be found in the certificate; NULL: that of the place */
    int timeout_ms;
    bool (*is_over)(void); /* somebody does not want to wait any more; NULL: nobody */
};

enum ask_outcome { ASK_ANSWERED, ASK_UNREACHABLE, ASK_FORBIDDEN };

/* The answer is appended to `answer`, whose limit holds. If there is none `why` has the reason in
 * words. */
enum ask_outcome ask_server(const char *word, const struct server_place *place,
                            const struct ask_options *options, struct strbuf *answer, char *why,
                            size_t why_size);

/* "host:port", "[::1]:port" or "unix:PATH". */
void ask_name(const struct server_place *place, char *out, size_t size);

#endif
