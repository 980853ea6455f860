/* SPDX-License-Identifier: Apache-2.0 */
/* process_metrics.h - metrics that need no server: the process, as Prometheus' own libraries name
 * them, and the admin server itself. */
#ifndef PAWL_ADMIN_PROCESS_METRICS_H
#define PAWL_ADMIN_PROCESS_METRICS_H

struct admin;
struct strbuf;

void process_metrics(const struct admin *a, struct strbuf *out);

#endif
