/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json_writer.h"

#include "lib/test.h"

struct page {
    struct strbuf out;
    struct json_writer w;
};

static void begin(struct page *p)
{
    strbuf_init(&p->out, STRBUF_NO_LIMIT);
    json_writer_init(&p->w, &p->out);
    json_open_object(&p->w, NULL);
}

static void assert_page(struct page *p, const char *expected)
{
    json_close_object(&p->w);
    assert_string_equal(strbuf_cstr(&p->out), expected);
    json_writer_fini(&p->w);
    strbuf_fini(&p->out);
}

static void objects_in_lists_are_laid_out_as_by_java(void **state)
{
    struct page p;

    (void)state;
    begin(&p);
    json_open_list(&p.w, "digests");
    for (int i = 1; i <= 2; i++) {
        json_open_object(&p.w, NULL);
        json_put_integer(&p.w, "zxid", i);
        json_put_integer(&p.w, "digest", -i);
        json_close_object(&p.w);
    }
    json_close_list(&p.w);
    json_put_string(&p.w, "command", "hash");
    json_put_string(&p.w, "error", NULL);
    assert_page(&p, "{\n"
                    "  \"digests\" : [ {\n"
                    "    \"zxid\" : 1,\n"
                    "    \"digest\" : -1\n"
                    "  }, {\n"
                    "    \"zxid\" : 2,\n"
                    "    \"digest\" : -2\n"
                    "  } ],\n"
                    "  \"command\" : \"hash\",\n"
                    "  \"error\" : null\n"
                    "}");
}

static void what_is_empty_has_a_blank_inside(void **state)
{
    struct page p;

    (void)state;
    begin(&p);
    json_open_object(&p.w, "a");
    json_close_object(&p.w);
    json_open_list(&p.w, "b");
    json_close_list(&p.w);
    json_open_list_of(&p.w, bytes_str("c"));
    json_put_bool(&p.w, NULL, true);
    json_put_bool(&p.w, NULL, false);
    json_close_list(&p.w);
    assert_page(&p, "{\n  \"a\" : { },\n  \"b\" : [ ],\n  \"c\" : [ true, false ]\n}");
}

/* Names of nodes come from strangers. */
static void strings_cannot_break_out(void **state)
{
    struct page p;

    (void)state;
    begin(&p);
    json_put_bytes(&p.w, "a", bytes_str("\"\\\n\t\x01\x7f</script>"));
    json_put_bytes(&p.w, "b", bytes_of("x\xff\xc3y\0z", 6));
    json_open_list_of(&p.w, bytes_str("/\"\xc3\xbc"));
    json_close_list(&p.w);
    assert_page(&p, "{\n  \"a\" : \"\\\"\\\\\\n\\u0009\\u0001\\u007f</script>\",\n"
                    "  \"b\" : \"x\xef\xbf\xbd\xef\xbf\xbdy\\u0000z\",\n"
                    "  \"/\\\"\xc3\xbc\" : [ ]\n}");
}

static void numbers_reach_from_end_to_end(void **state)
{
    struct page p;

    (void)state;
    begin(&p);
    json_put_integer(&p.w, "least", INT64_MIN);
    json_put_integer(&p.w, "most", INT64_MAX);
    json_put_integer(&p.w, "none", 0);
    json_put_integer(&p.w, "ten", 10);
    json_put_name(&p.w, "half");
    strbuf_append_str(&p.out, "0.5");
    assert_page(&p, "{\n  \"least\" : -9223372036854775808,\n  \"most\" : 9223372036854775807,\n"
                    "  \"none\" : 0,\n  \"ten\" : 10,\n  \"half\" : 0.5\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_in_lists_are_laid_out_as_by_java),
        cmocka_unit_test(what_is_empty_has_a_blank_inside),
        cmocka_unit_test(strings_cannot_break_out),
        cmocka_unit_test(numbers_reach_from_end_to_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
