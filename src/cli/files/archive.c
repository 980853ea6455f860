/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/memory.h"
#include "os/disk_posix.h"
#include "pawl/error.h"
#include "store/recovery.h"
#include "store/snapshot_check.h"
#include "store/snapshot_format.h"
#include "store/snapshot_write.h"
#include "store/txnlog_format.h"

#define LOCK_FILE "pawl.lock"
#define ASIDE     "cut."

enum { COPY_BYTES = 1 << 20 };

static int disk_failed(const struct archive *a)
{
    cli_error(a->cli, "%s", disk_last_error(a->disk));
    return EXIT_SYSTEM;
}

static int check(const struct archive *a, int rc)
{
    return rc == PAWL_OK ? EXIT_OK : disk_failed(a);
}

static struct backup_file *last_file(struct archive *a)
{
    ASSERT(a->list.n > 0);
    return &a->list.files[a->list.n - 1];
}

/* ---- opening ---- */

struct counting {
    size_t n;
};

static void count_name(const char *name, void *arg)
{
    struct counting *c = arg;

    c->n += strcmp(name, LOCK_FILE) != 0;
}

/* A folder without a list must be empty, but for what a backup that did not come to its first list
 * has left: that is in version-2, and no server has been there. */
static int begin_new(struct archive *a)
{
    struct counting c = {0};

    if (disk_list(a->disk, ".", count_name, &c) != PAWL_OK) {
        return disk_failed(a);
    }
    if (c.n > 0) {
        cli_error(a->cli, "%s is neither empty nor a backup", a->path);
        return EXIT_CONFLICT;
    }
    return EXIT_OK;
}

/* What was being written when somebody was interrupted has no place in the list. */
static int cut_log(struct archive *a, const struct backup_file *f, struct disk_file **out)
{
    char path[FILE_PATH_BYTES];
    uint64_t size = 0;
    int rc;

    file_path(path, STORE_FOLDER, f->name);
    rc = disk_open(a->disk, path, DISK_WRITE, out);
    if (rc == PAWL_OK) {
        rc = disk_size(*out, &size);
    }
    if (rc == PAWL_OK && size < f->bytes) {
        cli_error(a->cli, "%s/%s: it is shorter than the list has it; see pawl backup verify",
                  a->path, path);
        return EXIT_DAMAGED;
    }
    if (rc == PAWL_OK && size > f->bytes) {
        rc = disk_truncate(*out, f->bytes);
    }
    return check(a, rc);
}

/* The last of them is written to from now on, if it is a log. */
static int cut_to_list(struct archive *a)
{
    int status = EXIT_OK;

    for (size_t i = 0; status == EXIT_OK && i < a->list.n; i++) {
        disk_close(a->log);
        a->log = NULL;
        if (file_name_zxid(a->list.files[i].name, TXNLOG_PREFIX) >= 0) {
            status = cut_log(a, &a->list.files[i], &a->log);
        }
    }
    return status;
}

struct strays {
    const struct archive *archive;
    struct file_list found;
};

