/* SPDX-License-Identifier: Apache-2.0 */
/* tls_table.c - all that libpawl-tls.so shows. */
#include "half/tls_half.h"

#include "pawl/version.h"

const struct tls_half pawl_tls_half = {
    .version = PAWL_VERSION,
    .context_new = tls_context_new,
    .context_ref = tls_context_ref,
    .context_unref = tls_context_unref,
    .make = tls_new,
    .free = tls_free,
    .put = tls_put,
    .handshake = tls_handshake,
    .read = tls_read,
    .write = tls_write,
    .finish = tls_finish,
    .output = tls_output,
    .sent = tls_sent,
    .error = tls_error,
    .ask = tls_ask,
};
