/* SPDX-License-Identifier: Apache-2.0 */
/* digest_log.h - the digest of the tree at every 128th zxid, the newest 1024 of them.
 *
 * The word `hash` lists them: members whose lists differ have diverged. */
#ifndef PAWL_SERVER_DIGEST_LOG_H
#define PAWL_SERVER_DIGEST_LOG_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_LOG_LIMIT = 1024, DIGEST_LOG_INTERVAL = 128 };

struct digest_entry {
    int64_t zxid;
    uint64_t digest;
};

struct digest_log {
    struct digest_entry entries[DIGEST_LOG_LIMIT]; /* a ring */
    size_t first, count;
};

void digest_log_append(struct digest_log *l, int64_t zxid, uint64_t digest);

/* Whether this is one of the zxids to be noted. */
static inline int digest_log_wants(int64_t zxid)
{
    return (zxid & (DIGEST_LOG_INTERVAL - 1)) == 0;
}

/* The i-th, oldest first. */
static inline const struct digest_entry *digest_log_at(const struct digest_log *l, size_t i)
{
    return &l->entries[(l->first + i) % DIGEST_LOG_LIMIT];
}

#endif
