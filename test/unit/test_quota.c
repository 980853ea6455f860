/* SPDX-License-Identifier: Apache-2.0 */
#include "store/quota.h"

#include <pthread.h>

#include "lib/server_fixture.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "store/acl_table.h"

/* A server whose hard limits count, with a quota on /app/q. */
static struct connection *begin(struct server_fixture *f, const char *limits)
{
    struct server_options o = fixture_options();
    struct connection *c;

    o.enforce_quota = true;
    fixture_init(f, &o);
    c = fixture_client(f, 10000);
    fixture_create(f, c, "/app", "", 0);
    fixture_create(f, c, "/app/q", "12345", 0);
    fixture_create(f, c, "/app/q/x", "123", 0);
    fixture_create(f, c, "/zookeeper/quota/app", "", 0);
    fixture_create(f, c, "/zookeeper/quota/app/q", "", 0);
    fixture_create(f, c, "/zookeeper/quota/app/q/zookeeper_limits", limits, 0);
    fixture_create(f, c, "/zookeeper/quota/app/q/zookeeper_stats", "count=0,bytes=0", 0);
    return c;
}

static struct bytes data_at(const struct server_fixture *f, const char *path)
{
    znode_id id = tree_find(f->server->tree, bytes_str(path));

    assert_int_not_equal(id, 0);
    return tree_data(f->server->tree, id);
}

#define STATS "/zookeeper/quota/app/q/zookeeper_stats"

static void usage_is_counted_with_the_node_itself(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, "count=100,bytes=1000");

    (void)state;
    assert_str_view(data_at(&f, STATS), "count=2,bytes=8");
    fixture_create(&f, c, "/app/q/y", "12", 0);
    assert_str_view(data_at(&f, STATS), "count=3,bytes=10");
    fixture_set(&f, c, "/app/q/y", "1234");
    assert_str_view(data_at(&f, STATS), "count=3,bytes=12");
    fixture_delete(&f, c, "/app/q/x");
    assert_str_view(data_at(&f, STATS), "count=2,bytes=9");
    fixture_create(&f, c, "/app/qq", "outside", 0);
    fixture_create(&f, c, "/app/r", "outside", 0);
    assert_str_view(data_at(&f, STATS), "count=2,bytes=9");
    fixture_fini(&f);
}

static void the_stat_of_the_statistics_does_not_move_nor_do_watches_fire(void **state)
{
    struct stat_record before, after;
    struct server_fixture f;
    struct connection *c = begin(&f, "count=100,bytes=1000");
    znode_id id = tree_find(f.server->tree, bytes_str(STATS));

    (void)state;
    tree_stat(f.server->tree, id, &before);
    fixture_get(&f, c, STATS, true);
    fixture_create(&f, c, "/app/q/y", "12", 0);
    assert_string_equal(fixture_trace(&f, c), "");
    tree_stat(f.server->tree, id, &after);
    assert_int_equal(after.mzxid, before.mzxid);
    assert_int_equal(after.version, before.version);
    assert_int_equal(after.mtime, before.mtime);
    fixture_fini(&f);
}

static void hard_limits_are_kept_and_soft_ones_only_logged(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, "count=1,bytes=1=;byteHardLimit=12;countHardLimit=3");

    (void)state;
    assert_int_equal(fixture_create(&f, c, "/app/q/a", "", 0), PAWL_OK);
    assert_int_equal(fixture_create(&f, c, "/app/q/b", "", 0), PAWL_ERR_QUOTA_EXCEEDED);
    assert_int_equal(fixture_set(&f, c, "/app/q/a", "1234"), PAWL_OK);
    assert_int_equal(fixture_set(&f, c, "/app/q/a", "12345"), PAWL_ERR_QUOTA_EXCEEDED);
    /* No more bytes than before: the limit of bytes is not asked. */
    assert_int_equal(fixture_set(&f, c, "/app/q/a", "4321"), PAWL_OK);
    assert_int_equal(fixture_delete(&f, c, "/app/q/x"), PAWL_OK);
    assert_int_equal(fixture_create(&f, c, "/app/q/b", "", 0), PAWL_OK);
    fixture_fini(&f);
}

