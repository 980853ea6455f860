/* SPDX-License-Identifier: Apache-2.0 */
/* config_table.c - config_keys.def as a table, and how a name finds its key. */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "daemon/config_internal.h"

#define PREFIX "zookeeper."

/* The field's own type decides how it is written, so that the two cannot disagree. */
#define FIELD_OF(member) \
    _Generic(((struct config *)NULL)->member, bool                                                 \
             : CONFIG_FIELD_BOOL, int                                                              \
             : CONFIG_FIELD_INT, int64_t                                                           \
             : CONFIG_FIELD_INT64, double                                                          \
             : CONFIG_FIELD_DOUBLE, char *                                                         \
             : CONFIG_FIELD_STRING)

/* What the columns of the table stand for. */
#define MAX                  INT32_MAX
#define ANY                  INT32_MIN
#define KIB_MAX              (INT64_MAX / 1024)
#define LIVE                 true
#define START                false

#define BOOL                 CONFIG_TYPE_BOOL
#define YES_NO               CONFIG_TYPE_YES_NO
#define COUNT(lo, hi)        CONFIG_TYPE_COUNT, .min = (lo), .max = (hi)
#define COUNT_RAISED(lo, hi) CONFIG_TYPE_COUNT, .min = (lo), .max = (hi), .raised = true
#define MS(lo, hi)           CONFIG_TYPE_MS, .min = (lo), .max = (hi)
#define TICKS(lo, hi)        CONFIG_TYPE_TICKS, .min = (lo), .max = (hi)
#define SECONDS(lo, hi)      CONFIG_TYPE_SECONDS, .min = (lo), .max = (hi)
#define HOURS(lo, hi)        CONFIG_TYPE_HOURS, .min = (lo), .max = (hi)
#define BYTES(lo, hi)        CONFIG_TYPE_BYTES, .min = (lo), .max = (hi)
#define KIB(lo, hi)          CONFIG_TYPE_KIB, .min = (lo), .max = (hi)
#define PORT                 CONFIG_TYPE_PORT, .min = 0, .max = 65535
#define RATIO(lo, hi)        CONFIG_TYPE_RATIO, .low = (lo), .high = (hi)
#define TEXT                 CONFIG_TYPE_TEXT
#define SECRET               CONFIG_TYPE_SECRET
#define PATH                 CONFIG_TYPE_PATH
#define HOST                 CONFIG_TYPE_HOST
#define CHOICE(list)         CONFIG_TYPE_CHOICE, .choices = (list)
#define NONE(words)          NULL, .default_words = (words)

#define KEY(name_, how_, live_, type_, field_, default_, class_, meaning_) \
    {.name = (name_),                                                      \
     .how = CONFIG_HOW_##how_,                                             \
     .live = (live_),                                                      \
     .type = type_,                                                        \
     .field = FIELD_OF(field_),                                            \
     .offset = offsetof(struct config, field_),                            \
     .default_text = default_,                                             \
     .class = CONFIG_CLASS_##class_,                                       \
     .meaning = (meaning_)},
#define STORED(name_, how_, type_, default_, class_, meaning_) \
    {.name = (name_),                                          \
     .how = CONFIG_HOW_##how_,                                 \
     .type = type_,                                            \
     .default_text = default_,                                 \
     .class = CONFIG_CLASS_##class_,                           \
     .meaning = (meaning_)},
#define FAMILY(name_, class_, meaning_) \
    {.name = (name_),                   \
     .type = CONFIG_TYPE_TEXT,          \
     .default_words = "none",           \
     .class = CONFIG_CLASS_##class_,    \
     .meaning = (meaning_),             \
     .family = true},
#define JAVA(name_, meaning_)        \
    {.name = (name_),                \
     .type = CONFIG_TYPE_TEXT,       \
     .default_words = "ignored",     \
     .class = CONFIG_CLASS_JVM_ONLY, \
     .meaning = (meaning_)},
#define ALIAS(name_, key_)

const struct config_key config_keys[] = {
#include "daemon/config_keys.def"
};
const size_t config_n_keys = sizeof(config_keys) / sizeof(config_keys[0]);

#undef KEY
#undef STORED
#undef FAMILY
#undef JAVA
#undef ALIAS
#define KEY(...)
#define STORED(...)
#define FAMILY(...)
#define JAVA(...)
#define ALIAS(name_, key_) {(name_), (key_)},

const struct config_alias config_aliases[] = {
#include "daemon/config_keys.def"
};
const size_t config_n_aliases = sizeof(config_aliases) / sizeof(config_aliases[0]);

const char *config_class_name(enum config_class class)
{
    static const char *const names[] = {"core",          "tuning", "ensemble", "security",
                                        "observability", "rare",   "JVM only"};

    return names[class];
}

static const char *resolve_alias(const char *name)
{
    for (size_t i = 0; i < config_n_aliases; i++) {
        if (strcmp(config_aliases[i].name, name) == 0) {
            return config_aliases[i].key;
        }
    }
    return name;
}

static bool key_matches(const struct config_key *k, const char *name, bool family)
{
    if (k->family != family) {
        return false;
    }
    if (!family) {
        return strcmp(k->name, name) == 0;
    }
    return strncmp(k->name, name, strlen(k->name)) == 0 && name[strlen(k->name)] != '\0';
}

static const struct config_key *find_exactly(const char *name)
{
    name = resolve_alias(name);
    /* Whole names first: server.realm is no member of the ensemble. */
    for (int family = 0; family <= 1; family++) {
        for (size_t i = 0; i < config_n_keys; i++) {
            if (key_matches(&config_keys[i], name, family == 1)) {
                return &config_keys[i];
            }
        }
    }
    return NULL;
}

static const char *without_prefix(const char *name)
{
    size_t len = strlen(PREFIX);

    return strncmp(name, PREFIX, len) == 0 ? name + len : name;
}

const struct config_key *config_key_find(const char *name, const char **rest)
{
    *rest = without_prefix(name);
    return find_exactly(*rest);
}

enum { NAME_MAX_CHARS = 96 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Number of characters to insert, delete or replace to turn `a` into `b`; upper and lower case
 * count as equal, the most frequent slip of all. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[2][NAME_MAX_CHARS + 1];
    size_t *above = rows[0], *row = rows[1];
    size_t len_b = strlen(b);

    for (size_t j = 0; j <= len_b; j++) {
        above[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t *done = above;

        row[0] = i;
        for (size_t j = 1; j <= len_b; j++) {
            bool differ = tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);

            row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + differ);
        }
        above = row;
        row = done;
    }
    return above[len_b];
}

static void consider(const char *known, const char *name, const char **nearest, size_t *least)
{
    size_t distance;

    if (strlen(known) > NAME_MAX_CHARS) {
        return;
    }
    distance = edit_distance(name, known);
    if (distance < *least) {
        *least = distance;
        *nearest = known;
    }
}

const char *config_nearest(const char *name)
{
    const char *nearest = NULL;
    size_t least;

    name = without_prefix(name);
    if (strlen(name) > NAME_MAX_CHARS) {
        return NULL;
    }
    /* Further away than this a suggestion is noise: two characters out of five differ. */
    least = strlen(name) * 2 / 5 + 1;
    for (size_t i = 0; i < config_n_keys; i++) {
        if (config_keys[i].class != CONFIG_CLASS_JVM_ONLY && !config_keys[i].family) {
            consider(config_keys[i].name, name, &nearest, &least);
        }
    }
    for (size_t i = 0; i < config_n_aliases; i++) {
        consider(config_aliases[i].name, name, &nearest, &least);
    }
    return nearest;
}
