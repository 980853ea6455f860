/* SPDX-License-Identifier: Apache-2.0 */
/* members.h - the servers of an ensemble, as far as they are known, and what each says of itself.
 *
 * Known are those of the list that the console was given, and those whose place for clients stands
 * in the configuration of the ensemble. */
#ifndef PAWL_CONSOLE_MEMBERS_H
#define PAWL_CONSOLE_MEMBERS_H

#include "console/call.h"
#include "look/ask.h"
#include "wire/server_list.h"

enum { MEMBERS_MAX = 32, MEMBER_NAME_BYTES = 300 };

struct member_place {
    struct server_place place; /* owns its name */
    char name[MEMBER_NAME_BYTES];
    int64_t id; /* -1: not known */
    bool is_observer;
    bool is_reachable; /* its place for clients is known */
};

struct member_places {
    struct member_place items[MEMBERS_MAX];
    size_t n;
};

void member_places_read(struct call *c, struct member_places *out);
void member_places_fini(struct member_places *m);

/* One word to one member. */
enum ask_outcome member_ask(const struct console *c, const struct member_place *m, const char *word,
                            struct strbuf *answer, char *why, size_t why_size);

#endif
