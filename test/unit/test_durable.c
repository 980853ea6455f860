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

static int64_t loaded(struct sim_disk *s)
{
    int64_t zxid = 77;

    assert_int_equal(durable_load(sim_disk_disk(s), FOLDER, &zxid), 0);
    return zxid;
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
        cmocka_unit_test(a_number_that_cannot_be_written_stays_older),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
