/* SPDX-License-Identifier: Apache-2.0 */
#include "os/disk_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/memory.h"
#include "os/thread.h"
#include "pawl/error.h"

enum { SENTENCE_BYTES = 512, FIRST_BYTES = 4096 };

/* What a file was before a change that is not synced. */
struct undo {
    struct list link;
    uint64_t size, written;
    uint64_t offset; /* of the bytes that were there */
    size_t len;
    uint8_t bytes[];
};

/* A file, whatever its name: it goes with its last name, handle and unsynced change of names. */
struct inode {
    int n_refs;
    uint8_t *data;
    size_t capacity;
    uint64_t written; /* bytes in `data`; behind them everything reads as zero */
    uint64_t size;
    struct list undo; /* the newest last */
};

struct entry {
    struct list link;
    struct inode *inode; /* NULL: a folder */
    char *name;
};

/* What a name meant before a change of its folder that is not synced. */
struct renaming {
    struct list link;
    struct inode *before; /* NULL: nothing */
    char *name;
};

struct disk_memory {
    struct disk base;
    struct lock lock; /* guards all below */
    struct list entries;
    struct list renamings; /* the newest last */
    uint64_t used_bytes, limit_bytes;
    bool is_cut;
};

struct memory_file {
    struct disk_file base;
    struct disk_memory *disk;
    struct inode *inode;
    bool may_write;
    char *name; /* when it was opened, for messages */
};

static _Thread_local char memory_sentence[SENTENCE_BYTES];

static int memory_fail(int code, const char *what, const char *name)
{
    snprintf(memory_sentence, sizeof(memory_sentence), "cannot %s %s in memory: %s", what, name,
             pawl_strerror(code));
    return code;
}

static struct disk_memory *memory_of(struct disk *d)
{
    return container_of(d, struct disk_memory, base);
}

static struct memory_file *memory_file_of(struct disk_file *f)
{
    return container_of(f, struct memory_file, base);
}

/* Takes the lock if there is power; otherwise says that there is none. */
static int memory_begin(struct disk_memory *m, const char *what, const char *name)
{
    lock_take(&m->lock);
    if (m->is_cut) {
        lock_give(&m->lock);
        return memory_fail(PAWL_ERR_CLOSING, what, name);
    }
    return PAWL_OK;
}

static int memory_end(struct disk_memory *m, int rc)
{
    lock_give(&m->lock);
    return rc;
}

/* ---- contents ---- */

static void set_written(struct disk_memory *m, struct inode *i, uint64_t written)
{
    m->used_bytes = m->used_bytes - i->written + written;
    i->written = written;
}

static void drop_undo(struct inode *i)
{
    struct list *item;

    while ((item = list_pop_front(&i->undo)) != NULL) {
        free(container_of(item, struct undo, link));
    }
}

/* Remembers how long it is, and what is between `from` and `to`. */
static void note_undo(struct inode *i, uint64_t from, uint64_t to)
{
    uint64_t end = to < i->written ? to : i->written;
    size_t len = from < end ? (size_t)(end - from) : 0;
    struct undo *u = must_zalloc(sizeof(*u) + len);

    u->size = i->size;
    u->written = i->written;
    u->offset = from;
    u->len = len;
    if (len > 0) {
        memcpy(u->bytes, i->data + from, len);
    }
    list_push_back(&i->undo, &u->link);
}

static void undo_all(struct disk_memory *m, struct inode *i)
{
    while (!list_empty(&i->undo)) {
        struct undo *u = container_of(i->undo.prev, struct undo, link);

        if (u->len > 0) {
            memcpy(i->data + u->offset, u->bytes, u->len);
        }
        i->size = u->size;
        set_written(m, i, u->written);
        list_remove(&u->link);
        free(u);
    }
}

/* Room for `end` bytes; what is behind the written ones is zero. */
static void reserve(struct inode *i, uint64_t end)
{
    size_t capacity = i->capacity == 0 ? FIRST_BYTES : i->capacity;

    while (capacity < end) {
        capacity *= 2;
    }
    if (capacity > i->capacity) {
        i->data = must_realloc(i->data, capacity);
        i->capacity = capacity;
    }
    if (end > i->written) {
        memset(i->data + i->written, 0, (size_t)(end - i->written));
    }
}

static void resize(struct disk_memory *m, struct inode *i, uint64_t size)
{
    note_undo(i, size, UINT64_MAX);
    i->size = size;
    if (i->written > size) {
        set_written(m, i, size);
    }
}

/* ---- names ---- */

static void inode_unref(struct disk_memory *m, struct inode *i)
{
    if (i == NULL || --i->n_refs > 0) {
        return;
    }
    set_written(m, i, 0);
    drop_undo(i);
    free(i->data);
    free(i);
}

