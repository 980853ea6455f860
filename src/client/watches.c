/* SPDX-License-Identifier: Apache-2.0 */
#include "client/watches.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "client/step_watch.h"
#include "pawl/error.h"
#include "wire/path.h"
#include "wire/request.h"

enum { BATCH_BYTES = 128 * 1024 };

struct watcher {
    struct list link;
    struct event_target target;
};

struct watched_path {
    struct map_entry entry;
    struct list all, stale;
    unsigned left; /* tables that nobody here is in any more, but the server's are set */
    struct list tables[N_WATCHER_KINDS];
    size_t len;
    uint8_t path[];
};

int watches_init(struct watches *w)
{
    *w = (struct watches){0};
    list_init(&w->all);
    list_init(&w->stale);
    return map_try_init(&w->paths) ? 0 : PAWL_ERR_NO_MEMORY;
}

static uint64_t hash_of(struct bytes path)
{
    return hash_bytes(path.data, path.len, 0);
}

static struct bytes path_of(const struct watched_path *p)
{
    return bytes_of(p->path, p->len);
}

static struct watched_path *find_hashed(const struct watches *w, struct bytes path, uint64_t hash)
{
    struct map_entry *e = map_first(&w->paths, hash);

    while (e != NULL) {
        struct watched_path *p = container_of(e, struct watched_path, entry);

        if (bytes_equal(path_of(p), path)) {
            return p;
        }
        e = map_next(e);
    }
    return NULL;
}

static struct watched_path *watches_find(const struct watches *w, struct bytes path)
{
    return find_hashed(w, path, hash_of(path));
}

static struct watched_path *find_or_add(struct watches *w, struct bytes path)
{
    struct watched_path *p = watches_find(w, path);

    if (p != NULL) {
        return p;
    }
    p = malloc(sizeof(*p) + path.len);
    if (p == NULL) {
        return NULL;
    }
    p->len = path.len;
    p->left = 0;
    list_init(&p->stale);
    memcpy(p->path, path.data, path.len);
    for (int i = 0; i < N_WATCHER_KINDS; i++) {
        list_init(&p->tables[i]);
    }
    list_push_back(&w->all, &p->all);
    map_insert(&w->paths, &p->entry, hash_of(path));
    return p;
}

static void drop_if_empty(struct watches *w, struct watched_path *p)
{
    for (int i = 0; i < N_WATCHER_KINDS; i++) {
        if (!list_empty(&p->tables[i])) {
            return;
        }
    }
    list_remove(&p->stale);
    if (p->left != 0) {
        list_push_back(&w->stale, &p->stale);
        return;
    }
    map_remove(&w->paths, &p->entry);
    list_remove(&p->all);
    free(p);
}

void watches_fini(struct watches *w)
{
    struct list *item, *link;

    while (w->paths.buckets != NULL && (item = list_pop_front(&w->all)) != NULL) {
        struct watched_path *p = container_of(item, struct watched_path, all);

        for (int i = 0; i < N_WATCHER_KINDS; i++) {
            while ((link = list_pop_front(&p->tables[i])) != NULL) {
                free(container_of(link, struct watcher, link));
            }
        }
        free(p);
    }
    map_fini(&w->paths);
    w->n_watchers = 0;
}

bool event_target_same(const struct event_target *a, const struct event_target *b)
{
    return a->fn == b->fn && a->arg == b->arg && a->strip == b->strip;
}

static struct watcher *find_watcher(const struct list *table, const struct event_target *target)
{
    struct list *item;

    list_for_each (item, table) {
        struct watcher *x = container_of(item, struct watcher, link);

        if (target == NULL || event_target_same(&x->target, target)) {
            return x;
        }
    }
    return NULL;
}

