/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PAWL_TEST_SIM_ENSEMBLE_SCENARIO_H
#define PAWL_TEST_SIM_ENSEMBLE_SCENARIO_H

#include <stdbool.h>

/* 0: the trace is as the file says; else the difference is printed. `write`: the file is written
 * again with the trace as it is. */
int scenario_run(const char *path, bool write);

#endif
