/* SPDX-License-Identifier: Apache-2.0 */
/* local.h - "local:DIR": coordination without a server to run. */
#ifndef PAWL_CLIENT_LOCAL_H
#define PAWL_CLIENT_LOCAL_H

struct local;

/* For "local:DIR" `*resolved` becomes the socket in DIR, and `*out` what local_close() takes; any
 * other string is left alone, and `*out` NULL. */
int local_open(const char *servers, struct local **out, const char **resolved);
void local_close(struct local *l); /* NULL is allowed */

#endif
