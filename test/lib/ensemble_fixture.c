/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ensemble_fixture.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lib/member_fixture.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/snapshot_taker.h"

/* ---- what is under way ---- */

enum event_kind { EVENT_INPUT, EVENT_PACKET, EVENT_DURABLE, EVENT_TRUNCATE, EVENT_SNAPSHOT };

struct under_way {
    struct list link;
    enum event_kind kind;
    struct ensemble_node *to;
    struct quorum_input input;
    struct strbuf bytes;
};

struct wire {
    struct list link;
    link_id id;
    struct ensemble_node *ends[2]; /* NULL: closed on that side */
};

static struct under_way *push(struct ensemble_node *to, enum event_kind kind,
                              struct quorum_input input)
{
    struct under_way *e = must_zalloc(sizeof(*e));

    e->kind = kind;
    e->to = to;
    e->input = input;
    strbuf_init(&e->bytes, STRBUF_NO_LIMIT);
    list_push_back(&to->fixture->events, &e->link);
    return e;
}

static void event_free(struct under_way *e)
{
    list_remove(&e->link);
    strbuf_fini(&e->bytes);
    free(e);
}

static struct wire *find_wire(struct ensemble_fixture *f, link_id id)
{
    struct list *item;

    list_for_each (item, &f->links) {
        struct wire *w = container_of(item, struct wire, link);

        if (w->id == id) {
            return w;
        }
    }
    return NULL;
}

static struct ensemble_node *other_end(struct ensemble_node *n, link_id id)
{
    struct wire *w = find_wire(n->fixture, id);

    return w == NULL ? NULL : w->ends[w->ends[0] == n];
}

/* It hears nothing more; the other one that it is gone. */
static void close_end(struct ensemble_node *n, struct wire *w)
{
    struct ensemble_node *other = w->ends[w->ends[0] == n];

    if (w->ends[0] != n && w->ends[1] != n) {
        return;
    }
    w->ends[w->ends[0] != n] = NULL;
    if (other != NULL) {
        push(other, EVENT_INPUT, (struct quorum_input){.kind = QUORUM_IN_LINK_DOWN, .link = w->id});
    }
}

/* ---- logs ---- */

static struct tree *fresh_tree(void)
{
    struct tree *t = tree_new(&(struct tree_options){.extended_types = true});

    tree_add_system_nodes(t);
    return t;
}

/* The tree of a log, which is cut behind `zxid`. */
static struct tree *replay(struct strbuf *log, int64_t zxid, struct history *history)
{
    struct jute_reader r = jute_reader_of(strbuf_bytes(log));
    struct tree *tree = fresh_tree();
    struct apply apply = {.tree = tree};
    struct txn txn;

    while (jute_left(&r) > 0) {
        size_t start = (size_t)(r.at - log->data);

        assert_int_equal(txn_read(jute_read_buffer(&r), &txn), TXN_OK);
        if (txn.header.zxid > zxid) {
            log->len = start;
            break;
        }
        apply_txn(&apply, &txn, NULL, 0);
        if (history != NULL) {
            history_append(history, txn.header.zxid);
        }
    }
    return tree;
}

static void take_record(struct ensemble_node *n, struct bytes payload)
{
    struct txn txn;

    assert_int_equal(txn_read(payload, &txn), TXN_OK);
    assert_true(txn.header.zxid > n->appended_zxid);
    n->appended_zxid = txn.header.zxid;
    jute_write_buffer(&n->log, payload);
}

static void ask_for_durable(struct ensemble_node *n)
{
    if (!n->hold && n->asked_zxid < n->appended_zxid) {
        n->asked_zxid = n->appended_zxid;
        push(n, EVENT_DURABLE, (struct quorum_input){.zxid = n->appended_zxid});
    }
}

