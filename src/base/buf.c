/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

struct buf *buf_copy(struct bytes bytes)
{
    struct buf *b = must_alloc(sizeof(*b) + bytes.len);

    ASSERT(bytes.len <= UINT32_MAX);
    atomic_init(&b->refs, 1);
    b->len = (uint32_t)bytes.len;
    if (bytes.len > 0) {
        memcpy(b->data, bytes.data, bytes.len);
    }
    return b;
}

struct buf *buf_ref(struct buf *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void buf_unref(struct buf *b)
{
    if (b != NULL && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) {
        free(b);
    }
}
