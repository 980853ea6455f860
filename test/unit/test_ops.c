/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ops.h"

#include "lib/test.h"

static void every_line_is_found_by_its_code(void **state)
{
    (void)state;
    for (int i = 0; i < N_OPS; i++) {
        const struct op *op = op_at(i);

        assert_ptr_equal(op_find(op->code), op);
        assert_int_equal(op_index(op), i);
        assert_true(strlen(op->name) > 0);
        assert_true(strlen(op->four) >= 4);
    }
}

static void names_are_told_apart(void **state)
{
    (void)state;
    for (int i = 0; i < N_OPS; i++) {
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(op_at(i)->name, op_at(k)->name);
        }
    }
}

static void all_operations_through_3_9_are_there(void **state)
{
    static const int32_t codes[] = {1,   2,   3,   4,   5,   6,   7,   8,   9,  11, 12,
                                    13,  14,  15,  16,  17,  18,  19,  20,  21, 22, 100,
                                    101, 102, 103, 104, 105, 106, 107, -10, -11};

    (void)state;
    assert_int_equal(N_OPS, TEST_COUNT(codes));
    for (size_t i = 0; i < TEST_COUNT(codes); i++) {
        assert_non_null(op_find(codes[i]));
    }
}

static void other_codes_are_unknown(void **state)
{
    static const int32_t codes[] = {0, 10, -1, 23, 99, 108, -2, -12, INT32_MAX, INT32_MIN};

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(codes); i++) {
        assert_null(op_find(codes[i]));
    }
}

static void writes_take_a_zxid_and_reads_do_not(void **state)
{
    (void)state;
    assert_int_equal(op_find(OP_SET_DATA)->kind, OP_KIND_WRITE);
    assert_int_equal(op_find(OP_CLOSE_SESSION)->kind, OP_KIND_WRITE);
    assert_int_equal(op_find(OP_MULTI_READ)->kind, OP_KIND_READ);
    assert_int_equal(op_find(OP_CHECK)->kind, OP_KIND_INSIDE);
    assert_int_equal(op_find(OP_DELETE_CONTAINER)->kind, OP_KIND_INSIDE);
    assert_int_equal(op_find(OP_CREATE_SESSION)->kind, OP_KIND_INSIDE);
    assert_int_equal(op_find(OP_AUTH)->kind, OP_KIND_LINK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_is_found_by_its_code),
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(all_operations_through_3_9_are_there),
        cmocka_unit_test(other_codes_are_unknown),
        cmocka_unit_test(writes_take_a_zxid_and_reads_do_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