/* A step within a step leaves that to the one around it. */
static void take_effects(struct ensemble_node *n)
{
    struct list *item;

    while ((item = list_pop_front(&n->effects.chunks)) != NULL) { /* no file is written */
        snapshot_chunk_free(container_of(item, struct snapshot_chunk, link));
    }
    list_for_each (item, &n->effects.append.blocks) {
        const struct txn_block *b = container_of(item, struct txn_block, link);

        for (size_t at = 0; at < b->len; at += 13 + (size_t)load_u32(b->data + at + 8)) {
            take_record(n, bytes_of(b->data + at + 12, load_u32(b->data + at + 8)));
        }
    }
    txn_batch_fini(&n->effects.append);
    txn_batch_init(&n->effects.append);
    if (n->effects.diverged_zxid != 0) {
        n->fixture->diverged_zxid = n->effects.diverged_zxid;
    }
    ask_for_durable(n);
    while (member_next_touched(n->member) != NULL) {
    }
}

static void node_step(struct ensemble_node *n, struct member_input in)
{
    n->depth++;
    member_step(n->member, n->fixture->now_us, n->fixture->wall_ms, &in, &n->effects);
    if (--n->depth == 0) {
        take_effects(n);
    }
}

/* ---- effects ---- */

static struct ensemble_node *node_of(struct ensemble_fixture *f, int64_t sid)
{
    assert_true(sid >= 1 && sid <= (int64_t)f->n_nodes);
    return &f->nodes[sid - 1];
}

static void dial(struct ensemble_node *n, int64_t sid)
{
    struct ensemble_node *to = node_of(n->fixture, sid);
    struct wire *w;

    if (to->member == NULL || !to->listening) {
        push(n, EVENT_INPUT, (struct quorum_input){.kind = QUORUM_IN_DIAL_FAILED, .sid = sid});
        return;
    }
    w = must_zalloc(sizeof(*w));
    w->id = ++n->fixture->last_link;
    w->ends[0] = n;
    w->ends[1] = to;
    list_push_back(&n->fixture->links, &w->link);
    push(n, EVENT_INPUT,
         (struct quorum_input){.kind = QUORUM_IN_LINK_UP, .link = w->id, .sid = sid});
    push(to, EVENT_INPUT,
         (struct quorum_input){.kind = QUORUM_IN_LINK_UP, .link = w->id, .sid = SID_NOBODY});
}

static void send_packet(struct ensemble_node *n, link_id link, const struct packet *p)
{
    struct ensemble_node *to = other_end(n, link);

    if (to != NULL) {
        packet_write(&push(to, EVENT_PACKET, (struct quorum_input){.link = link})->bytes, p);
    }
}

static void send_log(struct ensemble_node *n, const struct quorum_effect *e)
{
    struct jute_reader r = jute_reader_of(strbuf_bytes(&n->log));
    struct txn txn;

    while (jute_left(&r) > 0) {
        struct bytes payload = jute_read_buffer(&r);
        struct packet p = {.type = PACKET_PROPOSAL, .data = payload, .auth.count = -1};

        txn_read(payload, &txn);
        if (txn.header.zxid < e->from || txn.header.zxid > e->zxid) {
            continue;
        }
        p.zxid = txn.header.zxid;
        send_packet(n, e->link, &p);
        p = (struct packet){
            .type = PACKET_COMMIT, .zxid = txn.header.zxid, .data = BYTES_NULL, .auth.count = -1};
        send_packet(n, e->link, &p);
    }
}

static void send_snapshot(struct ensemble_node *n, const struct quorum_effect *e)
{
    struct ensemble_node *to = other_end(n, e->link);
    struct under_way *u;

    if (to != NULL) {
        u = push(to, EVENT_SNAPSHOT,
                 (struct quorum_input){
                     .kind = QUORUM_IN_SNAPSHOT_LOADED, .link = e->link, .zxid = e->zxid});
        strbuf_append_bytes(&u->bytes, strbuf_bytes(&n->log));
    }
    push(n, EVENT_INPUT, (struct quorum_input){.kind = QUORUM_IN_SNAPSHOT_SENT, .link = e->link});
}

/* What was appended is durable, and the tree has it. */
static void stop_if_durable(struct ensemble_node *n, int64_t durable_zxid)
{
    if (n->stopping && durable_zxid == n->appended_zxid) {
        n->stopping = false;
        node_step(n, (struct member_input){.kind = MEMBER_CATCH_UP});
        push(n, EVENT_INPUT,
             (struct quorum_input){.kind = QUORUM_IN_STOPPED, .zxid = n->appended_zxid});
    }
}

