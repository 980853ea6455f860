/* SPDX-License-Identifier: Apache-2.0 */
/* record_text.h - what is in files, as lines of text and as JSON. */
#ifndef PAWL_CLI_FILES_RECORD_TEXT_H
#define PAWL_CLI_FILES_RECORD_TEXT_H

#include <stdbool.h>

#include <pawl/types.h>

#include "wire/txn.h"

static inline struct pawl_bytes shown(struct bytes b)
{
    return (struct pawl_bytes){b.data, b.len};
}

/* "2026-11-15 02:25:03.412 0x100000003 session 0x300001043910000 cxid 0x4 create /app, 5 bytes",
 * with the operations of a multi on lines of their own. */
void txn_print(const struct txn *txn, bool with_data);

/* The members of an object that is open already. */
void txn_json(const struct txn *txn);

/* The same for one operation of it, which is all that is of interest. */
void txn_op_print(const struct txn_header *header, const struct txn_op *op, bool with_data);
void txn_op_json(const struct txn_header *header, const struct txn_op *op);

/* "world:anyone:cdrwa,digest:..." */
void acl_list_print(const struct acl_list *list);
void acl_list_json(const char *name, const struct acl_list *list);

/* "'data'", without what would confuse a terminal; "no data" for null. */
void data_print(struct bytes data);

#endif
