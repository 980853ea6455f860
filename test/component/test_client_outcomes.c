/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of several requests: what they say has become of them is true, and what they leave to do is
 * done to the right node. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/client_fixture.h"
#include "lib/scripted_server.h"
#include "lib/test.h"
#include "wire/ops.h"

struct script {
    int32_t silent_op; /* never answered; 0: none */
    int32_t failing_op;
    int failing_from; /* its how-manieth fails */
    int err;
    int64_t czxid;
    _Atomic int n_seen[32]; /* by op, 0 to 31 */
    const char *child;
    bool has_children; /* of "/top" */
};

static int by_script(const struct scripted_request *q, struct scripted_answer *a, void *arg)
{
    struct script *s = arg;
    int nth = q->op >= 0 && q->op < 32 ? atomic_fetch_add(&s->n_seen[q->op], 1) : 0;

    a->czxid = s->czxid;
    if (q->op == s->silent_op) {
        return SCRIPT_SILENT;
    }
    if (q->op == s->failing_op && nth >= s->failing_from) {
        return s->err;
    }
    if (q->op == OP_DELETE && s->has_children && strcmp(q->path, "/top") == 0) {
        return PAWL_ERR_NOT_EMPTY;
    }
    a->child = s->child;
    return SCRIPT_OK;
}

struct world {
    struct script script;
    struct scripted_server *server;
    struct pawl_client *c;
};

static void begin(struct world *w)
{
    struct pawl_client_options o;

    pawl_client_options_init(&o);
    w->server = scripted_server_new(by_script, &w->script);
    o.servers = scripted_server_address(w->server);
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 60000};
    assert_int_equal(pawl_client_open(&o, &w->c), PAWL_OK);
    assert_int_equal(pawl_client_wait_connected(w->c, SOON_MS), PAWL_OK);
}

static void end(struct world *w)
{
    pawl_client_close_within(w->c, 100);
    scripted_server_free(w->server);
}

static enum pawl_outcome outcome_of(struct pawl_reply *r)
{
    enum pawl_outcome outcome = r->outcome;

    pawl_reply_free(r);
    return outcome;
}

