/* SPDX-License-Identifier: Apache-2.0 */
/* complete.h - what the word before the cursor can become. */
#ifndef PAWL_CLI_COMPLETE_H
#define PAWL_CLI_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

struct candidates {
    char *word;   /* as it stands */
    char *parent; /* it is a path: whose children are to be added; NULL: it is none */
    char **items; /* whole words, in order, each once */
    size_t n;
};

/* Commands and options; of a path the parent only. Nothing inside quotes. */
void complete_line(const char *line, size_t len, struct candidates *out);

/* A child of `parent`, if the word can become that. */
void complete_add_child(struct candidates *c, const char *name);

/* After the last of them. */
void complete_sort(struct candidates *c);

/* What all of them begin with and can stand in a line without quotes; to be freed. */
char *complete_common(const struct candidates *c);

void candidates_fini(struct candidates *c);

#endif
