/* SPDX-License-Identifier: Apache-2.0 */
#include "store/durable.h"

#include "lib/sim_disk.h"
#include "lib/test.h"
#include "pawl/error.h"

#define FOLDER "version-2"
#define PATH   FOLDER "/" DURABLE_FILE

static struct sim_disk *new_folder(void)
{
    struct sim_disk *s = sim_disk_new(1);

    assert_int_equal(disk_make_folder(sim_disk_disk(s), FOLDER), 0);
    assert_int_equal(disk_sync_folder(sim_disk_disk(s), ""), 0);
    return s;
}

static struct durable_known known(struct sim_disk *s)
{
    struct durable_known known = {77, 77};

    assert_int_equal(durable_load(sim_disk_disk(s), FOLDER, &known), 0);
    return known;
}

static int64_t loaded(struct sim_disk *s)
{
    return known(s).zxid;
}

static void a_number_is_read_back(void **state)
{
    static const int64_t zxids[] = {1, 0x2a, 0x100000001, INT64_MAX};
    struct sim_disk *s = new_folder();
    struct durable *d = durable_new(sim_disk_disk(s), FOLDER);

    (void)state;
    assert_int_equal(loaded(s), -1);
    for (size_t i = 0; i < 4; i++) {
        durable_note(d, zxids[i]);
        assert_int_equal(loaded(s), zxids[i]);
        assert_int_equal(sim_disk_get(s, PATH).len, 26);
    }
    durable_free(d);
    sim_disk_free(s);
}

/* A power cut leaves a number that was noted, or none: never another one. */
static void a_crash_leaves_an_older_number(void **state)
{
    struct sim_disk *s = new_folder();
    struct durable *d = durable_new(sim_disk_disk(s), FOLDER);

    (void)state;
    durable_note(d, 5);
    durable_free(d); /* brings it to disk */
    assert_int_equal(disk_sync_folder(sim_disk_disk(s), FOLDER), 0);
    d = durable_new(sim_disk_disk(s), FOLDER);
    durable_note(d, 9);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_int_equal(loaded(s), 5);
    durable_free(d);
    sim_disk_free(s);
}

static void a_changed_byte_makes_it_nothing(void **state)
{
    struct sim_disk *s = new_folder();
    struct durable *d = durable_new(sim_disk_disk(s), FOLDER);
    char text[26];

    (void)state;
    durable_note(d, 0x123456789);
    durable_free(d);
    for (size_t i = 0; i < sizeof(text); i++) {
        memcpy(text, sim_disk_get(s, PATH).data, sizeof(text));
        text[i] ^= 1;
        sim_disk_put(s, PATH, bytes_of(text, sizeof(text)));
        assert_int_equal(loaded(s), -1);
        text[i] ^= 1;
        sim_disk_put(s, PATH, bytes_of(text, sizeof(text)));
        assert_int_equal(loaded(s), 0x123456789);
    }
    sim_disk_put(s, PATH, bytes_of(text, 25));
    assert_int_equal(loaded(s), -1);
    sim_disk_free(s);
}

static void what_is_forgotten_stays_so(void **state)
{
    struct sim_disk *s = new_folder();
    struct durable *d = durable_new(sim_disk_disk(s), FOLDER);

    (void)state;
    durable_note(d, 5);
    durable_free(d);
    assert_int_equal(durable_forget(sim_disk_disk(s), FOLDER), 0);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_int_equal(loaded(s), -1);
    assert_int_equal(durable_forget(sim_disk_disk(s), FOLDER), 0); /* none there */
    sim_disk_free(s);
}

/* What is known of a log is on disk before its first record, and says nothing else. */
static void the_log_that_is_begun_is_named(void **state)
{
    struct sim_disk *s = new_folder();
    struct durable *d = durable_new(sim_disk_disk(s), FOLDER);

    (void)state;
    assert_int_equal(known(s).log, 0);
    durable_begin_log(d, 1);
    assert_int_equal(known(s).log, 1);
    assert_int_equal(known(s).zxid, 0);
    assert_int_equal(disk_sync_folder(sim_disk_disk(s), FOLDER), 0);
    durable_note(d, 5);
    durable_begin_log(d, 6);
    durable_note(d, 7);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_int_equal(known(s).log, 6);
    assert_int_equal(known(s).zxid, 5);
    durable_free(d);
    sim_disk_free(s);
}

/* One line that is harmed takes nothing from the other. */
static void each_line_stands_for_itself(void **state)
{
    struct sim_disk *s = new_folder();
    struct durable *d = durable_new(sim_disk_disk(s), FOLDER);
    char text[52];

    (void)state;
    durable_begin_log(d, 3);
    durable_note(d, 5);
    durable_free(d);
    assert_int_equal(sim_disk_get(s, PATH).len, sizeof(text));
    for (size_t i = 0; i < sizeof(text); i++) {
        memcpy(text, sim_disk_get(s, PATH).data, sizeof(text));
        text[i] ^= 1;
        sim_disk_put(s, PATH, bytes_of(text, sizeof(text)));
        assert_int_equal(known(s).zxid, i < 26 ? -1 : 5);
        assert_int_equal(known(s).log, i < 26 ? 3 : 0);
        text[i] ^= 1;
        sim_disk_put(s, PATH, bytes_of(text, sizeof(text)));
    }
    sim_disk_put(s, PATH, bytes_of(text, 51));
    assert_int_equal(known(s).zxid, 5);
    assert_int_equal(known(s).log, 0);
    sim_disk_free(s);
}

static void a_saved_number_survives_a_crash(void **state)
{
    struct sim_disk *s = new_folder();

    (void)state;
    durable_save(sim_disk_disk(s), FOLDER, 9);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_int_equal(loaded(s), 9);
    sim_disk_free(s);
}

/* An older number is no mistake, so a full disk stops nobody here. */
static void a_number_that_cannot_be_written_stays_older(void **state)
{
    struct sim_disk *s = new_folder();
    struct durable *d = durable_new(sim_disk_disk(s), FOLDER);

    (void)state;
    durable_note(d, 5);
    sim_disk_fail_at(s, sim_disk_calls(s) + 1, PAWL_ERR_DISK_FULL);
    durable_note(d, 6);
    assert_true(loaded(s) == 5 || loaded(s) == -1);
    durable_note(d, 7);
    assert_int_equal(loaded(s), 7);
    durable_free(d);
    sim_disk_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_read_back),
        cmocka_unit_test(a_crash_leaves_an_older_number),
        cmocka_unit_test(a_changed_byte_makes_it_nothing),
        cmocka_unit_test(what_is_forgotten_stays_so),
        cmocka_unit_test(the_log_that_is_begun_is_named),
        cmocka_unit_test(each_line_stands_for_itself),
        cmocka_unit_test(a_saved_number_survives_a_crash),
        cmocka_unit_test(a_number_that_cannot_be_written_stays_older),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
