/* SPDX-License-Identifier: Apache-2.0 */
/* certain.h - until when no server can have ended our session, and what to ask to make it longer.
 *
 * Only the leader of an ensemble ends sessions: when it has not heard of one for its timeout T. A
 * new leader gives every session its whole timeout when it begins to lead. So the session lives
 * until t + T if both is known: a leader has heard of us at t or later, and no leader began before
 * t that we do not know of. The server that we are linked to is not enough: a follower that is cut
 * off from its leader goes on answering reads and pings.
 *
 * A session that is begun: createSession is agreed upon, and tracked from then on. Known: T from
 * when the handshake was sent.
 *
 * A leader of ours hears of a session by each write and sync that is forwarded to it, and answers a
 * sync only when a quorum has answered it since the sync came (zab_confirm.c). A new leader needs
 * one of that quorum, which leaves the old one first. Known: T from when the sync or the write was
 * sent. That the leader is ours is known by the answer to a sync of SIGN_OF_LIFE (request.h), and
 * then for as long as the link stands: servers close their links when their leader changes.
 *
 * A leader of Apache hears of a follower's sessions only in the answers to the pings that it sends
 * its followers every half tick (and when a client comes with its session). These tell of all that
 * the follower has noted since the last one. Packets between the two keep their order.
 *
 * A note can be lost: for each ping the follower takes the table of notes away and puts an empty
 * one in its place, and a request that has got hold of the old table just before that writes into
 * it when it has been read (LearnerSessionTracker in 3.8.0, without a lock). The requests of a
 * session are noted one after the other, so a ping loses one note of it at the most. Between two
 * pings is half a tick at least. So take
 *
 *   R  a request that the leader has to answer, a write or a sync, sent at r0. The pings that were
 *      sent before the leader had it reach the follower before its answer does, and lose nothing
 *      of what is sent when that has come;
 *   A  requests of any kind, sent when R has been answered, the first at a0, all answered at a1.
 *      If they are more than 1 + (a1 - r0) / half a tick, more than there were pings in that time,
 *      one of them has been noted for good, between a0 and a1;
 *   B  a request that the leader has to answer, sent no sooner than GAP after a1. If GAP is longer
 *      than half a tick a ping was sent to the follower between a1 and the answer to B: the
 *      follower has answered that ping or one before it, naming us, before it answered us B;
 *   C  a write that is sent when B has been answered, and succeeds. The leader has got the answer
 *      to that ping before C: it heard of us at a0 or later, and the session was not closing.
 *      C is agreed upon by a quorum, so no other leader began before C was sent.
 *
 * When C is answered, known: T from a0. A sync will not do for C: a leader that was deposed, and
 * does not know it yet, answers it. To come with our session to a server is A and B in one: the
 * leader was asked, and has noted it itself. All of it holds for a client of the leader itself and
 * for a server that stands alone. B serves as the R of the next A.
 *
 * Who has been idle has no A, and would have to wait for one, and for GAP, before the first thing
 * that it acquires is certain. So while nothing is certain, and until something is by such an A, a
 * single request counts as one: a ping of an idle session, say. That is likely and not sure: its
 * note is lost if a ping of the leader meets it within a few instructions.
 *
 * Credentials (auth) are answered without a note of their session, and count for nothing.
 *
 * GAP is a third of T, and half a tick is taken for a fortieth at the least. The tick is not known
 * to clients, but servers grant no timeout of less than two ticks or more than twenty unless they
 * are configured to (minSessionTimeout, maxSessionTimeout): half a tick is between a quarter and a
 * fortieth of T. Who configures less must not ask for less than two ticks; who configures more, and
 * asks for more, has fewer notes than there may be pings.
 *
 * A local session (localSessionsEnabled) is known to its own server only. That one ends it, T after
 * it has heard of it or later, and forgets it when it is itself restarted, which nothing here can
 * know. But whoever holds something has an ephemeral node, and with its first one the session
 * becomes one of the ensemble: the leader tracks it from then on, as one that is begun, and no
 * sooner than whatever was known of it before was sent.
 *
 * The timeout is the least that was granted to the session: a new leader knows only the first one.
 *
 * No clock and no I/O. What was sent before what is told by the place in the stream of bytes to the
 * server. */
#ifndef PAWL_CLIENT_CERTAIN_H
#define PAWL_CLIENT_CERTAIN_H

#include <stdbool.h>
#include <stdint.h>

/* What an answer shows. */
enum certain_proof {
    CERTAIN_HEARD,   /* the server that we are linked to has heard us */
    CERTAIN_LED,     /* its leader has answered */
    CERTAIN_ECHOED,  /* ... a sync of SIGN_OF_LIFE, and does not count requests */
    CERTAIN_AGREED,  /* a quorum has agreed upon it, and the session was not closing */
    CERTAIN_COUNTED, /* its leader is ours, and has answered a sync */
};

enum certain_leader {
    LEADER_UNKNOWN,
    LEADER_COUNTS, /* every request: it is ours */
    LEADER_PINGS,  /* it is told by its followers */
};

struct certain_answer {
    enum certain_proof proof;
    int64_t sent_ms;   /* taken before it was sent */
    int64_t heard_ms;  /* taken after the answer had come */
    uint64_t position; /* of its end in the stream */
    uint64_t written;  /* so much of the stream has been sent by now */
};

/* An A: when the first of it was sent, when the last was answered; 0: none. */
struct certain_contact {
    int64_t sent_ms, heard_ms;
};

/* So many, a twelfth of T apart: one of them is older than GAP, and not by much. The youngest
 * first. */
enum { CERTAIN_CONTACTS = 6 };
struct certain_contacts {
    struct certain_contact items[CERTAIN_CONTACTS];
};

/* An A to be. */
struct certain_run {
    int64_t from_ms;   /* when R was sent; 0: there is none */
    uint64_t position; /* what is behind that was sent when R had been answered */
    int64_t sent_ms;   /* the first of it */
    int n;             /* so many have been answered */
    int n_wanted;      /* so many are to be sent */
};

struct certain {
    int64_t since_ms; /* 0: nothing is known */
    bool is_sure;     /* and not only likely */
    int timeout_ms;

    /* of the link */
    enum certain_leader leader;
    struct certain_run run;
    struct certain_contacts sure, likely; /* whole runs; single requests */
    bool passed;                          /* B has been answered ... */
    bool passed_is_sure;                  /* ... for an A of this kind */
    int64_t passed_since_ms;              /* ... that was sent then */
    uint64_t passed_position;             /* what is behind it will do for C */
};

/* The handshake was answered: of a session that has just begun; that was resumed. */
void certain_begun(struct certain *k, const struct certain_answer *hello, int timeout_ms);
void certain_resumed(struct certain *k, const struct certain_answer *hello, int timeout_ms);

void certain_answered(struct certain *k, const struct certain_answer *a);

void certain_link_gone(struct certain *k);
void certain_session_gone(struct certain *k);

/* So much time has passed unnoticed before now. */
void certain_jumped(struct certain *k, int64_t jump_ms);

/* How much longer the session is certain to live; 0: not certain. */
int64_t certain_left_ms(const struct certain *k, int64_t now_ms);

/* When the next request should be sent if the session is to stay certain: SIGN_OF_LIFE, or a write
 * if the leader is one that pings. */
int64_t certain_due_ms(const struct certain *k);

/* So many requests of any kind, all at once, will make an A; 0: none are wanted. */
int certain_wanted(const struct certain *k);
void certain_wanted_sent(struct certain *k);

#endif
