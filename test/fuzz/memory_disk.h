/* SPDX-License-Identifier: Apache-2.0 */
/* memory_disk.h - a disk with one file, which cannot be changed: what a fuzzer makes up. */
#ifndef PAWL_TEST_MEMORY_DISK_H
#define PAWL_TEST_MEMORY_DISK_H

#include "base/bytes.h"
#include "base/disk.h"

struct memory_disk {
    struct disk disk;
    struct disk_file file;
    const char *folder; /* the file is folder/name */
    const char *name;
    struct bytes content;
};

void memory_disk_init(struct memory_disk *d, const char *folder, const char *name,
                      struct bytes content);

#endif
