/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "lib/test.h"

static void it_is_a_copy(void **state)
{
    char text[] = "payload";
    struct buf *b = buf_copy(bytes_str(text));

    (void)state;
    text[0] = 'x';
    assert_str_view(buf_bytes(b), "payload");
    buf_unref(b);
}

static void nothing_can_be_copied_and_null_released(void **state)
{
    struct buf *b = buf_copy(BYTES_NULL);

    (void)state;
    assert_int_equal(b->len, 0);
    buf_unref(b);
    buf_unref(NULL);
}

static void *take_and_give_back(void *arg)
{
    struct buf *b = arg;

    for (int i = 0; i < 10000; i++) {
        buf_unref(buf_ref(b));
    }
    buf_unref(b);
    return NULL;
}

/* The last one to let go frees it, whichever thread that is; the sanitizers would tell. */
static void references_are_counted_across_threads(void **state)
{
    struct buf *b = buf_copy(bytes_str("shared"));
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give_back, buf_ref(b)), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(b->refs, 1);
    buf_unref(b);
}

static void a_copied_string_has_its_nul(void **state)
{
    char *s = must_copy_string(bytes_of("abcdef", 3));

    (void)state;
    assert_string_equal(s, "abc");
    free(s);
    s = must_copy_string(BYTES_NULL);
    assert_string_equal(s, "");
    free(s);
}

static void null_and_empty_views_differ(void **state)
{
    (void)state;
    assert_false(bytes_equal(BYTES_NULL, bytes_str("")));
    assert_true(bytes_equal(BYTES_NULL, BYTES_NULL));
    assert_true(bytes_equal(bytes_str("a"), bytes_str("a")));
    assert_false(bytes_equal(bytes_str("a"), bytes_str("ab")));
    assert_false(bytes_equal_str(BYTES_NULL, ""));
    assert_true(bytes_starts_with(bytes_str("/zookeeper/quota"), "/zookeeper"));
    assert_false(bytes_starts_with(bytes_str("/zoo"), "/zookeeper"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_copy),
        cmocka_unit_test(nothing_can_be_copied_and_null_released),
        cmocka_unit_test(references_are_counted_across_threads),
        cmocka_unit_test(a_copied_string_has_its_nul),
        cmocka_unit_test(null_and_empty_views_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
