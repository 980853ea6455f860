/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - one request to the API under way, and what its answer is made with.
 *
 * A function of the API fills `out` and returns, or says once what went wrong. Whatever changes
 * something is reached only by who has logged in and shows his token (api.c). */
#ifndef PAWL_CONSOLE_CALL_H
#define PAWL_CONSOLE_CALL_H

#include <jansson.h>

#include "console/console.h"
#include "console/logins.h"
#include "os/thread.h"

/* For the end of a session: of one that is not needed any more, and of all at the end, when a
 * server that is ending, too, may not answer. */
enum { CLOSE_MS = 5000, CLOSE_AT_END_MS = 100 };

struct console {
    struct console_options options;
    char cookie_name[32]; /* of this process: a browser shows cookies to every port of a host */
    struct lock lock;     /* guards what follows */
    struct logins logins;
    struct pawl_client *visitor; /* of those who have not logged in; NULL: nobody was there */
    unsigned n_visits;           /* that use it now */
    int64_t visited_ms;          /* when it was last used */
    bool is_interrupted;
    struct lock members_lock; /* guards what follows: one asks all members, the others wait */
    json_t *members;          /* what they said of themselves */
    int64_t members_ms;
};

struct call {
    struct console *console;
    const struct console_request *request;
    struct console_answer *answer;
    struct login *login;        /* NULL: not logged in */
    struct pawl_client *client; /* of the log-in, or of all visitors */
    json_t *body;               /* of POST, PUT and DELETE with one */
    json_t *out;                /* an object */
    bool has_failed;
};

/* The answer is {"error": TEXT, "code": CODE}. The first counts. */
void call_fail(struct call *c, unsigned status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* As call_fail(), for an answer of the server that is none: `path` is what it was about. True: it
 * is one. */
bool call_check(struct call *c, const char *path, const struct pawl_reply *reply);
void call_fail_with(struct call *c, const char *path, int err);

/* Into the log: who has tried to change what, and what became of it. */
void call_note_change(const struct call *c, const char *what, const char *path,
                      const struct pawl_reply *reply);

/* The argument `path`, which must be one. NULL: it failed. */
const char *call_path(struct call *c);

/* Text of others in an answer: what is no UTF-8 is repaired. */
json_t *json_of_text(const char *text);
json_t *json_of_bytes(struct bytes text);
json_t *json_of_hex(uint64_t number);
json_t *json_of_base64(struct pawl_bytes data);
json_t *json_of_stat(const struct pawl_stat *stat);

/* The functions, each for one method and path. */
void api_session(struct call *c);
void api_login(struct call *c);
void api_logout(struct call *c);
void api_overview(struct call *c);
void api_sessions(struct call *c);
void api_watches(struct call *c);
void api_configuration(struct call *c);
void api_quotas(struct call *c);
void api_node(struct call *c);
void api_children(struct call *c);
void api_create(struct call *c);
void api_set(struct call *c);
void api_delete(struct call *c);
void api_set_acl(struct call *c);
void api_search(struct call *c);
void api_locks(struct call *c);
void api_revoke(struct call *c);
void api_remove_orphan(struct call *c);

#endif
