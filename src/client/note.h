/* SPDX-License-Identifier: Apache-2.0 */
/* note.h - something that a step has to tell the user. Posted again before it ran it runs once: it
 * tells how things stand. */
#ifndef PAWL_CLIENT_NOTE_H
#define PAWL_CLIENT_NOTE_H

#include "client/item.h"

struct engine;

struct note {
    struct item item;
    bool posted;
    void (*fn)(void *arg); /* not a step: without the lock. The note may go meanwhile */
    void *arg;
};

void note_init(struct note *n, void (*fn)(void *arg), void *arg);
void note_post(struct engine *e, struct note *n);
void note_run(struct engine *e, struct note *n); /* for the dispatcher */

#endif
