/* SPDX-License-Identifier: Apache-2.0 */
/* id_set.h - how many different ids there are among many.
 *
 * They are noted as they come and sorted when there is no room left, so repeats cost little and
 * take no memory for long. */
#ifndef PAWL_CLI_FILES_ID_SET_H
#define PAWL_CLI_FILES_ID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_set {
    int64_t *ids; /* some of them more than once */
    size_t n, capacity, limit;
    bool is_full; /* there are more than were counted */
};

/* Keeps up to `limit` of them; when more than half of these are different it is full. */
void id_set_init(struct id_set *s, size_t limit);
void id_set_fini(struct id_set *s);

void id_set_add(struct id_set *s, int64_t id);

/* The different ones so far; if it is full, there are at least so many. */
size_t id_set_count(struct id_set *s);

#endif
