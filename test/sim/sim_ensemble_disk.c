/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_disk.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/broken.h"
#include "base/memory.h"
#include "base/prng.h"

enum { RECORDS_PER_FILE = 8 };

/* ---- histories ---- */

void toy_history_fini(struct toy_history *h)
{
    free(h->records);
    *h = (struct toy_history){0};
}

uint64_t toy_history_digest(const struct toy_history *h, size_t n)
{
    ASSERT(n <= h->n);
    return n == 0 ? 0 : h->records[n - 1].digest;
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);

    return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + b;
}

static void reserve(struct toy_history *h, size_t n)
{
    if (n > h->capacity) {
        h->capacity = n < 64 ? 64 : 2 * n;
        h->records = must_realloc(h->records, h->capacity * sizeof(h->records[0]));
    }
}

void toy_history_add(struct toy_history *h, int64_t zxid, uint64_t value)
{
    uint64_t digest = mixed(mixed(toy_history_digest(h, h->n), (uint64_t)zxid), value);

    reserve(h, h->n + 1);
    h->records[h->n++] = (struct toy_record){zxid, value, digest};
    h->zxid = zxid;
}

void toy_history_copy(struct toy_history *to, const struct toy_history *from, size_t n)
{
    ASSERT(n <= from->n);
    reserve(to, n);
    if (n > 0) {
        memcpy(to->records, from->records, n * sizeof(from->records[0]));
    }
    to->n = n;
    to->zxid = n == from->n ? from->zxid : n == 0 ? 0 : from->records[n - 1].zxid;
}

size_t toy_history_upto(const struct toy_history *h, int64_t zxid)
{
    size_t n = h->n;

    while (n > 0 && h->records[n - 1].zxid > zxid) {
        n--;
    }
    return n;
}

void toy_history_cut(struct toy_history *h, int64_t zxid)
{
    h->n = toy_history_upto(h, zxid);
    h->zxid = zxid;
}

/* ---- jobs ---- */

void toy_disk_init(struct toy_disk *d)
{
    *d = (struct toy_disk){.n_hole = SIZE_MAX};
    for (int lane = 0; lane < N_LANES; lane++) {
        d->lanes[lane].last = &d->lanes[lane].first;
    }
}

void toy_job_free(struct toy_job *j)
{
    toy_history_fini(&j->snapshot);
    free(j);
}

static void forget_jobs(struct toy_lane_state *l)
{
    struct toy_job *j;

    while ((j = l->first) != NULL) {
        l->first = j->next;
        toy_job_free(j);
    }
    l->last = &l->first;
    l->under_way = false;
}

void toy_disk_fini(struct toy_disk *d)
{
    for (int lane = 0; lane < N_LANES; lane++) {
        forget_jobs(&d->lanes[lane]);
    }
    toy_history_fini(&d->history);
    toy_history_fini(&d->stale);
}

static struct toy_job *put_job(struct toy_disk *d, enum toy_lane lane, enum toy_job_kind kind,
                               int64_t number)
{
    struct toy_job *j = must_zalloc(sizeof(*j));

    j->kind = kind;
    j->number = number;
    *d->lanes[lane].last = j;
    d->lanes[lane].last = &j->next;
    return j;
}

/* The next record begins another file. Without P5 nobody syncs the end of the one before. */
static void roll(struct toy_disk *d)
{
    if (BROKEN(P5) && d->n_synced < d->history.n && d->n_synced < d->n_hole) {
        d->n_hole = d->n_synced;
    }
    d->n_old_files = d->history.n;
}

bool toy_disk_append(struct toy_disk *d, int64_t zxid, uint64_t value)
{
    if (d->is_full) {
        return false;
    }
    if (d->history.n >= d->n_old_files + RECORDS_PER_FILE) {
        roll(d);
    }
    toy_history_add(&d->history, zxid, value);
    return true;
}

void toy_disk_purge(struct toy_disk *d, int64_t zxid)
{
    size_t n = toy_history_upto(&d->history, zxid);

    ASSERT(n <= d->n_synced);
    if (n > d->n_base) {
        d->n_base = n;
        d->base_zxid = zxid;
    }
}

void toy_disk_save_epoch(struct toy_disk *d, enum toy_epoch which, int64_t epoch)
{
    put_job(d, LANE_EPOCH, JOB_EPOCH, epoch)->which = which;
}

void toy_disk_save_list(struct toy_disk *d, uint64_t list, bool active)
{
    put_job(d, LANE_EPOCH, active ? JOB_LIST : JOB_NEXT_LIST, 0)->list = list;
}

static void carry_out(struct toy_disk *d, struct toy_job *j);

/* The process goes on as if the job was done; the disk has the old state until it is. */
static bool pretend(struct toy_disk *d, struct toy_job *j)
{
    if (!d->is_stale) {
        toy_history_copy(&d->stale, &d->history, d->n_synced);
        d->is_stale = true;
    }
    carry_out(d, j);
    return true;
}

bool toy_disk_truncate(struct toy_disk *d, int64_t zxid)
{
    struct toy_job *j = put_job(d, LANE_LOG, JOB_TRUNCATE, zxid);

    return BROKEN(P6) && pretend(d, j);
}

bool toy_disk_install(struct toy_disk *d, struct toy_history *snapshot)
{
    struct toy_job *j = put_job(d, LANE_LOG, JOB_INSTALL, snapshot->zxid);

    j->snapshot = *snapshot;
    *snapshot = (struct toy_history){0};
    return BROKEN(P7) && pretend(d, j);
}

