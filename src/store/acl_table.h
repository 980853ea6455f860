/* SPDX-License-Identifier: Apache-2.0 */
/* acl_table.h - each distinct ACL once, under a number, with the count of its uses.
 *
 * Number 0 is the open ACL (world:anyone:all) that files call -1; others start at 1. A list is
 * kept in its encoded form, vector count included, which is also its key. */
#ifndef PAWL_STORE_ACL_TABLE_H
#define PAWL_STORE_ACL_TABLE_H

#include <stdint.h>

#include "base/bytes.h"
#include "wire/records.h"

struct acl_table;

enum { ACL_OPEN = 0 };

struct acl_table *acl_table_new(void);
void acl_table_free(struct acl_table *t);

/* The number of this encoded list, made if it is new, with one more use. */
uint32_t acl_table_take(struct acl_table *t, struct bytes encoded);
void acl_table_ref(struct acl_table *t, uint32_t id);

/* One use less; at none the list is forgotten and its number free. */
void acl_table_release(struct acl_table *t, uint32_t id);

/* Changes whenever a number has become free: until then a number stands for the same list. */
uint64_t acl_table_generation(const struct acl_table *t);

/* The list, for acl_list_read(). Good until its last use is released. An id that is not there (a
 * fuzzy snapshot may name one) has an empty list, as if nobody had any permission: see acl_known.
 */
struct bytes acl_table_get(const struct acl_table *t, uint32_t id);
bool acl_table_known(const struct acl_table *t, uint32_t id);

/* Permissions that everybody has: the union over its world:anyone entries. */
int32_t acl_table_world_perms(const struct acl_table *t, uint32_t id);

/* For the snapshot: ids above 0 in use. */
typedef void (*acl_table_fn)(uint32_t id, struct bytes encoded, void *arg);
void acl_table_each(const struct acl_table *t, acl_table_fn fn, void *arg);
size_t acl_table_count(const struct acl_table *t);

#endif
