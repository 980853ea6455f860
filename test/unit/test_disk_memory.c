/* SPDX-License-Identifier: Apache-2.0 */
#include "os/disk_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "pawl/error.h"

enum { LIMIT = 1 << 20 };

static struct disk_memory *memory;
static struct disk *disk;

static int setup(void **state)
{
    (void)state;
    memory = disk_memory_new(LIMIT);
    disk = disk_memory_disk(memory);
    return disk_make_folder(disk, "a");
}

static int teardown(void **state)
{
    (void)state;
    disk_memory_free(memory);
    return 0;
}

static struct disk_file *opened(const char *name, enum disk_mode mode)
{
    struct disk_file *f = NULL;

    assert_int_equal(disk_open(disk, name, mode, &f), PAWL_OK);
    return f;
}

static void write_at(struct disk_file *f, uint64_t offset, const char *text)
{
    assert_int_equal(disk_write(f, offset, text, strlen(text)), PAWL_OK);
}

/* What is in it, with '.' for zero; static memory. */
static const char *content(const char *name)
{
    static char text[128];
    struct disk_file *f;
    size_t n = 0;

    if (disk_open(disk, name, DISK_READ, &f) != PAWL_OK) {
        return "none";
    }
    assert_int_equal(disk_read(f, 0, text, sizeof(text) - 1, &n), PAWL_OK);
    disk_close(f);
    for (size_t i = 0; i < n; i++) {
        text[i] = text[i] == '\0' ? '.' : text[i];
    }
    text[n] = '\0';
    return text;
}

static void put(const char *name, const char *text)
{
    struct disk_file *f = opened(name, DISK_CREATE);

    write_at(f, 0, text);
    assert_int_equal(disk_sync(f), PAWL_OK);
    disk_close(f);
}

static void crash(void)
{
    disk_memory_cut(memory);
    disk_memory_restore(memory);
}

static void what_was_not_written_reads_as_zero(void **state)
{
    struct disk_file *f = opened("a/f", DISK_CREATE);
    uint64_t size;

    (void)state;
    write_at(f, 2, "xy");
    assert_string_equal(content("a/f"), "..xy");
    assert_int_equal(disk_extend(f, 6), PAWL_OK);
    assert_int_equal(disk_extend(f, 1), PAWL_OK);
    assert_string_equal(content("a/f"), "..xy..");
    assert_int_equal(disk_truncate(f, 3), PAWL_OK);
    write_at(f, 5, "z");
    assert_string_equal(content("a/f"), "..x..z");
    assert_int_equal(disk_size(f, &size), PAWL_OK);
    assert_int_equal(size, 6);
    disk_close(f);
}

static void a_hole_is_passed_over_and_costs_nothing(void **state)
{
    struct disk_file *f = opened("a/f", DISK_CREATE);

    (void)state;
    write_at(f, 0, "abc");
    assert_int_equal(disk_extend(f, 10 * (uint64_t)LIMIT), PAWL_OK);
    assert_int_equal(disk_data_after(f, 2), 2);
    assert_int_equal(disk_data_after(f, 3), 10 * (uint64_t)LIMIT);
    assert_int_equal(disk_data_after(f, 11 * (uint64_t)LIMIT), 11 * (uint64_t)LIMIT);
    disk_close(f);
}

static void what_was_synced_stays_and_the_rest_is_undone(void **state)
{
    struct disk_file *f;

    (void)state;
    put("a/f", "hello");
    assert_int_equal(disk_sync_folder(disk, "a"), PAWL_OK);
    f = opened("a/f", DISK_WRITE);
    write_at(f, 1, "ipp");
    write_at(f, 5, " world");
    write_at(f, 0, "J");
    assert_string_equal(content("a/f"), "Jippo world");
    disk_close(f);
    crash();
    assert_string_equal(content("a/f"), "hello");
    f = opened("a/f", DISK_WRITE);
    assert_int_equal(disk_truncate(f, 2), PAWL_OK);
    assert_int_equal(disk_extend(f, 4), PAWL_OK);
    write_at(f, 3, "!");
    assert_string_equal(content("a/f"), "he.!");
    disk_close(f);
    crash();
    assert_string_equal(content("a/f"), "hello");
    disk_close(opened("a/f", DISK_CREATE));
    assert_string_equal(content("a/f"), "");
    crash();
    assert_string_equal(content("a/f"), "hello");
}

static void a_sync_in_between_divides(void **state)
{
    struct disk_file *f;

    (void)state;
    put("a/f", "one");
    assert_int_equal(disk_sync_folder(disk, "a"), PAWL_OK);
    f = opened("a/f", DISK_WRITE);
    write_at(f, 3, " two");
    assert_int_equal(disk_sync(f), PAWL_OK);
    write_at(f, 7, " three");
    disk_close(f);
    crash();
    assert_string_equal(content("a/f"), "one two");
}

