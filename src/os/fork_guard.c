/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/fork_guard.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"

struct guarded {
    dev_t device;
    ino_t inode; /* 0: not guarded */
};

static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the table */
static struct guarded *table;
static int table_size;

static void guard_before_fork(void)
{
    pthread_mutex_lock(&guard_lock);
}

static void guard_in_parent(void)
{
    pthread_mutex_unlock(&guard_lock);
}

/* Only what is allowed between fork() and exec(). */
static void guard_in_child(void)
{
    struct stat st;

    for (int fd = 0; fd < table_size; fd++) {
        if (table[fd].inode != 0 && fstat(fd, &st) == 0 && st.st_dev == table[fd].device &&
            st.st_ino == table[fd].inode) {
            close(fd);
        }
        table[fd].inode = 0;
    }
    pthread_mutex_unlock(&guard_lock);
}

static void guard_register(void)
{
    pthread_atfork(guard_before_fork, guard_in_parent, guard_in_child);
}

void fork_guard_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, guard_register);
}

void fork_guard_begin(void)
{
    fork_guard_init();
    pthread_mutex_lock(&guard_lock);
}

void fork_guard_end(void)
{
    pthread_mutex_unlock(&guard_lock);
}

static bool guard_grow(int least)
{
    int size = table_size == 0 ? 64 : table_size;
    struct guarded *grown;

    while (size < least) {
        size *= 2;
    }
    grown = realloc(table, (size_t)size * sizeof(*table));
    if (grown == NULL) {
        return false;
    }
    memset(grown + table_size, 0, (size_t)(size - table_size) * sizeof(*grown));
    table = grown;
    table_size = size;
    return true;
}

int fork_guard_add(int fd)
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0) {
        return fd;
    }
    ASSERT(!S_ISFIFO(st.st_mode) && (st.st_mode & S_IFMT) != 0); /* it has an inode of its own */
    if (fd < table_size || guard_grow(fd + 1)) {
        table[fd] = (struct guarded){.device = st.st_dev, .inode = st.st_ino};
    }
    return fd;
}
