/* SPDX-License-Identifier: Apache-2.0 */
#include "memory_disk.h"

#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "pawl/error.h"

static struct memory_disk *disk_of_file(struct disk_file *f)
{
    return container_of(f, struct memory_disk, file);
}

static int open_file(struct disk *disk, const char *name, enum disk_mode mode,
                     struct disk_file **out)
{
    struct memory_disk *d = container_of(disk, struct memory_disk, disk);
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", d->folder, d->name);
    if (mode != DISK_READ || strcmp(name, path) != 0) {
        return mode == DISK_READ ? PAWL_ERR_NOT_FOUND : PAWL_ERR_PERMISSION;
    }
    *out = &d->file;
    return 0;
}

static void close_file(struct disk_file *f)
{
    (void)f;
}

static int read_file(struct disk_file *f, uint64_t offset, void *data, size_t len, size_t *n_read)
{
    struct bytes content = disk_of_file(f)->content;
    size_t left = offset < content.len ? content.len - (size_t)offset : 0;

    *n_read = len < left ? len : left;
    if (*n_read > 0) {
        memcpy(data, content.data + offset, *n_read);
    }
    return 0;
}

static int file_size(struct disk_file *f, uint64_t *out)
{
    *out = disk_of_file(f)->content.len;
    return 0;
}

static int list_folder(struct disk *disk, const char *folder, disk_name_fn fn, void *arg)
{
    struct memory_disk *d = container_of(disk, struct memory_disk, disk);

    if (strcmp(folder, d->folder) != 0) {
        return PAWL_ERR_NOT_FOUND;
    }
    fn(d->name, arg);
    return 0;
}

static const char *last_error(struct disk *disk)
{
    (void)disk;
    return "a made-up file";
}

void memory_disk_init(struct memory_disk *d, const char *folder, const char *name,
                      struct bytes content)
{
    static const struct disk_ops ops = {
        .open = open_file,
        .close = close_file,
        .read = read_file,
        .size = file_size,
        .list = list_folder,
        .last_error = last_error,
    };

    d->disk.ops = &ops;
    d->file.ops = &ops;
    d->folder = folder;
    d->name = name;
    d->content = content;
}
