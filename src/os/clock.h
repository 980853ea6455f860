/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - what time it is. Only the daemon and the I/O half of the client ask; everything else is
 * told. */
#ifndef PAWL_OS_CLOCK_H
#define PAWL_OS_CLOCK_H

#include <stdint.h>

/* Never goes back; starts anywhere. */
int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);

/* Milliseconds since 1970, as people count them; may jump. */
int64_t clock_wall_ms(void);

#endif
