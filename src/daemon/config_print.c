/* SPDX-License-Identifier: Apache-2.0 */
/* config_print.c - the keys for people: the table for the manual, and what is in effect. */
#include <string.h>

#include "daemon/config_internal.h"

static const char *default_of(const struct config_key *k)
{
    if (k->default_text == NULL) {
        return k->default_words;
    }
    return k->default_text[0] != '\0' ? k->default_text : "nothing";
}

static const char *config_print_unit_of(enum config_type type)
{
    switch (type) {
    case CONFIG_TYPE_MS:
        return " ms";
    case CONFIG_TYPE_TICKS:
        return " ticks";
    case CONFIG_TYPE_SECONDS:
        return " s";
    case CONFIG_TYPE_HOURS:
        return " h";
    case CONFIG_TYPE_BYTES:
        return " bytes";
    case CONFIG_TYPE_KIB:
        return " KiB";
    default:
        return "";
    }
}

/* What can be said of a key beside its default. */
static const char *remark_on(const struct config_key *k)
{
    if (k->live) {
        return "SIGHUP";
    }
    return k->field == CONFIG_FIELD_NONE ? "no effect yet" : NULL;
}

static const char *class_title(enum config_class class)
{
    static const char *const titles[] = {
        "Core",
        "Tuning",
        "Ensemble",
        "Security",
        "Observability",
        "Rarely needed",
        "Accepted and ignored: the Java server's own",
    };

    return titles[class];
}

static void print_key_text(const struct config_key *k, FILE *out)
{
    struct strbuf allowed;

    strbuf_init(&allowed, STRBUF_NO_LIMIT);
    config_value_allowed(k, &allowed);
    fprintf(out, "  %s%s\n", k->name, k->family ? "N" : "");
    fprintf(out, "      %s.\n", k->meaning);
    if (k->class != CONFIG_CLASS_JVM_ONLY && !k->family) {
        fprintf(out, "      Default: %s%s. Allowed: %s.", default_of(k),
                k->default_text != NULL ? config_print_unit_of(k->type) : "",
                strbuf_cstr(&allowed));
        fprintf(out, "%s%s\n", remark_on(k) != NULL ? " " : "",
                remark_on(k) != NULL ? remark_on(k) : "");
    }
    strbuf_fini(&allowed);
}

/* A line that begins with a dot or a quote would be a command to the formatter. */
static void print_escaped(const char *text, FILE *out)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", out);
    }
    for (; *text != '\0'; text++) {
        if (*text == '\\') {
            fputs("\\e", out);
        } else if (*text == '-') {
            fputs("\\-", out);
        } else {
            fputc(*text, out);
        }
    }
}

static void print_key_mdoc(const struct config_key *k, FILE *out)
{
    fprintf(out, ".It Ic \"%s%s\"", k->name, k->family ? "N" : "");
    if (k->class != CONFIG_CLASS_JVM_ONLY && !k->family) {
        fputs(" Pq ", out);
        print_escaped(default_of(k), out);
        fputs(k->default_text != NULL ? config_print_unit_of(k->type) : "", out);
        if (remark_on(k) != NULL) {
            fprintf(out, " ; %s", remark_on(k));
        }
    }
    fputc('\n', out);
    print_escaped(k->meaning, out);
    fputs(".\n", out);
}

static void print_class(enum config_class class, FILE *out, enum config_keys_format format)
{
    if (format == CONFIG_KEYS_MDOC) {
        fprintf(out, ".Ss %s\n.Bl -tag -width Ds -compact\n", class_title(class));
    } else {
        fprintf(out, "%s\n", class_title(class));
    }
    for (size_t i = 0; i < config_n_keys; i++) {
        if (config_keys[i].class != class) {
            continue;
        }
        if (format == CONFIG_KEYS_MDOC) {
            print_key_mdoc(&config_keys[i], out);
        } else {
            print_key_text(&config_keys[i], out);
        }
    }
    fputs(format == CONFIG_KEYS_MDOC ? ".El\n" : "\n", out);
}

