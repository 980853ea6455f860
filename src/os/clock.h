/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - what time it is. Only the daemon and the I/O half of the client ask; everything else is
 * told. */
#ifndef PAWL_OS_CLOCK_H
#define PAWL_OS_CLOCK_H

#include <stdint.h>

/* Two clocks that never go back and start anywhere. While the machine sleeps, one stands still and
 * the other goes on. Which one to ask follows from who must not be wronged:
 *
 *   boot       how long may others have gone on without us? A holder of a lock that wakes up has to
 *              know that its session may be over.
 *   monotonic  how long have we listened in vain? A server that slept has heard from nobody, and
 *              nobody is to blame for that: it must not end all sessions when it wakes up. */
int64_t clock_boot_ms(void);
int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);

/* Milliseconds since 1970, as people count them; may jump. */
int64_t clock_wall_ms(void);

#endif
