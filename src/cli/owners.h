/* SPDX-License-Identifier: Apache-2.0 */
/* owners.h - where the sessions of holders and waiters come from, and how long they last without
 * another word, as far as servers tell (the four-letter word cons). */
#ifndef PAWL_CLI_OWNERS_H
#define PAWL_CLI_OWNERS_H

#include "cli/cli.h"

struct owner {
    uint64_t session_id;
    char client[64]; /* "10.0.0.7:53122" */
    int64_t timeout_ms;
    int64_t left_ms; /* before the server ends it if it hears nothing; -1: not known */
};

struct owners {
    struct owner *items;
    size_t n;
};

/* Asks each server of the list. Those that do not answer, or not this word, are passed over: then
 * their sessions are not known. */
void owners_ask(struct cli *cli, struct owners *out);
void owners_fini(struct owners *o);

const struct owner *owners_find(const struct owners *o, int64_t session_id); /* NULL: not known */

#endif
