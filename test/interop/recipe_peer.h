/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_peer.h - what the files of recipe_peer share: actors, and the verbs they know.
 *
 * An actor is a thread with a connection of its own. It runs its verbs one after the other; what a
 * verb leaves for a later one (a lock that is held, a latch that is started) is kept under a name.
 */
#ifndef RECIPE_PEER_H
#define RECIPE_PEER_H

#include <stdbool.h>

#include <pawl/client.h>

enum { MAX_WORDS = 16, ANSWER_BYTES = 8192, PATIENCE_MS = 60000 };

struct actor;

/* `v`: the arguments, NULL behind the last. Returns PAWL_OK, and in `out` what to answer (empty at
 * first), or an error, with a text in `out` if there is more to say than its name. */
typedef int (*verb_fn)(struct actor *a, char **v, char *out);

struct verb {
    const char *name;
    verb_fn run;
};

extern const struct verb lock_verbs[], election_verbs[], barrier_verbs[], counter_verbs[],
    queue_verbs[], discovery_verbs[], group_verbs[];

struct pawl_client *actor_client(struct actor *a);

typedef void (*free_fn)(void *thing);

/* Things live until NULL is put in their place, or until the verb `free`, which calls `done_with`
 * (or nothing) for each. */
void *actor_thing(struct actor *a, const char *kind, const char *path);
void actor_keep(struct actor *a, const char *kind, const char *path, void *thing,
                free_fn done_with);

/* The referee knows who is inside, and says no to one too many. */
int actor_referee(struct actor *a, char *out, const char *what, const char *path, const char *mode);

/* Adds one to the number in the node `path`-count. Not atomic on purpose: it counts right only if
 * nobody else is inside. */
int actor_bump(struct actor *a, const char *path);

/* enter, bump, leave: for those who must be alone. */
int actor_alone(struct actor *a, const char *path, char *out);

/* Writes "yes" (OK) or "no" (OPERATION_TIMEOUT); other errors stay errors. */
int answer_yes_no(char *out, int rc);

#endif
