/* SPDX-License-Identifier: Apache-2.0 */
#include "client/blob.h"

#include "client/engine.h"
#include "lib/test.h"
#include "pawl/error.h"

static struct engine *new_engine(void)
{
    struct core_options core = {.session_timeout_ms = 1000, .max_request_bytes = 1000, .seed = 1};
    struct pawl_client_options o;
    struct engine *e;

    pawl_client_options_init(&o);
    o.seed = 1;
    e = engine_new(&o);
    assert_non_null(e);
    assert_int_equal(core_new(&core, "a", 0, &e->core), 0);
    return e;
}

/* What a handle leaves behind whose session is 0x1234. */
static struct strbuf blob_of_a_session(void)
{
    struct engine *e = new_engine();
    struct strbuf out;

    e->core->session_id = 0x1234;
    e->core->last_zxid = 0x500000007;
    e->core->timeout_ms = 9000;
    memset(e->core->password, 'p', PASSWORD_BYTES);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    blob_write(e, bytes_str("extra"), &out);
    engine_unref(e);
    return out;
}

static struct pawl_bytes view(const struct strbuf *b)
{
    return (struct pawl_bytes){b->data, b->len};
}

static void the_next_handle_has_the_session(void **state)
{
    struct strbuf blob = blob_of_a_session();
    struct engine *e = new_engine();
    struct pawl_bytes extra;

    (void)state;
    assert_int_equal(pawl_blob_extra(view(&blob), &extra), 0);
    assert_bytes_equal(bytes_of(extra.data, extra.len), bytes_str("extra"));
    assert_int_equal(blob_attach(e, view(&blob)), 0);
    assert_int_equal(e->core->session_id, 0x1234);
    assert_true(e->core->session_is_real);
    for (int i = 0; i < PASSWORD_BYTES; i++) {
        assert_int_equal(e->core->password[i], 'p');
    }
    engine_unref(e);
    strbuf_fini(&blob);
}

/* It must not be served by a server that has seen less than the handle before. */
static void the_next_handle_has_seen_what_the_last_had_seen(void **state)
{
    struct strbuf blob = blob_of_a_session();
    struct engine *e = new_engine();

    (void)state;
    assert_int_equal(blob_attach(e, view(&blob)), 0);
    assert_int_equal(e->core->last_zxid, 0x500000007);
    assert_int_equal(e->core->newest_zxid, 0x500000007);
    engine_unref(e);
    strbuf_fini(&blob);
}

static void expect_refused(struct bytes blob)
{
    struct pawl_bytes view = {blob.data, blob.len};
    struct engine *e = new_engine();

    assert_int_equal(blob_attach(e, view), PAWL_ERR_BAD_ARGUMENTS);
    engine_unref(e);
}

static void no_part_of_it_is_enough(void **state)
{
    struct strbuf blob = blob_of_a_session();

    (void)state;
    for (size_t len = 0; len < blob.len; len++) {
        expect_refused(bytes_of(blob.data, len));
    }
    strbuf_fini(&blob);
}

/* Magic, version, session; then the length of the password. */
enum { VERSION_AT = 4, SESSION_AT = 8, PASSWORD_AT = 16 };

static void what_is_no_blob_of_ours_is_refused(void **state)
{
    struct strbuf blob = blob_of_a_session();

    (void)state;
    blob.data[0] ^= 1;
    expect_refused(strbuf_bytes(&blob));
    blob.data[0] ^= 1;
    blob.data[VERSION_AT + 3]++; /* of a later library, which knows more */
    expect_refused(strbuf_bytes(&blob));
    blob.data[VERSION_AT + 3]--;
    store_u64(blob.data + SESSION_AT, 0);
    expect_refused(strbuf_bytes(&blob));
    strbuf_fini(&blob);
}

static void a_password_of_another_length_is_refused(void **state)
{
    struct strbuf blob = blob_of_a_session(), shorter;
    size_t rest = PASSWORD_AT + 4 + PASSWORD_BYTES;

    (void)state;
    strbuf_init(&shorter, STRBUF_NO_LIMIT);
    strbuf_append(&shorter, blob.data, PASSWORD_AT);
    jute_write_buffer(&shorter, bytes_of("pp", 2));
    strbuf_append(&shorter, blob.data + rest, blob.len - rest);
    expect_refused(strbuf_bytes(&shorter));
    strbuf_fini(&shorter);
    strbuf_fini(&blob);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_handle_has_the_session),
        cmocka_unit_test(the_next_handle_has_seen_what_the_last_had_seen),
        cmocka_unit_test(no_part_of_it_is_enough),
        cmocka_unit_test(what_is_no_blob_of_ours_is_refused),
        cmocka_unit_test(a_password_of_another_length_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
