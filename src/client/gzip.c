/* SPDX-License-Identifier: Apache-2.0 */
#include "client/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/strbuf.h"
#include "pawl/error.h"

enum { GZIP_WINDOW = 15 + 16, HEADER_AND_TRAILER = 18 };

int gzip_pack(struct bytes in, uint8_t **out, size_t *len)
{
    z_stream z = {0};
    size_t most;

    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return PAWL_ERR_NO_MEMORY;
    }
    most = deflateBound(&z, in.len) + HEADER_AND_TRAILER;
    *out = malloc(most);
    if (*out == NULL) {
        deflateEnd(&z);
        return PAWL_ERR_NO_MEMORY;
    }
    z.next_in = (uint8_t *)(uintptr_t)in.data;
    z.avail_in = (uInt)in.len;
    z.next_out = *out;
    z.avail_out = (uInt)most;
    (void)deflate(&z, Z_FINISH); /* it fits: that is what the bound is for */
    *len = most - z.avail_out;
    deflateEnd(&z);
    return 0;
}

static int unpack(z_stream *z, size_t limit, struct strbuf *out)
{
    int rc = Z_OK;

    while (rc == Z_OK) {
        if (out->len > limit) {
            return PAWL_ERR_TOO_LARGE;
        }
        if (!strbuf_reserve(out, 4096)) {
            return PAWL_ERR_NO_MEMORY;
        }
        z->next_out = out->data + out->len;
        z->avail_out = (uInt)(out->capacity - out->len);
        rc = inflate(z, Z_NO_FLUSH);
        out->len = out->capacity - z->avail_out;
        if (rc == Z_OK && z->avail_in == 0 && z->avail_out > 0) {
            return PAWL_ERR_DATA_INCONSISTENCY; /* it ends too early */
        }
    }
    return rc == Z_STREAM_END && z->avail_in == 0 ? 0 : PAWL_ERR_DATA_INCONSISTENCY;
}

int gzip_unpack(struct bytes in, size_t limit, uint8_t **out, size_t *len)
{
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)in.data, .avail_in = (uInt)in.len};
    struct strbuf b;
    int rc;

    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK) {
        return PAWL_ERR_NO_MEMORY;
    }
    strbuf_init(&b, STRBUF_NO_LIMIT);
    rc = unpack(&z, limit, &b);
    inflateEnd(&z);
    if (rc != 0) {
        strbuf_fini(&b);
        return rc;
    }
    *out = b.data;
    *len = b.len;
    return 0;
}