static void set_data_asks_for_the_quota_before_the_version(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, "count=-1,bytes=-1=;byteHardLimit=10");
    struct request set = fixture_set_request("/app/q", "12345678901234567890", 77);

    (void)state;
    assert_int_equal(fixture_request(&f, c, &set, NULL).err, PAWL_ERR_QUOTA_EXCEEDED);
    set = fixture_set_request("/app/q", "1", 77);
    assert_int_equal(fixture_request(&f, c, &set, NULL).err, PAWL_ERR_BAD_VERSION);
    fixture_fini(&f);
}

static void limits_that_make_no_sense_fail_the_writes_below(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, "nonsense");

    (void)state;
    assert_int_equal(fixture_create(&f, c, "/app/q/a", "", 0), PAWL_ERR_MARSHALLING);
    assert_int_equal(fixture_set(&f, c, "/app/q", "2"), PAWL_ERR_MARSHALLING);
    assert_int_equal(fixture_create(&f, c, "/app/other", "", 0), PAWL_OK);
    fixture_fini(&f);
}

static void deleting_the_limits_ends_the_quota(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, "count=-1,bytes=-1=;countHardLimit=2");

    (void)state;
    assert_int_equal(fixture_create(&f, c, "/app/q/a", "", 0), PAWL_ERR_QUOTA_EXCEEDED);
    assert_int_equal(fixture_delete(&f, c, "/zookeeper/quota/app/q/zookeeper_limits"), PAWL_OK);
    assert_int_equal(fixture_create(&f, c, "/app/q/a", "", 0), PAWL_OK);
    assert_str_view(data_at(&f, STATS), "count=2,bytes=8");
    fixture_fini(&f);
}

static void only_the_deepest_quota_counts(void **state)
{
    struct server_fixture f;
    struct connection *c = begin(&f, "count=100,bytes=1000");

    (void)state;
    fixture_create(&f, c, "/zookeeper/quota/app/zookeeper_limits", "count=1,bytes=1", 0);
    fixture_create(&f, c, "/zookeeper/quota/app/zookeeper_stats", "", 0);
    assert_str_view(data_at(&f, "/zookeeper/quota/app/zookeeper_stats"), "count=3,bytes=8");
    fixture_create(&f, c, "/app/q/y", "12", 0);
    assert_str_view(data_at(&f, STATS), "count=3,bytes=10");
    assert_str_view(data_at(&f, "/zookeeper/quota/app/zookeeper_stats"), "count=3,bytes=8");
    fixture_create(&f, c, "/app/z", "12", 0);
    assert_str_view(data_at(&f, "/zookeeper/quota/app/zookeeper_stats"), "count=4,bytes=10");
    fixture_fini(&f);
}

static void usage_is_that_of_committed_writes(void **state)
{
    struct request a = fixture_create_request("/app/q/a", "", 0);
    struct request b = fixture_create_request("/app/q/b", "", 0);
    struct server_fixture f;
    struct connection *c = begin(&f, "count=-1,bytes=-1=;countHardLimit=3");
    struct strbuf bytes;

    (void)state;
    f.hold = true;
    strbuf_init(&bytes, STRBUF_NO_LIMIT);
    fixture_frame(&bytes, 1, &a);
    fixture_frame(&bytes, 2, &b);
    fixture_send(&f, c, strbuf_bytes(&bytes));
    strbuf_fini(&bytes);
    fixture_commit_all(&f);
    assert_str_view(data_at(&f, STATS), "count=4,bytes=8");
    fixture_fini(&f);
}

