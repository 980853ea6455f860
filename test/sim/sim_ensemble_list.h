/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ensemble_list.h - a list of members as one number, which is the value of the transaction that
 * makes it: a mark, the voters, the observers, and the version. */
#ifndef PAWL_TEST_SIM_ENSEMBLE_LIST_H
#define PAWL_TEST_SIM_ENSEMBLE_LIST_H

#include "quorum/config.h"

enum { LIST_MEMBERS = 12 }; /* at most */

/* 0: no list. Sets by index. */
uint64_t sim_list_make(uint32_t voters, uint32_t observers, int64_t version);
bool sim_list_is(uint64_t value);
uint32_t sim_list_voters(uint64_t value);
uint32_t sim_list_observers(uint64_t value);
int64_t sim_list_version(uint64_t value);

uint64_t sim_list_of(const struct quorum_config *config);
void sim_list_config(uint64_t value, struct quorum_config *out);
/* quorum_options.config_of */
bool sim_list_text(struct bytes payload, struct bytes *text);

#endif
