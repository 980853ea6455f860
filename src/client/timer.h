/* SPDX-License-Identifier: Apache-2.0 */
/* timer.h - steps that are due at a time. */
#ifndef PAWL_CLIENT_TIMER_H
#define PAWL_CLIENT_TIMER_H

#include "base/heap.h"

struct engine;

struct timer {
    struct heap_node node;
    void (*fn)(void *arg); /* a step */
    void *arg;
};

void timer_init(struct timer *t, void (*fn)(void *arg), void *arg);
void timer_set(struct engine *e, struct timer *t, int64_t due_ms); /* again: moves it */
void timer_clear(struct engine *e, struct timer *t);

/* ---- for the engine ---- */

int64_t timers_next_ms(const struct engine *e);
void timers_run_due(struct engine *e, int64_t now_ms);

#endif
