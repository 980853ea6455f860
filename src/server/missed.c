/* SPDX-License-Identifier: Apache-2.0 */
#include "server/missed.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/broken.h"
#include "base/memory.h"
#include "server/server.h"
#include "wire/path.h"

/* Changes looked at before the clock of the turn is, and what one costs beside its path. */
enum { AT_A_TIME = 32, UNITS_PER_CHANGE = 128 };

void missed_begin(struct server *s, struct connection *c, int32_t xid, int64_t seen_zxid,
                  const struct missed *what)
{
    struct missed *m = must_alloc(sizeof(*m));

    ASSERT(c->missed == NULL);
    *m = *what;
    m->xid = xid;
    m->until_zxid = s->applied_zxid;
    m->since_us = s->now_us;
    m->n_auth_ids = c->identity.n_in_force;
    m->gap = !changes_seek(&s->changes, seen_zxid, &m->at);
    m->is_over = m->gap || BROKEN(MISSED_EVENTS);
    strbuf_init(&m->later, STRBUF_NO_LIMIT);
    c->missed = m;
    c->n_rounds++;
    s->stats.pawl_missed_gaps += m->gap ? 1 : 0;
}

void missed_forget(struct connection *c)
{
    if (c->missed != NULL) {
        strbuf_fini(&c->missed->later);
        free(c->missed);
        c->missed = NULL;
    }
}

/* Who may not read the node, or could not then, would not have been told either. */
static void missed_tell(struct server *s, struct connection *c, enum event_type type,
                        struct bytes path, uint32_t acl, int64_t zxid)
{
    const struct missed *m = c->missed;

    if (watch_missed(&s->watches, c, m->round, type, path, m->recursive) &&
        s->watches.may_see(s, c, acl)) {
        event_write(&c->out, (int32_t)type, path, zxid);
        c->stats.sent++;
        s->stats.packets_sent++;
        s->stats.pawl_missed_events++;
    }
}

static void tell_change(struct server *s, struct connection *c, const struct past_change *change)
{
    missed_tell(s, c, watch_event_of(change->kind), change->path, change->acl, change->zxid);
    if (change->kind != CHANGE_DATA) {
        missed_tell(s, c, EVENT_CHILDREN_CHANGED, path_parent(change->path), change->parent_acl,
                    change->zxid);
    }
}

/* False: that was all. */
static bool tell_next(struct server *s, struct connection *c, int64_t *units)
{
    struct missed *m = c->missed;
    struct past_change change;
    enum changes_step step = changes_next(&s->changes, &m->at, &change);

    if (step == CHANGES_GONE) {
        m->gap = true;
        s->stats.pawl_missed_gaps++;
    }
    if (step != CHANGES_ONE || change.zxid > m->until_zxid) {
        return false;
    }
    tell_change(s, c, &change);
    *units += UNITS_PER_CHANGE + (int64_t)change.path.len;
    return true;
}

int64_t missed_tell_some(struct server *s, struct connection *c)
{
    struct missed *m = c->missed;
    int64_t units = 0;

    c->identity.n_in_force = m->n_auth_ids;
    for (int i = 0; i < AT_A_TIME && !m->is_over; i++) {
        m->is_over = !tell_next(s, c, &units);
    }
    c->identity.n_in_force = c->identity.n_ids;
    return units;
}

void missed_answer(struct server *s, struct connection *c)
{
    struct missed *m = c->missed;
    size_t start;

    ASSERT(m->is_over);
    strbuf_append_bytes(&c->out, strbuf_bytes(&m->later));
    start = reply_begin(&c->out, m->xid, s->applied_zxid, 0);
    if (m->asked) {
        jute_write_int(&c->out, m->gap ? MISSED_EVENTS_GAP : MISSED_EVENTS_TOLD);
    }
    reply_end(&c->out, start);
    missed_forget(c);
}
