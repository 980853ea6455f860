/* SPDX-License-Identifier: Apache-2.0 */
/* health.h - what probes are told: does the process live, and may clients be sent to it.
 *
 *   [+] loop: it turned 40 ms ago
 *   [-] serving: it looks for a leader, and takes no clients
 *   not ready
 *
 * Answered from what the loop shows now and then, so that nobody waits for it: a loop that does not
 * turn is what /livez is there to notice. */
#ifndef PAWL_ADMIN_HEALTH_H
#define PAWL_ADMIN_HEALTH_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "daemon/host.h"

enum { HEALTH_STUCK_US = 30 * 1000 * 1000 };

/* `h` NULL: the data folder is still being read. True: all is well. */
bool health_live(const struct host_health *h, int64_t now_us, struct strbuf *out);
bool health_ready(const struct host_health *h, int64_t now_us, struct strbuf *out);

#endif
