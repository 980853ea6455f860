/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/http_head.h"

#include <stdlib.h>

#include "lib/test.h"

static int take(const char *text, struct http_head *out)
{
    return http_head_read(text, strlen(text), out);
}

static void what_apache_answers(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\n"
                               "Date: Sun, 15 Nov 2026 02:37:54 GMT\r\n"
                               "last_zxid: 0x2\r\n"
                               "snapshot_size: 604\r\n"
                               "content-length:604 \r\n"
                               "\r\nbody";
    struct http_head h;

    (void)state;
    assert_int_equal(take(text, &h), sizeof(text) - 1 - 4);
    assert_int_equal(h.status, 200);
    assert_int_equal(h.length, 604);
    assert_string_equal(h.last_zxid, "0x2");
    assert_false(h.is_chunked);
    assert_true(take("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 17\r\n\r\n", &h) > 0);
    assert_int_equal(h.status, 429);
    assert_int_equal(h.length, -1);
    assert_string_equal(h.retry_after, "17");
    assert_true(take("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &h) > 0);
    assert_true(h.is_chunked);
    for (size_t i = 0; i < sizeof(text) - 1 - 4; i++) {
        assert_int_equal(http_head_read(text, i, &h), 0); /* not whole yet */
    }
}

static void what_is_none(void **state)
{
    static const char *const wrong[] = {
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 99 x\r\n\r\n",
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
    };
    char *many = malloc(HTTP_HEAD_BYTES + 1);
    struct http_head h;

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        assert_int_equal(take(wrong[i], &h), -1);
    }
    memset(many, 'x', HTTP_HEAD_BYTES);
    assert_int_equal(http_head_read(many, HTTP_HEAD_BYTES, &h), -1);
    assert_int_equal(http_head_read("HTTP/1.1 200 OK\0\r\n\r\n", 20, &h), -1);
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_apache_answers),
        cmocka_unit_test(what_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
