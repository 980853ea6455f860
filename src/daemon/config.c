/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - values into fields, where each came from, and what must hold between them. */
#include "daemon/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "daemon/config_internal.h"
#include "pawl/error.h"

enum { PAIRS_LIMIT = 4096 };

/* --- lines for the user --- */

void config_lines_init(struct config_lines *lines)
{
    *lines = (struct config_lines){0};
}

void config_lines_fini(struct config_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        free(lines->line[i]);
    }
    free(lines->line);
    config_lines_init(lines);
}

static void add_line(struct config_lines *lines, struct strbuf *text)
{
    lines->line = must_realloc(lines->line, (lines->n + 1) * sizeof(*lines->line));
    lines->line[lines->n++] = must_copy_string(strbuf_bytes(text));
    strbuf_fini(text);
}

void config_lines_add(struct config_lines *lines, const char *format, ...)
{
    struct strbuf text;
    va_list args;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    add_line(lines, &text);
}

static void append_place(struct strbuf *out, const struct config_place *place)
{
    if (place->file == NULL) {
        strbuf_append_str(out, "command line");
    } else if (place->line > 0) {
        strbuf_printf(out, "%s:%d", place->file, place->line);
    } else {
        strbuf_append_str(out, place->file);
    }
}

static void vnote(struct config_lines *lines, const struct config_place *place, const char *name,
                  const char *format, va_list args)
{
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    append_place(&text, place);
    strbuf_printf(&text, ": %s: ", name);
    strbuf_vprintf(&text, format, args);
    add_line(lines, &text);
}

int config_fault(struct config_lines *errors, const struct config_place *place, const char *name,
                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vnote(errors, place, name, format, args);
    va_end(args);
    return PAWL_ERR_CONFIG;
}

void config_warn(struct config *c, const struct config_place *place, const char *name,
                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vnote(&c->warnings, place, name, format, args);
    va_end(args);
}

/* --- values --- */

static struct config_value *value_at(const struct config *c, const struct config_key *k)
{
    return &c->value[k - config_keys];
}

const struct config_value *config_value_of(const struct config *c, const char *name)
{
    const char *rest;
    const struct config_key *k = config_key_find(name, &rest);

    return k != NULL && !k->family ? value_at(c, k) : NULL;
}

bool config_was_refused(const struct config *c, const char *name)
{
    return config_value_of(c, name)->refused;
}

struct config_place config_place_of(const struct config *c, const char *name)
{
    const struct config_value *v = config_value_of(c, name);

    ASSERT(v != NULL);
    return v->place.origin != CONFIG_DEFAULT ? v->place : (struct config_place){.file = c->file};
}

static const struct config_entry *find_entry(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->n_entries; i++) {
        if (strcmp(c->entry[i].name, name) == 0) {
            return &c->entry[i];
        }
    }
    return NULL;
}

const char *config_text(const struct config *c, const char *name)
{
    const char *rest;
    const struct config_key *k = config_key_find(name, &rest);
    const struct config_entry *entry;

    if (k != NULL && !k->family) {
        return value_at(c, k)->parsed.text;
    }
    entry = find_entry(c, rest);
    return entry != NULL ? entry->text : NULL;
}

bool config_is_option(const struct config *c, const char *name)
{
    return config_value_of(c, name)->place.origin == CONFIG_OPTION;
}

bool config_is_given(const struct config *c, const char *name)
{
    const char *rest;
    const struct config_key *k = config_key_find(name, &rest);

    if (k != NULL && !k->family) {
        return value_at(c, k)->place.origin != CONFIG_DEFAULT;
    }
    return find_entry(c, rest) != NULL;
}

void config_replace_string(char **field, const char *text)
{
    char *copy = text != NULL ? must_strdup(text) : NULL;

    free(*field);
    *field = copy;
}

