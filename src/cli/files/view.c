/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/disk.h"
#include "base/logging.h"
#include "base/memory.h"
#include "os/disk_posix.h"
#include "pawl/error.h"
#include "store/snapshot_format.h"
#include "store/txnlog_format.h"

struct view_disk {
    struct disk base; /* first: a struct disk * is one of ours */
    struct view *view;
};

static struct view *view_of(struct disk *d)
{
    return ((struct view_disk *)d)->view;
}

/* ---- what only looks ---- */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static int look_open(struct disk *d, const char *name, enum disk_mode mode, struct disk_file **out)
{
    struct view *v = view_of(d);

    if (mode != DISK_READ) {
        return PAWL_ERR_SYSTEM;
    }
    if (v->is_file && strcmp(last_part(name), v->name) != 0) {
        return PAWL_ERR_NOT_FOUND;
    }
    return disk_open(v->real, v->is_file ? v->real_name : name, mode, out);
}

struct listing {
    const struct view *view;
    disk_name_fn fn;
    void *arg;
};

static void list_one(const char *name, void *arg)
{
    const struct listing *l = arg;

    if (file_name_zxid(name, SNAPSHOT_PREFIX) <= l->view->newest_snapshot) {
        l->fn(name, l->arg);
    }
}

static int look_list(struct disk *d, const char *folder, disk_name_fn fn, void *arg)
{
    struct view *v = view_of(d);
    struct listing l = {v, fn, arg};

    if (v->is_file) {
        fn(v->name, arg);
        return 0;
    }
    return disk_list(v->real, folder, list_one, &l);
}

static const char *look_last_error(struct disk *d)
{
    return disk_last_error(view_of(d)->real);
}

/* ---- what would change something ---- */

static int refuse_rename(struct disk *d, const char *from, const char *to)
{
    (void)d, (void)from, (void)to;
    return PAWL_ERR_SYSTEM;
}

static int refuse_change(struct disk *d, const char *name)
{
    (void)d, (void)name;
    return PAWL_ERR_SYSTEM;
}

/* Files are opened for reading only, so those of the real disk refuse by themselves. */
static const struct disk_ops look_ops = {.open = look_open,
                                         .list = look_list,
                                         .last_error = look_last_error,
                                         .rename = refuse_rename,
                                         .remove = refuse_change,
                                         .make_folder = refuse_change,
                                         .sync_folder = refuse_change};

/* ---- life ---- */

static int open_real(struct view *v, const struct cli *cli, const char *folder)
{
    if (disk_posix_open(folder, false, &v->real) != 0) {
        cli_error(cli, "%s", disk_posix_open_error());
        return EXIT_SYSTEM;
    }
    v->own = must_zalloc(sizeof(*v->own));
    v->own->base.ops = &look_ops;
    v->own->view = v;
    v->disk = &v->own->base;
    v->newest_snapshot = INT64_MAX;
    return EXIT_OK;
}

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* The name that the readers know: <prefix>.<hex>, with the ending that tells the compression. */
static void name_file(struct view *v, const char *real, const char *prefix)
{
    if (file_name_zxid(real, prefix) >= 0 && strlen(real) < sizeof(v->name)) {
        snprintf(v->name, sizeof(v->name), "%s", real);
    } else {
        snprintf(v->name, sizeof(v->name), "%s.0%s", prefix,
                 snapshot_extension(snapshot_codec_of(real)));
    }
}

static int open_file(struct view *v, const struct cli *cli, const char *path, const char *prefix)
{
    const char *name = last_part(path);
    char *folder = must_strdup(path);
    int status;

    folder[name - path] = '\0';
    status = open_real(v, cli, folder[0] != '\0' ? folder : ".");
    free(folder);
    if (status == EXIT_OK) {
        v->is_file = true;
        v->folder = ".";
        v->real_name = must_strdup(name);
        name_file(v, name, prefix);
    }
    return status;
}

int view_open(struct view *v, const struct cli *cli, const char *path, const char *prefix)
{
    struct strbuf below;
    int status;
    struct stat s;

    *v = (struct view){.given = path};
    if (stat(path, &s) != 0) {
        cli_error(cli, "%s: %s", path, strerror(errno));
        return EXIT_SYSTEM;
    }
    if (!S_ISDIR(s.st_mode)) {
        return open_file(v, cli, path, prefix);
    }
    strbuf_init(&below, STRBUF_NO_LIMIT);
    strbuf_printf(&below, "%s/version-2", path);
    v->folder = is_folder(strbuf_cstr(&below)) ? "version-2" : ".";
    strbuf_fini(&below);
    status = open_real(v, cli, path);
    return status;
}

int view_open_data(struct view *v, const struct cli *cli, const char *path)
{
    *v = (struct view){.given = path, .folder = "version-2"};
    return open_real(v, cli, path);
}

void view_close(struct view *v)
{
    disk_posix_close(v->real);
    free(v->real_name);
    free(v->own);
    *v = (struct view){0};
}

void view_name(const struct view *v, const char *name, struct strbuf *out)
{
    if (v->is_file) {
        strbuf_append_str(out, v->given);
        return;
    }
    strbuf_append_str(out, v->given);
    if (v->given[0] == '\0' || v->given[strlen(v->given) - 1] != '/') {
        strbuf_append_str(out, "/");
    }
    if (strcmp(v->folder, ".") != 0) {
        strbuf_printf(out, "%s/", v->folder);
    }
    strbuf_append_str(out, last_part(name));
}

static void tell(enum log_level level, const char *line, void *arg)
{
    (void)level;
    cli_error(arg, "%s", line);
}

void view_tell_warnings(const struct cli *cli)
{
    logging_set_sink(tell, (void *)(uintptr_t)cli);
    logging_set_level(LOG_WARN);
}
