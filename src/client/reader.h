/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - the thread of callbacks as the one who drives.
 *
 * When it has no callback to run, answers are due and no caller is blocked, it sends what the
 * callbacks have asked for and reads the next answers itself: a stream of asynchronous calls needs
 * no other thread. The I/O thread looks every few milliseconds whether a callback keeps it from
 * that. */
#ifndef PAWL_CLIENT_READER_H
#define PAWL_CLIENT_READER_H

#include "client/waiter.h"

struct reader {
    struct waiter waiter; /* what it drives as; never in engine.waiters */
    bool is_on;           /* it reads, or will when its callbacks have run */
    int64_t callbacks_ms; /* since when those run */
    int64_t look_ms;      /* is_on: when the I/O thread looks at that again */
};

void reader_init(struct reader *r);
void reader_fini(struct reader *r);

/* Without callbacks to run: reads until there are some. False: that is not its business now, it may
 * sleep. */
bool reader_read(struct engine *e);

/* Something for it has come up, or nothing will. */
void reader_tell(struct engine *e);

/* For the I/O thread: has a callback that takes its time kept it from reading? */
void reader_watch(struct engine *e, int64_t now_ms);
int64_t reader_next_ms(const struct engine *e); /* INT64_MAX: never */

#endif
