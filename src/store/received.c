/* SPDX-License-Identifier: Apache-2.0 */
#include "store/received.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/logging.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "pawl/error.h"
#include "store/durable.h"
#include "store/file_names.h"
#include "store/mark.h"
#include "store/snapshot_format.h"
#include "store/snapshot_write.h"
#include "store/txnlog_format.h"

struct received {
    struct received_options options;
    char *folder;
    struct snapshot_file *file;
    int64_t zxid;
    struct tree *tree; /* once it is checked */
};

/* ---- names ---- */

static void received_name(char *out, int64_t zxid)
{
    snprintf(out, FILE_NAME_BYTES, RECEIVED_PREFIX ".%" PRIx64, (uint64_t)zxid);
}

int received_find(struct disk *snapshot_disk, const char *folder, int64_t *out)
{
    struct file_list list;
    int rc = file_list_load(snapshot_disk, folder, RECEIVED_PREFIX, &list);

    if (rc == 0) {
        ASSERT(list.count <= 1); /* received_commit() removes others first */
        *out = list.count == 0 ? -1 : list.files[list.count - 1].zxid;
        file_list_fini(&list);
    }
    return rc;
}

/* ---- what was replaced earlier ---- */

static void note_replaced(const char *name, void *arg)
{
    struct strbuf *names = arg;

    if (strncmp(name, REPLACED_PREFIX, strlen(REPLACED_PREFIX)) == 0) {
        strbuf_append(names, name, strlen(name) + 1);
    }
}

static int remove_replaced(struct disk *disk, const char *folder)
{
    char path[FILE_PATH_BYTES];
    struct strbuf names;
    int rc;

    strbuf_init(&names, STRBUF_NO_LIMIT);
    rc = disk_list(disk, folder, note_replaced, &names);
    for (size_t at = 0; rc == 0 && at < names.len; at += strlen((char *)names.data + at) + 1) {
        file_path(path, folder, (char *)names.data + at);
        rc = disk_remove(disk, path);
    }
    strbuf_fini(&names);
    return rc;
}

/* ---- in its place ---- */

static int replace_file(struct disk *disk, const char *folder, const char *name)
{
    char from[FILE_PATH_BYTES], to[FILE_PATH_BYTES], kept[FILE_NAME_BYTES];

    if (snprintf(kept, sizeof(kept), REPLACED_PREFIX "%s", name) >= (int)sizeof(kept)) {
        return PAWL_ERR_TOO_LARGE;
    }
    file_path(from, folder, name);
    file_path(to, folder, kept);
    return disk_rename(disk, from, to);
}

static int replace_all(struct disk *disk, const char *folder, const char *prefix)
{
    struct file_list list;
    int rc = file_list_load(disk, folder, prefix, &list);

    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        rc = replace_file(disk, folder, list.files[i].name);
    }
    file_list_fini(&list);
    return rc == 0 ? disk_sync_folder(disk, folder) : rc;
}

static int received_place(struct disk *disk, const char *folder, int64_t zxid)
{
    char name[FILE_NAME_BYTES], from[FILE_PATH_BYTES], to[FILE_PATH_BYTES];
    int rc;

    received_name(name, zxid);
    file_path(from, folder, name);
    snapshot_name(name, zxid, SNAPSHOT_PLAIN);
    file_path(to, folder, name);
    rc = disk_rename(disk, from, to);
    return rc == 0 ? disk_sync_folder(disk, folder) : rc;
}

int received_install(struct disk *snapshot_disk, struct disk *log_disk, const char *folder)
{
    int64_t zxid = -1;
    int rc = received_find(snapshot_disk, folder, &zxid);

    if (rc != 0 || zxid < 0) {
        return rc;
    }
    rc = durable_set(log_disk, folder, &(struct durable_known){.zxid = zxid});
    if (rc == 0) {
        rc = replace_all(log_disk, folder, TXNLOG_PREFIX);
    }
    if (rc == 0) {
        rc = replace_all(snapshot_disk, folder, SNAPSHOT_PREFIX);
    }
    /* What they were about is gone. Before the name by which this is found again. */
    if (rc == 0) {
        rc = mark_forget(snapshot_disk, folder, DIVERGED_FILE);
    }
    if (rc == 0) {
        rc = mark_forget(snapshot_disk, folder, DAMAGED_FILE);
    }
    if (rc == 0) {
        rc = received_place(snapshot_disk, folder, zxid);
    }
    if (rc == 0) {
        log_info("the snapshot 0x%" PRIx64
                 " that was sent is in its place; what was in %s before it is "
                 "kept in files named " REPLACED_PREFIX "*",
                 (uint64_t)zxid, folder);
    }
    return rc;
}

/* ---- receiving ---- */

int received_begin(const struct received_options *options, int64_t zxid, struct received **out)
{
    struct snapshot_file_options file_options = {.folder = options->folder};
    struct snapshot_file *file;
    struct received *r;
    int rc = snapshot_file_begin(options->snapshot_disk, &file_options, zxid, &file);

    if (rc != 0) {
        return rc;
    }
    r = must_zalloc(sizeof(*r));
    r->options = *options;
    r->folder = must_strdup(options->folder);
    r->options.folder = r->folder;
    r->file = file;
    r->zxid = zxid;
    *out = r;
    return 0;
}

int received_write(struct received *r, const void *data, size_t len)
{
    return snapshot_file_write(r->file, data, len);
}

void received_abort(struct received *r)
{
    if (r == NULL) {
        return;
    }
    snapshot_file_abort(r->file);
    tree_free(r->tree);
    free(r->folder);
    free(r);
}

/* Nothing has been changed before, everything is decided afterwards. */
static int received_commit(struct received *r)
{
    char name[FILE_NAME_BYTES];
    int rc = remove_replaced(r->options.snapshot_disk, r->folder);

    if (rc == 0 && r->options.log_disk != r->options.snapshot_disk) {
        rc = remove_replaced(r->options.log_disk, r->folder);
    }
    received_name(name, r->zxid);
    if (rc == 0) {
        rc = snapshot_file_name(r->file, name);
        r->file = NULL;
    }
    return rc;
}

int received_adopt(struct disk *snapshot_disk, struct disk *log_disk, const char *folder,
                   const char *path, int64_t zxid)
{
    char name[FILE_NAME_BYTES], to[FILE_PATH_BYTES];
    int rc = remove_replaced(snapshot_disk, folder);

    if (rc == 0 && log_disk != snapshot_disk) {
        rc = remove_replaced(log_disk, folder);
    }
    received_name(name, zxid);
    file_path(to, folder, name);
    if (rc == 0) {
        rc = disk_rename(snapshot_disk, path, to);
    }
    return rc == 0 ? disk_sync_folder(snapshot_disk, folder) : rc;
}

int received_check(struct received *r, struct snapshot_info *info)
{
    int rc = snapshot_file_seal(r->file, NULL);

    ASSERT(r->tree == NULL);
    *info = (struct snapshot_info){.last_zxid = -1};
    if (rc == 0) {
        rc = snapshot_load(r->options.snapshot_disk, snapshot_file_path(r->file),
                           &r->options.reading, &r->tree, info);
    }
    return rc;
}

int received_finish(struct received *r, struct tree **out)
{
    int rc;

    ASSERT(r->tree != NULL);
    rc = received_commit(r);
    if (rc == 0) {
        rc = received_install(r->options.snapshot_disk, r->options.log_disk, r->folder);
    }
    if (rc == 0) {
        tree_add_system_nodes(r->tree);
        *out = r->tree;
        r->tree = NULL;
    }
    received_abort(r);
    return rc;
}
