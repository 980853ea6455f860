/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - intrusive, circular, doubly linked list.
 *
 * An object carries its own link, so putting it into a list cannot fail, and taking it out needs
 * no search. A link that is in no list points to itself. */
#ifndef PAWL_BASE_LIST_H
#define PAWL_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *prev;
    struct list *next;
};

#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
    l->prev = l;
    l->next = l;
}

static inline bool list_empty(const struct list *l)
{
    return l->next == l;
}

static inline void list_push_back(struct list *head, struct list *item)
{
    item->prev = head->prev;
    item->next = head;
    head->prev->next = item;
    head->prev = item;
}

/* Behind `place`, which is an item or a head. */
static inline void list_insert_behind(struct list *place, struct list *item)
{
    item->prev = place;
    item->next = place->next;
    place->next->prev = item;
    place->next = item;
}

static inline void list_remove(struct list *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    list_init(item);
}

/* The first item taken out, or NULL. */
static inline struct list *list_pop_front(struct list *head)
{
    struct list *item = head->next;

    if (item == head) {
        return NULL;
    }
    list_remove(item);
    return item;
}

/* Moves all of `from` behind what is in `to`; `from` is empty afterwards. */
static inline void list_splice(struct list *to, struct list *from)
{
    if (list_empty(from)) {
        return;
    }
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

#define list_for_each(item, head) for (item = (head)->next; item != (head); item = item->next)

#endif
