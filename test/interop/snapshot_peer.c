/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_peer.c - the stream behind SNAP, on standard input or output.
 *
 *   snapshot_peer receive DIR ZXID     reads a stream and makes DIR the folder of a server that has
 * it snapshot_peer send DIR             writes the stream of what DIR holds; its zxid to stderr */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "os/disk_posix.h"
#include "store/received.h"
#include "store/recovery.h"
#include "store/snapshot_stream.h"
#include "store/snapshot_walk.h"
#include "wire/jute.h"

static const struct tree_options tree_options = {.extended_types = true};

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "snapshot_peer: %s: %s\n", what, why);
    return 1;
}

static int copy_stream(struct received *r)
{
    static uint8_t bytes[10007]; /* pieces that do not fit anything */
    enum stream_read found = STREAM_SHORT;
    struct snapshot_stream s;
    size_t n, used, body;

    snapshot_stream_init(&s, 0, 0);
    while (found == STREAM_SHORT && (n = fread(bytes, 1, sizeof(bytes), stdin)) > 0) {
        found = snapshot_stream_feed(&s, bytes_of(bytes, n), &used, &body);
        if (found == STREAM_BAD) {
            return fail("bad stream", s.reason);
        }
        if (received_write(r, bytes, body) != 0) {
            return fail("cannot write", "the body");
        }
    }
    return found == STREAM_WHOLE ? 0 : fail("bad stream", "cut short");
}

static int receive_to(struct disk *disk, int64_t zxid)
{
    struct received_options options = {.snapshot_disk = disk,
                                       .log_disk = disk,
                                       .folder = STORE_FOLDER,
                                       .reading.tree = tree_options};
    struct snapshot_info info;
    struct received *r;
    struct tree *tree;

    if (disk_make_folder(disk, STORE_FOLDER) != 0 || received_begin(&options, zxid, &r) != 0) {
        return fail("cannot begin", disk_last_error(disk));
    }
    if (copy_stream(r) != 0) {
        received_abort(r);
        return 1;
    }
    if (received_check(r, &info) != 0) {
        received_abort(r);
        return fail("cannot be loaded", info.reason);
    }
    if (received_finish(r, &tree) != 0) {
        return fail("cannot finish", disk_last_error(disk));
    }
    printf("%" PRId64 " nodes, %zu sessions\n", tree_count(tree), tree_n_sessions(tree));
    tree_free(tree);
    return 0;
}

static int send_from(struct disk *disk)
{
    struct recovery_options options = {.tree = tree_options, .read_only = true};
    struct recovery_report report;
    struct snapshot_taker *taker;
    struct snapshot_chunk *chunk;
    struct snapshot_walk *walk;
    struct strbuf signature;
    struct tree *tree;

    if (recovery_load(disk, disk, &options, &tree, &report) != 0) {
        return fail("cannot load", report.error);
    }
    walk = snapshot_walk_begin(tree, report.last_zxid);
    taker = snapshot_walk_join(walk, SIZE_MAX);
    while (!snapshot_walk_step(walk, 1000, SIZE_MAX)) {
    }
    while ((chunk = snapshot_taker_take(taker)) != NULL) {
        fwrite(chunk->data, 1, chunk->len, stdout);
        snapshot_chunk_free(chunk);
    }
    strbuf_init(&signature, STRBUF_NO_LIMIT);
    jute_write_str(&signature, SNAPSHOT_SIGNATURE);
    fwrite(signature.data, 1, signature.len, stdout);
    fprintf(stderr, "%" PRIx64 "\n", (uint64_t)report.last_zxid);
    strbuf_fini(&signature);
    snapshot_taker_free(taker);
    snapshot_walk_free(walk);
    tree_free(tree);
    return 0;
}

int main(int argc, char **argv)
{
    struct disk *disk;
    int rc;

    if (argc < 3 || disk_posix_open(argv[2], true, &disk) != 0) {
        return fail("usage", "receive DIR ZXID | send DIR");
    }
    rc = strcmp(argv[1], "send") == 0
             ? send_from(disk)
             : receive_to(disk, (int64_t)strtoll(argc > 3 ? argv[3] : "0", NULL, 16));
    disk_posix_close(disk);
    return rc;
}
