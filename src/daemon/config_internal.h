/* SPDX-License-Identifier: Apache-2.0 */
/* config_internal.h - what the files config*.c share; nobody else includes it.
 *
 *   config_file.c     a file -> its bytes; base/properties.h makes pairs of them
 *   config_table.c    config_keys.def as a table; look-up, nearest name
 *   config_value.c    text -> checked value, by type
 *   config.c          values into fields, and where each came from
 *   config_finish.c   derived defaults, what must hold between values, reload
 *   config_members.c  server.N, group.N, weight.N, the dynamic file, myid
 *   config_print.c    the table for people, and what is in effect */
#ifndef PAWL_DAEMON_CONFIG_INTERNAL_H
#define PAWL_DAEMON_CONFIG_INTERNAL_H

#include "base/properties.h"
#include "base/strbuf.h"
#include "daemon/config.h"

enum config_how { CONFIG_HOW_NAMED, CONFIG_HOW_BOTH, CONFIG_HOW_PROPERTY };

enum config_class {
    CONFIG_CLASS_CORE,
    CONFIG_CLASS_TUNING,
    CONFIG_CLASS_ENSEMBLE,
    CONFIG_CLASS_SECURITY,
    CONFIG_CLASS_OBSERVABILITY,
    CONFIG_CLASS_RARE,
    CONFIG_CLASS_JVM_ONLY,
};

enum config_type {
    CONFIG_TYPE_BOOL,
    CONFIG_TYPE_YES_NO,
    CONFIG_TYPE_COUNT,
    CONFIG_TYPE_MS,
    CONFIG_TYPE_TICKS,
    CONFIG_TYPE_SECONDS,
    CONFIG_TYPE_HOURS,
    CONFIG_TYPE_BYTES,
    CONFIG_TYPE_KIB,
    CONFIG_TYPE_PORT,
    CONFIG_TYPE_RATIO,
    CONFIG_TYPE_TEXT,
    CONFIG_TYPE_SECRET,
    CONFIG_TYPE_PATH,
    CONFIG_TYPE_HOST,
    CONFIG_TYPE_CHOICE,
};

/* The C type of the field that receives a key; NONE when there is no field. */
enum config_field {
    CONFIG_FIELD_NONE,
    CONFIG_FIELD_BOOL,
    CONFIG_FIELD_INT,
    CONFIG_FIELD_INT64,
    CONFIG_FIELD_DOUBLE,
    CONFIG_FIELD_STRING,
};

struct config_key {
    const char *name;
    enum config_how how;
    bool live;
    enum config_type type;
    int64_t min; /* in the key's own unit */
    int64_t max;
    bool raised; /* below min: raised to it with a warning, as Java does */
    double low;  /* of a ratio */
    double high;
    const char *choices; /* "a|b|c" */
    enum config_field field;
    size_t offset;
    const char *default_text;  /* in the key's own syntax, or NULL */
    const char *default_words; /* when there is no text: what happens instead */
    enum config_class class;
    const char *meaning;
    bool family; /* `name` is a prefix, the rest is free */
};

struct config_alias {
    const char *name;
    const char *key;
};

/* Where something was written. `file` is lent by the config. */
struct config_place {
    enum config_origin origin;
    const char *file;
    int line;
};

/* A checked value in its final unit. */
struct config_parsed {
    int64_t number;
    double ratio;
    char *text; /* as it will be kept; the caller's to free */
    bool raised;
};

/* What is known about a key that is not a family. */
struct config_value {
    struct config_place place;
    struct config_parsed parsed;
    bool refused; /* given, but not a value: that has been said, its absence need not be */
};

/* One key of a family: server.3, authProvider.1 */
struct config_entry {
    const struct config_key *key;
    char *name; /* without "zookeeper." */
    char *text;
    struct config_place place;
};

extern const struct config_key config_keys[];
extern const size_t config_n_keys;
extern const struct config_alias config_aliases[];
extern const size_t config_n_aliases;

/* The key that `name` spells, or NULL. `*rest` becomes the name without "zookeeper.". */
const struct config_key *config_key_find(const char *name, const char **rest);
const char *config_class_name(enum config_class class);

/* False when `text` is no value of `k`; `why` then says so, and what is allowed. */
bool config_value_parse(const struct config_key *k, const char *text, struct config_parsed *out,
                        struct strbuf *why);
void config_value_allowed(const struct config_key *k, struct strbuf *out);

/* A whole decimal number and nothing else; with `radix` also 0x10 and 010, as Java's properties. */
bool config_parse_int64(const char *text, bool radix, int64_t *out);

/* The whole file in memory. On failure a line in `errors`. */
int config_load(const char *path, struct strbuf *out, struct config_lines *errors);

/* Adds "PLACE: NAME: SENTENCE" and returns PAWL_ERR_CONFIG. */
int config_fault(struct config_lines *errors, const struct config_place *place, const char *name,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

void config_warn(struct config *c, const struct config_place *place, const char *name,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The place of a key, or the file as a whole when it was not given. */
struct config_place config_place_of(const struct config *c, const char *name);
const struct config_value *config_value_of(const struct config *c, const char *name);
bool config_was_refused(const struct config *c, const char *name);
void config_entry_set(struct config *c, const struct config_key *key, const char *name,
                      const char *text, struct config_place place);
void config_replace_string(char **field, const char *text);

/* Server lines, groups, weights, myid; part of config_finish(). */
int config_finish_members(struct config *c, struct config_lines *errors);

#endif
