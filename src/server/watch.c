/* SPDX-License-Identifier: Apache-2.0 */
#include "server/watch.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "server/missed.h"
#include "wire/path.h"

enum { PATH_SALT = 7 };

/* A path somebody watches. */
struct watched {
    struct map_entry entry;
    struct list watches;
    uint32_t len;
    uint8_t path[];
};

struct watch {
    struct map_entry entry; /* in pairs */
    struct list at_path;
    struct list of_connection;
    struct connection *connection;
    struct watched *watched;
    uint8_t kinds;
    uint8_t round_kinds; /* of them those that came in: */
    uint32_t round;      /* see watch_add_again() */
};

void watch_table_init(struct watch_table *t)
{
    *t = (struct watch_table){0};
    map_init(&t->paths);
    map_init(&t->pairs);
}

void watch_table_fini(struct watch_table *t)
{
    ASSERT(t->pairs.count == 0);
    map_fini(&t->paths);
    map_fini(&t->pairs);
}

static uint64_t hash_watched(struct bytes path)
{
    return hash_bytes(path.data, path.len, PATH_SALT);
}

static struct bytes watched_path(const struct watched *w)
{
    return bytes_of(w->path, w->len);
}

static struct watched *find_watched(const struct watch_table *t, struct bytes path, uint64_t hash)
{
    for (struct map_entry *e = map_first(&t->paths, hash); e != NULL; e = map_next(e)) {
        struct watched *w = container_of(e, struct watched, entry);

        if (w->len == path.len && memcmp(w->path, path.data, path.len) == 0) {
            return w;
        }
    }
    return NULL;
}

static uint64_t hash_pair(uint64_t path_hash, const struct connection *c)
{
    return hash_u64(path_hash ^ (uint64_t)(uintptr_t)c);
}

static struct watch *find_watch(const struct watch_table *t, const struct connection *c,
                                struct bytes path, uint64_t path_hash)
{
    for (struct map_entry *e = map_first(&t->pairs, hash_pair(path_hash, c)); e != NULL;
         e = map_next(e)) {
        struct watch *w = container_of(e, struct watch, entry);

        if (w->connection == c && bytes_equal(watched_path(w->watched), path)) {
            return w;
        }
    }
    return NULL;
}

static struct watched *need_watched(struct watch_table *t, struct bytes path, uint64_t hash)
{
    struct watched *w = find_watched(t, path, hash);

    if (w == NULL) {
        w = must_alloc(sizeof(*w) + path.len);
        w->len = (uint32_t)path.len;
        memcpy(w->path, path.data, path.len);
        list_init(&w->watches);
        map_insert(&t->paths, &w->entry, hash);
    }
    return w;
}

/* What it is counted as; a path that several watch counts for each of them. */
static size_t watch_bytes(const struct watch *w)
{
    return sizeof(struct watch) + sizeof(struct watched) + w->watched->len;
}

static struct watch *add_kind(struct watch_table *t, struct connection *c, struct bytes path,
                              enum watch_kind kind)
{
    uint64_t hash = hash_watched(path);
    struct watch *w = find_watch(t, c, path, hash);

    ASSERT(__builtin_popcount(kind) == 1);
    ASSERT(!bytes_is_null(path));
    if (w == NULL) {
        w = must_alloc(sizeof(*w));
        w->connection = c;
        w->watched = need_watched(t, path, hash);
        w->kinds = w->round_kinds = 0;
        w->round = 0;
        c->watch_bytes += watch_bytes(w);
        list_push_back(&w->watched->watches, &w->at_path);
        list_push_back(&c->watches, &w->of_connection);
        map_insert(&t->pairs, &w->entry, hash_pair(hash, c));
    }
    if (kind == WATCH_RECURSIVE && (w->kinds & WATCH_RECURSIVE) == 0) {
        t->n_recursive++;
    }
    t->n_kinds += (w->kinds & kind) == 0 ? 1 : 0;
    w->kinds = (uint8_t)(w->kinds | kind);
    return w;
}

