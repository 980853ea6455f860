/* SPDX-License-Identifier: Apache-2.0 */
/* jaas.h - the syntax of JAAS files, in which ZooKeeper keeps names and passwords.
 *
 *   Server {
 *       org.apache.zookeeper.server.auth.DigestLoginModule required
 *       user_bob="bob's password";
 *   };
 *
 * A section has modules, each with a class, a flag and options up to its ';'. Words are as they
 * stand or between '"', with the escapes of Java; comments are those of C. ${...} is an error: here
 * are no properties of a JVM. A word has up to JAAS_WORD_BYTES. */
#ifndef PAWL_SASL_JAAS_H
#define PAWL_SASL_JAAS_H

#include <stdbool.h>

#include "base/bytes.h"

enum { JAAS_WORD_BYTES = 4096, JAAS_WHAT_BYTES = 160 };

/* Never has a value in it: that may be a password. */
struct jaas_error {
    int line;
    char what[JAAS_WHAT_BYTES];
};

/* The strings are lent until it returns. With `option` NULL a module begins. False: that is enough,
 * and jaas_parse() fails with what the caller has in `error`, or at this line. */
typedef bool (*jaas_fn)(void *arg, const char *module, const char *option, const char *value);

/* Calls `each` for the modules of a section and their options, in order. How many modules; 0: there
 * is no such section; -1: `error`, and something may have been delivered before it. The whole text
 * is looked at. */
int jaas_parse(struct bytes text, const char *section, jaas_fn each, void *arg,
               struct jaas_error *error);

#endif
