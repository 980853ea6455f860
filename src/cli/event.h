/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - what watches tell: how it is printed, and where it waits until it can be.
 *
 * A watch that a command leaves behind (get -w, addWatch) is told of on the thread of callbacks,
 * in the middle of other output or of a line being typed. So its events are kept here, and printed
 * by the main thread: by a shell between two commands or while it waits for keys, by a single
 * command that has nothing else to do any more. */
#ifndef PAWL_CLI_EVENT_H
#define PAWL_CLI_EVENT_H

#include "cli/cli.h"

/* "CHANGED"; NULL: no change of a node, but the end of the watch. */
const char *event_name(enum pawl_event_type type);

/* A line, at once. `zxid` -1: not known. */
void event_print(const struct cli *cli, const char *name, const char *path, int64_t zxid);

/* For calls that take a watch. */
const struct pawl_watch *events_watch(void);

/* Readable when some are kept; -1 before the first events_watch(). */
int events_fd(void);

/* Prints what is kept, or with `is_hidden` forgets it. */
void events_print(const struct cli *cli, bool is_hidden);

/* For a single command: waits for an event, and prints it. EXIT_OK; EXIT_LOST: the watch is gone.
 */
int events_wait(struct cli *cli);

#endif
