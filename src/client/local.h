/* SPDX-License-Identifier: Apache-2.0 */
/* local.h - "local:DIR": coordination without a server to run.
 *
 * The client knows no server, so hosting is somebody else's: whoever can do it (the embeddable
 * server, see daemon/local_host.c) sets these functions before the first handle is opened. Without
 * them "local:DIR" still reaches a host in another process. */
#ifndef PAWL_CLIENT_LOCAL_H
#define PAWL_CLIENT_LOCAL_H

struct local;

struct local_hosting {
    /* Joins those who share `dir`, and hosts whenever nobody else does. */
    int (*open)(const char *dir, void **host);
    void (*close)(void *host);
};

void local_set_hosting(const struct local_hosting *hosting);

/* For "local:DIR" `*servers` becomes the socket in DIR, and `*out` what local_close() takes; any
 * other string is left alone, and `*out` NULL. */
int local_open(const char *servers, struct local **out, const char **resolved);
void local_close(struct local *l); /* NULL is allowed */

#endif
