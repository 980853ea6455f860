/* SPDX-License-Identifier: Apache-2.0 */
/* cyrus.h - cyrus-sasl, loaded when SASL is wanted: who does without does not need it.
 *
 * The library has one state per process. It is initialised once, for both sides, and stays. It is
 * told to load no mechanism but those that are used here, to read no configuration of its own, and
 * to ask us for passwords (exchange.c): so an exchange of DIGEST-MD5 waits for nobody. */
#ifndef PAWL_SASL_CYRUS_H
#define PAWL_SASL_CYRUS_H

#include <sasl/sasl.h>
#include <sasl/saslplug.h>
#include <stdbool.h>

#define CYRUS_FUNCTIONS(X) \
    X(set_mutex)           \
    X(server_init)         \
    X(server_new)          \
    X(server_start)        \
    X(server_step)         \
    X(client_init)         \
    X(client_new)          \
    X(client_start)        \
    X(client_step)         \
    X(getprop)             \
    X(setprop)             \
    X(dispose)             \
    X(errdetail)           \
    X(errstring)           \
    X(auxprop_add_plugin)

struct cyrus {
#define CYRUS_FIELD(name) __typeof__(&sasl_##name) name;
    CYRUS_FUNCTIONS(CYRUS_FIELD)
#undef CYRUS_FIELD
};

/* The library casts them back. */
typedef int (*any_fn)(void);
#define ANY_FN(fn) ((any_fn)(void (*)(void))(fn))

/* Before anything else. NULL: `why` says which file or function is missing. Any thread. */
const struct cyrus *cyrus_load(const char **why);

/* exchange.c: the library asks for the password of a user. */
int cyrus_lookup(void *context, sasl_server_params_t *params, unsigned flags, const char *user,
                 unsigned len);

#endif
