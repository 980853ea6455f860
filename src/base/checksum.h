/* SPDX-License-Identifier: Apache-2.0 */
/* checksum.h - CRC-32 and Adler-32 as zlib computes them, faster.
 *
 * The digest of the tree takes a CRC-32 of every node that changes, on the path of every write.
 * Seen with perf on setData of 100 bytes, ten connections with a hundred requests each: zlib's
 * crc32 was 28 % of the server's time. Where the processor multiplies without carry this folds
 * sixteen bytes per step; elsewhere it is zlib's. Each record of the log has an Adler-32, which
 * zlib takes byte by byte: 725 instructions for one of 180 bytes, 210 with vectors. */
#ifndef PAWL_BASE_CHECKSUM_H
#define PAWL_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from `crc`; 0 to begin. */
uint32_t checksum_crc32(uint32_t crc, const void *data, size_t len);

/* Goes on from `sum`; 1 to begin. */
uint32_t checksum_adler32(uint32_t sum, const void *data, size_t len);

#endif
