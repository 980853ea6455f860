/* SPDX-License-Identifier: Apache-2.0 */
/* session_file.h - whose a session of local:DIR is: DIR/sessions/ID, one file each.
 *
 * The host makes it before the session's client gets its first answer, and then leaves it alone.
 * The client changes it when it detaches (nobody's, until its time is up) and when it attaches (its
 * own). So whoever hosts later knows which process a session stands and falls with. Files are
 * replaced whole.
 *
 * DIR/sessions/silent, which only the host writes, has the sessions without a connection and since
 * when that is so: the time that has passed counts for the next host, too. */
#ifndef PAWL_OS_SESSION_FILE_H
#define PAWL_OS_SESSION_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "os/process.h"

#define SESSION_FOLDER "sessions"

struct session_file {
    struct process_id owner;
    int64_t detached_ms; /* when it was detached: it outlives its owner; 0: it does not */
};

/* `dir` is DIR/sessions. NOT_FOUND: there is none; CORRUPT: it cannot be understood. */
int session_file_read(const char *dir, int64_t id, struct session_file *out);
int session_file_write(const char *dir, int64_t id, const struct session_file *in);
void session_file_remove(const char *dir, int64_t id);

/* Every session that has a file. */
void session_file_each(const char *dir, void (*fn)(int64_t id, void *arg), void *arg);

/* The client's side, given the path of the host's socket, which stands beside the folder. No file:
 * no host that looks after processes, and nothing to do. */
int session_file_detach(const char *socket_path, int64_t id);
int session_file_attach(const char *socket_path, int64_t id);

struct silent_session {
    int64_t id;
    int64_t since_ms;
};

/* All or nothing. Reading gives none when the file is missing or of another boot; free() the list.
 */
int silent_file_write(const char *dir, const struct silent_session *list, size_t n);
struct silent_session *silent_file_read(const char *dir, size_t *n);

/* The clock of these times: it runs while the machine sleeps, and is the same for all processes. */
int64_t session_file_now_ms(void);

#endif
