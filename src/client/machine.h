/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the one seam between the client and the machine it runs on: time, chance, waiting.
 *
 * What is declared here, in link.h and in beacon.h is all that makes system calls (locks and
 * threads are those of os/thread.h). It is defined in client/machine/, and a second time by the
 * simulator, in simulated time: the linker takes the one it sees first. */
#ifndef PAWL_CLIENT_MACHINE_H
#define PAWL_CLIENT_MACHINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/thread.h"

struct engine;
struct waiter;

struct machine_state {
    int poll_fd;  /* readable when a turn has something to do */
    int wake_fd;  /* ends a turn's wait */
    int kick_fd;  /* ends the driver's wait */
    int alarm_fd; /* ends a turn's wait when the machine wakes up behind its time */
    int64_t alarm_ms;
    _Atomic bool woken;
    bool asleep; /* nobody makes a turn, or whoever does waits */
    int64_t sleep_until_ms;
    bool in_turn; /* whoever makes the turn looks at the inbox afterwards */
    bool has_loop;
    struct thread loop; /* who calls pawl_client_process() */
};

int64_t machine_now_ms(void); /* never goes back, and goes on while the machine sleeps */
int64_t machine_now_us(void);
int64_t machine_wall_ms(void); /* since 1970: for what other processes read */

/* Bytes that nobody can guess; false: the system has none. */
bool machine_random(void *out, size_t len);

/* SYSTEM or 0. Closing is allowed whatever has been opened. */
int machine_open(struct machine_state *m);
void machine_close(struct machine_state *m);

void machine_wake(struct engine *e); /* whoever makes turns; without the lock, too */
void machine_kick(struct engine *e); /* the driver, out of machine_receive() */

/* Ticks, then waits at most `timeout_ms` (-1: as the timers say) for the machine, then handles
 * it. The lock is released while it waits. */
void machine_turn(struct engine *e, int64_t timeout_ms);

/* What a foreign loop has to wait for. */
void machine_interest(const struct engine *e, int *fd, short *events);

/* Bytes of the link, for the driver, which waits `left_ms` for some without the lock; 0: none came;
 * -1: the link has ended. */
long machine_receive(struct engine *e, struct waiter *w, int64_t left_ms, uint8_t *data,
                     size_t len);

#endif