static void names_are_kept_when_their_folder_is_synced(void **state)
{
    (void)state;
    put("a/f", "old");
    put("a/g", "new");
    crash();
    assert_string_equal(content("a/f"), "none");
    put("a/f", "old");
    put("a/g", "new");
    assert_int_equal(disk_sync_folder(disk, ""), PAWL_OK);
    assert_int_equal(disk_sync_folder(disk, "a"), PAWL_OK);
    assert_int_equal(disk_rename(disk, "a/g", "a/f"), PAWL_OK);
    assert_int_equal(disk_remove(disk, "a/f"), PAWL_OK);
    assert_string_equal(content("a/f"), "none");
    crash();
    assert_string_equal(content("a/f"), "old");
    assert_string_equal(content("a/g"), "new");
    assert_int_equal(disk_rename(disk, "a/g", "a/f"), PAWL_OK);
    assert_int_equal(disk_sync_folder(disk, "a"), PAWL_OK);
    crash();
    assert_string_equal(content("a/f"), "new");
    assert_string_equal(content("a/g"), "none");
}

static void a_full_disk_refuses_and_has_room_again(void **state)
{
    struct disk_file *f = opened("a/f", DISK_CREATE);
    char *much = calloc(1, LIMIT);

    (void)state;
    assert_int_equal(disk_write(f, 0, much, LIMIT), PAWL_OK);
    assert_int_equal(disk_write(f, LIMIT, "x", 1), PAWL_ERR_DISK_FULL);
    assert_non_null(strstr(disk_last_error(disk), "a/f"));
    assert_int_equal(disk_write(f, 7, "x", 1), PAWL_OK);
    disk_close(f);
    assert_int_equal(disk_sync_folder(disk, "a"), PAWL_OK);
    assert_int_equal(disk_remove(disk, "a/f"), PAWL_OK);
    assert_int_equal(disk_sync_folder(disk, "a"), PAWL_OK);
    put("a/g", "there is room");
    free(much);
}

static void without_power_every_call_fails(void **state)
{
    struct disk_file *f = opened("a/f", DISK_CREATE), *other;
    uint64_t size;
    size_t n;
    char c;

    (void)state;
    disk_memory_cut(memory);
    assert_int_equal(disk_write(f, 0, "x", 1), PAWL_ERR_CLOSING);
    assert_int_equal(disk_read(f, 0, &c, 1, &n), PAWL_ERR_CLOSING);
    assert_int_equal(disk_sync(f), PAWL_ERR_CLOSING);
    assert_int_equal(disk_extend(f, 9), PAWL_ERR_CLOSING);
    assert_int_equal(disk_truncate(f, 0), PAWL_ERR_CLOSING);
    assert_int_equal(disk_size(f, &size), PAWL_ERR_CLOSING);
    assert_int_equal(disk_open(disk, "a/f", DISK_READ, &other), PAWL_ERR_CLOSING);
    assert_int_equal(disk_rename(disk, "a/f", "a/g"), PAWL_ERR_CLOSING);
    assert_int_equal(disk_remove(disk, "a/f"), PAWL_ERR_CLOSING);
    assert_int_equal(disk_make_folder(disk, "b"), PAWL_ERR_CLOSING);
    assert_int_equal(disk_sync_folder(disk, "a"), PAWL_ERR_CLOSING);
    disk_close(f);
    disk_memory_restore(memory);
    assert_string_equal(content("a/f"), "none");
}

static void count_name(const char *name, void *arg)
{
    int *count = arg;

    (*count)++;
    assert_int_equal(strlen(name), 1);
    disk_remove(disk, "a/f"); /* it may change what is listed */
}

static void folders_are_folders(void **state)
{
    struct disk_file *f;
    int count = 0;

    (void)state;
    put("a/f", "1");
    put("a/g", "2");
    put("h", "3");
    assert_int_equal(disk_make_folder(disk, "a"), PAWL_OK);
    assert_int_equal(disk_make_folder(disk, "a/b"), PAWL_OK);
    assert_int_equal(disk_make_folder(disk, "h"), PAWL_ERR_IO);
    assert_int_equal(disk_make_folder(disk, "x/y"), PAWL_ERR_IO);
    assert_int_equal(disk_open(disk, "x/f", DISK_CREATE, &f), PAWL_ERR_NOT_FOUND);
    assert_int_equal(disk_open(disk, "a", DISK_CREATE, &f), PAWL_ERR_NOT_FOUND);
    assert_int_equal(disk_open(disk, "i", DISK_WRITE, &f), PAWL_ERR_NOT_FOUND);
    assert_int_equal(disk_rename(disk, "i", "k"), PAWL_ERR_NOT_FOUND);
    assert_int_equal(disk_rename(disk, "h", "x/h"), PAWL_ERR_NOT_FOUND);
    assert_int_equal(disk_remove(disk, "i"), PAWL_ERR_NOT_FOUND);
    assert_int_equal(disk_list(disk, "x", count_name, &count), PAWL_ERR_NOT_FOUND);
    assert_int_equal(disk_list(disk, "a", count_name, &count), PAWL_OK);
    assert_int_equal(count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_not_written_reads_as_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hole_is_passed_over_and_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_synced_stays_and_the_rest_is_undone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_sync_in_between_divides, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_kept_when_their_folder_is_synced, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_refuses_and_has_room_again, setup, teardown),
        cmocka_unit_test_setup_teardown(without_power_every_call_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(folders_are_folders, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
