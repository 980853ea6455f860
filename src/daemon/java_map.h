/* SPDX-License-Identifier: Apache-2.0 */
/* java_map.h - pairs in the order in which Java gives them out.
 *
 * A java.util.Properties is, since Java 9, a ConcurrentHashMap of 16 buckets at first, doubled at
 * three quarters. What Apache's server writes from one stands in that order, which depends on the
 * keys and on the order in which they were put. Here is as much of it as the order needs; buckets
 * that Java would make trees of (eight keys of one hash) stay lists. */
#ifndef PAWL_DAEMON_JAVA_MAP_H
#define PAWL_DAEMON_JAVA_MAP_H

#include <stddef.h>

struct java_map;

struct java_map *java_map_new(void);
void java_map_free(struct java_map *m);

/* Both are copied. A key that is there keeps its place, and gets the value. */
void java_map_put(struct java_map *m, const char *key, const char *value);

typedef void (*java_map_fn)(void *arg, const char *key, const char *value);
void java_map_each(const struct java_map *m, java_map_fn each, void *arg);

#endif
