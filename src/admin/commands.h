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

const char *command_name(const struct command *c);
bool command_takes_post(const struct command *c);   /* and only that; all others GET */
bool command_takes_upload(const struct command *c); /* a POST whose body is a file */
bool command_changes(const struct command *c);      /* not only shows something */

/* What everybody who asks for it now is shown is the same. */
bool command_is_shared(const struct command *c);

/* Whether what it lists is more than may be made while clients wait. */
bool command_is_too_long(const struct command *c, const struct server *s);

/* The page with a link to each. */
void command_index(const char *url, struct strbuf *out);

/* When what takes long may be asked for again. */
struct command_limits {
    int64_t snapshot_us, restore_us; /* not before that; 0: at any time */
    int64_t retry_after_s;           /* of the last one that came too early */
};

/* What commands show beside the server itself. */
struct command_world {
    const struct config *config;
    const struct host *host;
    const struct quorum_config *members; /* as they are now */
    const char *file_text;               /* of zoo.cfg, without its secrets; NULL: there is none */
    struct command_limits *limits;
};

struct command_request {
    const struct command *command;
    const char *spelled;       /* name or alias */
    const char *trace_mask;    /* the argument; NULL: not given */
    const char *authorization; /* the header; NULL: not given */
    const char *ip;            /* of who asks */
    struct bytes body;
};

/* No status of HTTP: what is asked for is allowed, and the caller sees to it. */
enum { COMMAND_GOES_ON = 0 };

/* On the server's thread. Appends the body, returns the status of HTTP. */
int command_run(const struct command_world *world, struct server *s,
                const struct command_request *q, struct strbuf *out);

/* { "last_zxid" : N, "command" : NAME, "error" : null } */
void command_tell_zxid(const struct command *c, int64_t zxid, struct strbuf *out);

/* A body without anything else, or if nobody to ask is there: { "command" : NAME, "error" : TEXT }.
 */
void command_refuse(const char *name, const char *error, struct strbuf *out);

extern const char command_not_serving[];

#endif
