/* SPDX-License-Identifier: Apache-2.0 */
/* tracker.h - which sessions have been heard from, and by whom.
 *
 * Whoever leads (or stands alone) has their deadlines: it decides which of them end, and knows
 * through which member of the ensemble each one's client speaks; a write that comes through
 * another one is refused, the session has moved. A new leader gives everybody the full timeout, and
 * whose a session is it learns from the first who speaks for it.
 *
 * Others only note whom they have heard, and tell the leader when it asks. A local session (see
 * session.h) is nobody else's: its deadline is kept wherever it is. */
#ifndef PAWL_SERVER_TRACKER_H
#define PAWL_SERVER_TRACKER_H

#include "base/strbuf.h"
#include "server/expiry.h"
#include "server/session.h"

/* Whose a session is: nobody has spoken for it yet; a client of our own; else the number of a
 * learner's link. */
#define OWNER_UNKNOWN   UINT64_C(0)
#define OWNER_OURSELVES UINT64_MAX

struct tracker {
    bool expires; /* it is ours to decide which of them end, not only of the local ones */
    struct expiry expiry;
    struct list heard; /* sessions, if it is not */
};

void tracker_init(struct tracker *t, bool expires, int64_t tick_ms, int64_t now_ms);
void tracker_fini(struct tracker *t);

/* A session begins to be tracked, heard from now; or ends. */
void tracker_add(struct tracker *t, struct session *s, int64_t now_ms);
void tracker_remove(struct tracker *t, struct session *s);

/* Heard from it. False when it is closing. */
bool tracker_touch(struct tracker *t, struct session *s, int64_t now_ms);

/* So much of its time is left unless it is heard from. */
void tracker_set_left(struct tracker *t, struct session *s, int64_t now_ms, int64_t left_ms);

/* Takes out of the queue one session that is due: to be closed, or touched after all. */
struct session *tracker_pop_due(struct tracker *t, int64_t now_ms);

/* Its end has been asked for: from here on it is heard no more. */
void tracker_close(struct tracker *t, struct session *s);

/* `owner` writes for it. False: it is somebody else's. */
bool tracker_claim(struct session *s, uint64_t owner);

/* Those heard from since this was last asked, as a PING is answered; they are forgotten. */
void tracker_take_heard(struct tracker *t, struct strbuf *out);

#endif
