/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/scrubber.h"

#include <inttypes.h>

#include "base/logging.h"
#include "daemon/config.h"
#include "daemon/host_internal.h"
#include "daemon/options.h"
#include "os/clock.h"
#include "pawl/error.h"

enum { SLICE_MS = 250, SLICES_PER_SECOND = 1000 / SLICE_MS, ASK_AGAIN_MS = 60 * 1000 };

/* ---- on the snapshot thread ---- */

static void give_answer(struct scrubber *s, const struct scrubber_answer *answer)
{
    pthread_mutex_lock(&s->lock);
    s->answer = *answer;
    s->answer.is_there = true;
    pthread_mutex_unlock(&s->lock);
}

static void scrubber_read(void *arg)
{
    struct scrubber *s = arg;
    struct scrubber_answer a = {0};

    a.found = scrub_step(s->scrub, s->slice_bytes, s->known_zxid, &a.damage);
    a.round_bytes = scrub_bytes(s->scrub);
    give_answer(s, &a);
}

static void scrubber_mend(void *arg)
{
    struct scrubber *s = arg;
    struct scrubber_answer a = {.is_of_mending = true};

    a.rc = scrub_put_aside(&s->options, &s->damage, s->snapshot_zxid, &a.is_aside, a.kept);
    give_answer(s, &a);
}

static void ask(struct host *h, void (*what)(void *arg))
{
    h->scrubber.is_asked = true;
    snapshot_thread_call(h->snapshots, what, &h->scrubber);
}

/* ---- on the loop ---- */

static void scrubber_rest(struct host *h)
{
    struct scrubber *s = &h->scrubber;
    uint64_t interval_ms = (uint64_t)h->config->store.scrub_interval_ms;

    s->state = SCRUBBER_RESTING;
    uv_timer_set_repeat(&s->timer, interval_ms);
    uv_timer_again(&s->timer);
}

static void begin_reading(struct scrubber *s)
{
    s->state = SCRUBBER_READING;
    s->began_ms = clock_monotonic_ms();
    s->n_damages = 0;
    uv_timer_set_repeat(&s->timer, SLICE_MS);
    uv_timer_again(&s->timer);
}

static void want_snapshot(struct host *h)
{
    h->scrubber.wanted_ms = clock_monotonic_ms();
    host_step(h, &(struct member_input){.kind = MEMBER_SNAPSHOT});
}

static void tell_damage(const struct scrub_damage *d)
{
    if (d->is_log) {
        log_error("scrubbing: the transaction log " STORE_FOLDER "/%s is damaged at offset %" PRIu64
                  ": %s. The last good transaction before it is 0x%" PRIx64
                  ". Nothing is lost: a snapshot of what is in memory takes its place",
                  d->file.name, d->offset, d->reason,
                  (uint64_t)(d->last_zxid < 0 ? 0 : d->last_zxid));
    } else {
        log_error("scrubbing: " STORE_FOLDER
                  "/%s is damaged: %s. Nothing is lost: another snapshot "
                  "takes its place",
                  d->file.name, d->reason);
    }
}

static void begin_mending(struct host *h, const struct scrub_damage *damage)
{
    struct scrubber *s = &h->scrubber;

    tell_damage(damage);
    s->state = SCRUBBER_MENDING;
    s->damage = *damage;
    s->n_damages++;
    s->n_snapshots = h->n_snapshots;
    member_server(h->member)->stats.pawl_scrub_damages++;
    want_snapshot(h);
}

/* A snapshot is there that was begun after the damage was found. */
static void go_on_mending(struct host *h)
{
    struct scrubber *s = &h->scrubber;

    if (h->n_snapshots == s->n_snapshots) {
        if (clock_monotonic_ms() - s->wanted_ms > ASK_AGAIN_MS) {
            want_snapshot(h);
        }
        return;
    }
    s->snapshot_zxid = h->last_snapshot.zxid;
    host_ensemble_trimmed(h, s->snapshot_zxid + 1);
    ask(h, scrubber_mend);
}

