/* SPDX-License-Identifier: Apache-2.0 */
#include "server/talkers.h"

#include <stdlib.h>

#include "base/hash.h"

/* ---- one in so many ---- */

/* xorshift: between 0 and twice the mean, so that no rhythm of the requests meets it. */
static void choose_next(struct talkers *t)
{
    t->dice ^= t->dice << 13;
    t->dice ^= t->dice >> 7;
    t->dice ^= t->dice << 17;
    t->left = (uint32_t)(t->dice >> 32) % (2 * TALKERS_SAMPLE - 1);
}

void talkers_init(struct talkers *t, uint64_t seed, int64_t now_ms)
{
    *t = (struct talkers){.dice = seed | 1};
    t->minutes[0].began_ms = t->minutes[1].began_ms = now_ms;
    choose_next(t);
}

/* ---- places ---- */

static struct talker *find_talker(struct talker_list *l, struct bytes name, uint32_t hash)
{
    for (size_t i = 0; i < l->count; i++) {
        struct talker *t = &l->items[i];

        if (t->hash == hash && bytes_equal(bytes_of(t->name, t->len), name)) {
            return t;
        }
    }
    return NULL;
}

static struct talker *least_of(struct talker_list *l)
{
    struct talker *least = &l->items[0];

    for (size_t i = 1; i < l->count; i++) {
        least = l->items[i].n < least->n ? &l->items[i] : least;
    }
    return least;
}

static void count_name(struct talker_list *l, struct bytes name)
{
    struct talker *t;
    uint32_t hash;

    name.len = name.len > TALKER_NAME_BYTES ? TALKER_NAME_BYTES : name.len;
    hash = (uint32_t)hash_bytes(name.data, name.len, 0);
    t = find_talker(l, name, hash);
    if (t == NULL) {
        t = l->count < TALKERS_KEPT ? &l->items[l->count++] : least_of(l);
        t->over = t->n;
        t->hash = hash;
        t->len = (uint32_t)name.len;
        if (name.len > 0) {
            memcpy(t->name, name.data, name.len);
        }
    }
    t->n++;
}

/* "/a/b" of "/a/b/c". */
static struct bytes first_names(struct bytes path)
{
    int slashes = 0;

    for (size_t i = 0; i < path.len; i++) {
        slashes += path.data[i] == '/';
        if (slashes == 3) {
            return bytes_of(path.data, i);
        }
    }
    return path;
}

void talkers_note(struct talkers *t, const struct op *op, struct bytes path, struct bytes client)
{
    struct talkers_minute *m = &t->minutes[t->current];

    choose_next(t);
    m->n++;
    m->ops[op_index(op)]++;
    count_name(&m->clients, client);
    if (!bytes_is_null(path)) {
        count_name(&m->paths, first_names(path));
    }
}

void talkers_tick(struct talkers *t, int64_t now_ms)
{
    if (now_ms - t->minutes[t->current].began_ms >= TALKERS_MINUTE_MS) {
        t->current = 1 - t->current;
        t->minutes[t->current] = (struct talkers_minute){.began_ms = now_ms};
    }
}

/* ---- showing ---- */

static int by_count(const void *a, const void *b)
{
    const struct talker *x = *(const struct talker *const *)a,
                        *y = *(const struct talker *const *)b;

    if (x->n != y->n) {
        return x->n < y->n ? 1 : -1;
    }
    return bytes_order(bytes_of(x->name, x->len), bytes_of(y->name, y->len));
}

size_t talkers_sort(const struct talker_list *l, const struct talker **out)
{
    for (size_t i = 0; i < l->count; i++) {
        out[i] = &l->items[i];
    }
    qsort(out, l->count, sizeof(*out), by_count);
    return l->count;
}
