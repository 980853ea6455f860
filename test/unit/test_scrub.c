/* SPDX-License-Identifier: Apache-2.0 */
/* Which damage is found is in test_damage.c. */
#include "store/scrub.h"

#include <string.h>

#include "lib/sim_disk.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "wire/jute.h"

#define FOLDER "version-2"

/* A log's header, and nothing more. */
static const char header[] = "ZKLG\0\0\0\2\0\0\0\0\0\0\0\0";

static struct sim_disk *disk_with(const char *const *names)
{
    struct sim_disk *s = sim_disk_new(1);
    char path[FILE_PATH_BYTES];

    for (; *names != NULL; names++) {
        file_path(path, FOLDER, *names);
        sim_disk_put(s, path, bytes_of(header, 16));
    }
    return s;
}

static struct scrub_options options_of(struct sim_disk *s)
{
    return (struct scrub_options){
        .snapshot_disk = sim_disk_disk(s), .log_disk = sim_disk_disk(s), .folder = FOLDER};
}

static struct scrub_damage damage_of(bool is_log, int64_t zxid, const char *name)
{
    struct scrub_damage d = {.is_log = is_log, .file.zxid = zxid};

    strcpy(d.file.name, name);
    return d;
}

static bool put_aside(struct sim_disk *s, const struct scrub_damage *d, int64_t zxid)
{
    struct scrub_options options = options_of(s);
    char kept[FILE_NAME_BYTES];
    bool done;

    assert_int_equal(scrub_put_aside(&options, d, zxid, &done, kept), 0);
    return done;
}

static bool is_there(struct sim_disk *s, const char *name)
{
    char path[FILE_PATH_BYTES];

    file_path(path, FOLDER, name);
    return !bytes_is_null(sim_disk_get(s, path));
}

/* A record of transaction `zxid`, an error record: the shortest there is. */
static void put_log(struct sim_disk *s, const char *name, int64_t zxid)
{
    uint8_t log[16 + 12 + 36 + 1];
    uint8_t *payload = log + 28;
    uint32_t a = 1, b = 0;
    char path[FILE_PATH_BYTES];

    memset(log, 0, sizeof(log));
    memcpy(log, header, 16);
    store_u32(log + 24, 36);
    store_u64(payload + 12, (uint64_t)zxid);
    store_u32(payload + 28, (uint32_t)-1);
    for (int i = 0; i < 36; i++) {
        a = (a + payload[i]) % 65521;
        b = (b + a) % 65521;
    }
    store_u64(log + 16, (uint64_t)b << 16 | a);
    log[sizeof(log) - 1] = 'B';
    file_path(path, FOLDER, name);
    sim_disk_put(s, path, bytes_of(log, sizeof(log)));
}

/* With the snapshot 0x5 a start reads from the log that begins with 0x6 on. */
static void a_log_is_put_aside_when_a_later_one_follows_the_snapshot(void **state)
{
    static const char *const none[] = {NULL};
    struct sim_disk *s = disk_with(none);
    struct scrub_damage first = damage_of(true, 1, "log.1");

    (void)state;
    put_log(s, "log.1", 1);
    assert_false(put_aside(s, &first, 5)); /* it may have 0x6 */
    put_log(s, "log.8", 8);
    assert_false(put_aside(s, &first, 5));
    put_log(s, "log.6", 6);
    assert_true(put_aside(s, &first, 5));
    assert_false(is_there(s, "log.1"));
    assert_true(is_there(s, "aside.log.1"));
    assert_true(is_there(s, "log.6"));
    sim_disk_free(s);
}

static void a_snapshot_is_put_aside_when_there_is_a_newer_one(void **state)
{
    static const char *const names[] = {"snapshot.5", NULL};
    struct sim_disk *s = disk_with(names);
    struct scrub_damage d = damage_of(false, 5, "snapshot.5");

    (void)state;
    assert_false(put_aside(s, &d, 5)); /* it has been written anew */
    assert_true(is_there(s, "snapshot.5"));
    assert_true(put_aside(s, &d, 6));
    assert_true(is_there(s, "aside.snapshot.5"));
    sim_disk_free(s);
}

/* Of what is gone nothing is said, and a folder without files is a round. */
static void an_empty_folder_is_soon_read(void **state)
{
    static const char *const none[] = {NULL};
    struct sim_disk *s = disk_with(none);
    struct scrub_options options = options_of(s);
    struct scrub *scrub = scrub_new(&options);
    struct scrub_damage damage;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(scrub_step(scrub, 1, 0, &damage), SCRUB_ROUND);
        assert_int_equal(scrub_bytes(scrub), 0);
    }
    scrub_free(scrub);
    sim_disk_free(s);
}

/* What looks damaged once, because it is written just now, is not told. */
static void damage_is_looked_at_twice(void **state)
{
    static const char *const names[] = {"snapshot.5", NULL};
    struct sim_disk *s = disk_with(names);
    struct scrub_options options = options_of(s);
    struct scrub *scrub = scrub_new(&options);
    struct scrub_damage damage;

    (void)state;
    assert_int_equal(scrub_step(scrub, 1000, 0, &damage), SCRUB_MORE);
    assert_int_equal(scrub_step(scrub, 1000, 0, &damage), SCRUB_DAMAGED);
    assert_string_equal(damage.file.name, "snapshot.5");
    assert_int_equal(scrub_step(scrub, 1000, 0, &damage), SCRUB_ROUND);
    assert_int_equal(scrub_step(scrub, 1000, 0, &damage), SCRUB_MORE);
    assert_int_equal(disk_remove(sim_disk_disk(s), FOLDER "/snapshot.5"), 0);
    assert_int_equal(scrub_step(scrub, 1000, 0, &damage), SCRUB_ROUND);
    scrub_free(scrub);
    sim_disk_free(s);
}

/* A read that fails once is no damage, wherever it is: the second one decides. */
static void what_can_be_read_the_second_time_is_good(void **state)
{
    uint64_t n_damaged = 0;

    (void)state;
    for (uint64_t n = 1; n < 40; n++) {
        static const char *const none[] = {NULL};
        struct sim_disk *s = disk_with(none);
        struct scrub_options options = options_of(s);
        struct scrub *scrub = scrub_new(&options);
        struct scrub_damage damage;
        enum scrub_found found;

        put_log(s, "log.1", 1);
        put_log(s, "log.2", 2);
        sim_disk_fail_at(s, sim_disk_calls(s) + n, PAWL_ERR_IO);
        while ((found = scrub_step(scrub, 100, 2, &damage)) != SCRUB_ROUND) {
            n_damaged += found == SCRUB_DAMAGED;
        }
        scrub_free(scrub);
        sim_disk_free(s);
    }
    assert_int_equal(n_damaged, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_is_put_aside_when_a_later_one_follows_the_snapshot),
        cmocka_unit_test(a_snapshot_is_put_aside_when_there_is_a_newer_one),
        cmocka_unit_test(an_empty_folder_is_soon_read),
        cmocka_unit_test(damage_is_looked_at_twice),
        cmocka_unit_test(what_can_be_read_the_second_time_is_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
