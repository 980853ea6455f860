/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - who receives from the link: a blocked caller, or the thread of callbacks.
 *
 * The one who waits first drives: it reads for everybody until it has its own answer, and passes
 * the wheel on to another who waits. With no driver the I/O thread reads. */
#ifndef PAWL_CLIENT_DRIVER_H
#define PAWL_CLIENT_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct waiter;

/* There is a link to read from, and nobody else does. */
bool driver_can_be(const struct engine *e, const struct waiter *w);

/* Before submitting: if nobody else reads, `w`, which is going to wait, will. */
void driver_claim(struct engine *e, struct waiter *w);

/* Reads for everybody until `w` is done, the deadline (0: none) is over or the link has gone. */
void driver_run(struct engine *e, struct waiter *w, int64_t deadline_ms);

/* `w` does not read any more: another who waits goes on, or the I/O thread. */
void driver_pass_on(struct engine *e, const struct waiter *w);

#endif
