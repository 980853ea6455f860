/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

struct entry {
    pid_t pid, parent;
    bool is_ours;
};

struct table {
    struct entry *entries;
    size_t n, capacity;
};

void descendants_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* "PID (name) S PARENT ..."; the name may have blanks and brackets. 0: it has ended meanwhile. */
static pid_t parent_of(pid_t pid)
{
    char path[64], text[512];
    const char *end;
    FILE *file;
    int parent = 0;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    end = strrchr(text, ')');
    if (end == NULL || sscanf(end + 1, " %*c %d", &parent) != 1) {
        return 0;
    }
    return (pid_t)parent;
}

static void table_add(struct table *t, pid_t pid)
{
    pid_t parent = parent_of(pid);

    if (parent == 0) {
        return;
    }
    if (t->n == t->capacity) {
        t->capacity = t->capacity * 2 + 64;
        t->entries = must_realloc(t->entries, t->capacity * sizeof(*t->entries));
    }
    t->entries[t->n++] = (struct entry){.pid = pid, .parent = parent};
}

static void table_read(struct table *t)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            table_add(t, (pid_t)atoi(entry->d_name));
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static bool is_ours(const struct table *t, pid_t pid)
{
    if (pid == getpid()) {
        return true;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->entries[i].pid == pid) {
            return t->entries[i].is_ours;
        }
    }
    return false;
}

/* A child may stand before its parent: until nothing changes. */
static void table_mark(struct table *t)
{
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (size_t i = 0; i < t->n; i++) {
            if (!t->entries[i].is_ours && is_ours(t, t->entries[i].parent)) {
                t->entries[i].is_ours = has_changed = true;
            }
        }
    }
}

size_t descendants_signal(int number)
{
    struct table t = {0};
    size_t n = 0;

    table_read(&t);
    table_mark(&t);
    for (size_t i = 0; i < t.n; i++) {
        if (t.entries[i].is_ours) {
            kill(t.entries[i].pid, number);
            n++;
        }
    }
    free(t.entries);
    return n;
}

/* Those whose parent we are. A file of the kernel's lists them: this takes microseconds, while a
 * process that forks and exits has another number each time the whole table has been read. False:
 * there is none that we may kill, such as when all run as another user. */
static bool children_end(void)
{
    char path[64], text[4096];
    bool has_killed = false;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    for (char *at = text, *end; (n = strtol(at, &end, 10)) > 0 && *end == ' '; at = end) {
        has_killed = kill((pid_t)n, SIGKILL) == 0 || has_killed;
    }
    if (fd >= 0) {
        close(fd);
    }
    return has_killed;
}

/* False: there is none left. */
static bool reap_ended(void)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
    }
    return pid == 0;
}

/* Kills children, as fast as they fork, until there are none; gives up after many. False: those
 * that are left may not be killed by us. */
static bool children_end_quickly(void)
{
    enum { LOOKS = 1000 };
    bool may_kill = true;

    for (int i = 0; i < LOOKS && may_kill && reap_ended(); i++) {
        may_kill = children_end();
    }
    return may_kill;
}

/* What may not be killed is waited for, with longer and longer pauses: until it has ended nobody
 * may think that it has. */
void descendants_end(void)
{
    enum { PAUSE_MIN_MS = 5, PAUSE_MAX_MS = 900 };
    long pause_ms = PAUSE_MIN_MS;

    descendants_signal(SIGKILL);
    while (reap_ended()) {
        struct timespec pause = {0};

        pause_ms = children_end_quickly()        ? PAUSE_MIN_MS
                   : pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2
                                                 : PAUSE_MAX_MS;
        pause.tv_nsec = pause_ms * 1000000;
        descendants_signal(SIGKILL);
        nanosleep(&pause, NULL);
    }
}
