/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - where a request of HTTP comes from, by what a browser says of it. No state, no I/O. */
#ifndef PAWL_HTTP_ORIGIN_H
#define PAWL_HTTP_ORIGIN_H

#include <stdbool.h>

/* Whether a Host header names a machine by its address or as localhost. A page of somebody else's
 * can have its own name lead to 127.0.0.1, and then ask us for whatever a browser may; it cannot
 * have a browser send another name than its own. */
bool origin_host_is_plain(const char *host);

/* Whether a browser says that another site's page asked. `origin` and `fetch_site` are headers and
 * may be NULL. */
bool origin_is_foreign(const char *host, const char *origin, const char *fetch_site);

/* Only this machine reaches who listens at this address. */
bool origin_is_loopback(const char *address);

#endif
