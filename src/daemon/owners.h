/* SPDX-License-Identifier: Apache-2.0 */
/* owners.h - the processes that the sessions of a local:DIR belong to.
 *
 * All clients are on this machine, so it need not take a timeout to learn that one of them is gone:
 * a session ends as soon as its process has, whether it was killed under this host or before it.
 * A detached session ends when its time is up, and so does one whose process cannot be seen from
 * here (another pid namespace); for these the time under earlier hosts counts.
 *
 * What is known is kept in DIR/sessions, see os/session_file.h. */
#ifndef PAWL_DAEMON_OWNERS_H
#define PAWL_DAEMON_OWNERS_H

#include <stdint.h>

struct host;
struct owners;

/* Before the host listens: judges the sessions that it found in the data. */
struct owners *owners_open(struct host *h, const char *dir);
void owners_close(struct owners *o); /* NULL is allowed */

/* A connection of process `pid` (0: not known) is this session's now, or no longer is. */
void owners_joined(struct owners *o, int64_t session_id, int64_t pid);
void owners_left(struct owners *o, int64_t session_id);

/* Looks which processes have ended. */
void owners_tick(struct owners *o);

/* Writes down what has changed, before anybody gets an answer. */
void owners_flush(struct owners *o);

#endif