static bool is_listed(const struct archive *a, const char *name)
{
    for (size_t i = 0; i < a->list.n; i++) {
        if (strcmp(a->list.files[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void note_stray(const char *name, void *arg)
{
    struct strays *s = arg;
    bool is_ours = file_name_zxid(name, TXNLOG_PREFIX) >= 0 ||
                   file_name_zxid(name, SNAPSHOT_PREFIX) >= 0 ||
                   strncmp(name, SNAPSHOT_TEMPORARY, strlen(SNAPSHOT_TEMPORARY)) == 0;

    if (is_ours && !is_listed(s->archive, name) && strlen(name) < FILE_NAME_BYTES) {
        s->found.files =
            must_realloc(s->found.files, (s->found.count + 1) * sizeof(*s->found.files));
        strcpy(s->found.files[s->found.count++].name, name);
    }
}

/* Files of an interrupted one that the list does not have. */
static int remove_strays(struct archive *a)
{
    struct strays s = {.archive = a};
    char path[FILE_PATH_BYTES];
    int rc = disk_list(a->disk, STORE_FOLDER, note_stray, &s);

    for (size_t i = 0; rc == PAWL_OK && i < s.found.count; i++) {
        file_path(path, STORE_FOLDER, s.found.files[i].name);
        rc = disk_remove(a->disk, path);
    }
    free(s.found.files);
    return check(a, rc);
}

/* An empty one is as good as none at all: it is that of a backup that has not got further. */
static int open_list(struct archive *a)
{
    const char *reason;
    int rc = backup_list_load(a->disk, &a->list, &reason);

    if (rc == PAWL_ERR_CORRUPT) {
        cli_error(a->cli, "%s/" BACKUP_LIST ": %s", a->path, reason);
        return EXIT_DAMAGED;
    }
    if (rc == PAWL_ERR_NOT_FOUND) {
        int status = begin_new(a);

        return status == EXIT_OK ? check(a, backup_list_save(a->disk, &a->list)) : status;
    }
    return check(a, rc);
}

static int take_over(struct archive *a)
{
    int status;

    if (disk_posix_lock(a->disk, LOCK_FILE, &a->lock) != PAWL_OK) {
        return disk_failed(a);
    }
    status = open_list(a);
    if (status == EXIT_OK) {
        status = check(a, disk_make_folder(a->disk, STORE_FOLDER));
    }
    if (status == EXIT_OK) {
        status = remove_strays(a);
    }
    return status == EXIT_OK ? cut_to_list(a) : status;
}

int archive_open(struct archive *a, struct cli *cli, const char *path)
{
    *a = (struct archive){.cli = cli, .path = path};
    backup_list_init(&a->list);
    strbuf_init(&a->batch, STRBUF_NO_LIMIT);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) { /* it has what is in the nodes */
        cli_error(cli, "%s: %s", path, strerror(errno));
        return EXIT_SYSTEM;
    }
    if (disk_posix_open(path, false, &a->disk) != PAWL_OK) {
        cli_error(cli, "%s", disk_posix_open_error());
        return EXIT_SYSTEM;
    }
    return take_over(a);
}

void archive_close(struct archive *a)
{
    disk_close(a->log);
    if (a->lock != NULL) {
        disk_posix_unlock(a->lock);
    }
    disk_posix_close(a->disk);
    backup_list_fini(&a->list);
    strbuf_fini(&a->batch);
}

/* ---- logs ---- */

static int write_batch(struct archive *a)
{
    struct backup_file *f;
    int rc;

    if (a->batch.len == 0) {
        return EXIT_OK;
    }
    f = last_file(a);
    rc = disk_write(a->log, f->bytes, a->batch.data, a->batch.len);
    if (rc == PAWL_OK) {
        rc = disk_sync(a->log);
    }
    f->crc = checksum_crc32(f->crc, a->batch.data, a->batch.len);
    f->bytes += a->batch.len;
    a->copied_bytes += (int64_t)a->batch.len;
    strbuf_clear(&a->batch);
    progress_step(&a->progress, a->n_records, 0, 0);
    return check(a, rc);
}

static int end_log(struct archive *a)
{
    int status = write_batch(a);

    disk_close(a->log);
    a->log = NULL;
    return status;
}

static int begin_log(struct archive *a, int64_t zxid)
{
    uint8_t header[TXNLOG_HEADER_BYTES] = {0};
    char name[FILE_NAME_BYTES], path[FILE_PATH_BYTES];

    snprintf(name, sizeof(name), TXNLOG_PREFIX ".%" PRIx64, (uint64_t)zxid);
    file_path(path, STORE_FOLDER, name);
    if (disk_open(a->disk, path, DISK_CREATE, &a->log) != PAWL_OK) {
        return disk_failed(a);
    }
    backup_list_add(&a->list, name);
    store_u32(header, TXNLOG_MAGIC);
    store_u32(header + 4, TXNLOG_VERSION);
    strbuf_append(&a->batch, header, sizeof(header));
    return EXIT_OK;
}

static int keep_room(struct archive *a, int64_t zxid)
{
    int status = EXIT_OK;

    if (a->batch.len >= TXNLOG_WRITE_BYTES / 2) {
        status = write_batch(a);
    }
    if (status == EXIT_OK && a->log != NULL && last_file(a)->bytes >= ARCHIVE_LOG_BYTES) {
        status = end_log(a);
    }
    return status == EXIT_OK && a->log == NULL ? begin_log(a, zxid) : status;
}

int archive_append(struct archive *a, const struct txnlog_record *record)
{
    size_t size = record->payload.len + TXNLOG_FRAME_BYTES;
    int status = keep_room(a, record->txn.header.zxid);
    uint8_t *at;

    if (status != EXIT_OK) {
        return status;
    }
    if (!strbuf_reserve(&a->batch, size)) {
        cli_error(a->cli, "there is no memory for a record of %zu bytes", size);
        return EXIT_SYSTEM;
    }
    at = a->batch.data + a->batch.len;
    txnlog_lay_out(at, record->payload);
    a->list.sum = checksum_adler32(1, record->payload.data, record->payload.len);
    store_u64(at, a->list.sum);
    a->batch.len += size;
    a->list.has_sum = true;
    a->list.zxid = record->txn.header.zxid;
    a->n_records++;
    a->is_changed = true;
    return EXIT_OK;
}

/* ---- snapshots ---- */

struct copying {
    struct disk_file *from, *to;
    uint64_t size, at;
    uint32_t crc;
    uint8_t *buffer;
};

static int copy_some(struct archive *a, const struct view *from, struct copying *c)
{
    size_t n = 0;

    if (disk_read(c->from, c->at, c->buffer, COPY_BYTES, &n) != PAWL_OK) {
        cli_error(a->cli, "%s", disk_last_error(from->disk));
        return EXIT_SYSTEM;
    }
    if (n == 0) {
        return EXIT_NO; /* it has become shorter: it is not the file that it was */
    }
    if (disk_write(c->to, c->at, c->buffer, n) != PAWL_OK) {
        return disk_failed(a);
    }
    c->crc = checksum_crc32(c->crc, c->buffer, n);
    c->at += n;
    a->copied_bytes += (int64_t)n;
    progress_step(&a->progress, a->n_records, (int64_t)c->at, (int64_t)c->size);
    return EXIT_OK;
}

static int copy_bytes(struct archive *a, const struct view *from, struct copying *c)
{
    int status = EXIT_OK;

    c->buffer = must_alloc(COPY_BYTES);
    while (status == EXIT_OK && c->at < c->size) {
        status = cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : copy_some(a, from, c);
    }
    free(c->buffer);
    return status == EXIT_OK ? check(a, disk_sync(c->to)) : status;
}

static int copy_file(struct archive *a, const struct view *from, const char *name,
                     const char *temporary, struct copying *c)
{
    char path[FILE_PATH_BYTES];
    int status;

    file_path(path, STORE_FOLDER, name);
    if (disk_open(from->disk, path, DISK_READ, &c->from) != PAWL_OK ||
        disk_size(c->from, &c->size) != PAWL_OK) {
        disk_close(c->from);
        return EXIT_NO;
    }
    if (disk_open(a->disk, temporary, DISK_CREATE, &c->to) != PAWL_OK) {
        disk_close(c->from);
        return disk_failed(a);
    }
    status = copy_bytes(a, from, c);
    disk_close(c->from);
    disk_close(c->to);
    return status;
}

/* The copy, not what it was made of: a disk that writes something else is noticed as well. */
static int check_copy(struct archive *a, const struct view *from, const char *name,
                      const char *temporary, size_t limit_bytes)
{
    const char *reason = NULL;
    struct strbuf shown;
    int rc = snapshot_check(a->disk, temporary, limit_bytes, &reason);

    if (rc != PAWL_ERR_CORRUPT) {
        return check(a, rc);
    }
    strbuf_init(&shown, STRBUF_NO_LIMIT);
    view_name(from, name, &shown);
    cli_error(a->cli, "%s: it is damaged: %s. An older one is taken", strbuf_cstr(&shown), reason);
    strbuf_fini(&shown);
    return EXIT_NO;
}

static void list_snapshot(struct archive *a, const struct file_name *name, const struct copying *c,
                          bool is_bridge)
{
    bool is_first = a->list.zxid < 0;
    struct backup_file *f = backup_list_add(&a->list, name->name);

    f->bytes = c->size;
    f->crc = c->crc;
    if (is_first || is_bridge) {
        a->list.zxid = name->zxid;
        a->list.has_sum = false;
    }
    a->is_changed = true;
}

int archive_copy_snapshot(struct archive *a, const struct view *from, const struct file_name *name,
                          size_t limit_bytes, bool is_bridge)
{
    char temporary[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
    struct copying c = {0};
    int status = end_log(a); /* the list ends with the log that grows */

    file_path(path, STORE_FOLDER, name->name);
    snprintf(temporary, sizeof(temporary), STORE_FOLDER "/tmp.%.200s", name->name);
    if (status == EXIT_OK) {
        status = copy_file(a, from, name->name, temporary, &c);
    }
    if (status == EXIT_OK) {
        status = check_copy(a, from, name->name, temporary, limit_bytes);
    }
    if (status == EXIT_OK) {
        status = check(a, disk_rename(a->disk, temporary, path));
    }
    if (status != EXIT_OK) {
        disk_remove(a->disk, temporary);
        return status;
    }
    list_snapshot(a, name, &c, is_bridge);
    return EXIT_OK;
}

/* ---- snapshots in pieces ---- */

#define RECEIVING STORE_FOLDER "/" SNAPSHOT_TEMPORARY "received"

int archive_receive_begin(struct archive *a)
{
    int status = end_log(a);

    a->receiving = (struct archive_receiving){0};
    return status == EXIT_OK
               ? check(a, disk_open(a->disk, RECEIVING, DISK_CREATE, &a->receiving.file))
               : status;
}

int archive_receive(struct archive *a, const void *data, size_t len)
{
    struct archive_receiving *r = &a->receiving;

    for (size_t i = 0; i < len && r->bytes + i < sizeof(r->first); i++) {
        r->first[r->bytes + i] = ((const uint8_t *)data)[i];
    }
    if (disk_write(r->file, r->bytes, data, len) != PAWL_OK) {
        return disk_failed(a);
    }
    r->crc = checksum_crc32(r->crc, data, len);
    r->bytes += len;
    a->copied_bytes += (int64_t)len;
    progress_step(&a->progress, (int64_t)r->bytes, 0, 0);
    return EXIT_OK;
}

/* A server sends the file as it is, and its name tells nobody how that is. */
static enum snapshot_codec received_codec(const struct archive_receiving *r)
{
    return memcmp(r->first, SNAPPY_MAGIC, strlen(SNAPPY_MAGIC)) == 0 ? SNAPSHOT_SNAPPY
           : r->first[0] == 0x1f && r->first[1] == 0x8b              ? SNAPSHOT_GZIP
                                                                     : SNAPSHOT_PLAIN;
}

static int place_received(struct archive *a, const struct file_name *name, size_t limit_bytes)
{
    char temporary[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
    const char *reason = NULL;
    int rc;

    file_path(path, STORE_FOLDER, name->name);
    snprintf(temporary, sizeof(temporary), STORE_FOLDER "/tmp.%.200s", name->name);
    rc = disk_rename(a->disk, RECEIVING, temporary);
    if (rc == PAWL_OK) {
        rc = snapshot_check(a->disk, temporary, limit_bytes, &reason);
    }
    if (rc == PAWL_OK) {
        rc = disk_rename(a->disk, temporary, path);
    }
    if (rc == PAWL_ERR_CORRUPT) {
        cli_error(a->cli, "what has come is no whole snapshot: %s", reason);
    }
    if (rc != PAWL_OK) {
        disk_remove(a->disk, temporary);
    }
    return rc == PAWL_ERR_CORRUPT ? EXIT_DAMAGED : check(a, rc);
}

static int end_received(struct archive *a, int64_t zxid, size_t limit_bytes)
{
    struct copying c = {.size = a->receiving.bytes, .crc = a->receiving.crc};
    struct file_name name = {.zxid = zxid};
    int status;

    if (zxid < a->list.zxid) {
        cli_error(a->cli,
                  "the server is at 0x%" PRIx64 ", and the backup ends with 0x%" PRIx64
                  ": it is behind, or another one",
                  (uint64_t)zxid, (uint64_t)a->list.zxid);
        return EXIT_CONFLICT;
    }
    if (zxid == a->list.zxid) {
        return EXIT_OK;
    }
    snapshot_name(name.name, zxid, received_codec(&a->receiving));
    status = place_received(a, &name, limit_bytes);
    if (status == EXIT_OK) {
        list_snapshot(a, &name, &c, true);
    }
    return status;
}

int archive_receive_end(struct archive *a, int64_t zxid, size_t limit_bytes, int status)
{
    if (status == EXIT_OK) {
        status = check(a, disk_sync(a->receiving.file));
    }
    disk_close(a->receiving.file);
    a->receiving.file = NULL;
    if (status == EXIT_OK) {
        status = end_received(a, zxid, limit_bytes);
    }
    disk_remove(a->disk, RECEIVING); /* if it is still there */
    return status;
}

/* ---- the list ---- */

int archive_commit(struct archive *a)
{
    int status = write_batch(a);

    if (status != EXIT_OK || !a->is_changed) {
        return status;
    }
    status = check(a, disk_sync_folder(a->disk, STORE_FOLDER));
    if (status == EXIT_OK) {
        status = check(a, backup_list_save(a->disk, &a->list));
    }
    a->is_changed = status != EXIT_OK;
    return status;
}

/* ---- cutting ---- */

static void aside_path(char *out, const char *name)
{
    snprintf(out, FILE_PATH_BYTES, STORE_FOLDER "/" ASIDE "%.200s", name);
}

/* A copy of all that a log has stays, and the list gets what stays of the log itself. */
static int split_log(struct archive *a, struct backup_file *f, uint64_t end)
{
    struct view self = {.disk = a->disk};
    struct copying whole = {0};
    char aside[FILE_PATH_BYTES];
    int status;

    aside_path(aside, f->name);
    status = copy_file(a, &self, f->name, aside, &whole);
    f->bytes = end;
    return status == EXIT_OK ? check(a, backup_file_sum(a->disk, f, &f->crc)) : status;
}

static bool is_behind(const struct backup_file *f, int64_t zxid)
{
    int64_t log = file_name_zxid(f->name, TXNLOG_PREFIX);

    return log >= 0 ? log > zxid : file_name_zxid(f->name, SNAPSHOT_PREFIX) > zxid;
}

static int put_aside(struct archive *a, const struct backup_list *old, int64_t zxid)
{
    char from[FILE_PATH_BYTES], to[FILE_PATH_BYTES];
    int rc = PAWL_OK;

    for (size_t i = 0; rc == PAWL_OK && i < old->n; i++) {
        if (is_behind(&old->files[i], zxid)) {
            file_path(from, STORE_FOLDER, old->files[i].name);
            aside_path(to, old->files[i].name);
            rc = disk_rename(a->disk, from, to);
        }
    }
    return check(a, rc);
}

/* The shorter list counts first. Whoever is interrupted behind that finds more than it has, as
 * after any other interruption. */
int archive_cut(struct archive *a, int64_t zxid, uint32_t sum, const char *file, uint64_t end)
{
    struct backup_list old;
    int status = end_log(a);

    old = a->list;
    backup_list_init(&a->list);
    a->list.zxid = zxid;
    a->list.sum = sum;
    a->list.has_sum = true;
    for (size_t i = 0; status == EXIT_OK && i < old.n; i++) {
        if (!is_behind(&old.files[i], zxid)) {
            if (strcmp(old.files[i].name, file) == 0 && end < old.files[i].bytes) {
                status = split_log(a, &old.files[i], end);
            }
            *backup_list_add(&a->list, old.files[i].name) = old.files[i];
        }
    }
    a->is_changed = true;
    status = status == EXIT_OK ? archive_commit(a) : status;
    status = status == EXIT_OK ? put_aside(a, &old, zxid) : status;
    backup_list_fini(&old);
    return status == EXIT_OK ? cut_to_list(a) : status;
}
