/* SPDX-License-Identifier: Apache-2.0 */
/* A path is valid exactly when its parent and its name are. */
#include "fuzz.h"
#include "wire/path.h"

static void check_valid(struct bytes path)
{
    struct bytes parent = path_parent(path), name = path_name(path);

    MUST(path_has_slash_no_nul(path));
    MUST(path_is_valid(parent));
    MUST(path_is_within(path, parent));
    MUST(path.len == 1 || name.len > 0);
    MUST(name.len == 0 || memchr(name.data, '/', name.len) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes path = bytes_of(data, size);

    path_has_nul(path);
    if (path_is_valid(path)) {
        check_valid(path);
    } else if (path_has_slash_no_nul(path)) {
        MUST(path_parent(path).len <= path.len);
    }
    return 0;
}