void watch_add(struct watch_table *t, struct connection *c, struct bytes path, enum watch_kind kind)
{
    (void)add_kind(t, c, path, kind);
}

void watch_add_again(struct watch_table *t, struct connection *c, struct bytes path,
                     enum watch_kind kind, uint32_t round)
{
    bool known = (watch_kinds(t, c, path) & kind) != 0;
    struct watch *w = add_kind(t, c, path, kind);

    if (!known) {
        w->round_kinds = (uint8_t)(w->round == round ? w->round_kinds | kind : kind);
        w->round = round;
    }
}

static void clear_kinds(struct watch_table *t, struct watch *w, unsigned kinds)
{
    struct watched *watched = w->watched;

    if ((w->kinds & kinds & WATCH_RECURSIVE) != 0) {
        ASSERT(t->n_recursive > 0);
        t->n_recursive--;
    }
    ASSERT(t->n_kinds >= (size_t)__builtin_popcount(w->kinds & kinds));
    t->n_kinds -= (size_t)__builtin_popcount(w->kinds & kinds);
    w->kinds = (uint8_t)(w->kinds & ~kinds);
    w->round_kinds &= w->kinds;
    if (w->kinds != 0) {
        return;
    }
    ASSERT(w->connection->watch_bytes >= watch_bytes(w));
    w->connection->watch_bytes -= watch_bytes(w);
    list_remove(&w->at_path);
    list_remove(&w->of_connection);
    map_remove(&t->pairs, &w->entry);
    free(w);
    if (list_empty(&watched->watches)) {
        map_remove(&t->paths, &watched->entry);
        free(watched);
    }
}

unsigned watch_kinds(const struct watch_table *t, const struct connection *c, struct bytes path)
{
    const struct watch *w = find_watch(t, c, path, hash_watched(path));

    return w == NULL ? 0 : w->kinds;
}

bool watch_remove(struct watch_table *t, struct connection *c, struct bytes path, unsigned kinds)
{
    struct watch *w = find_watch(t, c, path, hash_watched(path));

    if (w == NULL || (w->kinds & kinds) == 0) {
        return false;
    }
    clear_kinds(t, w, kinds);
    return true;
}

void watch_remove_all(struct watch_table *t, struct connection *c)
{
    while (!list_empty(&c->watches)) {
        clear_kinds(t, container_of(c->watches.next, struct watch, of_connection), WATCH_ANY);
    }
}

struct firing {
    struct watch_table *table;
    enum event_type type;
    struct bytes path;
    uint32_t acl;
    int64_t zxid;
    size_t n_told;
};

static void watch_tell(struct firing *f, struct connection *c)
{
    if (c->last_event == f->table->serial) {
        return;
    }
    c->last_event = f->table->serial;
    if (!f->table->may_see(f->table->server, c, f->acl)) {
        return;
    }
    event_write(missed_events(c), (int32_t)f->type, f->path, f->zxid);
    connection_touch(f->table->server, c);
    c->stats.sent++;
    f->n_told++;
}

/* Which kinds at the path itself an event reaches. */
static unsigned kinds_for(enum event_type type)
{
    switch (type) {
    case EVENT_CREATED:
    case EVENT_DATA_CHANGED:
        return WATCH_DATA | WATCH_PERSISTENT | WATCH_RECURSIVE;
    case EVENT_DELETED:
        return WATCH_ANY;
    default:
        return WATCH_CHILD | WATCH_PERSISTENT;
    }
}

enum event_type watch_event_of(enum change_kind kind)
{
    static const enum event_type types[] = {
        [CHANGE_CREATED] = EVENT_CREATED,
        [CHANGE_DELETED] = EVENT_DELETED,
        [CHANGE_DATA] = EVENT_DATA_CHANGED,
    };

    return types[kind];
}

