/* SPDX-License-Identifier: Apache-2.0 */
/* curator_shape.h - the nodes of a recipe, ours and those recorded of Curator (vectors/curator), as
 * text that can be compared: "PATH TYPE DATA" per node. Random ids are left out, default data is
 * WHO, containers are PERSISTENT (the server does not tell them apart). */
#ifndef PAWL_TEST_CURATOR_SHAPE_H
#define PAWL_TEST_CURATOR_SHAPE_H

#include <pawl/pawl.h>

struct curator_shape {
    char *lines[64];
    size_t n;
};

/* The section of `file` whose heading begins with `heading`. Fails the test if there is none. */
void curator_shape_recorded(struct curator_shape *s, const char *vectors, const char *file,
                            const char *heading);

/* `root` and everything below; the ephemerals of clients[0] are A's, and so on. */
void curator_shape_seen(struct curator_shape *s, struct pawl_client *c, const char *root,
                        struct pawl_client *const *clients, size_t n_clients);

/* Fails the test if they differ; frees both. */
void curator_shape_compare(struct curator_shape *seen, struct curator_shape *recorded);

#endif
