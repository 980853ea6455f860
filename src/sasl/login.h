/* SPDX-License-Identifier: Apache-2.0 */
/* login.h - what a side of a SASL exchange knows: the users and their passwords, its own name and
 * password, or where its Kerberos keys are. Read from text, which came out of a file.
 *
 * Once it is read it changes no more: exchanges share it, and keep the one they began with.
 * Passwords are wiped when it goes. Nothing aborts when memory runs out. */
#ifndef PAWL_SASL_LOGIN_H
#define PAWL_SASL_LOGIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

struct sasl_user {
    char *name, *password;
};

struct sasl_login {
    atomic_int refs;
    struct sasl_user *users; /* who may come; of one who accepts */
    size_t n_users;
    char *name, *password; /* ourselves, of one who connects; NULL: not given */

    bool is_kerberos;
    char *principal; /* NULL: the one that the library finds */
    char *keytab;    /* NULL: the library's */
    char *cache;     /* of tickets; NULL: the library's */
};

enum { SASL_WHY_BYTES = 512 };

struct sasl_login *sasl_login_new(void); /* NULL: no memory */
void sasl_login_ref(struct sasl_login *l);
void sasl_login_unref(struct sasl_login *l); /* NULL is allowed */

/* Adds what a section of a JAAS file says. PAWL_OK; PAWL_ERR_NOT_FOUND: there is no such section;
 * PAWL_ERR_NO_MEMORY; PAWL_ERR_CONFIG with the line and the reason in `why`, no values. */
int sasl_login_read_jaas(struct sasl_login *l, struct bytes text, const char *section, char *why,
                         size_t why_size);

/* Adds the users of a file with a line "NAME:PASSWORD" for each: the password is the rest of the
 * line as it is. Empty lines, and those that begin with '#', are nobody's. As above. */
int sasl_login_read_users(struct sasl_login *l, struct bytes text, char *why, size_t why_size);

/* Ourselves: the first line of such a file. PAWL_ERR_CONFIG also when there is none. */
int sasl_login_read_self(struct sasl_login *l, struct bytes text, char *why, size_t why_size);

/* Ourselves, as given. PAWL_OK or PAWL_ERR_NO_MEMORY. */
int sasl_login_set_self(struct sasl_login *l, const char *name, const char *password);

/* What may have been a password is overwritten. */
void sasl_login_wipe(void *data, size_t len);

/* Replaces the password of one who is there; PAWL_OK also if nobody is. */
int sasl_login_change(struct sasl_login *l, const char *name, const char *password);

/* The password of a user; NULL: there is no such user. */
const char *sasl_login_password(const struct sasl_login *l, struct bytes name);

#endif
