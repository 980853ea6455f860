/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - small things for the application: texts as bytes, names of states, a logger. */
#include <stdio.h>
#include <string.h>

#include "pawl/client.h"

struct pawl_bytes pawl_str(const char *text)
{
    return (struct pawl_bytes){text, text == NULL ? 0 : strlen(text)};
}

const char *pawl_state_name(enum pawl_state state)
{
    static const char *const names[] = {
        [PAWL_STATE_CONNECTING] = "CONNECTING",
        [PAWL_STATE_CONNECTED] = "CONNECTED",
        [PAWL_STATE_SUSPENDED] = "SUSPENDED",
        [PAWL_STATE_RECONNECTED] = "RECONNECTED",
        [PAWL_STATE_LOST] = "LOST",
        [PAWL_STATE_READ_ONLY] = "READ_ONLY",
        [PAWL_STATE_CLOSED] = "CLOSED",
    };

    return (unsigned)state < sizeof(names) / sizeof(names[0]) ? names[state] : "UNKNOWN";
}

void pawl_log_stderr(enum pawl_log_level level, const char *line, void *arg)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};

    (void)arg;
    fprintf(stderr, "pawl: %s: %s\n", (unsigned)level < 4 ? names[level] : "?", line);
}
