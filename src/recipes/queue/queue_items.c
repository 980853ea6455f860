/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/queue/queue_items.h"

#include "base/assert.h"
#include "pawl/error.h"

enum { OPCODE_ITEM = 1, OPCODE_END = 2 };

static const uint8_t version[QUEUE_ITEMS_FIRST] = {0, 1, 0, 1};

void queue_items_write(struct strbuf *out, const struct pawl_bytes *items, size_t n)
{
    static const uint8_t end = OPCODE_END;

    strbuf_append(out, version, sizeof(version));
    for (size_t i = 0; i < n; i++) {
        size_t len = items[i].len;
        uint8_t head[5] = {OPCODE_ITEM, (uint8_t)(len >> 24), (uint8_t)(len >> 16),
                           (uint8_t)(len >> 8), (uint8_t)len};

        out->failed = out->failed || len > INT32_MAX;
        strbuf_append(out, head, sizeof(head));
        strbuf_append(out, items[i].data, len);
    }
    strbuf_append(out, &end, 1);
}

/* 1: an item, 0: the end, CORRUPT. */
static int step(struct bytes node, size_t *at, struct pawl_bytes *item)
{
    const uint8_t *p = node.data + *at;
    size_t left = node.len - *at;
    uint32_t len;

    if (left >= 1 && p[0] == OPCODE_END) {
        return 0;
    }
    if (left < 5 || p[0] != OPCODE_ITEM) {
        return PAWL_ERR_CORRUPT;
    }
    len = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
    if (len > INT32_MAX || len > left - 5) {
        return PAWL_ERR_CORRUPT;
    }
    *item = (struct pawl_bytes){p + 5, len};
    *at += 5 + (size_t)len;
    return 1;
}

int queue_items_check(struct bytes node, size_t *n)
{
    struct pawl_bytes item;
    size_t at = QUEUE_ITEMS_FIRST, found = 0;
    int rc;

    if (node.len < sizeof(version) || memcmp(node.data, version, sizeof(version)) != 0) {
        return PAWL_ERR_CORRUPT;
    }
    while ((rc = step(node, &at, &item)) == 1) {
        found++;
    }
    if (rc == 0) {
        *n = found;
    }
    return rc;
}

bool queue_items_next(struct bytes node, size_t *at, struct pawl_bytes *item)
{
    int rc = step(node, at, item);

    ASSERT(rc >= 0);
    return rc == 1;
}

void queue_items_rest(struct bytes node, size_t at, struct strbuf *out)
{
    ASSERT(at >= QUEUE_ITEMS_FIRST && at < node.len);
    strbuf_append(out, version, sizeof(version));
    strbuf_append(out, node.data + at, node.len - at);
}
