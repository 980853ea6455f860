/* SPDX-License-Identifier: Apache-2.0 */
/* The cache on a server that does not have everything: addWatch (before 3.6), multi-read, or room
 * for a whole batch; or that answers late. The calls are answered here in its place (--wrap). */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cache_log.h"
#include "lib/client_fixture.h"
#include "lib/test.h"
#include "pawl/cache.h"

enum { MANY = 1000 };

static _Atomic int watch_err, multi_err, n_watches, n_multis, max_batch;

struct refused {
    pawl_reply_fn done;
    void *arg;
    int err;
};

static void refuse(const struct pawl_reply *reply, void *arg)
{
    struct refused *r = arg;
    struct pawl_reply refusal = {.err = reply->err != 0 ? reply->err : r->err,
                                 .outcome = PAWL_OUTCOME_REFUSED};

    r->done(&refusal, r->arg);
    free(r);
}

static int answer_in_its_place(struct pawl_client *c, int err, pawl_reply_fn done, void *arg)
{
    struct refused *r = malloc(sizeof(*r));

    *r = (struct refused){done, arg, err};
    return pawl_whoami_async(c, refuse, r); /* some request, for the order of answers */
}

int __real_pawl_watch_async(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
                            const struct pawl_watch *watch, pawl_reply_fn done, void *arg);
int __wrap_pawl_watch_async(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
                            const struct pawl_watch *watch, pawl_reply_fn done, void *arg);

int __wrap_pawl_watch_async(struct pawl_client *c, const char *path, enum pawl_watch_mode mode,
                            const struct pawl_watch *watch, pawl_reply_fn done, void *arg)
{
    n_watches++;
    return watch_err != 0 ? answer_in_its_place(c, watch_err, done, arg)
                          : __real_pawl_watch_async(c, path, mode, watch, done, arg);
}

int __real_pawl_multi_run_async(struct pawl_client *c, const struct pawl_multi *m,
                                pawl_reply_fn done, void *arg);
int __wrap_pawl_multi_run_async(struct pawl_client *c, const struct pawl_multi *m,
                                pawl_reply_fn done, void *arg);

int __wrap_pawl_multi_run_async(struct pawl_client *c, const struct pawl_multi *m,
                                pawl_reply_fn done, void *arg)
{
    if (multi_err == PAWL_ERR_TOO_LARGE && n_multis++ >= max_batch) {
        return __real_pawl_multi_run_async(c, m, done, arg);
    }
    return multi_err != 0 ? answer_in_its_place(c, multi_err, done, arg)
                          : __real_pawl_multi_run_async(c, m, done, arg);
}

static void many(struct pawl_client *c, const char *root)
{
    struct pawl_multi *m = pawl_multi_new(c);
    char path[64];

    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = root), NULL), 0);
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof(path), "%s/%d", root, i);
        pawl_multi_create(m, PAWL_CREATE(.path = path, .data = text_bytes("x")));
    }
    assert_int_equal(pawl_multi_run(c, m, NULL), 0);
    pawl_multi_free(m);
}

static void is_loaded_and_followed(const char *root)
{
    struct pawl_client *c = client_fixture_open(NULL);
    struct cache_log log;
    char path[64], expected[96];

    many(c, root);
    cache_log_open(&log, c, root, PAWL_DEPTH_TREE, 0, NULL);
    assert_int_equal(pawl_cache_wait(log.cache, SOON_MS), 0);
    assert_int_equal(pawl_cache_size(log.cache), MANY + 1);
    snprintf(path, sizeof(path), "%s/7/below", root);
    snprintf(expected, sizeof(expected), "CREATED %s=y v0", path);
    cache_log_until(&log, "INITIALISED");
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = path, .data = text_bytes("y")), NULL), 0);
    cache_log_expect(&log, expected);
    cache_log_is_quiet(&log);
    cache_log_close(&log);
    pawl_client_close(c);
}

