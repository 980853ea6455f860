/* SPDX-License-Identifier: Apache-2.0 */
/* A node as a line of JSON: what is taken, and what is refused and why. */
#include "cli/import_line.h"

#include "lib/test.h"
#include "look/base64.h"

static const char *why_not(const char *line, bool without_acls)
{
    struct imported n;
    const char *why = imported_parse(line, strlen(line), without_acls, &n);

    imported_fini(&n);
    return why;
}

static void a_whole_node(void **state)
{
    static const char line[] =
        "{\"path\":\"/a\",\"data\":\"x\\u0000y\",\"ephemeral\":true,\"acl\":"
        "[{\"scheme\":\"world\",\"id\":\"anyone\",\"perms\":\"cr\"},"
        "{\"scheme\":\"ip\",\"id\":\"1.2.3.4\",\"perms\":\"a\"}],\"more\":[1,{}]}";
    struct imported n;

    (void)state;
    assert_null(imported_parse(line, strlen(line), false, &n));
    assert_string_equal(n.path, "/a");
    assert_bytes_equal(strbuf_bytes(&n.data), bytes_of("x\0y", 3));
    assert_true(n.has_data && n.is_ephemeral);
    assert_int_equal(n.acls.n, 2);
    assert_string_equal(n.acls.items[1].id, "1.2.3.4");
    imported_fini(&n);
}

static void no_data_and_empty_data_differ(void **state)
{
    struct imported n;

    (void)state;
    assert_null(imported_parse("{\"path\":\"/\",\"data\":null}", 24, false, &n));
    assert_false(n.has_data);
    imported_fini(&n);
    assert_null(imported_parse("{\"path\":\"/\",\"data\":\"\"}", 22, false, &n));
    assert_true(n.has_data);
    assert_int_equal(n.data.len, 0);
    imported_fini(&n);
}

static void kinds_of_nodes(void **state)
{
    static const char ttl[] = "{\"path\":\"/t\",\"ttl_ms\":1099511627775,\"sequence\":2147483647}";
    struct imported n;

    (void)state;
    assert_null(imported_parse(ttl, strlen(ttl), false, &n));
    assert_int_equal(n.ttl_ms, INT64_C(1099511627775));
    assert_int_equal(n.sequence, INT32_MAX);
    assert_false(n.is_container);
    imported_fini(&n);
    assert_non_null(why_not("{\"path\":\"/t\",\"ttl_ms\":1099511627776}", false));
    assert_non_null(why_not("{\"path\":\"/t\",\"ttl_ms\":0}", false));
    assert_non_null(why_not("{\"path\":\"/t\",\"ttl_ms\":\"5\"}", false));
    assert_non_null(why_not("{\"path\":\"/t\",\"sequence\":-1}", false));
    assert_non_null(why_not("{\"path\":\"/t\",\"sequence\":2147483648}", false));
    assert_non_null(why_not("{\"path\":\"/t\",\"ttl_ms\":5,\"container\":true}", false));
}

static void what_is_no_node(void **state)
{
    (void)state;
    assert_string_equal(why_not("", false), "no line of JSON");
    assert_string_equal(why_not("{\"path\":\"/a\"", false), "no line of JSON");
    assert_string_equal(why_not("{\"path\":\"/a\",\"path\":\"/b\"}", false), "no line of JSON");
    assert_non_null(why_not("[]", false));
    assert_non_null(why_not("{}", false));
    assert_non_null(why_not("{\"path\":7}", false));
    assert_non_null(why_not("{\"path\":\"/a//b\"}", false));
    assert_non_null(why_not("{\"path\":\"a\"}", false));
    assert_non_null(why_not("{\"path\":\"/a\",\"data\":7}", false));
    assert_non_null(why_not("{\"path\":\"/a\",\"data_base64\":\"###\"}", false));
    assert_non_null(why_not("{\"path\":\"/a\",\"acl\":7}", false));
    assert_non_null(why_not("{\"path\":\"/a\",\"acl\":[{\"scheme\":\"world\"}]}", false));
    assert_non_null(why_not(
        "{\"path\":\"/a\",\"acl\":[{\"scheme\":\"w\",\"id\":\"a\",\"perms\":\"z\"}]}", false));
    assert_null(why_not("{\"path\":\"/a\",\"acl\":7}", true));
}

static void base64_there_and_back(void **state)
{
    static const char *const pairs[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}};
    static const char *const bad[] = {
        "Zg=", "Z===", "Zg==Zg==", "Zg\n=", "====", "Zm9v\xff\xff\xff\xff"};
    struct strbuf out;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(pairs); i++) {
        strbuf_init(&out, STRBUF_NO_LIMIT);
        base64_encode(pawl_str(pairs[i][0]), &out);
        assert_string_equal(strbuf_cstr(&out), pairs[i][1]);
        strbuf_clear(&out);
        assert_true(base64_decode(pairs[i][1], &out));
        assert_string_equal(strbuf_cstr(&out), pairs[i][0]);
        strbuf_fini(&out);
    }
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        strbuf_init(&out, STRBUF_NO_LIMIT);
        assert_false(base64_decode(bad[i], &out));
        strbuf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_node),          cmocka_unit_test(no_data_and_empty_data_differ),
        cmocka_unit_test(kinds_of_nodes),        cmocka_unit_test(what_is_no_node),
        cmocka_unit_test(base64_there_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
