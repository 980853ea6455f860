/* SPDX-License-Identifier: Apache-2.0 */
/* test.h - cmocka with what it wants included first, and a few comparisons of our own. */
#ifndef PAWL_TEST_TEST_H
#define PAWL_TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"

#define TEST_COUNT(tests) (sizeof(tests) / sizeof((tests)[0]))

/* Fails with both sides in hexadecimal, from the first difference on. */
#define assert_bytes_equal(actual, expected) \
    assert_bytes_equal_at(actual, expected, __FILE__, __LINE__)

static inline void assert_bytes_equal_at(struct bytes actual, struct bytes expected,
                                         const char *file, int line)
{
    size_t i = 0;

    if (bytes_equal(actual, expected)) {
        return;
    }
    while (i < actual.len && i < expected.len && actual.data[i] == expected.data[i]) {
        i++;
    }
    print_error("%zu bytes, expected %zu; first difference at offset %zu\n", actual.len,
                expected.len, i);
    for (size_t k = i; k < i + 16; k++) {
        print_error("  %zu: %02x, expected %02x\n", k, k < actual.len ? actual.data[k] : 0,
                    k < expected.len ? expected.data[k] : 0);
    }
    _fail(file, line);
}

#define assert_str_view(view, text) assert_bytes_equal(view, bytes_str(text))

#endif
