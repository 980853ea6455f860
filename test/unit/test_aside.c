/* SPDX-License-Identifier: Apache-2.0 */
#include "store/aside.h"

#include "lib/sim_disk.h"
#include "lib/test.h"
#include "pawl/error.h"

#define FOLDER "version-2"

static struct sim_disk *with_file(const char *content, size_t len)
{
    struct sim_disk *s = sim_disk_new(1);

    sim_disk_put(s, FOLDER "/log.1a", bytes_of(content, len));
    return s;
}

static void a_tail_is_copied_without_its_padding_and_cut(void **state)
{
    struct sim_disk *s = with_file("good\0bad\0\0\0\0", 12);
    char kept[FILE_NAME_BYTES];

    (void)state;
    assert_int_equal(aside_tail(sim_disk_disk(s), FOLDER, "log.1a", 5, kept), 0);
    assert_string_equal(kept, "aside.log.1a.5");
    sim_disk_restart(s, SIM_LOSE_ALL); /* all of it is on disk */
    assert_bytes_equal(sim_disk_get(s, FOLDER "/aside.log.1a.5"), bytes_of("bad", 3));
    assert_bytes_equal(sim_disk_get(s, FOLDER "/log.1a"), bytes_of("good\0", 5));
    sim_disk_free(s);
}

static void zeroes_alone_are_not_kept(void **state)
{
    struct sim_disk *s = with_file("good\0\0\0\0", 8);
    char kept[FILE_NAME_BYTES];

    (void)state;
    assert_int_equal(aside_tail(sim_disk_disk(s), FOLDER, "log.1a", 4, kept), 0);
    assert_string_equal(kept, "");
    assert_int_equal(sim_disk_get(s, FOLDER "/log.1a").len, 4);
    sim_disk_free(s);
}

static void what_was_kept_before_is_not_overwritten(void **state)
{
    struct sim_disk *s = with_file("goodbad", 7);
    char kept[FILE_NAME_BYTES];

    (void)state;
    sim_disk_put(s, FOLDER "/aside.log.1a.4", bytes_str("old"));
    assert_int_equal(aside_tail(sim_disk_disk(s), FOLDER, "log.1a", 4, kept), 0);
    assert_string_equal(kept, "aside.log.1a.4.1");
    assert_bytes_equal(sim_disk_get(s, FOLDER "/aside.log.1a.4"), bytes_str("old"));
    assert_bytes_equal(sim_disk_get(s, FOLDER "/aside.log.1a.4.1"), bytes_str("bad"));
    sim_disk_free(s);
}

static void a_whole_file_is_renamed(void **state)
{
    struct sim_disk *s = with_file("all", 3);
    char kept[FILE_NAME_BYTES];

    (void)state;
    assert_int_equal(aside_file(sim_disk_disk(s), FOLDER, "log.1a", kept), 0);
    assert_string_equal(kept, "aside.log.1a");
    assert_bytes_equal(sim_disk_get(s, FOLDER "/aside.log.1a"), bytes_str("all"));
    assert_true(bytes_is_null(sim_disk_get(s, FOLDER "/log.1a")));
    assert_int_equal(file_name_zxid(kept, "log"), -1);
    assert_int_equal(file_name_zxid(kept, "snapshot"), -1);
    sim_disk_free(s);
}

/* Whenever the machine stops, the bytes are in the log or in the copy. */
static void a_crash_loses_no_byte(void **state)
{
    char kept[FILE_NAME_BYTES];
    uint64_t n = 0;
    int rc;

    (void)state;
    do {
        struct sim_disk *s = with_file("goodbad", 7);
        struct bytes log, copy;

        sim_disk_crash_at(s, sim_disk_calls(s) + ++n);
        rc = aside_tail(sim_disk_disk(s), FOLDER, "log.1a", 4, kept);
        sim_disk_restart(s, SIM_LOSE_SOME);
        log = sim_disk_get(s, FOLDER "/log.1a");
        copy = sim_disk_get(s, FOLDER "/aside.log.1a.4");
        assert_true(bytes_equal(log, bytes_str("goodbad")) || bytes_equal(copy, bytes_str("bad")));
        sim_disk_free(s);
    } while (rc != 0);
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tail_is_copied_without_its_padding_and_cut),
        cmocka_unit_test(zeroes_alone_are_not_kept),
        cmocka_unit_test(what_was_kept_before_is_not_overwritten),
        cmocka_unit_test(a_whole_file_is_renamed),
        cmocka_unit_test(a_crash_loses_no_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
