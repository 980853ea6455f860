/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a backup: what is written is read again, and nothing else is. */
#include "cli/files/backup_list.h"

#include <stdio.h>

#include "base/checksum.h"
#include "lib/test.h"

static const char *read_text(const char *text, struct backup_list *l)
{
    backup_list_init(l);
    return backup_list_read(l, bytes_str(text));
}

/* With the sum that these lines have. */
static const char *read_lines(const char *lines, struct backup_list *l)
{
    struct strbuf text;
    const char *why;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_printf(&text, "%send %08x\n", lines, (unsigned)checksum_crc32(0, lines, strlen(lines)));
    why = read_text(strbuf_cstr(&text), l);
    strbuf_fini(&text);
    return why;
}

static void what_is_written_is_read(void **state)
{
    struct backup_list l, again;
    struct strbuf text;

    (void)state;
    backup_list_init(&l);
    l.zxid = 0x700000003;
    l.has_sum = true;
    l.sum = 0x0a0b0c0d;
    backup_list_add(&l, "snapshot.600000001.gz")->bytes = 700;
    *backup_list_add(&l, "log.600000002") =
        (struct backup_file){.name = "log.600000002", .bytes = 1ull << 40, .crc = 7};
    strbuf_init(&text, STRBUF_NO_LIMIT);
    backup_list_write(&l, &text);
    assert_null(read_text(strbuf_cstr(&text), &again));
    assert_int_equal(again.zxid, l.zxid);
    assert_true(again.has_sum);
    assert_int_equal(again.sum, l.sum);
    assert_int_equal(again.n, 2);
    assert_string_equal(again.files[0].name, "snapshot.600000001.gz");
    assert_int_equal(again.files[1].bytes, 1ull << 40);
    assert_int_equal(again.files[1].crc, 7);
    backup_list_fini(&l);
    backup_list_fini(&again);
    strbuf_fini(&text);
}

static void any_other_byte_is_noticed(void **state)
{
    char text[] = "pawl backup 1\nzxid 0x1f -\nsnapshot.1f 10 00000000\nend 00000000\n";
    size_t len = strlen(text);
    struct backup_list l;

    (void)state;
    snprintf(text + len - 9, 10, "%08x\n", (unsigned)checksum_crc32(0, text, len - 13));
    assert_null(read_text(text, &l));
    backup_list_fini(&l);
    for (size_t i = 0; i < len; i++) {
        text[i] ^= 1;
        assert_non_null(read_text(text, &l));
        backup_list_fini(&l);
        text[i] ^= 1;
    }
    for (size_t i = 0; i < len; i++) {
        backup_list_init(&l);
        assert_non_null(backup_list_read(&l, bytes_of((const uint8_t *)text, i)));
        backup_list_fini(&l);
    }
}

static void lines_that_are_none(void **state)
{
    static const char *const wrong[] = {
        "",
        "pawl backup 2\nzxid 0x1 -\n",
        "pawl backup 1\n",
        "pawl backup 1\nzxid\n",
        "pawl backup 1\nzxid 0x8000000000000000 -\n",
        "pawl backup 1\nzxid 0x1 xyz\n",
        "pawl backup 1\nzxid 0x1 -\n../../etc/passwd 1 0\n",
        "pawl backup 1\nzxid 0x1 -\nlog.1/../../x 1 0\n",
        "pawl backup 1\nzxid 0x1 -\nmyid 1 0\n",
        "pawl backup 1\nzxid 0x1 -\nlog.1 -5 0\n",
        "pawl backup 1\nzxid 0x1 -\nlog.1 5\n",
        "pawl backup 1\nzxid 0x1 -\nlog.1 5 0",
    };
    struct backup_list l;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_non_null(read_lines(wrong[i], &l));
        backup_list_fini(&l);
    }
    assert_null(read_lines("pawl backup 1\nzxid -\n", &l));
    assert_int_equal(l.zxid, -1);
    backup_list_fini(&l);
}

static void how_much_log_is_behind_the_newest_snapshot(void **state)
{
    uint64_t snapshot_bytes, log_bytes;
    struct backup_list l;

    (void)state;
    backup_list_init(&l);
    assert_int_equal(backup_list_snapshot(&l, &snapshot_bytes, &log_bytes), -1);
    backup_list_add(&l, "snapshot.10")->bytes = 5;
    backup_list_add(&l, "log.11")->bytes = 100;
    backup_list_add(&l, "snapshot.20")->bytes = 6;
    backup_list_add(&l, "log.21")->bytes = 7;
    backup_list_add(&l, "log.30")->bytes = 8;
    assert_int_equal(backup_list_snapshot(&l, &snapshot_bytes, &log_bytes), 0x20);
    assert_int_equal(snapshot_bytes, 6);
    assert_int_equal(log_bytes, 15);
    backup_list_remove(&l, "snapshot.20");
    assert_int_equal(backup_list_snapshot(&l, &snapshot_bytes, &log_bytes), 0x10);
    assert_int_equal(backup_list_bytes(&l), 120);
    backup_list_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(any_other_byte_is_noticed),
        cmocka_unit_test(lines_that_are_none),
        cmocka_unit_test(how_much_log_is_behind_the_newest_snapshot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
