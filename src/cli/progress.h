/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - how far a long command is: one line on the terminal, drawn again and again, with a
 * bar, the rate and the time that is left. Nothing at all where standard error is no terminal. */
#ifndef PAWL_CLI_PROGRESS_H
#define PAWL_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_on;
    const char *unit; /* what is counted: "nodes" */
    int64_t began_ms, drawn_ms;
};

/* `is_wanted` false: it stays quiet. One at a time. */
void progress_begin(struct progress *p, bool is_wanted);

/* `n` nodes, or whatever `unit` has been set to, are done; that is `done` of `total`, of whatever
 * kind. Total 0: nobody knows. */
void progress_step(struct progress *p, int64_t n, int64_t done, int64_t total);
void progress_end(struct progress *p);

/* Takes the line away, for a message; the next step draws it again. */
void progress_hide(void);

#endif
