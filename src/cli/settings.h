/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - which server, with which session: from the command line, else PAWL_SERVER, else the
 * user's file, else the machine's, else localhost:2181.
 *
 *   ~/.config/pawl/pawl.conf     server = a:2181,b:2181,c:2181/app
 *   /etc/pawl/pawl.conf          session-timeout = 10s
 *                                connect-timeout = 5s
 *                                auth = digest:user:password */
#ifndef PAWL_CLI_SETTINGS_H
#define PAWL_CLI_SETTINGS_H

#include "cli/args.h"

extern const struct option_spec settings_options[];

/* EXIT_OK, or what is wrong was reported; settings_free() in either case. */
int settings_read(struct cli *cli, const struct args *args);
void settings_free(struct cli *cli);

#endif