static struct inode *inode_ref(struct inode *i)
{
    if (i != NULL) {
        i->n_refs++;
    }
    return i;
}

static struct entry *find_entry(struct disk_memory *m, const char *name)
{
    struct list *item;

    list_for_each (item, &m->entries) {
        struct entry *e = container_of(item, struct entry, link);

        if (strcmp(e->name, name) == 0) {
            return e;
        }
    }
    return NULL;
}

static struct inode *find_inode(struct disk_memory *m, const char *name)
{
    struct entry *e = find_entry(m, name);

    return e == NULL ? NULL : e->inode;
}

static void entry_free(struct disk_memory *m, struct entry *e)
{
    list_remove(&e->link);
    inode_unref(m, e->inode);
    free(e->name);
    free(e);
}

static void entry_add(struct disk_memory *m, const char *name, struct inode *inode)
{
    struct entry *e = must_zalloc(sizeof(*e));

    e->name = must_strdup(name);
    e->inode = inode_ref(inode);
    list_push_back(&m->entries, &e->link);
}

/* From now on `name` is this file; NULL: none. */
static void give_name(struct disk_memory *m, const char *name, struct inode *inode)
{
    struct entry *old = find_entry(m, name);

    inode_ref(inode);
    if (old != NULL) {
        entry_free(m, old);
    }
    if (inode != NULL) {
        entry_add(m, name, inode);
    }
    inode_unref(m, inode);
}

static void note_renaming(struct disk_memory *m, const char *name)
{
    struct renaming *r = must_zalloc(sizeof(*r));

    r->name = must_strdup(name);
    r->before = inode_ref(find_inode(m, name));
    list_push_back(&m->renamings, &r->link);
}

static void renaming_free(struct disk_memory *m, struct renaming *r)
{
    list_remove(&r->link);
    inode_unref(m, r->before);
    free(r->name);
    free(r);
}

/* Whether it lies in that folder itself; if so, its name there. */
static const char *name_in(const char *name, const char *folder)
{
    size_t len = strlen(folder);

    if (len > 0) {
        if (strncmp(name, folder, len) != 0 || name[len] != '/') {
            return NULL;
        }
        name += len + 1;
    }
    return strchr(name, '/') == NULL ? name : NULL;
}

static bool is_folder(struct disk_memory *m, const char *name, size_t len)
{
    struct list *item;

    list_for_each (item, &m->entries) {
        struct entry *e = container_of(item, struct entry, link);

        if (e->inode == NULL && strlen(e->name) == len && strncmp(e->name, name, len) == 0) {
            return true;
        }
    }
    return len == 0;
}

static bool has_place(struct disk_memory *m, const char *name)
{
    const char *slash = strrchr(name, '/');

    return is_folder(m, name, slash == NULL ? 0 : (size_t)(slash - name));
}

/* ---- files ---- */

static struct inode *create_inode(struct disk_memory *m, const char *name)
{
    struct inode *i = must_zalloc(sizeof(*i));

    list_init(&i->undo);
    note_renaming(m, name);
    give_name(m, name, i);
    return i;
}

static int open_inode(struct disk_memory *m, const char *name, enum disk_mode mode,
                      struct inode **out)
{
    struct inode *i = find_inode(m, name);

    if (i == NULL && (mode != DISK_CREATE || !has_place(m, name) || find_entry(m, name) != NULL)) {
        return memory_fail(PAWL_ERR_NOT_FOUND, "open", name);
    }
    if (i == NULL) {
        i = create_inode(m, name);
    } else if (mode == DISK_CREATE) {
        resize(m, i, 0);
    }
    *out = i;
    return PAWL_OK;
}

static const struct disk_ops memory_ops;

static int memory_open(struct disk *d, const char *name, enum disk_mode mode,
                       struct disk_file **out)
{
    struct disk_memory *m = memory_of(d);
    struct memory_file *f;
    struct inode *inode;
    int rc = memory_begin(m, "open", name);

    if (rc != PAWL_OK) {
        return rc;
    }
    rc = open_inode(m, name, mode, &inode);
    if (rc == PAWL_OK) {
        f = must_zalloc(sizeof(*f));
        *f = (struct memory_file){.base = {.ops = &memory_ops},
                                  .disk = m,
                                  .inode = inode_ref(inode),
                                  .may_write = mode != DISK_READ,
                                  .name = must_strdup(name)};
        *out = &f->base;
    }
    return memory_end(m, rc);
}

static void memory_close(struct disk_file *base)
{
    struct memory_file *f = memory_file_of(base);

    lock_take(&f->disk->lock);
    inode_unref(f->disk, f->inode);
    lock_give(&f->disk->lock);
    free(f->name);
    free(f);
}

