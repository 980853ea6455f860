/* SPDX-License-Identifier: Apache-2.0 */
#include "look/places.h"

#include <string.h>

static const struct mark {
    const char *text;
    enum place_kind kind;
} marks[] = {
    {"lock-", PLACE_LOCK},      {"__lock__", PLACE_LOCK},    {"__READ__", PLACE_RWLOCK},
    {"__WRIT__", PLACE_RWLOCK}, {"__rlock__", PLACE_RWLOCK}, {"lease-", PLACE_SEMAPHORE},
    {"latch-", PLACE_LATCH},
};

static bool ends_with(const char *name, size_t len, const char *end)
{
    size_t n = strlen(end);

    return len >= n && memcmp(name + len - n, end, n) == 0;
}

static bool begins_with(const char *name, const char *begin)
{
    return strncmp(name, begin, strlen(begin)) == 0;
}

/* Ten digits behind a mark. */
enum place_kind place_of(const char *name)
{
    enum { DIGITS = 10 };
    size_t len = strlen(name);

    if (len < DIGITS || strspn(name + len - DIGITS, "0123456789") != DIGITS) {
        return NO_PLACE;
    }
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (ends_with(name, len - DIGITS, marks[i].text)) {
            return marks[i].kind;
        }
    }
    if (begins_with(name, "queue-") || begins_with(name, "qn-") || begins_with(name, "entry-")) {
        return PLACE_QUEUE;
    }
    return NO_PLACE;
}

bool place_is_queued(const char *name)
{
    enum place_kind kind = place_of(name);

    return kind != NO_PLACE && kind != PLACE_QUEUE;
}

static bool has(const struct pawl_strings *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->items[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Readers and writers decide: between them may stand places of an older kind. */
enum place_kind places_of(const struct pawl_strings *children)
{
    enum place_kind found = NO_PLACE;

    for (size_t i = 0; i < children->n && found != PLACE_RWLOCK; i++) {
        enum place_kind kind = place_of(children->items[i]);

        found = kind == PLACE_RWLOCK || found == NO_PLACE ? kind : found;
    }
    if (found == NO_PLACE && children->n <= 8 && has(children, "leases") &&
        has(children, "locks")) {
        found = PLACE_SEMAPHORE;
    }
    return found;
}

const char *place_kind_name(enum place_kind kind)
{
    static const char *const names[] = {"",          "lock",  "read/write lock",
                                        "semaphore", "latch", "queue"};

    return names[kind];
}
