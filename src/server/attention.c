/* SPDX-License-Identifier: Apache-2.0 */
#include "server/attention.h"

#include "base/assert.h"

void attention_init(struct attention *a, int64_t limit_us, int64_t now_us)
{
    ASSERT(limit_us >= 0);
    *a = (struct attention){.limit_us = limit_us, .looked_us = now_us, .heard_us = now_us};
}

int64_t attention_at(const struct attention *a, int64_t now_us)
{
    int64_t passed_us = now_us > a->looked_us ? now_us - a->looked_us : 0;

    return a->heard_us + (a->limit_us > 0 && passed_us > a->limit_us ? a->limit_us : passed_us);
}

void attention_looked(struct attention *a, int64_t then_us)
{
    int64_t heard_us = attention_at(a, then_us);

    ASSERT(heard_us >= a->heard_us);
    a->heard_us = heard_us;
    a->looked_us = then_us > a->looked_us ? then_us : a->looked_us;
}
