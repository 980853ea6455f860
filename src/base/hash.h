/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - a keyed hash for in-memory tables; nothing on disk or on the wire depends on it.
 *
 * Names, paths and ids come from clients: with a hash that they can compute, a few thousand chosen
 * ones fall into one bucket and every look-up walks them all. So there is a key, one for the
 * process, which os/entropy.h draws from the system before the first table is made. A program that
 * draws none (a simulator, a unit test) has a fixed key, and the same run every time.
 *
 * The promise is that of universal hashing: whoever chooses the bytes without having seen a hash of
 * this process finds two different strings of n bytes under one hash of b bits with probability at
 * most 2^-b + (n/7 + 3)/2^60. It does not hold for somebody who is shown hashes, so nothing that a
 * client sees may be in the order of a table. (SipHash, which was here before, needs no such care,
 * and four times the instructions.) */
#ifndef PAWL_BASE_HASH_H
#define PAWL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_KEY_WORDS = 5 };

/* Random words. Before the first table: what is in a table is found under the key it was put in
 * with. */
void hash_set_key(const uint64_t key[HASH_KEY_WORDS]);

/* A table has been made: from here on the key stands. */
void hash_fix_key(void);

/* `salt` tells tables apart, or is a part of what is looked for. */
uint64_t hash_bytes(const void *data, size_t len, uint64_t salt);
uint64_t hash_u64(uint64_t x);

/* The same in pieces: hash_stream_value() after each piece is hash_bytes() of all so far. So the
 * hashes of all prefixes of a path cost one walk over it, not one walk each. */
struct hash_stream {
    uint64_t sum;
    uint64_t tail; /* the bytes behind the last whole word */
    unsigned tail_len;
};

void hash_stream_begin(struct hash_stream *s, uint64_t salt);
void hash_stream_add(struct hash_stream *s, const void *data, size_t len);
uint64_t hash_stream_value(const struct hash_stream *s);

#endif
