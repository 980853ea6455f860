/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/open_files.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* ---- processes ---- */

/* Is it the one that is looked for? `proc_fd` is its folder in /proc. */
typedef bool (*process_fn)(int proc_fd, const char *pid, void *arg);

static bool look_into(int all_fd, const char *pid, process_fn fn, void *arg)
{
    int fd = openat(all_fd, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found;

    if (fd < 0) {
        return false;
    }
    found = fn(fd, pid, arg);
    close(fd);
    return found;
}

/* Asks every process but this one, until one is found. */
static bool find_process(process_fn fn, void *arg)
{
    DIR *all = opendir("/proc");
    struct dirent *entry;
    bool found = false;

    if (all == NULL) {
        return false;
    }
    while (!found && (entry = readdir(all)) != NULL) {
        found = isdigit((unsigned char)entry->d_name[0]) &&
                strtol(entry->d_name, NULL, 10) != (long)getpid() &&
                look_into(dirfd(all), entry->d_name, fn, arg);
    }
    closedir(all);
    return found;
}

static size_t read_text(int proc_fd, const char *name, char *out, size_t size)
{
    int fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n;

    while (fd >= 0 && len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0) {
        len += (size_t)n;
    }
    if (fd >= 0) {
        close(fd);
    }
    out[len] = '\0';
    return len;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void name_process(int proc_fd, const char *pid, char *out, size_t size)
{
    char name[64];

    read_text(proc_fd, "comm", name, sizeof(name));
    name[strcspn(name, "\n")] = '\0';
    snprintf(out, size, "process %.20s (%.40s)", pid, name);
}

/* ---- files open for writing ---- */

struct writer_search {
    int directory_fd;
    char *who;
    size_t size;
};

/* The link in /proc/PID/fd has a mode of its own, which tells how the file was opened. */
static bool is_ours_and_written(const struct writer_search *s, int fds, const char *fd,
                                const char **name, char path[PATH_BYTES])
{
    struct stat link, theirs, ours;
    ssize_t n = readlinkat(fds, fd, path, PATH_BYTES - 1);

    if (n <= 0 || path[0] != '/') {
        return false;
    }
    path[n] = '\0';
    *name = strrchr(path, '/') + 1;
    return (*name)[0] != '\0' && fstatat(s->directory_fd, *name, &ours, 0) == 0 &&
           fstatat(fds, fd, &theirs, 0) == 0 && S_ISREG(ours.st_mode) && is_same(&ours, &theirs) &&
           fstatat(fds, fd, &link, AT_SYMLINK_NOFOLLOW) == 0 && (link.st_mode & S_IWUSR) != 0;
}

static bool is_same_program(int proc_fd)
{
    struct stat theirs, ours;

    return fstatat(proc_fd, "exe", &theirs, 0) == 0 && stat("/proc/self/exe", &ours) == 0 &&
           is_same(&theirs, &ours);
}

static bool look_at_descriptors(const struct writer_search *s, DIR *fds, int proc_fd,
                                const char *pid)
{
    char path[PATH_BYTES], process[128];
    struct dirent *entry;
    const char *name;

    while ((entry = readdir(fds)) != NULL) {
        if (is_ours_and_written(s, dirfd(fds), entry->d_name, &name, path)) {
            name_process(proc_fd, pid, process, sizeof(process));
            snprintf(s->who, s->size, "%s has %s open for writing", process, name);
            return true;
        }
    }
    return false;
}

static bool is_writer(int proc_fd, const char *pid, void *arg)
{
    int fd =
        is_same_program(proc_fd) ? -1 : openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *fds = fd < 0 ? NULL : fdopendir(fd);
    bool found;

    if (fds == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    found = look_at_descriptors(arg, fds, proc_fd, pid);
    closedir(fds);
    return found;
}

bool open_files_find_writer(const char *directory, char *who, size_t size)
{
    struct writer_search s = {.who = who, .size = size};
    bool found;

    s.directory_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s.directory_fd < 0) {
        return false;
    }
    found = find_process(is_writer, &s);
    close(s.directory_fd);
    return found;
}

/* ---- servers of Apache's ---- */

/* The class stands behind the class path, which names every archive there is. */
enum { ARGUMENTS_BYTES = 4 << 20 };

struct zookeeper_search {
    struct stat directory;
    char *arguments; /* of the process that is looked at */
    char *who;
    size_t size;
};

/* `path` as the process means it, relative to where it stands. */
static bool is_directory(const struct zookeeper_search *s, int cwd, const char *path)
{
    struct stat theirs;

    return fstatat(cwd, path, &theirs, 0) == 0 && is_same(&theirs, &s->directory);
}

/* "dataDir=..." and "dataLogDir=..." of a zoo.cfg. */
static bool names_directory(const struct zookeeper_search *s, int cwd, const char *config)
{
    char text[64 << 10], *rest = text, *line;

    if (read_text(cwd, config, text, sizeof(text)) == 0) {
        return false;
    }
    while ((line = strsep(&rest, "\r\n")) != NULL) {
        char *value = strchr(line, '=');

        if (value != NULL && strncmp(line, "data", 4) == 0 &&
            is_directory(s, cwd, value + 1 + strspn(value + 1, " \t"))) {
            return true;
        }
    }
    return false;
}

/* Arguments behind the class are a configuration file, or a port and a directory. */
static bool arguments_name_it(const struct zookeeper_search *s, int cwd, const char *arguments,
                              size_t len)
{
    bool is_server = false, found = false;

    for (const char *a = arguments; !found && a < arguments + len; a += strlen(a) + 1) {
        if (is_server) {
            found = is_directory(s, cwd, a) || names_directory(s, cwd, a);
        }
        is_server = is_server || strncmp(a, "org.apache.zookeeper.server.", 28) == 0;
    }
    return found;
}

static bool is_zookeeper(int proc_fd, const char *pid, void *arg)
{
    struct zookeeper_search *s = arg;
    char process[128];
    size_t len = read_text(proc_fd, "cmdline", s->arguments, ARGUMENTS_BYTES);
    int cwd = len == 0 ? -1 : openat(proc_fd, "cwd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found = cwd >= 0 && arguments_name_it(s, cwd, s->arguments, len);

    if (cwd >= 0) {
        close(cwd);
    }
    if (found) {
        name_process(proc_fd, pid, process, sizeof(process));
        snprintf(s->who, s->size, "%s is a ZooKeeper server on it", process);
    }
    return found;
}

bool open_files_find_zookeeper(const char *directory, char *who, size_t size)
{
    struct zookeeper_search s = {.who = who, .size = size, .arguments = malloc(ARGUMENTS_BYTES)};
    bool found =
        s.arguments != NULL && stat(directory, &s.directory) == 0 && find_process(is_zookeeper, &s);

    free(s.arguments);
    return found;
}
