/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_broken.h"

#include <string.h>

#include "base/broken.h"

static const char *const rules[N_BROKEN_RULES] = {[BROKEN_NONE] = "NONE",
#define RULE(name) [BROKEN_##name] = #name,
                                                  BROKEN_RULES(RULE)
#undef RULE
};

bool sim_break(const char *rule)
{
    for (int i = 0; i < N_BROKEN_RULES; i++) {
        if (strcmp(rules[i], rule) == 0) {
            broken_rule = (enum broken_rule)i;
            return true;
        }
    }
    return false;
}
