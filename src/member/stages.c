/* SPDX-License-Identifier: Apache-2.0 */
#include "member/stages.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "server/server.h"
#include "wire/jute.h"

enum { FIRST_CAPACITY = 64 };

void stages_init(struct stages *t)
{
    *t = (struct stages){0};
}

void stages_fini(struct stages *t)
{
    free(t->ring);
}

static struct stage_entry *stages_at(const struct stages *t, size_t i)
{
    return &t->ring[(t->first + i) & (t->capacity - 1)];
}

static void stages_grow(struct stages *t)
{
    size_t capacity = t->capacity == 0 ? FIRST_CAPACITY : 2 * t->capacity;
    struct stage_entry *ring = must_alloc(capacity * sizeof(*ring));

    for (size_t i = 0; i < t->n; i++) {
        ring[i] = *stages_at(t, i);
    }
    free(t->ring);
    *t = (struct stages){.ring = ring, .capacity = capacity, .n = t->n};
}

/* Of the header alone: client, cxid, zxid, time. */
static int64_t stage_time_ms(struct bytes payload)
{
    struct jute_reader r = jute_reader_of(payload);

    jute_read_long(&r);
    jute_read_int(&r);
    jute_read_long(&r);
    return jute_read_long(&r);
}

static void stage_observe(struct server *s, enum summary_id id, int64_t time_ms)
{
    if (s->wall_ms >= time_ms) {
        server_observe(s, id, s->wall_ms - time_ms);
    }
}

void stages_appended(struct stages *t, struct server *s, int64_t zxid, struct bytes payload)
{
    int64_t time_ms = stage_time_ms(payload);

    if (s->role->kind == ROLE_FOLLOWER) {
        stage_observe(s, SUMMARY_PROPOSAL_LATENCY, time_ms);
    } else if (s->role->kind != ROLE_LEADER) {
        return; /* who observes acks nothing */
    }
    if (t->n == t->capacity) {
        stages_grow(t);
    }
    *stages_at(t, t->n++) = (struct stage_entry){zxid, time_ms};
}

void stages_durable(struct stages *t, struct server *s, int64_t zxid)
{
    while (t->n > 0 && stages_at(t, 0)->zxid <= zxid) {
        stage_observe(s, SUMMARY_PROPOSAL_ACK_CREATION_LATENCY, stages_at(t, 0)->time_ms);
        t->first = (t->first + 1) & (t->capacity - 1);
        t->n--;
    }
}

void stages_agreed(struct server *s, struct bytes payload)
{
    if (s->role->kind == ROLE_LEADER) {
        stage_observe(s, SUMMARY_QUORUM_ACK_LATENCY, stage_time_ms(payload));
    } else if (s->role->kind == ROLE_FOLLOWER || s->role->kind == ROLE_OBSERVER) {
        stage_observe(s, SUMMARY_COMMIT_PROPAGATION_LATENCY, stage_time_ms(payload));
    }
}

void stages_forget(struct stages *t)
{
    t->n = 0;
}
