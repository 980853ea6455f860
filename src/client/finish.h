/* SPDX-License-Identifier: Apache-2.0 */
/* finish.h - what to do with a call that is ready: wait for its answer, or leave that to a
 * callback.
 *
 * `rc` is what preparing came to; whatever was prepared is freed. */
#ifndef PAWL_CLIENT_FINISH_H
#define PAWL_CLIENT_FINISH_H

#include "client/prepare.h"

int finish_wait(struct pawl_client *c, int rc, struct prepared *p, struct pawl_reply **out);
int finish_async(struct pawl_client *c, int rc, struct prepared *p, pawl_reply_fn done, void *arg);

int64_t finish_deadline(int timeout_ms); /* 0: none */

#endif
