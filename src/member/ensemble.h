/* SPDX-License-Identifier: Apache-2.0 */
/* ensemble.h - a member's place among others: between quorum/, which agrees upon opaque payloads,
 * and the server, which knows what is in them.
 *
 * Each step of the quorum leaves effects. What belongs to the world outside (packets, links, votes,
 * files) goes to the carrier at once, in order; after that the member does its own part: append,
 * commit, take up a role or leave it. Doing that may lead to further steps of the quorum (a client
 * that was answered has its next write ready), never to a change of role. */
#ifndef PAWL_MEMBER_ENSEMBLE_H
#define PAWL_MEMBER_ENSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "quorum/quorum.h"

struct member;

/* A member among others. Effects of the quorum (quorum.h) that are not the member's own business
 * are handed to `carry` in their order, inside the step: votes, links, packets, epochs, files; and,
 * so that it knows, LEAD, SERVE and STOP. What they point to is lent for that call. It must not
 * step. */
struct member_ensemble {
    struct quorum_options quorum; /* touches and host are the member's to fill in */
    int64_t accepted_epoch, current_epoch;
    const struct history *history; /* of the log; NULL: nothing but its end is known. Copied */
    void (*carry)(void *host, const struct quorum_effect *e);
    void *host;
};

enum { ENSEMBLE_DEPTH = 3 };

struct ensemble {
    struct quorum *quorum;
    void (*carry)(void *host, const struct quorum_effect *e);
    void *host;
    struct quorum_effects effects[ENSEMBLE_DEPTH]; /* of steps within steps */
    int depth;

    struct history history; /* until START */
    int64_t accepted_epoch, current_epoch;
    bool started;

    int64_t durable_zxid; /* of the log */
    int64_t n_jobs;       /* that the carrier was asked for and has not answered */
    int64_t n_synced;     /* syncs of our clients that are answered when the step ends */
    bool stopping;        /* STOP has come, STOPPED has not gone */
    bool resigning;       /* no zxid is left in this epoch */
    struct strbuf data;   /* scratch: of a packet */
    struct strbuf auth;
};

struct ensemble *ensemble_new(const struct member_ensemble *options, struct member *m,
                              int64_t zxid);
void ensemble_free(struct ensemble *e);

/* One step of the quorum, and all that follows from it. */
void ensemble_step(struct member *m, const struct quorum_input *in);

/* The first step of all. */
void ensemble_start(struct member *m);

/* An input that came from outside: what it says of the log is noted. */
void ensemble_input(struct member *m, const struct quorum_input *in);

/* The log is on disk up to here. */
void ensemble_durable(struct member *m, int64_t zxid);

#endif
