/* SPDX-License-Identifier: Apache-2.0 */
/* line.h - lines of a file or of standard input, and the words of a line.
 *
 * Words are parted by blanks; 'as it is', "with \n, \t, \xHH, \\ and \"", and # begins a comment.
 */
#ifndef PAWL_CLI_LINE_H
#define PAWL_CLI_LINE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/strbuf.h"

struct line_words {
    char **items; /* each its own memory, ended by NULL */
    int n;
};

/* False: a quote is not closed, or an escape is none; nothing is to be freed then. */
bool line_split(const char *line, struct line_words *out);
void line_words_free(struct line_words *words);

/* Its first word is this one, in quotes or not. False for what is no line. */
bool line_is_of(const char *line, const char *command);

/* The next line of a file, without its end. False: there is none. One that is too long is cut, and
 * out->failed. */
bool line_read(FILE *file, struct strbuf *out);

#endif
