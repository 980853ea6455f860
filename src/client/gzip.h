/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.h - data as Curator compresses them: one gzip member, nothing behind it. */
#ifndef PAWL_CLIENT_GZIP_H
#define PAWL_CLIENT_GZIP_H

#include "base/bytes.h"

/* The caller frees `*out`. DATA_INCONSISTENCY, NO_MEMORY, TOO_LARGE. */
int gzip_pack(struct bytes in, uint8_t **out, size_t *len);
int gzip_unpack(struct bytes in, size_t limit, uint8_t **out, size_t *len);

#endif
