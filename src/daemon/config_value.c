/* SPDX-License-Identifier: Apache-2.0 */
/* config_value.c - text to value, by the type of the key.
 *
 * Java silently takes its default where a property cannot be read; here a value that is not one
 * stops the start, because whoever wrote it meant something by it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "daemon/config_internal.h"

enum { MS_PER_HOUR = 3600000 };

bool config_parse_int64(const char *text, bool radix, int64_t *out)
{
    const char *digits = text;
    char *end;
    int base = 10;
    long long value;

    if (*digits == '-' || *digits == '+') {
        digits++;
    }
    if (*digits < '0' || *digits > '9') {
        return false;
    }
    if (radix) {
        base = 0;
    }
    errno = 0;
    value = strtoll(text, &end, base);
    if (errno != 0 || *end != '\0') {
        return false;
    }
    *out = value;
    return true;
}

static const char *config_value_unit_of(enum config_type type)
{
    switch (type) {
    case CONFIG_TYPE_MS:
        return " (milliseconds)";
    case CONFIG_TYPE_TICKS:
        return " (ticks)";
    case CONFIG_TYPE_SECONDS:
        return " (seconds)";
    case CONFIG_TYPE_HOURS:
        return " (hours, or with ms, s, m, h or d behind it)";
    case CONFIG_TYPE_BYTES:
        return " (bytes)";
    case CONFIG_TYPE_KIB:
        return " (KiB)";
    default:
        return "";
    }
}

static void allowed_number(const struct config_key *k, struct strbuf *out)
{
    if (k->min == k->max) {
        strbuf_printf(out, "%" PRId64, k->min);
    } else if (k->min == INT32_MIN) {
        strbuf_printf(out, "a whole number%s", config_value_unit_of(k->type));
    } else {
        strbuf_printf(out, "a whole number from %" PRId64 " to %" PRId64 "%s", k->min, k->max,
                      config_value_unit_of(k->type));
    }
}

static void allowed_choices(const char *choices, struct strbuf *out)
{
    const char *word = choices;

    while (word != NULL) {
        const char *bar = strchr(word, '|');
        int len = bar != NULL ? (int)(bar - word) : (int)strlen(word);

        strbuf_printf(out, "%s%.*s", word == choices ? "" : (bar != NULL ? ", " : " or "),
                      len > 0 ? len : 7, len > 0 ? word : "nothing");
        word = bar != NULL ? bar + 1 : NULL;
    }
}

void config_value_allowed(const struct config_key *k, struct strbuf *out)
{
    switch (k->type) {
    case CONFIG_TYPE_BOOL:
        strbuf_append_str(out, "true or false");
        break;
    case CONFIG_TYPE_YES_NO:
        strbuf_append_str(out, "yes or no");
        break;
    case CONFIG_TYPE_RATIO:
        if (k->low < -1) {
            strbuf_printf(out, "a number of at most %g", k->high);
        } else {
            strbuf_printf(out, "a number from %g to %g", k->low, k->high);
        }
        break;
    case CONFIG_TYPE_TEXT:
    case CONFIG_TYPE_SECRET:
        strbuf_append_str(out, "any text");
        break;
    case CONFIG_TYPE_PATH:
        strbuf_append_str(out, "a path");
        break;
    case CONFIG_TYPE_HOST:
        strbuf_append_str(out, "a host name, an IPv4 address or an IPv6 address");
        break;
    case CONFIG_TYPE_CHOICE:
        allowed_choices(k->choices, out);
        break;
    default:
        allowed_number(k, out);
        break;
    }
}

static bool config_value_refuse(const struct config_key *k, const char *text, const char *what,
                                struct strbuf *why)
{
    if (k->type == CONFIG_TYPE_SECRET) {
        strbuf_printf(why, "the value %s; allowed is ", what);
    } else {
        strbuf_printf(why, "\"%.100s\" %s; allowed is ", text, what);
    }
    config_value_allowed(k, why);
    return false;
}

static bool parse_words(const struct config_key *k, const char *text, const char *yes,
                        const char *no, struct config_parsed *out, struct strbuf *why)
{
    /* Java compares true and false in any case, but yes and no exactly: "forceSync=No" would sync.
     */
    bool exact = k->type == CONFIG_TYPE_YES_NO;
    int (*compare)(const char *, const char *) = exact ? strcmp : strcasecmp;

    if (compare(text, yes) != 0 && compare(text, no) != 0) {
        strbuf_printf(why, "\"%.100s\" is neither %s nor %s; allowed is ", text, yes, no);
        config_value_allowed(k, why);
        return false;
    }
    out->number = compare(text, yes) == 0;
    return true;
}

