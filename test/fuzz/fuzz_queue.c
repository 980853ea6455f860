/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a queue: what was read, written again, is what was read, up to the end of the items. */
#include "fuzz.h"
#include "recipes/queue/queue_items.h"

enum { MAX_ITEMS = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pawl_bytes items[MAX_ITEMS];
    struct bytes node = bytes_of(data, size);
    size_t n, found = 0, at = QUEUE_ITEMS_FIRST, middle = QUEUE_ITEMS_FIRST;
    struct strbuf out;

    if (queue_items_check(node, &n) != 0 || n > MAX_ITEMS) {
        return 0;
    }
    while (queue_items_next(node, &at, &items[found])) {
        middle = ++found == n / 2 ? at : middle;
    }
    MUST(found == n);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    queue_items_write(&out, items, n);
    MUST(out.len == at + 1 && memcmp(out.data, data, out.len) == 0);
    strbuf_clear(&out);
    queue_items_rest(node, middle, &out);
    MUST(queue_items_check(strbuf_bytes(&out), &found) == 0 && found == n - n / 2);
    strbuf_fini(&out);
    return 0;
}
