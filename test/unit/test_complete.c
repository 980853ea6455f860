/* SPDX-License-Identifier: Apache-2.0 */
/* What a word can become. The table of commands is a small one of our own. */
#include "cli/complete.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "cli/commands.h"
#include "lib/test.h"

static const struct option_spec options[] = {{'r', "recursive", NULL, ""},
                                             {'q', "quick", NULL, ""},
                                             {0, NULL, NULL, NULL}};
static const struct command ls = {.name = "ls", .options = options};
static const struct command raise_one = {.name = "barrier raise", .options = options};
static const struct command lift_one = {.name = "barrier lift", .options = options};
static const struct command acl = {.name = "acl get", .also = "lsAcl", .options = options};
static const struct command *const table[] = {&ls, &raise_one, &lift_one, &acl};

const struct command *const *commands_all(size_t *n)
{
    *n = sizeof(table) / sizeof(table[0]);
    return table;
}

const struct command *commands_find(int argc, char **argv, int *n_used)
{
    *n_used = 1;
    return argc > 0 && strcmp(argv[0], "ls") == 0 ? &ls : NULL;
}

static void assert_candidates(const char *line, const char *expected)
{
    struct candidates c;
    struct strbuf text;

    complete_line(line, strlen(line), &c);
    strbuf_init(&text, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < c.n; i++) {
        strbuf_printf(&text, "%s%s", i > 0 ? " " : "", c.items[i]);
    }
    assert_string_equal(strbuf_cstr(&text), expected);
    strbuf_fini(&text);
    candidates_fini(&c);
}

static void commands_and_options(void **state)
{
    (void)state;
    assert_candidates("", "acl barrier ls lsAcl");
    assert_candidates("l", "ls lsAcl");
    assert_candidates("help b", "barrier");
    assert_candidates("barrier ", "lift raise");
    assert_candidates("help barrier r", "raise");
    assert_candidates("ls --", "--quick --recursive");
    assert_candidates("ls x", "");
    assert_candidates("nothing -", "");
    assert_candidates("ls '/a b' --q", "--quick");
    assert_candidates("ls 'half /", "");
    assert_candidates("ls \"x", "");
}

static char *common_of(const char *line, const char *const *children, size_t n)
{
    struct candidates c;
    char *common;

    complete_line(line, strlen(line), &c);
    assert_non_null(c.parent);
    for (size_t i = 0; i < n; i++) {
        complete_add_child(&c, children[i]);
    }
    complete_sort(&c);
    common = complete_common(&c);
    candidates_fini(&c);
    return common;
}

static void assert_common(const char *line, const char *one, const char *other,
                          const char *expected)
{
    const char *children[] = {one, other};
    char *common = common_of(line, children, other != NULL ? 2 : 1);

    assert_string_equal(common, expected);
    free(common);
}

static void paths(void **state)
{
    (void)state;
    assert_common("ls /fo", "folder", "food", "/fo");
    assert_common("ls /foo", "folder", "food", "/food");
    assert_common("ls /a/b", "bc", NULL, "/a/bc");
    assert_common("ls /a/x", "bc", NULL, "");
    assert_common("ls /", "with blank", NULL, "/with");
    assert_common("ls /", "esc\033[2J", NULL, "/esc");
    assert_common("ls /", "gr\xc3\xbc", "gr\xc3\xa4", "/gr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_and_options),
        cmocka_unit_test(paths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
