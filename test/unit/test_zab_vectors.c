/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded exchanges between Java servers, with our leader or our learner in the place of one of
 * them: fed with what the other side sent, it has to send the same bytes.
 *
 * What is not in the packets is supplied when the next recorded one needs it: a write is proposed,
 * something is on disk, a client asks. PINGs come when they come. */
#include <stdlib.h>

#include "lib/quorum_fixture.h"
#include "lib/test.h"
#include "lib/vectors.h"

#define E1 INT64_C(0x100000000)
#define E2 INT64_C(0x200000000)

enum { MESSAGES_MAX = 200, LINK = 7, OTHER = 8, PACKET_LIMIT = 1 << 20 };

struct message {
    bool from_learner;
    bool stream; /* of a snapshot */
    struct bytes bytes;
    struct packet packet; /* unless it is a stream */
};

/* One connection to the quorum port. */
struct exchange {
    struct message messages[MESSAGES_MAX];
    size_t count;
    int wanted; /* which connection of the file */
    int at;
};

static void take_message(const struct quorum_message *m, void *arg)
{
    struct exchange *x = arg;
    struct message *to = &x->messages[x->count];
    uint8_t *copy;
    size_t used;

    if (strncmp(m->meaning, "FOLLOWERINFO", 12) == 0) {
        x->at++;
    }
    if (x->at != x->wanted || m->bytes.len == 0) {
        return;
    }
    assert_true(x->count < MESSAGES_MAX);
    copy = malloc(m->bytes.len);
    memcpy(copy, m->bytes.data, m->bytes.len);
    to->bytes = bytes_of(copy, m->bytes.len);
    to->from_learner = m->from_dialler;
    to->stream = strstr(m->meaning, "SNAPSTREAM") != NULL;
    if (!to->stream) {
        assert_int_equal(packet_read(to->bytes, PACKET_LIMIT, &to->packet, &used), STREAM_WHOLE);
        assert_int_equal(used, to->bytes.len);
    }
    x->count++;
}

/* The n-th connection to a quorum port in the file, from 1. */
static struct exchange *exchange_read(const char *file, int n)
{
    struct exchange *x = calloc(1, sizeof *x);
    char path[256];

    x->wanted = n;
    snprintf(path, sizeof path, VECTORS "/quorum/%s.txt", file);
    vectors_quorum(path, take_message, x);
    assert_true(x->count > 5);
    return x;
}

static void exchange_free(struct exchange *x)
{
    for (size_t i = 0; i < x->count; i++) {
        free((void *)(uintptr_t)x->messages[i].bytes.data);
    }
    free(x);
}

/* --- what our side sends on LINK --- */

struct side {
    struct quorum_fixture f;
    struct strbuf out;    /* sent and not yet compared */
    struct bytes touches; /* for the next answer to a PING */
    int64_t logged;
    bool stream; /* of a snapshot: sent, or to be received */
};

static void write_touches(void *host, struct strbuf *out)
{
    struct side *s = host;

    strbuf_append_bytes(out, s->touches);
}

/* Behind the epoch of an ACKEPOCH is a mark of our own, which no leader of Java's looks at. */
static void send_recorded(struct side *s, struct packet p)
{
    if (p.type == PACKET_ACK_EPOCH) {
        assert_bytes_equal(bytes_of(p.data.data + 4, p.data.len - 4), bytes_str(TURN_MARK));
        p.data.len = 4;
    }
    packet_write(&s->out, &p);
}

/* Jobs are done at once, but the log is on disk only when something depends on it. */
static void carry_out(struct side *s)
{
    struct quorum_effects effects = s->f.effects;

    quorum_effects_init(&s->f.effects);
    for (size_t i = 0; i < effects.count; i++) {
        const struct quorum_effect *e = &effects.items[i];

        switch (e->kind) {
        case QUORUM_DO_SEND:
            if (e->link == LINK) {
                send_recorded(s, e->packet);
            }
            break;
        case QUORUM_DO_SEND_SNAPSHOT:
            s->stream = s->stream || e->link == LINK;
            break;
        case QUORUM_DO_LOAD_SNAPSHOT:
            s->stream = true;
            break;
        case QUORUM_DO_APPEND:
            s->logged = e->zxid;
            break;
        case QUORUM_DO_CLOSE:
        case QUORUM_DO_STOP:
            print_error("%s\n", e->reason);
            fail();
            break;
        default:
            break;
        }
    }
    for (size_t i = 0; i < effects.count; i++) {
        const struct quorum_effect *e = &effects.items[i];

        if (e->kind == QUORUM_DO_SAVE_EPOCH) {
            fixture_saved(&s->f, e->which, e->epoch);
            carry_out(s);
        } else if (e->kind == QUORUM_DO_TRUNCATE) {
            fixture_zxid(&s->f, QUORUM_IN_TRUNCATED, e->zxid);
            carry_out(s);
        }
    }
    quorum_effects_fini(&effects);
}

