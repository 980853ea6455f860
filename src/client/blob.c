/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c - a session on its way from one handle to the next.
 *
 *   int magic | int version | long session | buffer password | int timeout | long zxid |
 *   buffer extra | places (place.h) | chores (background.h)
 *
 * Folders and paths are the server's. */
#include "client/blob.h"

#include <string.h>

#include "client/background.h"
#include "client/engine.h"

enum { BLOB_MAGIC = 0x5041574c, BLOB_VERSION = 3 };

struct blob {
    int64_t session_id, last_zxid;
    int32_t timeout_ms;
    struct bytes password, extra;
    struct jute_reader places;
};

/* ---- writing ---- */

void blob_write(const struct engine *e, struct bytes extra, struct strbuf *out)
{
    const struct core *c = e->core;

    jute_write_int(out, BLOB_MAGIC);
    jute_write_int(out, BLOB_VERSION);
    jute_write_long(out, c->session_id);
    jute_write_buffer(out, bytes_of(c->password, PASSWORD_BYTES));
    jute_write_int(out, c->timeout_ms);
    jute_write_long(out, c->last_zxid);
    jute_write_buffer(out, extra);
    places_write(&e->places, c->session_id, out);
    background_write(e, out);
}

/* ---- reading ---- */

static bool read_blob(struct bytes b, struct blob *out)
{
    struct jute_reader r = jute_reader_of(b);

    if (jute_read_int(&r) != BLOB_MAGIC || jute_read_int(&r) != BLOB_VERSION) {
        return false;
    }
    out->session_id = jute_read_long(&r);
    out->password = jute_read_buffer(&r);
    out->timeout_ms = jute_read_int(&r);
    out->last_zxid = jute_read_long(&r);
    out->extra = jute_read_buffer(&r);
    out->places = r;
    return !r.failed && out->password.len == PASSWORD_BYTES && out->session_id != 0;
}

int pawl_blob_extra(struct pawl_bytes blob, struct pawl_bytes *extra)
{
    struct blob b;

    if (!read_blob(bytes_of(blob.data, blob.len), &b)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    *extra = (struct pawl_bytes){b.extra.data, b.extra.len};
    return 0;
}

int blob_attach(struct engine *e, struct pawl_bytes blob)
{
    struct core *c = e->core;
    struct blob b;
    int rc;

    if (blob.data == NULL) {
        return 0;
    }
    if (!read_blob(bytes_of(blob.data, blob.len), &b)) {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    c->session_id = b.session_id;
    rc = places_read(&e->places, b.session_id, &b.places);
    rc = rc != 0 ? rc : background_read(e, &b.places);
    c->session_is_real = true;
    memcpy(c->password, b.password.data, PASSWORD_BYTES);
    c->last_zxid = c->newest_zxid = b.last_zxid;
    return rc;
}
