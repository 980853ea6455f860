/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/announce.h"

#include <unistd.h>

#include "base/logging.h"
#include "daemon/config.h"
#include "pawl/version.h"

void announce_start(const struct config *c)
{
    struct config_lines given;

    log_info("pawld %s (speaks ZooKeeper %s), process %ld", PAWL_VERSION, PAWL_ZOOKEEPER_VERSION,
             (long)getpid());
    config_lines_init(&given);
    config_list_given(c, &given);
    for (size_t i = 0; i < given.n; i++) {
        log_info("configuration: %s", given.line[i]);
    }
    config_lines_fini(&given);
}

static void announce_authentication(const struct config *c)
{
    if (c->sasl.required) {
        log_info("authentication: a session needs SASL (sessionRequireClientSASLAuth=true)");
    } else if (c->security.enforce_auth) {
        log_info("authentication: a session needs one of the schemes %s",
                 c->security.enforce_auth_schemes);
    } else {
        log_info("authentication: none is asked for (enforce.auth.enabled=false); whoever can "
                 "connect is let in, and ACLs protect single nodes");
    }
    if (c->server.skip_acl) {
        log_warn("authentication: skipACL=yes, no permission is checked");
    }
    if (c->security.super_digest != NULL || c->tls_super_user != NULL || c->sasl.n_supers > 0) {
        log_info("authentication: there is a super user, whom no ACL keeps out");
    }
}

void announce_ready(const struct config *c, int port, int secure_port)
{
    const char *address = c->net.client_address;

    announce_authentication(c);
    if (port >= 0 && address == NULL) {
        log_info("ready: clients connect to port %d of all addresses of this machine; "
                 "clientPortAddress would name one",
                 port);
    } else if (port >= 0) {
        log_info("ready: clients connect to %s, port %d", address, port);
    }
    if (secure_port >= 0) {
        log_info("ready: clients connect with TLS to %s, port %d",
                 c->net.secure_address != NULL ? c->net.secure_address : "all addresses",
                 secure_port);
    }
    if (c->net.unix_socket != NULL) {
        log_info("ready: clients connect to the socket %s", c->net.unix_socket);
    }
}

void announce_stopped(int status)
{
    if (status == 0) {
        log_info("stopped");
    } else {
        log_error("stopped, with exit status %d", status);
    }
}
