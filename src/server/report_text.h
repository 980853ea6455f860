/* SPDX-License-Identifier: Apache-2.0 */
/* report_text.h - what report.h gathers, in the text of ZooKeeper's four-letter words. */
#ifndef PAWL_SERVER_REPORT_TEXT_H
#define PAWL_SERVER_REPORT_TEXT_H

#include "server/report.h"

void report_text_conf(const struct server *s, struct strbuf *out);
void report_text_dirs(const struct server *s, struct strbuf *out);
void report_text_envi(const struct server *s, struct strbuf *out);
void report_text_mntr(const struct server *s, struct strbuf *out);

/* `self` is the connection that asks; it counts among the others. */
void report_text_stat(const struct server *s, const struct connection *self, struct strbuf *out);
void report_text_srvr(const struct server *s, struct strbuf *out);
void report_text_cons(const struct server *s, const struct connection *self, struct strbuf *out);

void report_text_dump(const struct server *s, struct strbuf *out);
void report_text_wchs(const struct server *s, struct strbuf *out);
void report_text_wchc(const struct server *s, struct strbuf *out); /* watches by session */
void report_text_wchp(const struct server *s, struct strbuf *out); /* watches by path */
void report_text_hash(const struct server *s, struct strbuf *out);

/* As it stands behind its name. */
void report_text_value(const struct report_value *v, struct strbuf *out);

/* "/10.0.0.1:4711", "/[0:0:0:0:0:0:0:1]:4711". */
void report_text_peer(const struct peer *peer, struct strbuf *out);

/* Milliseconds since 1970 as "Sun Nov 15 02:24:18 UTC 2026". */
void report_text_date(int64_t wall_ms, struct strbuf *out);

#endif
