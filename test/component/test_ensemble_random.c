/* SPDX-License-Identifier: Apache-2.0 */
/* Random clients of an ensemble, by seed: they write, sync and read, move from member to member and
 * come back with their sessions, while members crash, resign and have slow disks.
 *
 *   - replies come in the order of the requests;
 *   - what was answered with success is there in the end, everywhere;
 *   - all trees are equal in the end, and nobody's ever differed from its leader's;
 *   - nobody waits for ever.
 *
 * A failing seed is replayed with the number as argument. */
#include <stdlib.h>

#include "base/prng.h"
#include "lib/ensemble_fixture.h"
#include "lib/member_fixture.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"

enum { N_SEEDS = 40, N_STEPS = 250, N_CLIENTS = 5, MAX_XID = 4000 };

struct client {
    struct ensemble_node *node;
    struct connection *c; /* NULL: away */
    int64_t session_id;   /* 0: a new one next time */
    bool greeted;
    int32_t last_xid; /* answered */
};

struct world {
    struct ensemble_fixture f;
    struct prng random;
    struct client clients[N_CLIENTS];
    bool creates[MAX_XID]; /* /p<xid>, not ephemeral */
    bool done[MAX_XID];
};

static uint64_t seed_now; /* for the message of a failure */

static int below(struct world *w, int n)
{
    return (int)prng_below(&w->random, (uint64_t)n);
}

/* ---- clients ---- */

static void away(struct client *k)
{
    if (k->c != NULL && k->node->member != NULL) {
        ensemble_disconnect(k->node, k->c);
    }
    k->c = NULL;
}

static void look_at_answers(struct world *w, struct client *k)
{
    const char *line = ensemble_trace(k->node, k->c);
    char word[32];
    int xid;

    for (; *line != '\0'; line = strchr(line, '\n') + 1) {
        if (sscanf(line, "%d %31s", &xid, word) != 2) {
            continue; /* an event */
        }
        assert_true(xid > k->last_xid);
        assert_true(xid < MAX_XID);
        k->last_xid = xid;
        w->done[xid] = strcmp(word, "OK") == 0;
    }
}

static void look_at(struct world *w, struct client *k)
{
    if (k->c == NULL) {
        return;
    }
    if (!k->greeted && k->c->state == CONNECTION_SERVING) {
        k->greeted = true;
        k->session_id = k->c->session_id;
        k->c->out_at = k->c->out.len; /* the handshake's answer: nothing was asked before it */
    }
    if (k->greeted) {
        look_at_answers(w, k);
    }
    if (k->c->state == CONNECTION_CLOSING) {
        if (!k->greeted && k->c->out.len > 0) {
            k->session_id = 0; /* refused: it is gone */
        }
        away(k);
    }
}

static void look_at_all(struct world *w)
{
    for (int i = 0; i < N_CLIENTS; i++) {
        look_at(w, &w->clients[i]);
    }
}

static void come(struct world *w, struct client *k)
{
    struct ensemble_node *n = &w->f.nodes[below(w, (int)w->f.n_nodes)];

    if (n->member == NULL) {
        return;
    }
    k->node = n;
    k->greeted = false;
    k->c = ensemble_resume(n, k->session_id, 10000);
}

static void speak(struct world *w, struct client *k)
{
    char path[16];

    if (k->c->state != CONNECTION_SERVING || !k->greeted || w->f.next_xid > MAX_XID - 10) {
        return;
    }
    snprintf(path, sizeof(path), "/p%d", (int)w->f.next_xid + 1);
    switch (below(w, 6)) {
    case 0:
        ensemble_send(k->node, k->c, &(struct request){.type = OP_SYNC, .path = bytes_str("/")});
        break;
    case 1: {
        struct request get = fixture_path_request(OP_GET_DATA, "/");

        ensemble_send(k->node, k->c, &get);
        break;
    }
    case 2: {
        struct request create = fixture_create_request(path, "", CREATE_EPHEMERAL);

        ensemble_send(k->node, k->c, &create);
        break;
    }
    case 3: {
        struct request set = fixture_set_request("/", "x", below(w, 3) - 1);

        ensemble_send(k->node, k->c, &set);
        break;
    }
    default: {
        struct request create = fixture_create_request(path, "", 0);

        w->creates[w->f.next_xid + 1] = true;
        ensemble_send(k->node, k->c, &create);
        break;
    }
    }
}

static void client_acts(struct world *w, struct client *k)
{
    if (k->c == NULL) {
        come(w, k);
    } else if (below(w, 20) == 0) {
        look_at(w, k);
        away(k);
    } else {
        for (int n = below(w, 5); n >= 0; n--) {
            speak(w, k);
        }
    }
}

