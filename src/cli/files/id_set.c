/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/id_set.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

enum { FIRST_CAPACITY = 1024 };

void id_set_init(struct id_set *s, size_t limit)
{
    ASSERT(limit >= 2);
    *s = (struct id_set){.limit = limit};
}

void id_set_fini(struct id_set *s)
{
    free(s->ids);
    *s = (struct id_set){0};
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void drop_repeats(struct id_set *s)
{
    size_t last = 0;

    if (s->n == 0) {
        return;
    }
    qsort(s->ids, s->n, sizeof(*s->ids), compare_ids);
    for (size_t i = 1; i < s->n; i++) {
        if (s->ids[i] != s->ids[last]) {
            s->ids[++last] = s->ids[i];
        }
    }
    s->n = last + 1;
}

/* At least half of it is free afterwards, or it is full: no id is sorted for again and again. */
static void make_room(struct id_set *s)
{
    drop_repeats(s);
    if (s->n <= s->capacity / 2 && s->capacity > 0) {
        return;
    }
    if (s->capacity == s->limit) {
        s->is_full = true;
        return;
    }
    s->capacity = s->capacity == 0 ? FIRST_CAPACITY : s->capacity * 2;
    s->capacity = s->capacity < s->limit ? s->capacity : s->limit;
    s->ids = must_realloc(s->ids, s->capacity * sizeof(*s->ids));
}

void id_set_add(struct id_set *s, int64_t id)
{
    if (s->is_full || (s->n > 0 && s->ids[s->n - 1] == id)) {
        return;
    }
    if (s->n == s->capacity) {
        make_room(s);
    }
    if (s->n < s->capacity) {
        s->ids[s->n++] = id;
    }
}

size_t id_set_count(struct id_set *s)
{
    drop_repeats(s);
    return s->n;
}
