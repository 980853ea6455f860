/* SPDX-License-Identifier: Apache-2.0 */
#include "server/metrics.h"

#include <stdlib.h>

#include "base/memory.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "lib/vectors.h"
#include "pawl/error.h"

/* ---- numbers as Java prints them ---- */

static void assert_average(int64_t sum, uint64_t count, const char *expected)
{
    struct strbuf out;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    summary_print_average(&out, sum, count);
    assert_string_equal(strbuf_cstr(&out), expected);
    strbuf_fini(&out);
}

static void averages_have_up_to_four_decimals(void **state)
{
    (void)state;
    assert_average(0, 0, "0.0");
    assert_average(0, 7, "0.0");
    assert_average(389, 221, "1.7602");
    assert_average(26, 13, "2.0");
    assert_average(40, 221, "0.181");
    assert_average(550, 6, "91.6667");
    assert_average(1, 20000, "1.0E-4"); /* a half is rounded up */
    assert_average(1, 20001, "0.0");
    assert_average(1, 1000, "0.001");
    assert_average(9, 10000, "9.0E-4");
    assert_average(12500000, 1, "1.25E7");
    assert_average(9999999, 1, "9999999.0");
    assert_average(-3, 2, "-1.5");
}

static void a_ratio_is_printed_the_same_way(void **state)
{
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    summary_print_ratio(&out, 0.0);
    strbuf_append_str(&out, " ");
    summary_print_ratio(&out, 0.005);
    strbuf_append_str(&out, " ");
    summary_print_ratio(&out, 1.0);
    assert_string_equal(strbuf_cstr(&out), "0.0 0.005 1.0");
    strbuf_fini(&out);
}

/* ---- summaries ---- */

static const double quantiles[] = {0.5, 0.95, 0.99, 0.999};

static void percentiles_of_few_values_are_exact(void **state)
{
    struct metrics m;
    int64_t p[4];

    (void)state;
    metrics_init(&m, 1);
    for (int64_t i = 100; i >= 1; i--) {
        metrics_observe(&m, SUMMARY_READ_LATENCY, i);
    }
    summary_percentiles(&m.summaries[SUMMARY_READ_LATENCY], quantiles, 4, p);
    assert_int_equal(p[0], 51); /* 50.5, rounded */
    assert_int_equal(p[1], 96); /* 95.95 */
    assert_int_equal(p[2], 100);
    assert_int_equal(p[3], 100);
    assert_int_equal(summary_min(&m.summaries[SUMMARY_READ_LATENCY]), 1);
    assert_int_equal(summary_max(&m.summaries[SUMMARY_READ_LATENCY]), 100);
    metrics_fini(&m);
}

static void percentiles_of_many_values_come_from_a_fair_sample(void **state)
{
    struct metrics m;
    int64_t p[4];

    (void)state;
    metrics_init(&m, 7);
    for (int64_t i = 0; i < 1000000; i++) {
        metrics_observe(&m, SUMMARY_UPDATE_LATENCY, i % 1000);
    }
    summary_percentiles(&m.summaries[SUMMARY_UPDATE_LATENCY], quantiles, 4, p);
    assert_in_range(p[0], 460, 540); /* five standard deviations of a sample of 4096 */
    assert_in_range(p[1], 930, 970);
    assert_in_range(p[2], 980, 999);
    assert_in_range(p[3], 994, 999);
    assert_int_equal(m.summaries[SUMMARY_UPDATE_LATENCY].count, 1000000);
    metrics_fini(&m);
}

static void a_late_change_shows_in_the_sample(void **state)
{
    struct metrics m;
    int64_t p[4];

    (void)state;
    metrics_init(&m, 7);
    for (int i = 0; i < 100000; i++) {
        metrics_observe(&m, SUMMARY_READ_LATENCY, i < 50000 ? 1 : 100);
    }
    summary_percentiles(&m.summaries[SUMMARY_READ_LATENCY], quantiles, 4, p);
    assert_int_equal(p[1], 100); /* half of all values, though none of the first 4096 */
    assert_int_equal(m.summaries[SUMMARY_READ_LATENCY].sample[0] % 99, 1);
    metrics_fini(&m);
}

