/* SPDX-License-Identifier: Apache-2.0 */
/* report_prometheus.h - what report.h gathers, in Prometheus' text format (0.0.4), under the names
 * and types that ZooKeeper up to 3.9 gives them.
 *
 * What ZooKeeper has no name for begins with pawl_. */
#ifndef PAWL_SERVER_REPORT_PROMETHEUS_H
#define PAWL_SERVER_REPORT_PROMETHEUS_H

#include "server/report.h"

void report_prometheus(const struct server *s, struct strbuf *out);

/* One family of one value, for what others have to add. */
void prometheus_family(struct strbuf *out, const char *name, const char *type, const char *help);
void prometheus_number(struct strbuf *out, const char *name, const char *type, const char *help,
                       int64_t value);

#endif
