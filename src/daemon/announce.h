/* SPDX-License-Identifier: Apache-2.0 */
/* announce.h - what pawld logs of its own life: version and configuration, who may connect, the
 * end. */
#ifndef PAWL_DAEMON_ANNOUNCE_H
#define PAWL_DAEMON_ANNOUNCE_H

struct config;

/* Before anything is opened. Secrets are not shown. */
void announce_start(const struct config *c);

/* Clients can connect, at `port` if it is not -1, and with TLS at `secure_port`. */
void announce_ready(const struct config *c, int port, int secure_port);

void announce_stopped(int status);

#endif