static void write_field(struct config *c, const struct config_key *k,
                        const struct config_parsed *parsed)
{
    void *field = (char *)c + k->offset;

    switch (k->field) {
    case CONFIG_FIELD_NONE:
        break;
    case CONFIG_FIELD_BOOL:
        *(bool *)field = parsed->number != 0;
        break;
    case CONFIG_FIELD_INT:
        ASSERT(parsed->number >= INT32_MIN && parsed->number <= INT32_MAX);
        *(int *)field = (int)parsed->number;
        break;
    case CONFIG_FIELD_INT64:
        *(int64_t *)field = parsed->number;
        break;
    case CONFIG_FIELD_DOUBLE:
        *(double *)field = parsed->ratio;
        break;
    case CONFIG_FIELD_STRING:
        config_replace_string(field, parsed->text);
        break;
    }
}

static void store(struct config *c, const struct config_key *k, struct config_parsed *parsed,
                  struct config_place place)
{
    struct config_value *v = value_at(c, k);

    free(v->parsed.text);
    v->parsed = *parsed;
    v->place = place;
    write_field(c, k, parsed);
}

void config_init(struct config *c)
{
    *c = (struct config){.ensemble.my_id = -1};
    c->net.client_port = -1;
    c->net.secure_port = -1;
    c->server.min_session_timeout_ms = -1;
    c->server.max_session_timeout_ms = -1;
    c->value = must_zalloc(config_n_keys * sizeof(*c->value));
    for (size_t i = 0; i < config_n_keys; i++) {
        struct config_parsed parsed;
        struct strbuf why;

        bool ok;

        if (config_keys[i].default_text == NULL) {
            continue;
        }
        strbuf_init(&why, STRBUF_NO_LIMIT);
        ok = config_value_parse(&config_keys[i], config_keys[i].default_text, &parsed, &why);
        ASSERT(ok);
        strbuf_fini(&why);
        store(c, &config_keys[i], &parsed, (struct config_place){.origin = CONFIG_DEFAULT});
    }
}

void config_fini(struct config *c)
{
    if (c->value == NULL) { /* closed already */
        return;
    }
    for (size_t i = 0; i < config_n_keys; i++) {
        free(c->value[i].parsed.text);
        if (config_keys[i].field == CONFIG_FIELD_STRING) {
            config_replace_string((char **)((char *)c + config_keys[i].offset), NULL);
        }
    }
    for (size_t i = 0; i < c->n_entries; i++) {
        free(c->entry[i].name);
        free(c->entry[i].text);
    }
    quorum_config_fini(&c->ensemble.quorum);
    free(c->sasl.supers);
    free(c->entry);
    free(c->value);
    free(c->file);
    free(c->dynamic_file_read);
    config_lines_fini(&c->warnings);
    *c = (struct config){0};
}

/* --- setting --- */

void config_entry_set(struct config *c, const struct config_key *key, const char *name,
                      const char *text, struct config_place place)
{
    struct config_entry *entry = (struct config_entry *)find_entry(c, name);

    if (entry != NULL && entry->place.origin > place.origin) {
        return;
    }
    if (entry == NULL) {
        c->entry = must_realloc(c->entry, (c->n_entries + 1) * sizeof(*c->entry));
        entry = &c->entry[c->n_entries++];
        *entry = (struct config_entry){.key = key, .name = must_strdup(name)};
    }
    config_replace_string(&entry->text, text);
    entry->place = place;
}

static void warn_unknown(struct config *c, const struct config_place *place, const char *name)
{
    const char *nearest = config_nearest(name);

    if (nearest != NULL) {
        config_warn(c, place, name, "unknown key, ignored; the nearest known one is %s", nearest);
    } else {
        config_warn(c, place, name, "unknown key, ignored");
    }
}