static void give_packet(struct side *s, link_id link, const struct packet *p)
{
    fixture_step(&s->f,
                 &(struct quorum_input){.kind = QUORUM_IN_PACKET, .link = link, .packet = p});
    carry_out(s);
}

static void give(struct side *s, enum quorum_input_kind kind, const struct packet *p)
{
    fixture_step(&s->f,
                 &(struct quorum_input){
                     .kind = kind, .link = LINK, .zxid = p->zxid, .bytes = p->data, .packet = p});
    carry_out(s);
}

static void on_disk(struct side *s)
{
    if (s->logged > quorum_status(s->f.quorum).durable_zxid) {
        fixture_zxid(&s->f, QUORUM_IN_LOG_DURABLE, s->logged);
        carry_out(s);
    }
}

/* The first packet that was sent, if it is of that type; it is taken off. */
static bool skip_sent(struct side *s, int32_t type)
{
    struct packet p;
    size_t used;

    if (packet_read(strbuf_bytes(&s->out), PACKET_LIMIT, &p, &used) != STREAM_WHOLE ||
        p.type != type) {
        return false;
    }
    memmove(s->out.data, s->out.data + used, s->out.len - used);
    s->out.len -= used;
    return true;
}

static void assert_sent(struct side *s, struct bytes expected)
{
    assert_true(s->out.len >= expected.len);
    assert_bytes_equal(bytes_of(s->out.data, expected.len), expected);
    memmove(s->out.data, s->out.data + expected.len, s->out.len - expected.len);
    s->out.len -= expected.len;
}

static void side_fini(struct side *s)
{
    assert_int_equal(s->out.len, 0);
    strbuf_fini(&s->out);
    quorum_fixture_fini(&s->f);
}

/* --- our leader, a recorded learner --- */

static void leader_init(struct side *s, int64_t sid, int64_t zxid, int64_t epoch)
{
    struct history h;

    *s = (struct side){.logged = zxid};
    quorum_fixture_init(&s->f, sid, 3, 0);
    strbuf_init(&s->out, STRBUF_NO_LIMIT);
    history_begin(&h, 0);
    for (int64_t z = E1 + 1; z <= zxid; z++) {
        history_append(&h, z);
    }
    quorum_fixture_start(&s->f, zxid, epoch, &h);
    history_fini(&h);
    quorum_fixture_elect_self(&s->f);
    carry_out(s);
}

/* Another follower, on OTHER, makes the leader active and acks what is needed. */
static void add_other(struct side *s, int64_t sid, int64_t zxid, int64_t epoch)
{
    fixture_link(&s->f, QUORUM_IN_LINK_UP, OTHER);
    carry_out(s);
    fixture_info(&s->f, OTHER, PACKET_FOLLOWER_INFO, epoch, sid);
    carry_out(s);
    fixture_ack_epoch(&s->f, OTHER, zxid, (int32_t)epoch);
    carry_out(s);
    fixture_packet(&s->f, OTHER, PACKET_ACK, zxid_make(epoch + 1, 0), BYTES_NULL);
    carry_out(s);
}

static void other_acks(struct side *s, int64_t zxid)
{
    fixture_packet(&s->f, OTHER, PACKET_ACK, zxid, BYTES_NULL);
    carry_out(s);
}

static void commit_write(struct side *s, int64_t zxid, struct bytes payload)
{
    fixture_step(&s->f,
                 &(struct quorum_input){.kind = QUORUM_IN_PROPOSE, .zxid = zxid, .bytes = payload});
    carry_out(s);
    on_disk(s);
    other_acks(s, zxid);
    assert_int_equal(quorum_status(s->f.quorum).committed_zxid, zxid);
}

/* A client's sync is not in the packets' order alone: it asks both followers whether we lead. */
static void give_sync(struct side *s)
{
    fixture_step(&s->f, &(struct quorum_input){.kind = QUORUM_IN_SYNC, .link = LINK});
    carry_out(s);
    while (skip_sent(s, PACKET_PING)) {
    }
    fixture_packet(&s->f, LINK, PACKET_PING, 0, bytes_of("", 0));
    carry_out(s);
}

static void ping_now(struct side *s)
{
    fixture_wait(&s->f, TICK_US / 2);
    carry_out(s);
}