/* ---- members ---- */

static size_t count_up(const struct world *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->f.n_nodes; i++) {
        n += w->f.nodes[i].member != NULL;
    }
    return n;
}

static void crash(struct world *w, struct ensemble_node *n)
{
    look_at_all(w);
    for (int i = 0; i < N_CLIENTS; i++) {
        if (w->clients[i].node == n) {
            w->clients[i].c = NULL; /* it goes with its member */
        }
    }
    if (below(w, 2) == 0) {
        ensemble_node_lose_packets(n);
    }
    ensemble_node_crash(n);
}

static void member_acts(struct world *w)
{
    struct ensemble_node *n = &w->f.nodes[below(w, (int)w->f.n_nodes)];

    if (n->member == NULL) {
        ensemble_node_start(n);
        return;
    }
    switch (below(w, 4)) {
    case 0:
        if (count_up(w) > 2) {
            crash(w, n);
        }
        break;
    case 1:
        if (role_serves(ensemble_node_server(n)->role)) {
            ensemble_node_do(n, &(struct quorum_input){.kind = QUORUM_IN_RESIGN});
        }
        break;
    case 2:
        n->hold = true;
        break;
    default:
        ensemble_node_release(n);
        break;
    }
}

/* ---- a life ---- */

static void world_step(struct world *w)
{
    int what = below(w, 100);

    if (what < 60) {
        client_acts(w, &w->clients[below(w, N_CLIENTS)]);
    } else if (what < 64) {
        member_acts(w);
    } else if (what < 80) {
        ensemble_fixture_settle(&w->f);
    } else {
        ensemble_fixture_pass(&w->f, 50 + 50 * below(w, 10));
    }
    look_at_all(w);
}

static void end_all_trouble(struct world *w)
{
    for (size_t i = 0; i < w->f.n_nodes; i++) {
        if (w->f.nodes[i].member == NULL) {
            ensemble_node_start(&w->f.nodes[i]);
        }
        ensemble_node_release(&w->f.nodes[i]);
    }
    ensemble_fixture_elect(&w->f);
    ensemble_fixture_pass(&w->f, 2000);
    look_at_all(w);
}

static void expect_equal_trees(struct world *w)
{
    char *first = ensemble_node_state(&w->f.nodes[0]);

    assert_int_equal(w->f.diverged_zxid, 0);
    for (size_t i = 1; i < w->f.n_nodes; i++) {
        char *text = ensemble_node_state(&w->f.nodes[i]);

        assert_string_equal(text, first);
        free(text);
    }
    free(first);
}

static void expect_what_was_answered(struct world *w)
{
    const struct tree *tree = ensemble_node_server(&w->f.nodes[0])->tree;
    char path[16];

    for (int xid = 1; xid < MAX_XID; xid++) {
        if (w->creates[xid] && w->done[xid]) {
            snprintf(path, sizeof(path), "/p%d", xid);
            assert_int_not_equal(tree_find(tree, bytes_str(path)), 0);
        }
    }
}

static void expect_nobody_waits(struct world *w)
{
    for (size_t i = 0; i < w->f.n_nodes; i++) {
        const struct server *s = ensemble_node_server(&w->f.nodes[i]);

        assert_int_equal(server_outstanding(s), 0);
        assert_int_equal(s->waiting.n, 0);
        assert_true(list_empty(&s->syncs));
        assert_true(list_empty(&s->joining));
    }
}

static int run(uint64_t seed)
{
    static struct world w;
    int n_done = 0;

    seed_now = seed;
    w = (struct world){0};
    prng_seed(&w.random, seed);
    ensemble_fixture_init(&w.f, 3, seed % 2);
    for (int i = 0; i < N_STEPS; i++) {
        world_step(&w);
    }
    end_all_trouble(&w);
    expect_equal_trees(&w);
    expect_what_was_answered(&w);
    expect_nobody_waits(&w);
    for (int i = 0; i < MAX_XID; i++) {
        n_done += w.done[i];
    }
    ensemble_fixture_fini(&w.f);
    return n_done;
}

static void random_clients_of_an_ensemble_get_what_was_promised(void **state)
{
    int n_done = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        n_done += run(seed);
    }
    assert_true(n_done > 20 * N_SEEDS); /* or nothing was tested */
}

static void print_seed(void)
{
    if (seed_now != 0) {
        fprintf(stderr, "seed %llu\n", (unsigned long long)seed_now);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_clients_of_an_ensemble_get_what_was_promised),
    };

    atexit(print_seed);
    if (argc > 1) {
        return run(strtoull(argv[1], NULL, 10)) < 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