static bool missed_at(const struct watch_table *t, const struct connection *c, uint32_t round,
                      struct bytes path, uint64_t hash, unsigned kinds)
{
    const struct watch *w = find_watch(t, c, path, hash);

    return w != NULL && w->round == round && (w->round_kinds & kinds) != 0;
}

bool watch_missed(const struct watch_table *t, const struct connection *c, uint32_t round,
                  enum event_type type, struct bytes path, bool above)
{
    struct path_walk walk;
    struct bytes prefix;
    uint64_t hash;

    if (missed_at(t, c, round, path, hash_watched(path), kinds_for(type))) {
        return true;
    }
    if (!above || type == EVENT_CHILDREN_CHANGED) {
        return false;
    }
    path_walk_begin(&walk, path, PATH_SALT);
    while (path_walk_next(&walk, &prefix, &hash) && prefix.len < path.len) {
        if (missed_at(t, c, round, prefix, hash, WATCH_RECURSIVE)) {
            return true;
        }
    }
    return false;
}

static void watch_fire_at(struct firing *f, struct bytes path, uint64_t hash, unsigned kinds)
{
    struct watched *watched = find_watched(f->table, path, hash);
    struct list *item, *next;

    if (watched == NULL) {
        return;
    }
    for (item = watched->watches.next;; item = next) {
        struct watch *w = container_of(item, struct watch, at_path);
        bool last;

        next = item->next;
        last = next == &watched->watches;
        if ((w->kinds & kinds) != 0) {
            watch_tell(f, w->connection);
            /* The last one takes `watched` with it: nothing of it is looked at afterwards. */
            clear_kinds(f->table, w, kinds & (WATCH_DATA | WATCH_CHILD));
        }
        if (last) {
            return;
        }
    }
}

static void fire_above(struct firing *f)
{
    struct path_walk walk;
    struct bytes above;
    uint64_t hash;

    path_walk_begin(&walk, f->path, PATH_SALT);
    while (path_walk_next(&walk, &above, &hash) && above.len < f->path.len) {
        watch_fire_at(f, above, hash, WATCH_RECURSIVE);
    }
}

size_t watch_fire(struct watch_table *t, enum event_type type, struct bytes path, uint32_t acl,
                  int64_t zxid)
{
    struct firing f = {t, type, path, acl, zxid, 0};

    if (t->paths.count == 0) {
        return 0;
    }
    t->serial++;
    watch_fire_at(&f, path, hash_watched(path), kinds_for(type));
    if (t->n_recursive > 0 && type != EVENT_CHILDREN_CHANGED) {
        fire_above(&f);
    }
    return f.n_told;
}

size_t watch_count(const struct watch_table *t)
{
    return t->n_kinds;
}

static int watched_by_path(const void *a, const void *b)
{
    return bytes_order(watched_path(*(struct watched *const *)a),
                       watched_path(*(struct watched *const *)b));
}

static void watch_each_at(const struct watched *watched, watch_row_fn fn, void *arg)
{
    struct list *item;

    list_for_each (item, &watched->watches) {
        const struct watch *w = container_of(item, struct watch, at_path);

        fn(watched_path(watched), w->connection, w->kinds, arg);
    }
}

void watch_each(const struct watch_table *t, watch_row_fn fn, void *arg)
{
    const struct watched **sorted = must_alloc((t->paths.count + 1) * sizeof(*sorted));
    struct map_entry *e;
    size_t n = 0;

    map_for_each (e, &t->paths) {
        sorted[n++] = container_of(e, struct watched, entry);
    }
    qsort(sorted, n, sizeof(*sorted), watched_by_path);
    for (size_t i = 0; i < n; i++) {
        watch_each_at(sorted[i], fn, arg);
    }
    free(sorted);
}

void watch_each_of(const struct connection *c, watch_row_fn fn, void *arg)
{
    struct list *item;

    list_for_each (item, &c->watches) {
        const struct watch *w = container_of(item, struct watch, of_connection);

        fn(watched_path(w->watched), c, w->kinds, arg);
    }
}
