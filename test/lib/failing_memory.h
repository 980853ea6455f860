/* SPDX-License-Identifier: Apache-2.0 */
/* failing_memory.h - lets memory run out where a test wants it to.
 *
 * For programs that are linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc: the allocations
 * of all that is linked in statically come here, those of shared libraries do not. Any thread. */
#ifndef PAWL_TEST_FAILING_MEMORY_H
#define PAWL_TEST_FAILING_MEMORY_H

#include <stdbool.h>

/* After `n` more allocations the next `count` fail. */
void failing_memory_arm(long n, long count);

/* None fails any more. True when one has since it was armed. */
bool failing_memory_disarm(void);

#endif
