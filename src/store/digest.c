/* SPDX-License-Identifier: Apache-2.0 */
#include "store/digest.h"

#include "base/checksum.h"

static void lay_out(uint8_t *p, const struct stat_persisted *s)
{
    store_u64(p, (uint64_t)s->czxid);
    store_u64(p + 8, (uint64_t)s->mzxid);
    store_u64(p + 16, (uint64_t)s->pzxid);
    store_u64(p + 24, (uint64_t)s->ctime);
    store_u64(p + 32, (uint64_t)s->mtime);
    store_u32(p + 40, (uint32_t)s->version);
    store_u32(p + 44, (uint32_t)s->cversion);
    store_u32(p + 48, (uint32_t)s->aversion);
    store_u64(p + 52, (uint64_t)s->ephemeral_owner);
}

bool node_has_digest(struct bytes path)
{
    return !bytes_starts_with(path, "/zookeeper/");
}

uint32_t node_digest_begin(struct bytes path, struct bytes data)
{
    uint32_t crc = path.len > 1 ? checksum_crc32(0, path.data, path.len) : 0;

    return checksum_crc32(crc, data.data, data.len);
}

uint32_t node_digest_end(uint32_t begun, const struct stat_persisted *s)
{
    uint8_t stat[STAT_PERSISTED_BYTES];

    lay_out(stat, s);
    return checksum_crc32(begun, stat, sizeof(stat));
}

uint32_t node_digest(struct bytes path, struct bytes data, const struct stat_persisted *s)
{
    return node_has_digest(path) ? node_digest_end(node_digest_begin(path, data), s) : 0;
}
