/* SPDX-License-Identifier: Apache-2.0 */
/* insecure.h - what a configuration leaves open, for `pawld --check`: each with the setting that
 * mends it. None of it is an error, and much of it is all right on a network of one's own. */
#ifndef PAWL_DAEMON_INSECURE_H
#define PAWL_DAEMON_INSECURE_H

#include <stdbool.h>

struct config;

/* Adds to the configuration's warnings. */
void insecure_check(struct config *c);

/* The process will hold keys or passwords. */
bool insecure_has_secrets(const struct config *c);

#endif