/* Whether `place` may set the key; a warning when two sources disagree about it. */
static bool may_set(struct config *c, const struct config_key *k, const char *text,
                    const struct config_place *place)
{
    const struct config_value *v = value_at(c, k);
    bool wins = place->origin >= v->place.origin;
    const struct config_place *loser = wins ? &v->place : place;

    if (v->place.origin != CONFIG_DEFAULT && place->origin != v->place.origin &&
        strcmp(text, v->parsed.text) != 0) {
        config_warn(c, loser, k->name, "has no effect: %s",
                    loser->origin == CONFIG_PROPERTY ? "the file and the options come before -D"
                                                     : "the command line comes before the file");
    }
    return wins;
}

/* Asking for something that nobody here looks at. What is so anyway may be said: the default, and
 * "false" for what this version does not have. */
static bool config_has_no_effect(const struct config_key *k, const struct config_parsed *parsed)
{
    bool off = k->type == CONFIG_TYPE_BOOL && parsed->number == 0;

    if (k->field != CONFIG_FIELD_NONE) {
        return false;
    }
    return k->default_text == NULL ? !off : strcmp(k->default_text, parsed->text) != 0;
}

/* What Java would say, or do differently, about a value that is right. */
static void warn_about_value(struct config *c, const struct config_key *k, const char *text,
                             const struct config_parsed *parsed, const struct config_place *place)
{
    if (parsed->raised) {
        config_warn(c, place, k->name, "Invalid %s: %s. Defaulting to %s", k->name, text,
                    parsed->text);
    }
    if (k->type == CONFIG_TYPE_PATH && place->origin != CONFIG_OPTION && text[0] != '/' &&
        strncmp(text, "./", 2) != 0) {
        config_warn(c, place, k->name, "%s is relative. Prepend ./ to indicate that you're sure!",
                    text);
    }
    if (config_has_no_effect(k, parsed)) {
        config_warn(c, place, k->name, "known, but without effect in this version");
    }
}

static int set_value(struct config *c, const struct config_key *k, const char *text,
                     struct config_place place, struct config_lines *errors)
{
    struct config_parsed parsed;
    struct strbuf why;
    int rc = 0;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    if (!config_value_parse(k, text, &parsed, &why)) {
        rc = config_fault(errors, &place, k->name, "%s", strbuf_cstr(&why));
        value_at(c, k)->refused = true;
    } else if (!may_set(c, k, text, &place)) {
        free(parsed.text);
    } else {
        warn_about_value(c, k, text, &parsed, &place);
        store(c, k, &parsed, place);
    }
    strbuf_fini(&why);
    return rc;
}

