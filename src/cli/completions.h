/* SPDX-License-Identifier: Apache-2.0 */
/* completions.h - what shells need to complete the words of `pawl`: commands and options from the
 * table, paths from the server. */
#ifndef PAWL_CLI_COMPLETIONS_H
#define PAWL_CLI_COMPLETIONS_H

#include "cli/commands.h"

void completions_bash(const struct command *const *all, size_t n);
void completions_zsh(const struct command *const *all, size_t n);
void completions_fish(const struct command *const *all, size_t n);

/* How long the first word of its name is: "barrier" of "barrier raise". */
size_t completions_first_len(const struct command *c);

/* "raise"; NULL: it is one word. */
const char *completions_second(const struct command *c);

/* No command before `at` begins with the same word. */
bool completions_is_first(const struct command *const *all, size_t at);

bool completions_same_first(const struct command *a, const struct command *b);

/* Whether some command is this word and another one. */
bool completions_is_group(const struct command *const *all, size_t n, const struct command *c);

/* Options of pawl itself that take a value, with `between` between them: -s SERVER is two words. */
void completions_print_settings(const char *between);

/* In single quotes, with whatever the shell has for one inside. */
void completions_print_quoted(const char *text, const char *quote_inside);

#endif