static void whatever_is_written_into_the_statistics_is_survived(void **state)
{
    static const char *const texts[] = {
        "count=9223372036854775807,bytes=9223372036854775807",
        "count=-9223372036854775808,bytes=-9223372036854775808",
        "count=99999999999999999999,bytes=1",
        "count=,bytes=",
        "count=1,bytes=1=;byteHardLimit=9223372036854775807",
        "=,;=;,",
        "",
        "count=+5,bytes=-",
    };
    struct server_fixture f;
    struct connection *c = begin(&f, "count=100,bytes=1000=;byteHardLimit=9;countHardLimit=9");

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        assert_int_equal(fixture_set(&f, c, STATS, texts[i]), PAWL_OK);
        fixture_create(&f, c, "/app/q/a", "1", 0);
        fixture_set(&f, c, "/app/q/a", "123");
        fixture_delete(&f, c, "/app/q/a");
    }
    fixture_set(&f, c, STATS, "count=9223372036854775807,bytes=0");
    fixture_delete(&f, c, "/app/q/x");
    assert_str_view(data_at(&f, STATS), "count=9223372036854775806,bytes=-3");
    fixture_fini(&f);
}

struct rows {
    int n;
    struct quota_row last;
};

static void note_row(const struct quota_row *row, void *arg)
{
    struct rows *rows = arg;

    rows->n++;
    rows->last = *row;
}

static void the_rows_show_the_hard_limit_if_there_is_one(void **state)
{
    struct rows rows = {0};
    struct server_fixture f;

    (void)state;
    begin(&f, "count=5,bytes=6=;byteHardLimit=70");
    quota_each(f.server->quota, note_row, &rows);
    assert_int_equal(rows.n, 1);
    assert_str_view(rows.last.path, "/app/q");
    assert_int_equal(rows.last.count_limit, 5);
    assert_int_equal(rows.last.bytes_limit, 70);
    assert_int_equal(rows.last.count, 2);
    assert_int_equal(rows.last.bytes, 8);
    fixture_fini(&f);
}

/* ---- after a restart ---- */

static znode_id add(struct tree *t, znode_id parent, const char *name, const char *data)
{
    return tree_add(t, parent, bytes_str(name), bytes_str(data), ACL_OPEN,
                    &(struct stat_persisted){0});
}

static void *load_deep_trees(void *arg)
{
    struct tree *t = tree_new(&(struct tree_options){0});
    struct rows rows = {0};
    struct quota *q;
    znode_id a, b;

    (void)arg;
    tree_add_system_nodes(t);
    a = tree_find(t, bytes_str("/"));
    b = tree_find(t, bytes_str("/zookeeper/quota"));
    for (int i = 0; i < 3000; i++) {
        a = add(t, a, "d", "12");
        b = add(t, b, "d", "");
        if (i == 0) {
            add(t, b, "zookeeper_limits", "count=1,bytes=1");
            add(t, b, "zookeeper_stats", "count=0,bytes=0");
        }
    }
    q = quota_new(t);
    quota_each(q, note_row, &rows);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.last.count, 3000);
    assert_int_equal(rows.last.bytes, 6000);
    quota_free(q);
    tree_free(t);
    return NULL;
}

static void a_start_finds_the_quotas_and_counts_anew_however_deep(void **state)
{
    pthread_attr_t attr;
    pthread_t thread;

    (void)state;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 192 << 10);
    assert_int_equal(pthread_create(&thread, &attr, load_deep_trees, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage_is_counted_with_the_node_itself),
        cmocka_unit_test(the_stat_of_the_statistics_does_not_move_nor_do_watches_fire),
        cmocka_unit_test(hard_limits_are_kept_and_soft_ones_only_logged),
        cmocka_unit_test(set_data_asks_for_the_quota_before_the_version),
        cmocka_unit_test(limits_that_make_no_sense_fail_the_writes_below),
        cmocka_unit_test(deleting_the_limits_ends_the_quota),
        cmocka_unit_test(only_the_deepest_quota_counts),
        cmocka_unit_test(usage_is_that_of_committed_writes),
        cmocka_unit_test(whatever_is_written_into_the_statistics_is_survived),
        cmocka_unit_test(the_rows_show_the_hard_limit_if_there_is_one),
        cmocka_unit_test(a_start_finds_the_quotas_and_counts_anew_however_deep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
