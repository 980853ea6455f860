/* SPDX-License-Identifier: Apache-2.0 */
/* descendants.h - the processes that this one, its children and their children have started.
 *
 * A process that adopts (descendants_adopt()) keeps those whose parent has ended, and those that
 * made themselves daemons, among its own: none gets away. */
#ifndef PAWL_CLI_DESCENDANTS_H
#define PAWL_CLI_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>

/* From now on orphans among our descendants become our children instead of init's. */
void descendants_adopt(void);

/* Sends a signal to each of them; gives how many there were. */
size_t descendants_signal(int number);

/* SIGKILL to all, until there is none left to wait for. Reaps them. Waits for the end of those that
 * we may not kill. */
void descendants_end(void);

#endif
