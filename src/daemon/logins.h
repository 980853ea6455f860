/* SPDX-License-Identifier: Apache-2.0 */
/* logins.h - SASL: who may come and with which password, from the files that the configuration
 * names, and anew when these have changed.
 *
 * Exchanges keep what they began with. A file that cannot be used leaves in use what there is, and
 * is told of once; it is read again when it changes again. */
#ifndef PAWL_DAEMON_LOGINS_H
#define PAWL_DAEMON_LOGINS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/member_auth.h"
#include "daemon/secure.h"
#include "server/sasl_gate.h"

struct config;
struct config_lines;
struct sasl_login;

enum { LOGINS_FILES = 3, LOGINS_WHY_BYTES = 1024 };

struct logins {
    struct sasl_gate gate;      /* for the server */
    struct sasl_login *clients; /* NULL: none can authenticate */
    struct member_sasl members; /* all NULL: they do without */
    struct secure_stamp stamps[LOGINS_FILES];
    int64_t looked_ms;
};

/* Some file is named, or Java's class: the scheme sasl can be in ACLs. */
bool logins_are_wanted(const struct config *c);

/* Reads all that is named, and says what is wrong with it. */
void logins_check(struct config *c, struct config_lines *errors);

/* Whether clients could authenticate; for those who would insist. */
bool logins_has_clients(const struct config *c);

/* PAWL_OK also when there are none. */
int logins_open(struct logins *l, const struct config *c, char *why, size_t why_size);
void logins_close(struct logins *l);

/* Now and then: at the files, if that is wanted. With `now` (SIGHUP) they are read in any case. */
void logins_look(struct logins *l, const struct config *c, int64_t now_ms, bool now);

#endif
