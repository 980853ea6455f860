/* SPDX-License-Identifier: Apache-2.0 */
/* time.c - which of the system's clocks the client goes by. Apart from the rest of the machine, so
 * that the simulator, which has clocks of its own (os/clock.h), runs this choice as it is. */
#include "client/machine.h"
#include "os/clock.h"

int64_t machine_now_ms(void)
{
    return clock_boot_ms();
}

int64_t machine_now_us(void)
{
    return clock_monotonic_us();
}

int64_t machine_wall_ms(void)
{
    return clock_wall_ms();
}
