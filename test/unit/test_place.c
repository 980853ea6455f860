/* SPDX-License-Identifier: Apache-2.0 */
#include "client/place.h"

#include <stdlib.h>

#include "client/engine.h"
#include "client/handle.h"
#include "lib/test.h"

/* A handle that has attached to session 7, which left one place in /q behind. */
static struct engine *engine_with_place(void)
{
    struct pawl_client_options o;
    struct core_options core = {.session_timeout_ms = 1000, .max_request_bytes = 1000, .seed = 1};
    struct strbuf blob;
    struct jute_reader r;
    struct engine *e;

    pawl_client_options_init(&o);
    o.seed = 1;
    e = engine_new(&o);
    assert_non_null(e);
    assert_int_equal(core_new(&core, "a", 0, &e->core), 0);
    strbuf_init(&blob, STRBUF_NO_LIMIT);
    jute_write_int(&blob, 1);
    jute_write_buffer(&blob, bytes_str("/q"));
    jute_write_buffer(&blob, bytes_str("-lock-"));
    jute_write_buffer(&blob, bytes_str("/q/x-lock-0000000003"));
    jute_write_long(&blob, 55);
    r = jute_reader_of(bytes_of(blob.data, blob.len));
    assert_int_equal(places_read(&e->places, 7, &r), 0);
    strbuf_fini(&blob);
    e->core->session_id = 7;
    return e;
}

static void a_place_is_taken_up_once(void **state)
{
    struct engine *e = engine_with_place();
    struct pawl_client view = {.e = e, .prefix = ""};
    int64_t token = 0;
    char *path = NULL;

    (void)state;
    assert_false(place_inherit(&view, "/other", "-lock-", &path, &token));
    assert_false(place_inherit(&view, "/q", "-read-", &path, &token));
    assert_true(place_inherit(&view, "/q", "-lock-", &path, &token));
    assert_string_equal(path, "/q/x-lock-0000000003");
    assert_int_equal(token, 55);
    free(path);
    assert_false(place_inherit(&view, "/q", "-lock-", &path, &token));
    engine_unref(e);
}

/* Its node has gone with the session. */
static void a_place_of_another_session_is_not_taken_up(void **state)
{
    struct engine *e = engine_with_place();
    struct pawl_client view = {.e = e, .prefix = ""};
    int64_t token;
    char *path;

    (void)state;
    e->core->session_id = 8;
    assert_false(place_inherit(&view, "/q", "-lock-", &path, &token));
    engine_unref(e);
}

/* A handle that is handed over again before anybody has asked for the place. */
static void what_nobody_took_up_goes_on(void **state)
{
    struct engine *e = engine_with_place(), *next = engine_with_place();
    struct pawl_client view = {.e = next, .prefix = ""};
    struct strbuf blob;
    struct jute_reader r;
    char *path = NULL;
    int64_t token = 0;

    (void)state;
    assert_true(place_inherit(&view, "/q", "-lock-", &path, &token)); /* the one it has */
    free(path);
    strbuf_init(&blob, STRBUF_NO_LIMIT);
    places_write(&e->places, 7, &blob);
    r = jute_reader_of(strbuf_bytes(&blob));
    assert_int_equal(places_read(&next->places, 7, &r), 0);
    assert_true(place_inherit(&view, "/q", "-lock-", &path, &token));
    assert_string_equal(path, "/q/x-lock-0000000003");
    assert_int_equal(token, 55);
    free(path);
    strbuf_fini(&blob);
    engine_unref(e);
    engine_unref(next);
}

/* Of a session that is over nothing does. */
static void what_belongs_to_another_session_does_not_go_on(void **state)
{
    struct engine *e = engine_with_place();
    struct strbuf blob;

    (void)state;
    strbuf_init(&blob, STRBUF_NO_LIMIT);
    places_write(&e->places, 8, &blob);
    assert_int_equal(blob.len, 4);
    assert_int_equal(load_u32(blob.data), 0);
    strbuf_fini(&blob);
    engine_unref(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_taken_up_once),
        cmocka_unit_test(a_place_of_another_session_is_not_taken_up),
        cmocka_unit_test(what_nobody_took_up_goes_on),
        cmocka_unit_test(what_belongs_to_another_session_does_not_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
