/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - what a stranger wrote into a request of the API, taken apart. No state, no I/O. */
#ifndef PAWL_CONSOLE_REQUEST_H
#define PAWL_CONSOLE_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <pawl/types.h>

#include "base/bytes.h"
#include "base/strbuf.h"

/* The value of one cookie, cut out of the header into `out`. False: it is not there, or longer. */
bool request_cookie(const char *header, const char *name, char *out, size_t size);

/* Whether the body is said to be JSON, by itself or with a charset. */
bool request_is_json(const char *content_type);

/* One object, at most ten deep, each name once; to be given back. NULL: it is none. */
json_t *request_object(struct bytes body);

/* A path of a node that may exist. */
bool request_path(const char *text);

/* A decimal number within the bounds; `otherwise` if there is none. False: it is none. */
bool request_number(const char *text, int64_t min, int64_t max, int64_t otherwise, int64_t *out);

/* The text of a member without NUL in it; NULL: it is not there, or none. */
const char *request_text(const json_t *body, const char *name);

/* The member `data`, in base64, or `text` as it is. False: there is neither, or not as it should
 * be. */
bool request_data(const json_t *body, struct strbuf *out);

/* "persistent", "sequential", "container"; false: another. Ephemeral nodes would go with the
 * session of who looks. */
bool request_mode(const char *name, enum pawl_mode *out);

/* [{"scheme": S, "id": I, "perms": "cdrwa"}, ...], views into it; to be freed. At least one, at
 * most `max`. False: it is none. */
bool request_acls(const json_t *list, size_t max, struct pawl_acls *out);

/* A line of the configuration of an ensemble: "server.ID=HOST:...;[CLIENT_HOST:]CLIENT_PORT". */
struct request_member {
    int64_t id;
    char host[256]; /* where clients find it; "": not said */
    int port;       /* 0: not said */
    bool is_observer;
};
bool request_member(struct bytes line, struct request_member *out);

#endif
