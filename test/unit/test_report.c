/* SPDX-License-Identifier: Apache-2.0 */
#include "server/report.h"

#include <stdlib.h>

#include "lib/server_fixture.h"
#include "lib/test.h"

enum { MAX_VALUES = 2000 };

struct values {
    char names[MAX_VALUES][96];
    struct report_value all[MAX_VALUES];
    size_t n;
};

static void note(const struct report_value *v, void *arg)
{
    struct values *values = arg;

    assert_true(values->n < MAX_VALUES);
    assert_non_null(v->name);
    assert_true(v->kind != REPORT_TEXT || v->text != NULL);
    snprintf(values->names[values->n], sizeof(values->names[0]), "%s", v->name);
    values->all[values->n++] = *v;
}

static const struct report_value *find(const struct values *values, const char *name)
{
    for (size_t i = 0; i < values->n; i++) {
        if (strcmp(values->names[i], name) == 0) {
            return &values->all[i];
        }
    }
    fail_msg("there is no %s", name);
    return NULL;
}

static int64_t number(const struct values *values, const char *name)
{
    const struct report_value *v = find(values, name);

    assert_int_equal(v->kind, REPORT_INTEGER);
    return v->number;
}

/* A writer that makes an object of them needs that. */
static void every_name_is_there_once(void **state)
{
    static struct values values;
    struct server_fixture f;

    (void)state;
    fixture_init(&f, NULL);
    fixture_create(&f, fixture_client(&f, 10000), "/app", "", 0);
    values.n = 0;
    report_conf(f.server, note, &values);
    report_dirs(f.server, note, &values);
    report_environment(f.server, note, &values);
    report_metrics(f.server, note, &values);
    for (size_t i = 0; i < values.n; i++) {
        assert_ptr_equal(find(&values, values.names[i]), &values.all[i]);
    }
    assert_int_equal(number(&values, "znode_count"), tree_count(f.server->tree) + 1);
    assert_int_equal(number(&values, "clientPort"), 2181);
    assert_int_equal(find(&values, "avg_latency")->kind, REPORT_AVERAGE);
    assert_int_equal(find(&values, "connection_drop_probability")->kind, REPORT_RATIO);
    assert_int_equal(find(&values, "server_state")->kind, REPORT_TEXT);
    assert_int_equal(number(&values, "max_app_write_per_namespace"), 4);
    fixture_fini(&f);
}

static void what_was_never_told_is_empty(void **state)
{
    static struct values values;
    struct server_fixture f;

    (void)state;
    fixture_init(&f, NULL);
    f.server->facts = (struct server_facts){0};
    values.n = 0;
    report_conf(f.server, note, &values);
    report_environment(f.server, note, &values);
    assert_string_equal(find(&values, "dataDir")->text, "");
    assert_string_equal(find(&values, "os.name")->text, "");
    fixture_fini(&f);
}

static void set_quota(struct server_fixture *f, struct connection *c, const char *name)
{
    char path[96];

    snprintf(path, sizeof(path), "/zookeeper/quota/app/%s", name);
    fixture_create(f, c, path, "", 0);
    snprintf(path, sizeof(path), "/zookeeper/quota/app/%s/zookeeper_limits", name);
    fixture_create(f, c, path, "count=9223372036854775807,bytes=9223372036854775807", 0);
    snprintf(path, sizeof(path), "/zookeeper/quota/app/%s/zookeeper_stats", name);
    fixture_create(f, c, path, "count=0,bytes=0", 0);
}

static void the_largest_quotas_wrap_as_javas_do(void **state)
{
    static struct values values;
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    fixture_create(&f, c, "/zookeeper/quota/app", "", 0);
    set_quota(&f, c, "a");
    set_quota(&f, c, "b");
    values.n = 0;
    report_metrics(f.server, note, &values);
    assert_int_equal(number(&values, "app_quota_count_limit_per_namespace"), -2);
    assert_int_equal(number(&values, "app_quota_bytes_limit_per_namespace"), -2);
    fixture_fini(&f);
}

static void count_connection(const struct report_connection *c, void *arg)
{
    int *n_idle = arg;

    *n_idle += c->reads || c->writes ? 0 : 1;
}

static void whoever_asks_is_among_the_connections(void **state)
{
    struct server_fixture f;
    struct connection *self;
    struct report_state r;
    int n_idle = 0;

    (void)state;
    fixture_init(&f, NULL);
    self = fixture_client(&f, 10000);
    fixture_client(&f, 10000);
    report_state(f.server, &r);
    assert_int_equal(r.n_connections, 2);
    assert_string_equal(r.mode, "standalone");
    report_connections(f.server, self, count_connection, &n_idle);
    assert_int_equal(n_idle, 1);
    fixture_fini(&f);
}

static void sessions_come_in_the_order_of_their_end(void **state)
{
    struct server_fixture f;
    struct report_dues dues;

    (void)state;
    fixture_init(&f, NULL);
    fixture_client(&f, 40000);
    fixture_client(&f, 10000);
    fixture_client(&f, 20000);
    report_sessions(f.server, false, &dues);
    assert_int_equal(dues.n, 3);
    for (size_t i = 1; i < dues.n; i++) {
        assert_true(dues.rows[i - 1].at_wall_ms < dues.rows[i].at_wall_ms);
    }
    report_dues_fini(&dues);
    report_silences(f.server, &dues);
    assert_int_equal(dues.n, 3);
    for (size_t i = 1; i < dues.n; i++) {
        assert_true(dues.rows[i - 1].at_wall_ms <= dues.rows[i].at_wall_ms);
        assert_non_null(dues.rows[i].peer);
    }
    report_dues_fini(&dues);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_there_once),
        cmocka_unit_test(what_was_never_told_is_empty),
        cmocka_unit_test(the_largest_quotas_wrap_as_javas_do),
        cmocka_unit_test(whoever_asks_is_among_the_connections),
        cmocka_unit_test(sessions_come_in_the_order_of_their_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
