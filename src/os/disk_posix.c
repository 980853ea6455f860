/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/disk_posix.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "os/fork_guard.h"
#include "os/thread.h"
#include "pawl/error.h"

/* For the next log, a snapshot, a directory that is synced, and one more. */
enum { N_SPARE = 4 };

struct posix_disk {
    struct disk base;
    int folder_fd;
    char *path; /* as the user gave it, for messages */
    struct lock lock;
    int spare[N_SPARE]; /* descriptors in reserve, under the lock */
    int n_spare;
};

struct posix_file {
    struct disk_file base;
    struct posix_disk *disk;
    int fd;
    char *name; /* with its folder, for messages */
};

struct disk_lock {
    int fd;
};

/* ---- errors ---- */

enum { SENTENCE_BYTES = 1024 };

static _Thread_local char the_sentence[SENTENCE_BYTES];

static int disk_code_of(int system_error)
{
    switch (system_error) {
    case ENOENT:
        return PAWL_ERR_NOT_FOUND;
    case EEXIST:
    case ENOTEMPTY:
        return PAWL_ERR_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return PAWL_ERR_PERMISSION;
    case ENOSPC:
    case EDQUOT:
        return PAWL_ERR_DISK_FULL;
    case EAGAIN:
    case EBUSY:
    case ETXTBSY:
        return PAWL_ERR_BUSY;
    case ENOMEM:
        return PAWL_ERR_NO_MEMORY;
    case EFBIG:
    case ENAMETOOLONG:
        return PAWL_ERR_TOO_LARGE;
    default:
        return PAWL_ERR_IO;
    }
}

