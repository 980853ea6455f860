/* SPDX-License-Identifier: Apache-2.0 */
#include "server/digest_log.h"

void digest_log_append(struct digest_log *l, int64_t zxid, uint64_t digest)
{
    l->entries[(l->first + l->count) % DIGEST_LOG_LIMIT] = (struct digest_entry){zxid, digest};
    if (l->count < DIGEST_LOG_LIMIT) {
        l->count++;
    } else {
        l->first = (l->first + 1) % DIGEST_LOG_LIMIT;
    }
}
