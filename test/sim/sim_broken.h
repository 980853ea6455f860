/* SPDX-License-Identifier: Apache-2.0 */
/* sim_broken.h - rules that do not hold, by name (base/broken.h). */
#ifndef PAWL_TEST_SIM_BROKEN_H
#define PAWL_TEST_SIM_BROKEN_H

#include <stdbool.h>

/* False: there is no such rule. */
bool sim_break(const char *rule);

#endif
