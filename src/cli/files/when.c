/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_BYTES = 64, DAY_MS = 24 * 60 * 60 * 1000 };

bool looks_like_time(const char *text)
{
    return strpbrk(text, "-:@") != NULL;
}

bool zxid_parse(const char *text, int64_t *out)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = is_hex ? text + 2 : text;
    unsigned long long n;
    char *end;

    if (!isxdigit((unsigned char)digits[0])) { /* nor a sign, nor a blank */
        return false;
    }
    errno = 0;
    n = strtoull(digits, &end, is_hex ? 16 : 10);
    if (*end != '\0' || end == digits || errno != 0) {
        return false;
    }
    *out = (int64_t)n;
    return true;
}

/* ".123" or nothing; all of what follows must be digits. */
static bool fraction_parse(const char *text, int *out_ms, int *unit_ms)
{
    *out_ms = 0;
    if (*text == '\0') {
        return true;
    }
    if (*text != '.' || text[1] == '\0' || strspn(text + 1, "0123456789") != strlen(text + 1)) {
        return false;
    }
    for (int i = 1, weight = 100; text[i] != '\0' && weight > 0; i++, weight /= 10) {
        *out_ms += (text[i] - '0') * weight;
    }
    *unit_ms = 1;
    return true;
}

static bool since_1970(const char *text, struct span *out)
{
    int ms, unit_ms = 1000;
    long long seconds;
    char *end;

    if (!isdigit((unsigned char)text[0])) {
        return false;
    }
    errno = 0;
    seconds = strtoll(text, &end, 10);
    if (errno != 0 || seconds > INT64_MAX / 2000 || !fraction_parse(end, &ms, &unit_ms)) {
        return false;
    }
    out->from = seconds * 1000 + ms;
    out->to = out->from + unit_ms - 1;
    return true;
}

/* Digits only where digits are asked for: strptime() takes blanks and signs as well. */
static const char *take_fields(const char *text, const char *format, struct tm *tm)
{
    return isdigit((unsigned char)text[0]) ? strptime(text, format, tm) : NULL;
}

/* What follows the date: "", " 14:30", "T14:30:05". NULL: something else. */
static const char *take_clock(const char *at, struct tm *tm, int *unit_ms)
{
    const char *end;

    *unit_ms = DAY_MS;
    if (*at == '\0') {
        return at;
    }
    if (*at != ' ' && *at != 'T') {
        return NULL;
    }
    end = take_fields(at + 1, "%H:%M:%S", tm);
    *unit_ms = 1000;
    if (end == NULL) {
        end = take_fields(at + 1, "%H:%M", tm);
        *unit_ms = 60 * 1000;
    }
    return end;
}

/* strptime() knows months of 31 days only. */
static bool is_in_calendar(const struct tm *tm)
{
    struct tm copy = *tm;

    timegm(&copy);
    return copy.tm_mday == tm->tm_mday;
}

static int64_t seconds_of(struct tm tm, bool is_utc)
{
    return is_utc ? timegm(&tm) : mktime(&tm);
}

/* Where clocks are put forward and back, two days of the year have another number of hours. */
static int64_t next_day(const struct tm *tm, bool is_utc)
{
    struct tm next = *tm;

    next.tm_mday++;
    return seconds_of(next, is_utc);
}

static bool calendar(const char *text, struct span *out)
{
    struct tm tm = {.tm_isdst = -1};
    char copy[TEXT_BYTES];
    size_t len = strlen(text);
    bool is_utc = len > 0 && text[len - 1] == 'Z';
    const char *rest;
    int ms, unit_ms;

    if (len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text, len + 1);
    copy[len - is_utc] = '\0';
    rest = take_fields(copy, "%Y-%m-%d", &tm);
    rest = rest != NULL ? take_clock(rest, &tm, &unit_ms) : NULL;
    if (rest == NULL || (unit_ms != 1000 && *rest != '\0') ||
        !fraction_parse(rest, &ms, &unit_ms) || !is_in_calendar(&tm)) {
        return false;
    }
    out->from = seconds_of(tm, is_utc) * 1000 + ms;
    out->to = (unit_ms == DAY_MS ? next_day(&tm, is_utc) * 1000 : out->from + unit_ms) - 1;
    return true;
}

bool time_parse(const char *text, struct span *out)
{
    return text[0] == '@' ? since_1970(text + 1, out) : calendar(text, out);
}

/* ---- ranges ---- */

static bool zxid_as_span(const char *text, struct span *out)
{
    bool is_one = zxid_parse(text, &out->from);

    out->to = out->from;
    return is_one;
}

static bool span_parse(const char *text, bool (*parse)(const char *, struct span *),
                       struct span *out)
{
    const char *dots = strstr(text, "..");
    char left[TEXT_BYTES];
    struct span one;

    if (dots == NULL) {
        return parse(text, out);
    }
    if ((size_t)(dots - text) >= sizeof(left)) {
        return false;
    }
    snprintf(left, sizeof(left), "%.*s", (int)(dots - text), text);
    *out = (struct span){INT64_MIN, INT64_MAX};
    if (left[0] != '\0') {
        if (!parse(left, &one)) {
            return false;
        }
        out->from = one.from;
    }
    if (dots[2] != '\0') {
        if (!parse(dots + 2, &one)) {
            return false;
        }
        out->to = one.to;
    }
    return out->from <= out->to;
}

bool zxid_span_parse(const char *text, struct span *out)
{
    struct span found = {0};

    if (!span_parse(text, zxid_as_span, &found)) {
        return false;
    }
    *out = found;
    return true;
}

bool time_span_parse(const char *text, struct span *out)
{
    struct span found = {0};

    if (!span_parse(text, time_parse, &found)) {
        return false;
    }
    *out = found;
    return true;
}
