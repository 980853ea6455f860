/* SPDX-License-Identifier: Apache-2.0 */
/* core_internal.h - what core.c and core_sasl.c share. */
#ifndef PAWL_CLIENT_CORE_INTERNAL_H
#define PAWL_CLIENT_CORE_INTERNAL_H

#include "client/core.h"
#include "wire/request.h"

/* ---- core.c ---- */

void core_check(const struct core *c);
void core_move_link(struct core *c, enum link_state next);
void core_drop_link(struct core *c, int64_t now_ms, const char *why);

/* What the handshake has granted is ours from now on. */
void core_session_stands(struct core *c, int64_t now_ms, const struct connect_response *r);

/* ---- core_sasl.c ---- */

void core_sasl_begin(struct core *c, const struct connect_response *r);
void core_sasl_answered(struct core *c, int64_t now_ms, struct bytes frame);

#endif
