/* SPDX-License-Identifier: Apache-2.0 */
/* serve.h - a port for the console alone, for `pawl console`. One thread has its sockets. */
#ifndef PAWL_CONSOLE_SERVE_H
#define PAWL_CONSOLE_SERVE_H

#include "console/console.h"

struct serve;

/* Port 0: any; `*bound` tells which. NULL: `why` has the reason in words. */
struct serve *serve_open(const char *address, int port, const struct console_options *options,
                         int *bound, char *why, size_t why_size);

/* Until `end_fd` is readable. */
void serve_until(struct serve *s, int end_fd);
void serve_close(struct serve *s);

#endif
