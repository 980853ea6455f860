/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - JSON on standard output, one value per line.
 *
 * Commas are its business: json_open(), members, json_close(). Bytes that are no UTF-8 are written
 * as base64, under the name with "_base64" behind it. */
#ifndef PAWL_CLI_JSON_H
#define PAWL_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <pawl/types.h>

/* Where it goes from now on; NULL: to standard output again. Between two values only. */
void json_to(FILE *file);

/* `name` NULL: an element of a list, or the value of the line. `bracket` is { or [. */
void json_open(const char *name, char bracket);
void json_close(char bracket); /* the last one ends the line */

void json_text(const char *name, const char *value);
void json_number(const char *name, int64_t value);
void json_hex(const char *name, uint64_t value); /* "0x1f", as ZooKeeper's people write zxids */
void json_bool(const char *name, bool value);
void json_data(const char *name, struct pawl_bytes data); /* null: no data at all */
void json_acls(const char *name, const struct pawl_acls *acls);
void json_stat(const char *name, const struct pawl_stat *stat);

#endif
