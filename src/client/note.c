/* SPDX-License-Identifier: Apache-2.0 */
#include "client/note.h"

#include "client/engine.h"

void note_init(struct note *n, void (*fn)(void *arg), void *arg)
{
    *n = (struct note){.item = {.kind = ITEM_NOTE}, .fn = fn, .arg = arg};
    list_init(&n->item.link);
}

void note_post(struct engine *e, struct note *n)
{
    if (!n->posted) {
        n->posted = true;
        list_push_back(&e->dispatch.inbox, &n->item.link);
    }
}

void note_run(struct engine *e, struct note *n)
{
    engine_lock(e);
    n->posted = false;
    engine_unlock(e);
    n->fn(n->arg);
}
