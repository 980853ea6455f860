/* SPDX-License-Identifier: Apache-2.0 */
#include "base/properties.h"

#include "base/strbuf.h"
#include "lib/test.h"
#include "pawl/error.h"

struct syntax_case {
    const char *text;
    const char *pairs; /* "LINE key=value;" for each */
};

static void note_pair(void *arg, int line, const char *key, const char *value)
{
    strbuf_printf(arg, "%d %s=%s;", line, key, value);
}

static void properties_are_read_as_java_reads_them(void **state)
{
    static const struct syntax_case cases[] = {
        {"", ""},
        {"a=b", "1 a=b;"},
        {"a:b\n", "1 a=b;"},
        {"a b\n", "1 a=b;"},
        {"a\tb", "1 a=b;"},
        {"a\fb", "1 a=b;"},
        {"a = b \n", "1 a=b;"},
        {"a : b", "1 a=b;"},
        {"a  :=b", "1 a==b;"},
        {"a = = b", "1 a== b;"},
        {"a", "1 a=;"},
        {"a=", "1 a=;"},
        {"=b", "1 =b;"},
        {"  \t\fa=b", "1 a=b;"},
        {"# c\n! c\n  # c\na=b", "4 a=b;"},
        {"# c \\\na=b", "2 a=b;"},
        {"a=b # no comment", "1 a=b # no comment;"},
        {"\n\r\n\ra=b\rc=d\r\ne=f", "4 a=b;5 c=d;6 e=f;"},
        {"a=b\\\n   c", "1 a=bc;"},
        {"a=b\\\r\n\tc\nd=e", "1 a=bc;3 d=e;"},
        {"a=b\\\n\nd=e", "1 a=b;3 d=e;"},
        {"a=b\\\n# no comment", "1 a=b# no comment;"},
        {"a\\\n=b", "1 a=b;"},
        {"\\\n# a comment\na=b", "3 a=b;"},
        {"a=b\\\\\nc=d", "1 a=b\\;2 c=d;"},
        {"a=b\\\\\\\nc=d", "1 a=b\\c=d;"},
        {"a=b\\", "1 a=b;"},
        {"\\", ""},
        {"a\\ b\\=c\\:d=e", "1 a b=c:d=e;"},
        {"a=\\q\\\"\\t.", "1 a=q\"\t.;"},
        {"a=x\\ny\\rz\\f.", "1 a=x\ny\rz\f.;"},
        {"\\u0061=\\u00fc\\u20AC", "1 a=\xc3\xbc\xe2\x82\xac;"},
        {"a=\\ud83d\\ude00", "1 a=\xf0\x9f\x98\x80;"},
        {"a=\\ud83dx", "1 a=?x;"},
        {"a=\xfc", "1 a=\xc3\xbc;"},
        {"a=\\u0020 b \\u0009", "1 a=b;"},
        {"a=1\na=2\n", "1 a=1;2 a=2;"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct properties_error error;
        struct strbuf pairs;

        strbuf_init(&pairs, STRBUF_NO_LIMIT);
        assert_int_equal(properties_parse(bytes_str(cases[i].text), note_pair, &pairs, &error), 0);
        assert_string_equal(strbuf_cstr(&pairs), cases[i].pairs);
        strbuf_fini(&pairs);
    }
}

static void a_fault_has_its_line_and_ends_the_reading(void **state)
{
    struct properties_error error;
    struct strbuf pairs;

    (void)state;
    strbuf_init(&pairs, STRBUF_NO_LIMIT);
    assert_int_equal(properties_parse(bytes_str("a=1\n\nb=\\u12\nc=3"), note_pair, &pairs, &error),
                     PAWL_ERR_CONFIG);
    assert_int_equal(error.line, 3);
    assert_string_equal(strbuf_cstr(&pairs), "1 a=1;");
    strbuf_fini(&pairs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_are_read_as_java_reads_them),
        cmocka_unit_test(a_fault_has_its_line_and_ends_the_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
