/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file_names.h"

#include "lib/sim_disk.h"
#include "lib/test.h"

static void a_name_is_a_prefix_and_a_number(void **state)
{
    (void)state;
    assert_int_equal(file_name_zxid("log.1a", "log"), 0x1a);
    assert_int_equal(file_name_zxid("log.0", "log"), 0);
    assert_int_equal(file_name_zxid("log.1A", "log"), 0x1a);
    assert_int_equal(file_name_zxid("log.7fffffffffffffff", "log"), INT64_MAX);
    assert_int_equal(file_name_zxid("snapshot.2a.gz", "snapshot"), 0x2a);
    assert_int_equal(file_name_zxid("log.5.bak", "log"), 5); /* as with ZooKeeper */
}

static void other_names_are_none(void **state)
{
    static const char *const names[] = {"log",
                                        "log.",
                                        "log.x",
                                        "log.1g",
                                        "xlog.1",
                                        "log_1",
                                        "logs.1",
                                        "LOG.1",
                                        "aside.log.1",
                                        "tmp.log.1",
                                        "",
                                        ".log.1",
                                        "log.-1",
                                        "pawl.durable",
                                        "log. 1",
                                        "log.8000000000000000",
                                        "log.100000000000000000"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(file_name_zxid(names[i], "log"), -1);
    }
}

static void a_list_is_sorted_by_zxid(void **state)
{
    struct sim_disk *s = sim_disk_new(1);
    struct file_list list;

    (void)state;
    sim_disk_put(s, "v/log.100", bytes_str("x"));
    sim_disk_put(s, "v/log.9", bytes_str("x"));
    sim_disk_put(s, "v/log.1f", bytes_str("x"));
    sim_disk_put(s, "v/snapshot.1", bytes_str("x"));
    sim_disk_put(s, "v/aside.log.2", bytes_str("x"));
    assert_int_equal(file_list_load(sim_disk_disk(s), "v", "log", &list), 0);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.files[0].name, "log.9");
    assert_string_equal(list.files[1].name, "log.1f");
    assert_string_equal(list.files[2].name, "log.100");
    file_list_fini(&list);
    assert_int_equal(file_list_load(sim_disk_disk(s), "nowhere", "log", &list), 0);
    assert_int_equal(list.count, 0);
    file_list_fini(&list);
    sim_disk_free(s);
}

static void a_path_is_the_folder_and_the_name(void **state)
{
    char path[FILE_PATH_BYTES];

    (void)state;
    file_path(path, "version-2", "log.1");
    assert_string_equal(path, "version-2/log.1");
    file_path(path, "", "myid");
    assert_string_equal(path, "myid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_a_prefix_and_a_number),
        cmocka_unit_test(other_names_are_none),
        cmocka_unit_test(a_list_is_sorted_by_zxid),
        cmocka_unit_test(a_path_is_the_folder_and_the_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
