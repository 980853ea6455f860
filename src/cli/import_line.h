/* SPDX-License-Identifier: Apache-2.0 */
/* import_line.h - a node as pawl export prints it: a line of JSON (exported.h). */
#ifndef PAWL_CLI_IMPORT_LINE_H
#define PAWL_CLI_IMPORT_LINE_H

#include <stdbool.h>

#include <pawl/types.h>

#include "base/strbuf.h"

struct imported {
    char *path; /* as it stands there: it begins with / and is valid */
    struct strbuf data;
    bool has_data;
    struct pawl_acls acls;
    bool is_ephemeral, is_container;
    int64_t ttl_ms;   /* 0: none */
    int64_t sequence; /* the number of its next sequential child; 0: it has had none */
};

/* A node without a path; it need not be freed. */
void imported_init(struct imported *n);

/* NULL: it is good. Otherwise what is wrong with it, in words. imported_fini() in either case. */
const char *imported_parse(const char *text, size_t len, bool without_acls, struct imported *out);

/* The same for a node whose path and data are known from elsewhere: all but these. */
const char *imported_parse_marks(const char *text, size_t len, bool without_acls,
                                 struct imported *out);

void imported_fini(struct imported *n);

#endif
