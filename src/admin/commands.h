/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the commands of ZooKeeper's admin server, 3.5 to 3.10.
 *
 * Names, fields and sentences are Apache's; how a body is laid out is json_writer.h's business. An
 * unknown command and a server that does not serve are told in the body, with status 200, as
 * Apache's does it: tools look there. */
#ifndef PAWL_ADMIN_COMMANDS_H
#define PAWL_ADMIN_COMMANDS_H

#include <stdbool.h>

#include "base/strbuf.h"

struct config;
struct host;
struct server;

struct command;

/* By its name or one of its aliases; NULL: there is none. */
const struct command *command_find(const char *name);

bool command_takes_post(const struct command *c); /* and only that; all others GET */
bool command_changes(const struct command *c);    /* not only shows something */

/* What everybody who asks for it now is shown is the same. */
bool command_is_shared(const struct command *c);

/* Whether what it lists is more than may be made while clients wait. */
bool command_is_too_long(const struct command *c, const struct server *s);

/* The page with a link to each. */
void command_index(const char *url, struct strbuf *out);

/* What commands show beside the server itself. */
struct command_world {
    const struct config *config;
    const struct host *host;
    const struct quorum_config *members; /* as they are now */
    const char *file_text;               /* of zoo.cfg, without its secrets; NULL: there is none */
};

struct command_request {
    const struct command *command;
    const char *spelled;       /* name or alias */
    const char *trace_mask;    /* the argument; NULL: not given */
    const char *authorization; /* the header; NULL: not given */
    const char *ip;            /* of who asks */
    struct bytes body;
};

/* On the server's thread. Appends the body, returns the status of HTTP. */
int command_run(const struct command_world *world, struct server *s,
                const struct command_request *q, struct strbuf *out);

/* Nobody to ask is there: { "command" : NAME, "error" : TEXT }. */
void command_refuse(const char *name, const char *error, struct strbuf *out);

extern const char command_not_serving[];

#endif