static void feed_learner_packet(struct side *s, const struct packet *p)
{
    struct forwarded_request request;

    if (p->type == PACKET_PING) { /* its question is not always in the record */
        ping_now(s);
        while (skip_sent(s, PACKET_PING)) {
        }
    }
    give_packet(s, LINK, p);
    if (p->type == PACKET_REQUEST) {
        assert_true(forwarded_request_read(p->data, &request));
        if (request.op == 9) {
            give_sync(s);
        }
    }
}

static void expect_leader_packet(struct side *s, const struct message *m)
{
    if (s->out.len == 0) {
        switch (m->packet.type) {
        case PACKET_PROPOSAL:
            give(s, QUORUM_IN_PROPOSE, &m->packet);
            break;
        case PACKET_COMMIT:
            on_disk(s);
            if (s->out.len == 0) {
                other_acks(s, m->packet.zxid);
            }
            break;
        case PACKET_PING:
            ping_now(s);
            break;
        case PACKET_REVALIDATE:
            give(s, QUORUM_IN_ANSWER, &m->packet);
            break;
        default:
            break;
        }
    }
    assert_sent(s, m->bytes);
}

/* `other`: a follower that comes behind this one; 0: none. */
static void replay_learner(struct side *s, const char *file, int n, int64_t other)
{
    struct exchange *x = exchange_read(file, n);

    fixture_link(&s->f, QUORUM_IN_LINK_UP, LINK);
    carry_out(s);
    for (size_t i = 0; i < x->count; i++) {
        const struct message *m = &x->messages[i];

        if (m->stream) {
            assert_true(s->stream);
        } else if (m->from_learner) {
            if (m->packet.type == PACKET_PING && i > 0 &&
                x->messages[i - 1].packet.type == PACKET_PING) {
                give_packet(s, LINK, &m->packet);
            } else {
                feed_learner_packet(s, &m->packet);
            }
        } else {
            expect_leader_packet(s, m);
        }
        if (m->packet.type == PACKET_UP_TO_DATE && other != 0) {
            add_other(s, other, 0, 0);
        }
    }
    exchange_free(x);
}

static void leader_of_the_first_epoch(void **state)
{
    struct side s;

    (void)state;
    leader_init(&s, 2, 0, 0);
    replay_learner(&s, "sync-first-epoch", 1, 0);
    side_fini(&s);
    leader_init(&s, 2, 0, 0); /* the late one gets a snapshot */
    add_other(&s, 1, 0, 0);
    replay_learner(&s, "sync-first-epoch", 2, 0);
    assert_true(s.stream);
    side_fini(&s);
}

static void leader_of_a_follower_that_missed_five(void **state)
{
    struct exchange *x = exchange_read("sync-diff", 1);
    struct side s;

    (void)state;
    leader_init(&s, 3, 0, 0);
    add_other(&s, 2, 0, 0);
    for (int64_t z = 1; z <= 0xb; z++) {
        commit_write(&s, E1 + z, bytes_str("before"));
    }
    for (size_t i = 0; i < x->count; i++) {
        if (x->messages[i].packet.type == PACKET_PROPOSAL) {
            commit_write(&s, x->messages[i].packet.zxid, x->messages[i].packet.data);
        }
    }
    exchange_free(x);
    replay_learner(&s, "sync-diff", 1, 0);
    side_fini(&s);
}

static void leader_of_an_old_leader_with_a_tail(void **state)
{
    struct side s;

    (void)state;
    leader_init(&s, 3, E1 + 4, 1);
    replay_learner(&s, "sync-trunc", 1, 0);
    side_fini(&s);
    leader_init(&s, 3, E1 + 4, 1);
    add_other(&s, 1, E1 + 4, 1);
    replay_learner(&s, "sync-trunc", 2, 0);
    side_fini(&s);
}

static void leader_of_an_old_leader_with_a_tail_of_another_epoch(void **state)
{
    struct side s;

    (void)state;
    leader_init(&s, 3, E1 + 1, 1);
    add_other(&s, 1, E1 + 1, 1);
    for (int64_t z = 1; z <= 3; z++) {
        commit_write(&s, E2 + z, bytes_str("later"));
    }
    replay_learner(&s, "sync-snap-epoch-crossing", 1, 0);
    assert_true(s.stream);
    side_fini(&s);
}

static void leader_of_both_followers_of_the_broadcast(void **state)
{
    struct side s;

    (void)state;
    for (int n = 1; n <= 2; n++) {
        leader_init(&s, 3, 0, 0);
        replay_learner(&s, "broadcast", n, n);
        assert_int_equal(quorum_status(s.f.quorum).committed_zxid, E1 + 0xb);
        side_fini(&s);
    }
}

