/* SPDX-License-Identifier: Apache-2.0 */
/* typed.h - the lines that were typed: of this shell by number, of earlier ones in a file.
 *
 * The file is $PAWL_HISTORY (empty: none), else pawl/history in $XDG_STATE_HOME, else in
 * ~/.local/state. It is text, a line for each, readable by its owner only; shells that run at the
 * same time all append to it. It is bounded in lines and in bytes, the oldest go first. Credentials
 * are in neither. */
#ifndef PAWL_CLI_TYPED_H
#define PAWL_CLI_TYPED_H

#include <stddef.h>

enum { TYPED_KEPT = 1000 };

struct typed {
    char *file; /* NULL: none */
    char **items;
    size_t n;
    size_t first; /* the number of items[0]: those before it are forgotten */
};

/* Tells the newest lines of the file, oldest first. A file that cannot be read is no history. */
void typed_open(struct typed *h, void (*old)(const char *line, void *arg), void *arg);
void typed_close(struct typed *h);

/* The number of the next line. */
size_t typed_next(const struct typed *h);

/* What is kept of it, until the next call. It goes to the file unless that cannot be written. */
const char *typed_add(struct typed *h, const char *line);

/* The line as others may see it, to be freed: of credentials only the command that has them. */
char *typed_without_secrets(const char *line);

/* Line number `n`; NULL: there is none. */
const char *typed_get(const struct typed *h, size_t n);

/* The newest line is to be this one. */
void typed_replace(struct typed *h, const char *line);

#endif
