/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - nodes in queues that outlive the handle: what a detached session has in the tree.
 *
 * A recipe keeps each of its places here. pawl_client_detach() writes them into the blob, and who
 * queues in the same folder after attaching to the session goes on with the node that is there. */
#ifndef PAWL_CLIENT_PLACE_H
#define PAWL_CLIENT_PLACE_H

#include "base/list.h"
#include "base/strbuf.h"
#include "pawl/client.h"
#include "wire/jute.h"

struct engine;

struct place {
    struct list link; /* in places.kept; zero: never kept */
    const struct pawl_client *view;
    const char *folder, *marker, *path; /* the keeper's, of the view */
    int64_t token;
};

struct places {
    struct list kept;      /* struct place: the session's, of this handle */
    struct list inherited; /* those it brought along and nobody has taken up */
    int64_t session_id;    /* in which those were */
};

void places_init(struct places *p);
void places_fini(struct places *p);

void place_keep(struct engine *e, struct place *p);
void place_drop(struct place *p);

/* One that the session brought along, in that folder and with that marker; it is the caller's from
 * now on. False: there is none, or the session is not the same any more. */
bool place_inherit(const struct pawl_client *view, const char *folder, const char *marker,
                   char **path, int64_t *token);

/* ---- for the blob ---- */

/* int n | n times: string folder, string marker, string path, long token */
void places_write(const struct places *p, int64_t session_id, struct strbuf *out);
int places_read(struct places *p, int64_t session_id, struct jute_reader *r);

#endif
