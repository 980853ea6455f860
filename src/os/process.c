/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

    if (fd >= 0) {
        close(fd);
    }
    out[n < 0 ? 0 : n] = '\0';
    return n < 0 ? -1 : 0;
}

/* ---- where we are ---- */

/* Where ids count: the boot, and our namespace if /proc shows the same one. Asked for anew in a
 * forked child, which may be the first process of a new namespace. */
static void place_of_self(struct process_id *out)
{
    char link[32] = "";
    struct stat st;

    memset(out, 0, sizeof(*out));
    if (read_text("/proc/sys/kernel/random/boot_id", out->boot, sizeof(out->boot)) != 0 ||
        strlen(out->boot) != BOOT_ID_BYTES - 1) {
        strcpy(out->boot, "-");
    }
    if (readlink("/proc/self", link, sizeof(link) - 1) > 0 && atol(link) == (long)getpid() &&
        stat("/proc/self/ns/pid", &st) == 0) {
        out->pid_namespace = (uint64_t)st.st_ino;
    }
}

/* ---- one process ---- */

struct proc_stat {
    char state;
    uint64_t start;
};

/* Behind the name, which may contain anything and ends with the last ')': field 3 is the state,
 * field 22 the start. */
static bool read_stat(int64_t pid, struct proc_stat *out)
{
    char path[64], text[1024];
    const char *at;

    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    if (read_text(path, text, sizeof(text)) != 0 || (at = strrchr(text, ')')) == NULL ||
        at[1] != ' ') {
        return false;
    }
    out->state = at[2];
    for (int field = 2; field < 22; field++) {
        at = strchr(at + 1, ' ');
        if (at == NULL) {
            return false;
        }
    }
    out->start = strtoull(at + 1, NULL, 10);
    return true;
}

/* A process whose first thread has ended shows as a zombie while the others run. */
static bool has_other_threads(int64_t pid)
{
    char path[64];
    DIR *tasks;
    int n = 0;

    snprintf(path, sizeof(path), "/proc/%lld/task", (long long)pid);
    tasks = opendir(path);
    while (tasks != NULL && readdir(tasks) != NULL) {
        n++;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return n > 3; /* ".", ".." and the first */
}

void process_find(int64_t pid, struct process_id *out)
{
    struct proc_stat stat;

    place_of_self(out);
    if (pid <= 0 || out->pid_namespace == 0) {
        return;
    }
    out->pid = pid;
    out->start = read_stat(pid, &stat) ? stat.start : 0;
}

void process_self(struct process_id *out)
{
    process_find(getpid(), out);
}

/* In our namespace. /proc may hide the processes of other users, kill() does not. */
static enum process_fate look_here(const struct process_id *p)
{
    struct proc_stat stat;

    if (!read_stat(p->pid, &stat)) {
        return kill((pid_t)p->pid, 0) != 0 && errno == ESRCH ? PROCESS_ENDED : PROCESS_RUNS;
    }
    if (p->start != 0 && stat.start != p->start) {
        return PROCESS_ENDED; /* the id is another one's now */
    }
    if ((stat.state == 'Z' || stat.state == 'X') && !has_other_threads(p->pid)) {
        return PROCESS_ENDED;
    }
    return PROCESS_RUNS;
}

bool process_is_of_this_boot(const struct process_id *p)
{
    struct process_id here;

    place_of_self(&here);
    return strcmp(p->boot, "-") != 0 && strcmp(p->boot, here.boot) == 0;
}

enum process_fate process_look(const struct process_id *p)
{
    struct process_id here;

    place_of_self(&here);
    if (strcmp(p->boot, "-") == 0 || strcmp(here.boot, "-") == 0) {
        return PROCESS_HIDDEN;
    }
    if (strcmp(p->boot, here.boot) != 0) {
        return PROCESS_ENDED; /* the machine has been started since */
    }
    if (p->pid == 0 || p->pid_namespace == 0 || p->pid_namespace != here.pid_namespace) {
        return PROCESS_HIDDEN;
    }
    return look_here(p);
}
