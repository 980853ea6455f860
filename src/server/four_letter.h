/* SPDX-License-Identifier: Apache-2.0 */
/* four_letter.h - the four-letter words: text for operators and their tools on the client port. */
#ifndef PAWL_SERVER_FOUR_LETTER_H
#define PAWL_SERVER_FOUR_LETTER_H

#include "server/server.h"

/* Whether the first four bytes of a connection, read as a big-endian number, are a word. */
bool four_letter_is_known(uint32_t word);

/* The same of a name in a configuration. */
bool four_letter_word_is_known(const char *name);

/* Answers the word at the start of `bytes` into c->out and closes the connection behind it; a word
 * that is not on the whitelist is answered with just that, and stmk without the eight bytes behind
 * it with nothing. All of `bytes` is taken. */
void four_letter_answer(struct server *s, struct connection *c, struct bytes bytes);

/* Whether `name` is in a whitelist: words between commas, blanks around them, "*" for all. */
bool four_letter_is_listed(const char *list, const char *name);

#endif
