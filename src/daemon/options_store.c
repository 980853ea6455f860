/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from options.c: tools that look at a server's files want to read them as it does, without
 * the rest of a server. */
#include "daemon/options.h"

#include "daemon/config.h"

enum snapshot_codec options_codec(const struct config *c)
{
    switch (c->store.snapshot_compression) {
    case CONFIG_COMPRESS_GZIP:
        return SNAPSHOT_GZIP;
    case CONFIG_COMPRESS_SNAPPY:
        return SNAPSHOT_SNAPPY;
    default:
        return SNAPSHOT_PLAIN;
    }
}

void options_for_recovery(const struct config *c, struct recovery_options *out)
{
    *out = (struct recovery_options){
        .tree = {.extended_types = c->server.extended_types,
                 .emulate_353_ttl = c->server.ttl_as_in_353,
                 .no_digest = !c->store.digest},
        .limit_bytes =
            (size_t)c->server.max_packet_bytes + (size_t)c->server.max_packet_extra_bytes,
        .trust_empty = c->store.trust_empty_snapshot,
        .accept_loss = c->store.accept_loss,
        .no_autocreate = !c->ensemble.db_autocreate,
        .no_make_folders = !c->store.autocreate,
        .codec = options_codec(c),
    };
}

void options_for_txnlog(const struct config *c, struct txnlog_options *out)
{
    *out = (struct txnlog_options){
        .folder = STORE_FOLDER,
        .preallocate_bytes =
            c->store.preallocate_bytes > 0 ? (uint64_t)c->store.preallocate_bytes : 0,
        .size_limit_bytes =
            c->store.txnlog_size_limit_bytes > 0 ? (uint64_t)c->store.txnlog_size_limit_bytes : 0,
        .force_sync = c->store.force_sync,
    };
}
