/* SPDX-License-Identifier: Apache-2.0 */
/* member_internal.h - what the files of a member share: its roles above all. */
#ifndef PAWL_MEMBER_MEMBER_INTERNAL_H
#define PAWL_MEMBER_MEMBER_INTERNAL_H

#include "base/prng.h"
#include "member/ensemble.h"
#include "member/journal.h"
#include "member/member.h"
#include "member/snapshots.h"

struct member {
    struct role role; /* the one that it has now: the server knows us by it */
    struct member_options options;
    struct server *server;
    struct member_effects *effects; /* of the step that is running */
    struct prng prng;
    struct ensemble *ensemble; /* NULL: it stands alone */
    struct journal journal;
    struct snapshots snapshots;
    bool committing;
    bool diverged;       /* its tree is not the leader's: it does nothing more */
    bool had_diverged;   /* in a former life, and the tree is still that */
    bool has_dead;       /* ephemeral nodes of dead sessions are still to be deleted */
    int64_t buried_zxid; /* the last transaction that does */
};

static inline struct member *member_of(struct role *r)
{
    return container_of(r, struct member, role);
}

/* The next transaction of the log: to be written, and committed some time. */
void member_append(struct member *m, int64_t zxid, struct bytes payload);

/* Everything that was appended up to `zxid` is agreed upon. */
void member_commit(struct member *m, int64_t zxid);

/* Since `zxid` its tree is not the leader's: it serves nobody any more. */
void member_diverge(struct member *m, int64_t zxid);

/* By transactions, of whoever leads: the ephemeral nodes of sessions that are gone. Nobody comes in
 * with an old session before they are committed. */
void member_bury_the_dead(struct member *m);
bool member_is_burying(const struct member *m);

/* member.c: looks for a leader, serves nobody. */
void role_none_init(struct role *r);

/* role_alone.c: what is durable here is committed. */
void role_alone_init(struct role *r);
void role_alone_durable(struct member *m, int64_t zxid);

/* role_leader.c, role_learner.c: and what the others send. */
void role_leader_init(struct role *r);
void role_leader_receive(struct member *m, link_id link, const struct packet *p);
/* Something is committed: revalidations that waited for it are answered. */
void role_leader_decide(struct member *m);
void role_learner_init(struct role *r, enum role_kind kind);
void role_learner_receive(struct member *m, const struct packet *p);

/* role_read_only.c: looks whether it is time to serve who only reads, or no more; it is no more. */
void role_read_only_tick(struct member *m);
void role_read_only_end(struct member *m);

#endif
