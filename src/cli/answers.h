/* SPDX-License-Identifier: Apache-2.0 */
/* answers.h - many requests on their way at a time, and their answers when they are wanted.
 *
 * A server answers a session in order, so a window of requests costs what one round trip does. An
 * answer comes on the client's thread of callbacks, is copied, and lies there until somebody waits
 * for it. One that is not wanted any more is thrown away when it comes. */
#ifndef PAWL_CLI_ANSWERS_H
#define PAWL_CLI_ANSWERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <pawl/client.h>

struct answers; /* those of one window */

/* To be read when it is there. */
struct answer {
    struct answers *all;
    atomic_bool is_there;
    bool is_unwanted;
    int err;
    enum pawl_outcome outcome;
    struct pawl_stat stat;
    struct pawl_bytes data;
    struct pawl_strings children;
    struct pawl_acls acls;
    size_t n_bytes; /* that it takes */
    void *memory;   /* of all these */
};

struct answers *answers_new(void);
void answers_free(struct answers *all); /* what is on its way is unwanted from now on */

struct answer *answer_new(struct answers *all);
void answer_free(struct answer *a);

/* For an asynchronous call, with the answer as argument; `err` is what that call has returned: with
 * an error this is the answer. */
void answer_came(const struct pawl_reply *reply, void *answer);
void answer_asked(struct answer *a, int err);

/* Waits for it. False: a signal came first. */
bool answer_wait(struct answer *a);

#endif
