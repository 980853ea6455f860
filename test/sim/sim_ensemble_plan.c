/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_plan.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/prng.h"

enum { MS = 1000, SECOND = 1000 * MS };

void trouble_plan_init(struct trouble_plan *p, int n_voters, int n_observers)
{
    ASSERT(n_voters > 0 && n_voters + n_observers <= MESH_MEMBERS);
    *p = (struct trouble_plan){.n_voters = n_voters, .n_observers = n_observers};
    p->tick_ms = 500;
    p->init_limit = 10;
    p->sync_limit = 5;
    p->recent_bytes = 1 << 16;
    p->latency_us = MS;
    p->disk_us = 2 * MS;
    for (int i = 0; i < MESH_MEMBERS; i++) {
        p->weights[i] = 1;
    }
}

void trouble_plan_fini(struct trouble_plan *p)
{
    free(p->items);
    *p = (struct trouble_plan){0};
}

void trouble_plan_add(struct trouble_plan *p, struct trouble_item item)
{
    size_t at = p->n++;

    if (p->n > p->capacity) {
        p->capacity = p->capacity == 0 ? 64 : 2 * p->capacity;
        p->items = must_realloc(p->items, p->capacity * sizeof(item));
    }
    for (; at > 0 && p->items[at - 1].at_us > item.at_us; at--) {
        p->items[at] = p->items[at - 1];
    }
    p->items[at] = item;
}

void trouble_plan_copy(struct trouble_plan *to, const struct trouble_plan *from)
{
    *to = *from;
    to->items = NULL;
    to->n = to->capacity = 0;
}

/* ---- by the seed ---- */

static int64_t below(struct prng *r, int64_t n)
{
    return (int64_t)prng_below(r, (uint64_t)n);
}

static bool one_in(struct prng *r, int64_t n)
{
    return below(r, n) == 0;
}

static int n_all(const struct trouble_plan *p)
{
    return p->n_voters + p->n_observers;
}

/* Three groups, now and then with a member that has no weight. */
static void choose_groups(struct trouble_plan *p, struct prng *r)
{
    p->n_groups = 3;
    for (int i = 0; i < p->n_voters; i++) {
        p->groups[i] = i % 3;
        p->weights[i] = i >= 3 && one_in(r, 4) ? 0 : 1 + below(r, 3);
    }
}

static void choose_ensemble(struct trouble_plan *p, struct prng *r, int n_voters)
{
    static const int sizes[] = {1, 3, 3, 3, 3, 3, 5, 5, 5, 7};

    if (n_voters == 0) {
        n_voters = sizes[below(r, sizeof(sizes) / sizeof(sizes[0]))];
    }
    trouble_plan_init(p, n_voters, one_in(r, 3) ? 1 + (int)below(r, 2) : 0);
    if (n_voters >= 5 && one_in(r, 5)) {
        choose_groups(p, r);
    }
    p->tick_ms = one_in(r, 3) ? 200 + below(r, 1800) : 500;
    p->init_limit = one_in(r, 3) ? 3 + below(r, 10) : 10;
    p->sync_limit = one_in(r, 3) ? 2 + below(r, 6) : 5;
    p->recent_bytes = one_in(r, 3) ? 8 * (size_t)below(r, 12) : 1 << 16;
    p->always_snapshot = one_in(r, 20);
    p->counter_limit = one_in(r, 6) ? 3 + below(r, 30) : 0;
}

static void choose_weather(struct trouble_plan *p, struct prng *r)
{
    p->latency_us = 100;
    p->jitter_us = one_in(r, 3) ? 20 * MS : MS;
    p->one_in_slow = one_in(r, 2) ? 20 + (int)below(r, 80) : 0;
    p->slow_us = 300 * MS;
    p->disk_us = 200;
    p->disk_jitter_us = one_in(r, 3) ? 30 * MS : 2 * MS;
    p->trouble_us = (5 + below(r, 25)) * SECOND;
    for (int i = 0; i < n_all(p); i++) {
        p->clock_per_million[i] = one_in(r, 4) ? below(r, 20000) - 10000 : 0;
    }
}

/* Short times are likely, long ones happen. */
static int64_t some_time(struct prng *r)
{
    static const int64_t ranges[] = {20 * MS, 300 * MS, 2 * SECOND, 8 * SECOND};

    return 1 + below(r, ranges[below(r, 4)]);
}

