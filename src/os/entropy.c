/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/entropy.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/hash.h"

void entropy_fill(void *out, size_t len)
{
    uint8_t *to = out;

    while (len > 0) {
        ssize_t n = getrandom(to, len, 0);

        ASSERT(n > 0 || errno == EINTR);
        if (n > 0) {
            to += n;
            len -= (size_t)n;
        }
    }
}

static void entropy_draw_key(void)
{
    uint64_t key[HASH_KEY_WORDS];

    entropy_fill(key, sizeof(key));
    hash_set_key(key);
}

void entropy_key_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, entropy_draw_key);
}
