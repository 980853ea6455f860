/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* opendir */
#include "lib/sim_disk.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/prng.h"
#include "lib/vectors.h"
#include "pawl/error.h"

enum { SECTOR = 512, NAME_MAX_BYTES = 512 };

struct content {
    uint8_t *data;
    uint64_t size;
    uint64_t capacity; /* everything from size to here is zero */
};

struct inode {
    struct list link;
    struct content now;     /* what a program reads */
    struct content on_disk; /* what is certain to survive */
    uint8_t *allocated;     /* one byte per sector: has been written */
    uint64_t n_sectors;
    int handles;
};

/* A name and what it stands for; a folder has no inode. */
struct entry {
    char name[NAME_MAX_BYTES];
    struct inode *inode;
};

struct names {
    struct entry *entries;
    size_t count, capacity;
};

/* A change of names that is not on disk yet. `inode` NULL and no folder: a removal. */
struct name_change {
    char removed[NAME_MAX_BYTES]; /* "": nothing */
    char made[NAME_MAX_BYTES];    /* "": nothing */
    struct inode *inode;
};

struct sim_disk {
    struct disk base;
    struct prng prng;
    struct list inodes;
    struct names now, on_disk;
    struct name_change *changes; /* in order */
    size_t n_changes, change_capacity;
    uint64_t calls, crash_at, fail_at;
    int fail_rc;
    uint64_t limit, used;
    bool crashed;
    char error[NAME_MAX_BYTES + 128];
};

struct sim_file {
    struct disk_file base;
    struct sim_disk *disk;
    struct inode *inode;
    char name[NAME_MAX_BYTES];
    bool may_write;
};

static struct sim_disk *sim_of(struct disk *d)
{
    return container_of(d, struct sim_disk, base);
}

static struct sim_file *file_of(struct disk_file *f)
{
    return container_of(f, struct sim_file, base);
}

/* ---- content ---- */

static void content_resize(struct content *c, uint64_t size)
{
    if (size > c->capacity) {
        uint64_t capacity = size + size / 2 + 4096;

        c->data = must_realloc(c->data, (size_t)capacity);
        memset(c->data + c->capacity, 0, (size_t)(capacity - c->capacity));
        c->capacity = capacity;
    }
    if (size < c->size) {
        memset(c->data + size, 0, (size_t)(c->size - size));
    }
    c->size = size;
}

static void content_copy(struct content *to, const struct content *from)
{
    content_resize(to, 0);
    content_resize(to, from->size);
    if (from->size > 0) {
        memcpy(to->data, from->data, (size_t)from->size);
    }
}

static struct inode *inode_new(struct sim_disk *s)
{
    struct inode *inode = must_zalloc(sizeof(*inode));

    list_push_back(&s->inodes, &inode->link);
    return inode;
}

static void free_sectors(struct sim_disk *s, struct inode *inode, uint64_t from)
{
    for (uint64_t i = from; i < inode->n_sectors; i++) {
        s->used -= inode->allocated[i] ? SECTOR : 0;
        inode->allocated[i] = 0;
    }
}

static void inode_free(struct sim_disk *s, struct inode *inode)
{
    free_sectors(s, inode, 0);
    list_remove(&inode->link);
    free(inode->now.data);
    free(inode->on_disk.data);
    free(inode->allocated);
    free(inode);
}

/* Makes the sectors of a range take space; false when the disk is full. */
static bool allocate(struct sim_disk *s, struct inode *inode, uint64_t offset, uint64_t len)
{
    uint64_t end = (offset + len + SECTOR - 1) / SECTOR;

    if (end > inode->n_sectors) {
        inode->allocated = must_realloc(inode->allocated, (size_t)end);
        memset(inode->allocated + inode->n_sectors, 0, (size_t)(end - inode->n_sectors));
        inode->n_sectors = end;
    }
    for (uint64_t i = offset / SECTOR; i < end; i++) {
        if (!inode->allocated[i]) {
            if (s->used + SECTOR > s->limit) {
                return false;
            }
            inode->allocated[i] = 1;
            s->used += SECTOR;
        }
    }
    return true;
}

/* ---- names ---- */

static struct entry *names_find(const struct names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++) {
        if (strcmp(n->entries[i].name, name) == 0) {
            return &n->entries[i];
        }
    }
    return NULL;
}