static struct trouble_item some_trouble(const struct trouble_plan *p, struct prng *r)
{
    static const uint8_t kinds[] = {
        TROUBLE_CRASH,  TROUBLE_CRASH,     TROUBLE_CRASH,      TROUBLE_CRASH, TROUBLE_CRASH,
        TROUBLE_PAUSE,  TROUBLE_BLOCK,     TROUBLE_CUT,        TROUBLE_SPLIT, TROUBLE_SPLIT,
        TROUBLE_BRIDGE, TROUBLE_RESET,     TROUBLE_RESET,      TROUBLE_CLOCK, TROUBLE_RESIGN,
        TROUBLE_PURGE,  TROUBLE_SLOW_DISK, TROUBLE_SYNC_FAILS, TROUBLE_PURGE, TROUBLE_DISK_FULL};
    struct trouble_item i = {.kind = kinds[below(r, sizeof(kinds))]};

    i.a = (int)below(r, n_all(p));
    i.b = (int)((i.a + 1 + below(r, n_all(p) > 1 ? n_all(p) - 1 : 1)) % n_all(p));
    i.set = (uint32_t)below(r, 1 << n_all(p));
    i.for_us = some_time(r);
    i.power = one_in(r, 2);
    i.a = one_in(r, 3) ? TROUBLE_LEADER : i.a;
    i.amount = i.kind == TROUBLE_CRASH ? below(r, one_in(r, 2) ? 8 : 100) : some_time(r);
    return i;
}

static bool takes_two(enum trouble_kind kind)
{
    return kind == TROUBLE_BLOCK || kind == TROUBLE_CUT || kind == TROUBLE_RESET ||
           kind == TROUBLE_SPLIT || kind == TROUBLE_BRIDGE;
}

/* One after the other goes down and comes back; or all at once. */
static void add_many_crashes(struct trouble_plan *p, struct prng *r, int64_t at_us)
{
    bool rolling = one_in(r, 2), power = one_in(r, 2);
    int64_t apart_us = rolling ? some_time(r) : 0, down_us = some_time(r);

    for (int a = 0; a < n_all(p); a++) {
        trouble_plan_add(
            p, (struct trouble_item){.at_us = at_us + a * apart_us,
                                     .kind = TROUBLE_CRASH,
                                     .a = a,
                                     .power = power,
                                     .for_us = down_us + (rolling ? 0 : below(r, 300 * MS))});
    }
}

/* What is asked while there is trouble tells most. */
static void add_calls_during(struct trouble_plan *p, struct prng *r,
                             const struct trouble_item *trouble)
{
    for (int a = 0; a < n_all(p); a++) {
        for (int k = 0; k < 4; k++) {
            trouble_plan_add(p,
                             (struct trouble_item){
                                 .at_us = trouble->at_us + below(r, trouble->for_us + 4 * SECOND),
                                 .kind = k % 2 == 0 ? TROUBLE_WRITE : TROUBLE_SYNC,
                                 .a = a,
                                 .amount = 1});
        }
    }
}

static void add_trouble(struct trouble_plan *p, struct prng *r)
{
    int64_t n = 1 + below(r, 2 + p->trouble_us / SECOND);

    for (int64_t k = 0; k < n; k++) {
        struct trouble_item i = some_trouble(p, r);

        i.at_us = below(r, p->trouble_us);
        if (one_in(r, 12)) {
            add_many_crashes(p, r, i.at_us);
        } else if (n_all(p) > 1 || !takes_two(i.kind)) {
            trouble_plan_add(p, i);
            if (one_in(r, i.kind == TROUBLE_PAUSE ? 1 : 4)) {
                add_calls_during(p, r, &i);
            }
            if (i.kind == TROUBLE_PAUSE) { /* what it finds first when it goes on */
                trouble_plan_add(p, (struct trouble_item){.at_us = i.at_us + below(r, 50 * MS),
                                                          .kind = TROUBLE_SYNC,
                                                          .a = i.a});
            }
        }
    }
}

/* A port is free while its member is down: a stranger comes then, and stays for a while longer. */
static void add_stranger(struct trouble_plan *p, struct prng *r)
{
    int64_t at_us = below(r, p->trouble_us), down_us = some_time(r);
    struct trouble_item i = {
        .at_us = at_us, .kind = TROUBLE_CRASH, .a = (int)below(r, n_all(p)), .for_us = down_us};

    trouble_plan_add(p, i);
    i.kind = TROUBLE_STRANGER;
    i.at_us = at_us + below(r, down_us);
    i.for_us = down_us + some_time(r);
    i.power = one_in(r, 3);
    trouble_plan_add(p, i);
}

/* Some servers more, and a list that not all are in. By chance of their own, too. */
static void choose_lists(struct trouble_plan *p, struct prng *r)
{
    uint32_t all;

    prng_seed(r, p->seed ^ 0x6c697374);
    if (p->n_groups > 0 || !one_in(r, 3)) {
        return;
    }
    p->lists_change = true;
    p->n_observers += (int)below(r, 4);
    all = ((uint32_t)1 << n_all(p)) - 1;
    p->first_voters = (uint32_t)(1 + below(r, all));
    p->first_observers = (uint32_t)below(r, all + 1) & ~p->first_voters;
}