static void stop(struct ensemble_node *n)
{
    n->stopping = true;
    n->loading = 0;
    if (n->durable_zxid == n->appended_zxid) {
        stop_if_durable(n, n->durable_zxid);
    }
}

/* Before any packet that is under way. */
static void truncate_next(struct ensemble_node *n, int64_t zxid)
{
    struct under_way *u =
        push(n, EVENT_TRUNCATE, (struct quorum_input){.kind = QUORUM_IN_TRUNCATED, .zxid = zxid});

    list_remove(&u->link);
    list_insert_behind(&n->fixture->events, &u->link);
}

static void node_carry(struct ensemble_node *n, const struct quorum_effect *e)
{
    struct wire *w;

    switch (e->kind) {
    case QUORUM_DO_NOTIFY: /* with its length in front, which stays behind */
        strbuf_append(&push(node_of(n->fixture, e->sid), EVENT_INPUT,
                            (struct quorum_input){.kind = QUORUM_IN_NOTIFICATION, .sid = n->sid})
                           ->bytes,
                      e->bytes.data + 4, e->bytes.len - 4);
        break;
    case QUORUM_DO_LISTEN:
    case QUORUM_DO_UNLISTEN:
        n->listening = e->kind == QUORUM_DO_LISTEN;
        break;
    case QUORUM_DO_DIAL:
        dial(n, e->sid);
        break;
    case QUORUM_DO_CLOSE:
        w = find_wire(n->fixture, e->link);
        if (w != NULL) {
            close_end(n, w);
        }
        break;
    case QUORUM_DO_SEND:
        send_packet(n, e->link, &e->packet);
        break;
    case QUORUM_DO_SEND_LOG:
        send_log(n, e);
        break;
    case QUORUM_DO_SEND_SNAPSHOT:
        send_snapshot(n, e);
        break;
    case QUORUM_DO_LOAD_SNAPSHOT:
        n->loading = e->link;
        break;
    case QUORUM_DO_TRUNCATE:
        truncate_next(n, e->zxid);
        break;
    case QUORUM_DO_SAVE_EPOCH:
        push(n, EVENT_INPUT,
             (struct quorum_input){
                 .kind = QUORUM_IN_EPOCH_SAVED, .which = e->which, .epoch = e->epoch});
        break;
    case QUORUM_DO_SAVE_CONFIG:
        push(n, EVENT_INPUT, (struct quorum_input){.kind = QUORUM_IN_CONFIG_SAVED});
        break;
    case QUORUM_DO_ACTIVATE:
        break;
    default:
        node_step(n, (struct member_input){.kind = MEMBER_EFFECT, .effect = e});
        if (e->kind == QUORUM_DO_STOP) {
            stop(n);
        }
        break;
    }
}

static void quorum_step_of(struct ensemble_node *n, const struct quorum_input *in)
{
    n->stepping = true;
    quorum_step(n->quorum, n->fixture->now_us, in, &n->quorum_effects);
    for (size_t i = 0; i < n->quorum_effects.count; i++) {
        node_carry(n, &n->quorum_effects.items[i]);
    }
    n->stepping = false;
}

/* Its bytes are copied: they are lent. */
static void keep(struct ensemble_node *n, const struct quorum_input *in)
{
    struct under_way *u = must_zalloc(sizeof(*u));

    u->input = *in;
    strbuf_init(&u->bytes, STRBUF_NO_LIMIT);
    u->kind = in->packet != NULL ? EVENT_PACKET : EVENT_INPUT;
    if (in->packet != NULL) {
        packet_write(&u->bytes, in->packet);
    } else {
        strbuf_append_bytes(&u->bytes, in->bytes);
    }
    list_push_back(&n->kept, &u->link);
}

static void do_kept(struct ensemble_node *n)
{
    struct packet p;
    size_t used;

    while (!list_empty(&n->kept)) {
        struct under_way *u = container_of(n->kept.next, struct under_way, link);

        if (u->kind == EVENT_PACKET) {
            packet_read(strbuf_bytes(&u->bytes), 1 << 20, &p, &used);
            u->input.packet = &p;
        } else {
            u->input.bytes = strbuf_bytes(&u->bytes);
        }
        list_remove(&u->link);
        quorum_step_of(n, &u->input);
        event_free(u);
    }
}

