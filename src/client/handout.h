/* SPDX-License-Identifier: Apache-2.0 */
/* handout.h - what the core yields goes to whom it concerns: the next step of a plan, a recipe, a
 * blocked caller, or the inbox of the thread of callbacks. */
#ifndef PAWL_CLIENT_HANDOUT_H
#define PAWL_CLIENT_HANDOUT_H

#include <stdint.h>

struct engine;

void handout_items(struct engine *e, int64_t now_ms);

#endif
