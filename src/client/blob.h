/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h - a session on its way from one handle to the next. */
#ifndef PAWL_CLIENT_BLOB_H
#define PAWL_CLIENT_BLOB_H

#include "base/strbuf.h"
#include "pawl/client.h"

struct engine;

void blob_write(const struct engine *e, struct bytes extra, struct strbuf *out);
int blob_attach(struct engine *e, struct pawl_bytes blob); /* BAD_ARGUMENTS, NO_MEMORY */

#endif