void ensemble_node_do(struct ensemble_node *n, const struct quorum_input *in)
{
    if (n->stepping) {
        keep(n, in);
        return;
    }
    quorum_step_of(n, in);
    do_kept(n);
}

static void node_ask(void *host, const struct quorum_input *in)
{
    ensemble_node_do(host, in);
}

static void node_snapshot(void *host, link_id link, struct snapshot_taker *taker, int64_t zxid)
{
    struct ensemble_node *n = host;

    (void)link;
    assert_true(n->n_takers < 4);
    n->taken_zxid[n->n_takers] = zxid;
    n->takers[n->n_takers++] = taker;
}

/* ---- delivery ---- */

static void replace_log(struct ensemble_node *n, struct under_way *u, int64_t zxid)
{
    struct tree *tree = replay(&n->log, zxid, NULL);

    n->appended_zxid = n->asked_zxid = n->durable_zxid = zxid;
    node_step(n, (struct member_input){.kind = MEMBER_TREE, .tree = tree, .zxid = zxid});
    ensemble_node_do(n, &u->input);
}

static void deliver_packet(struct ensemble_node *n, struct under_way *u)
{
    struct wire *w = find_wire(n->fixture, u->input.link);
    struct packet p;
    size_t used;

    if (w->ends[0] != n && w->ends[1] != n) {
        return; /* closed on this side */
    }
    assert_int_equal(packet_read(strbuf_bytes(&u->bytes), 1 << 20, &p, &used), STREAM_WHOLE);
    u->input.kind = QUORUM_IN_PACKET;
    u->input.packet = &p;
    ensemble_node_do(n, &u->input);
}

static void deliver(struct under_way *u)
{
    struct ensemble_node *n = u->to;

    switch (u->kind) {
    case EVENT_INPUT:
        if (u->input.kind == QUORUM_IN_EPOCH_SAVED) {
            *(u->input.which == EPOCH_ACCEPTED ? &n->accepted_epoch : &n->current_epoch) =
                u->input.epoch;
        }
        u->input.bytes = strbuf_bytes(&u->bytes);
        ensemble_node_do(n, &u->input);
        break;
    case EVENT_PACKET:
        deliver_packet(n, u);
        break;
    case EVENT_DURABLE:
        node_step(n, (struct member_input){
                         .kind = MEMBER_DURABLE, .zxid = u->input.zxid, .log_bytes = 1000});
        n->durable_zxid = u->input.zxid;
        ensemble_node_do(
            n, &(struct quorum_input){.kind = QUORUM_IN_LOG_DURABLE, .zxid = u->input.zxid});
        stop_if_durable(n, u->input.zxid);
        break;
    case EVENT_TRUNCATE:
        replace_log(n, u, u->input.zxid);
        break;
    case EVENT_SNAPSHOT:
        if (n->loading == u->input.link) {
            n->loading = 0;
            strbuf_clear(&n->log);
            strbuf_append_bytes(&n->log, strbuf_bytes(&u->bytes));
            replace_log(n, u, u->input.zxid);
        }
        break;
    }
}

void ensemble_fixture_settle(struct ensemble_fixture *f)
{
    int n = 0;

    while (!list_empty(&f->events)) {
        struct under_way *u = container_of(f->events.next, struct under_way, link);

        assert_true(n++ < 1000000); /* or it never ends */
        list_remove(&u->link);
        if (u->to->member != NULL) {
            deliver(u);
        }
        event_free(u);
    }
}

void ensemble_fixture_pass(struct ensemble_fixture *f, int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += 50) {
        f->now_us += 50000;
        f->wall_ms += 50;
        for (size_t i = 0; i < f->n_nodes; i++) {
            if (f->nodes[i].member != NULL) {
                node_step(&f->nodes[i], (struct member_input){.kind = MEMBER_TICK});
                ensemble_node_do(&f->nodes[i], &(struct quorum_input){.kind = QUORUM_IN_TICK});
                node_step(&f->nodes[i], (struct member_input){.kind = MEMBER_TURN});
            }
        }
        ensemble_fixture_settle(f);
    }
}

