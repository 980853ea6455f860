/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - four-letter words, for commands that want to know something of servers. */
#ifndef PAWL_CLI_WORDS_H
#define PAWL_CLI_WORDS_H

#include "base/strbuf.h"
#include "cli/cli.h"

struct server_list;
struct server_place;
struct tls_context;

/* Of an answer. */
enum { WORDS_ANSWER_MAX = 256 << 20 };

/* What zks:// needs to ask these servers; NULL for a list without. EXIT_OK, or the failure was
 * reported. */
int words_open_tls(const struct cli *cli, const struct server_list *list, struct tls_context **out);

/* What one server answers, appended to `answer`: EXIT_OK. Or EXIT_UNREACHABLE or EXIT_REFUSED, and
 * `why` has the reason in words; nothing is reported. Without `tls` in plain text. */
int words_ask_one(struct cli *cli, const char *word, const struct server_place *place,
                  struct tls_context *tls, struct strbuf *answer, char *why, size_t why_size);

/* What is behind `name`, which has its ": ", up to the end of that line, cut to fit; "": it is not
 * there. */
void words_text(struct strbuf *answer, const char *name, char *out, size_t size);

/* `answer` is lent, and not empty. */
typedef void (*words_fn)(const char *server, struct pawl_bytes answer, bool is_one_of_many,
                         void *arg);

/* Asks all of the list, one after another, and tells what those say that answer; the others are
 * reported. EXIT_OK, or the status of the first failure. */
int words_ask_all(struct cli *cli, const char *word, words_fn fn, void *arg);

/* The same, and nothing is reported. */
void words_hear_all(struct cli *cli, const char *word, words_fn fn, void *arg);

#endif
