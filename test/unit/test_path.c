/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/path.h"

#include "lib/test.h"
#include "lib/vectors.h"

/* What Apache's server answered for one path: create, sequential create, setData, exists. Full
 * validation is setData's first test, so -8 there is its verdict; a NUL is what makes exists say
 * -8. */
static void check_path(const char *row, void *arg)
{
    uint8_t bytes[64];
    char text[128];
    int create, sequential, set_data, exists;
    struct bytes path;

    (void)arg;
    assert_int_equal(
        sscanf(row, "%127s %d %d %d %d", text, &create, &sequential, &set_data, &exists), 5);
    path = bytes_of(bytes, vectors_hex(text, bytes, sizeof(bytes)));
    if (path_is_valid(path) != (set_data != -8)) {
        fail_msg("%s: path_is_valid() disagrees with the recording", text);
    }
    if (path_has_nul(path) != (exists == -8)) {
        fail_msg("%s: path_has_nul() disagrees with the recording", text);
    }
    if (!path_has_slash_no_nul(path)) {
        assert_int_equal(create, -8);
        assert_int_equal(sequential, -8);
    }
}

static void recorded_paths_are_judged_as_recorded(void **state)
{
    (void)state;
    assert_int_equal(vectors_table(VECTORS "/client.txt", "path-check", check_path, NULL), 38);
}

static void null_is_no_path(void **state)
{
    (void)state;
    assert_false(path_is_valid(BYTES_NULL));
    assert_false(path_has_nul(BYTES_NULL));
    assert_false(path_has_slash_no_nul(BYTES_NULL));
}

static void characters_cut_off_at_the_end_are_not_valid(void **state)
{
    static const uint8_t cut[] = {'/', 0xe4, 0xb8}; /* two bytes of three */

    (void)state;
    assert_false(path_is_valid(bytes_of(cut, 2)));
    assert_false(path_is_valid(bytes_of(cut, 3)));
}

static void overlong_forms_are_not_valid(void **state)
{
    (void)state;
    assert_false(path_is_valid(bytes_str("/\xc0\xaf")));     /* '/' in two bytes */
    assert_false(path_is_valid(bytes_str("/\xc1\x81")));     /* 'A' in two */
    assert_false(path_is_valid(bytes_str("/\xe0\x80\xaf"))); /* '/' in three */
    assert_true(path_is_valid(bytes_str("/\xe0\xa0\x80")));  /* U+0800, the first of three */
}

/* Wherever it stands: they are looked at eight at a time where that goes. */
static void every_byte_is_judged_at_every_place(void **state)
{
    (void)state;
    for (size_t len = 3; len < 28; len++) {
        for (size_t at = 1; at < len; at++) {
            for (int byte = 0; byte < 256; byte++) {
                uint8_t path[28] = "/abc ~!defghi-klmnopqrs_uvw";
                bool valid = byte >= 0x20 && byte < 0x7f;

                path[at] = (uint8_t)byte;
                if (byte == '/') {
                    valid = at > 1 && at < len - 1;
                }
                assert_int_equal(path_is_valid(bytes_of(path, len)), valid);
            }
        }
    }
}

static void the_last_slash_is_found_at_every_place(void **state)
{
    uint8_t path[40];

    (void)state;
    for (size_t len = 1; len <= sizeof(path); len++) {
        for (size_t at = 0; at < len; at++) {
            memset(path, '/' + 0x80, len); /* no '/', but all of its other bits */
            memset(path, '/', at);
            path[at] = '/';
            if (at + 1 < len) {
                path[at + 1] = '/' + 1;
            }
            assert_ptr_equal(path_name(bytes_of(path, len)).data, path + at + 1);
            assert_ptr_equal(bytes_last(bytes_of(path, len), '/'), path + at);
            assert_null(bytes_last(bytes_of(path + at + 1, len - at - 1), '/'));
        }
    }
}

static void parent_and_name_split_at_the_last_slash(void **state)
{
    (void)state;
    assert_str_view(path_parent(bytes_str("/a/b/c")), "/a/b");
    assert_str_view(path_name(bytes_str("/a/b/c")), "c");
    assert_str_view(path_parent(bytes_str("/a")), "/");
    assert_str_view(path_name(bytes_str("/a")), "a");
    assert_str_view(path_parent(bytes_str("/")), "/");
    assert_str_view(path_name(bytes_str("/")), "");
    assert_str_view(path_parent(bytes_str("/t/")), "/t");
}

static void within_goes_by_whole_components(void **state)
{
    (void)state;
    assert_true(path_is_within(bytes_str("/a"), bytes_str("/a")));
    assert_true(path_is_within(bytes_str("/a/b"), bytes_str("/a")));
    assert_false(path_is_within(bytes_str("/ab"), bytes_str("/a")));
    assert_false(path_is_within(bytes_str("/"), bytes_str("/a")));
    assert_true(path_is_within(bytes_str("/a"), bytes_str("/")));
    assert_true(path_is_within(bytes_str("/a"), bytes_str("")));
    assert_false(path_is_within(BYTES_NULL, bytes_str("/a")));
}

static void a_walk_meets_every_prefix_with_its_hash(void **state)
{
    static const char *const paths[] = {"/", "/a", "/a/bc/d", "/zookeeper/quota/long-name-in-it/x"};
    struct path_walk walk;
    struct bytes prefix, wanted;
    uint64_t hash;

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        size_t n = 0, n_slashes = 0;

        path_walk_begin(&walk, bytes_str(paths[i]), 5);
        while (path_walk_next(&walk, &prefix, &hash)) {
            assert_true(hash == hash_bytes(prefix.data, prefix.len, 5));
            n++;
        }
        wanted = bytes_str(paths[i]);
        assert_true(bytes_equal(prefix, wanted));
        for (size_t k = 0; k < wanted.len; k++) {
            n_slashes += wanted.data[k] == '/' ? 1 : 0;
        }
        assert_int_equal(n, wanted.len == 1 ? 1 : n_slashes + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_paths_are_judged_as_recorded),
        cmocka_unit_test(null_is_no_path),
        cmocka_unit_test(characters_cut_off_at_the_end_are_not_valid),
        cmocka_unit_test(overlong_forms_are_not_valid),
        cmocka_unit_test(every_byte_is_judged_at_every_place),
        cmocka_unit_test(the_last_slash_is_found_at_every_place),
        cmocka_unit_test(parent_and_name_split_at_the_last_slash),
        cmocka_unit_test(within_goes_by_whole_components),
        cmocka_unit_test(a_walk_meets_every_prefix_with_its_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
