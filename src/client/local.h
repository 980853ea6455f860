/* SPDX-License-Identifier: Apache-2.0 */
/* local.h - "local:DIR": coordination without a server to run. */
#ifndef PAWL_CLIENT_LOCAL_H
#define PAWL_CLIENT_LOCAL_H

#include <stdint.h>

struct hosts;
struct local;

/* For "local:DIR" `*resolved` becomes the socket in DIR, and `*out` what local_close() takes; any
 * other string is left alone, and `*out` NULL. */
int local_open(const char *servers, struct local **out, const char **resolved);
void local_close(struct local *l); /* NULL is allowed */

/* A local host ends a session with the process that it belongs to. These tell it that the session
 * is nobody's for now, and that it is ours. Servers of other kinds do not notice. */
int local_detach(const struct hosts *hosts, int64_t session_id);
int local_attach(const struct hosts *hosts, int64_t session_id);

#endif
