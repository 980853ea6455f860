/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.h - which server to try next.
 *
 * The list is shuffled once and then walked round robin. When it is changed at run time ZooKeeper's
 * rule decides whether to move, so that the clients spread evenly with as few moves as possible:
 * with M servers instead of S, a client whose server stays moves with probability 1 - S/M, to a new
 * one. While moving, each attempt picks from the new servers with probability `p_new`. */
#ifndef PAWL_CLIENT_HOSTS_H
#define PAWL_CLIENT_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prng.h"

struct host_entry {
    char *name; /* a name or an address; of a Unix socket its path */
    int port;   /* 0: a Unix socket */
    bool is_new, tried;
    char trouble[64]; /* the last with it that was logged; "" since there was a session */
};

struct hosts {
    struct host_entry *items;
    size_t n;
    size_t next;
    size_t last;    /* connected to, now or most recently; SIZE_MAX: none yet */
    bool is_secure; /* all of them speak TLS */
    bool moving;
    double p_new;
};

/* "a:1,b/chroot" into a shuffled list and a chroot, "" when there is none; both the caller's to
 * free. `secure`: with TLS whether the list says so or not. BAD_ARGUMENTS or NO_MEMORY. */
int hosts_parse(const char *servers, bool secure, struct prng *random, struct hosts *out,
                char **chroot);
void hosts_fini(struct hosts *h);

/* The index to try now. */
size_t hosts_pick(struct hosts *h, struct prng *random);

/* A session stands on that host. */
void hosts_connected(struct hosts *h, size_t index);

/* Takes over the list `fresh`, whose content it empties; true: leave the server we are on. */
bool hosts_change(struct hosts *h, struct hosts *fresh, struct prng *random);

#endif
