/* SPDX-License-Identifier: Apache-2.0 */
#include "server/changes.h"

#include "base/prng.h"
#include "base/strbuf.h"
#include "lib/test.h"
#include "store/acl_table.h"
#include "wire/records.h"

struct past {
    struct changes ch;
    struct acl_table *acls;
};

static void begin(struct past *p, size_t limit)
{
    p->acls = acl_table_new();
    changes_init(&p->ch, limit);
    changes_begin(&p->ch, p->acls, 10);
}

static void end(struct past *p)
{
    changes_clear(&p->ch);
    acl_table_free(p->acls);
}

static void add(struct past *p, int64_t zxid, const char *path, uint32_t acl)
{
    changes_add(&p->ch, zxid, &(struct change){CHANGE_DATA, bytes_str(path), acl, ACL_OPEN, 0});
}

/* An ACL of its own, with a name of so many bytes. */
static uint32_t take_acl(struct past *p, int number, size_t len)
{
    struct strbuf b, id;
    uint32_t acl;

    strbuf_init(&b, STRBUF_NO_LIMIT);
    strbuf_init(&id, STRBUF_NO_LIMIT);
    strbuf_printf(&id, "%0*d", (int)len, number);
    jute_write_int(&b, 1);
    acl_entry_write(&b, &(struct acl_entry){PERM_READ, bytes_str("digest"), strbuf_bytes(&id)});
    acl = acl_table_take(p->acls, strbuf_bytes(&b));
    strbuf_fini(&b);
    strbuf_fini(&id);
    return acl;
}

/* The zxids behind `zxid`, as far as they are there. */
static const char *behind(struct past *p, int64_t zxid)
{
    static char text[256];
    struct changes_cursor c;
    struct past_change change;
    enum changes_step step;
    size_t len = 0;

    if (!changes_seek(&p->ch, zxid, &c)) {
        return "too old";
    }
    text[0] = '\0';
    while ((step = changes_next(&p->ch, &c, &change)) == CHANGES_ONE) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%d ", (int)change.zxid);
    }
    assert_int_equal(step, CHANGES_END);
    return text;
}

static void all_behind_a_zxid_is_there_from_the_beginning_on(void **state)
{
    struct past p;

    (void)state;
    begin(&p, 4096);
    assert_string_equal(behind(&p, 9), "too old");
    assert_string_equal(behind(&p, 10), "");
    assert_string_equal(behind(&p, INT64_MAX), "");
    add(&p, 11, "/a", ACL_OPEN);
    add(&p, 11, "/b", ACL_OPEN);
    add(&p, 0x200000001, "/c", ACL_OPEN);
    assert_string_equal(behind(&p, -1), "too old");
    assert_string_equal(behind(&p, 10), "11 11 1 ");
    assert_string_equal(behind(&p, 11), "1 ");
    assert_string_equal(behind(&p, 0x1ffffffff), "1 ");
    assert_string_equal(behind(&p, 0x200000001), "");
    end(&p);
}

static void a_change_comes_out_as_it_went_in(void **state)
{
    struct past p;
    struct changes_cursor c;
    struct past_change out;
    uint32_t acl, parent;

    (void)state;
    begin(&p, 4096);
    acl = take_acl(&p, 1, 3);
    parent = take_acl(&p, 2, 3);
    changes_add(&p.ch, 12, &(struct change){CHANGE_DELETED, bytes_str("/a/b"), acl, parent, 0});
    assert_true(changes_seek(&p.ch, 11, &c));
    assert_int_equal(changes_next(&p.ch, &c, &out), CHANGES_ONE);
    assert_int_equal(out.zxid, 12);
    assert_int_equal(out.kind, CHANGE_DELETED);
    assert_int_equal(out.acl, acl);
    assert_int_equal(out.parent_acl, parent);
    assert_bytes_equal(out.path, bytes_str("/a/b"));
    end(&p);
}

static void the_oldest_go_and_a_transaction_is_there_whole_or_not(void **state)
{
    struct past p;

    (void)state;
    begin(&p, 16 * 256);
    for (int64_t zxid = 11; zxid < 2011; zxid++) {
        add(&p, zxid, "/some/path", ACL_OPEN);
        add(&p, zxid, "/some/other/path", ACL_OPEN);
        assert_true(p.ch.bytes <= p.ch.limit);
    }
    assert_true(p.ch.base > 1900);
    assert_false(changes_seek(&p.ch, p.ch.base - 1, &(struct changes_cursor){0}));
    assert_true(changes_seek(&p.ch, p.ch.base, &(struct changes_cursor){0}));
    assert_string_equal(behind(&p, 2009), "2010 2010 ");
    end(&p);
}

