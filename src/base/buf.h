/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - reference-counted bytes, immutable once filled.
 *
 * One encoding of a transaction is shared by the log, the pending changes and whoever else needs
 * it. The count is atomic, so a reference may be given to another thread. */
#ifndef PAWL_BASE_BUF_H
#define PAWL_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct buf {
    _Atomic uint32_t refs;
    uint32_t len;
    uint8_t data[];
};

/* A copy of `bytes` with one reference, the caller's. Stops when memory runs out. */
struct buf *buf_copy(struct bytes bytes);
struct buf *buf_ref(struct buf *b);

/* NULL is allowed. */
void buf_unref(struct buf *b);

static inline struct bytes buf_bytes(const struct buf *b)
{
    return bytes_of(b->data, b->len);
}

#endif
