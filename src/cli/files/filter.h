/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - which transactions and which nodes are wanted. */
#ifndef PAWL_CLI_FILES_FILTER_H
#define PAWL_CLI_FILES_FILTER_H

#include "base/bytes.h"
#include "cli/args.h"
#include "cli/files/when.h"
#include "wire/txn.h"

struct filter {
    struct span zxids, times;
    const char *path; /* it and what is below it; NULL: any */
    bool has_session;
    int64_t session;
};

/* For the tables of options. */
#define FILTER_RANGE_OPTIONS                                                                   \
    {'z', "zxid", "RANGE", "only these: 0x1f, 0x1f..0x2f, 0x1f.. or ..0x2f"},                  \
        {'t', "time", "RANGE", "only then: 2026-11-16, '2026-11-16 14:30..2026-11-16 15:00'"}, \
    {                                                                                          \
        'S', "session", "ID", "only what this session did or owns"                             \
    }
#define FILTER_OPTIONS                                                      \
    FILTER_RANGE_OPTIONS,                                                   \
    {                                                                       \
        'p', "path", "PATH", "only what concerns this node or one below it" \
    }

/* False: an option is wrong, which was reported. */
bool filter_read(struct filter *f, const struct cli *cli, const struct args *args);
bool filter_read_ranges(struct filter *f, const struct cli *cli, const struct args *args);

bool filter_has_zxid(const struct filter *f, int64_t zxid);
bool filter_has_time(const struct filter *f, int64_t time_ms);
bool filter_has_path(const struct filter *f, struct bytes path);
bool filter_has_session(const struct filter *f, int64_t session);
bool filter_has_txn(const struct filter *f, const struct txn *txn);

/* Called for each operation that has a path, those inside a multi as well, and for each node that
 * the end of a session deletes (its type is TXN_DELETE then). False ends it. */
typedef bool (*txn_path_fn)(const struct txn_op *op, struct bytes path, void *arg);
void txn_each_path(const struct txn *txn, txn_path_fn fn, void *arg);

#endif
