/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lib/peer_certificates.h"

#include "lib/test.h"
#include "tls/tls.h"

static const struct quorum_config *the_members(void *arg)
{
    const struct peer_identity *p = arg;

    return p->members;
}

void peer_identity_make(struct peer_identity *p, const struct certificate *authority,
                        const char *names, uv_loop_t *loop, const struct quorum_config *config)
{
    struct tls_settings settings = {.is_server = true, .among_equals = true};
    struct tls_fault fault;

    *p = (struct peer_identity){0};
    certificate_make(&p->certificate, authority, "member", names);
    settings.key.path = p->certificate.path;
    settings.trust.path = authority->path;
    p->secure.peers = SECURE_MEMBERS;
    p->secure.names_checked = true;
    assert_int_equal(tls_context_new(&settings, &p->secure.context, &fault), 0);
    settings.is_server = false;
    assert_int_equal(tls_context_new(&settings, &p->secure.dialling, &fault), 0);
    p->tls = (struct peer_tls){.loop = loop,
                               .secure = &p->secure,
                               .is_dialled = true,
                               .checks_names = true,
                               .members = the_members,
                               .arg = p};
    p->members = config;
}

void peer_identity_unmake(struct peer_identity *p)
{
    secure_close(&p->secure);
    certificate_unmake(&p->certificate);
}
