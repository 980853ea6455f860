/* SPDX-License-Identifier: Apache-2.0 */
/* entropy.h - what nobody outside can guess, from the system. The simulators have their own. */
#ifndef PAWL_OS_ENTROPY_H
#define PAWL_OS_ENTROPY_H

#include <stddef.h>

/* Stops the process when the system has none: nothing here is safe without. */
void entropy_fill(void *out, size_t len);

/* Gives the hash tables of this process their key; only the first call does anything. Whoever
 * opens a server or a client calls it before anything else. */
void entropy_key_tables(void);

#endif
