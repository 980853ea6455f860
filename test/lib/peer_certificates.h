/* SPDX-License-Identifier: Apache-2.0 */
/* peer_certificates.h - TLS among members in one process: an authority, and members that it has
 * signed. */
#ifndef PAWL_TEST_PEER_CERTIFICATES_H
#define PAWL_TEST_PEER_CERTIFICATES_H

#include "daemon/peer_stream.h"
#include "daemon/secure.h"
#include "lib/certificate.h"

/* One member's certificate and what it makes of it. */
struct peer_identity {
    struct certificate certificate;
    struct secure secure;
    const struct quorum_config *members;
    struct peer_tls tls; /* dials with TLS, takes nothing else, checks names both ways */
};

/* `names` as in certificate.h; signed by `authority`, whom it trusts. */
void peer_identity_make(struct peer_identity *p, const struct certificate *authority,
                        const char *names, uv_loop_t *loop, const struct quorum_config *config);
void peer_identity_unmake(struct peer_identity *p);

#endif
