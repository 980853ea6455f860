/* SPDX-License-Identifier: Apache-2.0 */
#include "store/mark.h"

#include <string.h>

#include "lib/sim_disk.h"
#include "lib/test.h"
#include "pawl/error.h"

#define FOLDER "version-2"

static struct sim_disk *new_disk(void)
{
    struct sim_disk *s = sim_disk_new(1);

    assert_int_equal(disk_make_folder(sim_disk_disk(s), FOLDER), 0);
    assert_int_equal(disk_sync_folder(sim_disk_disk(s), ""), 0);
    return s;
}

static struct mark load(struct sim_disk *s)
{
    struct mark mark;

    assert_int_equal(mark_load(sim_disk_disk(s), FOLDER, DIVERGED_FILE, &mark), 0);
    return mark;
}

static void nobody_is_marked_at_first(void **state)
{
    struct sim_disk *s = new_disk();

    (void)state;
    assert_false(load(s).is_there);
    assert_int_equal(mark_forget(sim_disk_disk(s), FOLDER, DIVERGED_FILE), 0);
    sim_disk_free(s);
}

static void a_mark_survives_a_power_cut_and_tells_of_what_was_first(void **state)
{
    struct sim_disk *s = new_disk();

    (void)state;
    assert_int_equal(mark_save(sim_disk_disk(s), FOLDER, DIVERGED_FILE, "after setData on /a"), 0);
    assert_int_equal(mark_save(sim_disk_disk(s), FOLDER, DIVERGED_FILE, "after delete on /b"), 0);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_true(load(s).is_there);
    assert_string_equal(load(s).text, "after setData on /a");
    sim_disk_free(s);
}

static void a_forgotten_mark_does_not_come_back(void **state)
{
    struct sim_disk *s = new_disk();

    (void)state;
    assert_int_equal(mark_save(sim_disk_disk(s), FOLDER, DIVERGED_FILE, "after create on /a"), 0);
    assert_int_equal(mark_forget(sim_disk_disk(s), FOLDER, DIVERGED_FILE), 0);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_false(load(s).is_there);
    sim_disk_free(s);
}

static void the_two_marks_have_nothing_to_do_with_each_other(void **state)
{
    struct sim_disk *s = new_disk();
    struct mark mark;

    (void)state;
    assert_int_equal(mark_save(sim_disk_disk(s), FOLDER, DAMAGED_FILE, "log.1"), 0);
    assert_false(load(s).is_there);
    assert_int_equal(mark_forget(sim_disk_disk(s), FOLDER, DIVERGED_FILE), 0);
    assert_int_equal(mark_load(sim_disk_disk(s), FOLDER, DAMAGED_FILE, &mark), 0);
    assert_true(mark.is_there);
    assert_string_equal(mark.text, "log.1");
    sim_disk_free(s);
}

/* That the file is there is what counts. */
static void whatever_it_holds_it_is_a_mark(void **state)
{
    struct sim_disk *s = new_disk();
    char text[2 * MARK_TEXT_BYTES];

    (void)state;
    sim_disk_put(s, FOLDER "/" DIVERGED_FILE, bytes_str(""));
    assert_true(load(s).is_there);
    sim_disk_put(s, FOLDER "/" DIVERGED_FILE, bytes_str("\x1b[2Jx\nsecond"));
    assert_string_equal(load(s).text, "?[2Jx");
    memset(text, 'x', sizeof(text));
    sim_disk_put(s, FOLDER "/" DIVERGED_FILE, bytes_of(text, sizeof(text)));
    assert_int_equal(strlen(load(s).text), MARK_TEXT_BYTES - 1);
    sim_disk_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_marked_at_first),
        cmocka_unit_test(a_mark_survives_a_power_cut_and_tells_of_what_was_first),
        cmocka_unit_test(a_forgotten_mark_does_not_come_back),
        cmocka_unit_test(the_two_marks_have_nothing_to_do_with_each_other),
        cmocka_unit_test(whatever_it_holds_it_is_a_mark),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