/* ---- life ---- */

struct server *ensemble_node_server(const struct ensemble_node *n)
{
    return member_server(n->member);
}

char *ensemble_node_state(const struct ensemble_node *n)
{
    char *text = member_fixture_state(ensemble_node_server(n)->tree);
    char *config = strstr(text, "path=/zookeeper/config");
    char *next = strstr(config + 1, "path=");

    memmove(config, next, strlen(next) + 1);
    return text;
}

static void start_quorum(struct ensemble_node *n, const struct history *history)
{
    struct quorum_options options = {
        .sid = n->sid,
        .observer = n->sid > (int64_t)n->fixture->n_voters,
        .config = &n->fixture->config,
        .tick_ms = 1000,
        .init_limit = 10,
        .sync_limit = 5,
        .recent_bytes = 1 << 20,
        .last_counter = n->fixture->last_counter,
        .seed = (uint64_t)n->sid,
        .config_of = n->fixture->options.reconfig_enabled ? member_config_of : NULL,
        .touches = member_touches,
        .host = n->member};

    n->quorum = quorum_new(&options);
    quorum_effects_init(&n->quorum_effects);
    list_init(&n->kept);
    ensemble_node_do(n, &(struct quorum_input){.kind = QUORUM_IN_START,
                                               .zxid = n->appended_zxid,
                                               .accepted_epoch = n->accepted_epoch,
                                               .current_epoch = n->current_epoch,
                                               .history = history});
}

static const struct quorum *node_quorum(void *arg)
{
    const struct ensemble_node *n = arg;

    return n->quorum;
}

static bool node_is_looking(void *arg)
{
    const struct ensemble_node *n = arg;
    struct quorum_status s = quorum_status(n->quorum);

    return s.role == MEMBER_LOOKING && !s.stopping;
}

void ensemble_node_start(struct ensemble_node *n)
{
    struct ensemble_fixture *f = n->fixture;
    struct member_ensemble ensemble = {
        .ask = node_ask,
        .quorum = node_quorum,
        .least_voters = 2,
        .snapshot = node_snapshot,
        .is_looking = node_is_looking,
        .last_counter = f->last_counter,
        .host = n,
    };
    struct member_options options = {
        .server = f->options, .ensemble = &ensemble, .seed = (uint64_t)n->sid};
    struct history history;
    struct tree *tree;

    history_begin(&history, 0);
    tree = replay(&n->log, INT64_MAX, &history);
    n->appended_zxid = n->asked_zxid = n->durable_zxid = history_last(&history);
    options.server.server_id = n->sid;
    member_effects_init(&n->effects);
    n->member = member_new(&options, tree, n->appended_zxid, f->now_us, f->wall_ms);
    start_quorum(n, &history);
    history_fini(&history);
}

void ensemble_node_crash(struct ensemble_node *n)
{
    struct list *item, *next;

    member_free(n->member);
    member_effects_fini(&n->effects);
    quorum_free(n->quorum);
    quorum_effects_fini(&n->quorum_effects);
    n->stopping = false;
    while (n->n_takers > 0) {
        snapshot_taker_free(n->takers[--n->n_takers]);
    }
    n->member = NULL;
    n->listening = false;
    n->hold = false;
    tree_free(replay(&n->log, n->asked_zxid, NULL)); /* cuts it */
    for (item = n->fixture->events.next; item != &n->fixture->events; item = next) {
        struct under_way *u = container_of(item, struct under_way, link);

        next = item->next;
        if (u->to == n) {
            event_free(u);
        }
    }
    list_for_each (item, &n->fixture->links) {
        close_end(n, container_of(item, struct wire, link));
    }
}

