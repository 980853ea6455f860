/* SPDX-License-Identifier: Apache-2.0 */
/* ready.h - hears from a pawld that we have started that clients can connect to it.
 *
 * It tells so as it would tell systemd, by a datagram to $NOTIFY_SOCKET. Who answers on its port
 * proves nothing: that may be somebody who had the port before. */
#ifndef PAWL_CLI_FILES_READY_H
#define PAWL_CLI_FILES_READY_H

#include <stdbool.h>

enum { READY_NAME_BYTES = 32 };

/* A descriptor, and its name for $NOTIFY_SOCKET; or -1 with errno. */
int ready_open(char name[READY_NAME_BYTES]);

/* Whether that process has said so by now. Does not wait; what others say does not count. */
bool ready_heard(int fd, int pid);

#endif
