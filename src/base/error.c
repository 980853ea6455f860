/* SPDX-License-Identifier: Apache-2.0 */
#include "pawl/error.h"

const char *pawl_strerror(int code)
{
    switch (code) {
    case PAWL_OK:
        return "success";
#define X(name, number, sentence) \
    case number:                  \
        return sentence;
        PAWL_ERRORS(X)
#undef X
    default:
        return "unknown error";
    }
}

const char *pawl_error_name(int code)
{
    switch (code) {
    case PAWL_OK:
        return "OK";
#define X(name, number, sentence) \
    case number:                  \
        return #name;
        PAWL_ERRORS(X)
#undef X
    default:
        return "UNKNOWN";
    }
}
