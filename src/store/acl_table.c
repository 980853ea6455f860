/* SPDX-License-Identifier: Apache-2.0 */
#include "store/acl_table.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "base/memory.h"

struct acl {
    struct map_entry entry;
    uint32_t id;
    uint32_t uses;
    int32_t world_perms;
    uint32_t len;
    uint8_t encoded[];
};

struct acl_table {
    struct map by_content;
    struct acl **by_id; /* NULL: free */
    uint32_t n_ids;
    uint32_t capacity;
    uint32_t *free_ids; /* a stack; as large as by_id */
    uint32_t n_free;
    uint64_t generation;
};

static const uint8_t open_list[] = "\0\0\0\1\0\0\0\x1f\0\0\0\5world\0\0\0\6anyone";

/* A zero-length list: what a number that is not in the table stands for. */
static const uint8_t no_list[] = "\0\0\0\0";

static int32_t world_perms_of(struct bytes encoded)
{
    struct jute_reader r = jute_reader_of(encoded);
    int32_t count = jute_read_count(&r);
    int32_t perms = 0;

    for (int32_t i = 0; i < count && !r.failed; i++) {
        struct acl_entry e = acl_entry_read(&r);

        if (bytes_equal_str(e.scheme, "world") && bytes_equal_str(e.id, "anyone")) {
            perms |= e.perms;
        }
    }
    return perms;
}

static struct acl *acl_new(uint32_t id, struct bytes encoded)
{
    struct acl *a = must_zalloc(sizeof(*a) + encoded.len);

    ASSERT(encoded.len <= INT32_MAX);
    a->id = id;
    a->len = (uint32_t)encoded.len;
    memcpy(a->encoded, encoded.data, encoded.len);
    a->world_perms = world_perms_of(encoded);
    return a;
}

struct acl_table *acl_table_new(void)
{
    struct acl_table *t = must_zalloc(sizeof(*t));

    map_init(&t->by_content);
    t->capacity = 16;
    t->by_id = must_zalloc(t->capacity * sizeof(*t->by_id));
    t->free_ids = must_zalloc(t->capacity * sizeof(*t->free_ids));
    t->by_id[ACL_OPEN] = acl_new(ACL_OPEN, bytes_of(open_list, sizeof(open_list) - 1));
    t->n_ids = 1;
    return t;
}

void acl_table_free(struct acl_table *t)
{
    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; i < t->n_ids; i++) {
        free(t->by_id[i]);
    }
    free(t->by_id);
    free(t->free_ids);
    map_fini(&t->by_content);
    free(t);
}

static struct acl *find_content(const struct acl_table *t, struct bytes encoded, uint64_t hash)
{
    for (struct map_entry *e = map_first(&t->by_content, hash); e != NULL; e = map_next(e)) {
        struct acl *a = container_of(e, struct acl, entry);

        if (bytes_equal(bytes_of(a->encoded, a->len), encoded)) {
            return a;
        }
    }
    return NULL;
}

/* A number may be used again even while a snapshot is being written: what the snapshot has yet to
 * write still holds its ACL, and what it has written is done with it. */
static uint32_t free_id(struct acl_table *t)
{
    if (t->n_free > 0) {
        return t->free_ids[--t->n_free];
    }
    if (t->n_ids == t->capacity) {
        t->by_id = must_realloc(t->by_id, 2 * t->capacity * sizeof(*t->by_id));
        t->free_ids = must_realloc(t->free_ids, 2 * t->capacity * sizeof(*t->free_ids));
        t->capacity *= 2;
    }
    return t->n_ids++;
}

uint32_t acl_table_take(struct acl_table *t, struct bytes encoded)
{
    uint64_t hash = hash_bytes(encoded.data, encoded.len, 0);
    struct acl *a = find_content(t, encoded, hash);

    if (a == NULL) {
        a = acl_new(free_id(t), encoded);
        t->by_id[a->id] = a;
        map_insert(&t->by_content, &a->entry, hash);
    }
    a->uses++;
    return a->id;
}

static struct acl *by_id(const struct acl_table *t, uint32_t id)
{
    return id < t->n_ids ? t->by_id[id] : NULL;
}

void acl_table_ref(struct acl_table *t, uint32_t id)
{
    struct acl *a = by_id(t, id);

    if (a != NULL) {
        a->uses++;
    }
}

void acl_table_release(struct acl_table *t, uint32_t id)
{
    struct acl *a = by_id(t, id);

    if (a == NULL || id == ACL_OPEN) {
        return;
    }
    ASSERT(a->uses > 0);
    if (--a->uses == 0) {
        map_remove(&t->by_content, &a->entry);
        t->by_id[id] = NULL;
        t->free_ids[t->n_free++] = id;
        t->generation++;
        free(a);
    }
}

uint64_t acl_table_generation(const struct acl_table *t)
{
    return t->generation;
}

bool acl_table_known(const struct acl_table *t, uint32_t id)
{
    return by_id(t, id) != NULL;
}

struct bytes acl_table_get(const struct acl_table *t, uint32_t id)
{
    const struct acl *a = by_id(t, id);

    return a == NULL ? bytes_of(no_list, 4) : bytes_of(a->encoded, a->len);
}

int32_t acl_table_world_perms(const struct acl_table *t, uint32_t id)
{
    const struct acl *a = by_id(t, id);

    return a == NULL ? 0 : a->world_perms;
}

void acl_table_each(const struct acl_table *t, acl_table_fn fn, void *arg)
{
    for (uint32_t id = 1; id < t->n_ids; id++) {
        if (t->by_id[id] != NULL) {
            fn(id, bytes_of(t->by_id[id]->encoded, t->by_id[id]->len), arg);
        }
    }
}

size_t acl_table_count(const struct acl_table *t)
{
    return t->by_content.count;
}
