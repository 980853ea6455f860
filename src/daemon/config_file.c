/* SPDX-License-Identifier: Apache-2.0 */
/* config_file.c - a whole file in memory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/config_internal.h"
#include "pawl/error.h"

enum { FILE_LIMIT_BYTES = 1024 * 1024 };

static int config_file_read_all(FILE *file, struct strbuf *out)
{
    char chunk[4096];
    size_t n;

    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        strbuf_append(out, chunk, n);
    }
    if (out->failed) {
        errno = EFBIG;
    }
    return ferror(file) || out->failed ? PAWL_ERR_IO : 0;
}

int config_load(const char *path, struct strbuf *out, struct config_lines *errors)
{
    FILE *file = fopen(path, "re");
    int rc = file != NULL ? 0 : PAWL_ERR_NOT_FOUND;

    strbuf_init(out, FILE_LIMIT_BYTES);
    if (rc == 0) {
        rc = config_file_read_all(file, out);
    }
    if (rc != 0) {
        config_lines_add(errors, "%s: cannot be read: %s", path, strerror(errno));
        strbuf_fini(out);
        rc = PAWL_ERR_CONFIG;
    }
    if (file != NULL) {
        fclose(file);
    }
    return rc;
}
