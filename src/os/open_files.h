/* SPDX-License-Identifier: Apache-2.0 */
/* open_files.h - whether another process is writing in a directory.
 *
 * Apache's server takes no lock, so a lock of ours says nothing about it. What gives it away is
 * what the system knows: a file of the directory that it has open for writing, or that it was
 * started on the directory. On systems without /proc, and for processes that we may not look into,
 * nothing is found. */
#ifndef PAWL_OS_OPEN_FILES_H
#define PAWL_OS_OPEN_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Looks for a process that has a file of `directory` open for writing. Programs of the same
 * executable as ours are passed over: those take the lock, and a forked child of one may have
 * inherited the file. True: `who` says which process and file. */
bool open_files_find_writer(const char *directory, char *who, size_t size);

/* Looks for a running ZooKeeper server of Apache's whose dataDir or dataLogDir is `directory`: as
 * long as nobody has written anything it has no file open. */
bool open_files_find_zookeeper(const char *directory, char *who, size_t size);

#endif