static void a_set_that_was_sent_is_not_called_unsent(void **state)
{
    struct world w = {.script = {.failing_op = OP_CREATE2,
                                 .err = PAWL_ERR_NODE_EXISTS,
                                 .silent_op = OP_SET_DATA}};
    struct pawl_reply *r;

    (void)state;
    begin(&w);
    assert_int_equal(
        pawl_create(w.c, PAWL_CREATE(.path = "/a", .flags = PAWL_OP_OR_SET, .timeout_ms = SENT_MS),
                    &r),
        PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(outcome_of(r), PAWL_OUTCOME_UNKNOWN);
    end(&w);
}

static int cut_at_set(const struct scripted_request *q, struct scripted_answer *a, void *arg)
{
    (void)a;
    (void)arg;
    return q->op == OP_CREATE2 ? PAWL_ERR_NODE_EXISTS : SCRIPT_CUT;
}

/* The set was sent, its link lost; the call ends in the pause before the next try. */
static void a_set_whose_link_was_lost_is_not_called_unsent(void **state)
{
    struct scripted_server *server = scripted_server_new(cut_at_set, NULL);
    struct pawl_client_options o;
    struct pawl_client *c;
    struct pawl_reply *r;

    (void)state;
    pawl_client_options_init(&o);
    o.servers = scripted_server_address(server);
    o.retry = (struct pawl_retry){.kind = PAWL_RETRY_N_TIMES, .n = 3, .pause_ms = 5};
    assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
    assert_true(
        pawl_create(c, PAWL_CREATE(.path = "/a", .flags = PAWL_OP_OR_SET, .timeout_ms = SOON_MS),
                    &r) != PAWL_OK);
    assert_int_equal(outcome_of(r), PAWL_OUTCOME_UNKNOWN);
    pawl_client_close_within(c, 100);
    scripted_server_free(server);
}

/* The first child has gone when the second is refused. */
static void a_tree_half_deleted_is_not_called_refused(void **state)
{
    struct world w = {.script = {.child = "x",
                                 .has_children = true,
                                 .failing_op = OP_DELETE,
                                 .failing_from = 2,
                                 .err = PAWL_ERR_NO_AUTH}};
    struct pawl_reply *r;

    (void)state;
    begin(&w);
    assert_int_equal(
        pawl_delete(w.c, PAWL_DELETE(.path = "/top", .flags = PAWL_OP_CHILDREN_TOO), &r),
        PAWL_ERR_NO_AUTH);
    assert_int_equal(outcome_of(r), PAWL_OUTCOME_UNKNOWN);
    end(&w);
}

static void a_tree_that_was_not_touched_is_called_refused(void **state)
{
    struct world w = {.script = {.child = "x",
                                 .has_children = true,
                                 .failing_op = OP_DELETE,
                                 .failing_from = 1,
                                 .err = PAWL_ERR_NO_AUTH}};
    struct pawl_reply *r;

    (void)state;
    begin(&w);
    assert_int_equal(
        pawl_delete(w.c, PAWL_DELETE(.path = "/top", .flags = PAWL_OP_CHILDREN_TOO), &r),
        PAWL_ERR_NO_AUTH);
    assert_int_equal(outcome_of(r), PAWL_OUTCOME_REFUSED);
    end(&w);
}

/* Deletes below have happened, and the rest times out. */
static void a_tree_half_deleted_in_time_is_not_called_unsent(void **state)
{
    struct world w = {.script = {.child = "x", .has_children = true}};
    struct pawl_reply *r;

    (void)state;
    begin(&w);
    /* "/top" never becomes empty: the call goes round until its time is up. */
    assert_int_equal(pawl_delete(w.c,
                                 PAWL_DELETE(.path = "/top", .flags = PAWL_OP_CHILDREN_TOO,
                                             .timeout_ms = SENT_MS),
                                 &r),
                     PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(outcome_of(r), PAWL_OUTCOME_UNKNOWN);
    end(&w);
}

static void parents_that_were_made_are_a_change(void **state)
{
    struct world w = {.script = {.failing_op = OP_CREATE2, .err = PAWL_ERR_NO_NODE}};
    struct pawl_reply *r;

    (void)state;
    begin(&w);
    w.script.silent_op = OP_CREATE;
    assert_int_equal(
        pawl_create(
            w.c, PAWL_CREATE(.path = "/p/x", .flags = PAWL_OP_PARENTS, .timeout_ms = SENT_MS), &r),
        PAWL_ERR_OPERATION_TIMEOUT);
    assert_int_equal(outcome_of(r), PAWL_OUTCOME_UNKNOWN);
    end(&w);
}

/* ---- in the background ---- */

/* The first delete costs the link. */
struct delete_script {
    int64_t czxid;
    _Atomic int n_deletes, n_looks;
};

static int lose_first_delete(const struct scripted_request *q, struct scripted_answer *a, void *arg)
{
    struct delete_script *s = arg;

    a->czxid = s->czxid;
    a->version = 3;
    if (q->op == OP_EXISTS && q->link > 0) {
        atomic_fetch_add(&s->n_looks, 1);
    }
    if (q->op == OP_DELETE && atomic_fetch_add(&s->n_deletes, 1) == 0) {
        return SCRIPT_CUT;
    }
    return SCRIPT_OK;
}

static void delete_twice(int64_t czxid, int n_deletes)
{
    struct delete_script script = {.czxid = czxid};
    struct scripted_server *server = scripted_server_new(lose_first_delete, &script);
    struct pawl_client_options o;
    struct pawl_client *c;

    pawl_client_options_init(&o);
    o.servers = scripted_server_address(server);
    assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
    assert_int_equal(pawl_exists(c, "/a", NULL, NULL), PAWL_OK); /* zxid 100 is known now */
    assert_int_equal(pawl_delete(c, PAWL_DELETE(.path = "/a", .flags = PAWL_OP_GUARANTEED), NULL),
                     PAWL_ERR_CONNECTION_LOSS);
    wait_until(atomic_load(&script.n_looks) > 0);
    assert_int_equal(pawl_sync(c, "/", NULL), PAWL_OK); /* behind the look's answer ... */
    assert_int_equal(pawl_sync(c, "/", NULL), PAWL_OK); /* ... and behind what follows that */
    assert_int_equal(atomic_load(&script.n_deletes), n_deletes);
    pawl_client_close(c);
    scripted_server_free(server);
}

static void a_guaranteed_delete_spares_a_newer_node(void **state)
{
    (void)state;
    delete_twice(101, 1);
}

static void a_guaranteed_delete_deletes_the_node_that_was_meant(void **state)
{
    (void)state;
    delete_twice(100, 2);
}

/* It was executed, the answer came too late; somebody makes a node of the same name at once. */
static void a_delete_that_only_timed_out_is_not_repeated(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL);
    struct behind_proxy b;

    (void)state;
    behind_proxy_open(&b, &o);
    pawl_create(b.c, PAWL_CREATE(.path = "/once"), NULL);
    tcp_proxy_swallow_replies(b.proxy, true);
    assert_int_equal(pawl_delete(b.c,
                                 PAWL_DELETE(.path = "/once", .flags = PAWL_OP_GUARANTEED,
                                             .timeout_ms = SENT_MS),
                                 NULL),
                     PAWL_ERR_OPERATION_TIMEOUT);
    wait_until(pawl_exists(other, "/once", NULL, NULL) == PAWL_ERR_NO_NODE);
    assert_int_equal(pawl_create(other, PAWL_CREATE(.path = "/once"), NULL), PAWL_OK);
    tcp_proxy_down(b.proxy); /* before anything late gets through */
    tcp_proxy_swallow_replies(b.proxy, false);
    tcp_proxy_up(b.proxy);
    wait_until(pawl_sync(b.c, "/once", NULL) == PAWL_OK); /* the first may go with its link */
    for (int i = 0; i < 20; i++) { /* whatever goes on in the background goes out before these */
        assert_int_equal(pawl_sync(b.c, "/once", NULL), PAWL_OK);
    }
    assert_int_equal(pawl_exists(other, "/once", NULL, NULL), PAWL_OK);
    behind_proxy_close(&b);
    pawl_client_close(other);
}

/* ---- hand-over ---- */

/* Detached while no answer comes, and attached past the proxy. */
static struct pawl_client *hand_over(struct behind_proxy *b)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *next;
    void *blob;
    size_t len;

    assert_int_equal(pawl_client_detach(b->c, (struct pawl_bytes){NULL, 0}, &blob, &len), PAWL_OK);
    b->c = NULL;
    o.attach = (struct pawl_bytes){blob, len};
    next = client_fixture_open(&o);
    free(blob);
    return next;
}

