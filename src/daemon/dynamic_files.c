/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath() */
#include "daemon/dynamic_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/disk.h"
#include "base/memory.h"
#include "os/disk_posix.h"
#include "pawl/error.h"

enum { FILE_BYTES_MAX = 4 << 20 }; /* of a zoo.cfg, or of what was proposed */

struct dynamic_files {
    struct disk *disk;
    bool disk_is_ours;
    char *folder; /* absolute */
    char *name;   /* zoo.cfg */
    struct strbuf error;
};

/* ---- life ---- */

struct dynamic_files *dynamic_files_on(struct disk *disk, const char *folder, const char *name)
{
    struct dynamic_files *f = must_zalloc(sizeof(*f));

    f->disk = disk;
    f->folder = must_strdup(folder);
    f->name = must_strdup(name);
    strbuf_init(&f->error, STRBUF_NO_LIMIT);
    return f;
}

/* As Java: the folder without symbolic links, whatever the file itself is. Not with libuv: `pawl`
 * reads configurations too, and would load it for this alone. */
int dynamic_files_open(const char *file, struct dynamic_files **out, struct strbuf *why)
{
    const char *slash = strrchr(file, '/');
    char *folder = slash == NULL ? must_strdup(".") : must_strdup(file);
    struct disk *disk;
    char *real;
    int rc;

    if (slash != NULL) {
        folder[slash == file ? 1 : slash - file] = '\0';
    }
    real = realpath(folder, NULL);
    if (real == NULL) {
        strbuf_printf(why, "the folder of %s cannot be used: %s", file, strerror(errno));
        rc = PAWL_ERR_SYSTEM;
    } else if ((rc = disk_posix_open(real, false, &disk)) != PAWL_OK) {
        strbuf_printf(why, "the folder of %s cannot be used: %s", file, disk_posix_open_error());
    } else {
        *out = dynamic_files_on(disk, real, slash == NULL ? file : slash + 1);
        (*out)->disk_is_ours = true;
    }
    free(real);
    free(folder);
    return rc;
}

void dynamic_files_close(struct dynamic_files *f)
{
    if (f == NULL) {
        return;
    }
    if (f->disk_is_ours) {
        disk_posix_close(f->disk);
    }
    strbuf_fini(&f->error);
    free(f->folder);
    free(f->name);
    free(f);
}

const char *dynamic_files_error(struct dynamic_files *f)
{
    return strbuf_cstr(&f->error);
}

/* ---- one file ---- */

static int files_failed(struct dynamic_files *f, int rc)
{
    strbuf_clear(&f->error);
    strbuf_append_str(&f->error, disk_last_error(f->disk));
    return rc;
}

/* Passwords may stand in zoo.cfg: a copy of it is read by those who may read zoo.cfg. A disk of the
 * caller's need not know modes. */
static int create(struct dynamic_files *f, const char *name, bool is_secret, struct disk_file **out)
{
    return is_secret && f->disk_is_ours ? disk_posix_create_like(f->disk, name, f->name, out)
                                        : disk_open(f->disk, name, DISK_CREATE, out);
}

static int write_all(struct dynamic_files *f, const char *name, bool is_secret, struct bytes text)
{
    struct disk_file *file;
    int rc = create(f, name, is_secret, &file);

    if (rc != PAWL_OK) {
        return rc;
    }
    rc = disk_write(file, 0, text.data, text.len);
    if (rc == PAWL_OK) {
        rc = disk_sync(file);
    }
    disk_close(file);
    return rc;
}

/* The new one takes the name of the old one when its bytes are on disk. */
static int replace_file(struct dynamic_files *f, const char *name, bool is_secret,
                        struct bytes text)
{
    struct strbuf temporary;
    int rc;

    strbuf_init(&temporary, STRBUF_NO_LIMIT);
    strbuf_printf(&temporary, "%s.tmp", name);
    rc = write_all(f, strbuf_cstr(&temporary), is_secret, text);
    if (rc == PAWL_OK) {
        rc = disk_rename(f->disk, strbuf_cstr(&temporary), name);
    }
    if (rc == PAWL_OK) {
        rc = disk_sync_folder(f->disk, "");
    }
    strbuf_fini(&temporary);
    return rc == PAWL_OK ? rc : files_failed(f, rc);
}

static int read_open(struct disk_file *file, struct strbuf *out)
{
    uint64_t size;
    size_t n = 0;
    char *data;
    int rc = disk_size(file, &size);

    if (rc != PAWL_OK) {
        return rc;
    }
    if (size > FILE_BYTES_MAX) {
        return PAWL_ERR_CORRUPT;
    }
    data = must_alloc((size_t)size + 1);
    rc = disk_read(file, 0, data, (size_t)size, &n);
    if (rc == PAWL_OK) {
        strbuf_append(out, data, n);
    }
    free(data);
    return rc;
}

static int read_file(struct dynamic_files *f, const char *name, struct strbuf *out)
{
    struct disk_file *file;
    int rc = disk_open(f->disk, name, DISK_READ, &file);

    if (rc == PAWL_OK) {
        rc = read_open(file, out);
        disk_close(file);
    }
    return rc == PAWL_OK ? rc : files_failed(f, rc);
}

