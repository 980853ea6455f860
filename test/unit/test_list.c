/* SPDX-License-Identifier: Apache-2.0 */
#include "base/list.h"

#include "lib/test.h"

struct item {
    int number;
    struct list link;
};

static void fill(struct list *head, struct item *items, int n)
{
    list_init(head);
    for (int i = 0; i < n; i++) {
        items[i].number = i;
        list_push_back(head, &items[i].link);
    }
}

static void assert_numbers(struct list *head, const char *expected)
{
    char seen[32] = "";
    struct list *l;

    list_for_each (l, head) {
        snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%d",
                 container_of(l, struct item, link)->number);
    }
    assert_string_equal(seen, expected);
}

static void items_stay_in_the_order_they_came(void **state)
{
    struct list head;
    struct item items[4];

    (void)state;
    fill(&head, items, 4);
    assert_numbers(&head, "0123");
    assert_ptr_equal(list_pop_front(&head), &items[0].link);
    assert_numbers(&head, "123");
}

static void an_item_is_taken_out_from_anywhere_and_may_be_twice(void **state)
{
    struct list head;
    struct item items[4];

    (void)state;
    fill(&head, items, 4);
    list_remove(&items[2].link);
    assert_numbers(&head, "013");
    assert_true(list_empty(&items[2].link)); /* points to itself again */
    list_remove(&items[2].link);
    assert_numbers(&head, "013");
}

static void popping_ends_with_null(void **state)
{
    struct list head;
    struct item items[1];

    (void)state;
    fill(&head, items, 1);
    assert_non_null(list_pop_front(&head));
    assert_null(list_pop_front(&head));
    assert_true(list_empty(&head));
}

static void splicing_puts_one_list_behind_another(void **state)
{
    struct list a, b;
    struct item first[2], second[3];

    (void)state;
    fill(&a, first, 2);
    fill(&b, second, 3);
    list_splice(&a, &b);
    assert_numbers(&a, "01012");
    assert_true(list_empty(&b));
    list_splice(&a, &b); /* nothing to move */
    assert_numbers(&a, "01012");
    list_splice(&b, &a); /* into an empty one */
    assert_numbers(&b, "01012");
    assert_true(list_empty(&a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_in_the_order_they_came),
        cmocka_unit_test(an_item_is_taken_out_from_anywhere_and_may_be_twice),
        cmocka_unit_test(popping_ends_with_null),
        cmocka_unit_test(splicing_puts_one_list_behind_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
