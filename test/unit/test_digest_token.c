/* SPDX-License-Identifier: Apache-2.0 */
#include "sasl/digest_token.h"

#include <stdlib.h>

#include "lib/test.h"

static void lists_of_names_and_values_are_good(void **state)
{
    static const char *const good[] = {
        "",
        "charset=utf-8",
        "realm=\"a\",realm=\"b\",nonce=\"x\"",
        "username=\"a,b=\\\"c\\\"\",nc=00000001,response=0123456789abcdef",
        "rspauth=ea40f60335c427b5527b84dbabcdfffd",
        "authzid=\"\"",
        "nc=00000001 , a=b ",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(digest_token_is_good(bytes_str(good[i])));
    }
}

static void others_are_not(void **state)
{
    static const char *const bad[] = {
        "username",  "username=\"a", "username=\"a\\\"",
        "=a",        "nc=1,nc=1",    "nonce=\"a\",Nonce=\"b\"",
        "nc=1;nc=2", "a=\"b\"c",     "a=b=c",
        ",a=b",      "a b=c",        "charset=utf-8,,nc=1",
    };
    char *much = calloc(1, DIGEST_TOKEN_BYTES + 2);

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(digest_token_is_good(bytes_str(bad[i])));
    }
    assert_false(digest_token_is_good(bytes_of("a=b\0c", 5)));
    memset(much, 'a', DIGEST_TOKEN_BYTES + 1);
    much[1] = '=';
    assert_false(digest_token_is_good(bytes_str(much)));
    much[DIGEST_TOKEN_BYTES] = '\0';
    assert_true(digest_token_is_good(bytes_str(much)));
    free(much);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_names_and_values_are_good),
        cmocka_unit_test(others_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