/* Splits "15m" into the number, left in `digits`, and what one unit is in milliseconds. */
static int64_t take_duration_unit(char *digits)
{
    static const struct {
        const char *suffix;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", MS_PER_HOUR}, {"d", 24 * MS_PER_HOUR}};
    size_t len = strspn(digits, "+-0123456789");

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (len > 0 && strcmp(digits + len, units[i].suffix) == 0) {
            digits[len] = '\0';
            return units[i].ms;
        }
    }
    return MS_PER_HOUR;
}

static int64_t scale_of(enum config_type type)
{
    switch (type) {
    case CONFIG_TYPE_SECONDS:
        return 1000;
    case CONFIG_TYPE_KIB:
        return 1024;
    default:
        return 1;
    }
}

static bool config_value_parse_number(const struct config_key *k, const char *text,
                                      struct config_parsed *out, struct strbuf *why)
{
    char *digits = must_strdup(text);
    int64_t scale = k->type == CONFIG_TYPE_HOURS ? take_duration_unit(digits) : scale_of(k->type);
    bool ok = config_parse_int64(digits, k->how != CONFIG_HOW_NAMED, &out->number);

    free(digits);
    if (!ok) {
        return config_value_refuse(k, text, "is not a whole number", why);
    }
    if (out->number < k->min && k->raised) {
        char raised[24];

        snprintf(raised, sizeof(raised), "%" PRId64, k->min);
        out->text = must_strdup(raised);
        out->number = k->min;
        out->raised = true;
    }
    if (out->number < k->min || out->number > k->max) {
        return config_value_refuse(k, text, "is out of range", why);
    }
    out->number *= scale;
    return true;
}

static bool parse_ratio(const struct config_key *k, const char *text, struct config_parsed *out,
                        struct strbuf *why)
{
    char *end;

    out->ratio = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(out->ratio)) {
        return config_value_refuse(k, text, "is not a number", why);
    }
    if (out->ratio < k->low || out->ratio > k->high) {
        return config_value_refuse(k, text, "is out of range", why);
    }
    return true;
}

static bool parse_choice(const struct config_key *k, const char *text, struct config_parsed *out,
                         struct strbuf *why)
{
    const char *word = k->choices;
    size_t len = strlen(text);

    for (out->number = 0; word != NULL; out->number++) {
        const char *bar = strchr(word, '|');
        size_t word_len = bar != NULL ? (size_t)(bar - word) : strlen(word);

        if (word_len == len && strncasecmp(word, text, len) == 0) {
            return true;
        }
        word = bar != NULL ? bar + 1 : NULL;
    }
    return config_value_refuse(k, text, "is not one of the choices", why);
}

/* "[::1]" is kept as "::1", which is what the resolver takes. */
static bool parse_host(const struct config_key *k, const char *text, struct config_parsed *out,
                       struct strbuf *why)
{
    size_t len = strlen(text);

    if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    }
    if (len == 0 || strcspn(text, " \t[]/,;") < len) {
        return config_value_refuse(k, text, "is no address", why);
    }
    out->text = must_copy_string(bytes_of(text, len));
    return true;
}

static bool parse_by_type(const struct config_key *k, const char *text, struct config_parsed *out,
                          struct strbuf *why)
{
    switch (k->type) {
    case CONFIG_TYPE_BOOL:
        return parse_words(k, text, "true", "false", out, why);
    case CONFIG_TYPE_YES_NO:
        return parse_words(k, text, "yes", "no", out, why);
    case CONFIG_TYPE_RATIO:
        return parse_ratio(k, text, out, why);
    case CONFIG_TYPE_CHOICE:
        return parse_choice(k, text, out, why);
    case CONFIG_TYPE_HOST:
        return parse_host(k, text, out, why);
    case CONFIG_TYPE_PATH:
        return text[0] != '\0' || config_value_refuse(k, text, "is no path", why);
    case CONFIG_TYPE_TEXT:
    case CONFIG_TYPE_SECRET:
        return true;
    default:
        return config_value_parse_number(k, text, out, why);
    }
}

bool config_value_parse(const struct config_key *k, const char *text, struct config_parsed *out,
                        struct strbuf *why)
{
    struct config_parsed parsed = {0};

    if (!parse_by_type(k, text, &parsed, why)) {
        return false;
    }
    if (parsed.text == NULL) {
        parsed.text = must_strdup(text);
    }
    *out = parsed;
    return true;
}