static void every_summary_knows_its_median(void **state)
{
    struct metrics m;
    int64_t p[4];

    (void)state;
    metrics_init(&m, 1);
    metrics_observe(&m, SUMMARY_FSYNC_TIME, 5);
    assert_null(m.summaries[SUMMARY_SNAPSHOT_TIME].sample); /* no memory before the first */
    summary_percentiles(&m.summaries[SUMMARY_FSYNC_TIME], quantiles, 1, p);
    assert_int_equal(p[0], 5);
    metrics_fini(&m);
}

/* Small values are counted, others compared: the two have to agree. */
static void large_values_are_sorted_like_small_ones(void **state)
{
    static const int64_t offsets[] = {0, 4000, 100000};

    (void)state;
    for (int k = 0; k < 3; k++) {
        struct metrics m;
        int64_t p[4];

        metrics_init(&m, 1);
        for (int64_t i = 0; i < 101; i++) {
            metrics_observe(&m, SUMMARY_READ_LATENCY, offsets[k] + i * 37 % 101);
        }
        summary_percentiles(&m.summaries[SUMMARY_READ_LATENCY], quantiles, 4, p);
        assert_int_equal(p[0], offsets[k] + 50);
        assert_int_equal(p[2], offsets[k] + 100);
        metrics_fini(&m);
    }
}

static void reset_begins_anew(void **state)
{
    struct metrics m;
    int64_t p[4];

    (void)state;
    metrics_init(&m, 1);
    metrics_observe(&m, SUMMARY_READ_LATENCY, 900);
    metrics_response(&m, 16);
    m.commit_count = 3;
    m.auth_failed = 2;
    metrics_reset(&m);
    assert_int_equal(m.commit_count, 0);
    assert_int_equal(m.packets_sent, 0);
    assert_int_equal(m.max_response_size, -1);
    assert_int_equal(m.auth_failed, 2);
    metrics_observe(&m, SUMMARY_READ_LATENCY, 4);
    summary_percentiles(&m.summaries[SUMMARY_READ_LATENCY], quantiles, 4, p);
    assert_int_equal(p[3], 4);
    assert_int_equal(summary_max(&m.summaries[SUMMARY_READ_LATENCY]), 4);
    metrics_fini(&m);
}

static void latency_is_that_of_reads_and_writes(void **state)
{
    struct metrics m;
    struct summary all;

    (void)state;
    metrics_init(&m, 1);
    all = metrics_latency(&m);
    assert_int_equal(summary_min(&all), 0);
    metrics_observe(&m, SUMMARY_READ_LATENCY, 2);
    metrics_observe(&m, SUMMARY_UPDATE_LATENCY, 10);
    all = metrics_latency(&m);
    assert_int_equal(summary_min(&all), 2);
    assert_int_equal(summary_max(&all), 10);
    assert_int_equal(all.sum, 12);
    assert_int_equal(all.count, 2);
    metrics_fini(&m);
}

/* ---- namespaces ---- */

static void a_namespace_is_the_first_component(void **state)
{
    (void)state;
    assert_str_view(namespace_name(bytes_str("/app")), "app");
    assert_str_view(namespace_name(bytes_str("/app/x/y")), "app");
    assert_true(bytes_is_null(namespace_name(bytes_str("/"))));
}

static void the_number_of_namespaces_is_bounded(void **state)
{
    struct namespaces n;
    char path[32];

    (void)state;
    namespaces_init(&n);
    for (int i = 0; i < 10000; i++) {
        snprintf(path, sizeof(path), "/n%d", i);
        namespaces_read(&n, bytes_str(path), 1);
    }
    assert_int_equal(n.by_name.count, 256);
    assert_non_null(namespaces_at(&n, bytes_str("/n255/x")));
    assert_null(namespaces_at(&n, bytes_str("/n256/x")));
    namespaces_fini(&n);
}

