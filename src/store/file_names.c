/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "pawl/error.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

int64_t file_name_zxid(const char *name, const char *prefix)
{
    size_t len = strlen(prefix);
    int64_t zxid = 0;
    const char *p;

    if (strncmp(name, prefix, len) != 0 || name[len] != '.') {
        return -1;
    }
    for (p = name + len + 1; *p != '\0' && *p != '.'; p++) {
        if (hex_digit(*p) < 0 || zxid > INT64_MAX >> 4) {
            return -1;
        }
        zxid = zxid << 4 | hex_digit(*p);
    }
    return p == name + len + 1 ? -1 : zxid;
}

struct collect {
    struct file_list *list;
    const char *prefix;
    size_t capacity;
};

static void add_name(const char *name, void *arg)
{
    struct collect *c = arg;
    struct file_list *l = c->list;
    int64_t zxid = file_name_zxid(name, c->prefix);

    if (zxid < 0 || strlen(name) >= FILE_NAME_BYTES) {
        return;
    }
    if (l->count == c->capacity) {
        c->capacity = c->capacity * 2 + 8;
        l->files = must_realloc(l->files, c->capacity * sizeof(*l->files));
    }
    l->files[l->count].zxid = zxid;
    strcpy(l->files[l->count].name, name);
    l->count++;
}

static int compare_files(const void *a, const void *b)
{
    const struct file_name *x = a, *y = b;

    if (x->zxid != y->zxid) {
        return x->zxid < y->zxid ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

int file_list_load(struct disk *disk, const char *folder, const char *prefix, struct file_list *out)
{
    struct file_list list = {0};
    struct collect c = {.list = &list, .prefix = prefix};
    int rc = disk_list(disk, folder, add_name, &c);

    if (rc != 0 && rc != PAWL_ERR_NOT_FOUND) {
        file_list_fini(&list);
        return rc;
    }
    if (list.count > 1) {
        qsort(list.files, list.count, sizeof(*list.files), compare_files);
    }
    *out = list;
    return 0;
}

void file_list_fini(struct file_list *l)
{
    free(l->files);
    *l = (struct file_list){0};
}

void file_path(char *out, const char *folder, const char *name)
{
    if (folder[0] == '\0') {
        snprintf(out, FILE_PATH_BYTES, "%s", name);
    } else {
        snprintf(out, FILE_PATH_BYTES, "%s/%s", folder, name);
    }
}
