/* SPDX-License-Identifier: Apache-2.0 */
/* contender_order.c - the order of a queue, by the names of its nodes, and whose turn it is. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "recipes/core/contender.h"

/* ---- the order ---- */

const char *contender_key(const char *name, const char *marker, const char *also)
{
    const char *found = NULL, *at;

    for (at = strstr(name, marker); at != NULL; at = strstr(at + 1, marker)) {
        found = at;
    }
    for (at = also == NULL ? NULL : strstr(name, also); at != NULL; at = strstr(at + 1, also)) {
        found = found == NULL || at > found ? at : found;
    }
    return found == NULL ? name : found + strlen(marker);
}

static const char *key_of(const struct contender *c, const char *name)
{
    if (c->o.rule != NULL && c->o.rule->order_key != NULL) {
        return c->o.rule->order_key(c, name);
    }
    return contender_key(name, c->o.marker, c->o.also);
}

/* As the server writes them: filled up with zeros to ten characters, of which a sign is one. */
static bool is_sequence(const char *key, int32_t *out)
{
    bool negative = *key == '-';
    const char *digits = key + negative;
    int64_t value = 0;
    int n = 0;

    for (; n < 10 && isdigit((unsigned char)digits[n]); n++) {
        value = value * 10 + (digits[n] - '0');
    }
    value = negative ? -value : value;
    *out = (int32_t)value;
    return digits[n] == '\0' && n + negative >= 10 && value >= INT32_MIN && value <= INT32_MAX;
}

bool contender_before(const struct contender *c, const char *a, const char *b)
{
    const char *x = key_of(c, a), *y = key_of(c, b);
    int32_t m, n;

    if (is_sequence(x, &m) && is_sequence(y, &n)) {
        return (int32_t)((uint32_t)m - (uint32_t)n) < 0;
    }
    return strcmp(x, y) < 0;
}

/* A merge sort: qsort() hands no argument through, and an order with wrapped numbers and foreign
 * names in it need not be one; this one cannot go astray. */
void contender_sort(const struct contender *c, const char **names, const char **spare, size_t n)
{
    size_t m = n / 2, i = 0, j = m;

    if (n < 2) {
        return;
    }
    contender_sort(c, names, spare, m);
    contender_sort(c, names + m, spare, n - m);
    for (size_t k = 0; k < n; k++) {
        bool left = j == n || (i < m && !contender_before(c, names[j], names[i]));

        spare[k] = left ? names[i++] : names[j++];
    }
    memcpy(names, spare, n * sizeof(*names));
}

char *contender_own_path(const struct contender *c, const char *place)
{
    size_t marker = strlen(c->o.marker), len = place == NULL ? 0 : strlen(place);
    char *name = malloc(marker + len + 1), *path = NULL;

    if (name != NULL) {
        memcpy(name, c->o.marker, marker + 1);
        if (place != NULL) {
            memcpy(name + marker, place, len + 1);
        }
        path = recipe_join(c->o.base, name);
    }
    free(name);
    return path;
}

/* ---- whose turn it is ---- */

bool contender_find(const struct pawl_strings *names, const char *name, size_t *at)
{
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->items[i], name) == 0) {
            *at = i;
            return true;
        }
    }
    return false;
}

bool contender_is_first(const struct contender *c, const struct pawl_strings *names, size_t own,
                        size_t *watch)
{
    bool first = true;

    for (size_t i = 0; i < names->n; i++) {
        if (i != own && contender_before(c, names->items[i], names->items[own]) &&
            (first || contender_before(c, names->items[*watch], names->items[i]))) {
            *watch = i;
            first = false;
        }
    }
    return first;
}

/* The first `permits` hold. The others watch as many as that just ahead: before less than so many
 * are left one of these must go, whichever it is. */
static bool is_among_first(const struct contender *c, size_t own, size_t *watch, size_t *n_watch)
{
    size_t permits = (size_t)c->o.permits;

    *watch = own < permits ? own : own - permits;
    *n_watch = permits;
    return own < permits;
}

bool contender_may_hold(const struct contender *c, const struct pawl_strings *sorted, size_t own,
                        size_t *watch, size_t *n_watch)
{
    bool custom = c->o.rule != NULL && c->o.rule->holds != NULL;
    bool holds;

    ASSERT(own < sorted->n);
    if (!custom) {
        return is_among_first(c, own, watch, n_watch);
    }
    holds = c->o.rule->holds(c, sorted, own, watch);
    *watch = *watch < sorted->n ? *watch : 0;
    *n_watch = 1;
    return holds;
}

bool contender_number_is_shared(const struct contender *c, const struct pawl_strings *names,
                                size_t own)
{
    int32_t number;

    if (!is_sequence(key_of(c, names->items[own]), &number) || number != INT32_MAX) {
        return false;
    }
    for (size_t i = 0; i < names->n; i++) {
        if (i != own && is_sequence(key_of(c, names->items[i]), &number) && number == INT32_MAX) {
            return true;
        }
    }
    return false;
}