static void what_is_too_large_or_not_wanted_leaves_a_gap_and_nothing_else(void **state)
{
    static char path[5000];
    struct past p;

    (void)state;
    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';
    begin(&p, 4096);
    add(&p, 11, path, ACL_OPEN);
    assert_int_equal(p.ch.bytes, 0);
    assert_string_equal(behind(&p, 10), "too old");
    assert_string_equal(behind(&p, 11), "");
    end(&p);
    begin(&p, 0);
    add(&p, 11, "/a", ACL_OPEN);
    assert_string_equal(behind(&p, 10), "too old");
    assert_string_equal(behind(&p, 11), "");
    end(&p);
}

/* A thousand nodes with long lists of their own, all deleted: nothing else holds the lists. */
static void long_acls_are_held_counted_and_given_back(void **state)
{
    struct past p;
    uint32_t last = 0;

    (void)state;
    begin(&p, 64 * 1024);
    for (int i = 0; i < 1000; i++) {
        last = take_acl(&p, i, 4000);
        add(&p, 11 + i, "/a", last);
        acl_table_release(p.acls, last);
        assert_true(acl_table_count(p.acls) <= 17);
    }
    assert_true(acl_table_known(p.acls, last));
    changes_clear(&p.ch);
    assert_int_equal(acl_table_count(p.acls), 0);
    end(&p);
}

/* Its number may become that of a list: that one is not the change's. */
static void an_unknown_acl_stays_nobodys(void **state)
{
    struct past p;
    struct changes_cursor c;
    struct past_change out;
    uint32_t later;

    (void)state;
    begin(&p, 4096);
    add(&p, 11, "/a", 1);
    later = take_acl(&p, 1, 3);
    assert_int_equal(later, 1);
    assert_true(changes_seek(&p.ch, 10, &c));
    assert_int_equal(changes_next(&p.ch, &c, &out), CHANGES_ONE);
    assert_false(acl_table_known(p.acls, out.acl));
    changes_clear(&p.ch);
    assert_true(acl_table_known(p.acls, later));
    end(&p);
}

static void who_reads_too_slowly_is_told(void **state)
{
    struct past p;
    struct changes_cursor early, first;
    struct past_change out;

    (void)state;
    begin(&p, 16 * 256);
    assert_true(changes_seek(&p.ch, 10, &early)); /* there is no block yet */
    assert_int_equal(changes_next(&p.ch, &early, &out), CHANGES_END);
    add(&p, 11, "/a", ACL_OPEN);
    assert_true(changes_seek(&p.ch, 10, &first));
    assert_int_equal(changes_next(&p.ch, &early, &out), CHANGES_ONE);
    assert_int_equal(out.zxid, 11);
    assert_int_equal(changes_next(&p.ch, &early, &out), CHANGES_END);
    add(&p, 12, "/a", ACL_OPEN); /* into the same block */
    assert_int_equal(changes_next(&p.ch, &early, &out), CHANGES_ONE);
    assert_int_equal(out.zxid, 12);
    for (int64_t zxid = 13; zxid < 1000; zxid++) {
        add(&p, zxid, "/a", ACL_OPEN);
    }
    assert_int_equal(changes_next(&p.ch, &first, &out), CHANGES_GONE);
    assert_int_equal(changes_next(&p.ch, &early, &out), CHANGES_GONE);
    assert_true(changes_seek(&p.ch, 999, &first)); /* at the end of the last block */
    add(&p, 1000, "/a", ACL_OPEN);
    assert_int_equal(changes_next(&p.ch, &first, &out), CHANGES_ONE);
    assert_int_equal(out.zxid, 1000);
    end(&p);
}

static void another_tree_begins_anew(void **state)
{
    struct past p;

    (void)state;
    begin(&p, 4096);
    add(&p, 11, "/a", ACL_OPEN);
    changes_begin(&p.ch, p.acls, 5); /* a truncated log */
    assert_string_equal(behind(&p, 4), "too old");
    assert_string_equal(behind(&p, 5), "");
    add(&p, 6, "/a", ACL_OPEN);
    assert_string_equal(behind(&p, 5), "6 ");
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_behind_a_zxid_is_there_from_the_beginning_on),
        cmocka_unit_test(a_change_comes_out_as_it_went_in),
        cmocka_unit_test(the_oldest_go_and_a_transaction_is_there_whole_or_not),
        cmocka_unit_test(what_is_too_large_or_not_wanted_leaves_a_gap_and_nothing_else),
        cmocka_unit_test(long_acls_are_held_counted_and_given_back),
        cmocka_unit_test(an_unknown_acl_stays_nobodys),
        cmocka_unit_test(who_reads_too_slowly_is_told),
        cmocka_unit_test(another_tree_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
