/* SPDX-License-Identifier: Apache-2.0 */
/* inherited.h - what pawl was started with, kept apart from what it sets for itself: how signals
 * are taken, and the standard descriptors.
 *
 * The command that pawl runs gets what pawl got: under nohup it ignores SIGHUP as well. */
#ifndef PAWL_CLI_INHERITED_H
#define PAWL_CLI_INHERITED_H

#include <stdbool.h>

/* First of all in main(). Takes SIGCHLD and SIGPIPE as this program needs them, and opens
 * /dev/null for a standard descriptor that is closed: nothing else may get its number. */
void inherited_keep(void);

/* Whoever started us wants this signal to be ignored. */
bool inherited_ignores(int number);

/* Signals as they were; for a child that is about to execute something. */
void inherited_restore(void);

#endif
