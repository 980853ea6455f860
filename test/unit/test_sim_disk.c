/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sim_disk.h"

#include "base/disk.h"
#include "lib/test.h"
#include "pawl/error.h"

static struct disk_file *create(struct disk *d, const char *name)
{
    struct disk_file *f;

    assert_int_equal(disk_open(d, name, DISK_CREATE, &f), 0);
    return f;
}

static void write_str(struct disk_file *f, uint64_t offset, const char *text)
{
    assert_int_equal(disk_write(f, offset, text, strlen(text)), 0);
}

static void what_is_written_is_read(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct disk_file *f = create(sim_disk_disk(s), "a");
    char text[16];
    size_t n;

    (void)state;
    write_str(f, 2, "hello");
    assert_int_equal(disk_extend(f, 9), 0);
    assert_int_equal(disk_read(f, 0, text, sizeof(text), &n), 0);
    assert_int_equal(n, 9);
    assert_memory_equal(text, "\0\0hello\0\0", 9);
    disk_close(f);
    assert_int_equal(disk_open(sim_disk_disk(s), "b", DISK_READ, &f), PAWL_ERR_NOT_FOUND);
    sim_disk_free(s);
}

static void only_what_is_synced_survives_the_worst_crash(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct disk *d = sim_disk_disk(s);
    struct disk_file *f = create(d, "a");

    (void)state;
    write_str(f, 0, "synced");
    assert_int_equal(disk_sync(f), 0);
    assert_int_equal(disk_sync_folder(d, ""), 0);
    write_str(f, 0, "SYNCED, and more");
    disk_close(f);
    disk_close(create(d, "b"));
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_bytes_equal(sim_disk_get(s, "a"), bytes_str("synced"));
    assert_true(bytes_is_null(sim_disk_get(s, "b")));
    sim_disk_free(s);
}

static void a_synced_file_without_its_name_is_lost(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct disk_file *f = create(sim_disk_disk(s), "a");

    (void)state;
    write_str(f, 0, "x");
    assert_int_equal(disk_sync(f), 0);
    disk_close(f);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_true(bytes_is_null(sim_disk_get(s, "a")));
    sim_disk_free(s);
}

static void a_rename_is_lost_or_kept_as_a_whole(void **state)
{
    bool old_seen = false, new_seen = false;

    (void)state;
    for (uint64_t seed = 0; seed < 32; seed++) {
        struct sim_disk *s = sim_disk_new(seed);
        struct disk *d = sim_disk_disk(s);

        sim_disk_put(s, "tmp", bytes_str("new"));
        sim_disk_put(s, "file", bytes_str("old"));
        assert_int_equal(disk_rename(d, "tmp", "file"), 0);
        sim_disk_restart(s, SIM_LOSE_SOME);
        if (bytes_equal(sim_disk_get(s, "file"), bytes_str("old"))) {
            assert_bytes_equal(sim_disk_get(s, "tmp"), bytes_str("new"));
            old_seen = true;
        } else {
            assert_bytes_equal(sim_disk_get(s, "file"), bytes_str("new"));
            assert_true(bytes_is_null(sim_disk_get(s, "tmp")));
            new_seen = true;
        }
        sim_disk_free(s);
    }
    assert_true(old_seen && new_seen);
}

/* Four sectors written, none synced: every seed keeps some of them, whole. */
static void sectors_are_torn_apart(void **state)
{
    uint8_t pattern[2048];
    bool mixed = false;

    (void)state;
    memset(pattern, 'x', sizeof(pattern));
    for (uint64_t seed = 0; seed < 32; seed++) {
        struct sim_disk *s = sim_disk_new(seed);
        struct disk_file *f;
        uint8_t zeroes[2048] = {0};
        const uint8_t *p;
        int kept = 0;

        sim_disk_put(s, "a", bytes_of(zeroes, sizeof(zeroes)));
        assert_int_equal(disk_open(sim_disk_disk(s), "a", DISK_WRITE, &f), 0);
        assert_int_equal(disk_write(f, 0, pattern, sizeof(pattern)), 0);
        disk_close(f);
        sim_disk_restart(s, SIM_LOSE_SOME);
        p = sim_disk_get(s, "a").data;
        for (size_t i = 0; i < sizeof(pattern); i += 512) {
            assert_memory_equal(p + i, p[i] == 'x' ? pattern : zeroes, 512);
            kept += p[i] == 'x';
        }
        mixed = mixed || (kept > 0 && kept < 4);
        sim_disk_free(s);
    }
    assert_true(mixed);
}

