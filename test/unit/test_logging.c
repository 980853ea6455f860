/* SPDX-License-Identifier: Apache-2.0 */
#include "base/logging.h"

#include <stdlib.h>

#include "lib/test.h"

static struct {
    int n;
    enum log_level level;
    char line[20000];
} said;

static int64_t now_ms;

static void sink(enum log_level level, const char *line, void *arg)
{
    assert_ptr_equal(arg, &said);
    said.n++;
    said.level = level;
    snprintf(said.line, sizeof(said.line), "%s", line);
}

static int64_t clock_ms(void)
{
    return now_ms;
}

static int set_up(void **state)
{
    (void)state;
    memset(&said, 0, sizeof(said));
    logging_set_sink(sink, &said);
    logging_set_clock(clock_ms);
    logging_set_level(LOG_INFO);
    now_ms = 1000;
    return 0;
}

static void a_line_reaches_the_sink(void **state)
{
    (void)state;
    log_warn("session 0x%x: %s", 0x1f, "expired");
    assert_int_equal(said.n, 1);
    assert_int_equal(said.level, LOG_WARN);
    assert_string_equal(said.line, "session 0x1f: expired");
    assert_string_equal(log_level_name(LOG_WARN), "WARN");
}

static int formatted;

static int count_formatting(void)
{
    return ++formatted;
}

static void lines_above_the_level_cost_nothing(void **state)
{
    (void)state;
    log_debug("%d", count_formatting());
    assert_int_equal(said.n, 0);
    assert_int_equal(formatted, 0);
    logging_set_level(LOG_DEBUG);
    log_debug("%d", count_formatting());
    assert_int_equal(said.n, 1);
    logging_set_level(LOG_ERROR);
    log_warn("not said");
    assert_int_equal(said.n, 1);
}

static void say(struct log_limit *limit)
{
    log_line_limited(limit, LOG_WARN, "bad frame");
}

static void what_a_client_can_cause_is_said_once_in_ten_seconds(void **state)
{
    struct log_limit limit = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        say(&limit);
    }
    assert_int_equal(said.n, 1);
    assert_string_equal(said.line, "bad frame");
    now_ms += 9999;
    say(&limit);
    assert_int_equal(said.n, 1);
    now_ms += 1;
    say(&limit);
    assert_int_equal(said.n, 2);
    assert_string_equal(said.line, "bad frame (and 1000 more like it)");
    now_ms += 10000;
    say(&limit);
    assert_string_equal(said.line, "bad frame");
}

static void a_line_that_is_too_long_is_cut_not_lost(void **state)
{
    char *path = malloc(100000);

    (void)state;
    assert_non_null(path);
    memset(path, 'p', 99999);
    path[99999] = '\0';
    log_error("no such node: %s", path);
    assert_int_equal(said.n, 1);
    assert_memory_equal(said.line, "no such node: ppp", 17);
    assert_in_range(strlen(said.line), 1000, 16384);
    assert_string_equal(said.line + strlen(said.line) - 4, "p...");
    free(path);
}

static void count_only(enum log_level level, const char *line, void *arg)
{
    (void)level;
    (void)line;
    ++*(int *)arg;
}

static void a_thread_may_have_a_log_of_its_own(void **state)
{
    int n = 0;
    struct log_target own = {.sink = count_only, .arg = &n, .level = LOG_DEBUG};

    (void)state;
    logging_use(&own);
    assert_ptr_equal(logging_used(), &own);
    log_debug("below the level of the process");
    assert_int_equal(n, 1);
    assert_int_equal(said.n, 0);
    own.sink = NULL;
    log_error("dropped");
    logging_use(NULL);
    log_info("to the log of the process again");
    assert_int_equal(n, 1);
    assert_int_equal(said.n, 1);
}

static void without_a_sink_nothing_happens(void **state)
{
    (void)state;
    logging_set_sink(NULL, NULL);
    log_error("to nobody");
    assert_int_equal(said.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_line_reaches_the_sink, set_up),
        cmocka_unit_test_setup(lines_above_the_level_cost_nothing, set_up),
        cmocka_unit_test_setup(what_a_client_can_cause_is_said_once_in_ten_seconds, set_up),
        cmocka_unit_test_setup(a_line_that_is_too_long_is_cut_not_lost, set_up),
        cmocka_unit_test_setup(a_thread_may_have_a_log_of_its_own, set_up),
        cmocka_unit_test_setup(without_a_sink_nothing_happens, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
