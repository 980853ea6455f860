/* SPDX-License-Identifier: Apache-2.0 */
/* screen.h - a view that has the terminal for itself and is kept current.
 *
 * It is on the terminal's other screen, which goes with all that is on it. What is reported
 * meanwhile is therefore part of the view, below its rows, and is told again once it has ended. */
#ifndef PAWL_CLI_SCREEN_H
#define PAWL_CLI_SCREEN_H

#include <stddef.h>

struct cli;

struct screen {
    struct cli *cli;
    char *reported; /* since screen_begin(), after screen_end() */
    size_t reported_len;
};

void screen_open(struct screen *s, struct cli *cli);

/* The rows that are printed from now on, each ended by "\033[K\r\n", replace those that are there.
 */
void screen_begin(struct screen *s);
void screen_end(struct screen *s);

void screen_close(struct screen *s);

#endif
