/* SPDX-License-Identifier: Apache-2.0 */
/* logins.h - who has logged in, by what his browser shows, and how often somebody may try. No clock
 * and no lock inside: the caller has both. */
#ifndef PAWL_CONSOLE_LOGINS_H
#define PAWL_CONSOLE_LOGINS_H

#include <stdbool.h>
#include <stdint.h>

#include <pawl/client.h>

enum {
    LOGIN_TOKEN_BYTES = 65, /* 32 random bytes as hexadecimal digits, and a NUL */
    LOGIN_USER_MAX = 128,
    LOGINS_MAX = 32,
    LOGIN_IDLE_MS = 30 * 60 * 1000,
    TRIES_PER_ADDRESS = 5, /* that fail, within a minute */
    TRIES_OF_ALL = 30,
    TRY_MS = 60 * 1000,
};

struct login {
    char token[LOGIN_TOKEN_BYTES]; /* in the cookie */
    char csrf[LOGIN_TOKEN_BYTES];  /* in a header of whatever changes something */
    char user[LOGIN_USER_MAX];
    struct pawl_client *client; /* owned */
    int64_t used_ms;
    unsigned n_users; /* the table and those who answer a request for it */
};

struct login_try {
    char address[48];
    int64_t at_ms;
};

struct logins {
    struct login *items[LOGINS_MAX];
    struct login_try tries[TRIES_OF_ALL]; /* the failed ones of the last minute */
    int n_tries;
};

/* A reference to be given back by login_unref(); NULL: nobody has it. It is used now. */
struct login *logins_find(struct logins *l, const char *token, int64_t now_ms);

/* Takes it over, in the place of the one that was used longest ago if need be, which is returned
 * for login_unref(). */
struct login *logins_add(struct logins *l, struct login *new_one);

/* Takes it out; NULL: it is not there (any more). For login_unref(). */
struct login *logins_take(struct logins *l, const char *token);

/* One that has not been used for so long, for login_unref(); NULL: there is none. */
struct login *logins_take_idle(struct logins *l, int64_t now_ms);

/* True when it was the last reference: login_free() then, without a lock. Its session is closed
 * within this time, or left to its timeout. */
bool login_unref(struct login *one);
void login_free(struct login *one, int timeout_ms);

/* Whether somebody at `address` may try now. It counts as failed until logins_succeeded(). */
bool logins_may_try(struct logins *l, const char *address, int64_t now_ms);
void logins_succeeded(struct logins *l, const char *address);

/* The same length of time for any two texts of the same length. */
bool login_token_equals(const char *token, const char *other);

#endif
