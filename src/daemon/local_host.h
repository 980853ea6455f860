/* SPDX-License-Identifier: Apache-2.0 */
/* local_host.h - hosting of local:DIR.
 *
 *   DIR/version   one line: what this folder is; other programs' folders are refused
 *   DIR/lock      whoever has it locked hosts
 *   DIR/socket    where the host listens
 *   DIR/data/     an ordinary data folder
 *   DIR/sessions/ which process each session belongs to; see owners.h
 *
 * Every process that has DIR open looks twenty times a second whether the lock is free; the system
 * frees it however its holder ends, and a forked child does not have it. Who gets it recovers from
 * data/ and listens; sessions, with their ephemeral nodes, live on as they would over the restart
 * of any server, if their processes do. */
#ifndef PAWL_DAEMON_LOCAL_HOST_H
#define PAWL_DAEMON_LOCAL_HOST_H

/* Makes it known to the client half. Happens by itself in the whole library; programs that link
 * single layers call it. */
void local_host_register(void);

#endif
