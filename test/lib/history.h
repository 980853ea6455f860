/* SPDX-License-Identifier: Apache-2.0 */
/* history.h - a seeded sequence of transactions of every kind, each with the state after it.
 *
 * Made once per seed, with zxids 1, 2, 3 ...; whatever a store says it holds up to some zxid can
 * then be compared with what it should be. */
#ifndef PAWL_TEST_HISTORY_H
#define PAWL_TEST_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "store/tree.h"

struct history;

struct history *history_new(uint64_t seed, size_t n_txns);
void history_free(struct history *h);

extern const struct tree_options history_tree_options;

/* The payload of a log record, digest included. Zxids count from 1. */
struct bytes history_payload(const struct history *h, int64_t zxid);

/* Fails the test unless `tree` is the tree after `zxid`, sessions included. */
void history_expect(const struct history *h, const struct tree *tree, int64_t zxid);

#endif
