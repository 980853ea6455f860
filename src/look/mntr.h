/* SPDX-License-Identifier: Apache-2.0 */
/* mntr.h - the answers to the four-letter words mntr and srvr: lines of a name, a tab or a colon,
 * and a value. */
#ifndef PAWL_LOOK_MNTR_H
#define PAWL_LOOK_MNTR_H

#include <stdbool.h>
#include <stdint.h>

#include <pawl/types.h>

/* A view of the value, without blanks before it and the end of the line. False: there is no such
 * name. */
bool mntr_text(struct pawl_bytes answer, const char *name, struct pawl_bytes *out);

/* The whole number that it begins with; -1: there is none. */
int64_t mntr_number(struct pawl_bytes answer, const char *name);

#endif
