/* SPDX-License-Identifier: Apache-2.0 */
/* console.h - the console's page on the admin port.
 *
 * It is the same as `pawl console` serves, by the same code: a client of this server, over its
 * client port. Only four-letter words about this very server are asked of the server's thread, as
 * the admin commands are: whoever reaches this port may ask those as well. */
#ifndef PAWL_ADMIN_CONSOLE_H
#define PAWL_ADMIN_CONSOLE_H

#include <stdbool.h>

#include "console/front.h"

struct admin_console;
struct config;
struct host;

/* NULL: the configuration does not want it, or it cannot be; that is logged. */
struct admin_console *admin_console_new(const struct config *config, struct host *host,
                                        void (*wake)(void *arg), void *arg);

/* Its host is this one from now on; NULL: there is none for a while. The one before has stopped
 * turning, and nothing of it is used any more when this returns. NULL as a console is allowed. */
void admin_console_use(struct admin_console *c, struct host *host);

/* The order of front_stop() and front_free(). NULL is allowed. */
void admin_console_stop(struct admin_console *c);
void admin_console_free(struct admin_console *c);

struct front *admin_console_front(struct admin_console *c);

#endif
