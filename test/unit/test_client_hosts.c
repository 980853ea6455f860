/* SPDX-License-Identifier: Apache-2.0 */
#include "client/hosts.h"

#include <stdlib.h>

#include "lib/test.h"
#include "pawl/error.h"

static struct hosts parse(const char *servers, uint64_t seed, char *chroot_out)
{
    struct prng random;
    struct hosts h;
    char *chroot;

    prng_seed(&random, seed);
    assert_int_equal(hosts_parse(servers, false, &random, &h, &chroot), 0);
    if (chroot_out != NULL) {
        strcpy(chroot_out, chroot);
    }
    free(chroot);
    return h;
}

static const struct host_entry *find(const struct hosts *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++) {
        if (strcmp(h->items[i].name, name) == 0) {
            return &h->items[i];
        }
    }
    fail_msg("%s is not in the list", name);
    return NULL;
}

static void every_form_of_an_address_is_understood(void **state)
{
    char chroot[64];
    struct hosts h = parse("a:1,b, c:3 ,10.0.0.1:4,[::1]:5,[fe80::2],fe80::3/app/x", 1, chroot);

    (void)state;
    assert_int_equal(h.n, 7);
    assert_int_equal(find(&h, "a")->port, 1);
    assert_int_equal(find(&h, "b")->port, 2181);
    assert_int_equal(find(&h, "c")->port, 3);
    assert_int_equal(find(&h, "10.0.0.1")->port, 4);
    assert_int_equal(find(&h, "::1")->port, 5);
    assert_int_equal(find(&h, "fe80::2")->port, 2181);
    assert_int_equal(find(&h, "fe80::3")->port, 2181);
    assert_string_equal(chroot, "/app/x");
    hosts_fini(&h);
    h = parse("a/", 1, chroot);
    assert_string_equal(chroot, "");
    hosts_fini(&h);
    h = parse("unix:/run/pawl/socket", 1, chroot);
    assert_int_equal(find(&h, "/run/pawl/socket")->port, 0);
    assert_string_equal(chroot, "");
    hosts_fini(&h);
}

static void nonsense_is_refused(void **state)
{
    static const char *const bad[] = {"",        ",",    "a,",     ":1",    "a:",      "a:0",
                                      "a:65536", "a:-1", "a:1x",   "[::1",  "[]:1",    "[::1]1",
                                      "a//b",    "a/b/", "a/../b", "unix:", "a:123456"};
    struct prng random;
    struct hosts h;
    char *chroot;

    (void)state;
    prng_seed(&random, 1);
    for (size_t i = 0; i < TEST_COUNT(bad); i++) {
        assert_int_equal(hosts_parse(bad[i], false, &random, &h, &chroot), PAWL_ERR_BAD_ARGUMENTS);
    }
}

static void the_list_is_walked_round_robin(void **state)
{
    struct hosts h = parse("a,b,c", 7, NULL);
    struct prng random;
    size_t first, second, third;

    (void)state;
    prng_seed(&random, 1);
    first = hosts_pick(&h, &random);
    second = hosts_pick(&h, &random);
    third = hosts_pick(&h, &random);
    assert_true(first != second && second != third && first != third);
    assert_int_equal(hosts_pick(&h, &random), first);
    hosts_connected(&h, third);
    assert_int_equal(hosts_pick(&h, &random), first); /* behind the one that worked */
    hosts_fini(&h);
}

static void the_order_is_a_matter_of_chance(void **state)
{
    int first_is_a = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct hosts h = parse("a,b,c", seed, NULL);

        first_is_a += strcmp(h.items[0].name, "a") == 0;
        hosts_fini(&h);
    }
    assert_in_range(first_is_a, 60, 140);
}

/* Connected to `on`, the list becomes `to`; how many of 3000 leave, and how many of those pick a
 * server that is new first. */
static void change(const char *from, const char *on, const char *to, int *left, int *picked_new)
{
    *left = *picked_new = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct hosts h = parse(from, seed, NULL), fresh = parse(to, seed + 1, NULL);
        struct prng random;

        prng_seed(&random, seed);
        hosts_connected(&h, (size_t)(find(&h, on) - h.items));
        if (hosts_change(&h, &fresh, &random)) {
            (*left)++;
            *picked_new += h.items[hosts_pick(&h, &random)].is_new;
        }
        hosts_fini(&h);
    }
}

static void as_few_move_as_give_everybody_its_share(void **state)
{
    int left, picked_new;

    (void)state;
    change("a,b,c", "a", "a,b,c,d,e", &left, &picked_new); /* grows: 1 - 3/5 move, to new ones */
    assert_in_range(left, 1100, 1300);
    assert_int_equal(picked_new, left);
    change("a,b,c", "a", "a,b", &left, &picked_new); /* shrinks, ours stays */
    assert_int_equal(left, 0);
    change("a,b,c", "c", "a,b", &left, &picked_new); /* ours goes */
    assert_int_equal(left, 3000);
    assert_int_equal(picked_new, 0);
    change("a,b,c", "c", "a,b,d", &left, &picked_new); /* replaced: all of its clients go there */
    assert_int_equal(left, 3000);
    assert_int_equal(picked_new, 3000);
    change("a,b,c,d", "d", "a,e", &left, &picked_new); /* pOld = 1 * 2 / (2 * 3) = 1/3 */
    assert_int_equal(left, 3000);
    assert_in_range(picked_new, 1880, 2120);
}

static void when_moving_fails_the_walk_goes_on(void **state)
{
    struct hosts h = parse("a", 1, NULL), fresh = parse("a,b,c", 2, NULL);
    struct prng random;
    int seen[3] = {0};

    (void)state;
    prng_seed(&random, 3);
    h.last = SIZE_MAX;
    hosts_change(&h, &fresh, &random);
    h.moving = true;
    for (int i = 0; i < 9; i++) {
        seen[hosts_pick(&h, &random)]++;
    }
    assert_false(h.moving);
    assert_true(seen[0] >= 2 && seen[1] >= 2 && seen[2] >= 2);
    hosts_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_an_address_is_understood),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(the_list_is_walked_round_robin),
        cmocka_unit_test(the_order_is_a_matter_of_chance),
        cmocka_unit_test(as_few_move_as_give_everybody_its_share),
        cmocka_unit_test(when_moving_fails_the_walk_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