/* Members, super users, and the classes of Java's whose schemes are here. */
static bool family_has_effect(const struct config_key *k, const char *text)
{
    static const char *const classes[] = {
        "SASLAuthenticationProvider", "X509AuthenticationProvider", "DigestAuthenticationProvider",
        "IPAuthenticationProvider"};
    const char *dot = strrchr(text, '.');

    if (strcmp(k->name, "authProvider.") != 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if (strcmp(dot == NULL ? text : dot + 1, classes[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int set_at(struct config *c, const char *name, const char *text, struct config_place place,
                  struct config_lines *errors)
{
    const char *rest;
    const struct config_key *k = config_key_find(name, &rest);

    if (k == NULL) {
        warn_unknown(c, &place, name);
        return 0;
    }
    if (k->class == CONFIG_CLASS_JVM_ONLY) {
        config_warn(c, &place, name, "concerns the Java server only (%s), ignored", k->meaning);
        return 0;
    }
    if (rest != name && place.origin == CONFIG_FILE) {
        config_warn(c, &place, name,
                    "taken as %s; Apache ZooKeeper ignores a key with \"zookeeper.\" in "
                    "its file",
                    rest);
    }
    if (k->family) {
        if (!family_has_effect(k, text)) {
            config_warn(c, &place, name, "known, but without effect in this version");
        }
        config_entry_set(c, k, rest, text, place);
        return 0;
    }
    return set_value(c, k, text, place, errors);
}

int config_set(struct config *c, const char *name, const char *value, enum config_origin origin,
               struct config_lines *errors)
{
    ASSERT(origin == CONFIG_PROPERTY || origin == CONFIG_OPTION);
    return set_at(c, name, value, (struct config_place){.origin = origin}, errors);
}

int config_set_property(struct config *c, const char *definition, struct config_lines *errors)
{
    const char *equals = strchr(definition, '=');
    char *name;
    int rc;

    if (equals == NULL || equals == definition) {
        config_lines_add(errors, "command line: -D%s: is not NAME=VALUE", definition);
        return PAWL_ERR_CONFIG;
    }
    name = must_copy_string(bytes_of(definition, (size_t)(equals - definition)));
    rc = config_set(c, name, equals + 1, CONFIG_PROPERTY, errors);
    free(name);
    return rc;
}

/* --- the file --- */

struct pair {
    int line;
    const struct config_key *key; /* NULL: unknown */
    const char *rest;             /* in name, behind "zookeeper." */
    char *name;
    char *text;
};

struct pairs {
    struct pair item[PAIRS_LIMIT];
    size_t n;
    bool too_many;
};

static void collect_pair(void *arg, int line, const char *name, const char *text)
{
    struct pairs *pairs = arg;
    struct pair *pair;

    if (pairs->n == PAIRS_LIMIT) {
        pairs->too_many = true;
        return;
    }
    pair = &pairs->item[pairs->n++];
    *pair = (struct pair){.line = line, .name = must_strdup(name), .text = must_strdup(text)};
    pair->key = config_key_find(pair->name, &pair->rest);
}

static bool same_key(const struct pair *a, const struct pair *b)
{
    if (a->key != b->key) {
        return false;
    }
    return (a->key != NULL && !a->key->family) || strcmp(a->rest, b->rest) == 0;
}

/* The line of a later pair for the same key, or 0. Only the last one counts, so a value that is
 * corrected further down is not even looked at. */
static int overruled_in_line(const struct pairs *pairs, size_t i)
{
    for (size_t j = pairs->n - 1; j > i; j--) {
        if (same_key(&pairs->item[i], &pairs->item[j])) {
            return pairs->item[j].line;
        }
    }
    return 0;
}

static int set_pairs(struct config *c, const struct pairs *pairs, struct config_lines *errors)
{
    int rc = 0;

    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair *pair = &pairs->item[i];
        struct config_place place = {CONFIG_FILE, c->file, pair->line};
        int later = overruled_in_line(pairs, i);

        if (later != 0) {
            config_warn(c, &place, pair->name, "has no effect: line %d gives it again", later);
        } else if (set_at(c, pair->name, pair->text, place, errors) != 0) {
            rc = PAWL_ERR_CONFIG;
        }
    }
    return rc;
}

static int read_pairs(const char *path, struct pairs *pairs, struct config_lines *errors)
{
    struct properties_error error;
    struct strbuf text;
    int rc = config_load(path, &text, errors);

    if (rc != 0) {
        return rc;
    }
    rc = properties_parse(strbuf_bytes(&text), collect_pair, pairs, &error);
    if (rc != 0) {
        config_lines_add(errors, "%s:%d: %s", path, error.line, error.what);
    } else if (pairs->too_many) {
        config_lines_add(errors, "%s: has more than %d keys", path, (int)PAIRS_LIMIT);
        rc = PAWL_ERR_CONFIG;
    }
    strbuf_fini(&text);
    return rc;
}

int config_read_file(struct config *c, const char *path, struct config_lines *errors)
{
    struct pairs *pairs;
    int rc;

    if (c->file != NULL) {
        config_lines_add(errors, "%s: there is a configuration file already: %s", path, c->file);
        return PAWL_ERR_CONFIG;
    }
    c->file = must_strdup(path);
    pairs = must_zalloc(sizeof(*pairs));
    rc = read_pairs(path, pairs, errors);
    if (rc == 0) {
        rc = set_pairs(c, pairs, errors);
    }
    for (size_t i = 0; i < pairs->n; i++) {
        free(pairs->item[i].name);
        free(pairs->item[i].text);
    }
    free(pairs);
    return rc;
}
