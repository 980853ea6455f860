/* SPDX-License-Identifier: Apache-2.0 */
/* log_sink.h - log lines to a descriptor, as text or as JSON, one write each.
 *
 * The server never waits for whoever reads its log: a line that a pipe, a terminal or a socket does
 * not take at once is dropped and counted, and the next line that gets through is preceded by one
 * that reports how many are missing. */
#ifndef PAWL_DAEMON_LOG_SINK_H
#define PAWL_DAEMON_LOG_SINK_H

#include <stdbool.h>
#include <stdint.h>

/* From now on all lines of the process go to `fd`, which stays the caller's. `my_id` is the number
 * of the member; a server that stands alone is number 1.
 * text:  2026-01-31 12:34:56,789 [myid:1] - INFO  - message
 * JSON:  {"time":"2026-01-31T12:34:56.789Z","level":"INFO","message":"..."} */
void log_sink_install(int fd, bool json, int64_t my_id);

#endif