void ensemble_node_lose_packets(struct ensemble_node *n)
{
    struct ensemble_fixture *f = n->fixture;
    struct list *item, *next;

    for (item = f->events.next; item != &f->events; item = next) {
        struct under_way *u = container_of(item, struct under_way, link);
        const struct wire *w = u->kind == EVENT_PACKET ? find_wire(f, u->input.link) : NULL;

        next = item->next;
        if (w != NULL && (w->ends[0] == n || w->ends[1] == n)) {
            event_free(u);
        }
    }
}

void ensemble_node_release(struct ensemble_node *n)
{
    n->hold = false;
    ask_for_durable(n);
    ensemble_fixture_settle(n->fixture);
}

static void configure(struct ensemble_fixture *f)
{
    struct strbuf why;
    char line[80];

    strbuf_init(&why, STRBUF_NO_LIMIT);
    quorum_config_init(&f->config);
    for (int sid = 1; sid <= (int)f->n_nodes; sid++) {
        snprintf(line, sizeof(line), "127.0.0.1:%d:%d:%s", 22220 + sid, 22230 + sid,
                 sid > (int)f->n_voters ? "observer" : "participant");
        assert_true(quorum_config_add_server(&f->config, sid, line, false, &why));
    }
    strbuf_fini(&why);
}

void ensemble_fixture_init(struct ensemble_fixture *f, size_t n_voters, size_t n_observers)
{
    struct server_options options = fixture_options();

    ensemble_fixture_init_with(f, n_voters, n_observers, &options);
}

static void init_all(struct ensemble_fixture *f, size_t n_voters, size_t n_observers,
                     const struct server_options *options, int64_t last_counter)
{
    *f = (struct ensemble_fixture){.options = *options,
                                   .last_counter = last_counter,
                                   .n_nodes = n_voters + n_observers,
                                   .n_voters = n_voters,
                                   .now_us = 1000000000,
                                   .wall_ms = 1794709440000};
    list_init(&f->events);
    list_init(&f->links);
    strbuf_init(&f->taken, STRBUF_NO_LIMIT);
    configure(f);
    for (size_t i = 0; i < f->n_nodes; i++) {
        f->nodes[i].fixture = f;
        f->nodes[i].sid = (int64_t)i + 1;
        strbuf_init(&f->nodes[i].log, STRBUF_NO_LIMIT);
    }
    for (size_t i = 0; i < f->n_nodes; i++) {
        ensemble_node_start(&f->nodes[i]);
    }
}

void ensemble_fixture_init_with(struct ensemble_fixture *f, size_t n_voters, size_t n_observers,
                                const struct server_options *options)
{
    init_all(f, n_voters, n_observers, options, 0);
}

void ensemble_fixture_init_ending(struct ensemble_fixture *f, size_t n_voters, size_t n_observers,
                                  int64_t last_counter)
{
    struct server_options options = fixture_options();

    init_all(f, n_voters, n_observers, &options, last_counter);
}

void ensemble_fixture_fini(struct ensemble_fixture *f)
{
    struct list *item;

    for (size_t i = 0; i < f->n_nodes; i++) {
        if (f->nodes[i].member != NULL) {
            ensemble_node_crash(&f->nodes[i]);
        }
        strbuf_fini(&f->nodes[i].log);
    }
    while (!list_empty(&f->events)) {
        event_free(container_of(f->events.next, struct under_way, link));
    }
    while ((item = list_pop_front(&f->links)) != NULL) {
        free(container_of(item, struct wire, link));
    }
    strbuf_fini(&f->taken);
    quorum_config_fini(&f->config);
}

struct ensemble_node *ensemble_fixture_leader(struct ensemble_fixture *f)
{
    for (size_t i = 0; i < f->n_nodes; i++) {
        struct ensemble_node *n = &f->nodes[i];

        if (n->member != NULL && ensemble_node_server(n)->role->kind == ROLE_LEADER) {
            return n;
        }
    }
    return NULL;
}

static bool all_serve(struct ensemble_fixture *f)
{
    for (size_t i = 0; i < f->n_nodes; i++) {
        struct ensemble_node *n = &f->nodes[i];

        if (n->member != NULL && !role_serves(ensemble_node_server(n)->role)) {
            return false;
        }
    }
    return ensemble_fixture_leader(f) != NULL;
}

