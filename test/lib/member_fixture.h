/* SPDX-License-Identifier: Apache-2.0 */
/* member_fixture.h - a member driven as the daemon drives it, with a disk that answers when told.
 *
 * What the member wants appended is checked against a replica that applies the same transactions
 * at once: each digest must be the replica's. Nothing is durable until member_fixture_durable(). */
#ifndef PAWL_TEST_MEMBER_FIXTURE_H
#define PAWL_TEST_MEMBER_FIXTURE_H

#include "member/member.h"

struct member_fixture {
    struct member *member;
    struct member_effects effects;
    struct strbuf log; /* the payloads appended so far, as jute buffers */
    int64_t now_us, wall_ms;
    int64_t appended_zxid, durable_zxid;
    int64_t log_bytes; /* what DURABLE says of the log */
    size_t n_rolls;

    struct tree *replica;                             /* at appended_zxid */
    void (*on_txn)(const struct txn *txn, void *arg); /* told of each, after the replica has it */
    void *arg;

    struct list chunks; /* of the snapshot being taken, or taken */
    bool snapshot_begun, snapshot_complete;
    int64_t snapshot_zxid;
    uint64_t snapshot_digest;
};

struct member_options member_fixture_options(void);

/* A member with a fresh tree. */
void member_fixture_init(struct member_fixture *f, const struct member_options *options);
void member_fixture_fini(struct member_fixture *f);

/* A member with a tree that some other program left behind at `zxid`: `fill` makes it, twice. */
void member_fixture_init_with(struct member_fixture *f, const struct member_options *options,
                              void (*fill)(struct tree *tree), int64_t zxid);

/* The member is gone; what was durable comes back in a new one, a second later. */
void member_fixture_restart(struct member_fixture *f, const struct member_options *options);

void member_fixture_step(struct member_fixture *f, const struct member_input *in);
struct connection *member_fixture_connect(struct member_fixture *f);
void member_fixture_send(struct member_fixture *f, struct connection *c, struct bytes bytes);
void member_fixture_durable(struct member_fixture *f, int64_t zxid);
void member_fixture_tick(struct member_fixture *f, int64_t ms);
void member_fixture_disconnect(struct member_fixture *f, struct connection *c);

/* The client has read `n` bytes of what waits for it. */
void member_fixture_read(struct member_fixture *f, struct connection *c, size_t n);

/* The tree that the snapshot's file would give back. */
struct tree *member_fixture_load_snapshot(struct member_fixture *f);

/* Nodes as a client sees them, and sessions: equal for equal trees. The caller's to free. */
char *member_fixture_state(const struct tree *tree);

#endif
