/* SPDX-License-Identifier: Apache-2.0 */
#include "server/talkers.h"

#include <stdlib.h>

#include "base/prng.h"
#include "lib/server_fixture.h"
#include "lib/test.h"
#include "server/json_writer.h"
#include "server/report_json.h"

static struct talkers *new_talkers(uint64_t seed)
{
    struct talkers *t = malloc(sizeof(*t));

    talkers_init(t, seed, 1000);
    return t;
}

static void note(struct talkers *t, const char *path, const char *client)
{
    talkers_note(t, op_find(OP_GET_DATA), path == NULL ? BYTES_NULL : bytes_str(path),
                 bytes_str(client));
}

static void one_of_so_many_is_looked_at(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct talkers *t = new_talkers(seed);
        int n = 0;

        for (int i = 0; i < TALKERS_SAMPLE * 10000; i++) {
            if (talkers_want(t)) {
                note(t, "/a", "10.0.0.1");
                n++;
            }
        }
        assert_in_range(n, 9700, 10300);
        free(t);
    }
}

/* A thousand clients, five of which ask for half of all. */
static void the_busiest_are_not_missed_among_many(void **state)
{
    const struct talker *sorted[TALKERS_KEPT];
    struct talkers *t = new_talkers(1);
    struct prng r;
    char name[32];

    (void)state;
    prng_seed(&r, 7);
    for (int i = 0; i < 20000; i++) {
        uint64_t who = prng_below(&r, 2) == 0 ? prng_below(&r, 5) : prng_below(&r, 1000);

        snprintf(name, sizeof(name), "10.0.0.%d", (int)who);
        note(t, NULL, name);
    }
    assert_int_equal(talkers_sort(&t->minutes[0].clients, sorted), TALKERS_KEPT);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sorted[i]->len, 8); /* one figure */
        assert_in_range(sorted[i]->n - sorted[i]->over, 1500, 2500);
        assert_true(sorted[i]->over <= 20000 / TALKERS_KEPT);
    }
    assert_int_equal(t->minutes[0].n, 20000);
    assert_int_equal(t->minutes[0].paths.count, 0);
    free(t);
}

static void a_path_counts_by_its_first_two_names(void **state)
{
    static const char *const paths[] = {"/a/b", "/a/b/c", "/a/b/c/d", "/a/bc", "/a", "/", "x", ""};
    static char large[500];
    const struct talker *sorted[TALKERS_KEPT];
    struct talkers *t = new_talkers(1);

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(paths); i++) {
        note(t, paths[i], "c");
    }
    memset(large, 'l', sizeof(large) - 1);
    note(t, large, "c");
    assert_int_equal(talkers_sort(&t->minutes[0].paths, sorted), 7);
    assert_bytes_equal(bytes_of(sorted[0]->name, sorted[0]->len), bytes_str("/a/b"));
    assert_int_equal(sorted[0]->n, 3);
    assert_int_equal(sorted[6]->len, 1); /* of one each: by name */
    free(t);
}

static void each_minute_counts_for_itself(void **state)
{
    struct talkers *t = new_talkers(1);

    (void)state;
    note(t, "/a", "c");
    talkers_tick(t, 1000 + TALKERS_MINUTE_MS - 1);
    assert_int_equal(talkers_minute(t, false)->n, 1);
    talkers_tick(t, 1000 + TALKERS_MINUTE_MS);
    assert_int_equal(talkers_minute(t, false)->n, 0);
    assert_int_equal(talkers_minute(t, true)->n, 1);
    note(t, "/a", "c");
    note(t, "/a", "c");
    talkers_tick(t, 1000 + 3 * TALKERS_MINUTE_MS);
    assert_int_equal(talkers_minute(t, true)->n, 2);
    assert_int_equal(talkers_minute(t, false)->paths.count, 0);
    free(t);
}

static void requests_are_shown_as_top(void **state)
{
    struct server_fixture f;
    struct json_writer w;
    struct connection *c;
    struct strbuf out;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    for (int i = 0; i < 100 * TALKERS_SAMPLE; i++) {
        fixture_get(&f, c, "/zookeeper/config/x", false);
    }
    strbuf_init(&out, STRBUF_NO_LIMIT);
    json_writer_init(&w, &out);
    json_open_object(&w, NULL);
    report_json_top(f.server, &w);
    json_close_object(&w);
    assert_non_null(strstr(strbuf_cstr(&out), "\"name\" : \"127.0.0.1\""));
    assert_non_null(strstr(strbuf_cstr(&out), "\"name\" : \"/zookeeper/config\""));
    assert_non_null(strstr(strbuf_cstr(&out), "\"getData\" : "));
    assert_non_null(strstr(strbuf_cstr(&out), "\"minute_before\" : {"));
    json_writer_fini(&w);
    strbuf_fini(&out);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_so_many_is_looked_at),
        cmocka_unit_test(the_busiest_are_not_missed_among_many),
        cmocka_unit_test(a_path_counts_by_its_first_two_names),
        cmocka_unit_test(each_minute_counts_for_itself),
        cmocka_unit_test(requests_are_shown_as_top),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