static void add_lists(struct trouble_plan *p, struct prng *r)
{
    uint32_t all = ((uint32_t)1 << n_all(p)) - 1;

    for (int64_t n = p->lists_change ? 1 + below(r, 12) : 0; n > 0; n--) {
        uint32_t voters = (uint32_t)(1 + below(r, all));

        trouble_plan_add(p, (struct trouble_item){.at_us = below(r, p->trouble_us),
                                                  .kind = TROUBLE_LIST,
                                                  .a = TROUBLE_LEADER,
                                                  .set = voters,
                                                  .amount = below(r, all + 1) & ~voters});
    }
}

/* By chance of their own: the rest of a seed's plan is as it would be without them. */
static void add_strangers(struct trouble_plan *p)
{
    struct prng r;

    prng_seed(&r, p->seed ^ 0x73747267);
    for (int64_t n = one_in(&r, 3) ? 1 + below(&r, 4) : 0; n > 0; n--) {
        add_stranger(p, &r);
    }
    for (int64_t n = one_in(&r, 4) ? 1 + below(&r, 2) : 0; n > 0; n--) {
        trouble_plan_add(
            p, (struct trouble_item){.at_us = below(&r, p->trouble_us),
                                     .kind = TROUBLE_DROPS,
                                     .a = one_in(&r, 2) ? TROUBLE_LEADER : (int)below(&r, n_all(p)),
                                     .for_us = 2 * some_time(&r)});
    }
}

/* By chance of their own, too. */
static void add_divergences(struct trouble_plan *p)
{
    struct prng r;

    prng_seed(&r, p->seed ^ 0x64697665);
    for (int64_t n = one_in(&r, 4) ? 1 + below(&r, 3) : 0; n > 0; n--) {
        trouble_plan_add(p, (struct trouble_item){.at_us = below(&r, p->trouble_us),
                                                  .kind = TROUBLE_DIVERGE,
                                                  .a = (int)below(&r, n_all(p)),
                                                  .for_us = some_time(&r)});
    }
}

/* By chance of their own, too. */
static void add_damages(struct trouble_plan *p)
{
    struct prng r;

    prng_seed(&r, p->seed ^ 0x64616d61);
    for (int64_t n = one_in(&r, 3) ? 1 + below(&r, 4) : 0; n > 0; n--) {
        trouble_plan_add(
            p, (struct trouble_item){.at_us = below(&r, p->trouble_us),
                                     .kind = TROUBLE_DAMAGE,
                                     .a = one_in(&r, 3) ? TROUBLE_LEADER : (int)below(&r, n_all(p)),
                                     .amount = below(&r, 200),
                                     .for_us = some_time(&r)});
    }
}

/* More than half of the voters at least, and perhaps an observer. */
static void add_ruin(struct trouble_plan *p)
{
    uint32_t set = 0;
    struct prng r;

    prng_seed(&r, p->seed ^ 0x7275696e);
    while (2 * __builtin_popcount(set & (((uint32_t)1 << p->n_voters) - 1)) < p->n_voters) {
        set |= (uint32_t)1 << below(&r, n_all(p));
    }
    trouble_plan_add(p, (struct trouble_item){.at_us = below(&r, p->trouble_us),
                                              .kind = TROUBLE_RUIN,
                                              .set = set,
                                              .for_us = some_time(&r)});
}

static void add_calls(struct trouble_plan *p, struct prng *r)
{
    int64_t n = 10 + below(r, 150);

    for (int64_t k = 0; k < n; k++) {
        int64_t what = below(r, 10);
        struct trouble_item i = {.kind = what < 7   ? TROUBLE_WRITE
                                         : what < 9 ? TROUBLE_SYNC
                                                    : TROUBLE_REVALIDATE};

        i.at_us = below(r, p->trouble_us);
        i.a = (int)below(r, n_all(p));
        i.amount = i.kind == TROUBLE_WRITE && one_in(r, 6) ? 1 + below(r, 20) : 1;
        trouble_plan_add(p, i);
    }
}

void trouble_plan_make(struct trouble_plan *p, uint64_t seed, int n_voters)
{
    struct prng r, of_lists;

    prng_seed(&r, seed);
    choose_ensemble(p, &r, n_voters);
    p->seed = seed;
    choose_lists(p, &of_lists);
    choose_weather(p, &r);
    add_trouble(p, &r);
    add_calls(p, &r);
    add_strangers(p);
    add_divergences(p);
    add_damages(p);
    add_lists(p, &of_lists);
}

