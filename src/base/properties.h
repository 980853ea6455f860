/* SPDX-License-Identifier: Apache-2.0 */
/* properties.h - the syntax of java.util.Properties, as zoo.cfg has it.
 *
 *   key=value   key:value   key value     the first unescaped separator ends the key
 *   # or !                                as first character: a comment, up to the end of the line
 *   \ at the end of a line                goes on in the next one, whose leading blanks are dropped
 *   \t \n \r \f \uXXXX, \c for any other  escapes, in keys and values
 *
 * The bytes are ISO-8859-1, as Java reads them, and leave here as UTF-8: a directory with an umlaut
 * in its name is the same directory for both servers. Keys and values are trimmed. */
#ifndef PAWL_BASE_PROPERTIES_H
#define PAWL_BASE_PROPERTIES_H

#include "base/bytes.h"

typedef void (*property_fn)(void *arg, int line, const char *key, const char *value);

struct properties_error {
    int line;
    const char *what; /* static memory */
};

/* Calls `each` for every pair in the order of the text, duplicates included. 0, or PAWL_ERR_CONFIG
 * and `error`: then the pairs before the fault have been delivered. */
int properties_parse(struct bytes text, property_fn each, void *arg,
                     struct properties_error *error);

#endif
