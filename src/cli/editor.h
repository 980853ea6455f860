/* SPDX-License-Identifier: Apache-2.0 */
/* editor.h - one line at a time from a terminal, by libedit: keys, history, completion.
 *
 * While it waits for keys it prints events of watches above the line that is being typed. */
#ifndef PAWL_CLI_EDITOR_H
#define PAWL_CLI_EDITOR_H

#include "cli/cli.h"
#include "cli/complete.h"

struct editor;

enum editor_news { EDITOR_LINE, EDITOR_INTERRUPTED, EDITOR_END };

struct editor_hooks {
    const char *(*prompt)(void *arg);                        /* control characters between \1s */
    void (*complete)(void *arg, struct candidates *of_path); /* adds the children of its parent */
    void (*idle)(void *arg);                                 /* events_fd() is readable */
    void *arg;
};

/* NULL: it cannot be done on this terminal. */
struct editor *editor_open(const struct editor_hooks *hooks);
void editor_close(struct editor *e);

/* A line for the keys up and down. */
void editor_remember(struct editor *e, const char *line);

/* EDITOR_LINE: `*line` is the editor's, until the next call. INTERRUPTED: a signal has come, and
 * what was typed is forgotten. */
enum editor_news editor_read(struct editor *e, const char **line);

#endif
