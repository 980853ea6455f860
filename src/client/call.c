/* SPDX-License-Identifier: Apache-2.0 */
#include "client/call.h"

#include <stdlib.h>

#include "client/plan.h"
#include "client/watches.h"

struct chunk *chunk_new(size_t capacity)
{
    struct chunk *c = malloc(sizeof(*c) + capacity);

    if (c != NULL) {
        atomic_init(&c->refs, 1);
        c->capacity = (uint32_t)capacity;
    }
    return c;
}

void chunk_unref(struct chunk *c)
{
    if (c != NULL && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1) {
        free(c);
    }
}

struct call *call_new(int32_t op)
{
    struct call *call = calloc(1, sizeof(*call));

    if (call != NULL) {
        list_init(&call->item.link);
        call->item.kind = ITEM_CALL;
        call->op = op;
        call->watch_table = WATCHER_NONE;
    }
    return call;
}

void call_free(struct call *call)
{
    if (call != NULL) {
        plan_free(call->plan);
        chunk_unref(call->chunk);
        free(call->path);
        free(call);
    }
}
