/* SPDX-License-Identifier: Apache-2.0 */
/* audit_log.h - where audit lines go (server/audit.h): a file of their own, or the server's log.
 *
 * The server never waits for whoever reads them: a line that the file does not take at once and as
 * a whole (the disk is full, a pipe is) is dropped and counted, and the next one that gets through
 * is preceded by one that says how many are missing. The file is ours only (0600), is appended to,
 * and is opened again when somebody has moved it away (SIGHUP). */
#ifndef PAWL_DAEMON_AUDIT_LOG_H
#define PAWL_DAEMON_AUDIT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "server/audit.h"

struct config;

struct audit_log {
    int fd; /* -1: the server's log */
    const char *path;
    bool is_torn; /* the last line got out in part */
    uint64_t n_dropped;
    char user[64]; /* whom the server runs as */
};

/* PAWL_OK, or `why` says what is wrong with the file; `out->line` stays NULL if nobody asks for it.
 */
int audit_log_open(struct audit_log *l, const struct config *c, struct audit *out, char *why,
                   size_t why_size);
void audit_log_close(struct audit_log *l);

/* Under its name, whatever has become of the one that was open. */
void audit_log_reopen(struct audit_log *l);

#endif