/* Records that wait for a sync get one, behind the jobs that were there before them. */
bool toy_disk_begin(struct toy_disk *d, enum toy_lane lane)
{
    struct toy_lane_state *l = &d->lanes[lane];

    if (l->under_way || d->is_held) {
        return false;
    }
    if (l->first == NULL && lane == LANE_LOG && d->n_synced < d->history.n) {
        put_job(d, LANE_LOG, JOB_SYNC, d->history.zxid)->n = d->history.n;
    }
    l->under_way = l->first != NULL;
    return l->under_way;
}

static void cut_counts(struct toy_disk *d)
{
    size_t n = d->history.n;

    d->n_base = d->n_base < n ? d->n_base : n;
    d->n_synced = d->n_synced < n ? d->n_synced : n;
    d->n_old_files = d->n_old_files < n ? d->n_old_files : n;
    d->n_hole = d->n_hole < n ? d->n_hole : SIZE_MAX;
}

/* Where the history ends now: as before, where the log begins behind `zxid`. */
static int64_t cut(struct toy_disk *d, int64_t zxid)
{
    if (zxid >= d->base_zxid) {
        toy_history_cut(&d->history, zxid);
        cut_counts(d);
    }
    return d->history.zxid;
}

static void install(struct toy_disk *d, struct toy_history *snapshot)
{
    toy_history_copy(&d->history, snapshot, snapshot->n);
    d->n_base = d->n_synced = d->n_old_files = d->history.n;
    d->base_zxid = snapshot->zxid;
    d->n_hole = SIZE_MAX;
    d->diverged = d->damaged = false;
}

static void carry_out(struct toy_disk *d, struct toy_job *j)
{
    switch (j->kind) {
    case JOB_SYNC:
        ASSERT(j->n <= d->history.n);
        d->n_synced = j->n;
        break;
    case JOB_TRUNCATE:
        j->number = cut(d, j->number);
        break;
    case JOB_INSTALL:
        install(d, &j->snapshot);
        break;
    case JOB_EPOCH:
        d->epochs[j->which] = j->number;
        break;
    case JOB_NEXT_LIST:
        d->next_list = j->list;
        break;
    case JOB_LIST:
        d->list = j->list;
        d->next_list = 0;
        break;
    }
}

struct toy_job *toy_disk_end(struct toy_disk *d, enum toy_lane lane)
{
    struct toy_lane_state *l = &d->lanes[lane];
    struct toy_job *j = l->first;

    ASSERT(l->under_way && j != NULL);
    if (d->is_stale && (j->kind == JOB_TRUNCATE || j->kind == JOB_INSTALL)) {
        d->is_stale = false;
    } else {
        carry_out(d, j);
    }
    l->first = j->next;
    l->last = l->first == NULL ? &l->first : l->last;
    l->under_way = false;
    return j;
}

bool toy_disk_is_idle(const struct toy_disk *d)
{
    return d->lanes[LANE_LOG].first == NULL && d->lanes[LANE_EPOCH].first == NULL &&
           d->n_synced == d->history.n;
}

/* ---- crashes ---- */

static size_t n_safe(const struct toy_disk *d)
{
    return d->n_synced < d->n_hole ? d->n_synced : d->n_hole;
}

/* The zxid of the first `n` records, or of the snapshot below them. */
static int64_t zxid_of(const struct toy_disk *d, size_t n)
{
    if (n == d->history.n) {
        return d->history.zxid;
    }
    return n <= d->n_base ? d->base_zxid : d->history.records[n - 1].zxid;
}

int64_t toy_disk_safe_zxid(const struct toy_disk *d)
{
    return d->is_stale ? d->stale.zxid : zxid_of(d, n_safe(d));
}

static size_t by_chance(struct prng *random, size_t most)
{
    return random == NULL ? 0 : (size_t)prng_below(random, most + 1);
}

static void lose_unsynced(struct toy_disk *d, struct prng *random)
{
    size_t n = n_safe(d), unsynced = d->history.n - n;

    if (unsynced > 0) {
        n += by_chance(random, unsynced);
        toy_history_cut(&d->history, zxid_of(d, n));
    }
    cut_counts(d);
}

static void back_to_stale(struct toy_disk *d)
{
    toy_history_copy(&d->history, &d->stale, d->stale.n);
    d->is_stale = false;
    cut_counts(d);
}

void toy_disk_crash(struct toy_disk *d, struct prng *random, bool power)
{
    for (int lane = 0; lane < N_LANES; lane++) {
        struct toy_job *j = d->lanes[lane].first;

        if (d->lanes[lane].under_way && j->kind != JOB_SYNC && !d->is_stale &&
            by_chance(random, 1) == 1) {
            carry_out(d, j);
        }
        forget_jobs(&d->lanes[lane]);
    }
    if (power) {
        lose_unsynced(d, random);
    }
    if (d->is_stale) {
        back_to_stale(d);
    }
    d->n_hole = SIZE_MAX;
    d->n_synced = d->history.n; /* recovery syncs what it finds before it votes for it */
    d->sync_fails = false;
}

/* Without the snapshot below the log nothing of it is of use. */
void toy_disk_damage(struct toy_disk *d, size_t n_left)
{
    if (n_left < d->history.n) {
        if (n_left < d->n_base) {
            n_left = 0;
            d->base_zxid = 0;
        }
        toy_history_cut(&d->history, zxid_of(d, n_left));
        cut_counts(d);
    }
    d->damaged = true;
}
