/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h - the longer texts of the four-letter words: one line per connection, session, node. */
#ifndef PAWL_SERVER_LISTING_H
#define PAWL_SERVER_LISTING_H

#include "server/server.h"

/* `self` is the connection that asks; it counts among the others. */
void listing_stat(struct server *s, const struct connection *self, struct strbuf *out);
void listing_srvr(struct server *s, struct strbuf *out);
void listing_cons(struct server *s, const struct connection *self, struct strbuf *out);
void listing_dump(struct server *s, struct strbuf *out);
void listing_wchs(struct server *s, struct strbuf *out);
void listing_wchc(struct server *s, struct strbuf *out); /* watches by session */
void listing_wchp(struct server *s, struct strbuf *out); /* watches by path */
void listing_hash(struct server *s, struct strbuf *out);

/* "/10.0.0.1:4711", "/[0:0:0:0:0:0:0:1]:4711". */
void listing_peer(const struct peer *peer, struct strbuf *out);

/* Milliseconds since 1970 as "Sun Nov 15 02:24:18 UTC 2026". */
void listing_date(int64_t wall_ms, struct strbuf *out);

#endif
