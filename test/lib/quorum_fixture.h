/* SPDX-License-Identifier: Apache-2.0 */
/* quorum_fixture.h - one member's quorum, whose inputs are given by hand and whose effects are read
 * as lines of the trace.
 *
 * Members 1 to n vote, those behind them observe. Nothing is carried out: the test says when
 * something is on disk, and what others send. */
#ifndef PAWL_TEST_QUORUM_FIXTURE_H
#define PAWL_TEST_QUORUM_FIXTURE_H

#include "quorum/config.h"
#include "quorum/trace.h"

struct quorum_fixture {
    struct quorum_config config;
    struct quorum_options options;
    struct quorum *quorum;
    struct quorum_effects effects; /* of the last step */
    struct strbuf got;             /* the same as lines, without NOTIFYs */
    int64_t now_us;
    int64_t sid;
    size_t n_voters;
};

enum { TICK_US = 1000 * 1000, INIT_LIMIT = 10, SYNC_LIMIT = 5 };

/* Tick 1 s, initLimit 10, syncLimit 5. Options may be changed before quorum_fixture_start(). */
void quorum_fixture_init(struct quorum_fixture *f, int64_t sid, size_t n_voters,
                         size_t n_observers);
void quorum_fixture_fini(struct quorum_fixture *f);

/* `history` may be NULL. Both epochs are `epoch`. */
void quorum_fixture_start(struct quorum_fixture *f, int64_t zxid, int64_t epoch,
                          const struct history *history);

/* What the others say in the election: the member's vote wins, or `leader` leads already. */
void quorum_fixture_elect_self(struct quorum_fixture *f);
void quorum_fixture_elect(struct quorum_fixture *f, int64_t leader);

/* What `from` says in an election. */
void quorum_fixture_hear(struct quorum_fixture *f, int64_t from, struct notification n);

/* One step each. The lines of its effects are in `got`. */
void fixture_step(struct quorum_fixture *f, const struct quorum_input *in);
void fixture_zxid(struct quorum_fixture *f, enum quorum_input_kind kind, int64_t zxid);
void fixture_link(struct quorum_fixture *f, enum quorum_input_kind kind, link_id link);
void fixture_dialled(struct quorum_fixture *f, link_id link, int64_t sid);
void fixture_saved(struct quorum_fixture *f, enum quorum_epoch which, int64_t epoch);
void fixture_packet(struct quorum_fixture *f, link_id link, int32_t type, int64_t zxid,
                    struct bytes data);
void fixture_info(struct quorum_fixture *f, link_id link, int32_t type, int64_t accepted,
                  int64_t sid);
void fixture_ack_epoch(struct quorum_fixture *f, link_id link, int64_t zxid, int32_t current);
void fixture_propose(struct quorum_fixture *f, int64_t zxid);

/* Lets time pass, with a TICK at its end. */
void fixture_wait(struct quorum_fixture *f, int64_t us);

/* The last step did exactly this: lines, each with its end. */
#define assert_did(f, lines) assert_string_equal(strbuf_cstr(&(f)->got), lines)

#endif
