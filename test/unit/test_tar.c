/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes in a tar: what is written is read again, a tar of others is read, a bad one is refused. */
#define _POSIX_C_SOURCE 200809L
#include "cli/tar.h"

#include <stdlib.h>

#include "cli/exported.h"
#include "cli/tar_nodes.h"
#include "lib/test.h"

enum { LIMIT_BYTES = 1 << 20 };

struct packed {
    char *text;
    size_t len;
};

static struct packed pack(const struct exported *nodes, size_t n)
{
    struct packed p;
    FILE *to = open_memstream(&p.text, &p.len);

    for (size_t i = 0; i < n; i++) {
        exported_tar(&nodes[i], to);
    }
    tar_write_end(to);
    fclose(to);
    return p;
}

/* What is wrong with it; NULL: nothing. `n_good` nodes were before that. */
static const char *unpack(const void *text, size_t len, int *n_good)
{
    static char kept[400];
    FILE *from = fmemopen((void *)(uintptr_t)text, len, "r");
    struct tar_nodes nodes;
    struct imported n;
    const char *why;
    bool is_last;

    *n_good = 0;
    tar_nodes_init(&nodes, from, LIMIT_BYTES, false);
    do {
        why = tar_nodes_next(&nodes, &n);
        is_last = n.path == NULL;
        *n_good += !is_last;
        imported_fini(&n);
    } while (why == NULL && !is_last);
    if (why != NULL) {
        snprintf(kept, sizeof(kept), "%s", why);
    }
    tar_nodes_fini(&nodes);
    fclose(from);
    return why != NULL ? kept : NULL;
}

static void must_be_same(const struct imported *got, const struct exported *given)
{
    assert_string_equal(got->path, given->path);
    assert_int_equal(got->has_data, given->data.data != NULL);
    assert_int_equal(got->data.len, given->data.len);
    if (given->data.len > 0) {
        assert_memory_equal(got->data.data, given->data.data, given->data.len);
    }
    assert_int_equal(got->is_ephemeral, given->is_ephemeral);
    assert_int_equal(got->is_container, given->is_container);
    assert_int_equal(got->ttl_ms, given->ttl_ms);
    assert_int_equal(got->sequence, given->sequence);
    assert_int_equal(got->acls.n, given->acls != NULL ? given->acls->n : 0);
    for (size_t i = 0; i < got->acls.n; i++) {
        assert_string_equal(got->acls.items[i].id, given->acls->items[i].id);
        assert_int_equal(got->acls.items[i].perms, given->acls->items[i].perms);
    }
}

static void there_and_back(void **state)
{
    static const struct pawl_acl acl[] = {{.perms = 31, .scheme = "world", .id = "anyone"},
                                          {.perms = 1, .scheme = "x509", .id = "CN=a,O=\"b\""}};
    static const struct pawl_acls acls = {.items = acl, .n = 2};
    char long_path[400], block[512], odd[] = "\0\xff\n";
    struct exported nodes[] = {
        {.path = "/", .data = pawl_str("top"), .has_children = true, .acls = &acls, .sequence = 9},
        {.path = "/.data", .data = pawl_str("really called so")},
        {.path = "/.data~", .data = pawl_str("")},
        {.path = "/.data~x", .is_ephemeral = true},
        {.path = "/a b", .data = {odd, 3}, .has_children = true, .is_container = true},
        {.path = "/a b/.data", .has_children = true},
        {.path = "/a b/.data/.data", .data = pawl_str("x"), .has_children = true},
        {.path = "/empty", .data = pawl_str(""), .ttl_ms = 60000},
        {.path = "/none"},
        {.path = "/block", .data = {block, sizeof(block)}, .acls = &acls},
        {.path = long_path, .data = pawl_str("deep"), .has_children = true},
    };
    struct packed p;
    struct tar_nodes tar;
    struct imported n;
    FILE *from;

    (void)state;
    memset(block, 'b', sizeof(block));
    memset(long_path, 'l', sizeof(long_path) - 1);
    long_path[0] = '/';
    long_path[sizeof(long_path) - 1] = '\0';
    p = pack(nodes, TEST_COUNT(nodes));
    assert_int_equal(p.len % 512, 0);
    from = fmemopen(p.text, p.len, "r");
    tar_nodes_init(&tar, from, LIMIT_BYTES, false);
    for (size_t i = 0; i < TEST_COUNT(nodes); i++) {
        assert_null(tar_nodes_next(&tar, &n));
        assert_non_null(n.path);
        must_be_same(&n, &nodes[i]);
        imported_fini(&n);
    }
    assert_null(tar_nodes_next(&tar, &n));
    assert_null(n.path);
    tar_nodes_fini(&tar);
    fclose(from);
    free(p.text);
}

