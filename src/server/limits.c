/* SPDX-License-Identifier: Apache-2.0 */
#include "server/limits.h"

#include "base/assert.h"

/* Tokens are counted in sessions; with weights one of them costs several. */
static int64_t weigh(const struct limit_options *o, int64_t tokens)
{
    return o->throttle_weighted ? tokens * o->weight_global : tokens;
}

void throttle_init(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms)
{
    *t = (struct connection_throttle){
        .tokens = weigh(o, o->throttle_tokens), .filled_ms = now_ms, .adjusted_ms = now_ms};
}

int64_t throttle_deficit(const struct connection_throttle *t, const struct limit_options *o)
{
    return weigh(o, o->throttle_tokens) - t->tokens;
}

static void refill(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms)
{
    int64_t fill_ms = o->throttle_fill_ms > 0 ? o->throttle_fill_ms : 1;
    int64_t max = weigh(o, o->throttle_tokens);
    int64_t times = (now_ms - t->filled_ms) / fill_ms;

    if (times <= 0) {
        return;
    }
    t->filled_ms += times * fill_ms;
    if (times > max) { /* more than enough, and no overflow below */
        times = max;
    }
    t->tokens += times * weigh(o, o->throttle_fill_count);
    if (t->tokens > max) {
        t->tokens = max;
    }
}

/* Random early drop (the BLUE algorithm): an empty bucket makes refusals likelier; when no more is
 * missing than the given share of it, they become rarer. */
static void adjust(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms)
{
    double allowed = o->throttle_decrease_ratio * (double)weigh(o, o->throttle_tokens);

    if (now_ms - t->adjusted_ms <= o->throttle_freeze_ms) {
        return;
    }
    t->adjusted_ms = now_ms;
    if (t->tokens == 0) {
        t->drop_probability += o->throttle_drop_increase;
    } else if ((double)throttle_deficit(t, o) < allowed + 0.5) { /* rounded, as there */
        t->drop_probability -= o->throttle_drop_decrease;
    }
    t->drop_probability = t->drop_probability < 0   ? 0
                          : t->drop_probability > 1 ? 1
                                                    : t->drop_probability;
}

static int64_t throttle_cost(const struct limit_options *o, enum throttle_kind kind)
{
    if (!o->throttle_weighted) {
        return 1;
    }
    return kind == THROTTLE_RENEWAL     ? o->weight_renew
           : kind == THROTTLE_NEW_LOCAL ? o->weight_local
                                        : o->weight_global;
}

bool throttle_admit(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms,
                    enum throttle_kind kind, struct prng *prng)
{
    int64_t cost = throttle_cost(o, kind);

    if (o->throttle_tokens <= 0) {
        return true;
    }
    refill(t, o, now_ms);
    if (o->throttle_freeze_ms != -1) {
        adjust(t, o, now_ms);
        if ((double)prng_below(prng, 1000000) / 1000000 < t->drop_probability) {
            return false;
        }
    }
    if (t->tokens < cost) {
        return false;
    }
    t->tokens -= cost;
    ASSERT(t->tokens >= 0);
    return true;
}
