/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/queue/queue_refused.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

struct refused_item {
    struct list link;
    int times;
    int64_t until_ms;
    char name[];
};

void refused_init(struct refused *r)
{
    list_init(&r->items);
    r->n = 0;
}

static struct refused_item *refused_find(const struct refused *r, const char *name)
{
    struct list *item;

    list_for_each (item, &r->items) {
        struct refused_item *x = container_of(item, struct refused_item, link);

        if (strcmp(x->name, name) == 0) {
            return x;
        }
    }
    return NULL;
}

static void refused_drop(struct refused *r, struct refused_item *x)
{
    ASSERT(r->n > 0);
    list_remove(&x->link);
    r->n--;
    free(x);
}

void refused_fini(struct refused *r)
{
    while (!list_empty(&r->items)) {
        refused_drop(r, container_of(r->items.next, struct refused_item, link));
    }
}

void refused_forget(struct refused *r, const char *name)
{
    struct refused_item *x = refused_find(r, name);

    if (x != NULL) {
        refused_drop(r, x);
    }
}

static int64_t refused_pause_ms(int times)
{
    int64_t pause = REFUSED_FIRST_PAUSE_MS;

    ASSERT(times > 0);
    for (; times > 1 && pause < REFUSED_LONGEST_PAUSE_MS; times--) {
        pause *= 2;
    }
    return pause < REFUSED_LONGEST_PAUSE_MS ? pause : REFUSED_LONGEST_PAUSE_MS;
}

void refused_put_again(struct refused *r, const char *name, const char *new_name, int64_t now_ms)
{
    int times = refused_times(r, name) + 1;
    struct refused_item *x = malloc(sizeof(*x) + strlen(new_name) + 1);

    refused_forget(r, name);
    if (x == NULL) {
        return;
    }
    if (r->n == MOST_REFUSED) {
        refused_drop(r, container_of(r->items.next, struct refused_item, link));
    }
    strcpy(x->name, new_name);
    x->times = times;
    x->until_ms = now_ms + refused_pause_ms(times);
    list_push_back(&r->items, &x->link);
    r->n++;
}

int refused_times(const struct refused *r, const char *name)
{
    const struct refused_item *x = refused_find(r, name);

    return x == NULL ? 0 : x->times;
}

int64_t refused_until_ms(const struct refused *r, const char *name)
{
    const struct refused_item *x = refused_find(r, name);

    return x == NULL ? 0 : x->until_ms;
}
