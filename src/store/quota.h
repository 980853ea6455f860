/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - limits on subtrees, and what is used of them.
 *
 * A quota on P is two ordinary nodes below /zookeeper/quota<P>: zookeeper_limits, written by an
 * administrator, and zookeeper_stats, whose data the server keeps current without touching its
 * Stat. The deepest quota above a node counts; nested ones are not summed, and "/" has none. */
#ifndef PAWL_STORE_QUOTA_H
#define PAWL_STORE_QUOTA_H

#include "store/tree.h"

struct quota;

/* Knows the quotas that are in `tree` now and recomputes their usage. */
struct quota *quota_new(struct tree *tree);
void quota_free(struct quota *q);

/* Called by apply after each change. `bytes` is the length of the data that came or went; for a
 * change of data the difference. */
void quota_created(struct quota *q, struct bytes path, int64_t bytes);
void quota_deleted(struct quota *q, struct bytes path, int64_t bytes);
void quota_data_changed(struct quota *q, struct bytes path, int64_t bytes);

/* Whether a change at `path` by so many bytes and nodes stays within the hard limits: PAWL_OK,
 * PAWL_ERR_QUOTA_EXCEEDED, or PAWL_ERR_MARSHALLING when the limits cannot be understood. Looks at
 * committed usage only. */
int quota_check(const struct quota *q, struct bytes path, int64_t bytes, int64_t count);

/* For the metrics: each quota's path with its limits and usage, -1 where unset. */
struct quota_row {
    struct bytes path;
    int64_t count_limit, bytes_limit; /* the hard one if there is one */
    int64_t count, bytes;
};
typedef void (*quota_row_fn)(const struct quota_row *row, void *arg);
void quota_each(const struct quota *q, quota_row_fn fn, void *arg);

#endif
