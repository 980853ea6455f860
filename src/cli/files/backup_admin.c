/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/backup_admin.h"

#include <inttypes.h>

#include "cli/files/when.h"
#include "cli/http.h"

enum { SILENCE_MS = 10 * 60 * 1000 }; /* while the server takes it, nothing comes */

static int take(void *arg, const void *data, size_t len)
{
    struct archive *a = arg;

    return cli_signal() != 0 ? EXIT_SIGNAL + cli_signal() : archive_receive(a, data, len);
}

static int ask(struct archive *a, const char *place, int64_t *zxid)
{
    struct http_request q = {.place = place,
                             .method = "GET",
                             .path = "/commands/snapshot?streaming=true",
                             .silence_ms = SILENCE_MS};
    struct http_head head;
    int status = http_ask(a->cli, &q, take, a, &head);

    if (status == EXIT_OK && !zxid_parse(head.last_zxid, zxid)) {
        cli_error(a->cli, "%s: sends no snapshot: it does not serve, or is older than 3.9", place);
        return EXIT_REFUSED;
    }
    return status;
}

int backup_admin(struct archive *into, const char *place, size_t limit_bytes)
{
    int64_t zxid = -1;
    int status = archive_receive_begin(into);

    if (status == EXIT_OK) {
        status = ask(into, place, &zxid);
    }
    status = archive_receive_end(into, zxid, limit_bytes, status);
    return status == EXIT_OK ? archive_commit(into) : status;
}
