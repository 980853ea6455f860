/* SPDX-License-Identifier: Apache-2.0 */
/* embed.h - what <pawl/server.h> does not show of a server inside a process. */
#ifndef PAWL_DAEMON_EMBED_H
#define PAWL_DAEMON_EMBED_H

#include <stddef.h>

struct disk;
struct pawl_server;
struct pawl_server_options;

/* What a server gets from whoever starts it, beside its options; all of it outlives the server. */
struct embed_place {
    /* DIR/sessions of a local:DIR: sessions end with their processes. NULL: by their timeouts. */
    const char *session_dir;
    /* With in_memory: what is kept here is found again by the next server on it. */
    struct disk *disk;
    /* pawl_server_role() has changed; on the server's thread. NULL: nobody wants to know. */
    void (*role_changed)(void *arg);
    void *arg;
};

/* pawl_server_start() at a place; NULL: nowhere in particular. */
int embed_start(const struct pawl_server_options *options, const struct embed_place *place,
                struct pawl_server **out, char *why, size_t why_size);

/* pawl_server_stop(), but as if the process had been killed: nothing more is brought to disk than
 * was on its way, and `failed` is not called. */
int embed_kill(struct pawl_server *server);

/* Writes `sentence` to `why`, as far as there is room, and returns `code`. */
int embed_explain(char *why, size_t why_size, int code, const char *sentence);

#endif
