/* SPDX-License-Identifier: Apache-2.0 */
#include "server/report_prometheus.h"

#include <stdlib.h>

#include "lib/server_fixture.h"
#include "lib/test.h"
#include "lib/vectors.h"

static void scrape(struct server_fixture *f, struct strbuf *out)
{
    strbuf_init(out, STRBUF_NO_LIMIT);
    report_prometheus(f->server, out);
    assert_non_null(strbuf_cstr(out));
}

static void assert_line(struct strbuf *page, const char *line)
{
    const char *text = strbuf_cstr(page);
    size_t len = strlen(line);

    for (const char *p = text; p != NULL; p = strchr(p, '\n')) {
        p += *p == '\n' ? 1 : 0;
        if (strncmp(p, line, len) == 0 && p[len] == '\n') {
            return;
        }
    }
    fail_msg("there is no line %s", line);
}

/* What a server like this one has no use for; the process' own are another's (process_metrics.c).
 */
static bool is_ours(const char *line)
{
    static const char *const others[] = {
        "# TYPE jvm_memory",  "# TYPE jvm_info",         "# TYPE jvm_threads",
        "# TYPE jvm_gc",      "# TYPE jvm_classes",      "# TYPE jvm_buffer",
        "# TYPE process_",    "# TYPE ack_latency",      "# TYPE learner_handler_qp",
        "# TYPE quorum_size", "# TYPE synced_observers",
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strncmp(line, others[i], strlen(others[i])) == 0) {
            return false;
        }
    }
    return strncmp(line, "# TYPE ", 7) == 0;
}

static void names_and_types_are_those_of_zookeeper(void **state)
{
    struct bytes recorded = vectors_file(VECTORS "/4lw/prometheus/metrics.follower.txt");
    struct server_fixture f;
    struct strbuf page;
    int n = 0;

    (void)state;
    fixture_init(&f, NULL);
    scrape(&f, &page);
    for (char *line = strtok((char *)recorded.data, "\n"); line != NULL;
         line = strtok(NULL, "\n")) {
        if (is_ours(line)) {
            assert_line(&page, line);
            n++;
        }
    }
    assert_true(n > 130);
    free((void *)recorded.data);
    strbuf_fini(&page);
    fixture_fini(&f);
}

static void values_of_each_kind(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct strbuf page;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    fixture_create(&f, c, "/app", "12345", 0);
    fixture_get(&f, c, "/app", false);
    scrape(&f, &page);
    assert_line(&page, "znode_count 6");
    assert_line(&page, "connection_request_count 1");
    assert_line(&page, "connection_drop_probability 0.0");
    assert_line(&page, "readlatency_count 1");
    assert_line(&page, "readlatency{quantile=\"0.5\"} 0");
    assert_line(&page, "readlatency{quantile=\"0.9\"} 0");
    assert_line(&page, "readlatency{quantile=\"0.95\"} 0");
    assert_line(&page, "readlatency{quantile=\"0.99\"} 0");
    assert_line(&page, "connection_token_deficit{quantile=\"0.5\"} 0"); /* a basic one */
    assert_line(&page, "fsynctime{quantile=\"0.5\"} NaN");
    assert_line(&page, "fsynctime_count 0");
    assert_line(&page, "write_per_namespace_count{key=\"app\"} 1");
    assert_line(&page, "write_per_namespace_sum{key=\"app\"} 9");
    assert_line(&page, "write_per_namespace{key=\"app\",quantile=\"0.5\"} NaN");
    assert_line(&page, "pawl_role{role=\"standalone\"} 1");
    assert_line(&page, "pawl_role{role=\"leader\"} 0");
    strbuf_fini(&page);
    fixture_fini(&f);
}

/* "uptime is missing" is how an alert knows. */
static void a_server_that_serves_nobody_has_no_gauges(void **state)
{
    struct server_fixture f;
    struct strbuf page;

    (void)state;
    fixture_init(&f, NULL);
    f.role.kind = ROLE_NONE;
    scrape(&f, &page);
    assert_null(strstr(strbuf_cstr(&page), "\nuptime "));
    assert_null(strstr(strbuf_cstr(&page), "\nznode_count "));
    assert_line(&page, "looking_count 0");
    assert_line(&page, "pawl_serving 0");
    f.role.kind = ROLE_ALONE;
    strbuf_fini(&page);
    fixture_fini(&f);
}

static void labels_cannot_break_out(void **state)
{
    struct server_fixture f;
    struct strbuf page;

    (void)state;
    fixture_init(&f, NULL);
    fixture_create(&f, fixture_client(&f, 10000), "/a\"b\\c", "", 0);
    scrape(&f, &page);
    assert_line(&page, "write_per_namespace_count{key=\"a\\\"b\\\\c\"} 1");
    strbuf_fini(&page);
    fixture_fini(&f);
}

static void there_are_no_more_labels_than_namespaces(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct strbuf page;
    char path[64];
    int n = 0;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    for (int i = 0; i < NAMESPACES_MAX + 10; i++) {
        snprintf(path, sizeof(path), "/zookeeper/quota/n%d", i);
        fixture_create(&f, c, path, "", 0);
        snprintf(path, sizeof(path), "/zookeeper/quota/n%d/zookeeper_limits", i);
        fixture_create(&f, c, path, "count=1,bytes=1", 0);
        snprintf(path, sizeof(path), "/zookeeper/quota/n%d/zookeeper_stats", i);
        fixture_create(&f, c, path, "count=0,bytes=0", 0);
    }
    scrape(&f, &page);
    for (const char *p = strbuf_cstr(&page);
         (p = strstr(p, "\nquota_count_limit_per_namespace{")) != NULL; p++) {
        n++;
    }
    assert_int_equal(n, NAMESPACES_MAX);
    strbuf_fini(&page);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_types_are_those_of_zookeeper),
        cmocka_unit_test(values_of_each_kind),
        cmocka_unit_test(a_server_that_serves_nobody_has_no_gauges),
        cmocka_unit_test(labels_cannot_break_out),
        cmocka_unit_test(there_are_no_more_labels_than_namespaces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