int watches_add(struct watches *w, enum watcher_kind table, struct bytes path,
                const struct event_target *target)
{
    struct watched_path *p = find_or_add(w, path);
    struct watcher *x;

    if (p == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    if (find_watcher(&p->tables[table], target) != NULL) {
        return 0;
    }
    x = malloc(sizeof(*x));
    if (x == NULL) {
        drop_if_empty(w, p);
        return PAWL_ERR_NO_MEMORY;
    }
    x->target = *target;
    x->target.n_ended = 0;
    if (target->step != NULL) {
        step_watch_gained(target->step);
    }
    list_push_back(&p->tables[table], &x->link);
    list_remove(&p->stale);
    p->left &= ~(1u << table);
    w->n_watchers++;
    return 0;
}

bool watches_has(const struct watches *w, unsigned mask, struct bytes path,
                 const struct event_target *target)
{
    const struct watched_path *p = watches_find(w, path);

    for (int i = 0; p != NULL && i < N_WATCHER_KINDS; i++) {
        if ((mask & 1u << i) != 0 && find_watcher(&p->tables[i], target) != NULL) {
            return true;
        }
    }
    return false;
}

size_t watches_others(const struct watches *w, unsigned mask, struct bytes path,
                      const struct event_target *target, watcher_leaves_fn leaves, void *arg)
{
    const struct watched_path *p = watches_find(w, path);
    struct list *item;
    size_t n = 0;

    for (int i = 0; p != NULL && i < N_WATCHER_KINDS; i++) {
        if ((mask & 1u << i) == 0) {
            continue;
        }
        list_for_each (item, &p->tables[i]) {
            const struct event_target *t = &container_of(item, struct watcher, link)->target;

            n += !event_target_same(t, target) &&
                 (leaves == NULL || !leaves((enum watcher_kind)i, t, arg));
        }
    }
    return n;
}

/* ---- taking out ---- */

static size_t watches_count(const struct list *table, const struct event_target *target)
{
    struct list *item;
    size_t n = 0;

    list_for_each (item, table) {
        n += target == NULL ||
             event_target_same(&container_of(item, struct watcher, link)->target, target);
    }
    return n;
}

static size_t count_tables(const struct watched_path *p, unsigned mask,
                           const struct event_target *target)
{
    size_t n = 0;

    for (int i = 0; p != NULL && i < N_WATCHER_KINDS; i++) {
        n += (mask & 1u << i) != 0 ? watches_count(&p->tables[i], target) : 0;
    }
    return n;
}

static struct event_item *new_event(size_t n_targets, struct bytes path)
{
    struct event_item *e =
        malloc(sizeof(*e) + n_targets * sizeof(struct event_target) + path.len + 1);

    if (e == NULL) {
        return NULL;
    }
    *e = (struct event_item){.item = {.kind = ITEM_EVENT}, .zxid = -1};
    list_init(&e->item.link);
    e->path = (char *)&e->targets[n_targets];
    memcpy(e->path, path.data, path.len);
    e->path[path.len] = '\0';
    return e;
}

static struct event_target *add_target(struct event_item *e, const struct event_target *t)
{
    for (size_t i = 0; i < e->n_targets; i++) {
        if (event_target_same(&e->targets[i], t)) {
            return &e->targets[i];
        }
    }
    e->targets[e->n_targets] = *t;
    return &e->targets[e->n_targets++];
}

static void watches_take(struct watches *w, struct watched_path *p, unsigned mask, unsigned keep,
                         const struct event_target *target, struct event_item *e)
{
    struct list *item, *next;

    for (int i = 0; i < N_WATCHER_KINDS; i++) {
        if ((mask & 1u << i) == 0) {
            continue;
        }
        for (item = p->tables[i].next; item != &p->tables[i]; item = next) {
            struct watcher *x = container_of(item, struct watcher, link);
            struct event_target *told;

            next = item->next;
            if (target != NULL && !event_target_same(&x->target, target)) {
                continue;
            }
            told = add_target(e, &x->target);
            if ((keep & 1u << i) == 0) {
                told->n_ended++;
                list_remove(item);
                free(x);
                w->n_watchers--;
            }
        }
    }
}

enum {
    DATA = 1 << WATCHER_DATA,
    EXIST = 1 << WATCHER_EXIST,
    CHILD = 1 << WATCHER_CHILD,
    PERSISTENT = 1 << WATCHER_PERSISTENT,
    RECURSIVE = 1 << WATCHER_RECURSIVE,
    ALL = (1 << N_WATCHER_KINDS) - 1,
};

/* Whom an event at a path concerns there. */
static unsigned concerned(enum pawl_event_type type)
{
    switch (type) {
    case PAWL_EVENT_CREATED:
    case PAWL_EVENT_DATA_CHANGED:
        return DATA | EXIST | PERSISTENT | RECURSIVE;
    case PAWL_EVENT_DELETED:
        return DATA | EXIST | CHILD | PERSISTENT | RECURSIVE;
    case PAWL_EVENT_CHILDREN_CHANGED:
        return CHILD | PERSISTENT;
    default:
        return 0;
    }
}

static size_t count_above(const struct watches *w, struct bytes path)
{
    struct path_walk walk;
    struct bytes above;
    uint64_t hash;
    size_t n = 0;

    path_walk_begin(&walk, path, 0);
    while (path_walk_next(&walk, &above, &hash) && above.len < path.len) {
        n += count_tables(find_hashed(w, above, hash), RECURSIVE, NULL);
    }
    return n;
}

static void take_above(struct watches *w, struct bytes path, struct event_item *e)
{
    struct path_walk walk;
    struct bytes above;
    uint64_t hash;

    path_walk_begin(&walk, path, 0);
    while (path_walk_next(&walk, &above, &hash) && above.len < path.len) {
        struct watched_path *p = find_hashed(w, above, hash);

        if (p != NULL) {
            watches_take(w, p, RECURSIVE, RECURSIVE, NULL, e);
        }
    }
}

int watches_fire(struct watches *w, enum pawl_event_type type, struct bytes path, int64_t zxid,
                 struct event_item **out)
{
    struct watched_path *p = watches_find(w, path);
    bool climbs = type != PAWL_EVENT_CHILDREN_CHANGED;
    size_t n = count_tables(p, concerned(type), NULL) + (climbs ? count_above(w, path) : 0);
    struct event_item *e;

    *out = NULL;
    if (n == 0) {
        return 0;
    }
    e = new_event(n, path);
    if (e == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    e->type = type;
    e->state = PAWL_STATE_CONNECTED;
    e->zxid = zxid;
    if (p != NULL) {
        p->left &= ~(concerned(type) & (DATA | EXIST | CHILD)); /* they have fired */
        watches_take(w, p, concerned(type), PERSISTENT | RECURSIVE, NULL, e);
        drop_if_empty(w, p);
    }
    if (climbs) {
        take_above(w, path, e);
    }
    *out = e;
    return 0;
}

unsigned watches_same_place(unsigned mask)
{
    const unsigned data = DATA | EXIST | PERSISTENT | RECURSIVE, child = CHILD | PERSISTENT;

    return mask | ((mask & data) != 0 ? data : 0) | ((mask & child) != 0 ? child : 0);
}

/* Which of the tables in `mask` have it and nobody else. */
static unsigned left_by(const struct watched_path *p, unsigned mask,
                        const struct event_target *target)
{
    unsigned left = 0;

    for (int i = 0; i < N_WATCHER_KINDS; i++) {
        size_t n = watches_count(&p->tables[i], target);

        left |= n > 0 && n == watches_count(&p->tables[i], NULL) ? 1u << i : 0;
    }
    return left & mask;
}

int watches_remove(struct watches *w, unsigned mask, struct bytes path,
                   const struct event_target *target, bool stays, struct event_item **out)
{
    struct watched_path *p = watches_find(w, path);
    size_t n = count_tables(p, mask, target);

    *out = NULL;
    if (n == 0) {
        return PAWL_ERR_NO_WATCHER;
    }
    *out = new_event(n, path);
    if (*out == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    (*out)->type = PAWL_EVENT_WATCH_REMOVED;
    (*out)->state = PAWL_STATE_CONNECTED;
    p->left = stays ? p->left | left_by(p, mask, target) : p->left & ~mask;
    watches_take(w, p, mask, 0, target, *out);
    drop_if_empty(w, p);
    return 0;
}

bool watches_are_left(const struct watches *w, struct bytes path)
{
    const struct watched_path *p = watches_find(w, path);

    return p != NULL && p->left != 0;
}

struct bytes watches_stale(const struct watches *w)
{
    return list_empty(&w->stale) ? BYTES_NULL
                                 : path_of(container_of(w->stale.next, struct watched_path, stale));
}

void watches_not_stale(struct watches *w, struct bytes path)
{
    struct watched_path *p = watches_find(w, path);

    p->left = 0;
    drop_if_empty(w, p);
}

void watches_none_stale(struct watches *w)
{
    struct list *item, *next;

    for (item = w->all.next; item != &w->all; item = next) {
        struct watched_path *p = container_of(item, struct watched_path, all);

        next = item->next;
        p->left = 0;
        drop_if_empty(w, p);
    }
}

static bool waits_beside(const struct watched_path *p)
{
    bool deep =
        p != NULL && ((p->left & RECURSIVE) != 0 || !list_empty(&p->tables[WATCHER_RECURSIVE]));

    return deep && count_tables(p, CHILD | PERSISTENT, NULL) > 0;
}

bool watches_wait_beside(const struct watches *w, struct bytes path)
{
    return waits_beside(watches_find(w, path));
}

int watches_shadow(const struct watches *w, enum watcher_kind by, struct bytes path,
                   struct event_item **out)
{
    const struct watched_path *p = watches_find(w, path);
    unsigned mask = by == WATCHER_DATA || by == WATCHER_EXIST ? PERSISTENT | RECURSIVE
                    : by == WATCHER_CHILD                     ? PERSISTENT
                                                              : 0;
    size_t n = count_tables(p, mask, NULL);
    struct list *item;

    *out = NULL;
    if (n == 0) {
        return 0;
    }
    *out = new_event(n, path);
    if (*out == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    (*out)->type = (enum pawl_event_type)EVENT_SHADOWED;
    (*out)->state = PAWL_STATE_CONNECTED;
    for (int i = WATCHER_PERSISTENT; i <= WATCHER_RECURSIVE; i++) {
        list_for_each (item, &p->tables[i]) {
            const struct event_target *t = &container_of(item, struct watcher, link)->target;

            if ((mask & 1u << i) != 0 && t->step != NULL) {
                add_target(*out, t);
            }
        }
    }
    return 0;
}

int watches_end(struct watches *w, enum pawl_state why, struct event_item **out)
{
    struct watched_path *p;

    *out = NULL;
    if (list_empty(&w->all)) {
        return 0;
    }
    p = container_of(w->all.next, struct watched_path, all);
    p->left = 0;
    *out = new_event(count_tables(p, ALL, NULL), path_of(p));
    if (*out == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    (*out)->type = PAWL_EVENT_SESSION;
    (*out)->state = why;
    watches_take(w, p, ALL, 0, NULL, *out);
    drop_if_empty(w, p);
    return 0;
}

/* ---- setting them again ---- */

struct batch {
    struct strbuf lists[N_WATCHER_KINDS];
    int32_t counts[N_WATCHER_KINDS];
    size_t bytes;
    struct watches_sent sent;
};

static void ask_for_missed(struct batch *b)
{
    jute_write_str(&b->lists[WATCHER_PERSISTENT], MISSED_EVENTS);
    b->counts[WATCHER_PERSISTENT]++;
    b->sent.n_asked++;
}

/* Opcode 105 only when it is needed: servers before 3.6 do not know it. */
static void flush_batch(struct batch *b, int64_t zxid, struct strbuf *out)
{
    bool persistent = b->counts[WATCHER_PERSISTENT] > 0 || b->counts[WATCHER_RECURSIVE] > 0;
    struct request q = {.relative_zxid = zxid, .n_watch_lists = persistent ? 5 : 3};
    int32_t type = persistent ? OP_SET_WATCHES2 : OP_SET_WATCHES;
    size_t start = out->len;

    if (b->bytes == 0) {
        return;
    }
    if (persistent) {
        ask_for_missed(b);
    }
    b->sent.n++;
    for (int i = 0; i < q.n_watch_lists; i++) {
        q.watches[i] = (struct string_list){b->counts[i], strbuf_bytes(&b->lists[i])};
        out->failed = out->failed || b->lists[i].failed;
    }
    jute_write_int(out, 0);
    jute_write_int(out, XID_SET_WATCHES);
    jute_write_int(out, type);
    request_write(out, op_find(type), &q);
    jute_patch_int(out, start, (int32_t)(out->len - start - 4));
    for (int i = 0; i < N_WATCHER_KINDS; i++) {
        strbuf_clear(&b->lists[i]);
        b->counts[i] = 0;
    }
    b->bytes = 0;
}

static void batch_add(struct batch *b, enum watcher_kind kind, const struct watched_path *p)
{
    jute_write_buffer(&b->lists[kind], path_of(p));
    b->counts[kind]++;
    b->bytes += p->len;
}

static void batch_add_path(struct batch *b, const struct watched_path *p)
{
    for (int i = 0; i < N_WATCHER_KINDS; i++) {
        if (!list_empty(&p->tables[i])) {
            batch_add(b, (enum watcher_kind)i, p);
        }
    }
}

/* Those who wait for children beside a recursive watch come behind all others. */
static void batch_add_behind(struct batch *b, const struct watched_path *p)
{
    if (waits_beside(p)) {
        batch_add(b, WATCHER_CHILD, p);
    }
}

static void encode_each(const struct watches *w, int64_t zxid, struct strbuf *out, struct batch *b,
                        void (*add)(struct batch *b, const struct watched_path *p))
{
    struct list *item;

    list_for_each (item, &w->all) {
        add(b, container_of(item, struct watched_path, all));
        if (b->bytes >= BATCH_BYTES) {
            flush_batch(b, zxid, out);
        }
    }
    flush_batch(b, zxid, out);
}

struct watches_sent watches_encode(const struct watches *w, int64_t zxid, struct strbuf *out)
{
    struct batch b = {0};

    for (int i = 0; i < N_WATCHER_KINDS; i++) {
        strbuf_init(&b.lists[i], STRBUF_NO_LIMIT);
    }
    encode_each(w, zxid, out, &b, batch_add_path);
    encode_each(w, zxid, out, &b, batch_add_behind);
    for (int i = 0; i < N_WATCHER_KINDS; i++) {
        strbuf_fini(&b.lists[i]);
    }
    return b.sent;
}

/* Those at `p` that stay, if `told` those of recipes; into `e` unless that is NULL. */
static size_t take_staying(const struct watched_path *p, bool told, struct event_item *e)
{
    struct list *item;
    size_t n = 0;

    for (int i = WATCHER_PERSISTENT; i <= WATCHER_RECURSIVE; i++) {
        list_for_each (item, &p->tables[i]) {
            const struct event_target *t = &container_of(item, struct watcher, link)->target;

            if (told && t->step == NULL) {
                continue;
            }
            n++;
            if (e != NULL) {
                add_target(e, t);
            }
        }
    }
    return n;
}

int watches_answered(const struct watches *w, bool told, struct list *items)
{
    struct list *item;

    list_for_each (item, &w->all) {
        const struct watched_path *p = container_of(item, struct watched_path, all);
        size_t n = take_staying(p, told, NULL);
        struct event_item *e = n == 0 ? NULL : new_event(n, path_of(p));

        if (n > 0 && e == NULL) {
            return PAWL_ERR_NO_MEMORY;
        }
        if (e != NULL) {
            e->type = told ? (enum pawl_event_type)EVENT_CAUGHT_UP : PAWL_EVENT_GAP;
            e->state = PAWL_STATE_CONNECTED;
            take_staying(p, told, e);
            list_push_back(items, &e->item.link);
        }
    }
    return 0;
}
