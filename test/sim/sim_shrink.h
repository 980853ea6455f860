/* SPDX-License-Identifier: Apache-2.0 */
/* sim_shrink.h - which items of a run are kept, and how a run that fails is made shorter. */
#ifndef PAWL_TEST_SIM_SHRINK_H
#define PAWL_TEST_SIM_SHRINK_H

#include <stdbool.h>
#include <stddef.h>

struct selection {
    bool *kept;
    size_t n, n_kept;
};

void selection_all(struct selection *s, size_t n);
void selection_listed(struct selection *s, size_t n, const char *list); /* "3,17,21" */
void selection_fini(struct selection *s);
bool selection_has(const struct selection *s, size_t item);
void selection_print(const struct selection *s); /* as a list; "none" */

/* Leaves out as much as possible while `fails` says yes, in no more than so many tries. */
void selection_shrink(struct selection *s, size_t most_tries,
                      bool (*fails)(void *arg, const struct selection *s), void *arg);

#endif
