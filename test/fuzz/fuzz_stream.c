/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot as another server sends it: wherever it is cut into pieces, the scanner comes to the
 * same result at the same place. */
#include "fuzz.h"
#include "store/snapshot_stream.h"

enum { LIMIT_BYTES = 1 << 16 };

struct result {
    enum stream_read found;
    size_t used;
    size_t body;
};

static struct result scan(struct bytes input, size_t piece)
{
    struct result r = {.found = STREAM_SHORT};
    struct snapshot_stream s;

    snapshot_stream_init(&s, LIMIT_BYTES, 0);
    while (r.found == STREAM_SHORT && r.used < input.len) {
        size_t n = input.len - r.used < piece ? input.len - r.used : piece;
        size_t used, body;

        r.found = snapshot_stream_feed(&s, bytes_of(input.data + r.used, n), &used, &body);
        MUST(used <= n && body <= used);
        MUST(used == n || r.found != STREAM_SHORT);
        r.used += used;
        r.body += body;
    }
    MUST((r.found == STREAM_BAD) == (s.reason != NULL));
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t piece = 1 + (size_t)take_choice(&data, &size, 64);
    struct result once = scan(bytes_of(data, size), SIZE_MAX);
    struct result again = scan(bytes_of(data, size), piece);

    MUST(once.found == again.found && once.used == again.used && once.body == again.body);
    return 0;
}
