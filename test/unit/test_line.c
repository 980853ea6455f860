/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a line, and the lines of a file. */
#define _POSIX_C_SOURCE 200809L
#include "cli/line.h"

#include <stdlib.h>

#include "lib/test.h"

/* The words with | between them; "(bad)": it is no line. */
static void assert_words(const char *line, const char *expected)
{
    struct line_words words;
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    if (!line_split(line, &words)) {
        strbuf_append_str(&text, "(bad)");
    } else {
        for (int i = 0; i < words.n; i++) {
            strbuf_printf(&text, "%s%s", i > 0 ? "|" : "", words.items[i]);
        }
        assert_null(words.items[words.n]);
        line_words_free(&words);
    }
    assert_string_equal(strbuf_cstr(&text), expected);
    strbuf_fini(&text);
}

static void words_are_parted_by_blanks(void **state)
{
    (void)state;
    assert_words("", "");
    assert_words("  \t\r", "");
    assert_words("get /a", "get|/a");
    assert_words("  create\t-s  /a \r", "create|-s|/a");
}

static void quotes_keep_what_is_inside(void **state)
{
    (void)state;
    assert_words("set /a 'two words'", "set|/a|two words");
    assert_words("set /a \"it's\"", "set|/a|it's");
    assert_words("set '/a'/\"b c\"d ''", "set|/a/b cd|");
    assert_words("'a\\n'", "a\\n");
    assert_words("\"a\\n\\t\\x41\\\\\\\"\\'\"", "a\n\tA\\\"'");
    assert_words("a\\nb", "a\\nb");
}

static void what_is_not_closed_or_unknown_is_no_line(void **state)
{
    (void)state;
    assert_words("get '/a", "(bad)");
    assert_words("get \"/a", "(bad)");
    assert_words("\"\\", "(bad)");
    assert_words("\"\\q\"", "(bad)");
    assert_words("\"\\x4\"", "(bad)");
    assert_words("\"\\xzz\"", "(bad)");
    assert_words("\"\\x00\"", "(bad)");
    assert_words("good words 'then not", "(bad)");
}

static void a_comment_is_to_the_end(void **state)
{
    (void)state;
    assert_words("# get '/a", "");
    assert_words("get /a # 'x", "get|/a");
    assert_words("get /a#b", "get|/a#b");
    assert_words("set /a '#'", "set|/a|#");
}

static void the_command_of_a_line(void **state)
{
    (void)state;
    assert_true(line_is_of("redo 1", "redo"));
    assert_true(line_is_of(" \t'redo' 1", "redo"));
    assert_true(line_is_of("r\"\\x65\"do", "redo"));
    assert_false(line_is_of("redone", "redo"));
    assert_false(line_is_of("", "redo"));
    assert_false(line_is_of("# redo", "redo"));
    assert_false(line_is_of("redo '1", "redo"));
}

static void lines_of_a_file(void **state)
{
    char text[] = "one\n\ntwo, far too long\nlast";
    FILE *file = fmemopen(text, strlen(text), "r");
    struct strbuf line;

    (void)state;
    strbuf_init(&line, 8);
    assert_true(line_read(file, &line));
    assert_string_equal(strbuf_cstr(&line), "one");
    assert_true(line_read(file, &line));
    assert_int_equal(line.len, 0);
    assert_true(line_read(file, &line));
    assert_true(line.failed);
    fclose(file);
    strbuf_fini(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_parted_by_blanks),
        cmocka_unit_test(quotes_keep_what_is_inside),
        cmocka_unit_test(what_is_not_closed_or_unknown_is_no_line),
        cmocka_unit_test(a_comment_is_to_the_end),
        cmocka_unit_test(the_command_of_a_line),
        cmocka_unit_test(lines_of_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
