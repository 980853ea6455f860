/* SPDX-License-Identifier: Apache-2.0 */
#include "store/epoch.h"

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

static int load_text(const char *text, int64_t *out)
{
    struct sim_disk *s = sim_disk_new(1);
    int rc;

    sim_disk_put(s, FOLDER "/currentEpoch", bytes_str(text));
    rc = epoch_load(sim_disk_disk(s), FOLDER, EPOCH_CURRENT_FILE, out);
    sim_disk_free(s);
    return rc;
}

static void the_first_line_is_a_number(void **state)
{
    int64_t epoch;

    (void)state;
    assert_int_equal(load_text("1", &epoch), 0);
    assert_int_equal(epoch, 1);
    assert_int_equal(load_text("42\nmore", &epoch), 0);
    assert_int_equal(epoch, 42);
    assert_int_equal(load_text("4294967295", &epoch), 0);
    assert_int_equal(epoch, 4294967295);
    assert_int_equal(load_text("", &epoch), PAWL_ERR_CORRUPT);
    assert_int_equal(load_text("x", &epoch), PAWL_ERR_CORRUPT);
    assert_int_equal(load_text("1 ", &epoch), PAWL_ERR_CORRUPT);
    assert_int_equal(load_text("99999999999999999999", &epoch), PAWL_ERR_CORRUPT);
}

static void a_saved_epoch_is_read_back_without_a_newline(void **state)
{
    struct sim_disk *s = new_disk();
    int64_t epoch;

    (void)state;
    assert_int_equal(epoch_load(sim_disk_disk(s), FOLDER, EPOCH_ACCEPTED_FILE, &epoch),
                     PAWL_ERR_NOT_FOUND);
    assert_int_equal(epoch_save(sim_disk_disk(s), FOLDER, EPOCH_ACCEPTED_FILE, 12), 0);
    sim_disk_restart(s, SIM_LOSE_ALL);
    assert_bytes_equal(sim_disk_get(s, FOLDER "/acceptedEpoch"), bytes_str("12"));
    sim_disk_free(s);
}

/* A crash at every call, losing what it may: the old number or the new one. */
static void saving_is_all_or_nothing(void **state)
{
    int64_t epoch;
    uint64_t n = 0;
    int rc;

    (void)state;
    do {
        n++;
        for (uint64_t seed = 0; seed < 8; seed++) {
            struct sim_disk *s = sim_disk_new(seed);

            sim_disk_put(s, FOLDER "/currentEpoch", bytes_str("3"));
            sim_disk_crash_at(s, n);
            rc = epoch_save(sim_disk_disk(s), FOLDER, EPOCH_CURRENT_FILE, 4);
            sim_disk_restart(s, seed == 0 ? SIM_LOSE_ALL : SIM_LOSE_SOME);
            assert_int_equal(epoch_load(sim_disk_disk(s), FOLDER, EPOCH_CURRENT_FILE, &epoch), 0);
            assert_true(epoch == 4 || (rc != 0 && epoch == 3));
            sim_disk_free(s);
        }
    } while (rc != 0);
    assert_int_equal(n, 6); /* open, write, sync, rename, sync the folder; then none is left */
}

static int start(struct sim_disk *s, int64_t last_zxid, struct epochs *out)
{
    char reason[256];
    int rc = epoch_start(sim_disk_disk(s), FOLDER, last_zxid, out, reason, sizeof(reason));

    assert_int_equal(rc == 0, reason[0] == '\0');
    return rc;
}

static void missing_files_take_the_epoch_of_the_data(void **state)
{
    struct sim_disk *s = new_disk();
    struct epochs e;

    (void)state;
    assert_int_equal(start(s, 0x300000007, &e), 0);
    assert_int_equal(e.current, 3);
    assert_int_equal(e.accepted, 3);
    assert_bytes_equal(sim_disk_get(s, FOLDER "/currentEpoch"), bytes_str("3"));
    assert_bytes_equal(sim_disk_get(s, FOLDER "/acceptedEpoch"), bytes_str("3"));
    sim_disk_free(s);
}

static void data_of_an_epoch_that_was_not_promised_is_refused(void **state)
{
    struct sim_disk *s = new_disk();
    struct epochs e;

    (void)state;
    sim_disk_put(s, FOLDER "/currentEpoch", bytes_str("2"));
    sim_disk_put(s, FOLDER "/acceptedEpoch", bytes_str("2"));
    assert_int_equal(start(s, 0x300000001, &e), PAWL_ERR_CORRUPT);
    assert_bytes_equal(sim_disk_get(s, FOLDER "/currentEpoch"), bytes_str("2"));
    sim_disk_put(s, FOLDER "/acceptedEpoch", bytes_str("4")); /* else it is one that was joined */
    assert_int_equal(start(s, 0x300000001, &e), 0);
    assert_int_equal(e.current, 3);
    assert_int_equal(e.accepted, 4);
    assert_bytes_equal(sim_disk_get(s, FOLDER "/currentEpoch"), bytes_str("3"));
    sim_disk_free(s);
}

static void a_promise_below_the_current_epoch_is_refused(void **state)
{
    struct sim_disk *s = new_disk();
    struct epochs e;

    (void)state;
    sim_disk_put(s, FOLDER "/currentEpoch", bytes_str("5"));
    sim_disk_put(s, FOLDER "/acceptedEpoch", bytes_str("4"));
    assert_int_equal(start(s, 0x400000001, &e), PAWL_ERR_CORRUPT);
    sim_disk_put(s, FOLDER "/acceptedEpoch", bytes_str("no number"));
    assert_int_equal(start(s, 0x400000001, &e), PAWL_ERR_CORRUPT);
    sim_disk_put(s, FOLDER "/acceptedEpoch", bytes_str("6"));
    assert_int_equal(start(s, 0x400000001, &e), 0);
    sim_disk_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_is_a_number),
        cmocka_unit_test(a_saved_epoch_is_read_back_without_a_newline),
        cmocka_unit_test(saving_is_all_or_nothing),
        cmocka_unit_test(missing_files_take_the_epoch_of_the_data),
        cmocka_unit_test(data_of_an_epoch_that_was_not_promised_is_refused),
        cmocka_unit_test(a_promise_below_the_current_epoch_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
