/* SPDX-License-Identifier: Apache-2.0 */
/* talkers.h - who asks most, and for what: the busiest clients, parts of the tree and operations.
 *
 * Always on, and cheap: of about TALKERS_SAMPLE requests one is looked at, at random. Of clients
 * and paths the busiest have a place each; who is new takes that of the least busy, together with
 * its count, which then is how much the new one may be too high ("space saving": nobody with more
 * than n / TALKERS_KEPT of n requests is missing). Counted by the minute: the one that runs, and
 * the one before it. */
#ifndef PAWL_SERVER_TALKERS_H
#define PAWL_SERVER_TALKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/ops.h"

enum { TALKERS_SAMPLE = 64, TALKERS_KEPT = 64, TALKER_NAME_BYTES = 64, TALKERS_MINUTE_MS = 60000 };

struct talker {
    uint32_t hash; /* of the name: most are told apart by it */
    uint32_t len;
    uint8_t name[TALKER_NAME_BYTES]; /* the beginning of it, if it is longer */
    uint64_t n;
    uint64_t over; /* `n` may be so much too high */
};

struct talker_list {
    struct talker items[TALKERS_KEPT];
    size_t count;
};

struct talkers_minute {
    int64_t began_ms;
    uint64_t n; /* requests looked at */
    struct talker_list clients, paths;
    uint64_t ops[N_OPS];
};

struct talkers {
    struct talkers_minute minutes[2];
    int current;
    uint64_t dice;
    uint32_t left; /* until the next that is looked at */
};

void talkers_init(struct talkers *t, uint64_t seed, int64_t now_ms);

/* Whether to look at this request. */
static inline bool talkers_want(struct talkers *t)
{
    return t->left-- == 0;
}

/* It is looked at. `path` null: it is about none; of others the first two names count. */
void talkers_note(struct talkers *t, const struct op *op, struct bytes path, struct bytes client);

/* Time passes. */
void talkers_tick(struct talkers *t, int64_t now_ms);

/* The busiest first, into room for TALKERS_KEPT; how many. */
size_t talkers_sort(const struct talker_list *l, const struct talker **out);

/* The minute that runs, or the one before it. */
static inline const struct talkers_minute *talkers_minute(const struct talkers *t, bool before)
{
    return &t->minutes[before ? 1 - t->current : t->current];
}

#endif
