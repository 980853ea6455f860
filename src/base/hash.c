/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"

static uint64_t the_key[2] = {0x736f6d6570736575u, 0x646f72616e646f6du};
static atomic_bool the_key_stands;

void hash_set_key(uint64_t k0, uint64_t k1)
{
    ASSERT(!atomic_load(&the_key_stands));
    the_key[0] = k0;
    the_key[1] = k1;
}

void hash_fix_key(void)
{
    if (!atomic_load_explicit(&the_key_stands, memory_order_relaxed)) {
        atomic_store(&the_key_stands, true);
    }
}

static inline uint64_t hash_rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void hash_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = hash_rotate(v[1], 13) ^ v[0];
    v[0] = hash_rotate(v[0], 32);
    v[2] += v[3];
    v[3] = hash_rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = hash_rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = hash_rotate(v[1], 17) ^ v[2];
    v[2] = hash_rotate(v[2], 32);
}

static inline void hash_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    hash_round(v);
    v[0] ^= word;
}

/* The salt is the first word of what is hashed, and counts in its length. */
static inline void hash_start(uint64_t v[4], uint64_t salt)
{
    v[0] = the_key[0] ^ 0x736f6d6570736575u;
    v[1] = the_key[1] ^ 0x646f72616e646f6du;
    v[2] = the_key[0] ^ 0x6c7967656e657261u;
    v[3] = the_key[1] ^ 0x7465646279746573u;
    hash_word(v, salt);
}

static inline uint64_t hash_end(uint64_t v[4], uint64_t tail, size_t len)
{
    hash_word(v, tail | (uint64_t)(len + 8) << 56);
    v[2] ^= 0xff;
    hash_round(v);
    hash_round(v);
    hash_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t salt)
{
    const uint8_t *p = data;
    uint64_t v[4], word;
    size_t left = len;

    hash_start(v, salt);
    for (; left >= 8; left -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash_word(v, word);
    }
    word = 0;
    if (left > 0) {
        memcpy(&word, p, left);
    }
    return hash_end(v, word, len);
}

uint64_t hash_u64(uint64_t x)
{
    uint64_t v[4];

    hash_start(v, x);
    return hash_end(v, 0, 0);
}

void hash_stream_begin(struct hash_stream *s, uint64_t salt)
{
    hash_start(s->v, salt);
    s->tail = 0;
    s->len = 0;
}

void hash_stream_add(struct hash_stream *s, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint8_t *tail = (uint8_t *)&s->tail;

    for (size_t i = 0; i < len; i++) {
        tail[s->len++ % 8] = p[i];
        if (s->len % 8 == 0) {
            hash_word(s->v, s->tail);
            s->tail = 0;
        }
    }
}

uint64_t hash_stream_value(const struct hash_stream *s)
{
    uint64_t v[4];

    memcpy(v, s->v, sizeof(v));
    return hash_end(v, s->tail, s->len);
}