/* zoo.cfg and what is behind its name. */
static void name_file(const struct dynamic_files *f, const char *suffix, struct strbuf *out)
{
    strbuf_init(out, STRBUF_NO_LIMIT);
    strbuf_printf(out, "%s%s", f->name, suffix);
}

static int replace_suffixed(struct dynamic_files *f, const char *suffix, bool is_secret,
                            struct bytes text)
{
    struct strbuf name;
    int rc;

    name_file(f, suffix, &name);
    rc = replace_file(f, strbuf_cstr(&name), is_secret, text);
    strbuf_fini(&name);
    return rc;
}

/* ---- what is written when ---- */

int dynamic_files_back_up(struct dynamic_files *f)
{
    struct strbuf text;
    int rc;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    rc = read_file(f, f->name, &text);
    if (rc == PAWL_OK) {
        rc = replace_suffixed(f, ".bak", true, strbuf_bytes(&text));
    }
    strbuf_fini(&text);
    return rc;
}

int dynamic_files_propose(struct dynamic_files *f, const struct quorum_config *c)
{
    struct strbuf text;
    int rc;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    dynamic_members(c, true, &text);
    rc = replace_suffixed(f, ".dynamic.next", false, strbuf_bytes(&text));
    strbuf_fini(&text);
    return rc;
}

static bool has_client_part(const struct quorum_config *c, int64_t self)
{
    int i = quorum_config_find(c, self);

    return i >= 0 && c->member[i].client_host != NULL;
}

/* zoo.cfg, so that it points to the members of that version. */
static int point_to(struct dynamic_files *f, const char *suffix, bool without_client_port)
{
    struct strbuf before, after, path;
    int rc;

    strbuf_init(&before, STRBUF_NO_LIMIT);
    strbuf_init(&after, STRBUF_NO_LIMIT);
    strbuf_init(&path, STRBUF_NO_LIMIT);
    strbuf_printf(&path, "%s/%s%s", strcmp(f->folder, "/") == 0 ? "" : f->folder, f->name, suffix);
    rc = read_file(f, f->name, &before);
    if (rc == PAWL_OK &&
        !dynamic_static(strbuf_bytes(&before), strbuf_cstr(&path), without_client_port, &after)) {
        strbuf_clear(&f->error);
        strbuf_printf(&f->error, "%s/%s is no configuration any more", f->folder, f->name);
        rc = PAWL_ERR_CONFIG;
    }
    if (rc == PAWL_OK) {
        rc = replace_file(f, f->name, true, strbuf_bytes(&after));
    }
    strbuf_fini(&before);
    strbuf_fini(&after);
    strbuf_fini(&path);
    return rc;
}

int dynamic_files_forget(struct dynamic_files *f)
{
    struct strbuf name;
    int rc;

    name_file(f, ".dynamic.next", &name);
    rc = disk_remove(f->disk, strbuf_cstr(&name));
    strbuf_fini(&name);
    if (rc == PAWL_ERR_NOT_FOUND) {
        return PAWL_OK;
    }
    if (rc == PAWL_OK) {
        rc = disk_sync_folder(f->disk, "");
    }
    return rc == PAWL_OK ? rc : files_failed(f, rc);
}

/* None there: fine. One that cannot be read is not newer than anything. */
static int forget_proposed(struct dynamic_files *f, int64_t version)
{
    struct quorum_config proposed;
    struct strbuf why;
    int rc;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    rc = dynamic_files_proposed(f, &proposed, &why);
    strbuf_fini(&why);
    if (rc == PAWL_OK) {
        bool is_newer = proposed.version > version;

        quorum_config_fini(&proposed);
        if (is_newer) {
            return PAWL_OK;
        }
    } else if (rc != PAWL_ERR_CORRUPT) {
        return rc == PAWL_ERR_NOT_FOUND ? PAWL_OK : rc;
    }
    return dynamic_files_forget(f);
}

int dynamic_files_activate(struct dynamic_files *f, const struct quorum_config *c, int64_t self)
{
    char suffix[32];
    struct strbuf text;
    int rc;

    snprintf(suffix, sizeof(suffix), ".dynamic.%" PRIx64, (uint64_t)c->version);
    strbuf_init(&text, STRBUF_NO_LIMIT);
    dynamic_members(c, false, &text);
    rc = replace_suffixed(f, suffix, false, strbuf_bytes(&text));
    strbuf_fini(&text);
    if (rc == PAWL_OK) {
        rc = point_to(f, suffix, has_client_part(c, self));
    }
    return rc == PAWL_OK ? forget_proposed(f, c->version) : rc;
}

int dynamic_files_proposed(struct dynamic_files *f, struct quorum_config *out, struct strbuf *why)
{
    struct strbuf name, text, reason;
    int rc;

    name_file(f, ".dynamic.next", &name);
    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_init(&reason, STRBUF_NO_LIMIT);
    rc = read_file(f, strbuf_cstr(&name), &text);
    if (rc == PAWL_OK && !quorum_config_read(out, strbuf_bytes(&text), &reason)) {
        strbuf_printf(why, "%s/%s: %s", f->folder, strbuf_cstr(&name), strbuf_cstr(&reason));
        rc = PAWL_ERR_CORRUPT;
    }
    strbuf_fini(&name);
    strbuf_fini(&text);
    strbuf_fini(&reason);
    return rc;
}
