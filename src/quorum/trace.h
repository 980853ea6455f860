/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - one line per input and per effect of a quorum step: what simulator, failed test and
 * debug log print, and what scenarios expect.
 *
 *     1.250 m2 < PACKET link 3 ACK 0x100000005
 *     1.250 m2 > COMMIT 0x100000005
 *     1.250 m2 > SEND link 4 COMMIT 0x100000005 */
#ifndef PAWL_QUORUM_TRACE_H
#define PAWL_QUORUM_TRACE_H

#include "quorum/quorum.h"

/* Without the time and the member, without a line end: "PACKET link 3 ACK 0x100000005". */
void trace_input(struct strbuf *out, const struct quorum_input *in);
void trace_effect(struct strbuf *out, const struct quorum_effect *effect);

/* A whole step, line by line, with time and member. */
void trace_step(struct strbuf *out, int64_t now_us, int64_t sid, const struct quorum_input *in,
                const struct quorum_effects *effects);

#endif