static void the_names_of_namespaces_are_bounded(void **state)
{
    struct namespaces n;
    char path[NAMESPACE_NAME_BYTES + 4] = "/";

    (void)state;
    namespaces_init(&n);
    memset(path + 1, 'x', NAMESPACE_NAME_BYTES + 1);
    assert_null(namespaces_at(&n, bytes_of(path, NAMESPACE_NAME_BYTES + 2)));
    assert_non_null(namespaces_at(&n, bytes_of(path, NAMESPACE_NAME_BYTES + 1)));
    namespaces_fini(&n);
}

/* ---- mntr, as a whole ---- */

enum { MAX_KEYS = 1024 };

struct keys {
    char *text;
    char *names[MAX_KEYS];
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every line is "key\tvalue"; the keys, sorted. */
static void read_keys(const char *text, struct keys *out)
{
    char *line;

    *out = (struct keys){.text = must_strdup(text)};
    for (line = strtok(out->text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *tab = strchr(line, '\t');

        assert_non_null(tab);
        assert_true(tab[1] != '\0');
        assert_null(strchr(tab + 1, '\t'));
        *tab = '\0';
        if (strncmp(line, "zk_pawl_", 8) == 0) { /* ours beside Apache's */
            continue;
        }
        assert_true(out->n < MAX_KEYS);
        out->names[out->n++] = line;
    }
    qsort(out->names, out->n, sizeof(out->names[0]), by_name);
}

static void set_up_app(struct server_fixture *f, struct connection **c)
{
    fixture_init(f, NULL);
    *c = fixture_client(f, 30000);
    assert_int_equal(fixture_create(f, *c, "/app", "", 0), PAWL_OK);
    assert_int_equal(fixture_create(f, *c, "/app/config", "v1", 0), PAWL_OK);
    assert_int_equal(fixture_get(f, *c, "/app/config", true), PAWL_OK);
    assert_int_equal(fixture_set(f, *c, "/app/config", "v2"), PAWL_OK);
}

static void mntr_prints_the_keys_of_apaches_server(void **state)
{
    struct bytes recorded = vectors_file(VECTORS "/4lw/mntr.standalone.txt");
    struct server_fixture f;
    struct connection *c;
    struct keys expected, actual;

    (void)state;
    set_up_app(&f, &c);
    read_keys((const char *)recorded.data, &expected);
    read_keys(fixture_word(&f, "mntr"), &actual);
    assert_int_equal(expected.n, 495);
    for (size_t i = 0; i < expected.n && i < actual.n; i++) {
        assert_string_equal(actual.names[i], expected.names[i]);
    }
    assert_int_equal(actual.n, expected.n);
    free(expected.text);
    free(actual.text);
    free((void *)recorded.data);
    fixture_fini(&f);
}

static void standing_of_nobody(struct role *r, struct role_standing *out)
{
    (void)r;
    *out = (struct role_standing){.leader = 3};
}

static bool is_of_one_learner_or_namespace(const char *key)
{
    return strstr(key, "_learner_handler_qp_") != NULL || strstr(key, "_per_namespace") != NULL;
}

/* Both lists are sorted. */
static void assert_same_keys(const struct keys *actual, const struct keys *expected)
{
    size_t i = 0, k = 0;

    for (;; i++, k++) {
        while (i < actual->n && is_of_one_learner_or_namespace(actual->names[i])) {
            i++;
        }
        while (k < expected->n && is_of_one_learner_or_namespace(expected->names[k])) {
            k++;
        }
        if (i == actual->n || k == expected->n) {
            break;
        }
        assert_string_equal(actual->names[i], expected->names[k]);
    }
    assert_true(i == actual->n && k == expected->n);
}

static void mntr_of_a_member_prints_the_keys_of_its_role(void **state)
{
    static const enum role_kind roles[] = {ROLE_LEADER, ROLE_FOLLOWER, ROLE_OBSERVER};

    (void)state;
    for (size_t r = 0; r < TEST_COUNT(roles); r++) {
        struct keys expected, actual;
        struct server_fixture f;
        struct connection *c;
        struct bytes recorded;
        char path[256];

        snprintf(path, sizeof(path), VECTORS "/4lw/mntr.%s.txt", role_name(roles[r]));
        recorded = vectors_file(path);
        set_up_app(&f, &c);
        f.role.kind = roles[r];
        f.role.standing = standing_of_nobody;
        read_keys((const char *)recorded.data, &expected);
        read_keys(fixture_word(&f, "mntr"), &actual);
        assert_same_keys(&actual, &expected);
        free(expected.text);
        free(actual.text);
        free((void *)recorded.data);
        fixture_fini(&f);
    }
}

/* The value of a key in the newest mntr; the test fails if it is not there. */
static const char *value(struct server_fixture *f, const char *key)
{
    static char out[128];
    const char *text = fixture_word(f, "mntr");
    char wanted[128];
    const char *at;

    snprintf(wanted, sizeof(wanted), "\n%s\t", key);
    at = strstr(text, wanted);
    if (at == NULL) {
        fail_msg("no %s", key);
    }
    at += strlen(wanted);
    snprintf(out, sizeof(out), "%.*s", (int)strcspn(at, "\n"), at);
    return out;
}

#define assert_value(key, expected) assert_string_equal(value(&f, key), expected)

static void mntr_counts_what_happened(void **state)
{
    struct server_fixture f;
    struct connection *c, *other;

    (void)state;
    set_up_app(&f, &c);
    assert_value("zk_znode_count", "7");
    assert_value("zk_watch_count", "0");
    assert_value("zk_global_sessions", "1");
    assert_value("zk_num_alive_connections", "2"); /* the asker is one */
    assert_value("zk_cnt_readlatency", "1");
    assert_value("zk_cnt_updatelatency", "4"); /* with the session's creation */
    assert_value("zk_commit_count", "4");
    assert_value("zk_cnt_node_changed_watch_count", "1");
    assert_value("zk_max_node_changed_watch_count", "1");
    assert_value("zk_watch_bytes", "39"); /* as in the recorded mntr: 78 for two */
    assert_value("zk_cnt_app_write_per_namespace", "3");
    assert_value("zk_min_app_write_per_namespace", "4");
    assert_value("zk_sum_app_write_per_namespace", "30");
    assert_value("zk_sum_app_read_per_namespace", "81"); /* path, data and Stat */
    assert_value("zk_connection_request_count", "1");
    assert_value("zk_cnt_connection_token_deficit", "1");
    assert_value("zk_uptime", "0");
    fixture_ping(&f, c);
    assert_value("zk_last_client_response_size", "16");
    assert_value("zk_min_client_response_size", "16");
    assert_value("zk_connection_drop_count", "0"); /* words are closed by the server */
    other = fixture_connect(&f);
    server_disconnect(f.server, other);
    assert_value("zk_connection_drop_count", "1");
    server_observe(f.server, SUMMARY_FSYNC_TIME, 3);
    server_observe(f.server, SUMMARY_FSYNC_TIME, 4);
    assert_value("zk_avg_fsynctime", "3.5");
    fixture_fini(&f);
}

static void latencies_are_those_of_the_clock(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct strbuf frame;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 30000);
    f.hold = true;
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    jute_write_int(&frame, 0);
    jute_write_int(&frame, 1);
    jute_write_int(&frame, OP_DELETE);
    jute_write_str(&frame, "/none");
    jute_write_int(&frame, -1);
    jute_patch_int(&frame, 0, (int32_t)frame.len - 4);
    fixture_send(&f, c, strbuf_bytes(&frame));
    strbuf_fini(&frame);
    fixture_advance(&f, 7);
    strbuf_init(&frame, STRBUF_NO_LIMIT);
    jute_write_int(&frame, 8);
    jute_write_int(&frame, XID_PING);
    jute_write_int(&frame, OP_PING);
    fixture_send(&f, c, strbuf_bytes(&frame)); /* waits behind the write */
    strbuf_fini(&frame);
    assert_value("zk_outstanding_requests", "2");
    fixture_advance(&f, 10);
    fixture_commit_all(&f);
    assert_value("zk_max_readlatency", "10");
    assert_value("zk_max_updatelatency", "17");
    assert_value("zk_p99_updatelatency", "17");
    assert_value("zk_max_latency", "17");
    assert_value("zk_avg_latency", "9.0"); /* 17, 10, and none for the session */
    assert_value("zk_max_propagation_latency", "17");
    assert_value("zk_uptime", "17");
    fixture_fini(&f);
}

static void expired_sessions_are_counted(void **state)
{
    struct server_fixture f;

    (void)state;
    fixture_init(&f, NULL);
    fixture_client(&f, 4000);
    fixture_advance(&f, 20000);
    assert_value("zk_stale_sessions_expired", "1");
    assert_value("zk_global_sessions", "0");
    fixture_fini(&f);
}

static void quotas_are_shown_by_namespace(void **state)
{
    struct server_options options = fixture_options();
    struct server_fixture f;
    struct connection *c;

    (void)state;
    options.enforce_quota = true;
    fixture_init(&f, &options);
    c = fixture_client(&f, 30000);
    fixture_create(&f, c, "/app", "abc", 0);
    fixture_create(&f, c, "/zookeeper/quota/app", "", 0);
    fixture_create(&f, c, "/zookeeper/quota/app/zookeeper_limits",
                   "count=-1,bytes=-1=;byteHardLimit=10;countHardLimit=3", 0);
    fixture_create(&f, c, "/zookeeper/quota/app/zookeeper_stats", "count=0,bytes=0", 0);
    assert_value("zk_app_quota_count_limit_per_namespace", "3");
    assert_value("zk_app_quota_bytes_limit_per_namespace", "10");
    assert_value("zk_app_quota_count_usage_per_namespace", "1");
    assert_value("zk_app_quota_bytes_usage_per_namespace", "3");
    assert_null(strstr(fixture_word(&f, "mntr"), "zk_app_quota_exceeded"));
    assert_int_equal(fixture_set(&f, c, "/app", "12345678901"), PAWL_ERR_QUOTA_EXCEEDED);
    assert_value("zk_app_quota_exceeded_error_per_namespace", "1");
    fixture_fini(&f);
}

static void srst_resets_what_mntr_shows(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    set_up_app(&f, &c);
    assert_string_equal(fixture_word(&f, "srst"), "Server stats reset.\n");
    assert_value("zk_cnt_updatelatency", "0");
    assert_value("zk_packets_received", "2"); /* the word before this one, and this one */
    assert_value("zk_znode_count", "7");
    fixture_fini(&f);
}

static void a_strange_node_name_stays_in_its_line(void **state)
{
    struct server_fixture f;
    struct connection *c;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 30000);
    assert_int_equal(fixture_create(&f, c, "/a b", "", 0), PAWL_OK);
    assert_value("zk_cnt_a_b_write_per_namespace", "1");
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages_have_up_to_four_decimals),
        cmocka_unit_test(a_ratio_is_printed_the_same_way),
        cmocka_unit_test(percentiles_of_few_values_are_exact),
        cmocka_unit_test(percentiles_of_many_values_come_from_a_fair_sample),
        cmocka_unit_test(a_late_change_shows_in_the_sample),
        cmocka_unit_test(every_summary_knows_its_median),
        cmocka_unit_test(large_values_are_sorted_like_small_ones),
        cmocka_unit_test(reset_begins_anew),
        cmocka_unit_test(latency_is_that_of_reads_and_writes),
        cmocka_unit_test(a_namespace_is_the_first_component),
        cmocka_unit_test(the_number_of_namespaces_is_bounded),
        cmocka_unit_test(the_names_of_namespaces_are_bounded),
        cmocka_unit_test(mntr_prints_the_keys_of_apaches_server),
        cmocka_unit_test(mntr_of_a_member_prints_the_keys_of_its_role),
        cmocka_unit_test(mntr_counts_what_happened),
        cmocka_unit_test(latencies_are_those_of_the_clock),
        cmocka_unit_test(expired_sessions_are_counted),
        cmocka_unit_test(quotas_are_shown_by_namespace),
        cmocka_unit_test(srst_resets_what_mntr_shows),
        cmocka_unit_test(a_strange_node_name_stays_in_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
