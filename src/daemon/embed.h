/* SPDX-License-Identifier: Apache-2.0 */
/* embed.h - what <pawl/server.h> does not show of a server inside a process. */
#ifndef PAWL_DAEMON_EMBED_H
#define PAWL_DAEMON_EMBED_H

#include <stddef.h>

struct pawl_server;
struct pawl_server_options;

/* pawl_server_start(), with sessions that end with their processes: `session_dir` is DIR/sessions
 * of a local:DIR, or NULL, and must live as long as the server. */
int embed_start(const struct pawl_server_options *options, const char *session_dir,
                struct pawl_server **out, char *why, size_t why_size);

#endif
