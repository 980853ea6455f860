/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/quorum.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "quorum/broken.h"

#ifdef PAWL_BREAKABLE
enum broken_rule broken_rule = BROKEN_NONE;
#endif

struct quorum {
    struct quorum_options options;
    int64_t now_us;
    struct quorum_effects *out;
};

void quorum_effects_init(struct quorum_effects *e)
{
    *e = (struct quorum_effects){0};
}

void quorum_effects_fini(struct quorum_effects *e)
{
    free(e->items);
    quorum_effects_init(e);
}

struct quorum *quorum_new(const struct quorum_options *options)
{
    struct quorum *q = must_zalloc(sizeof *q);

    ASSERT(options->tick_ms > 0);
    ASSERT(options->init_limit > 0);
    ASSERT(options->sync_limit > 0);
    q->options = *options;
    return q;
}

void quorum_free(struct quorum *q)
{
    free(q);
}

void quorum_step(struct quorum *q, int64_t now_us, const struct quorum_input *in,
                 struct quorum_effects *out)
{
    (void)in;
    ASSERT(now_us >= q->now_us);
    q->now_us = now_us;
    out->count = 0;
}

int64_t quorum_next_us(const struct quorum *q)
{
    (void)q;
    return INT64_MAX;
}

struct quorum_status quorum_status(const struct quorum *q)
{
    (void)q;
    return (struct quorum_status){.role = MEMBER_LOOKING, .leader = SID_NOBODY};
}
