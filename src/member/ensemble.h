/* SPDX-License-Identifier: Apache-2.0 */
/* ensemble.h - a member's place among others.
 *
 *      quorum   agrees upon opaque payloads (quorum/quorum.h)
 *        ^ |
 *      in| |effects          steps the one, and the other for its part of the effects; does what
 *        | v                 belongs to neither: links, files (the daemon's carrier, a simulator)
 *      carrier
 *        ^ |
 *     ask| |MEMBER_EFFECT, MEMBER_CATCH_UP, MEMBER_TREE, MEMBER_WANT_SNAPSHOT
 *        | v
 *      member   knows what is in the payloads: tree, clients
 *
 * The member asks while it is stepped. If the quorum is stepped at once, its effects may come back
 * within that step; if it is in the middle of others, later. */
#ifndef PAWL_MEMBER_ENSEMBLE_H
#define PAWL_MEMBER_ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "member/stages.h"
#include "quorum/quorum.h"
#include "server/role.h"

struct member;
struct snapshot_taker;

/* What a member among others needs. */
struct member_ensemble {
    /* PROPOSE, FORWARD, ANSWER, SYNC, TURN, RESIGN. What it points to is lent for the call. */
    void (*ask)(void *host, const struct quorum_input *in);

    /* To be asked, not to be stepped. */
    const struct quorum *(*quorum)(void *host);
    size_t least_voters;    /* that clients may leave in the list of members */
    bool several_addresses; /* per member are allowed in it */
    int64_t last_counter;   /* as the quorum's; 0: QUORUM_LAST_COUNTER */

    /* The tree that `link` was promised, as it is at `zxid`; the taker is the host's. It fills
     * while MEMBER_SNAPSHOT_SLICE goes on. */
    void (*snapshot)(void *host, link_id link, struct snapshot_taker *taker, int64_t zxid);

    /* For the words. NULL: nobody asks. */
    void (*standing)(void *host, struct role_standing *out);

    /* Whether the quorum looks for a leader, neither following nor leading anybody. NULL: nobody is
     * served meanwhile. */
    bool (*is_looking)(void *host);
    void *host;
};

/* quorum_options.config_of. */
bool member_config_of(struct bytes payload, struct bytes *text);

/* What a PING is answered with: quorum_options.touches, with the member as host. */
void member_touches(void *member, struct strbuf *out);

/* ---- for the files of the member ---- */

struct ensemble {
    struct member_ensemble to;
    int64_t n_synced;         /* syncs of our clients that are answered when the step ends */
    bool resigning;           /* no zxid is left in this epoch */
    int64_t looking_since_us; /* as far as is known; 0: it does not */
    struct strbuf undecided;  /* leading: struct undecided, revalidations that wait for a commit */
    int64_t idle_since_us;    /* nobody is served */
    struct stages stages;     /* of transactions in this role */
    struct strbuf data;       /* scratch: of a packet */
    struct strbuf auth;
};

struct ensemble *ensemble_new(const struct member_ensemble *to);
void ensemble_free(struct ensemble *e);

void ensemble_ask(struct member *m, const struct quorum_input *in);
const struct quorum *ensemble_quorum(const struct member *m);
void ensemble_standing(struct role *r, struct role_standing *out);
int64_t ensemble_last_counter(const struct member *m);

/* The member's part of what a step of the quorum asks for. */
void ensemble_effect(struct member *m, const struct quorum_effect *e);

/* What could not be done in the middle of a step. */
void ensemble_end_step(struct member *m);

#endif
