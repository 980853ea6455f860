/* SPDX-License-Identifier: Apache-2.0 */
#include "server/limits.h"

void throttle_init(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms)
{
    *t = (struct connection_throttle){
        .tokens = o->throttle_tokens, .filled_ms = now_ms, .adjusted_ms = now_ms};
}

static void refill(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms)
{
    int64_t fill_ms = o->throttle_fill_ms > 0 ? o->throttle_fill_ms : 1;
    int64_t times = (now_ms - t->filled_ms) / fill_ms;

    if (times <= 0) {
        return;
    }
    t->filled_ms += times * fill_ms;
    if (times > o->throttle_tokens) { /* more than enough, and no overflow below */
        times = o->throttle_tokens;
    }
    t->tokens += times * o->throttle_fill_count;
    if (t->tokens > o->throttle_tokens) {
        t->tokens = o->throttle_tokens;
    }
}

/* Random early drop: the emptier the bucket stays, the likelier a refusal (the BLUE algorithm). */
static void adjust(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms)
{
    if (now_ms - t->adjusted_ms < o->throttle_freeze_ms) {
        return;
    }
    if (t->tokens == 0) {
        t->drop_probability += o->throttle_drop_increase;
        t->adjusted_ms = now_ms;
    } else if ((double)t->tokens >= o->throttle_decrease_ratio * (double)o->throttle_tokens) {
        t->drop_probability -= o->throttle_drop_decrease;
        t->adjusted_ms = now_ms;
    }
    t->drop_probability = t->drop_probability < 0   ? 0
                          : t->drop_probability > 1 ? 1
                                                    : t->drop_probability;
}

bool throttle_admit(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms,
                    bool renewal, struct prng *prng)
{
    int64_t cost = 1;

    if (o->throttle_tokens <= 0) {
        return true;
    }
    if (o->throttle_weighted) {
        cost = renewal ? o->weight_renew : o->weight_global;
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
    return true;
}
