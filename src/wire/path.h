/* SPDX-License-Identifier: Apache-2.0 */
/* path.h - the rules for paths. */
#ifndef PAWL_WIRE_PATH_H
#define PAWL_WIRE_PATH_H

#include "base/bytes.h"
#include "base/hash.h"

/* ZooKeeper's full validation: absolute, no empty or dot component, no '/' at the end, no control,
 * private-use or surrogate character; what is not well-formed UTF-8 is not valid either. */
bool path_is_valid(struct bytes path);

bool path_has_nul(struct bytes path);

/* The weaker test of create and delete: a '/' somewhere and no NUL. */
bool path_has_slash_no_nul(struct bytes path);

/* Everything before the last '/', "/" for a child of the root; the path must contain a '/'. */
struct bytes path_parent(struct bytes path);
struct bytes path_name(struct bytes path);

/* `path` is `prefix` or below it, by whole components. */
bool path_is_within(struct bytes path, struct bytes prefix);

/* The prefixes of a path that are paths, from "/" down to itself, each with its hash_bytes() under
 * `salt`: one walk over the bytes for all of them, however deep it is. */
struct path_walk {
    struct bytes path;
    size_t at;
    struct hash_stream hash;
};

void path_walk_begin(struct path_walk *w, struct bytes path, uint64_t salt);
bool path_walk_next(struct path_walk *w, struct bytes *prefix, uint64_t *hash);

#endif