struct ensemble_node *ensemble_fixture_elect(struct ensemble_fixture *f)
{
    for (int i = 0; i < 1000 && !all_serve(f); i++) {
        ensemble_fixture_pass(f, 50);
    }
    assert_true(all_serve(f));
    return ensemble_fixture_leader(f);
}

struct ensemble_node *ensemble_fixture_follower(struct ensemble_fixture *f)
{
    for (size_t i = 0; i < f->n_nodes; i++) {
        struct ensemble_node *n = &f->nodes[i];

        if (n->member != NULL && ensemble_node_server(n)->role->kind == ROLE_FOLLOWER) {
            return n;
        }
    }
    fail_msg("nobody follows");
    return NULL;
}

/* ---- clients ---- */

static struct connection *ask_to_join(struct ensemble_node *n, int64_t session_id,
                                      int32_t timeout_ms)
{
    uint8_t password[PASSWORD_BYTES] = {0};
    struct connect_request r = {.timeout_ms = timeout_ms,
                                .session_id = session_id,
                                .password = bytes_of(password, PASSWORD_BYTES),
                                .has_read_only = true,
                                .read_only = n->fixture->read_only_clients};
    struct peer peer = {.ip = "127.0.0.1", .port = 40001};
    struct connection *c;
    struct strbuf frame;

    node_step(n, (struct member_input){.kind = MEMBER_CONNECT, .peer = &peer});
    c = n->effects.connected;
    if (session_id != 0) {
        session_password(session_id, password);
    }
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_connect_frame(&frame, &r);
    node_step(n, (struct member_input){
                     .kind = MEMBER_BYTES, .connection = c, .bytes = strbuf_bytes(&frame)});
    strbuf_fini(&frame);
    return c;
}

struct connection *ensemble_resume(struct ensemble_node *n, int64_t session_id, int32_t timeout_ms)
{
    return ask_to_join(n, session_id, timeout_ms);
}

static void take_all(struct ensemble_node *n, struct connection *c)
{
    c->out_at = c->out.len;
    node_step(n, (struct member_input){.kind = MEMBER_SENT, .connection = c});
}

struct connection *ensemble_client(struct ensemble_node *n, int32_t timeout_ms)
{
    struct connection *c = ask_to_join(n, 0, timeout_ms);

    ensemble_fixture_settle(n->fixture);
    assert_int_equal(c->state, CONNECTION_SERVING);
    take_all(n, c);
    return c;
}

int32_t ensemble_send(struct ensemble_node *n, struct connection *c, const struct request *q)
{
    int32_t xid = ++n->fixture->next_xid;
    struct strbuf frame;

    strbuf_init(&frame, STRBUF_NO_LIMIT);
    fixture_frame(&frame, xid, q);
    node_step(n, (struct member_input){
                     .kind = MEMBER_BYTES, .connection = c, .bytes = strbuf_bytes(&frame)});
    strbuf_fini(&frame);
    return xid;
}

static void trace_frame(struct strbuf *out, struct jute_reader frame)
{
    static const char *const names[] = {"?", "created", "deleted", "changed", "children"};
    struct reply_header h = reply_header_read(&frame);
    struct event e;

    if (h.xid != XID_EVENT) {
        strbuf_printf(out, "%d %s\n", (int)h.xid, h.err == PAWL_OK ? "OK" : pawl_error_name(h.err));
        return;
    }
    e = event_read(&frame);
    strbuf_printf(out, "%s %.*s\n", names[e.type], (int)e.path.len, (const char *)e.path.data);
}

const char *ensemble_trace(struct ensemble_node *n, struct connection *c)
{
    struct jute_reader r =
        jute_reader_of(bytes_of(c->out.data + c->out_at, c->out.len - c->out_at));

    strbuf_clear(&n->fixture->taken);
    while (jute_left(&r) > 0) {
        trace_frame(&n->fixture->taken, jute_reader_of(jute_read_buffer(&r)));
    }
    take_all(n, c);
    return strbuf_cstr(&n->fixture->taken);
}

void ensemble_disconnect(struct ensemble_node *n, struct connection *c)
{
    node_step(n, (struct member_input){.kind = MEMBER_DISCONNECT, .connection = c});
}