static void the_chosen_call_fails_and_the_next_succeeds(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct disk_file *f = create(sim_disk_disk(s), "a");

    (void)state;
    sim_disk_fail_at(s, sim_disk_calls(s) + 1, PAWL_ERR_IO);
    assert_int_equal(disk_sync(f), PAWL_ERR_IO);
    assert_non_null(strstr(disk_last_error(sim_disk_disk(s)), "sync a"));
    assert_int_equal(disk_sync(f), 0);
    disk_close(f);
    sim_disk_free(s);
}

static void after_a_crash_nothing_works_until_the_restart(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct disk *d = sim_disk_disk(s);
    struct disk_file *f = create(d, "a");

    (void)state;
    assert_int_equal(disk_sync_folder(d, ""), 0);
    sim_disk_crash_at(s, sim_disk_calls(s) + 1);
    assert_int_equal(disk_write(f, 0, "x", 1), PAWL_ERR_IO);
    assert_true(sim_disk_crashed(s));
    assert_int_equal(disk_sync(f), PAWL_ERR_IO);
    assert_int_equal(disk_sync_folder(d, ""), PAWL_ERR_IO);
    disk_close(f);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_bytes_equal(sim_disk_get(s, "a"), bytes_str(""));
    f = create(d, "b");
    write_str(f, 0, "works");
    disk_close(f);
    sim_disk_free(s);
}

static void a_full_disk_refuses_and_room_comes_back(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct disk_file *f = create(sim_disk_disk(s), "a");
    uint8_t kilobyte[1024] = {1};

    (void)state;
    sim_disk_limit(s, 2048);
    assert_int_equal(disk_extend(f, 1 << 20), 0); /* a hole is free */
    assert_int_equal(disk_write(f, 0, kilobyte, 1024), 0);
    assert_int_equal(disk_write(f, 1024, kilobyte, 1024), 0);
    assert_int_equal(disk_write(f, 2048, kilobyte, 1024), PAWL_ERR_DISK_FULL);
    assert_int_equal(disk_truncate(f, 1024), 0);
    assert_int_equal(disk_write(f, 1024, kilobyte, 1024), 0);
    disk_close(f);
    sim_disk_free(s);
}

static void count_name(const char *name, void *arg)
{
    int *count = arg;

    assert_true(strcmp(name, "x") == 0 || strcmp(name, "y") == 0);
    (*count)++;
}

static void folders_list_their_own_names_only(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct disk *d = sim_disk_disk(s);
    struct disk_file *f;
    int count = 0;

    (void)state;
    assert_int_equal(disk_open(d, "f/x", DISK_CREATE, &f), PAWL_ERR_NOT_FOUND);
    assert_int_equal(disk_make_folder(d, "f"), 0);
    assert_int_equal(disk_make_folder(d, "f"), 0);
    disk_close(create(d, "f/x"));
    disk_close(create(d, "f/y"));
    disk_close(create(d, "z"));
    assert_int_equal(disk_list(d, "f", count_name, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(disk_list(d, "g", count_name, &count), PAWL_ERR_NOT_FOUND);
    sim_disk_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(only_what_is_synced_survives_the_worst_crash),
        cmocka_unit_test(a_synced_file_without_its_name_is_lost),
        cmocka_unit_test(a_rename_is_lost_or_kept_as_a_whole),
        cmocka_unit_test(sectors_are_torn_apart),
        cmocka_unit_test(the_chosen_call_fails_and_the_next_succeeds),
        cmocka_unit_test(after_a_crash_nothing_works_until_the_restart),
        cmocka_unit_test(a_full_disk_refuses_and_room_comes_back),
        cmocka_unit_test(folders_list_their_own_names_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
