/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - an answer's bytes as the structs that the application sees. */
#ifndef PAWL_CLIENT_REPLY_H
#define PAWL_CLIENT_REPLY_H

#include "client/call.h"
#include "pawl/client.h"

/* The answer to `call`; `copy`: independent of the received chunk. NULL: no memory. */
struct pawl_reply *reply_of(const struct call *call, bool copy);
struct pawl_reply *reply_error(int err, enum pawl_outcome outcome);

/* What a create that was done has made, without memory. False: it is no such thing, or too long. */
bool reply_made_path(const struct call *call, char *out, size_t size);

#endif
