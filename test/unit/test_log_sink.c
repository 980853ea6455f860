/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "daemon/log_sink.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/logging.h"
#include "base/strbuf.h"
#include "lib/test.h"

enum { N_LINES = 5000 };

/* Everything that can be read now. */
static char *read_all(int fd)
{
    struct strbuf text;
    char part[4096];
    ssize_t n;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while ((n = read(fd, part, sizeof(part))) > 0) {
        strbuf_append(&text, part, (size_t)n);
    }
    strbuf_cstr(&text);
    return (char *)text.data;
}

/* Fills it beyond what it takes, then reads, then logs once more. */
static void check_full(int reader, int writer, bool json)
{
    int flags = fcntl(writer, F_GETFL);
    char *first, *second;
    size_t n_read = 0;
    char wanted[64];

    log_sink_install(writer, json, 1);
    for (int i = 0; i < N_LINES; i++) {
        log_info("line %d of many, made long enough by this text to fill what it goes to", i);
    }
    first = read_all(reader);
    for (const char *p = first; (p = strstr(p, "of many")) != NULL; p++) {
        n_read++;
    }
    assert_in_range(n_read, 1, N_LINES - 1);
    log_info("the reader is back");
    second = read_all(reader);
    snprintf(wanted, sizeof(wanted), "%zu log lines were dropped", N_LINES - n_read);
    assert_non_null(strstr(second, wanted));
    assert_non_null(strstr(second, "the reader is back"));
    assert_int_equal(fcntl(writer, F_GETFL), flags); /* others may share it, and rely on them */
    free(first);
    free(second);
    logging_set_sink(NULL, NULL);
}

static void a_full_pipe_drops_lines_and_reports_it(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    check_full(ends[0], ends[1], false);
    close(ends[0]);
    close(ends[1]);
}

static void a_full_socket_drops_lines_and_reports_it(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    check_full(ends[0], ends[1], true);
    close(ends[0]);
    close(ends[1]);
}

static void a_file_gets_every_line(void **state)
{
    char name[] = "test_log_sink.XXXXXX";
    char *text;
    int fd;

    (void)state;
    fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    log_sink_install(fd, false, 7);
    for (int i = 0; i < N_LINES; i++) {
        log_info("line %d.", i);
    }
    logging_set_sink(NULL, NULL);
    lseek(fd, 0, SEEK_SET);
    text = read_all(fd);
    assert_non_null(strstr(text, " [myid:7] - INFO  - line 0.\n"));
    assert_non_null(strstr(text, "line 4999."));
    assert_null(strstr(text, "dropped"));
    free(text);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_pipe_drops_lines_and_reports_it),
        cmocka_unit_test(a_full_socket_drops_lines_and_reports_it),
        cmocka_unit_test(a_file_gets_every_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
