/* SPDX-License-Identifier: Apache-2.0 */
/* data_dirs.h - the folders of a server: snapshots and logs, in one or in two. */
#ifndef PAWL_CLI_FILES_DATA_DIRS_H
#define PAWL_CLI_FILES_DATA_DIRS_H

#include "cli/args.h"
#include "cli/files/view.h"
#include "store/tree.h"

struct data_dirs {
    struct cli *cli;
    struct view snapshots;
    struct view own_logs; /* if they are elsewhere */
    struct view *logs;
    size_t limit_bytes;
    int64_t differs_zxid; /* of the last data_dirs_tree(): its digest differed here; 0: nowhere */
};

/* For the tables of options. */
#define DATA_DIR_OPTIONS                                                                  \
    {'D', "data-dir", "FOLDER", "the server's dataDir, which has a version-2 in it"},     \
        {'L', "log-dir", "FOLDER", "its dataLogDir, if that is another"},                 \
    {                                                                                     \
        'm', "max-record", "BYTES", "the longest data there may be; 2097150 if not given" \
    }

/* EXIT_OK, or the failure was reported; data_dirs_close() in either case. */
int data_dirs_open(struct data_dirs *d, struct cli *cli, const struct args *args);

/* The same of folders that are named otherwise; `logs` NULL: both are in one. */
int data_dirs_open_at(struct data_dirs *d, struct cli *cli, const struct args *args,
                      const char *data, const char *logs);
void data_dirs_close(struct data_dirs *d);

/* "0x1f", a time, or "end". EXIT_OK: `*zxid` is the last transaction that had happened by then, of
 * those that the files know. */
int data_dirs_when(struct data_dirs *d, const char *when, int64_t *zxid);

/* The tree right after transaction `zxid`, exactly. EXIT_OK: the tree is the caller's. */
int data_dirs_tree(struct data_dirs *d, int64_t zxid, struct tree **out);

#endif
