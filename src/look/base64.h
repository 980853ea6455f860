/* SPDX-License-Identifier: Apache-2.0 */
/* base64.h - bytes as letters (RFC 4648, with padding). */
#ifndef PAWL_LOOK_BASE64_H
#define PAWL_LOOK_BASE64_H

#include <stdbool.h>

#include <pawl/types.h>

#include "base/strbuf.h"

void base64_encode(struct pawl_bytes data, struct strbuf *out);

/* Appends the bytes to `out`. False: it is no base64. */
bool base64_decode(const char *text, struct strbuf *out);

#endif
