/* SPDX-License-Identifier: Apache-2.0 */
/* report_json.h - what report.h gathers, as the fields that ZooKeeper's admin server has for it.
 *
 * Each adds its fields to the object that is open. A list ends when there are REPORT_JSON_BYTES of
 * it: it is made between two turns of the loop, and clients wait meanwhile. Then "left_out" says
 * how many rows there are beyond it; Apache's has no such field, and no such end. */
#ifndef PAWL_SERVER_REPORT_JSON_H
#define PAWL_SERVER_REPORT_JSON_H

#include "server/json_writer.h"
#include "server/report.h"

enum { REPORT_JSON_BYTES = 8 << 20 };

void report_json_configuration(const struct server *s, struct json_writer *w);
void report_json_dirs(const struct server *s, struct json_writer *w);
void report_json_environment(const struct server *s, struct json_writer *w);
void report_json_monitor(const struct server *s, struct json_writer *w);
void report_json_server_stats(const struct server *s, struct json_writer *w);
void report_json_stats(const struct server *s, struct json_writer *w);
void report_json_connections(const struct server *s, struct json_writer *w);
void report_json_dump(const struct server *s, struct json_writer *w);
void report_json_watch_summary(const struct server *s, struct json_writer *w);
void report_json_watches(const struct server *s, struct json_writer *w); /* by session */
void report_json_watches_by_path(const struct server *s, struct json_writer *w);
void report_json_hash(const struct server *s, struct json_writer *w);
void report_json_top(const struct server *s, struct json_writer *w); /* talkers.h */

#endif
