/* SPDX-License-Identifier: Apache-2.0 */
/* background.h - what goes on after a call was given up, until it is done or the client closed; and
 * across a hand-over, in the blob. What is refused for lack of permission is tried again with
 * growing pauses as long as the session lives.
 *
 * A delete that is repeated must not hit somebody's newer node of the same name: unless the name is
 * nobody else's, the node counts as the one that was meant only if it was made before the call was
 * (its czxid is not above the newest zxid that we had heard of then). */
#ifndef PAWL_CLIENT_BACKGROUND_H
#define PAWL_CLIENT_BACKGROUND_H

#include "base/strbuf.h"
#include "client/plan.h"
#include "wire/jute.h"

/* `newest_zxid` INT64_MAX: the name is unique. */
void background_delete(struct engine *e, struct bytes path, int32_t version, int flags,
                       int64_t newest_zxid);

/* Should a protected create have happened after all, undo it. */
void background_undo(struct engine *e, struct bytes path, const char *id);

/* What a plan leaves to do that ends without an answer. */
void background_take_over(struct engine *e, const struct plan *p);

/* ---- for the blob ---- */

/* int n | n times: int kind, string path, string id, int version, int flags, long newest zxid */
void background_write(const struct engine *e, struct strbuf *out);
int background_read(struct engine *e, struct jute_reader *r); /* BAD_ARGUMENTS or 0 */

#endif