static void names_set(struct names *n, const char *name, struct inode *inode)
{
    struct entry *e = names_find(n, name);

    if (e == NULL) {
        if (n->count == n->capacity) {
            n->capacity = n->capacity * 2 + 16;
            n->entries = must_realloc(n->entries, n->capacity * sizeof(*n->entries));
        }
        e = &n->entries[n->count++];
        snprintf(e->name, sizeof(e->name), "%s", name);
    }
    e->inode = inode;
}

static void names_remove(struct names *n, const char *name)
{
    struct entry *e = names_find(n, name);

    if (e != NULL) {
        *e = n->entries[--n->count];
    }
}

static void change_names(struct names *n, const struct name_change *c)
{
    if (c->removed[0] != '\0') {
        names_remove(n, c->removed);
    }
    if (c->made[0] != '\0') {
        names_set(n, c->made, c->inode);
    }
}

static void note_change(struct sim_disk *s, const char *removed, const char *made,
                        struct inode *inode)
{
    struct name_change *c;

    if (s->n_changes == s->change_capacity) {
        s->change_capacity = s->change_capacity * 2 + 16;
        s->changes = must_realloc(s->changes, s->change_capacity * sizeof(*s->changes));
    }
    c = &s->changes[s->n_changes++];
    *c = (struct name_change){.inode = inode};
    snprintf(c->removed, sizeof(c->removed), "%s", removed);
    snprintf(c->made, sizeof(c->made), "%s", made);
    change_names(&s->now, c);
}

/* Is `name` directly inside `folder`? */
static bool is_in(const char *name, const char *folder)
{
    size_t len = strlen(folder);

    if (len == 0) {
        return strchr(name, '/') == NULL;
    }
    return strncmp(name, folder, len) == 0 && name[len] == '/' &&
           strchr(name + len + 1, '/') == NULL;
}

static bool folder_exists(const struct sim_disk *s, const char *folder)
{
    struct entry *e = names_find(&s->now, folder);

    return folder[0] == '\0' || (e != NULL && e->inode == NULL);
}

static bool parent_exists(const struct sim_disk *s, const char *name)
{
    char parent[NAME_MAX_BYTES];
    char *slash;

    snprintf(parent, sizeof(parent), "%s", name);
    slash = strrchr(parent, '/');
    if (slash == NULL) {
        return true;
    }
    *slash = '\0';
    return folder_exists(s, parent);
}

/* ---- faults ---- */

static int say(struct sim_disk *s, int rc, const char *what, const char *name)
{
    snprintf(s->error, sizeof(s->error), "cannot %s %s: %s (call %" PRIu64 ")", what, name,
             pawl_strerror(rc), s->calls);
    return rc;
}

enum verdict { GO_ON, FAIL, CRASH };

static enum verdict count_call(struct sim_disk *s)
{
    s->calls++;
    if (s->crashed || s->calls == s->fail_at) {
        return FAIL;
    }
    if (s->calls == s->crash_at) {
        s->crashed = true;
        return CRASH;
    }
    return GO_ON;
}

static int fault(struct sim_disk *s, const char *what, const char *name)
{
    return say(s, s->crashed ? PAWL_ERR_IO : s->fail_rc, what, name);
}

/* ---- files ---- */

static const struct disk_ops sim_ops;

static int open_inode(struct sim_disk *s, const char *name, enum disk_mode mode, struct inode **out)
{
    struct entry *e = names_find(&s->now, name);

    if (e != NULL && e->inode == NULL) {
        return say(s, PAWL_ERR_IO, "open as a file the folder", name);
    }
    if (e == NULL && (mode != DISK_CREATE || !parent_exists(s, name))) {
        return say(s, PAWL_ERR_NOT_FOUND, "open", name);
    }
    if (e == NULL) {
        note_change(s, "", name, inode_new(s));
        e = names_find(&s->now, name);
    } else if (mode == DISK_CREATE) {
        content_resize(&e->inode->now, 0);
        free_sectors(s, e->inode, 0);
    }
    *out = e->inode;
    return 0;
}