void trouble_plan_make_ruined(struct trouble_plan *p, uint64_t seed, int n_voters)
{
    struct prng r;

    prng_seed(&r, seed);
    choose_ensemble(p, &r, n_voters);
    p->seed = seed;
    choose_weather(p, &r);
    add_trouble(p, &r);
    add_calls(p, &r);
    add_ruin(p);
}

static bool is_call(enum trouble_kind kind)
{
    return kind == TROUBLE_WRITE || kind == TROUBLE_SYNC || kind == TROUBLE_REVALIDATE;
}

/* A member's clocks are right: its sessions' time is part of what is promised to clients. */
void trouble_plan_make_real(struct trouble_plan *p, uint64_t seed, int n_voters)
{
    struct prng r;
    size_t n = 0;

    prng_seed(&r, seed);
    choose_ensemble(p, &r, n_voters);
    p->seed = seed;
    choose_weather(p, &r);
    add_trouble(p, &r);
    add_damages(p);
    for (size_t i = 0; i < p->n; i++) {
        if (!is_call(p->items[i].kind) && p->items[i].kind != TROUBLE_CLOCK) {
            p->items[n++] = p->items[i];
        }
    }
    p->n = n;
    p->counter_limit = one_in(&r, 4) ? 20 + below(&r, 300) : 0;
    for (int i = 0; i < MESH_MEMBERS; i++) {
        p->clock_per_million[i] = 0;
    }
}

/* ---- as text ---- */

static void write_set(uint32_t set, struct strbuf *out)
{
    for (int i = 0; i < MESH_MEMBERS; i++) {
        if (set >> i & 1) {
            strbuf_printf(out, " %d", i + 1);
        }
    }
}

static void write_member(int member, struct strbuf *out)
{
    if (member == TROUBLE_LEADER) {
        strbuf_append_str(out, " leader");
    } else {
        strbuf_printf(out, " %d", member + 1);
    }
}

static void write_what(const struct trouble_item *i, struct strbuf *out)
{
    static const char *const names[N_TROUBLES] = {
        "write",    "sync",  "revalidate", "crash",      "pause",     "block", "cut",   "split",
        "bridge",   "reset", "slow-disk",  "sync-fails", "disk-full", "clock", "purge", "resign",
        "stranger", "drops", "diverge",    "damage",     "ruin",      "list"};

    strbuf_printf(out, "%s", names[i->kind]);
    if (i->kind != TROUBLE_SPLIT && i->kind != TROUBLE_RUIN) {
        write_member(i->a, out);
    }
    if (i->kind == TROUBLE_BLOCK || i->kind == TROUBLE_CUT || i->kind == TROUBLE_RESET) {
        write_member(i->b, out);
    }
    if (i->kind == TROUBLE_SPLIT || i->kind == TROUBLE_BRIDGE) {
        strbuf_printf(out, " between");
        write_set(i->set, out);
    }
    if (i->kind == TROUBLE_RUIN) {
        write_set(i->set, out);
    }
    if (i->kind == TROUBLE_LIST) {
        strbuf_printf(out, " voters");
        write_set(i->set, out);
        strbuf_printf(out, " observers");
        write_set((uint32_t)i->amount, out);
    }
}

static bool has_duration(enum trouble_kind kind)
{
    return kind == TROUBLE_CRASH || kind == TROUBLE_PAUSE || kind == TROUBLE_BLOCK ||
           kind == TROUBLE_CUT || kind == TROUBLE_SPLIT || kind == TROUBLE_BRIDGE ||
           kind == TROUBLE_SLOW_DISK || kind == TROUBLE_DISK_FULL || kind == TROUBLE_STRANGER ||
           kind == TROUBLE_DROPS || kind == TROUBLE_DIVERGE || kind == TROUBLE_DAMAGE ||
           kind == TROUBLE_RUIN;
}

void trouble_item_write(const struct trouble_item *i, struct strbuf *out)
{
    strbuf_printf(out, "%.3f ", (double)i->at_us / SECOND);
    write_what(i, out);
    if (i->kind == TROUBLE_CRASH) {
        strbuf_printf(out, "%s at effect %lld", i->power ? " power" : "", (long long)i->amount);
    } else if (i->kind == TROUBLE_STRANGER) {
        strbuf_append_str(out, i->power ? " who lets nobody in" : "");
    } else if (i->kind == TROUBLE_DAMAGE) {
        strbuf_printf(out, " but %lld", (long long)i->amount);
    } else if (i->kind == TROUBLE_WRITE) {
        strbuf_printf(out, " x%lld", (long long)i->amount);
    } else if (i->kind == TROUBLE_CLOCK) {
        strbuf_printf(out, " by %.3f", (double)i->amount / SECOND);
    }
    if (has_duration(i->kind)) {
        strbuf_printf(out, " for %.3f", (double)i->for_us / SECOND);
    }
}
