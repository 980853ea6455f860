/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot file in each of its three forms. Which one a file is, is said by its name. */
#include "fuzz.h"
#include "memory_disk.h"
#include "store/snapshot_check.h"
#include "store/snapshot_read.h"

static void load(const char *name, struct bytes content)
{
    struct snapshot_read_options options = {.limit_bytes = 1 << 20};
    struct memory_disk disk;
    struct snapshot_info info = {0};
    struct tree *tree;
    const char *reason = NULL;
    char path[64];
    bool whole;
    int rc;

    snprintf(path, sizeof(path), "version-2/%s", name);
    memory_disk_init(&disk, "version-2", name, content);
    snapshot_looks_whole(&disk.disk, path, &whole);
    rc = snapshot_check(&disk.disk, path, options.limit_bytes, &reason);
    MUST((rc == 0) == (reason == NULL));
    if (snapshot_load(&disk.disk, path, &options, &tree, &info) == 0) {
        MUST(rc == 0); /* what makes a tree is whole */
        tree_free(tree);
    } else {
        MUST(info.reason[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"snapshot.1", "snapshot.1.gz", "snapshot.1.snappy"};
    int form = take_choice(&data, &size, 3);

    load(names[form], bytes_of(data, size));
    return 0;
}
