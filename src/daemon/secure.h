/* SPDX-License-Identifier: Apache-2.0 */
/* secure.h - certificates and rules of TLS, for clients and among members: from the configuration,
 * and anew when their files have changed.
 *
 * Links keep the certificates that they began with. A file that cannot be used leaves those in use
 * that there are, and is told of once; it is read again when it changes again. */
#ifndef PAWL_DAEMON_SECURE_H
#define PAWL_DAEMON_SECURE_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct config_lines;
struct tls_context;
struct tls_fault;

enum { SECURE_FILES = 5 };

/* What a file was when it was looked at; all zero: it was not there. */
struct secure_stamp {
    int64_t device, inode, size, changed_ns, modified_ns;
};

enum secure_peers { SECURE_CLIENTS, SECURE_MEMBERS };

struct secure {
    enum secure_peers peers;
    struct tls_context *context;  /* for those who come; NULL: no TLS */
    struct tls_context *dialling; /* for members that are dialled; NULL: none are */
    bool names_checked;           /* of these */
    struct secure_stamp stamps[SECURE_FILES];
    int64_t looked_ms, warned_ms;
    int days_left; /* of the certificate, whole days; when it was last looked at */
};

void secure_stamp_of(const char *path, struct secure_stamp *out); /* NULL: there is no file */

/* A port for TLS is asked for. */
bool secure_is_wanted(const struct config *c, enum secure_peers peers);

/* Reads all that it names, and says what is wrong with it. */
void secure_check(struct config *c, struct config_lines *errors);

/* PAWL_OK also without TLS. */
int secure_open(struct secure *s, const struct config *c, enum secure_peers peers,
                struct tls_fault *fault);
void secure_close(struct secure *s);

/* Now and then: at the files, if that is wanted, and how long the certificate is still valid. With
 * `now` (SIGHUP) the files are read in any case. */
void secure_look(struct secure *s, const struct config *c, int64_t now_ms, bool now);

#endif
