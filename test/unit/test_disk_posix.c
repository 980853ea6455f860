/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "os/disk_posix.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "pawl/error.h"

struct fixture {
    char folder[64];
    struct disk *disk;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    strcpy(f->folder, "/tmp/pawl-disk-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    assert_int_equal(disk_posix_open(f->folder, false, &f->disk), 0);
    *state = f;
    return 0;
}

static void remove_one(const char *name, void *arg)
{
    struct fixture *f = arg;
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", f->folder, name);
    if (unlink(path) != 0) {
        rmdir(path);
    }
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    chmod(f->folder, 0755);
    disk_list(f->disk, "", remove_one, f);
    disk_posix_close(f->disk);
    rmdir(f->folder);
    free(f);
    return 0;
}

static void files_are_written_and_read_at_offsets(void **state)
{
    struct fixture *f = *state;
    struct disk_file *file;
    uint64_t size;
    char text[16];
    size_t n;

    assert_int_equal(disk_open(f->disk, "a", DISK_CREATE, &file), 0);
    assert_int_equal(disk_write(file, 4, "hello", 5), 0);
    assert_int_equal(disk_sync(file), 0);
    assert_int_equal(disk_extend(file, 12), 0);
    assert_int_equal(disk_extend(file, 2), 0); /* never shorter */
    assert_int_equal(disk_size(file, &size), 0);
    assert_int_equal(size, 12);
    assert_int_equal(disk_read(file, 2, text, sizeof(text), &n), 0);
    assert_int_equal(n, 10);
    assert_memory_equal(text, "\0\0hello\0\0\0", 10);
    assert_int_equal(disk_truncate(file, 6), 0);
    assert_int_equal(disk_read(file, 4, text, sizeof(text), &n), 0);
    assert_int_equal(n, 2);
    assert_int_equal(disk_read(file, 100, text, sizeof(text), &n), 0);
    assert_int_equal(n, 0);
    disk_close(file);
    assert_int_equal(disk_open(f->disk, "a", DISK_CREATE, &file), 0); /* empties it */
    assert_int_equal(disk_size(file, &size), 0);
    assert_int_equal(size, 0);
    disk_close(file);
}

static void count_name(const char *name, void *arg)
{
    int *count = arg;

    assert_string_equal(name, "c");
    (*count)++;
}

static void names_are_changed_inside_folders(void **state)
{
    struct fixture *f = *state;
    struct disk_file *file;
    int count = 0;

    assert_int_equal(disk_make_folder(f->disk, "d"), 0);
    assert_int_equal(disk_make_folder(f->disk, "d"), 0);
    assert_int_equal(disk_open(f->disk, "d/b", DISK_CREATE, &file), 0);
    disk_close(file);
    assert_int_equal(disk_rename(f->disk, "d/b", "d/c"), 0);
    assert_int_equal(disk_sync_folder(f->disk, "d"), 0);
    assert_int_equal(disk_sync_folder(f->disk, ""), 0);
    assert_int_equal(disk_list(f->disk, "d", count_name, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(disk_remove(f->disk, "d/c"), 0);
    assert_int_equal(disk_list(f->disk, "nothing", count_name, &count), PAWL_ERR_NOT_FOUND);
}

static void errors_name_the_file_and_the_reason(void **state)
{
    struct fixture *f = *state;
    struct disk_file *file;
    char path[80];

    assert_int_equal(disk_open(f->disk, "x", DISK_READ, &file), PAWL_ERR_NOT_FOUND);
    snprintf(path, sizeof(path), "cannot read %s/x: ", f->folder);
    assert_non_null(strstr(disk_last_error(f->disk), path));
    assert_non_null(strstr(disk_last_error(f->disk), "No such file"));
    assert_int_equal(disk_open(f->disk, "x", DISK_CREATE, &file), 0);
    disk_close(file);
    assert_int_equal(disk_make_folder(f->disk, "x"), PAWL_ERR_IO);
    assert_non_null(strstr(disk_last_error(f->disk), "Not a directory"));
    assert_int_equal(disk_rename(f->disk, "y", "z"), PAWL_ERR_NOT_FOUND);
    assert_int_equal(disk_remove(f->disk, "y"), PAWL_ERR_NOT_FOUND);
}

/* A device that is always full. */
static void a_full_device_is_called_so(void **state)
{
    struct disk_file *file;
    struct disk *dev;

    (void)state;
    assert_int_equal(disk_posix_open("/dev", false, &dev), 0);
    assert_int_equal(disk_open(dev, "full", DISK_WRITE, &file), 0);
    assert_int_equal(disk_write(file, 0, "x", 1), PAWL_ERR_DISK_FULL);
    assert_non_null(strstr(disk_last_error(dev), "/dev/full"));
    disk_close(file);
    disk_posix_close(dev);
}

static void a_missing_folder_is_made_when_asked(void **state)
{
    struct fixture *f = *state;
    struct disk *d;
    char path[128];

    snprintf(path, sizeof(path), "%s/one/two", f->folder);
    assert_int_equal(disk_posix_open(path, false, &d), PAWL_ERR_NOT_FOUND);
    assert_non_null(strstr(disk_posix_open_error(), path));
    assert_int_equal(disk_posix_open(path, true, &d), 0);
    disk_posix_close(d);
    assert_int_equal(rmdir(path), 0);
}

static void a_folder_without_permission_is_called_so(void **state)
{
    struct fixture *f = *state;
    struct disk_file *file;

    if (geteuid() == 0) {
        skip(); /* the superuser may do everything */
    }
    assert_int_equal(chmod(f->folder, 0555), 0);
    assert_int_equal(disk_open(f->disk, "x", DISK_CREATE, &file), PAWL_ERR_PERMISSION);
}

static void a_lock_is_held_by_one_and_names_it(void **state)
{
    struct fixture *f = *state;
    struct disk_lock *first, *second;
    char pid[32];

    assert_int_equal(disk_posix_lock(f->disk, "lock", &first), 0);
    assert_int_equal(disk_posix_lock(f->disk, "lock", &second), PAWL_ERR_BUSY);
    snprintf(pid, sizeof(pid), "process %ld ", (long)getpid());
    assert_non_null(strstr(disk_last_error(f->disk), pid));
    assert_non_null(strstr(disk_last_error(f->disk), f->folder));
    disk_posix_unlock(first);
    assert_int_equal(disk_posix_lock(f->disk, "lock", &second), 0);
    disk_posix_unlock(second);
}

static void a_lock_ends_with_its_process(void **state)
{
    struct fixture *f = *state;
    struct disk_lock *lock;
    int ready[2], status;
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        _exit(disk_posix_lock(f->disk, "lock", &lock) == 0 && write(ready[1], "x", 1) == 1 &&
                      pause() == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(disk_posix_lock(f->disk, "lock", &lock), PAWL_ERR_BUSY);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(disk_posix_lock(f->disk, "lock", &lock), 0);
    disk_posix_unlock(lock);
    close(ready[0]);
    close(ready[1]);
}

enum { MANY_FILES = 256 };

/* As the rest of the process might do: descriptors until there are none. */
static int take_all_descriptors(int *fds)
{
    int n = 0;

    while (n < MANY_FILES && (fds[n] = dup(0)) >= 0) {
        n++;
    }
    return n;
}

static void descriptors_in_reserve_open_what_is_needed(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, few = {MANY_FILES / 2, 0};
    struct disk_file *file, *other;
    int fds[MANY_FILES], n;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    n = take_all_descriptors(fds);
    assert_true(n > 0 && n < MANY_FILES);
    for (int i = 0; i < 20; i++) { /* logs and snapshots, as they come and go */
        assert_int_equal(disk_open(f->disk, "log", DISK_CREATE, &file), 0);
        assert_int_equal(disk_open(f->disk, "snapshot", DISK_CREATE, &other), 0);
        assert_int_equal(disk_sync_folder(f->disk, ""), 0);
        disk_close(file);
        disk_close(other);
        assert_int_equal(dup(0), -1); /* nobody else gets what was given back */
    }
    while (n > 0) {
        close(fds[--n]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_written_and_read_at_offsets, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_changed_inside_folders, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_name_the_file_and_the_reason, setup, teardown),
        cmocka_unit_test(a_full_device_is_called_so),
        cmocka_unit_test_setup_teardown(a_missing_folder_is_made_when_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_without_permission_is_called_so, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lock_is_held_by_one_and_names_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lock_ends_with_its_process, setup, teardown),
        cmocka_unit_test_setup_teardown(descriptors_in_reserve_open_what_is_needed, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