static void tell(struct pawl_lock *l, int err, void *arg)
{
    (void)l;
    (void)err;
    sem_post(arg);
}

static void acquire_in(struct pawl_client *c)
{
    struct pawl_lock *l;

    assert_int_equal(pawl_lock_new(c, "/passed", NULL, &l), PAWL_OK);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), PAWL_OK);
    assert_int_equal(pawl_lock_release(l), PAWL_OK);
    pawl_lock_free(l);
}

static bool has_children(struct pawl_client *c, const char *path)
{
    struct pawl_reply *r;
    bool any;

    pawl_children(c, path, NULL, &r);
    any = r->children.n > 0;
    pawl_reply_free(r);
    return any;
}

/* The node of a place that nobody knew of would block the queue as long as the session lives. */
static void a_create_unanswered_at_detach_leaves_no_orphan(void **state)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *other = client_fixture_open(NULL), *next;
    struct behind_proxy b;
    struct pawl_lock *l;
    sem_t told;

    (void)state;
    sem_init(&told, 0, 0);
    o.close_timeout_ms = 400;
    behind_proxy_open(&b, &o);
    assert_int_equal(pawl_create(other, PAWL_CREATE(.path = "/passed"), NULL), PAWL_OK);
    assert_int_equal(pawl_lock_new(b.c, "/passed", NULL, &l), PAWL_OK);
    tcp_proxy_swallow_replies(b.proxy, true);
    assert_int_equal(pawl_lock_acquire_async(l, -1, tell, &told), PAWL_OK);
    wait_until(has_children(other, "/passed"));
    next = hand_over(&b);
    wait_semaphore(&told);
    pawl_lock_free(l);
    acquire_in(next);
    behind_proxy_close(&b);
    pawl_client_close(next);
    pawl_client_close(other);
}