static void end_mending(struct host *h, const struct scrubber_answer *a)
{
    struct scrubber *s = &h->scrubber;

    if (a->rc != PAWL_OK) {
        log_warn("scrubbing: " STORE_FOLDER "/%s cannot be put aside: %s", s->damage.file.name,
                 disk_last_error(s->damage.is_log ? h->log_disk : h->data_disk));
    } else if (a->kept[0] != '\0') {
        log_info("scrubbing: " STORE_FOLDER "/%s is kept as %s; the snapshot 0x%" PRIx64
                 " has all that it had",
                 s->damage.file.name, a->kept, (uint64_t)s->snapshot_zxid);
    } else if (!a->is_aside) {
        log_info("scrubbing: the snapshot 0x%" PRIx64 " has all that " STORE_FOLDER "/%s had%s",
                 (uint64_t)s->snapshot_zxid, s->damage.file.name,
                 s->damage.is_log ? "; it is put aside when another log has begun" : "");
    }
    s->state = SCRUBBER_READING;
}

static void end_round(struct host *h, const struct scrubber_answer *a)
{
    struct scrubber *s = &h->scrubber;
    struct server *server = member_server(h->member);

    server->stats.pawl_scrub_rounds++;
    server->stats.pawl_scrub_bytes += a->round_bytes;
    log_info("scrubbing: %" PRIu64 " bytes of logs and snapshots read in %" PRId64 " ms, %" PRIu64
             " files damaged",
             a->round_bytes, clock_monotonic_ms() - s->began_ms, s->n_damages);
    scrubber_rest(h);
}

void scrubber_look(struct host *h)
{
    struct scrubber *s = &h->scrubber;
    struct scrubber_answer a;

    if (s->scrub == NULL) {
        return;
    }
    pthread_mutex_lock(&s->lock);
    a = s->answer;
    s->answer.is_there = false;
    pthread_mutex_unlock(&s->lock);
    if (!a.is_there) {
        return;
    }
    s->is_asked = false;
    if (a.is_of_mending) {
        end_mending(h, &a);
    } else if (a.found == SCRUB_DAMAGED) {
        begin_mending(h, &a.damage);
    } else if (a.found == SCRUB_ROUND) {
        end_round(h, &a);
    }
}

/* Without a role the files may be about to be replaced, and what is in memory need not be what they
 * should be. */
static void scrubber_on_timer(uv_timer_t *timer)
{
    struct host *h = timer->data;
    struct scrubber *s = &h->scrubber;

    if (s->is_asked || member_server(h->member)->role->kind <= ROLE_READ_ONLY) {
        return;
    }
    if (s->state == SCRUBBER_RESTING) {
        begin_reading(s);
    } else if (s->state == SCRUBBER_READING) {
        s->known_zxid = member_server(h->member)->applied_zxid;
        ask(h, scrubber_read);
    } else {
        go_on_mending(h);
    }
}

void scrubber_start(struct host *h)
{
    struct scrubber *s = &h->scrubber;
    int64_t rate = h->config->store.scrub_bytes_per_second;
    struct recovery_options recovery;

    if (h->options.keeps_nothing || h->options.disk != NULL ||
        h->config->store.scrub_interval_ms <= 0) {
        return;
    }
    options_for_recovery(h->config, &recovery);
    s->options = (struct scrub_options){.snapshot_disk = h->data_disk,
                                        .log_disk = h->log_disk,
                                        .folder = STORE_FOLDER,
                                        .limit_bytes = recovery.limit_bytes};
    s->slice_bytes = (size_t)(rate / SLICES_PER_SECOND + 1);
    s->scrub = scrub_new(&s->options);
    pthread_mutex_init(&s->lock, NULL);
    uv_timer_start(&s->timer, scrubber_on_timer, (uint64_t)h->config->store.scrub_interval_ms,
                   (uint64_t)h->config->store.scrub_interval_ms);
}

void scrubber_fini(struct scrubber *s)
{
    if (s->scrub != NULL) {
        scrub_free(s->scrub);
        pthread_mutex_destroy(&s->lock);
    }
}
