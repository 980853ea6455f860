/* SPDX-License-Identifier: Apache-2.0 */
#include "look/lock_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool is_below(const char *node, const char *path, const char *name)
{
    size_t len = strlen(path);

    return strncmp(node, path, len) == 0 && node[len] == '/' && strcmp(node + len + 1, name) == 0;
}

/* The nodes of a semaphore are in two folders, which are no places themselves. */
static bool is_semaphore(const struct pawl_participants *all, const char *path)
{
    for (size_t i = 0; i < all->n; i++) {
        if (is_below(all->items[i]->path, path, "leases") && all->items[i]->session_id == 0) {
            return true;
        }
    }
    return false;
}

static int read_below(struct pawl_client *c, const char *path, const char *name,
                      struct pawl_participants **out)
{
    size_t size = strlen(path) + strlen(name) + 2;
    char *folder = must_alloc(size);
    int err;

    snprintf(folder, size, "%s/%s", path, name);
    err = pawl_participants(c, folder, out);
    free(folder);
    return err;
}

static void add_all(struct lock_queue *q, const struct pawl_participants *all, size_t n)
{
    q->items = must_realloc(q->items, (q->n + n + 1) * sizeof(*q->items));
    for (size_t i = 0; i < n; i++) {
        q->items[q->n++] = all->items[i];
    }
}

/* Whose turn it is makes its lease before there is room for it, and waits at its place until there
 * is: the last lease is none yet if the first place is of the same session. */
static size_t leases_held(const struct lock_queue *q)
{
    size_t n = q->leases->n;

    if (n > 0 && q->places->n > 0 &&
        q->leases->items[n - 1]->session_id == q->places->items[0]->session_id) {
        n--;
    }
    return n;
}

int lock_queue_read(struct pawl_client *c, const char *path, struct lock_queue *out)
{
    struct lock_queue q = {0};
    int err = pawl_participants(c, path, &q.places);

    if (err == PAWL_OK && is_semaphore(q.places, path)) {
        q.is_semaphore = true;
        pawl_participants_free(q.places);
        q.places = NULL;
        err = read_below(c, path, "leases", &q.leases);
        err = err == PAWL_OK ? read_below(c, path, "locks", &q.places) : err;
    }
    if (err == PAWL_OK && q.is_semaphore) {
        q.n_leases = leases_held(&q);
        add_all(&q, q.leases, q.n_leases);
    }
    if (err == PAWL_OK) {
        add_all(&q, q.places, q.places->n);
        *out = q;
    } else {
        lock_queue_fini(&q);
    }
    return err;
}

void lock_queue_fini(struct lock_queue *q)
{
    pawl_participants_free(q->places);
    pawl_participants_free(q->leases);
    free(q->items);
}

bool lock_queue_is_reader(const struct lock_queue *q, size_t i)
{
    return strstr(q->items[i]->path, "__READ__") != NULL;
}

bool lock_queue_excludes(const struct lock_queue *q, size_t ahead, size_t i)
{
    return !q->is_semaphore && ahead < i &&
           !(lock_queue_is_reader(q, ahead) && lock_queue_is_reader(q, i));
}

bool lock_queue_behind(const struct lock_queue *q, size_t i, size_t *ahead)
{
    for (size_t before = i; before-- > 0;) {
        if (lock_queue_excludes(q, before, i)) {
            *ahead = before;
            return true;
        }
    }
    return false;
}

bool lock_queue_holds(const struct lock_queue *q, size_t i)
{
    size_t ahead;

    return q->is_semaphore ? i < q->n_leases : !lock_queue_behind(q, i, &ahead);
}
