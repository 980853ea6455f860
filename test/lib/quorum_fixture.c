/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/quorum_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"

static void add_member(struct quorum_config *c, int64_t sid, bool observer)
{
    struct strbuf why;
    char line[80];
    bool ok;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    snprintf(line, sizeof line, "127.0.0.1:%d:%d:%s", 22220 + (int)sid, 22230 + (int)sid,
             observer ? "observer" : "participant");
    ok = quorum_config_add_server(c, sid, line, false, &why);
    ASSERT(ok);
    strbuf_fini(&why);
}

void quorum_fixture_init(struct quorum_fixture *f, int64_t sid, size_t n_voters, size_t n_observers)
{
    *f = (struct quorum_fixture){.sid = sid, .n_voters = n_voters};
    quorum_config_init(&f->config);
    for (size_t i = 1; i <= n_voters + n_observers; i++) {
        add_member(&f->config, (int64_t)i, i > n_voters);
    }
    quorum_effects_init(&f->effects);
    strbuf_init(&f->got, STRBUF_NO_LIMIT);
    f->options = (struct quorum_options){
        .sid = sid,
        .observer = sid > (int64_t)n_voters,
        .config = &f->config,
        .tick_ms = TICK_US / 1000,
        .init_limit = INIT_LIMIT,
        .sync_limit = SYNC_LIMIT,
        .recent_bytes = 1024 * 1024,
    };
}

void quorum_fixture_fini(struct quorum_fixture *f)
{
    if (f->quorum != NULL) {
        quorum_free(f->quorum);
    }
    quorum_effects_fini(&f->effects);
    strbuf_fini(&f->got);
    quorum_config_fini(&f->config);
}

void fixture_step(struct quorum_fixture *f, const struct quorum_input *in)
{
    quorum_step(f->quorum, f->now_us, in, &f->effects);
    strbuf_clear(&f->got);
    for (size_t i = 0; i < f->effects.count; i++) {
        if (f->effects.items[i].kind != QUORUM_DO_NOTIFY) {
            trace_effect(&f->got, &f->effects.items[i]);
            strbuf_append_str(&f->got, "\n");
        }
    }
}

void quorum_fixture_start(struct quorum_fixture *f, int64_t zxid, int64_t epoch,
                          const struct history *history)
{
    f->quorum = quorum_new(&f->options);
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_START,
                                           .zxid = zxid,
                                           .accepted_epoch = epoch,
                                           .current_epoch = epoch,
                                           .history = history});
}

void quorum_fixture_hear(struct quorum_fixture *f, int64_t from, struct notification n)
{
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    n.version = NOTIFICATION_VERSION;
    n.config = bytes_of("", 0);
    notification_write(&b, &n);
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_NOTIFICATION,
                                           .sid = from,
                                           .bytes = bytes_of(b.data + 4, b.len - 4)});
    strbuf_fini(&b);
}

static bool has_role(const struct quorum_fixture *f)
{
    return quorum_status(f->quorum).role != MEMBER_LOOKING;
}

/* The others vote as this member does. */
static void agree(struct quorum_fixture *f, const struct notification *own)
{
    for (int64_t sid = 1; sid <= (int64_t)f->n_voters && !has_role(f); sid++) {
        if (sid != f->sid) {
            quorum_fixture_hear(f, sid, *own);
        }
    }
}

/* What this member told the others last; a role is not told, so it is asked. */
void quorum_fixture_elect_self(struct quorum_fixture *f)
{
    struct quorum_status s = quorum_status(f->quorum);
    struct notification vote = {.state = MEMBER_LOOKING,
                                .leader = f->sid,
                                .zxid = s.last_zxid,
                                .peer_epoch = s.current_epoch};

    for (vote.election_epoch = 1; !has_role(f); vote.election_epoch++) {
        ASSERT(vote.election_epoch < 100);
        agree(f, &vote);
    }
    ASSERT(quorum_status(f->quorum).role == MEMBER_LEADING);
}

void quorum_fixture_elect(struct quorum_fixture *f, int64_t leader)
{
    struct notification vote = {.leader = leader, .election_epoch = 7, .peer_epoch = 7};

    for (int64_t sid = 1; sid <= (int64_t)f->n_voters && !has_role(f); sid++) {
        vote.state = sid == leader ? MEMBER_LEADING : MEMBER_FOLLOWING;
        if (sid != f->sid) {
            quorum_fixture_hear(f, sid, vote);
        }
    }
    ASSERT(quorum_status(f->quorum).leader == leader);
}

void fixture_zxid(struct quorum_fixture *f, enum quorum_input_kind kind, int64_t zxid)
{
    fixture_step(f, &(struct quorum_input){.kind = kind, .zxid = zxid});
}

void fixture_link(struct quorum_fixture *f, enum quorum_input_kind kind, link_id link)
{
    fixture_step(f, &(struct quorum_input){.kind = kind, .link = link, .sid = SID_NOBODY});
}

void fixture_dialled(struct quorum_fixture *f, link_id link, int64_t sid)
{
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_LINK_UP, .link = link, .sid = sid});
}

void fixture_saved(struct quorum_fixture *f, enum quorum_epoch which, int64_t epoch)
{
    fixture_step(
        f, &(struct quorum_input){.kind = QUORUM_IN_EPOCH_SAVED, .which = which, .epoch = epoch});
}

void fixture_packet(struct quorum_fixture *f, link_id link, int32_t type, int64_t zxid,
                    struct bytes data)
{
    struct packet packet = {.type = type, .zxid = zxid, .data = data, .auth.count = -1};

    fixture_step(f,
                 &(struct quorum_input){.kind = QUORUM_IN_PACKET, .link = link, .packet = &packet});
}

void fixture_info(struct quorum_fixture *f, link_id link, int32_t type, int64_t accepted,
                  int64_t sid)
{
    struct learner_info info = {
        .has_server_id = true, .server_id = sid, .protocol_version = QUORUM_PROTOCOL_VERSION};
    struct strbuf b;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    learner_info_write(&b, &info);
    fixture_packet(f, link, type, zxid_make(accepted, 0), strbuf_bytes(&b));
    strbuf_fini(&b);
}

void fixture_ack_epoch(struct quorum_fixture *f, link_id link, int64_t zxid, int32_t current)
{
    uint8_t data[4];

    store_u32(data, (uint32_t)current);
    fixture_packet(f, link, PACKET_ACK_EPOCH, zxid, bytes_of(data, 4));
}

void fixture_propose(struct quorum_fixture *f, int64_t zxid)
{
    fixture_step(f, &(struct quorum_input){
                        .kind = QUORUM_IN_PROPOSE, .zxid = zxid, .bytes = bytes_str("payload")});
}

void fixture_wait(struct quorum_fixture *f, int64_t us)
{
    f->now_us += us;
    fixture_step(f, &(struct quorum_input){.kind = QUORUM_IN_TICK});
}
