/* SPDX-License-Identifier: Apache-2.0 */
/* sim_disk.h - a disk in memory that behaves as badly as a real one may.
 *
 * What was not synced may be lost at a crash: of a file any subset of the sectors written since its
 * last sync, and its new size; of a folder any subset of the names made, renamed and removed since
 * it was synced. Which, is decided by a seed. Any call can be made to fail, or to be the one at
 * which the machine crashes; after that every call fails until sim_disk_restart(). The disk can run
 * full. For one thread. */
#ifndef PAWL_TEST_SIM_DISK_H
#define PAWL_TEST_SIM_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/disk.h"

struct sim_disk;

enum sim_loss { SIM_LOSE_SOME, SIM_LOSE_ALL, SIM_LOSE_NOTHING };

struct sim_disk *sim_disk_new(uint64_t seed);
void sim_disk_free(struct sim_disk *s);
struct disk *sim_disk_disk(struct sim_disk *s);

/* Calls so far; the next one is number sim_disk_calls() + 1. Closing is not counted. */
uint64_t sim_disk_calls(const struct sim_disk *s);

/* Call number `n` takes effect as far as an unsynced call can, and then the machine is gone. */
void sim_disk_crash_at(struct sim_disk *s, uint64_t n);

/* Call number `n` fails with `rc`; a write may have been done in part. */
void sim_disk_fail_at(struct sim_disk *s, uint64_t n, int rc);

/* Writes that would make the files larger than this in all fail with PAWL_ERR_DISK_FULL. Holes
 * count nothing. UINT64_MAX: no limit. */
void sim_disk_limit(struct sim_disk *s, uint64_t bytes);

bool sim_disk_crashed(const struct sim_disk *s);

/* The machine stops now, if it has not yet, loses what it may lose, and comes back without faults
 * planned. Handles from before must be closed and not used otherwise. */
void sim_disk_restart(struct sim_disk *s, enum sim_loss loss);

/* A file with this content, on disk, whatever was there before; its folder too. */
void sim_disk_put(struct sim_disk *s, const char *name, struct bytes content);

/* The content of a file as it reads now; null if there is none. Lent until the next call. */
struct bytes sim_disk_get(const struct sim_disk *s, const char *name);

/* Copies a folder of the real file system, files only, to the folder `name` of the disk. */
void sim_disk_import(struct sim_disk *s, const char *real_folder, const char *name);

#endif
