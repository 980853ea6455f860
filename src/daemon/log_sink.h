/* SPDX-License-Identifier: Apache-2.0 */
/* log_sink.h - log lines on stderr, as text or as JSON, one write each. */
#ifndef PAWL_DAEMON_LOG_SINK_H
#define PAWL_DAEMON_LOG_SINK_H

#include <stdbool.h>

/* text:  2026-01-31 12:34:56,789 [myid:1] - INFO  - message
 * JSON:  {"time":"2026-01-31T12:34:56.789Z","level":"INFO","message":"..."} */
void log_sink_install(bool json);

#endif
