/* SPDX-License-Identifier: Apache-2.0 */
/* when.h - moments as people write them: a zxid or a time, and ranges of either. */
#ifndef PAWL_CLI_FILES_WHEN_H
#define PAWL_CLI_FILES_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* Both ends are included. */
struct span {
    int64_t from, to;
};

/* "0x1f" or "31". */
bool zxid_parse(const char *text, int64_t *out);

/* "2026-11-16", with "14:30", "14:30:05" and "14:30:05.123" behind it after a blank or a T, in the
 * local zone or, with a Z at its end, in UTC; "@1763303405.123" are seconds since 1970. All of the
 * day, minute, second or millisecond that it names, in milliseconds. */
bool time_parse(const char *text, struct span *out);

/* "A..B", "A..", "..B" and "A". */
bool zxid_span_parse(const char *text, struct span *out);
bool time_span_parse(const char *text, struct span *out);

/* A zxid has no '-', no ':' and no '@'. */
bool looks_like_time(const char *text);

#endif
