/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer.h - JSON as ZooKeeper's admin server lays it out.
 *
 *   {
 *     "members" : [ {
 *       "id" : 1
 *     }, {
 *       "id" : 2
 *     } ],
 *     "none" : [ ]
 *   }
 *
 * Commas and indentation are its business. Strings may be any bytes: what is not UTF-8 becomes
 * U+FFFD, as in Java. Where it goes has its limit (strbuf.h), which the caller looks at. */
#ifndef PAWL_SERVER_JSON_WRITER_H
#define PAWL_SERVER_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum { JSON_DEPTH_MAX = 16 };

struct json_writer {
    struct strbuf *out;
    int depth;
    struct {
        bool is_list;
        bool has_any;
    } level[JSON_DEPTH_MAX];
    struct strbuf scratch;
};

void json_writer_init(struct json_writer *w, struct strbuf *out);
void json_writer_fini(struct json_writer *w);

/* `name` NULL: an element of a list, or the whole. */
void json_open_object(struct json_writer *w, const char *name);
void json_close_object(struct json_writer *w);
void json_open_list(struct json_writer *w, const char *name);
void json_open_list_of(struct json_writer *w, struct bytes name); /* a name that may be anything */
void json_close_list(struct json_writer *w);

void json_put_bytes(struct json_writer *w, const char *name, struct bytes text);
void json_put_string(struct json_writer *w, const char *name, const char *text); /* NULL: null */
void json_put_integer(struct json_writer *w, const char *name, int64_t value);
void json_put_bool(struct json_writer *w, const char *name, bool value);

/* Begins a value that the caller appends to `out` itself: a number with decimals. */
void json_put_name(struct json_writer *w, const char *name);

#endif
