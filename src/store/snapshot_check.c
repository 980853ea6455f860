/* SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot_check.h"

#include <stdbool.h>

#include "pawl/error.h"
#include "store/snapshot_format.h"
#include "store/snapshot_source.h"
#include "store/snapshot_stream.h"

enum { HEADER_BYTES = 16, SEAL_BYTES = 8 + 4 + 1 };

static bool has_header(struct snapshot_source *s)
{
    const uint8_t *p = source_peek(s, HEADER_BYTES);

    if (p == NULL || load_u32(p) != SNAPSHOT_MAGIC || load_u32(p + 4) != SNAPSHOT_VERSION) {
        return false;
    }
    s->at += HEADER_BYTES;
    return true;
}

/* Up to the seal: the scanner takes what follows the body for a signature, which a file has none
 * of, so the first byte that is no longer the body's is where the seal begins. */
static const char *pass_body(struct snapshot_source *s, size_t limit_bytes)
{
    struct snapshot_stream stream;
    size_t used = 0, body = 0;

    snapshot_stream_init(&stream, limit_bytes, 0);
    while (source_peek(s, 1) != NULL) {
        enum stream_read found =
            snapshot_stream_feed(&stream, bytes_of(s->at, (size_t)(s->end - s->at)), &used, &body);

        s->at += body;
        if (used > body) {
            return NULL;
        }
        if (found == STREAM_BAD) {
            return stream.reason;
        }
    }
    return "the file is cut short";
}

static const char *check_seal(struct snapshot_source *s)
{
    uint32_t sum = source_sum(s);
    const uint8_t *p = source_peek(s, SEAL_BYTES);

    if (p == NULL) {
        return "the file is cut short";
    }
    return load_u64(p) == sum && load_u32(p + 8) == 1 && p[12] == '/'
               ? NULL
               : "its checksum is not that of its bytes";
}

int snapshot_check(struct disk *disk, const char *path, size_t limit_bytes, const char **reason)
{
    struct snapshot_source s;
    struct disk_file *file;
    int rc = disk_open(disk, path, DISK_READ, &file);

    if (rc != PAWL_OK) {
        return rc;
    }
    source_init(&s, file, snapshot_codec_of(path));
    *reason = has_header(&s) ? pass_body(&s, limit_bytes) : "it is no snapshot";
    if (*reason == NULL) {
        *reason = check_seal(&s);
    }
    *reason = s.bad ? "the compressed data is broken" : *reason;
    rc = s.error != PAWL_OK ? s.error : *reason != NULL ? PAWL_ERR_CORRUPT : PAWL_OK;
    source_fini(&s);
    return rc;
}
