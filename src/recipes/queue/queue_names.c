/* SPDX-License-Identifier: Apache-2.0 */
#include "recipes/queue/queue_names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "pawl/error.h"

enum { PREFIX_LEN = sizeof(QUEUE_PREFIX) - 1, PRIORITY_DIGITS = 9, NUMBER_DIGITS = 10 };

/* ---- writing ---- */

static int write_id(struct strbuf *out, const char *id)
{
    if (id == NULL || *id == '\0') {
        return PAWL_ERR_BAD_ARGUMENTS;
    }
    strbuf_append(out, "|", 1);
    for (; *id != '\0'; id++) {
        strbuf_append(out, *id == '/' || *id == '|' ? "_" : id, 1);
    }
    strbuf_append(out, "|", 1);
    return 0;
}

int queue_name_write(struct strbuf *out, enum pawl_queue_kind kind, const struct pawl_put *put)
{
    strbuf_append_str(out, QUEUE_PREFIX);
    switch (kind) {
    case PAWL_QUEUE_PLAIN:
        return 0;
    case PAWL_QUEUE_ID:
        return write_id(out, put->id);
    case PAWL_QUEUE_PRIORITY:
        strbuf_printf(out, "%d%08" PRIX32, put->priority >= 0, (uint32_t)put->priority);
        return 0;
    case PAWL_QUEUE_DELAY:
        strbuf_printf(out, "|%08" PRIX64 "|", (uint64_t)put->due_ms);
        return put->due_ms >= 0 ? 0 : PAWL_ERR_BAD_ARGUMENTS;
    }
    return PAWL_ERR_BAD_ARGUMENTS;
}

/* ---- reading ---- */

static bool is_number(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)s[i])) {
            return false;
        }
    }
    return true;
}

size_t queue_name_stem(const char *prefix, const char *name)
{
    size_t len = strlen(name), prefix_len = strlen(prefix);

    if (len < prefix_len + NUMBER_DIGITS || !is_number(name + len - NUMBER_DIGITS, NUMBER_DIGITS)) {
        return len;
    }
    len -= NUMBER_DIGITS;
    /* The prefix itself ends with a '-': a second one is the number's. */
    return len > prefix_len && name[len - 1] == '-' ? len - 1 : len;
}

const char *queue_name_id(const char *name, size_t *len)
{
    const char *start, *end;

    if (strncmp(name, QUEUE_PREFIX "|", PREFIX_LEN + 1) != 0) {
        return NULL;
    }
    start = name + PREFIX_LEN + 1;
    end = strchr(start, '|');
    *len = end == NULL ? 0 : (size_t)(end - start);
    return end == NULL ? NULL : start;
}

bool queue_name_has_id(const char *name, const char *id)
{
    size_t len;
    const char *has = queue_name_id(name, &len);

    if (has == NULL || len != strlen(id)) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (has[i] != (id[i] == '/' || id[i] == '|' ? '_' : id[i])) {
            return false;
        }
    }
    return true;
}

/* `len` hexadecimal digits, no sign and no space. */
static bool read_hex(const char *s, size_t len, uint64_t *out)
{
    uint64_t value = 0;

    for (size_t i = 0; i < len; i++) {
        if (!isxdigit((unsigned char)s[i])) {
            return false;
        }
        value = value << 4 |
                (uint64_t)(isdigit((unsigned char)s[i]) ? s[i] - '0' : (s[i] | 32) - 'a' + 10);
    }
    *out = value;
    return len > 0 && len <= 16;
}

static uint64_t priority_rank(const char *name)
{
    uint64_t rank;

    return strlen(name) >= PREFIX_LEN + PRIORITY_DIGITS &&
                   read_hex(name + PREFIX_LEN, PRIORITY_DIGITS, &rank)
               ? rank
               : 0;
}

int32_t queue_name_priority(const char *name)
{
    return queue_name_stem(QUEUE_PREFIX, name) == PREFIX_LEN + PRIORITY_DIGITS
               ? (int32_t)priority_rank(name)
               : 0;
}

int64_t queue_name_due_ms(const char *name)
{
    uint64_t ms;
    size_t len;
    const char *hex = queue_name_id(name, &len);

    return hex != NULL && read_hex(hex, len, &ms) && ms <= INT64_MAX ? (int64_t)ms : 0;
}

/* ---- order ---- */

static uint64_t rank_of(enum pawl_queue_kind kind, const char *name)
{
    switch (kind) {
    case PAWL_QUEUE_PRIORITY:
        return priority_rank(name);
    case PAWL_QUEUE_DELAY:
        return (uint64_t)queue_name_due_ms(name);
    default:
        return 0;
    }
}

/* The number wraps from 2147483647 to negative: what counts is the distance from some other. */
static void name_place(struct queue_entry *e, const char *name, size_t stem, int64_t *origin)
{
    int64_t number;

    e->has_number = name[stem] != '\0';
    if (e->has_number) {
        number = strtoll(name + stem, NULL, 10);
        *origin = *origin == INT64_MIN ? number : *origin;
        e->place = (int32_t)((uint32_t)number - (uint32_t)*origin);
    }
}

static int compare(const void *a, const void *b)
{
    const struct queue_entry *x = a, *y = b;

    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    if (x->has_number != y->has_number) {
        return x->has_number ? -1 : 1;
    }
    if (x->place != y->place) {
        return x->place < y->place ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

int queue_entries_new(const char *prefix, enum pawl_queue_kind kind,
                      const struct pawl_strings *names, struct queue_entry **out, size_t *n)
{
    struct queue_entry *entries = calloc(names->n + 1, sizeof(*entries));
    int64_t origin = INT64_MIN;
    size_t found = 0;

    for (size_t i = 0; entries != NULL && i < names->n; i++) {
        const char *name = names->items[i];
        size_t size = strlen(name) + 1;
        char *copy;

        if (strncmp(name, prefix, strlen(prefix)) != 0) {
            continue; /* somebody else's */
        }
        copy = malloc(size);
        if (copy == NULL) {
            queue_entries_free(entries, found);
            return PAWL_ERR_NO_MEMORY;
        }
        memcpy(copy, name, size);
        entries[found].rank = rank_of(kind, name);
        name_place(&entries[found], name, queue_name_stem(prefix, name), &origin);
        entries[found++].name = copy;
    }
    if (entries == NULL) {
        return PAWL_ERR_NO_MEMORY;
    }
    qsort(entries, found, sizeof(*entries), compare);
    *out = entries;
    *n = found;
    return 0;
}

void queue_entries_free(struct queue_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(entries[i].name);
    }
    free(entries);
}
