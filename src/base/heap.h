/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - intrusive pairing heap: what is due first.
 *
 * An object carries its own node, so putting it in cannot fail. Putting in and looking at the first
 * cost nothing, taking one out costs a logarithm on average. */
#ifndef PAWL_BASE_HEAP_H
#define PAWL_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t key;
    struct heap_node *child, *next, *prev; /* prev: the sibling before, or the parent */
};

struct heap {
    struct heap_node *root; /* the smallest key; NULL: empty */
};

static inline struct heap_node *heap_meld(struct heap_node *a, struct heap_node *b)
{
    struct heap_node *t;

    if (a == NULL || b == NULL) {
        return a == NULL ? b : a;
    }
    if (b->key < a->key) {
        t = a;
        a = b;
        b = t;
    }
    b->prev = a;
    b->next = a->child;
    if (a->child != NULL) {
        a->child->prev = b;
    }
    a->child = b;
    return a;
}

/* Whether the node is in a heap: one that is not points to itself. */
static inline bool heap_has(const struct heap_node *n)
{
    return n->prev != n;
}

static inline void heap_node_init(struct heap_node *n)
{
    n->prev = n;
}

static inline void heap_insert(struct heap *h, struct heap_node *n, int64_t key)
{
    *n = (struct heap_node){.key = key};
    h->root = heap_meld(h->root, n);
}

/* The children of a node that goes, made into one tree: pairs from the left, then all together. */
static inline struct heap_node *heap_join(struct heap_node *first)
{
    struct heap_node *pairs = NULL, *all = NULL, *a, *b;

    while (first != NULL) {
        a = first;
        b = a->next;
        first = b == NULL ? NULL : b->next;
        a->next = a->prev = NULL;
        if (b != NULL) {
            b->next = b->prev = NULL;
        }
        a = heap_meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs != NULL) {
        a = pairs;
        pairs = a->next;
        a->next = a->prev = NULL;
        all = heap_meld(all, a);
    }
    return all;
}

/* Nothing happens if it is in none. */
static inline void heap_remove(struct heap *h, struct heap_node *n)
{
    struct heap_node *below;

    if (!heap_has(n)) {
        return;
    }
    below = heap_join(n->child);
    if (h->root == n) {
        h->root = below;
    } else {
        if (n->prev->child == n) {
            n->prev->child = n->next;
        } else {
            n->prev->next = n->next;
        }
        if (n->next != NULL) {
            n->next->prev = n->prev;
        }
        h->root = heap_meld(h->root, below);
    }
    n->child = n->next = NULL;
    heap_node_init(n);
}

#endif
