/* SPDX-License-Identifier: Apache-2.0 */
/* shell.h - commands one after another: typed at a terminal, or the lines of a script.
 *
 * They share one session, so that ephemeral nodes, watches and credentials last as long as the
 * shell. A command that holds something, or goes on until it is ended, is a process of its own, as
 * if it had been started from outside: it may change signals and servers, and be killed. */
#ifndef PAWL_CLI_SHELL_H
#define PAWL_CLI_SHELL_H

#include "cli/cli.h"

struct shell;

/* There is a session with a server. EXIT_OK, or the failure was reported. */
int shell_connect(struct shell *s);

/* Runs pawl with these words, and the settings of the shell, as a process. Its exit status. */
int shell_spawn(struct shell *s, int argc, char **argv);

/* What was typed in it, with numbers; NULL: in earlier ones. */
int shell_print_history(const struct shell *s);

#endif