static int sim_open(struct disk *d, const char *name, enum disk_mode mode, struct disk_file **out)
{
    struct sim_disk *s = sim_of(d);
    enum verdict v = count_call(s);
    struct inode *inode = NULL;
    struct sim_file *f;
    int rc;

    ASSERT(strlen(name) < NAME_MAX_BYTES);
    if (v == FAIL) {
        return fault(s, "open", name);
    }
    rc = open_inode(s, name, mode, &inode);
    if (rc != 0 || v == CRASH) {
        return v == CRASH ? fault(s, "open", name) : rc;
    }
    f = must_zalloc(sizeof(*f));
    f->base.ops = &sim_ops;
    f->disk = s;
    f->inode = inode;
    f->may_write = mode != DISK_READ;
    snprintf(f->name, sizeof(f->name), "%s", name);
    inode->handles++;
    *out = &f->base;
    return 0;
}

static void sim_close(struct disk_file *base)
{
    struct sim_file *f = file_of(base);

    f->inode->handles--;
    free(f);
}

static int sim_read(struct disk_file *base, uint64_t offset, void *data, size_t len, size_t *n_read)
{
    struct sim_file *f = file_of(base);
    const struct content *c = &f->inode->now;
    size_t n;

    if (count_call(f->disk) != GO_ON) {
        return fault(f->disk, "read", f->name);
    }
    n = offset >= c->size ? 0 : (size_t)(c->size - offset);
    n = n < len ? n : len;
    if (n > 0) {
        memcpy(data, c->data + offset, n);
    }
    *n_read = n;
    return 0;
}

static int write_now(struct sim_file *f, uint64_t offset, const void *data, size_t len)
{
    struct content *c = &f->inode->now;

    if (!allocate(f->disk, f->inode, offset, len)) {
        return say(f->disk, PAWL_ERR_DISK_FULL, "write", f->name);
    }
    if (offset + len > c->size) {
        content_resize(c, offset + len);
    }
    if (len > 0) {
        memcpy(c->data + offset, data, len);
    }
    return 0;
}

/* How much of a write that went wrong was done: none, all, or up to some sector's end. */
static size_t some_sectors(struct sim_disk *s, uint64_t offset, size_t len)
{
    uint64_t end = offset + prng_below(&s->prng, len + 1);

    if (prng_below(&s->prng, 4) == 0) {
        return len;
    }
    end -= end % SECTOR;
    return end <= offset ? 0 : (size_t)(end - offset);
}

static int sim_write(struct disk_file *base, uint64_t offset, const void *data, size_t len)
{
    struct sim_file *f = file_of(base);
    enum verdict v = count_call(f->disk);

    ASSERT(f->may_write);
    if (v != GO_ON) {
        if (!f->disk->crashed || v == CRASH) {
            write_now(f, offset, data, some_sectors(f->disk, offset, len));
        }
        return fault(f->disk, "write", f->name);
    }
    return write_now(f, offset, data, len);
}

static int set_size(struct sim_file *f, uint64_t size, const char *what)
{
    enum verdict v = count_call(f->disk);

    ASSERT(f->may_write);
    if (v == FAIL) {
        return fault(f->disk, what, f->name);
    }
    content_resize(&f->inode->now, size);
    free_sectors(f->disk, f->inode, (size + SECTOR - 1) / SECTOR);
    return v == CRASH ? fault(f->disk, what, f->name) : 0;
}

static int sim_extend(struct disk_file *base, uint64_t size)
{
    struct sim_file *f = file_of(base);

    return set_size(f, size > f->inode->now.size ? size : f->inode->now.size, "extend");
}

static int sim_truncate(struct disk_file *base, uint64_t size)
{
    return set_size(file_of(base), size, "truncate");
}

static int sim_sync(struct disk_file *base)
{
    struct sim_file *f = file_of(base);

    if (count_call(f->disk) != GO_ON) {
        return fault(f->disk, "sync", f->name);
    }
    content_copy(&f->inode->on_disk, &f->inode->now);
    return 0;
}

static int sim_size(struct disk_file *base, uint64_t *out)
{
    struct sim_file *f = file_of(base);

    if (count_call(f->disk) != GO_ON) {
        return fault(f->disk, "find the size of", f->name);
    }
    *out = f->inode->now.size;
    return 0;
}

/* ---- folders ---- */

static int sim_rename(struct disk *d, const char *from, const char *to)
{
    struct sim_disk *s = sim_of(d);
    enum verdict v = count_call(s);
    struct entry *e = names_find(&s->now, from);

    if (v == FAIL) {
        return fault(s, "rename", from);
    }
    if (e == NULL || !parent_exists(s, to)) {
        return say(s, PAWL_ERR_NOT_FOUND, "rename", from);
    }
    note_change(s, from, to, e->inode);
    return v == CRASH ? fault(s, "rename", from) : 0;
}