static void print_aliases(FILE *out, enum config_keys_format format)
{
    bool mdoc = format == CONFIG_KEYS_MDOC;

    fputs(mdoc ? ".Ss Other spellings\n.Bl -tag -width Ds -compact\n" : "Other spellings\n", out);
    for (size_t i = 0; i < config_n_aliases; i++) {
        fprintf(out, mdoc ? ".It Ic %s\n%s\n" : "  %s = %s\n", config_aliases[i].name,
                config_aliases[i].key);
    }
    fputs(mdoc ? ".El\n" : "", out);
}

void config_print_keys(FILE *out, enum config_keys_format format)
{
    for (int class = CONFIG_CLASS_CORE; class <= CONFIG_CLASS_JVM_ONLY; class ++) {
        print_class((enum config_class) class, out, format);
    }
    print_aliases(out, format);
}

static void print_origin(const struct config_place *place, FILE *out)
{
    if (place->origin == CONFIG_DEFAULT) {
        fputs("default", out);
    } else if (place->file != NULL) {
        fprintf(out, "%s:%d", place->file, place->line);
    } else {
        fputs("command line", out);
    }
}

/* A comment stands on a line of its own in this syntax: behind a value it would be part of it. */
static void print_one(const char *name, const char *text, const struct config_place *place,
                      FILE *out)
{
    fputs("# ", out);
    print_origin(place, out);
    fprintf(out, "\n%s=", name);
    for (; *text != '\0'; text++) {
        if (*text == '\\') {
            fputc('\\', out);
        }
        fputc(*text, out);
    }
    fputc('\n', out);
}

static void config_list_one(const char *name, const char *text, const struct config_place *place,
                            struct config_lines *out)
{
    if (place->file != NULL) {
        config_lines_add(out, "%s=%s (%s:%d)", name, text, place->file, place->line);
    } else {
        config_lines_add(out, "%s=%s (command line)", name, text);
    }
}

void config_list_given(const struct config *c, struct config_lines *out)
{
    for (size_t i = 0; i < config_n_keys; i++) {
        const struct config_value *v = &c->value[i];
        bool secret = config_keys[i].type == CONFIG_TYPE_SECRET;

        if (v->place.origin != CONFIG_DEFAULT) {
            config_list_one(config_keys[i].name, secret ? "(not shown)" : v->parsed.text, &v->place,
                            out);
        }
    }
    for (size_t i = 0; i < c->n_entries; i++) {
        config_list_one(c->entry[i].name, c->entry[i].text, &c->entry[i].place, out);
    }
}

void config_each_given(const struct config *c, config_given_fn fn, void *arg)
{
    for (size_t i = 0; i < config_n_keys; i++) {
        const struct config_value *v = &c->value[i];

        if (v->place.origin != CONFIG_DEFAULT) {
            fn(config_keys[i].name,
               config_keys[i].type == CONFIG_TYPE_SECRET ? "(not shown)" : v->parsed.text, arg);
        }
    }
    for (size_t i = 0; i < c->n_entries; i++) {
        fn(c->entry[i].name, c->entry[i].text, arg);
    }
}

void config_print_effective(const struct config *c, FILE *out, bool all)
{
    for (size_t i = 0; i < config_n_keys; i++) {
        const struct config_value *v = &c->value[i];
        bool secret = config_keys[i].type == CONFIG_TYPE_SECRET;

        if (v->parsed.text != NULL && (all || v->place.origin != CONFIG_DEFAULT)) {
            print_one(config_keys[i].name, secret ? "(not shown)" : v->parsed.text, &v->place, out);
        }
    }
    for (size_t i = 0; i < c->n_entries; i++) {
        print_one(c->entry[i].name, c->entry[i].text, &c->entry[i].place, out);
    }
}
