/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the word cons, and the answer to mntr: what is found in it lies in it. */
#include "fuzz.h"
#include "look/cons.h"
#include "look/mntr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line = (const char *)data;
    struct pawl_bytes all = {data, size}, text;
    struct cons c;

    if (mntr_text(all, "zk_server_state", &text)) {
        MUST((const char *)text.data > line && (const char *)text.data + text.len <= line + size);
    }
    MUST(mntr_number(all, "zk_znode_count") >= -1);
    if (size > 0 && cons_parse(line, size, &c)) {
        MUST(c.client > line && c.client + c.client_len < line + size);
        MUST(c.since_ms >= -1 && c.timeout_ms >= -1 && c.received >= -1);
    }
    return 0;
}
