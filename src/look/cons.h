/* SPDX-License-Identifier: Apache-2.0 */
/* cons.h - a line of the four-letter word cons:
 *
 *    /127.0.0.1:57426[1](queued=0,recved=213,sent=214,sid=0x100000f0bc60000,lop=GETD,
 *   est=1794709447229,to=30000,lcxid=0xd4,lzxid=0xd0,lresp=1027690,llat=0,minlat=0,avglat=1,...) */
#ifndef PAWL_LOOK_CONS_H
#define PAWL_LOOK_CONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cons {
    const char *client; /* in the line: "127.0.0.1:57426" */
    size_t client_len;
    uint64_t session_id;
    int64_t since_ms, timeout_ms, received, sent, queued; /* -1: not there */
    int64_t answered_ms; /* last, by a clock that began whenever the server did; -1: not there */
};

/* False: it is no line of a connection that has a session. */
bool cons_parse(const char *line, size_t len, struct cons *out);

#endif