static int memory_read(struct disk_file *base, uint64_t offset, void *data, size_t len,
                       size_t *n_read)
{
    struct memory_file *f = memory_file_of(base);
    struct inode *i = f->inode;
    size_t there = 0;
    int rc = memory_begin(f->disk, "read", f->name);

    if (rc != PAWL_OK) {
        return rc;
    }
    *n_read = offset >= i->size ? 0 : len < i->size - offset ? len : (size_t)(i->size - offset);
    if (offset < i->written) {
        there = *n_read < i->written - offset ? *n_read : (size_t)(i->written - offset);
        memcpy(data, i->data + offset, there);
    }
    if (*n_read > there) {
        memset((uint8_t *)data + there, 0, *n_read - there);
    }
    return memory_end(f->disk, PAWL_OK);
}

static int memory_write_now(struct memory_file *f, uint64_t offset, const void *data, size_t len)
{
    struct disk_memory *m = f->disk;
    struct inode *i = f->inode;
    uint64_t end = offset + len;

    ASSERT(f->may_write);
    if (end > i->written && m->used_bytes + (end - i->written) > m->limit_bytes) {
        return memory_fail(PAWL_ERR_DISK_FULL, "write", f->name);
    }
    note_undo(i, offset, end);
    reserve(i, end);
    memcpy(i->data + offset, data, len);
    if (end > i->written) {
        set_written(m, i, end);
    }
    i->size = end > i->size ? end : i->size;
    return PAWL_OK;
}

static int memory_write(struct disk_file *base, uint64_t offset, const void *data, size_t len)
{
    struct memory_file *f = memory_file_of(base);
    int rc = memory_begin(f->disk, "write", f->name);

    if (rc != PAWL_OK || len == 0) {
        return rc != PAWL_OK ? rc : memory_end(f->disk, PAWL_OK);
    }
    return memory_end(f->disk, memory_write_now(f, offset, data, len));
}

static int memory_extend(struct disk_file *base, uint64_t size)
{
    struct memory_file *f = memory_file_of(base);
    int rc = memory_begin(f->disk, "extend", f->name);

    if (rc != PAWL_OK) {
        return rc;
    }
    if (size > f->inode->size) {
        resize(f->disk, f->inode, size);
    }
    return memory_end(f->disk, PAWL_OK);
}

static int memory_truncate(struct disk_file *base, uint64_t size)
{
    struct memory_file *f = memory_file_of(base);
    int rc = memory_begin(f->disk, "truncate", f->name);

    if (rc != PAWL_OK) {
        return rc;
    }
    resize(f->disk, f->inode, size);
    return memory_end(f->disk, PAWL_OK);
}

static int memory_sync(struct disk_file *base)
{
    struct memory_file *f = memory_file_of(base);
    int rc = memory_begin(f->disk, "sync", f->name);

    if (rc != PAWL_OK) {
        return rc;
    }
    drop_undo(f->inode);
    return memory_end(f->disk, PAWL_OK);
}

static int memory_size(struct disk_file *base, uint64_t *out)
{
    struct memory_file *f = memory_file_of(base);
    int rc = memory_begin(f->disk, "measure", f->name);

    if (rc != PAWL_OK) {
        return rc;
    }
    *out = f->inode->size;
    return memory_end(f->disk, PAWL_OK);
}

static uint64_t memory_data_after(struct disk_file *base, uint64_t offset)
{
    struct memory_file *f = memory_file_of(base);
    uint64_t found;

    lock_take(&f->disk->lock);
    found = offset < f->inode->written ? offset : f->inode->size;
    lock_give(&f->disk->lock);
    return found > offset ? found : offset;
}

/* ---- folders ---- */

static int memory_rename(struct disk *d, const char *from, const char *to)
{
    struct disk_memory *m = memory_of(d);
    struct inode *i;
    int rc = memory_begin(m, "rename", from);

    if (rc != PAWL_OK) {
        return rc;
    }
    i = inode_ref(find_inode(m, from));
    if (i == NULL || !has_place(m, to)) {
        inode_unref(m, i);
        return memory_end(m, memory_fail(PAWL_ERR_NOT_FOUND, "rename", from));
    }
    note_renaming(m, from);
    note_renaming(m, to);
    give_name(m, from, NULL);
    give_name(m, to, i);
    inode_unref(m, i);
    return memory_end(m, PAWL_OK);
}

static int memory_remove(struct disk *d, const char *name)
{
    struct disk_memory *m = memory_of(d);
    int rc = memory_begin(m, "remove", name);

    if (rc != PAWL_OK) {
        return rc;
    }
    if (find_inode(m, name) == NULL) {
        return memory_end(m, memory_fail(PAWL_ERR_NOT_FOUND, "remove", name));
    }
    note_renaming(m, name);
    give_name(m, name, NULL);
    return memory_end(m, PAWL_OK);
}