/* Writes "cannot <what is tried>: <call>: <the system's reason>" and returns the code. */
static int disk_fail(const char *call, const char *format, ...)
{
    int system_error = errno;
    char what[SENTENCE_BYTES / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(the_sentence, sizeof(the_sentence), "cannot %s: %s: %s", what, call,
             strerror(system_error));
    return disk_code_of(system_error);
}

static struct posix_disk *disk_of(struct disk *d)
{
    return container_of(d, struct posix_disk, base);
}

static struct posix_file *file_of(struct disk_file *f)
{
    return container_of(f, struct posix_file, base);
}

static const char *posix_last_error(struct disk *d)
{
    (void)d;
    return the_sentence;
}

const char *disk_posix_open_error(void)
{
    return the_sentence;
}

/* ---- descriptors in reserve ----
 *
 * A server that cannot begin its next log stops. The rest of the process (whoever embeds it, too)
 * may use up all descriptors at any time, so some are kept open for nothing, and given up for a
 * file that is needed when there is no other. A descriptor that is done with becomes one again
 * before anybody else can have it. */

static bool spare_give_up(struct posix_disk *d)
{
    int fd = -1;

    lock_take(&d->lock);
    if (d->n_spare > 0) {
        fd = d->spare[--d->n_spare];
    }
    lock_give(&d->lock);
    return fd >= 0 && close(fd) == 0;
}

static int spare_openat(struct posix_disk *d, const char *name, int flags, mode_t mode)
{
    int fd = openat(d->folder_fd, name, flags, mode);

    while (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        if (!spare_give_up(d)) {
            errno = EMFILE;
            break;
        }
        fd = openat(d->folder_fd, name, flags, mode);
    }
    return fd;
}

static void spare_close(struct posix_disk *d, int fd)
{
    bool kept;

    lock_take(&d->lock);
    kept = d->n_spare < N_SPARE && dup3(d->folder_fd, fd, O_CLOEXEC) == fd;
    if (kept) {
        d->spare[d->n_spare++] = fd;
    }
    lock_give(&d->lock);
    if (!kept) {
        close(fd);
    }
}

static void spare_refill(struct posix_disk *d)
{
    int fd;

    lock_take(&d->lock);
    while (d->n_spare < N_SPARE && (fd = fcntl(d->folder_fd, F_DUPFD_CLOEXEC, 0)) >= 0) {
        d->spare[d->n_spare++] = fd;
    }
    lock_give(&d->lock);
}

/* ---- files ---- */

static const struct disk_ops posix_ops;

static int open_flags(enum disk_mode mode)
{
    switch (mode) {
    case DISK_READ:
        return O_RDONLY | O_CLOEXEC;
    case DISK_WRITE:
        return O_RDWR | O_CLOEXEC;
    default:
        return O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    }
}

static char *full_name(const struct posix_disk *d, const char *name)
{
    size_t len = strlen(d->path) + strlen(name) + 2;
    char *full = must_alloc(len);

    snprintf(full, len, "%s/%s", d->path, name);
    return full;
}

static struct disk_file *file_new(struct posix_disk *d, const char *name, int fd)
{
    struct posix_file *f;

    fork_guard_begin();
    fork_guard_add(fd);
    fork_guard_end();
    f = must_alloc(sizeof(*f));
    *f = (struct posix_file){
        .base.ops = &posix_ops, .disk = d, .fd = fd, .name = full_name(d, name)};
    return &f->base;
}

static int posix_open(struct disk *base, const char *name, enum disk_mode mode,
                      struct disk_file **out)
{
    static const char *const verbs[] = {"read", "write", "create"};
    struct posix_disk *d = disk_of(base);
    int fd = spare_openat(d, name, open_flags(mode), 0600); /* whatever the umask allows */

    if (fd < 0) {
        return disk_fail("open", "%s %s/%s", verbs[mode], d->path, name);
    }
    *out = file_new(d, name, fd);
    return 0;
}

/* Only root can give a file away, and others only to groups of theirs. A group that it cannot be
 * given to loses nothing but its reading; one that it has instead must not gain that. */
static bool take_mode(int fd, const struct stat *like)
{
    mode_t mode = like->st_mode & 0777;

    if (fchown(fd, like->st_uid, like->st_gid) != 0 && fchown(fd, (uid_t)-1, like->st_gid) != 0) {
        mode &= ~(mode_t)070;
    }
    return fchmod(fd, mode) == 0;
}

int disk_posix_create_like(struct disk *base, const char *name, const char *like,
                           struct disk_file **out)
{
    struct posix_disk *d = disk_of(base);
    struct stat s;
    int fd;

    if (fstatat(d->folder_fd, like, &s, 0) != 0) {
        return disk_fail("stat", "look at %s/%s", d->path, like);
    }
    if (unlinkat(d->folder_fd, name, 0) != 0 && errno != ENOENT) {
        return disk_fail("unlink", "remove %s/%s", d->path, name);
    }
    fd = spare_openat(d, name, open_flags(DISK_CREATE) | O_EXCL, 0600);
    if (fd < 0) {
        return disk_fail("open", "create %s/%s", d->path, name);
    }
    *out = file_new(d, name, fd);
    if (!take_mode(fd, &s)) {
        int rc = disk_fail("chmod", "create %s/%s", d->path, name);

        disk_close(*out);
        return rc;
    }
    return 0;
}

static void posix_close(struct disk_file *base)
{
    struct posix_file *f = file_of(base);

    spare_close(f->disk, f->fd);
    free(f->name);
    free(f);
}

static int posix_read(struct disk_file *base, uint64_t offset, void *data, size_t len,
                      size_t *n_read)
{
    struct posix_file *f = file_of(base);
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(f->fd, (char *)data + done, len - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return disk_fail("pread", "read %s at offset %llu", f->name,
                             (unsigned long long)(offset + done));
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    *n_read = done;
    return 0;
}

static int posix_write(struct disk_file *base, uint64_t offset, const void *data, size_t len)
{
    struct posix_file *f = file_of(base);
    size_t done = 0;

    while (done < len) {
        ssize_t n = pwrite(f->fd, (const char *)data + done, len - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return disk_fail("pwrite", "write %zu bytes at offset %llu of %s", len - done,
                             (unsigned long long)(offset + done), f->name);
        }
        done += (size_t)n;
    }
    return 0;
}

static int posix_size(struct disk_file *base, uint64_t *out)
{
    struct posix_file *f = file_of(base);
    struct stat st;

    if (fstat(f->fd, &st) != 0) {
        return disk_fail("fstat", "find the size of %s", f->name);
    }
    *out = (uint64_t)st.st_size;
    return 0;
}

static void posix_drop_cached(struct disk_file *base)
{
    posix_fadvise(file_of(base)->fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Where the system cannot tell, it may be right here. */
static uint64_t posix_data_after(struct disk_file *base, uint64_t offset)
{
    struct posix_file *f = file_of(base);
    off_t found = lseek(f->fd, (off_t)offset, SEEK_DATA);
    struct stat st;

    if (found >= 0) {
        return (uint64_t)found;
    }
    return errno == ENXIO && fstat(f->fd, &st) == 0 && (uint64_t)st.st_size > offset
               ? (uint64_t)st.st_size
               : offset;
}

static int posix_truncate(struct disk_file *base, uint64_t size)
{
    struct posix_file *f = file_of(base);

    while (ftruncate(f->fd, (off_t)size) != 0) {
        if (errno != EINTR) {
            return disk_fail("ftruncate", "set the size of %s to %llu bytes", f->name,
                             (unsigned long long)size);
        }
    }
    return 0;
}

/* A hole, not reserved space: what a log does not fill costs nothing, and txnlog_write.c writes
 * zeroes ahead of its records anyway, which is what makes fdatasync fast (figures there). */
static int posix_extend(struct disk_file *base, uint64_t size)
{
    uint64_t now;
    int rc = posix_size(base, &now);

    if (rc != 0 || now >= size) {
        return rc;
    }
    return posix_truncate(base, size);
}

/* After a failed fdatasync the kernel may drop the pages it could not write and call the next one
 * a success: whoever gets an error here must not try again, but stop. */
static int posix_sync(struct disk_file *base)
{
    struct posix_file *f = file_of(base);

    while (fdatasync(f->fd) != 0) {
        if (errno != EINTR) {
            return disk_fail("fdatasync", "bring %s to disk", f->name);
        }
    }
    return 0;
}

/* ---- names ---- */

static int posix_rename(struct disk *base, const char *from, const char *to)
{
    struct posix_disk *d = disk_of(base);

    if (renameat(d->folder_fd, from, d->folder_fd, to) != 0) {
        return disk_fail("rename", "rename %s/%s to %s", d->path, from, to);
    }
    return 0;
}

static int posix_remove(struct disk *base, const char *name)
{
    struct posix_disk *d = disk_of(base);

    if (unlinkat(d->folder_fd, name, 0) != 0) {
        return disk_fail("unlink", "remove %s/%s", d->path, name);
    }
    return 0;
}

static int open_folder(struct posix_disk *d, const char *folder, int *out)
{
    const char *name = folder[0] == '\0' ? "." : folder;
    int fd = spare_openat(d, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

    if (fd < 0) {
        return disk_fail("open", "open the folder %s/%s", d->path, folder);
    }
    *out = fd;
    return 0;
}

static int posix_list(struct disk *base, const char *folder, disk_name_fn fn, void *arg)
{
    struct posix_disk *d = disk_of(base);
    struct dirent *entry;
    DIR *dir;
    int fd = -1;
    int rc = open_folder(d, folder, &fd);

    if (rc != 0) {
        return rc;
    }
    dir = fdopendir(fd);
    if (dir == NULL) {
        rc = disk_fail("fdopendir", "list the folder %s/%s", d->path, folder);
        spare_close(d, fd);
        return rc;
    }
    for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            fn(entry->d_name, arg);
        }
    }
    if (errno != 0) {
        rc = disk_fail("readdir", "list the folder %s/%s", d->path, folder);
    }
    closedir(dir);
    spare_refill(d);
    return rc;
}

static int posix_make_folder(struct disk *base, const char *folder)
{
    struct posix_disk *d = disk_of(base);
    struct stat st;

    if (mkdirat(d->folder_fd, folder, 0755) == 0) {
        return 0;
    }
    if (errno != EEXIST) {
        return disk_fail("mkdir", "make the folder %s/%s", d->path, folder);
    }
    if (fstatat(d->folder_fd, folder, &st, 0) == 0 && !S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return disk_fail("mkdir", "use %s/%s as a folder", d->path, folder);
    }
    return 0;
}

static int posix_sync_folder(struct disk *base, const char *folder)
{
    struct posix_disk *d = disk_of(base);
    int fd = -1;
    int rc = open_folder(d, folder, &fd);

    if (rc != 0) {
        return rc;
    }
    if (fsync(fd) != 0) {
        rc = disk_fail("fsync", "bring the folder %s/%s to disk", d->path, folder);
    }
    spare_close(d, fd);
    return rc;
}

static const struct disk_ops posix_ops = {
    .open = posix_open,
    .close = posix_close,
    .read = posix_read,
    .write = posix_write,
    .extend = posix_extend,
    .truncate = posix_truncate,
    .sync = posix_sync,
    .size = posix_size,
    .data_after = posix_data_after,
    .drop_cached = posix_drop_cached,
    .rename = posix_rename,
    .remove = posix_remove,
    .list = posix_list,
    .make_folder = posix_make_folder,
    .sync_folder = posix_sync_folder,
    .last_error = posix_last_error,
};

/* ---- the disk ---- */

static int disk_make_folders(const char *path)
{
    char *copy = must_strdup(path);
    int rc = 0;

    for (char *p = copy + 1; rc == 0; p++) {
        char c = *p;

        if (c != '/' && c != '\0') {
            continue;
        }
        *p = '\0';
        if (mkdir(copy, 0750) != 0 && errno != EEXIST) {
            rc = disk_fail("mkdir", "make the folder %s", copy);
        }
        *p = c;
        if (c == '\0') {
            break;
        }
    }
    free(copy);
    return rc;
}

int disk_posix_open(const char *path, bool create, struct disk **out)
{
    struct posix_disk *d;
    int fd, rc;

    if (path[0] == '\0') {
        path = ".";
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && create) {
        rc = disk_make_folders(path);
        if (rc != 0) {
            return rc;
        }
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (fd < 0) {
        return disk_fail("open", "open the folder %s", path);
    }
    d = must_alloc(sizeof(*d));
    *d = (struct posix_disk){.base.ops = &posix_ops, .folder_fd = fd, .path = must_strdup(path)};
    lock_init(&d->lock);
    spare_refill(d);
    *out = &d->base;
    return 0;
}

void disk_posix_close(struct disk *base)
{
    struct posix_disk *d;

    if (base == NULL) {
        return;
    }
    d = disk_of(base);
    while (spare_give_up(d)) {
    }
    lock_fini(&d->lock);
    close(d->folder_fd);
    free(d->path);
    free(d);
}

/* ---- the lock ---- */

/* The pid stands in the file; it is believed only while somebody holds the lock, so a stale one
 * does no harm. */
static int say_busy(const struct posix_disk *d, const char *name, int fd)
{
    char pid[32] = "";
    ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

    pid[n > 0 ? n : 0] = '\0';
    pid[strcspn(pid, "\n")] = '\0';
    snprintf(the_sentence, sizeof(the_sentence),
             "the folder %s is in use by another server%s%s (lock file %s)", d->path,
             pid[0] == '\0' ? "" : ", process ", pid, name);
    return PAWL_ERR_BUSY;
}

/* A fork between the two would leave the child a copy that keeps the lock alive. */
static int open_guarded(int folder_fd, const char *name)
{
    int fd;

    fork_guard_begin();
    fd = fork_guard_add(openat(folder_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    fork_guard_end();
    return fd;
}

int disk_posix_lock(struct disk *base, const char *name, struct disk_lock **out)
{
    struct posix_disk *d = disk_of(base);
    /* Of the open file, not of the process: two servers in one process exclude each other too. */
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open_guarded(d->folder_fd, name);
    char pid[32];
    int rc, len;

    if (fd < 0) {
        return disk_fail("open", "create the lock file %s/%s", d->path, name);
    }
    if (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
        rc = errno == EAGAIN || errno == EACCES ? say_busy(d, name, fd)
                                                : disk_fail("fcntl", "lock %s/%s", d->path, name);
        close(fd);
        return rc;
    }
    len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)len, 0) != len) {
        /* Only the message of a second server suffers, for instance on a full disk. */
        errno = 0;
    }
    *out = must_alloc(sizeof(**out));
    (*out)->fd = fd;
    return 0;
}

void disk_posix_unlock(struct disk_lock *lock)
{
    if (lock != NULL) {
        close(lock->fd);
        free(lock);
    }
}
