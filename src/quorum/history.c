/* SPDX-License-Identifier: Apache-2.0 */
#include "quorum/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/broken.h"
#include "base/memory.h"

void history_begin(struct history *h, int64_t base)
{
    *h = (struct history){.base = base};
}

void history_fini(struct history *h)
{
    free(h->runs);
    h->runs = NULL;
    h->n_runs = 0;
    h->capacity = 0;
}

void history_copy(struct history *to, const struct history *from)
{
    history_begin(to, from->base);
    if (from->n_runs > 0) {
        to->runs = must_alloc(from->n_runs * sizeof *to->runs);
        memcpy(to->runs, from->runs, from->n_runs * sizeof *to->runs);
        to->n_runs = from->n_runs;
        to->capacity = from->n_runs;
    }
}

int64_t history_last(const struct history *h)
{
    return h->n_runs == 0 ? h->base : h->runs[h->n_runs - 1].last;
}

bool history_may_follow(const struct history *h, int64_t zxid)
{
    int64_t last = history_last(h);

    if (zxid_epoch(zxid) == zxid_epoch(last)) {
        return zxid == last + 1;
    }
    return zxid > last && zxid_counter(zxid) == 1;
}

static void add_run(struct history *h, int64_t zxid)
{
    if (h->n_runs == h->capacity) {
        h->capacity = h->capacity == 0 ? 4 : 2 * h->capacity;
        h->runs = must_realloc(h->runs, h->capacity * sizeof *h->runs);
    }
    h->runs[h->n_runs++] = (struct history_run){zxid, zxid};
}

void history_append(struct history *h, int64_t zxid)
{
    struct history_run *run = h->n_runs == 0 ? NULL : &h->runs[h->n_runs - 1];

    ASSERT(history_may_follow(h, zxid));
    if (run != NULL && zxid_epoch(run->last) == zxid_epoch(zxid)) {
        run->last = zxid;
    } else {
        add_run(h, zxid);
    }
}

void history_found(struct history *h, int64_t zxid)
{
    if (!history_may_follow(h, zxid)) {
        h->base = zxid - 1;
        h->n_runs = 0;
    }
    history_append(h, zxid);
}

void history_cut(struct history *h, int64_t zxid)
{
    while (h->n_runs > 0 && h->runs[h->n_runs - 1].first > zxid) {
        h->n_runs--;
    }
    if (h->n_runs > 0 && h->runs[h->n_runs - 1].last > zxid) {
        h->runs[h->n_runs - 1].last = zxid;
    }
    if (h->base > zxid) {
        h->base = zxid;
    }
}

void history_trim(struct history *h, int64_t zxid)
{
    size_t gone = 0;

    if (zxid > history_last(h)) {
        zxid = history_last(h);
    }
    if (zxid <= h->base) {
        return;
    }
    while (gone < h->n_runs && h->runs[gone].last <= zxid) {
        gone++;
    }
    if (gone > 0) {
        h->n_runs -= gone;
        memmove(h->runs, h->runs + gone, h->n_runs * sizeof *h->runs);
    }
    if (h->n_runs > 0 && h->runs[0].first <= zxid) {
        h->runs[0].first = zxid + 1;
    }
    h->base = zxid;
}

/* The first run that ends behind `zxid`, or NULL. From the end: that is where most ask. */
static const struct history_run *run_behind(const struct history *h, int64_t zxid)
{
    size_t i = h->n_runs;

    while (i > 0 && h->runs[i - 1].last > zxid) {
        i--;
    }
    return i == h->n_runs ? NULL : &h->runs[i];
}

bool history_has(const struct history *h, int64_t zxid)
{
    const struct history_run *run = run_behind(h, zxid - 1);

    return run != NULL && run->first <= zxid;
}

int64_t history_next(const struct history *h, int64_t zxid)
{
    const struct history_run *run = run_behind(h, zxid);

    if (run == NULL) {
        return 0;
    }
    return run->first > zxid ? run->first : zxid + 1;
}

int64_t history_before(const struct history *h, int64_t zxid)
{
    for (size_t i = h->n_runs; i > 0; i--) {
        const struct history_run *run = &h->runs[i - 1];

        if (run->first < zxid) {
            return run->last < zxid ? run->last : zxid - 1;
        }
    }
    return 0;
}

/* The learner has records behind our last one. Only its own epoch's leader can have sent those that
 * it shares with us; where our last record is of another epoch, nobody knows which these are. */
static bool may_truncate(const struct history *h, int64_t p, int64_t last)
{
    if (p <= last || zxid_counter(p) == 0 || zxid_counter(last) == 0) {
        return false;
    }
    if (zxid_epoch(p) != zxid_epoch(last) && !BROKEN(TRUNC_ACROSS_EPOCHS)) {
        return false;
    }
    return last == h->base || history_has(h, last);
}

/* The learner has a beginning of our history, and all of it is known to us. */
static bool is_beginning(const struct history *h, int64_t p, int64_t last)
{
    if (p < h->base || p > last || p <= 0) {
        return false;
    }
    /* Counter 0 is no record: a leader, or who had a snapshot of one, before the epoch's first
     * transaction. It has everything before that. */
    return p == h->base || zxid_counter(p) == 0 || history_has(h, p);
}

struct sync_plan history_plan(const struct history *h, int64_t p, int64_t last, int64_t tree)
{
    int64_t from;

    ASSERT(last <= history_last(h));
    ASSERT(tree >= last);
    if (p == tree) {
        return (struct sync_plan){.kind = SYNC_DIFF, .zxid = p};
    }
    if (may_truncate(h, p, last)) {
        return (struct sync_plan){.kind = SYNC_TRUNC, .zxid = last};
    }
    if (BROKEN(TRUNC_ACROSS_EPOCHS) && p > h->base && p < last && !history_has(h, p)) {
        from = history_before(h, p) == 0 ? h->base : history_before(h, p);
        return (struct sync_plan){
            .kind = SYNC_TRUNC, .zxid = from, .from = history_next(h, from), .to = last};
    }
    if (!is_beginning(h, p, last)) {
        return (struct sync_plan){.kind = SYNC_SNAP, .zxid = tree};
    }
    from = history_next(h, p);
    if (from == 0 || from > last) {
        return (struct sync_plan){.kind = SYNC_DIFF, .zxid = last};
    }
    return (struct sync_plan){.kind = SYNC_DIFF, .zxid = last, .from = from, .to = last};
}
