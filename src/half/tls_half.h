/* SPDX-License-Identifier: Apache-2.0 */
/* tls_half.h - TLS of a client in a file of its own: who connects without it loads no OpenSSL.
 *
 *   libpawl.so, pawl    tls_load.c, in the place of src/tls
 *   libpawl-tls.so      src/tls with libssl, and tls_table.c
 *
 * The first handle on zks:// loads it, as half.h tells of the server. */
#ifndef PAWL_HALF_TLS_HALF_H
#define PAWL_HALF_TLS_HALF_H

#include <pawl/api.h>

#include "tls/tls.h"

struct tls_half {
    const char *version; /* first, whatever changes behind it: both files must be of one */
    int (*context_new)(const struct tls_settings *settings, struct tls_context **out,
                       struct tls_fault *fault);
    void (*context_ref)(struct tls_context *c);
    void (*context_unref)(struct tls_context *c);
    struct tls *(*make)(struct tls_context *c, const char *name);
    void (*free)(struct tls *t);
    bool (*put)(struct tls *t, const void *data, size_t len);
    int (*handshake)(struct tls *t);
    long (*read)(struct tls *t, void *out, size_t size);
    bool (*write)(struct tls *t, const void *data, size_t len);
    void (*finish)(struct tls *t);
    struct bytes (*output)(const struct tls *t);
    void (*sent)(struct tls *t, size_t len);
    const char *(*error)(const struct tls *t);
    bool (*ask)(struct tls_context *c, const char *name, int fd, struct bytes question,
                size_t enough, int timeout_ms, struct strbuf *answer, char *why, size_t why_size);
};

#define TLS_HALF_SYMBOL "pawl_tls_half"

extern PAWL_API const struct tls_half pawl_tls_half;

#endif