static void release_and_hand_over(const struct pawl_lock_options *lock)
{
    struct pawl_client_options o = client_fixture_options();
    struct pawl_client *next;
    struct behind_proxy b;
    struct pawl_lock *l;
    sem_t told;

    sem_init(&told, 0, 0);
    o.close_timeout_ms = 400;
    behind_proxy_open(&b, &o);
    assert_int_equal(pawl_lock_new(b.c, "/passed", lock, &l), PAWL_OK);
    assert_int_equal(pawl_lock_acquire(l, SOON_MS), PAWL_OK);
    tcp_proxy_freeze(b.proxy, true); /* it does not even arrive */
    assert_int_equal(pawl_lock_release_async(l, tell, &told), PAWL_OK);
    next = hand_over(&b);
    wait_semaphore(&told);
    pawl_lock_free(l);
    acquire_in(next);
    tcp_proxy_freeze(b.proxy, false);
    behind_proxy_close(&b);
    pawl_client_close(next);
}

static void a_release_unconfirmed_at_detach_leaves_no_orphan(void **state)
{
    (void)state;
    release_and_hand_over(NULL);
}

/* With a delay a release is a transaction that tells it from a death, and a delete behind it. */
static void a_release_with_notice_at_detach_leaves_no_orphan(void **state)
{
    struct pawl_lock_options o = {.size = sizeof(o), .delay_ms = 10};

    (void)state;
    release_and_hand_over(&o);
}

/* ---- chroots ---- */

static void a_missing_chroot_is_not_made(void **state)
{
    struct pawl_client *root = client_fixture_open(NULL), *c;
    struct pawl_client_options o;
    char servers[64];

    (void)state;
    snprintf(servers, sizeof(servers), "127.0.0.1:%d/no/such/chroot", client_fixture_port());
    pawl_client_options_init(&o);
    o.servers = servers;
    assert_int_equal(pawl_client_open(&o, &c), PAWL_OK);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/a/b", .flags = PAWL_OP_PARENTS), NULL),
                     PAWL_ERR_NO_NODE);
    assert_int_equal(
        pawl_create(c, PAWL_CREATE(.path = "/a", .flags = PAWL_OP_CONTAINER_PARENTS), NULL),
        PAWL_ERR_NO_NODE);
    pawl_client_close(c);
    pawl_client_close(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_that_was_sent_is_not_called_unsent),
        cmocka_unit_test(a_set_whose_link_was_lost_is_not_called_unsent),
        cmocka_unit_test(a_tree_half_deleted_is_not_called_refused),
        cmocka_unit_test(a_tree_that_was_not_touched_is_called_refused),
        cmocka_unit_test(a_tree_half_deleted_in_time_is_not_called_unsent),
        cmocka_unit_test(parents_that_were_made_are_a_change),
        cmocka_unit_test(a_guaranteed_delete_spares_a_newer_node),
        cmocka_unit_test(a_guaranteed_delete_deletes_the_node_that_was_meant),
        cmocka_unit_test(a_delete_that_only_timed_out_is_not_repeated),
        cmocka_unit_test(a_create_unanswered_at_detach_leaves_no_orphan),
        cmocka_unit_test(a_release_unconfirmed_at_detach_leaves_no_orphan),
        cmocka_unit_test(a_release_with_notice_at_detach_leaves_no_orphan),
        cmocka_unit_test(a_missing_chroot_is_not_made),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