/* Wherever it is cut, and whatever byte of a header is another one: never taken for a whole one
 * with fewer nodes. */
static void what_was_cut_off_is_noticed(void **state)
{
    const struct exported nodes[] = {
        {.path = "/", .data = pawl_str("top"), .has_children = true, .sequence = 2},
        {.path = "/a", .data = pawl_str("data")}};
    struct packed p = pack(nodes, TEST_COUNT(nodes));
    int n;

    (void)state;
    for (size_t len = 1; len < p.len - 1023; len++) {
        assert_non_null(unpack(p.text, len, &n));
    }
    assert_null(unpack(p.text, p.len, &n));
    assert_int_equal(n, 2);
    for (size_t i = 0; i < 512; i++) {
        if (i == 155) {
            continue; /* behind the end of the checksum itself */
        }
        p.text[i] = (char)(p.text[i] ^ 1);
        assert_non_null(unpack(p.text, p.len, &n));
        p.text[i] = (char)(p.text[i] ^ 1);
    }
    free(p.text);
}

static const char *why_not(const struct tar_entry *entries, size_t n)
{
    struct packed p;
    FILE *to = open_memstream(&p.text, &p.len);
    const char *why;
    int n_good;

    for (size_t i = 0; i < n; i++) {
        tar_write(to, &entries[i]);
    }
    tar_write_end(to);
    fclose(to);
    why = unpack(p.text, p.len, &n_good);
    free(p.text);
    return why;
}

static void what_is_no_node(void **state)
{
    const struct tar_entry up = {.name = "../a"}, inside = {.name = "a/../b"};
    const struct tar_entry control = {.name = "a\033[31m/../b"};
    const struct tar_entry marks = {.name = "a", .attribute = pawl_str("{\"ttl_ms\":0}")};
    const struct tar_entry none = {.name = "a", .attribute = pawl_str("[]")};
    const struct tar_entry stray[] = {
        {.name = "a/", .is_folder = true}, {.name = "b/", .is_folder = true}, {.name = "a/.data"}};
    const struct tar_entry twice[] = {
        {.name = "a/", .is_folder = true}, {.name = "a/.data"}, {.name = "a/.data"}};
    const struct tar_entry good[] = {{.name = "./", .is_folder = true},
                                     {.name = "/absolute//path/", .is_folder = true},
                                     {.name = "./absolute/path/.data"}};

    (void)state;
    assert_string_equal(why_not(&up, 1), "../a: no path of a node");
    assert_string_equal(why_not(&inside, 1), "a/../b: no path of a node");
    assert_string_equal(why_not(&control, 1), "a?[31m/../b: no path of a node");
    assert_non_null(why_not(&marks, 1));
    assert_string_equal(why_not(&none, 1), "a: no object of JSON");
    assert_string_equal(why_not(stray, TEST_COUNT(stray)),
                        "a/.data: it does not stand right behind the folder whose data it has");
    assert_non_null(why_not(twice, TEST_COUNT(twice)));
    assert_null(why_not(good, TEST_COUNT(good)));
}

static void a_file_that_is_too_large(void **state)
{
    struct tar_entry large = {.name = "a", .data = {calloc(1, LIMIT_BYTES + 1), LIMIT_BYTES + 1}};

    (void)state;
    assert_string_equal(why_not(&large, 1), "a: a file that is larger than a node can be");
    large.data.len = LIMIT_BYTES;
    assert_null(why_not(&large, 1));
    free((void *)(uintptr_t)large.data.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_was_cut_off_is_noticed),
        cmocka_unit_test(what_is_no_node),
        cmocka_unit_test(a_file_that_is_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
