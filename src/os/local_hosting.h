/* SPDX-License-Identifier: Apache-2.0 */
/* local_hosting.h - the seam between the client's "local:DIR" and a server that can host it.
 *
 * The client knows no server. Whoever can host one (daemon/local_host.c, in the whole library)
 * says so here before the first handle is opened; without it "local:DIR" still reaches a host in
 * another process. */
#ifndef PAWL_OS_LOCAL_HOSTING_H
#define PAWL_OS_LOCAL_HOSTING_H

struct local_hosting {
    /* Joins those who share the folder, and hosts whenever nobody else does. */
    int (*open)(const char *dir, void **host);
    void (*close)(void *host);
};

void local_hosting_set(const struct local_hosting *hosting);
const struct local_hosting *local_hosting_get(void); /* NULL: nobody can */

#endif
