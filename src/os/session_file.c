/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/session_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "pawl/error.h"

/* One line:
 *
 *   pawl session 1 BOOT PID-NAMESPACE PID START DETACHED-MS
 *
 * and of the silent ones "pawl silent 1 BOOT", then a line "ID SINCE-MS" each. */
#define SESSION_LINE "pawl session 1 %s %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRId64 "\n"
#define SILENT_HEAD  "pawl silent 1 "
#define SILENT_NAME  "silent"

enum { LINE_BYTES = 256, PATH_BYTES = PATH_MAX };

int64_t session_file_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int session_code(int error)
{
    return error == ENOENT                     ? PAWL_ERR_NOT_FOUND
           : error == EACCES || error == EPERM ? PAWL_ERR_PERMISSION
           : error == ENOSPC                   ? PAWL_ERR_DISK_FULL
                                               : PAWL_ERR_IO;
}

static bool session_file_path(char *out, const char *dir, const char *name, const char *suffix)
{
    int n = snprintf(out, PATH_BYTES, "%s/%s%s", dir, name, suffix);

    return n > 0 && n < PATH_BYTES;
}

struct session_name {
    char text[17];
};

static struct session_name name_of(int64_t id)
{
    struct session_name name;

    snprintf(name.text, sizeof(name.text), "%016" PRIx64, (uint64_t)id);
    return name;
}

/* ---- reading ---- */

static FILE *open_to_read(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    FILE *file = NULL;
    int fd = -1;

    if (session_file_path(path, dir, name, "")) {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    if (fd >= 0 && (file = fdopen(fd, "r")) == NULL) {
        close(fd);
    }
    return file;
}

int session_file_read(const char *dir, int64_t id, struct session_file *out)
{
    FILE *file = open_to_read(dir, name_of(id).text);
    char line[LINE_BYTES] = "";
    int n;

    if (file == NULL) {
        return session_code(errno);
    }
    n = fgets(line, sizeof(line), file) == NULL ? 0 : 1;
    fclose(file);
    *out = (struct session_file){0};
    n = n == 0 ? 0
               : sscanf(line, "pawl session 1 %36s %" SCNu64 " %" SCNd64 " %" SCNu64 " %" SCNd64,
                        out->owner.boot, &out->owner.pid_namespace, &out->owner.pid,
                        &out->owner.start, &out->detached_ms);
    return n == 5 ? 0 : PAWL_ERR_CORRUPT;
}

static bool is_of_this_boot(FILE *file)
{
    struct process_id self;
    char line[LINE_BYTES];
    size_t head = strlen(SILENT_HEAD);

    process_self(&self);
    return fgets(line, sizeof(line), file) != NULL && strncmp(line, SILENT_HEAD, head) == 0 &&
           strncmp(line + head, self.boot, strlen(self.boot)) == 0;
}

struct silent_session *silent_file_read(const char *dir, size_t *n)
{
    FILE *file = open_to_read(dir, SILENT_NAME);
    struct silent_session *list = NULL, *grown, one;
    char line[LINE_BYTES];
    uint64_t id;

    *n = 0;
    if (file != NULL && is_of_this_boot(file)) {
        while (fgets(line, sizeof(line), file) != NULL &&
               sscanf(line, "%" SCNx64 " %" SCNd64, &id, &one.since_ms) == 2 &&
               (grown = realloc(list, (*n + 1) * sizeof(one))) != NULL) {
            one.id = (int64_t)id;
            list = grown;
            list[(*n)++] = one;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return list;
}

void session_file_each(const char *dir, void (*fn)(int64_t id, void *arg), void *arg)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    char *end;
    uint64_t id;

    while (d != NULL && (e = readdir(d)) != NULL) {
        id = strtoull(e->d_name, &end, 16);
        if (end == e->d_name + 16 && *end == '\0') {
            fn((int64_t)id, arg);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

/* ---- writing ---- */

/* A file that will be called `name`, under one that nobody can have planted. */
static FILE *open_fresh(const char *dir, const char *name, char *fresh)
{
    FILE *file = NULL;
    int fd = -1;

    if (session_file_path(fresh, dir, name, ".XXXXXX")) {
        fd = mkostemp(fresh, O_CLOEXEC);
    }
    if (fd >= 0 && (file = fdopen(fd, "w")) == NULL) {
        close(fd);
        unlink(fresh);
    }
    return file;
}

/* Not synced: after a crash of the machine no process of it runs, and that is what is kept here. */
static int put_in_place(FILE *file, const char *fresh, const char *dir, const char *name)
{
    char path[PATH_BYTES];
    bool good = fchmod(fileno(file), 0644) == 0 && ferror(file) == 0;

    good = fclose(file) == 0 && good && session_file_path(path, dir, name, "") &&
           rename(fresh, path) == 0;
    if (!good) {
        int error = errno;

        unlink(fresh);
        return session_code(error);
    }
    return 0;
}

int session_file_write(const char *dir, int64_t id, const struct session_file *in)
{
    struct session_name name = name_of(id);
    char fresh[PATH_BYTES];
    FILE *file = open_fresh(dir, name.text, fresh);

    if (file == NULL) {
        return session_code(errno);
    }
    fprintf(file, SESSION_LINE, in->owner.boot, in->owner.pid_namespace, in->owner.pid,
            in->owner.start, in->detached_ms);
    return put_in_place(file, fresh, dir, name.text);
}

int silent_file_write(const char *dir, const struct silent_session *list, size_t n)
{
    struct process_id self;
    char fresh[PATH_BYTES];
    FILE *file = open_fresh(dir, SILENT_NAME, fresh);

    if (file == NULL) {
        return session_code(errno);
    }
    process_self(&self);
    fprintf(file, SILENT_HEAD "%s\n", self.boot);
    for (size_t i = 0; i < n; i++) {
        fprintf(file, "%016" PRIx64 " %" PRId64 "\n", (uint64_t)list[i].id, list[i].since_ms);
    }
    return put_in_place(file, fresh, dir, SILENT_NAME);
}

void session_file_remove(const char *dir, int64_t id)
{
    char path[PATH_BYTES];

    if (session_file_path(path, dir, name_of(id).text, "")) {
        unlink(path);
    }
}

/* ---- the client's side ---- */

static int change_owner(const char *socket_path, int64_t id, int64_t detached_ms)
{
    const char *slash = strrchr(socket_path, '/');
    int len = slash == NULL ? 0 : (int)(slash - socket_path) + 1;
    struct session_file mine = {.detached_ms = detached_ms}, before;
    char dir[PATH_BYTES];
    int rc;

    if (snprintf(dir, sizeof(dir), "%.*s" SESSION_FOLDER, len, socket_path) >= PATH_BYTES) {
        return PAWL_ERR_ADDRESS;
    }
    rc = session_file_read(dir, id, &before);
    if (rc != 0) {
        return rc == PAWL_ERR_NOT_FOUND ? 0 : rc;
    }
    process_self(&mine.owner);
    return session_file_write(dir, id, &mine);
}

int session_file_detach(const char *socket_path, int64_t id)
{
    return change_owner(socket_path, id, session_file_now_ms());
}

int session_file_attach(const char *socket_path, int64_t id)
{
    return change_owner(socket_path, id, 0);
}