/* The names as they are now, so that `fn` may change them: "a\0b\0". */
static int names_of(struct disk_memory *m, const char *folder, char **out, size_t *len)
{
    struct list *item;
    const char *name;

    if (!is_folder(m, folder, strlen(folder))) {
        return memory_fail(PAWL_ERR_NOT_FOUND, "list", folder);
    }
    *out = NULL;
    *len = 0;
    list_for_each (item, &m->entries) {
        name = name_in(container_of(item, struct entry, link)->name, folder);
        if (name != NULL) {
            *out = must_realloc(*out, *len + strlen(name) + 1);
            memcpy(*out + *len, name, strlen(name) + 1);
            *len += strlen(name) + 1;
        }
    }
    return PAWL_OK;
}

static int memory_list(struct disk *d, const char *folder, disk_name_fn fn, void *arg)
{
    struct disk_memory *m = memory_of(d);
    char *names = NULL;
    size_t len = 0;
    int rc = memory_begin(m, "list", folder);

    if (rc != PAWL_OK) {
        return rc;
    }
    rc = memory_end(m, names_of(m, folder, &names, &len));
    for (size_t at = 0; at < len; at += strlen(names + at) + 1) {
        fn(names + at, arg);
    }
    free(names);
    return rc;
}

static int memory_make_folder(struct disk *d, const char *folder)
{
    struct disk_memory *m = memory_of(d);
    int rc = memory_begin(m, "make", folder);

    if (rc != PAWL_OK) {
        return rc;
    }
    if (is_folder(m, folder, strlen(folder))) {
        return memory_end(m, PAWL_OK);
    }
    if (find_entry(m, folder) != NULL || !has_place(m, folder)) {
        return memory_end(m, memory_fail(PAWL_ERR_IO, "make the folder", folder));
    }
    entry_add(m, folder, NULL);
    return memory_end(m, PAWL_OK);
}

static int memory_sync_folder(struct disk *d, const char *folder)
{
    struct disk_memory *m = memory_of(d);
    struct list *item, *next;
    int rc = memory_begin(m, "sync the folder", folder);

    if (rc != PAWL_OK) {
        return rc;
    }
    for (item = m->renamings.next; item != &m->renamings; item = next) {
        struct renaming *r = container_of(item, struct renaming, link);

        next = item->next;
        if (name_in(r->name, folder) != NULL) {
            renaming_free(m, r);
        }
    }
    return memory_end(m, PAWL_OK);
}

static const char *memory_last_error(struct disk *d)
{
    (void)d;
    return memory_sentence;
}

static const struct disk_ops memory_ops = {
    .open = memory_open,
    .close = memory_close,
    .read = memory_read,
    .write = memory_write,
    .extend = memory_extend,
    .truncate = memory_truncate,
    .sync = memory_sync,
    .size = memory_size,
    .data_after = memory_data_after,
    .rename = memory_rename,
    .remove = memory_remove,
    .list = memory_list,
    .make_folder = memory_make_folder,
    .sync_folder = memory_sync_folder,
    .last_error = memory_last_error,
};

/* ---- the disk ---- */

struct disk_memory *disk_memory_new(uint64_t limit_bytes)
{
    struct disk_memory *m = must_zalloc(sizeof(*m));

    m->base.ops = &memory_ops;
    m->limit_bytes = limit_bytes;
    lock_init(&m->lock);
    list_init(&m->entries);
    list_init(&m->renamings);
    return m;
}

void disk_memory_free(struct disk_memory *m)
{
    if (m == NULL) {
        return;
    }
    while (!list_empty(&m->renamings)) {
        renaming_free(m, container_of(m->renamings.next, struct renaming, link));
    }
    while (!list_empty(&m->entries)) {
        entry_free(m, container_of(m->entries.next, struct entry, link));
    }
    ASSERT(m->used_bytes == 0);
    lock_fini(&m->lock);
    free(m);
}

struct disk *disk_memory_disk(struct disk_memory *m)
{
    return &m->base;
}

static void undo_names(struct disk_memory *m)
{
    while (!list_empty(&m->renamings)) {
        struct renaming *r = container_of(m->renamings.prev, struct renaming, link);

        give_name(m, r->name, r->before);
        renaming_free(m, r);
    }
}

void disk_memory_cut(struct disk_memory *m)
{
    struct list *item;

    lock_take(&m->lock);
    ASSERT(!m->is_cut);
    m->is_cut = true;
    undo_names(m);
    list_for_each (item, &m->entries) {
        struct entry *e = container_of(item, struct entry, link);

        if (e->inode != NULL) {
            undo_all(m, e->inode);
        }
    }
    lock_give(&m->lock);
}

void disk_memory_restore(struct disk_memory *m)
{
    lock_take(&m->lock);
    ASSERT(m->is_cut);
    m->is_cut = false;
    lock_give(&m->lock);
}
