/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - what a stranger wrote into an HTTP request, taken apart. No state, no I/O. */
#ifndef PAWL_ADMIN_REQUEST_H
#define PAWL_ADMIN_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* "digest bob:secret": the scheme, and what stands behind the blank. False: there is no scheme. */
bool request_authorization(const char *header, struct bytes *scheme, struct bytes *data);

/* The body of shed_connections: {"percentage": 0..100}. NULL, or what is wrong with it, in Apache's
 * words. */
const char *request_percentage(struct bytes body, int *out);

/* A long as Java reads one: decimal, a sign, nothing else. */
bool request_long(const char *text, int64_t *out);

#endif
