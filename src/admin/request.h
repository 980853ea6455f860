/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - what a stranger wrote into an HTTP request, taken apart. No state, no I/O. */
#ifndef PAWL_ADMIN_REQUEST_H
#define PAWL_ADMIN_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* "digest bob:secret": the scheme, and what stands behind the blank. False: there is no scheme. */
bool request_authorization(const char *header, struct bytes *scheme, struct bytes *data);

/* Whether a Host header names a machine by its address or as localhost. A page of somebody else's
 * can have its own name lead to 127.0.0.1, and then ask us for whatever a browser may; it cannot
 * have a browser send another name than its own. */
bool request_host_is_plain(const char *host);

/* Whether a browser says that another site's page asked. `origin` and `fetch_site` are headers and
 * may be NULL. */
bool request_is_foreign(const char *host, const char *origin, const char *fetch_site);

/* The body of shed_connections: {"percentage": 0..100}. NULL, or what is wrong with it, in Apache's
 * words. */
const char *request_percentage(struct bytes body, int *out);

/* A long as Java reads one: decimal, a sign, nothing else. */
bool request_long(const char *text, int64_t *out);

#endif
