/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_files.h - the files of an ensemble whose members change while it runs.
 *
 *   zoo.cfg                    all but the members, and which of the next ones is in force
 *   zoo.cfg.dynamic.100000003  the members, as of that version (hexadecimal)
 *   zoo.cfg.dynamic.next       the members as they were last proposed, with their version
 *   zoo.cfg.bak                zoo.cfg as it was before this server first wrote it
 *
 * Byte by byte as Apache's server writes them, except where that could not be read again as what it
 * was (a backslash, a letter that is not ASCII). Each takes its name when its bytes are on disk,
 * and what follows is done after that: a crash leaves members that were in force or proposed, and
 * never forgets what was proposed before it is in force. */
#ifndef PAWL_DAEMON_DYNAMIC_FILES_H
#define PAWL_DAEMON_DYNAMIC_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/strbuf.h"
#include "quorum/config.h"

struct disk;
struct dynamic_files;

/* ---- texts ---- */

/* The version that a file's name ends with; 0: none. */
int64_t dynamic_version_of(const char *path);

/* One member per line in the order of the text; without the version, or with it as one of the
 * lines. */
void dynamic_members(const struct quorum_config *c, bool with_version, struct strbuf *out);

/* What `text` (of zoo.cfg) says, without members, and with `path` (absolute) for them.
 * `without_client_port`: it stands in this server's own line. False: it cannot be read. */
bool dynamic_static(struct bytes text, const char *path, bool without_client_port,
                    struct strbuf *out);

/* ---- files ---- */

/* Beside `file`, zoo.cfg. PAWL_OK, or `why` has a sentence. */
int dynamic_files_open(const char *file, struct dynamic_files **out, struct strbuf *why);
/* On a disk of the caller's; `folder` is its absolute path. */
struct dynamic_files *dynamic_files_on(struct disk *disk, const char *folder, const char *name);
void dynamic_files_close(struct dynamic_files *f); /* NULL is allowed */
const char *dynamic_files_error(struct dynamic_files *f);

/* Each is on disk when it returns. */
int dynamic_files_back_up(struct dynamic_files *f);
int dynamic_files_propose(struct dynamic_files *f, const struct quorum_config *c);
/* `c` is in force from now on; what was proposed is forgotten unless it is newer. `self`: who we
 * are. */
int dynamic_files_activate(struct dynamic_files *f, const struct quorum_config *c, int64_t self);

/* What was proposed is not to be. */
int dynamic_files_forget(struct dynamic_files *f);

/* What was proposed last. PAWL_ERR_NOT_FOUND: nothing. PAWL_ERR_CORRUPT: `why` has a sentence. */
int dynamic_files_proposed(struct dynamic_files *f, struct quorum_config *out, struct strbuf *why);

#endif
