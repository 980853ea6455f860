/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tracker.h"

#include "base/assert.h"
#include "base/broken.h"
#include "wire/packet.h"

void tracker_init(struct tracker *t, bool expires, int64_t tick_ms, int64_t now_ms)
{
    t->expires = expires;
    expiry_init(&t->expiry, tick_ms, now_ms);
    list_init(&t->heard);
}

void tracker_fini(struct tracker *t)
{
    expiry_fini(&t->expiry);
}

void tracker_add(struct tracker *t, struct session *s, int64_t now_ms)
{
    ASSERT(s->expiry.deadline_ms == 0);
    ASSERT(list_empty(&s->heard));
    tracker_touch(t, s, now_ms);
}

void tracker_remove(struct tracker *t, struct session *s)
{
    expiry_remove(&t->expiry, &s->expiry);
    list_remove(&s->heard);
}

bool tracker_touch(struct tracker *t, struct session *s, int64_t now_ms)
{
    if (s->closing) {
        return false;
    }
    if (t->expires || s->local) {
        expiry_touch(&t->expiry, &s->expiry, now_ms, s->timeout_ms);
    } else if (list_empty(&s->heard)) {
        list_push_back(&t->heard, &s->heard);
    }
    return true;
}

void tracker_set_left(struct tracker *t, struct session *s, int64_t now_ms, int64_t left_ms)
{
    ASSERT(t->expires);
    ASSERT(!s->closing);
    expiry_touch(&t->expiry, &s->expiry, now_ms, left_ms);
}

struct session *tracker_pop_due(struct tracker *t, int64_t now_ms)
{
    struct expiry_item *item = expiry_pop_due(&t->expiry, now_ms);
    struct session *s = item == NULL ? NULL : container_of(item, struct session, expiry);

    ASSERT(s == NULL || t->expires || s->local);
    return s;
}

void tracker_close(struct tracker *t, struct session *s)
{
    ASSERT(!s->closing);
    s->closing = true;
    tracker_remove(t, s);
}

bool tracker_claim(struct session *s, uint64_t owner)
{
    ASSERT(owner != OWNER_UNKNOWN);
    if (s->owner == OWNER_UNKNOWN) {
        s->owner = owner;
    }
    return s->owner == owner || BROKEN(SESSION_OWNER);
}

void tracker_take_heard(struct tracker *t, struct strbuf *out)
{
    struct list *item;

    ASSERT(!t->expires);
    while ((item = list_pop_front(&t->heard)) != NULL) {
        const struct session *s = container_of(item, struct session, heard);

        session_touch_write(out, &(struct session_touch){s->id, s->timeout_ms});
    }
}
