/* SPDX-License-Identifier: Apache-2.0 */
/* tar_nodes.h - the nodes of a tar; exported.h tells how they stand there. A tar of anybody else's
 * will do as well: its files are nodes with data, its folders nodes without. */
#ifndef PAWL_CLI_TAR_NODES_H
#define PAWL_CLI_TAR_NODES_H

#include "cli/import_line.h"
#include "cli/tar.h"

struct tar_nodes {
    struct tar_reader tar;
    bool without_acls;
    bool has_ended;
    struct imported held; /* a folder's data may follow it; no path: there is none */
    struct strbuf why;
};

void tar_nodes_init(struct tar_nodes *t, FILE *file, size_t limit_bytes, bool without_acls);
void tar_nodes_fini(struct tar_nodes *t);

/* NULL: `*out` is the next node, or it was the last one: it has no path. Otherwise what is wrong,
 * in words, until the next call. imported_fini() in any case. */
const char *tar_nodes_next(struct tar_nodes *t, struct imported *out);

#endif
