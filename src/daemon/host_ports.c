/* SPDX-License-Identifier: Apache-2.0 */
/* host_ports.c - where clients come in, and with which certificates, names and passwords: what a
 * host takes and reads before it opens its folders, and looks at again later. */
#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config.h"
#include "daemon/host_internal.h"
#include "os/clock.h"
#include "os/socket.h"
#include "pawl/error.h"
#include "tls/tls.h"

/* ---- certificates, users ---- */

static int read_member_certificates(struct host *h, struct host_error *error)
{
    struct tls_fault fault;
    int rc = secure_open(&h->member_secure, h->config, SECURE_MEMBERS, &fault);

    return rc == PAWL_OK ? PAWL_OK
                         : host_set_error(error, rc, EXIT_INVALID_CONFIG, "TLS among members: %s",
                                          fault.text);
}

static int read_logins(struct host *h, struct host_error *error)
{
    char why[LOGINS_WHY_BYTES];
    int rc = logins_open(&h->logins, h->config, why, sizeof(why));

    return rc == PAWL_OK ? PAWL_OK
                         : host_set_error(error, rc, EXIT_INVALID_CONFIG, "SASL: %s", why);
}

int host_read_secrets(struct host *h, struct host_error *error)
{
    int rc = read_logins(h, error);

    return rc != PAWL_OK ? rc : read_member_certificates(h, error);
}

void host_look_at_certificates(struct host *h, bool now)
{
    struct server *s = member_server(h->member);

    secure_look(&h->secure, h->config, clock_monotonic_ms(), now);
    secure_look(&h->member_secure, h->config, clock_monotonic_ms(), now);
    s->tls.is_on = h->secure.context != NULL;
    s->tls.days_left = h->secure.days_left;
    s->tls.is_on_among_members = h->member_secure.context != NULL;
    s->tls.days_left_among_members = h->member_secure.days_left;
}

int host_open_audit_log(struct host *h, struct host_error *error)
{
    char why[512];
    int rc = audit_log_open(&h->audit_log, h->config, &h->audit, why, sizeof(why));

    return rc == PAWL_OK ? PAWL_OK : host_set_error(error, rc, EXIT_INVALID_CONFIG, "%s", why);
}

/* ---- ports ---- */

/* Listens, but nobody is accepted before start_accepting(): a client that connects meanwhile waits
 * for its answer. */
static int take_port(struct host *h, struct host_error *error)
{
    const struct config *c = h->config;
    int rc;

    if (c->net.client_port < 0) {
        return PAWL_OK;
    }
    rc = socket_listen_tcp(c->net.client_address, c->net.client_port, c->net.backlog,
                           &h->listeners[LISTENER_PORT].fd, &h->port);
    if (rc != PAWL_OK) {
        return host_set_error(error, rc, EXIT_UNEXPECTED, "%s", socket_last_error());
    }
    h->listeners[LISTENER_PORT].kind = c->tls.unified ? LINK_EITHER : LINK_PLAIN;
    h->place.address = c->net.client_address == NULL ? NULL : must_strdup(c->net.client_address);
    h->place.port = c->net.client_port;
    log_info("binding to port %s:%d%s", c->net.client_address == NULL ? "*" : c->net.client_address,
             h->port, c->tls.unified ? ", for TLS and plain" : "");
    return PAWL_OK;
}

static int take_secure_port(struct host *h, struct host_error *error)
{
    const struct config *c = h->config;
    struct tls_fault fault;
    int rc = secure_open(&h->secure, c, SECURE_CLIENTS, &fault);

    if (rc != PAWL_OK) {
        return host_set_error(error, rc, EXIT_INVALID_CONFIG, "TLS: %s", fault.text);
    }
    if (h->secure.context != NULL) {
        h->openings.buffer = must_alloc(ENCRYPTED_BYTES);
    }
    if (c->net.secure_port < 0) {
        return PAWL_OK;
    }
    rc = socket_listen_tcp(c->net.secure_address, c->net.secure_port, c->net.backlog,
                           &h->listeners[LISTENER_SECURE].fd, &h->secure_port);
    if (rc != PAWL_OK) {
        return host_set_error(error, rc, EXIT_UNEXPECTED, "%s", socket_last_error());
    }
    h->listeners[LISTENER_SECURE].kind = LINK_TLS;
    log_info("binding to secure port %s:%d",
             c->net.secure_address == NULL ? "*" : c->net.secure_address, h->secure_port);
    return PAWL_OK;
}

int host_take_ports(struct host *h, struct host_error *error)
{
    int rc = take_port(h, error);

    return rc != PAWL_OK ? rc : take_secure_port(h, error);
}

int host_take_unix_socket(struct host *h, struct host_error *error)
{
    const struct config *c = h->config;
    int rc;

    if (c->net.unix_socket == NULL) {
        return PAWL_OK;
    }
    rc = socket_listen_unix(c->net.unix_socket, c->net.backlog, &h->listeners[LISTENER_UNIX].fd);
    if (rc != PAWL_OK) {
        return host_set_error(error, rc, EXIT_UNEXPECTED, "%s", socket_last_error());
    }
    socket_place_of(c->net.unix_socket, &h->listeners[LISTENER_UNIX].place);
    log_info("binding to socket %s", c->net.unix_socket);
    return PAWL_OK;
}
