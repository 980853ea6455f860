/* SPDX-License-Identifier: Apache-2.0 */
/* beacon.h - a descriptor that is readable while something is so. */
#ifndef PAWL_CLIENT_BEACON_H
#define PAWL_CLIENT_BEACON_H

#include <stdbool.h>
#include <stddef.h>

int beacon_open(void);             /* a descriptor, or SYSTEM */
void beacon_set(int fd, bool lit); /* -1: there is none */
void beacon_close(int fd);

/* "address host=... pid=... program=... since=...": who we are, for people and tools. The address
 * comes first because Curator's data is nothing else. */
enum { IDENTITY_BYTES = 256 }; /* are enough */
void identity_text(char *out, size_t size);

#endif
