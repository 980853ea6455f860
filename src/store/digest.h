/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - ZooKeeper's digest of a node, version 2.
 *
 * CRC-32 over path, data and the stored Stat. The tree's digest is the sum over all nodes but those
 * below /zookeeper. */
#ifndef PAWL_STORE_DIGEST_H
#define PAWL_STORE_DIGEST_H

#include "wire/records.h"

/* 0 for paths that the digest leaves out. The root is "/" here and "" in the sum. */
uint32_t node_digest(struct bytes path, struct bytes data, const struct stat_persisted *s);

/* The same in two steps: the first covers path and data and need not be repeated when only the
 * Stat changes. */
uint32_t node_digest_begin(struct bytes path, struct bytes data);
uint32_t node_digest_end(uint32_t begun, const struct stat_persisted *s);

/* Whether a path counts at all. */
bool node_has_digest(struct bytes path);

#endif
