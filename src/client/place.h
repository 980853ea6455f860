/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - nodes in queues that outlive the handle: what a detached session has in the tree.
 *
 * A recipe keeps each of its places here. pawl_client_detach() writes them into the blob, and who
 * queues in the same folder after attaching to the session goes on with the node that is there. */
#ifndef PAWL_CLIENT_PLACE_H
#define PAWL_CLIENT_PLACE_H

#include "client/internal.h"

struct place {
    struct list link; /* in engine.places; zero: never kept */
    const struct pawl_client *view;
    const char *folder, *marker, *path; /* the keeper's, of the view */
    int64_t token;
};

void place_keep(struct engine *e, struct place *p);
void place_drop(struct place *p);

/* One that the session brought along, in that folder and with that marker; it is the caller's from
 * now on. False: there is none, or the session is not the same any more. */
bool place_inherit(const struct pawl_client *view, const char *folder, const char *marker,
                   char **path, int64_t *token);

/* ---- blob.c: the rest of what goes from one handle to the next ---- */

void blob_write(const struct engine *e, struct bytes extra, struct strbuf *out);
int blob_attach(struct engine *e, struct pawl_bytes blob); /* BAD_ARGUMENTS, NO_MEMORY */
void blob_forget(struct engine *e);                        /* what nobody inherited */

#endif
