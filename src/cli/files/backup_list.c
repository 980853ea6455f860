/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/backup_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/memory.h"
#include "pawl/error.h"
#include "store/recovery.h"
#include "store/snapshot_format.h"
#include "store/txnlog_format.h"

#define TITLE     "pawl backup 1"
#define TEMPORARY "tmp." BACKUP_LIST

void backup_list_init(struct backup_list *l)
{
    *l = (struct backup_list){.zxid = -1};
}

void backup_list_fini(struct backup_list *l)
{
    free(l->files);
    backup_list_init(l);
}

struct backup_file *backup_list_add(struct backup_list *l, const char *name)
{
    struct backup_file *f;

    if (l->n == l->room) {
        l->room = l->room == 0 ? 8 : 2 * l->room;
        l->files = must_realloc(l->files, l->room * sizeof(*l->files));
    }
    f = &l->files[l->n++];
    *f = (struct backup_file){0};
    snprintf(f->name, sizeof(f->name), "%s", name);
    return f;
}

void backup_list_remove(struct backup_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->files[i].name, name) == 0) {
            memmove(&l->files[i], &l->files[i + 1], (l->n - i - 1) * sizeof(l->files[0]));
            l->n--;
            return;
        }
    }
}

int64_t backup_list_snapshot(const struct backup_list *l, uint64_t *snapshot_bytes,
                             uint64_t *log_bytes)
{
    int64_t newest = -1;

    *snapshot_bytes = *log_bytes = 0;
    for (size_t i = 0; i < l->n; i++) {
        int64_t zxid = file_name_zxid(l->files[i].name, SNAPSHOT_PREFIX);

        if (zxid > newest) {
            newest = zxid;
            *snapshot_bytes = l->files[i].bytes;
        }
    }
    for (size_t i = 0; i < l->n; i++) {
        if (file_name_zxid(l->files[i].name, TXNLOG_PREFIX) > newest) {
            *log_bytes += l->files[i].bytes;
        }
    }
    return newest;
}

uint64_t backup_list_bytes(const struct backup_list *l)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < l->n; i++) {
        bytes += l->files[i].bytes;
    }
    return bytes;
}

/* ---- as text ---- */

void backup_list_write(const struct backup_list *l, struct strbuf *out)
{
    strbuf_append_str(out, TITLE "\nzxid ");
    if (l->zxid < 0) {
        strbuf_append_str(out, "-\n");
    } else if (l->has_sum) {
        strbuf_printf(out, "0x%" PRIx64 " %08" PRIx32 "\n", (uint64_t)l->zxid, l->sum);
    } else {
        strbuf_printf(out, "0x%" PRIx64 " -\n", (uint64_t)l->zxid);
    }
    for (size_t i = 0; i < l->n; i++) {
        strbuf_printf(out, "%s %" PRIu64 " %08" PRIx32 "\n", l->files[i].name, l->files[i].bytes,
                      l->files[i].crc);
    }
    strbuf_printf(out, "end %08" PRIx32 "\n", checksum_crc32(0, out->data, out->len));
}

/* The next line without its end, at most FILE_NAME_BYTES and some; false: there is none. */
static bool next_line(struct bytes *rest, char *line, size_t size)
{
    const uint8_t *end = rest->len == 0 ? NULL : memchr(rest->data, '\n', rest->len);
    size_t len = end == NULL ? size : (size_t)(end - rest->data);

    if (len >= size || memchr(rest->data, '\0', len) != NULL) {
        return false;
    }
    memcpy(line, rest->data, len);
    line[len] = '\0';
    *rest = bytes_of(rest->data + len + 1, rest->len - len - 1);
    return true;
}

static bool read_zxid(struct backup_list *l, const char *line)
{
    uint64_t zxid;
    char sum[9];

    if (strcmp(line, "zxid -") == 0) {
        return true;
    }
    if (sscanf(line, "zxid 0x%16" SCNx64 " %8s", &zxid, sum) != 2 || zxid > INT64_MAX) {
        return false;
    }
    l->zxid = (int64_t)zxid;
    l->has_sum = strcmp(sum, "-") != 0;
    return !l->has_sum || sscanf(sum, "%8" SCNx32, &l->sum) == 1;
}

/* Only names that are a log's or a snapshot's: nothing of a list leads out of its folder. */
static bool read_file(struct backup_list *l, const char *line)
{
    char name[FILE_NAME_BYTES];
    struct backup_file *f;
    uint64_t bytes;
    uint32_t crc;

    if (sscanf(line, "%255s %" SCNu64 " %8" SCNx32, name, &bytes, &crc) != 3 ||
        strchr(name, '/') != NULL || bytes > INT64_MAX ||
        (file_name_zxid(name, TXNLOG_PREFIX) < 0 && file_name_zxid(name, SNAPSHOT_PREFIX) < 0)) {
        return false;
    }
    f = backup_list_add(l, name);
    f->bytes = bytes;
    f->crc = crc;
    return true;
}

