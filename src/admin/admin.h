/* SPDX-License-Identifier: Apache-2.0 */
/* admin.h - what operators ask over HTTP: ZooKeeper's admin commands, health, metrics.
 *
 *   /commands, /commands/NAME   as Apache's admin server has them (commands.h)
 *   /livez, /readyz             for probes (health.h)
 *   /metrics                    for Prometheus; also on metricsProvider.httpPort
 *
 * One thread of its own has all sockets and buffers of HTTP. It never looks into the server: what a
 * command shows is written on the server's thread, as text that nobody changes any more, and handed
 * over (answers.h). That thread is asked for one text at a time, several requests for the same one
 * share it, and all of them together get a twentieth of its time, however many ask. */
#ifndef PAWL_ADMIN_ADMIN_H
#define PAWL_ADMIN_ADMIN_H

#include <stdbool.h>

struct admin;
struct config;
struct host;

/* Listens where the configuration says; NULL: it wants neither the admin server nor metrics. A port
 * that cannot be had is logged and tried again: the server itself can do without. The configuration
 * must live as long as it. */
struct admin *admin_open(const struct config *config);

/* The host is there: from now on it is asked. */
void admin_serve(struct admin *a, struct host *host);

/* The data of the server were replaced (restore): it has been stopped, and is to be opened again.
 */
bool admin_wants_restart(const struct admin *a);

/* When the host has stopped turning for that, before it is closed; then admin_serve() with the next
 * one. Those who wait for the old one are told. NULL is allowed. */
void admin_let_go(struct admin *a);

/* When the host has stopped turning, before it is closed. NULL is allowed. */
void admin_close(struct admin *a);

#endif
