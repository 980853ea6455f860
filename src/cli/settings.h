/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - which server, with which session: from the command line, else PAWL_SERVER, else the
 * user's file, else the machine's, else localhost:2181.
 *
 *   ~/.config/pawl/pawl.conf     server = a:2181,b:2181,c:2181/app
 *   /etc/pawl/pawl.conf          session-timeout = 10s
 *                                connect-timeout = 5s
 *                                auth = digest:user:password
 *                                ca = FILE, cert = FILE, key = FILE, server-name = NAME: of zks://
 *                                sasl = FILE, or jaas = FILE: who we are
 *
 * PAWL_AUTH has credentials, too, a line for each: others see a command line, but not that. A
 * shell hands its own to the processes that it starts in a variable of the same form, which they
 * take out of the environment: what they start in turn is not to have them. */
#ifndef PAWL_CLI_SETTINGS_H
#define PAWL_CLI_SETTINGS_H

#include "cli/args.h"

/* In the order of enum cli_security. */
#define CLI_SECURITY_ENVIRONMENT                                                         \
    {                                                                                    \
        "PAWL_CA", "PAWL_CERT", "PAWL_KEY", "PAWL_SERVER_NAME", "PAWL_SASL", "PAWL_JAAS" \
    }

#define SETTINGS_SHELL_AUTH "PAWL_SHELL_AUTH"

extern const struct option_spec settings_options[];

/* EXIT_OK, or what is wrong was reported; settings_free() in either case. */
int settings_read(struct cli *cli, const struct args *args);
void settings_free(struct cli *cli);

/* "SCHEME:AUTH", for every session that begins from now on. EXIT_OK, or it is none, which was
 * reported, with the place where it stands and not with what may be a password. */
int settings_add_auth(struct cli *cli, const char *place, const char *text);

#endif
