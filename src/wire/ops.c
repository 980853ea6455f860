/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ops.h"

#include <stddef.h>

static const struct op table[N_OPS] = {
#define OP(code, NAME, name, four, kind, body) {code, OP_KIND_##kind, BODY_##body, #name, four},
#include "wire/ops.def"
#undef OP
};

const struct op *op_find(int32_t code)
{
    switch (code) {
#define OP(code, NAME, name, four, kind, body) \
    case code:                                 \
        return &table[OP_INDEX_##NAME];
#include "wire/ops.def"
#undef OP
    default:
        return NULL;
    }
}

int op_index(const struct op *op)
{
    return (int)(op - table);
}

const struct op *op_at(int index)
{
    return &table[index];
}
