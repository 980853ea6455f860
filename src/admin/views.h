/* SPDX-License-Identifier: Apache-2.0 */
/* views.h - commands about what surrounds a server: its ensemble, configuration and files. Each
 * adds its fields to the object that is open. On the server's thread. */
#ifndef PAWL_ADMIN_VIEWS_H
#define PAWL_ADMIN_VIEWS_H

#include "admin/commands.h"
#include "server/json_writer.h"

void view_initial_configuration(const struct command_world *world, struct server *s,
                                struct json_writer *w);
void view_last_snapshot(const struct command_world *world, struct server *s, struct json_writer *w);
void view_leader(const struct command_world *world, struct server *s, struct json_writer *w);
void view_observers(const struct command_world *world, struct server *s, struct json_writer *w);
void view_system_properties(const struct command_world *world, struct server *s,
                            struct json_writer *w);
void view_voting_view(const struct command_world *world, struct server *s, struct json_writer *w);
void view_zabstate(const struct command_world *world, struct server *s, struct json_writer *w);

/* Whether somebody leads, and this server knows who. */
bool view_has_leader(const struct server *s);

#endif
