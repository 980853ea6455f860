/* SPDX-License-Identifier: Apache-2.0 */
/* disk.h - the disk seam: all that the store needs of a file system.
 *
 * A disk is one folder; names are relative to it and may contain '/'. There are three of them: the
 * operating system's (os/disk_posix.h), one in memory (os/disk_memory.h), and the simulated one of
 * the tests, which loses unsynced writes, tears sectors, fails the n-th call and runs full. Calls
 * block; the store makes them from its own threads.
 *
 * Every function returns 0 or a PAWL_ERR_..., and leaves its results alone when it fails. */
#ifndef PAWL_BASE_DISK_H
#define PAWL_BASE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct disk;
struct disk_file;

enum disk_mode {
    DISK_READ,   /* exists already, for reading */
    DISK_WRITE,  /* exists already, for reading and writing */
    DISK_CREATE, /* made, or emptied when it exists; for reading and writing */
};

typedef void (*disk_name_fn)(const char *name, void *arg);

struct disk_ops {
    int (*open)(struct disk *d, const char *name, enum disk_mode mode, struct disk_file **out);
    void (*close)(struct disk_file *f);
    /* Short only at the end of the file; `*n_read` tells. */
    int (*read)(struct disk_file *f, uint64_t offset, void *data, size_t len, size_t *n_read);
    int (*write)(struct disk_file *f, uint64_t offset, const void *data, size_t len);
    /* Makes the file at least `size` long; what was not written reads as zeroes. */
    int (*extend)(struct disk_file *f, uint64_t size);
    int (*truncate)(struct disk_file *f, uint64_t size);
    int (*sync)(struct disk_file *f);
    int (*size)(struct disk_file *f, uint64_t *out);
    /* The first place from `offset` on that need not read as zero, for those who look for the end
     * of something: a padded file is mostly a hole. NULL: not known, every place is one. */
    uint64_t (*data_after)(struct disk_file *f, uint64_t offset);
    /* What the system keeps of it in memory goes, as far as it is on disk: what is read next is
     * what the disk has. A wish; NULL: there is nothing to go. */
    void (*drop_cached)(struct disk_file *f);
    int (*rename)(struct disk *d, const char *from, const char *to);
    int (*remove)(struct disk *d, const char *name);
    /* Names only, no order, without "." and "..". */
    int (*list)(struct disk *d, const char *folder, disk_name_fn fn, void *arg);
    /* Exists already: not an error. */
    int (*make_folder)(struct disk *d, const char *folder);
    /* Makes renames, creations and removals in `folder` durable. */
    int (*sync_folder)(struct disk *d, const char *folder);
    /* What went wrong last on this thread, for a person: file, call, reason. */
    const char *(*last_error)(struct disk *d);
};

struct disk {
    const struct disk_ops *ops;
};

struct disk_file {
    const struct disk_ops *ops;
};

static inline int disk_open(struct disk *d, const char *name, enum disk_mode mode,
                            struct disk_file **out)
{
    return d->ops->open(d, name, mode, out);
}

/* NULL is allowed. */
static inline void disk_close(struct disk_file *f)
{
    if (f != NULL) {
        f->ops->close(f);
    }
}

static inline int disk_read(struct disk_file *f, uint64_t offset, void *data, size_t len,
                            size_t *n_read)
{
    return f->ops->read(f, offset, data, len, n_read);
}

static inline int disk_write(struct disk_file *f, uint64_t offset, const void *data, size_t len)
{
    return f->ops->write(f, offset, data, len);
}

static inline int disk_extend(struct disk_file *f, uint64_t size)
{
    return f->ops->extend(f, size);
}

static inline int disk_truncate(struct disk_file *f, uint64_t size)
{
    return f->ops->truncate(f, size);
}

static inline int disk_sync(struct disk_file *f)
{
    return f->ops->sync(f);
}

static inline int disk_size(struct disk_file *f, uint64_t *out)
{
    return f->ops->size(f, out);
}

static inline uint64_t disk_data_after(struct disk_file *f, uint64_t offset)
{
    return f->ops->data_after == NULL ? offset : f->ops->data_after(f, offset);
}

static inline void disk_drop_cached(struct disk_file *f)
{
    if (f->ops->drop_cached != NULL) {
        f->ops->drop_cached(f);
    }
}

static inline int disk_rename(struct disk *d, const char *from, const char *to)
{
    return d->ops->rename(d, from, to);
}

static inline int disk_remove(struct disk *d, const char *name)
{
    return d->ops->remove(d, name);
}

static inline int disk_list(struct disk *d, const char *folder, disk_name_fn fn, void *arg)
{
    return d->ops->list(d, folder, fn, arg);
}

static inline int disk_make_folder(struct disk *d, const char *folder)
{
    return d->ops->make_folder(d, folder);
}

static inline int disk_sync_folder(struct disk *d, const char *folder)
{
    return d->ops->sync_folder(d, folder);
}

/* A file of its own that holds nothing but `text`, and is durable; its name is not yet. */
static inline int disk_write_text(struct disk *d, const char *name, const char *text)
{
    struct disk_file *file;
    int rc = disk_open(d, name, DISK_CREATE, &file);

    if (rc != 0) {
        return rc;
    }
    rc = disk_write(file, 0, text, strlen(text));
    if (rc == 0) {
        rc = disk_sync(file);
    }
    disk_close(file);
    return rc;
}

static inline const char *disk_last_error(struct disk *d)
{
    return d->ops->last_error(d);
}

#endif
