/* SPDX-License-Identifier: Apache-2.0 */
/* backup_list.h - the list of a backup: of which files it consists, and how far it goes.
 *
 *   pawl backup 1
 *   zxid 0x1f 0a1b2c3d             the last transaction, and the sum of its record; "-": it is that
 *                                  of a snapshot, and no record is behind that. Nothing but "-":
 *                                  nothing is in it yet
 *   snapshot.5 1234 0a1b2c3d       a file of version-2: its name, its length and its CRC-32
 *   log.6 5678 0a1b2c3d
 *   end 0a1b2c3d                   CRC-32 of all lines above
 *
 * A log cannot tell that its last records are missing; its list can. The list is written when all
 * it names is on disk, in place of the one before, so it is always that of a whole backup. What a
 * log has behind the length in the list was being written when somebody was interrupted. */
#ifndef PAWL_CLI_FILES_BACKUP_LIST_H
#define PAWL_CLI_FILES_BACKUP_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/disk.h"
#include "base/strbuf.h"
#include "store/file_names.h"

#define BACKUP_LIST "pawl.backup"

enum { BACKUP_LIST_BYTES = 16 << 20 };

struct backup_file {
    char name[FILE_NAME_BYTES];
    uint64_t bytes;
    uint32_t crc;
};

struct backup_list {
    int64_t zxid; /* -1: nothing is in it */
    bool has_sum;
    uint32_t sum;              /* Adler-32 of the record of `zxid` */
    struct backup_file *files; /* in the order in which they came */
    size_t n, room;
};

void backup_list_init(struct backup_list *l);
void backup_list_fini(struct backup_list *l);

/* The new one, of no bytes. */
struct backup_file *backup_list_add(struct backup_list *l, const char *name);
void backup_list_remove(struct backup_list *l, const char *name); /* not there: fine */

/* The zxid of the newest snapshot, -1: there is none; and how much log came after it. */
int64_t backup_list_snapshot(const struct backup_list *l, uint64_t *snapshot_bytes,
                             uint64_t *log_bytes);
uint64_t backup_list_bytes(const struct backup_list *l);

void backup_list_write(const struct backup_list *l, struct strbuf *out);

/* NULL, or why it is none. `l` was initialised, and is to be ended in either case. */
const char *backup_list_read(struct backup_list *l, struct bytes text);

/* PAWL_ERR_NOT_FOUND: there is none. PAWL_ERR_CORRUPT: see `*reason`. */
int backup_list_load(struct disk *disk, struct backup_list *l, const char **reason);

/* CRC-32 of as many bytes of the file of version-2 as it is said to have. PAWL_ERR_CORRUPT: it has
 * less. */
int backup_file_sum(struct disk *disk, const struct backup_file *f, uint32_t *out);

/* All or nothing, and on disk. */
int backup_list_save(struct disk *disk, const struct backup_list *l);

#endif
