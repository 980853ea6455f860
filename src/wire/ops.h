/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - the table of operations, ops.def, as an enum and a look-up. */
#ifndef PAWL_WIRE_OPS_H
#define PAWL_WIRE_OPS_H

#include <stdint.h>

enum op_code {
#define OP(code, NAME, name, four, kind, body) OP_##NAME = code,
#include "wire/ops.def"
#undef OP
};

enum op_kind { OP_KIND_READ, OP_KIND_WRITE, OP_KIND_LINK, OP_KIND_INSIDE };

enum op_body {
    BODY_NOTHING,
    BODY_PATH,
    BODY_PATH_WATCH,
    BODY_PATH_VERSION,
    BODY_PATH_TYPE,
    BODY_CREATE,
    BODY_CREATE_TTL,
    BODY_SET_DATA,
    BODY_SET_ACL,
    BODY_MULTI,
    BODY_RECONFIG,
    BODY_AUTH,
    BODY_TOKEN,
    BODY_SET_WATCHES,
    BODY_SET_WATCHES2,
    BODY_TIMEOUT,
};

struct op {
    int32_t code;
    enum op_kind kind;
    enum op_body body;
    const char *name; /* "getData" */
    const char *four; /* "GETD" */
};

/* NULL for a code that is not in the table. */
const struct op *op_find(int32_t code);

enum {
#define OP(code, NAME, name, four, kind, body) OP_INDEX_##NAME,
#include "wire/ops.def"
#undef OP
    N_OPS
};

/* Position in the table, 0 to N_OPS - 1, for arrays of counters. */
int op_index(const struct op *op);
const struct op *op_at(int index);

#endif
