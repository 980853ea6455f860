/* SPDX-License-Identifier: Apache-2.0 */
/* http_head.h - the head of an answer over HTTP, taken apart. No state, no I/O. */
#ifndef PAWL_CLI_HTTP_HEAD_H
#define PAWL_CLI_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_HEAD_BYTES = 16 * 1024, HTTP_VALUE_BYTES = 64 };

struct http_head {
    int status;
    int64_t length;                     /* of the body; -1: not told */
    bool is_chunked;                    /* which nobody may do to one who speaks 1.0 */
    char last_zxid[HTTP_VALUE_BYTES];   /* headers of a snapshot; "": not there */
    char retry_after[HTTP_VALUE_BYTES]; /* in seconds */
};

/* How many bytes the head has, with the empty line at its end; 0: it is not whole yet, -1: it is
 * none. */
int http_head_read(const char *text, size_t len, struct http_head *out);

#endif
