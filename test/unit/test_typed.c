/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that were typed: their file, and what is kept of them. */
#define _GNU_SOURCE
#include "cli/typed.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "lib/test.h"

enum { FILE_LIMIT_BYTES = 1 << 20 };

static char folder[64], file[96];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/pawl-typed-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/history", folder);
    setenv("PAWL_HISTORY", file, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder); /* nothing else is left behind */
}

static void write_file(struct bytes text)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_int_equal(write(fd, text.data, text.len), text.len);
    close(fd);
}

static off_t file_size(void)
{
    struct stat info;

    assert_int_equal(stat(file, &info), 0);
    return info.st_size;
}

/* What typed_open() tells. */
struct told {
    size_t n;
    struct strbuf first, last;
};

static void hear(const char *line, void *arg)
{
    struct told *t = arg;

    strbuf_clear(&t->last);
    strbuf_append_str(&t->last, line);
    if (t->n++ == 0) {
        strbuf_append_str(&t->first, line);
    }
}

static struct told open_history(struct typed *h)
{
    struct told t = {0};

    strbuf_init(&t.first, STRBUF_NO_LIMIT);
    strbuf_init(&t.last, STRBUF_NO_LIMIT);
    typed_open(h, hear, &t);
    return t;
}

static void told_fini(struct told *t)
{
    strbuf_fini(&t->first);
    strbuf_fini(&t->last);
}

static void assert_told(size_t n, const char *first, const char *last)
{
    struct typed h;
    struct told t = open_history(&h);

    assert_int_equal(t.n, n);
    assert_string_equal(strbuf_cstr(&t.first), first);
    assert_string_equal(strbuf_cstr(&t.last), last);
    told_fini(&t);
    typed_close(&h);
}

static void append_numbered(struct strbuf *text, int n)
{
    for (int i = 0; i < n; i++) {
        strbuf_printf(text, "get /%d\n", i);
    }
}

static void a_file_of_many_lines_is_cut_down(void **state)
{
    struct strbuf text;

    (void)state;
    strbuf_init(&text, STRBUF_NO_LIMIT);
    append_numbered(&text, 2 * TYPED_KEPT);
    write_file(strbuf_bytes(&text));
    assert_told(TYPED_KEPT, "get /1000", "get /1999");
    assert_int_equal(file_size(), text.len); /* not at every start */
    append_numbered(&text, 1);
    write_file(strbuf_bytes(&text));
    assert_told(TYPED_KEPT, "get /1001", "get /0");
    assert_true(file_size() < (off_t)text.len);
    assert_told(TYPED_KEPT, "get /1001", "get /0");
    strbuf_fini(&text);
}

static void a_file_of_long_lines_is_cut_down(void **state)
{
    struct strbuf text;

    (void)state;
    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_printf(&text, "oldest\n%0*d\nnewest\n", FILE_LIMIT_BYTES, 0);
    write_file(strbuf_bytes(&text));
    assert_told(1, "newest", "newest"); /* no half of a line */
    assert_int_equal(file_size(), strlen("newest\n"));
    strbuf_fini(&text);
}

static void what_one_shell_appends_is_bounded(void **state)
{
    struct typed h;
    struct told t = open_history(&h);
    char line[4000];

    (void)state;
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    for (int i = 0; i < 600; i++) {
        typed_add(&h, line);
        assert_true(file_size() <= FILE_LIMIT_BYTES + (off_t)sizeof(line));
    }
    typed_add(&h, "newest");
    told_fini(&t);
    typed_close(&h);
    t = open_history(&h);
    assert_true(t.n > 100);
    assert_string_equal(strbuf_cstr(&t.first), line);
    assert_string_equal(strbuf_cstr(&t.last), "newest");
    told_fini(&t);
    typed_close(&h);
}

static void a_line_that_is_too_long_is_not_written(void **state)
{
    struct strbuf text;
    struct typed h;
    struct told t = open_history(&h);

    (void)state;
    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_printf(&text, "%0*d", FILE_LIMIT_BYTES, 0);
    typed_add(&h, "before");
    assert_string_equal(typed_add(&h, strbuf_cstr(&text)), strbuf_cstr(&text));
    typed_add(&h, "behind");
    told_fini(&t);
    typed_close(&h);
    assert_told(2, "before", "behind");
    strbuf_fini(&text);
}

static void a_file_that_is_no_text(void **state)
{
    static const char text[] = "one\0two\nthree\n\nlast, without an end";
    struct typed h;
    struct told t;

    (void)state;
    write_file(bytes_of(text, sizeof(text) - 1));
    t = open_history(&h);
    typed_add(&h, "four");
    told_fini(&t);
    typed_close(&h);
    assert_told(4, "one two", "four");
}

/* A disk that is full, or as here a limit: the old file is better than half of a new one. */
static void a_file_that_cannot_be_cut_down_stays(void **state)
{
    struct rlimit before, small = {.rlim_cur = 5000};
    struct strbuf text;

    (void)state;
    strbuf_init(&text, STRBUF_NO_LIMIT);
    append_numbered(&text, 2 * TYPED_KEPT + 1);
    write_file(strbuf_bytes(&text));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_told(TYPED_KEPT, "get /1001", "get /2000");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(file_size(), text.len);
    strbuf_fini(&text);
}

/* root reads it all the same: a file that is not one of ours to read is a folder here. */
static void what_cannot_be_read_is_not_replaced(void **state)
{
    (void)state;
    assert_int_equal(mkdir(file, 0700), 0);
    assert_told(0, "", "");
    assert_int_equal(rmdir(file), 0);
    if (geteuid() != 0) {
        struct strbuf text;

        strbuf_init(&text, STRBUF_NO_LIMIT);
        strbuf_printf(&text, "%0*d\n", 2 * FILE_LIMIT_BYTES, 0);
        write_file(strbuf_bytes(&text));
        assert_int_equal(chmod(file, 0200), 0);
        assert_told(0, "", "");
        assert_int_equal(file_size(), text.len);
        strbuf_fini(&text);
    }
}

static void assert_kept(const char *line, const char *expected)
{
    char *kept = typed_without_secrets(line);

    assert_string_equal(kept, expected);
    free(kept);
}

static void credentials_are_not_kept(void **state)
{
    (void)state;
    assert_kept("addauth digest me:secret", "addauth");
    assert_kept("\t'addauth' digest me:secret", "addauth");
    assert_kept("\"add\\x61uth\" digest me:secret", "addauth");
    assert_kept("addauth digest 'me:secret", "addauth");
    assert_kept("'addauth digest me:secret", "addauth");
    assert_kept("help addauth", "help addauth");
    assert_kept("get '/half", "get '/half");
    assert_kept("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_of_many_lines_is_cut_down, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_of_long_lines_is_cut_down, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_one_shell_appends_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_that_is_too_long_is_not_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_cut_down_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_not_replaced, set_up, tear_down),
        cmocka_unit_test(credentials_are_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
