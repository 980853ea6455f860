/* SPDX-License-Identifier: Apache-2.0 */
/* console.h - a page for people, and the HTTP API behind it, for any ZooKeeper-compatible server.
 *
 * It is a client like others: whoever looks has the permissions that the server gives him, by a
 * session of the library, and nothing here looks into a server. `pawl console` and pawld's admin
 * port serve the same page and the same API (docs/console.md).
 *
 *   request -> console_handle() -> route (api.c) -> a session of the visitor -> answer
 *
 * Who has not logged in reads, with the one session that all such visitors share. Who has logged in
 * has a session of his own with his credentials, and may change what the server lets him. */
#ifndef PAWL_CONSOLE_CONSOLE_H
#define PAWL_CONSOLE_CONSOLE_H

#include <stdbool.h>

#include <pawl/client.h>

#include "base/bytes.h"
#include "base/strbuf.h"
#include "look/ask.h"

struct console;
struct tls_context;

/* What one visitor, or all of them, can make it hold. */
enum {
    CONSOLE_BODY_MAX = 2 << 20, /* a node of 1 MiB in base64, and something around it */
    CONSOLE_ANSWER_MAX = 8 << 20,
    CONSOLE_NODE_MAX = 4 << 20, /* longer data are not shown */
};

struct console_options {
    const char *servers; /* as for pawl_client_open() */
    const char *others;  /* more of the same ensemble, to be looked at only; NULL: none */
    const struct pawl_tls_options *tls;
    struct tls_context *words_tls; /* of four-letter words to zks://; NULL: none is needed */
    int timeout_ms;                /* of every answer of a server */
    /* Four-letter words to the server that has this place are asked of somebody who knows without a
     * whitelist; NULL: there is nobody. */
    const char *self;
    enum ask_outcome (*ask_self)(void *arg, const char *word, struct strbuf *answer, char *why,
                                 size_t why_size);
    void *ask_self_arg;
    bool is_open_to_others; /* whoever reaches its port is not of this machine: nothing is shown
                             * before log-in */
};

/* Nothing is opened before the first visitor. What it is given must live as long as it. */
struct console *console_new(const struct console_options *options);

/* After the last console_handle() has returned. */
void console_free(struct console *c);

/* Ends what waits for servers, so that console_handle() returns soon. */
void console_interrupt(struct console *c);

/* Nobody has asked for a while: sessions that nobody needs are closed. */
void console_idle(struct console *c);

/* The arguments behind the `?` of an URL. */
enum console_argument {
    ARGUMENT_PATH,
    ARGUMENT_OFFSET,
    ARGUMENT_LIMIT,
    ARGUMENT_FILTER,
    ARGUMENT_NAME,
    ARGUMENT_CONTENT,
    ARGUMENT_AFTER,
    ARGUMENT_VERSION,
    ARGUMENT_CHILDREN,
    N_ARGUMENTS
};
extern const char *const console_argument_names[N_ARGUMENTS];

/* Views. Headers and arguments that are not there are NULL. */
struct console_request {
    const char *method, *url; /* without arguments */
    const char *peer;         /* its address, for counting log-ins */
    const char *host, *origin, *fetch_site, *cookie, *csrf, *content_type;
    const char *arguments[N_ARGUMENTS];
    struct bytes body;
};

struct console_answer {
    unsigned status;
    const char *type;   /* of the body */
    const char *allow;  /* of 405; NULL otherwise */
    struct strbuf body; /* strbuf_fini() */
    char cookie[192];   /* to be set; "": none */
};

/* Whether an URL is the page, one of its files, or of the API. */
bool console_has(const char *url);

/* Waits for servers. From any number of threads. */
void console_handle(struct console *c, const struct console_request *q, struct console_answer *out);

/* A file of the page. False: there is none of that name. */
struct console_file {
    const char *url, *type;
    const unsigned char *data;
    size_t len;
};
bool console_find_file(const char *url, struct console_file *out);

/* Of every answer. */
extern const char *const console_headers[][2]; /* ended by NULL */

#endif