static bool read_lines(struct backup_list *l, struct bytes rest)
{
    char line[FILE_NAME_BYTES + 64];

    if (!next_line(&rest, line, sizeof(line)) || strcmp(line, TITLE) != 0 ||
        !next_line(&rest, line, sizeof(line)) || !read_zxid(l, line)) {
        return false;
    }
    while (rest.len > 0) {
        if (!next_line(&rest, line, sizeof(line)) || !read_file(l, line)) {
            return false;
        }
    }
    return true;
}

enum { END_BYTES = 13 }; /* "end 0a1b2c3d\n" */

const char *backup_list_read(struct backup_list *l, struct bytes text)
{
    char end[END_BYTES + 1];
    size_t len;

    if (text.len < END_BYTES) {
        return "it is cut short";
    }
    len = text.len - END_BYTES;
    snprintf(end, sizeof(end), "end %08" PRIx32 "\n", checksum_crc32(0, text.data, len));
    if (memcmp(text.data + len, end, END_BYTES) != 0) {
        return "its checksum is not that of its lines: it was changed, or cut short";
    }
    return read_lines(l, bytes_of(text.data, len)) ? NULL : "it is not the list of a backup";
}

/* ---- as a file ---- */

static int read_whole(struct disk *disk, struct strbuf *out)
{
    struct disk_file *file;
    uint64_t size = 0;
    size_t n = 0;
    int rc = disk_open(disk, BACKUP_LIST, DISK_READ, &file);

    if (rc != PAWL_OK) {
        return rc;
    }
    rc = disk_size(file, &size);
    if (rc == PAWL_OK && (size > BACKUP_LIST_BYTES || !strbuf_reserve(out, (size_t)size))) {
        rc = PAWL_ERR_CORRUPT;
    }
    if (rc == PAWL_OK && size > 0) {
        rc = disk_read(file, 0, out->data, (size_t)size, &n);
        out->len = n;
    }
    disk_close(file);
    return rc;
}

int backup_list_load(struct disk *disk, struct backup_list *l, const char **reason)
{
    struct strbuf text;
    int rc;

    strbuf_init(&text, BACKUP_LIST_BYTES + 1);
    *reason = "it is too long";
    rc = read_whole(disk, &text);
    if (rc == PAWL_OK) {
        *reason = backup_list_read(l, strbuf_bytes(&text));
        rc = *reason == NULL ? PAWL_OK : PAWL_ERR_CORRUPT;
    }
    strbuf_fini(&text);
    return rc;
}

enum { SUM_BYTES = 1 << 20 };

static int sum_up(struct disk_file *file, uint64_t bytes, uint32_t *crc)
{
    uint8_t *buffer = must_alloc(SUM_BYTES);
    uint64_t at = 0;
    size_t n = 1;
    int rc = PAWL_OK;

    *crc = 0;
    while (rc == PAWL_OK && at < bytes && n > 0) {
        size_t len = bytes - at < SUM_BYTES ? (size_t)(bytes - at) : SUM_BYTES;

        rc = disk_read(file, at, buffer, len, &n);
        *crc = rc == PAWL_OK ? checksum_crc32(*crc, buffer, n) : 0;
        at += n;
    }
    free(buffer);
    return rc == PAWL_OK && at < bytes ? PAWL_ERR_CORRUPT : rc;
}

int backup_file_sum(struct disk *disk, const struct backup_file *f, uint32_t *out)
{
    char path[FILE_PATH_BYTES];
    struct disk_file *file;
    uint32_t crc;
    int rc;

    file_path(path, STORE_FOLDER, f->name);
    rc = disk_open(disk, path, DISK_READ, &file);
    if (rc != PAWL_OK) {
        return rc;
    }
    rc = sum_up(file, f->bytes, &crc);
    if (rc == PAWL_OK) {
        *out = crc;
    }
    disk_close(file);
    return rc;
}

int backup_list_save(struct disk *disk, const struct backup_list *l)
{
    struct strbuf text;
    int rc;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    backup_list_write(l, &text);
    rc = disk_write_text(disk, TEMPORARY, strbuf_cstr(&text));
    if (rc == PAWL_OK) {
        rc = disk_rename(disk, TEMPORARY, BACKUP_LIST);
    }
    if (rc == PAWL_OK) {
        rc = disk_sync_folder(disk, ".");
    }
    strbuf_fini(&text);
    return rc;
}
