/* SPDX-License-Identifier: Apache-2.0 */
/* aside.h - takes bytes out of the history without destroying them.
 *
 * What a start does not use although it lies where history should be (a torn tail; with
 * recovery.acceptLoss whatever follows damage) stays in the same folder under a name that neither
 * Pawl nor ZooKeeper takes for a log or a snapshot: aside.log.1a.4290 is what log.1a held from
 * offset 4290 on, aside.log.2b all of log.2b. If the name is taken a number is added. */
#ifndef PAWL_STORE_ASIDE_H
#define PAWL_STORE_ASIDE_H

#include <stdint.h>

#include "base/disk.h"
#include "store/file_names.h"

/* Copies what is behind `offset`, padding left out, and then cuts the file there. The copy is on
 * disk before the cut. `kept` gets the copy's name, "" if there were only zeroes. */
int aside_tail(struct disk *disk, const char *folder, const char *name, uint64_t offset,
               char kept[FILE_NAME_BYTES]);

/* Renames the file; the caller syncs the folder. */
int aside_file(struct disk *disk, const char *folder, const char *name, char kept[FILE_NAME_BYTES]);

#endif