static void without_add_watch_it_falls_back_to_one_shot_watches(void **state)
{
    (void)state;
    watch_err = PAWL_ERR_UNIMPLEMENTED;
    n_watches = 0;
    is_loaded_and_followed("/old");
    assert_int_equal(n_watches, 1); /* asked once */
    watch_err = 0;
}

static void without_multi_read_it_reads_one_by_one(void **state)
{
    (void)state;
    multi_err = PAWL_ERR_UNIMPLEMENTED;
    is_loaded_and_followed("/single");
    multi_err = 0;
}

static void batches_that_are_too_large_are_made_smaller(void **state)
{
    (void)state;
    multi_err = PAWL_ERR_TOO_LARGE;
    n_multis = 0;
    max_batch = 20;
    is_loaded_and_followed("/large");
    assert_true(n_multis > 20);
    multi_err = 0;
}

/* ---- answers that are older than an event ---- */

enum { LARGE = 2000 }; /* compared by its Stat before it is read */

/* An exists that is answered with what was so before `set_by` changed the node. */
struct late {
    struct pawl_client *set_by; /* NULL: as the server answers */
    struct pawl_stat stat;
    char text[LARGE];
    pawl_reply_fn done;
    void *arg;
};

static struct late late;

static void answer_late(const struct pawl_reply *reply, void *arg)
{
    struct pawl_reply old = *reply;

    (void)arg;
    assert_int_equal(reply->err, 0);
    old.stat = late.stat;
    old.zxid = late.stat.mzxid;
    late.done(&old, late.arg);
}

int __real_pawl_exists_async(struct pawl_client *c, const char *path,
                             const struct pawl_watch *watch, pawl_reply_fn done, void *arg);
int __wrap_pawl_exists_async(struct pawl_client *c, const char *path,
                             const struct pawl_watch *watch, pawl_reply_fn done, void *arg);

int __wrap_pawl_exists_async(struct pawl_client *c, const char *path,
                             const struct pawl_watch *watch, pawl_reply_fn done, void *arg)
{
    struct pawl_client *set_by = late.set_by;

    if (set_by == NULL) {
        return __real_pawl_exists_async(c, path, watch, done, arg);
    }
    late.set_by = NULL;
    late.done = done;
    late.arg = arg;
    memset(late.text, 'b', LARGE);
    assert_int_equal(pawl_set(set_by, PAWL_SET(.path = path, .data = {late.text, LARGE}), NULL), 0);
    return __real_pawl_exists_async(c, path, watch, answer_late, NULL);
}

/* The event comes while the answer is on its way, and the answer does not show the change. */
static void a_comparison_that_an_event_overtook_is_not_believed(void **state)
{
    struct pawl_client *c = client_fixture_open(NULL), *d = client_fixture_open(NULL);
    const struct pawl_node *node;
    struct cache_log log;

    (void)state;
    memset(late.text, 'a', LARGE);
    assert_int_equal(pawl_create(c, PAWL_CREATE(.path = "/late", .data = {late.text, LARGE}), NULL),
                     0);
    cache_log_open(&log, c, "/late", PAWL_DEPTH_TREE, 0, NULL);
    cache_log_until(&log, "INITIALISED");
    node = pawl_cache_get(log.cache, "/late");
    assert_non_null(node);
    late.stat = node->stat;
    pawl_node_unref(node);
    late.set_by = d;
    assert_int_equal(pawl_cache_refresh(log.cache), 0);
    cache_log_expect(&log, "CHANGED /late=aaaaaaaaaaaaaaaaaaaaaaaa v0 -> "
                           "/late=bbbbbbbbbbbbbbbbbbbbbbbb v1");
    cache_log_expect(&log, "RESYNCED");
    cache_log_close(&log);
    pawl_client_close(c);
    pawl_client_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_add_watch_it_falls_back_to_one_shot_watches),
        cmocka_unit_test(without_multi_read_it_reads_one_by_one),
        cmocka_unit_test(batches_that_are_too_large_are_made_smaller),
        cmocka_unit_test(a_comparison_that_an_event_overtook_is_not_believed),
    };

    return cmocka_run_group_tests(tests, client_fixture_start, client_fixture_stop);
}
