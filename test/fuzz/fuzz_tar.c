/* SPDX-License-Identifier: Apache-2.0 */
/* A tar for pawl import: each entry is a node, or it is said why not. */
#define _POSIX_C_SOURCE 200809L
#include "cli/tar_nodes.h"
#include "fuzz.h"
#include "wire/path.h"

enum { LIMIT_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool without_acls = take_choice(&data, &size, 2) == 1, is_last;
    FILE *file = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
    struct tar_nodes nodes;
    const char *why;

    if (file == NULL) {
        return 0;
    }
    tar_nodes_init(&nodes, file, LIMIT_BYTES, without_acls);
    do {
        struct imported n;

        why = tar_nodes_next(&nodes, &n);
        is_last = n.path == NULL;
        if (why == NULL && !is_last) {
            MUST(path_is_valid(bytes_str(n.path)));
            MUST(n.has_data || n.data.len == 0);
            MUST(n.data.len <= LIMIT_BYTES);
            MUST(n.sequence >= 0 && n.ttl_ms >= 0);
        }
        imported_fini(&n);
    } while (why == NULL && !is_last);
    tar_nodes_fini(&nodes);
    fclose(file);
    return 0;
}
