/* SPDX-License-Identifier: Apache-2.0 */
/* requests.h - the core's calls: encoded, queued, sent, answered, in order. No I/O. */
#ifndef PAWL_CLIENT_REQUESTS_H
#define PAWL_CLIENT_REQUESTS_H

#include "client/call.h"
#include "wire/reply.h"
#include "wire/request.h"

struct core;

/* Encodes and queues it. An error leaves the call with its owner. Credentials (OP_AUTH) belong to
 * every link from now on, unless they are refused or were not sent in time. */
int requests_submit(struct core *c, struct call *call, const struct request *q);

/* Nobody waits for it any more. Tells what became of it; it is freed now or when its answer
 * comes. */
enum pawl_outcome requests_abandon(struct core *c, struct call *call);

/* Sees to it that those hear who wait for children at `path` beside a recursive watch. An error
 * ends the link. */
int requests_wait_beside(struct core *c, struct bytes path);

/* Watches that the server still has although nobody needs them go. */
void requests_sweep(struct core *c);

/* The one, queued, sent or ended, that is to be answered to `done` with `arg`, or NULL. */
struct call *requests_find(const struct core *c, pawl_reply_fn done, const void *arg);

/* One that is queued, and not underway: it never will be sent. OPERATION_TIMEOUT, NOT_SENT. */
void requests_withdraw(struct core *c, struct call *call);

/* Some of its bytes have left: the server may get the rest, or has it. */
bool requests_is_underway(const struct core *c, const struct call *call);

/* Credentials for every connection from now on. */
int requests_add_auth(struct core *c, struct bytes scheme, struct bytes auth);

/* What to send next, and that some of it went out at `now_ms` (taken before the write). */
struct bytes requests_output(const struct core *c);
void requests_wrote(struct core *c, int64_t now_ms, size_t n);

/* ---- for the core ---- */

void requests_link_down(struct core *c);
void requests_fail_all(struct core *c, int err);
void requests_expire(struct core *c, int64_t now_ms);

/* 0, or an error that ends the link. */
int requests_answer(struct core *c, int64_t now_ms, const struct reply_header *h,
                    struct bytes body);

/* A request that shows whether the session lives; nobody waits for it. It is left out without
 * memory. */
void requests_heartbeat(struct core *c);

/* So many reads that show only that we are here, or fewer without memory. */
void requests_signs(struct core *c, int n);

#endif