static int sim_remove(struct disk *d, const char *name)
{
    struct sim_disk *s = sim_of(d);
    enum verdict v = count_call(s);

    if (v == FAIL) {
        return fault(s, "remove", name);
    }
    if (names_find(&s->now, name) == NULL) {
        return say(s, PAWL_ERR_NOT_FOUND, "remove", name);
    }
    note_change(s, name, "", NULL);
    return v == CRASH ? fault(s, "remove", name) : 0;
}

static int sim_list(struct disk *d, const char *folder, disk_name_fn fn, void *arg)
{
    struct sim_disk *s = sim_of(d);
    size_t skip = folder[0] == '\0' ? 0 : strlen(folder) + 1;

    if (count_call(s) != GO_ON) {
        return fault(s, "list", folder);
    }
    if (!folder_exists(s, folder)) {
        return say(s, PAWL_ERR_NOT_FOUND, "list", folder);
    }
    for (size_t i = 0; i < s->now.count; i++) {
        if (is_in(s->now.entries[i].name, folder)) {
            fn(s->now.entries[i].name + skip, arg);
        }
    }
    return 0;
}

static int sim_make_folder(struct disk *d, const char *folder)
{
    struct sim_disk *s = sim_of(d);
    enum verdict v = count_call(s);

    if (v == FAIL) {
        return fault(s, "make", folder);
    }
    if (!folder_exists(s, folder)) {
        if (names_find(&s->now, folder) != NULL || !parent_exists(s, folder)) {
            return say(s, PAWL_ERR_IO, "make", folder);
        }
        note_change(s, "", folder, NULL);
    }
    return v == CRASH ? fault(s, "make", folder) : 0;
}

static int sim_sync_folder(struct disk *d, const char *folder)
{
    struct sim_disk *s = sim_of(d);
    size_t kept = 0;

    if (count_call(s) != GO_ON) {
        return fault(s, "sync", folder);
    }
    if (!folder_exists(s, folder)) {
        return say(s, PAWL_ERR_NOT_FOUND, "sync", folder);
    }
    for (size_t i = 0; i < s->n_changes; i++) {
        struct name_change *c = &s->changes[i];

        if ((c->made[0] != '\0' && is_in(c->made, folder)) ||
            (c->removed[0] != '\0' && is_in(c->removed, folder))) {
            change_names(&s->on_disk, c);
        } else {
            s->changes[kept++] = *c;
        }
    }
    s->n_changes = kept;
    return 0;
}

static const char *sim_last_error(struct disk *d)
{
    return sim_of(d)->error;
}

static const struct disk_ops sim_ops = {
    .open = sim_open,
    .close = sim_close,
    .read = sim_read,
    .write = sim_write,
    .extend = sim_extend,
    .truncate = sim_truncate,
    .sync = sim_sync,
    .size = sim_size,
    .rename = sim_rename,
    .remove = sim_remove,
    .list = sim_list,
    .make_folder = sim_make_folder,
    .sync_folder = sim_sync_folder,
    .last_error = sim_last_error,
};

/* ---- a crash ---- */

static bool survives(struct sim_disk *s, enum sim_loss loss)
{
    return loss == SIM_LOSE_NOTHING || (loss == SIM_LOSE_SOME && prng_below(&s->prng, 2) == 0);
}

static void crash_file(struct sim_disk *s, struct inode *inode, enum sim_loss loss)
{
    struct content *now = &inode->now, *disk = &inode->on_disk;
    uint64_t size = survives(s, loss) ? now->size : disk->size;
    struct content after = {0};

    content_resize(&after, size);
    for (uint64_t at = 0; at < size; at += SECTOR) {
        size_t n = (size_t)(size - at < SECTOR ? size - at : SECTOR);
        const struct content *from = survives(s, loss) ? now : disk;
        uint64_t has = from->size > at ? from->size - at : 0;

        if (has > 0) {
            memcpy(after.data + at, from->data + at, (size_t)(has < n ? has : n));
        }
    }
    content_copy(now, &after);
    content_copy(disk, &after);
    free(after.data);
}

static bool is_named(const struct names *n, const struct inode *inode)
{
    for (size_t i = 0; i < n->count; i++) {
        if (n->entries[i].inode == inode) {
            return true;
        }
    }
    return false;
}

