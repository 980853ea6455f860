/* SPDX-License-Identifier: Apache-2.0 */
#include "sasl/jaas.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "lib/test.h"

/* All that is delivered, as text. */
static bool note(void *arg, const char *module, const char *option, const char *value)
{
    struct strbuf *out = arg;

    if (option == NULL) {
        strbuf_printf(out, "[%s]", module);
    } else {
        strbuf_printf(out, " %s=%s", option, value);
    }
    return strcmp(option == NULL ? "" : option, "stop") != 0;
}

static int parse(const char *text, const char *section, struct strbuf *out,
                 struct jaas_error *error)
{
    strbuf_clear(out);
    return jaas_parse(bytes_str(text), section, note, out, error);
}

static void sections_have_modules_and_options(void **state)
{
    static const struct {
        const char *text, *section, *said;
        int n;
    } cases[] = {
        {"", "Server", "", 0},
        {"Client { a.B required; };", "Server", "", 0},
        {"Server { a.B required; };", "Server", "[a.B]", 1},
        {"Server{a.B required x=\"1\";};", "Server", "[a.B] x=1", 1},
        {"Server { a.B REQUIRED x=1 y=\"2 3\"; c.D optional; };", "Server", "[a.B] x=1 y=2 3[c.D]",
         2},
        {"// one\n/* two\n */ A { a.B required /* x=1 */ y=2; // z=3\n};", "A", "[a.B] y=2", 1},
        {"A { a.B required x=1; }; \"B c\" { d.E required; };", "B c", "[d.E]", 1},
        {"A { a.B required x=\"q\\\"\\\\\\t\\101\"; };", "A", "[a.B] x=q\"\\\tA", 1},
        {"A { a.B required user_\"x\"=1; };", "A", NULL, -1},
        {"A { a.B required k=\"a;b}=//c\"; };", "A", "[a.B] k=a;b}=//c", 1},
        {"A { a.B required p=zk/host@R; };", "A", "[a.B] p=zk/host@R", 1},
    };
    struct jaas_error error;
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse(cases[i].text, cases[i].section, &out, &error), cases[i].n);
        if (cases[i].said != NULL) {
            assert_string_equal(strbuf_cstr(&out), cases[i].said);
        }
    }
    strbuf_fini(&out);
}

static void what_is_wrong_has_its_line_and_no_value(void **state)
{
    static const struct {
        const char *text, *what;
        int line;
    } cases[] = {
        {"A {\n a.B required\n x=\"geheim\n; };", "a '\"' is missing", 4},
        {"A {\n a.B required x=\"geheim\" }\n;", "the name of an option, or ';', is missing", 2},
        {"A {\n a.B required x \"geheim\"; };", "'=' is missing behind the name of an option", 2},
        {"A {\n a.B required x=; };", "an option has no value", 2},
        {"A {\n a.B x=\"geheim\"; };",
         "a flag is missing behind the class of a module: required, "
         "requisite, sufficient or optional",
         2},
        {"A { a.B required x=1; }\n\nB { a.B required; };",
         "';' is missing behind the '}' of a section", 3},
        {"A { };", "a section has no module", 1},
        {"A { a.B required; };\nA { a.B required; };", "there are two sections of this name", 2},
        {"A\n a.B required;", "'{' is missing behind the name of a section", 2},
        {"A { a.B required x=\"${user.home}/geheim\"; };",
         "${...} is not replaced here, write the value itself", 1},
        {"A { a.B required; };\n/* no end", "a comment has no end", 2},
        {"A { a.B required stop=geheim; };", "what stands before this cannot be used", 1},
        {"= { a.B required; };", "the name of a section is missing", 1},
    };
    struct jaas_error error;
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse(cases[i].text, "A", &out, &error), -1);
        assert_string_equal(error.what, cases[i].what);
        assert_int_equal(error.line, cases[i].line);
        assert_null(strstr(error.what, "geheim"));
    }
    strbuf_fini(&out);
}

static void a_word_that_is_too_long_is_told(void **state)
{
    struct jaas_error error;
    struct strbuf text, out;

    (void)state;
    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    strbuf_append_str(&text, "A { a.B required x=\"");
    for (int i = 0; i < JAAS_WORD_BYTES; i++) {
        strbuf_append_str(&text, "y");
    }
    strbuf_append_str(&text, "\"; };");
    assert_int_equal(jaas_parse(strbuf_bytes(&text), "A", note, &out, &error), -1);
    assert_string_equal(error.what, "a word is too long");
    strbuf_fini(&text);
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_have_modules_and_options),
        cmocka_unit_test(what_is_wrong_has_its_line_and_no_value),
        cmocka_unit_test(a_word_that_is_too_long_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