/* --- our learner, a recorded leader --- */

static void learner_init(struct side *s, int64_t sid, int64_t leader, int64_t zxid, int64_t epoch)
{
    *s = (struct side){.logged = zxid};
    quorum_fixture_init(&s->f, sid, 3, 0);
    strbuf_init(&s->out, STRBUF_NO_LIMIT);
    s->f.options.touches = write_touches;
    s->f.options.host = s;
    s->touches = BYTES_NULL;
    quorum_fixture_start(&s->f, zxid, epoch, NULL);
    quorum_fixture_elect(&s->f, leader);
    fixture_dialled(&s->f, LINK, leader);
    carry_out(s);
}

/* 3.8.0 acks every proposal of a DIFF once it serves, also those that came with their commit. Such
 * an ack tells the leader nothing, and later versions do not send it either. */
static bool is_needless(const struct side *s, const struct packet *p, int64_t synced)
{
    return p->type == PACKET_ACK && p->zxid <= synced && zxid_counter(p->zxid) != 0 &&
           quorum_status(s->f.quorum).serving;
}

static void expect_learner_packet(struct side *s, const struct message *m)
{
    if (s->out.len == 0) {
        switch (m->packet.type) {
        case PACKET_ACK:
            on_disk(s);
            break;
        case PACKET_REQUEST:
        case PACKET_REVALIDATE:
            give(s, QUORUM_IN_FORWARD, &m->packet);
            break;
        case PACKET_PING:
            s->touches = m->packet.data;
            give_packet(
                s, LINK,
                &(struct packet){.type = PACKET_PING, .zxid = m->packet.zxid, .auth.count = -1});
            break;
        default:
            break;
        }
    }
    assert_sent(s, m->bytes);
}

static void feed_leader_message(struct side *s, const struct message *m, int64_t *synced)
{
    if (m->stream) {
        assert_true(s->stream);
        fixture_zxid(&s->f, QUORUM_IN_SNAPSHOT_LOADED, s->logged);
        carry_out(s);
        return;
    }
    if (m->packet.type == PACKET_SNAP) {
        s->logged = m->packet.zxid;
    }
    if (m->packet.type == PACKET_NEW_LEADER) {
        *synced = quorum_status(s->f.quorum).last_zxid;
    }
    if (m->packet.type != PACKET_PING) { /* given when its answer is due */
        give_packet(s, LINK, &m->packet);
    }
}

static void replay_leader(struct side *s, const char *file, int n)
{
    struct exchange *x = exchange_read(file, n);
    int64_t synced = 0;

    for (size_t i = 0; i < x->count; i++) {
        const struct message *m = &x->messages[i];

        if (!m->from_learner) {
            feed_leader_message(s, m, &synced);
        } else if (!is_needless(s, &m->packet, synced)) {
            expect_learner_packet(s, m);
        }
    }
    assert_true(quorum_status(s->f.quorum).serving);
    exchange_free(x);
}

static void learner_in_every_exchange(void **state)
{
    static const struct {
        const char *file;
        int n;
        int64_t sid, leader, zxid, epoch, committed;
    } rows[] = {
        {"sync-first-epoch", 1, 1, 2, 0, 0, 0},
        {"sync-first-epoch", 2, 3, 2, 0, 0, E1},
        {"sync-diff", 1, 1, 3, E1 + 0xb, 1, E1 + 0x10},
        {"sync-trunc", 1, 1, 3, E1 + 4, 1, E1 + 4},
        {"sync-trunc", 2, 2, 3, E1 + 7, 1, E1 + 4},
        {"sync-snap-epoch-crossing", 1, 2, 3, E1 + 4, 1, E2 + 3},
        {"broadcast", 1, 2, 3, 0, 0, E1 + 0xb},
        {"broadcast", 2, 1, 3, 0, 0, E1 + 0xb},
    };
    struct side s;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(rows); i++) {
        print_message("    %s, connection %d\n", rows[i].file, rows[i].n);
        learner_init(&s, rows[i].sid, rows[i].leader, rows[i].zxid, rows[i].epoch);
        replay_leader(&s, rows[i].file, rows[i].n);
        assert_int_equal(quorum_status(s.f.quorum).committed_zxid, rows[i].committed);
        side_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leader_of_the_first_epoch),
        cmocka_unit_test(leader_of_a_follower_that_missed_five),
        cmocka_unit_test(leader_of_an_old_leader_with_a_tail),
        cmocka_unit_test(leader_of_an_old_leader_with_a_tail_of_another_epoch),
        cmocka_unit_test(leader_of_both_followers_of_the_broadcast),
        cmocka_unit_test(learner_in_every_exchange),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