static void forget_unnamed(struct sim_disk *s)
{
    struct list *next;

    for (struct list *l = s->inodes.next; l != &s->inodes; l = next) {
        struct inode *inode = container_of(l, struct inode, link);

        next = l->next;
        if (inode->handles == 0 && !is_named(&s->now, inode)) {
            inode_free(s, inode);
        }
    }
}

void sim_disk_restart(struct sim_disk *s, enum sim_loss loss)
{
    struct list *l;

    for (size_t i = 0; i < s->n_changes; i++) {
        if (survives(s, loss)) {
            change_names(&s->on_disk, &s->changes[i]);
        }
    }
    s->n_changes = 0;
    s->now.count = 0;
    for (size_t i = 0; i < s->on_disk.count; i++) {
        names_set(&s->now, s->on_disk.entries[i].name, s->on_disk.entries[i].inode);
    }
    list_for_each (l, &s->inodes) {
        crash_file(s, container_of(l, struct inode, link), loss);
    }
    forget_unnamed(s);
    s->crashed = false;
    s->crash_at = 0;
    s->fail_at = 0;
    s->limit = UINT64_MAX;
}

/* ---- life and faults ---- */

struct sim_disk *sim_disk_new(uint64_t seed)
{
    struct sim_disk *s = must_zalloc(sizeof(*s));

    s->base.ops = &sim_ops;
    prng_seed(&s->prng, seed);
    list_init(&s->inodes);
    s->limit = UINT64_MAX;
    return s;
}

void sim_disk_free(struct sim_disk *s)
{
    if (s == NULL) {
        return;
    }
    while (!list_empty(&s->inodes)) {
        inode_free(s, container_of(s->inodes.next, struct inode, link));
    }
    free(s->now.entries);
    free(s->on_disk.entries);
    free(s->changes);
    free(s);
}

struct disk *sim_disk_disk(struct sim_disk *s)
{
    return &s->base;
}

uint64_t sim_disk_calls(const struct sim_disk *s)
{
    return s->calls;
}

void sim_disk_crash_at(struct sim_disk *s, uint64_t n)
{
    s->crash_at = n;
}

void sim_disk_fail_at(struct sim_disk *s, uint64_t n, int rc)
{
    s->fail_at = n;
    s->fail_rc = rc;
}

void sim_disk_limit(struct sim_disk *s, uint64_t bytes)
{
    s->limit = bytes;
}

bool sim_disk_crashed(const struct sim_disk *s)
{
    return s->crashed;
}

/* ---- content from outside ---- */

void sim_disk_put(struct sim_disk *s, const char *name, struct bytes content)
{
    char folder[NAME_MAX_BYTES];
    struct inode *inode = inode_new(s);

    for (const char *p = strchr(name, '/'); p != NULL; p = strchr(p + 1, '/')) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(p - name), name);
        names_set(&s->now, folder, NULL);
        names_set(&s->on_disk, folder, NULL);
    }
    ASSERT(allocate(s, inode, 0, content.len));
    content_resize(&inode->now, content.len);
    if (content.len > 0) {
        memcpy(inode->now.data, content.data, content.len);
    }
    content_copy(&inode->on_disk, &inode->now);
    names_set(&s->now, name, inode);
    names_set(&s->on_disk, name, inode);
}

struct bytes sim_disk_get(const struct sim_disk *s, const char *name)
{
    const struct entry *e = names_find(&s->now, name);

    if (e == NULL || e->inode == NULL) {
        return BYTES_NULL;
    }
    return e->inode->now.size == 0 ? bytes_str("")
                                   : bytes_of(e->inode->now.data, (size_t)e->inode->now.size);
}

void sim_disk_import(struct sim_disk *s, const char *real_folder, const char *name)
{
    char path[NAME_MAX_BYTES], inside[NAME_MAX_BYTES];
    DIR *dir = opendir(real_folder);
    struct dirent *entry;
    struct bytes content;

    ASSERT(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        ASSERT(snprintf(path, sizeof(path), "%s/%s", real_folder, entry->d_name) <
               (int)sizeof(path));
        ASSERT(snprintf(inside, sizeof(inside), "%s%s%s", name, name[0] == '\0' ? "" : "/",
                        entry->d_name) < (int)sizeof(inside));
        content = vectors_file(path);
        sim_disk_put(s, inside, content);
        free((void *)(uintptr_t)content.data);
    }
    closedir(dir);
}
